#include <nanobind/stl/tuple.h>

#include <optional>

#include "bindings/arrays.hpp"
#include "bindings/rooms.hpp"
#include "kernels/factors/grammars.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise;
using namespace arcwise::bindings;

namespace {

template <typename T, int Dimensions>
using Table = nb::ndarray<const T, nb::ndim<Dimensions>, nb::c_contig, nb::device::cpu>;
using LabelledScores = Table<double, 3>;

// The factors of one sentence. Without siblings there are (0, 0, 0) of them.
struct HeadFactors {
  Table<double, 3> siblings;
  Table<int32_t, 2> next;
  Table<double, 2> weights, ends;
  Array<double> root_ends;
  int start;

  HeadGrammar grammar(const LabelledScores& scores, bool single_root, const Array<int32_t>& spans) const {
    const size_t labels = scores.shape(0), side = scores.shape(1), states = root_ends.shape(0);
    if (side < 2 || scores.shape(2) != side || labels < 1)
      throw nb::value_error("scores must be (L, n+1, n+1)");
    if (spans.shape(0) % 2) throw nb::value_error("a span has two ends");
    for (int axis = 0; axis < 3; ++axis)
      if (siblings.size() && siblings.shape(axis) != side)
        throw nb::value_error("siblings must be (n+1, n+1, n+1)");
    if (next.shape(0) != states || weights.shape(0) != states || next.shape(1) != labels ||
        weights.shape(1) != labels || start < 0 || static_cast<size_t>(start) >= states)
      throw nb::value_error("transitions must be (states, labels)");
    if (ends.shape(1) != states || (ends.shape(0) != 1 && ends.shape(0) != states))
      throw nb::value_error("ends must be (1, states) or (states, states)");
    for (size_t at = 0; at < next.size(); ++at)
      if (next.data()[at] < 0 || static_cast<size_t>(next.data()[at]) >= states)
        throw nb::value_error("a transition leads to no state");
    HeadGrammar grammar;
    static_cast<FactorSentence&>(grammar) = {scores.data(), static_cast<int>(side) - 1,
                                             static_cast<int>(labels), single_root,
                                             EisnerSpans{spans.data(), static_cast<int>(spans.shape(0) / 2)}};
    grammar.siblings = siblings.size() ? siblings.data() : nullptr;
    grammar.states = static_cast<int>(states);
    grammar.start = start;
    grammar.joint = ends.shape(0) > 1;
    grammar.next = next.data();
    grammar.weights = weights.data();
    grammar.ends = ends.data();
    grammar.root_ends = root_ends.data();
    return grammar.number_items();
  }
};

double log_partition(const HeadFactors& factors, LabelledScores scores, bool single_root,
                     Array<int32_t> spans) {
  const auto grammar = factors.grammar(scores, single_root, spans);
  nb::gil_scoped_release release;
  ForestWorkspace workspace;
  return Forest(grammar, workspace).log_partition();
}

// (probabilities of labelled arcs, expected counts of the parts of the factor, log Z), both flat.
auto marginals(const HeadFactors& factors, LabelledScores scores, bool single_root, Array<int32_t> spans) {
  const auto grammar = factors.grammar(scores, single_root, spans);
  std::vector<double> arcs(scores.size()), parts(grammar.parts());
  double value;
  {
    nb::gil_scoped_release release;
    ForestWorkspace workspace;
    value = Forest(grammar, workspace).marginals(arcs.data(), parts.data());
  }
  return std::make_tuple(moved(std::move(arcs)), moved(std::move(parts)), value);
}

// (heads, label codes, values): k rows at most.
auto k_best(const HeadFactors& factors, LabelledScores scores, bool single_root, Array<int32_t> spans,
            int k) {
  if (k < 1) throw nb::value_error("k must be at least 1");
  const auto grammar = factors.grammar(scores, single_root, spans);
  const size_t side = scores.shape(1);
  std::vector<int32_t> heads(k * side), labels(k * side);
  std::vector<double> values(k);
  size_t count;
  {
    nb::gil_scoped_release release;
    ForestWorkspace workspace;
    Forest forest(grammar, workspace);
    if (k == 1) {
      values[0] = forest.decode(heads.data(), labels.data());
      count = values[0] != MINUS_INFINITY;
    } else {
      count = forest.k_best(k, heads.data(), labels.data(), values.data());
    }
  }
  heads.resize(count * side);
  labels.resize(count * side);
  values.resize(count);
  return std::make_tuple(moved(std::move(heads), {count, side}), moved(std::move(labels), {count, side}),
                         moved(std::move(values)));
}

auto sample(const HeadFactors& factors, LabelledScores scores, bool single_root, Array<int32_t> spans,
            int count, uint64_t seed) {
  if (count < 0) throw nb::value_error("count must not be negative");
  const auto grammar = factors.grammar(scores, single_root, spans);
  const size_t side = scores.shape(1), rows = count;
  std::vector<int32_t> heads(rows * side), labels(rows * side);
  double value;
  {
    nb::gil_scoped_release release;
    ForestWorkspace workspace;
    Random random(seed);
    value = Forest(grammar, workspace).sample(count, random, heads.data(), labels.data());
  }
  return std::make_tuple(moved(std::move(heads), {rows, side}), moved(std::move(labels), {rows, side}),
                         value);
}

}  // namespace

void bind_factors(nb::module_& m) {
  nb::class_<HeadFactors>(m, "HeadFactors", "Factors over the dependents of a head; see grammars.hpp.")
      .def(
          "__init__",
          [](HeadFactors* self, Table<double, 3> siblings, Table<int32_t, 2> next, Table<double, 2> weights,
             Table<double, 2> ends, Array<double> root_ends,
             int start) { new (self) HeadFactors{siblings, next, weights, ends, root_ends, start}; },
          "siblings"_a, "next"_a, "weights"_a, "ends"_a, "root_ends"_a, "start"_a)
      .def("log_partition", &log_partition, "scores"_a, "single_root"_a, "spans"_a)
      .def("marginals", &marginals, "scores"_a, "single_root"_a, "spans"_a,
           "Of labelled arcs; expected counts of siblings, transitions, ends and ends of the root; log Z.")
      .def("k_best", &k_best, "scores"_a, "single_root"_a, "spans"_a, "k"_a)
      .def("sample", &sample, "scores"_a, "single_root"_a, "spans"_a, "count"_a, "seed"_a);
}
