// The native module: each room registers its functions, in its own file.
#include "bindings/rooms.hpp"

// Declared here because rooms.hpp is part of the hash of every recorded figure (measuring/sources.py), and no
// figure uses these.
void bind_factors(nanobind::module_& m);
void bind_base(nanobind::module_& m);
void bind_factors_legal(nanobind::module_& m);
void bind_factors_siblings(nanobind::module_& m);
void bind_siblings(nanobind::module_& m);
void bind_factors_padded(nanobind::module_& m);

NB_MODULE(ARCWISE_MODULE, m) {
  nanobind::set_leak_warnings(false);  // objects that live until Python exits are not leaks
  m.doc() = "Kernels of arcwise. Thin bindings: check, release the GIL, call.";
  m.attr("__version__") = ARCWISE_VERSION;
  bind_base(m);
  bind_trees(m);
  bind_treebanks(m);
  bind_features(m);
  bind_inference_scores(m);
  bind_learning(m);
  bind_graph(m);
  bind_siblings(m);
  bind_neural(m);
  bind_inference_eisner(m);
  bind_inference_spanning_tree(m);
  bind_inference_matrix_tree(m);
  bind_inference_wilson(m);
  bind_inference_padded(m);
  bind_inference_marginal_derivatives(m);
  bind_inference_tall_sums(m);
  bind_factors(m);
  bind_factors_legal(m);
  bind_factors_siblings(m);
  bind_factors_padded(m);
  bind_induction(m);
  bind_transition(m);
  bind_transition_scorer(m);
  bind_text_tokenizer(m);
  bind_text_tagger(m);
  bind_text_learners(m);
  bind_induction_counts(m);
}
