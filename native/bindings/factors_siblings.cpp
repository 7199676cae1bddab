// Projective trees with scores of adjacent siblings.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "kernels/factors/eisner_siblings.hpp"
#include "kernels/factors/sibling_relaxation.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise;
using namespace arcwise::bindings;

namespace {

using ArcScores2 = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using SiblingScores3 = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

void check_shapes(const ArcScores2& arcs, const SiblingScores3& siblings) {
  const size_t side = arcs.shape(0);
  if (side < 2 || arcs.shape(1) != side) throw nb::value_error("arcs must be (n+1, n+1)");
  for (int axis = 0; axis < 3; ++axis)
    if (siblings.shape(axis) != side) throw nb::value_error("siblings must be (n+1, n+1, n+1)");
}

SiblingSentence sentence_of(const ArcScores2& arcs, const SiblingScores3& siblings, bool single_root,
                            const Array<int32_t>& spans) {
  check_shapes(arcs, siblings);
  const size_t side = arcs.shape(0);
  if (spans.shape(0) % 2) throw nb::value_error("a span has two ends");
  return {arcs.data(), siblings.data(), static_cast<int>(side) - 1, single_root,
          EisnerSpans{spans.data(), static_cast<int>(spans.shape(0) / 2)}};
}

// Kept between calls, unless the sentence is long: allocating it would take as long as parsing a short one.
class Workspace {
 public:
  explicit Workspace(int words) : used_(words <= KEPT_WORDS ? of_thread() : own_) {}
  operator EisnerSiblingsWorkspace&() { return used_; }

 private:
  static constexpr int KEPT_WORDS = 128;
  static EisnerSiblingsWorkspace& of_thread() {
    thread_local EisnerSiblingsWorkspace workspace;
    return workspace;
  }
  EisnerSiblingsWorkspace own_;
  EisnerSiblingsWorkspace& used_;
};

// (heads, score)
auto decode(ArcScores2 arcs, SiblingScores3 siblings, bool single_root, Array<int32_t> spans) {
  const SiblingSentence sentence = sentence_of(arcs, siblings, single_root, spans);
  auto heads = new_array<int32_t, 1>({arcs.shape(0)});
  int32_t* to_heads = heads.data();
  double value;
  {
    nb::gil_scoped_release release;
    Workspace workspace(sentence.n);
    value = eisner_siblings_decode(sentence, to_heads, workspace);
  }
  return std::make_tuple(std::move(heads), value);
}

double log_partition(ArcScores2 arcs, SiblingScores3 siblings, bool single_root, Array<int32_t> spans) {
  const SiblingSentence sentence = sentence_of(arcs, siblings, single_root, spans);
  nb::gil_scoped_release release;
  Workspace workspace(sentence.n);
  return eisner_siblings_log_partition(sentence, workspace);
}

// (arcs, siblings or None, log Z)
auto marginals(ArcScores2 arcs, SiblingScores3 siblings, bool single_root, Array<int32_t> spans,
               bool with_siblings) {
  const SiblingSentence sentence = sentence_of(arcs, siblings, single_root, spans);
  const size_t side = arcs.shape(0);
  auto of_arcs = new_array<double, 2>({side, side});
  std::optional<NewArray<double, 3>> of_siblings;
  if (with_siblings) of_siblings = new_array<double, 3>({side, side, side});
  double *to_arcs = of_arcs.data(), *to_siblings = with_siblings ? of_siblings->data() : nullptr, value;
  {
    nb::gil_scoped_release release;
    Workspace workspace(sentence.n);
    value = eisner_siblings_marginals(sentence, to_arcs, to_siblings, workspace);
  }
  return std::make_tuple(std::move(of_arcs), std::move(of_siblings), value);
}

// (heads, score, bound, spanning trees, whether arcs were branched on)
auto relaxation(ArcScores2 arcs, SiblingScores3 siblings, bool single_root, int root_decodes,
                int node_decodes, int max_decodes) {
  if (root_decodes < 1 || node_decodes < 1 || max_decodes < 1)
    throw nb::value_error("at least one decode is needed");
  check_shapes(arcs, siblings);
  const SiblingSentence sentence{
      arcs.data(), siblings.data(), static_cast<int>(arcs.shape(0)) - 1, single_root, {}};
  std::vector<int32_t> heads(sentence.n + 1, -1);
  CertifiedTree tree;
  {
    nb::gil_scoped_release release;
    SiblingRelaxation solver;
    tree = solver.decode(sentence, {root_decodes, node_decodes, max_decodes}, heads.data());
  }
  return std::make_tuple(moved(std::move(heads)), tree.value, tree.bound, tree.decodes, tree.branched);
}

}  // namespace

void bind_factors_siblings(nb::module_& m) {
  m.def("eisner_siblings_decode", &decode, "arcs"_a, "siblings"_a, "single_root"_a, "spans"_a,
        "(heads, score): -inf without a tree, NaN for scores that are NaN or too large");
  m.def("eisner_siblings_log_partition", &log_partition, "arcs"_a, "siblings"_a, "single_root"_a, "spans"_a);
  m.def("eisner_siblings_marginals", &marginals, "arcs"_a, "siblings"_a, "single_root"_a, "spans"_a,
        "with_siblings"_a, "(arcs, siblings or None, log Z)");
  m.def("sibling_relaxation", &relaxation, "arcs"_a, "siblings"_a, "single_root"_a, nb::kw_only(),
        "root_decodes"_a, "node_decodes"_a, "max_decodes"_a,
        "(heads, score, bound, spanning trees, whether arcs were branched on)");
  m.def(
      "first_bad_sibling",
      [](SiblingScores3 siblings, double limit) {
        if (siblings.shape(0) != siblings.shape(1) || siblings.shape(0) != siblings.shape(2))
          throw nb::value_error("siblings must be (n+1, n+1, n+1)");
        return first_bad_sibling(siblings.data(), static_cast<int>(siblings.shape(0)) - 1, limit);
      },
      "siblings"_a, "limit"_a,
      "The first entry that a tree can use but that is NaN or above the limit, or -1.");
}
