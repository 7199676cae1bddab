// One registration function per room (see ARCHITECTURE.md).
#pragma once
#include <nanobind/nanobind.h>

void bind_trees(nanobind::module_& m);
void bind_treebanks(nanobind::module_& m);
void bind_features(nanobind::module_& m);
void bind_learning(nanobind::module_& m);
void bind_graph(nanobind::module_& m);
void bind_neural(nanobind::module_& m);
void bind_inference_eisner(nanobind::module_& m);
void bind_inference_spanning_tree(nanobind::module_& m);
void bind_inference_matrix_tree(nanobind::module_& m);
void bind_inference_scores(nanobind::module_& m);
void bind_inference_padded(nanobind::module_& m);
void bind_inference_wilson(nanobind::module_& m);
void bind_inference_marginal_derivatives(nanobind::module_& m);
void bind_inference_tall_sums(nanobind::module_& m);
void bind_induction(nanobind::module_& m);
void bind_transition(nanobind::module_& m);
void bind_transition_scorer(nanobind::module_& m);
void bind_text_tokenizer(nanobind::module_& m);
void bind_text_tagger(nanobind::module_& m);
void bind_text_learners(nanobind::module_& m);
void bind_induction_counts(nanobind::module_& m);
