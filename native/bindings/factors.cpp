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

FactorSentence sentence_of(const LabelledScores& scores, bool single_root, const Array<int32_t>& spans) {
  const size_t side = scores.shape(1);
  if (side < 2 || scores.shape(2) != side || scores.shape(0) < 1)
    throw nb::value_error("scores must be (L, n+1, n+1)");
  if (spans.shape(0) % 2) throw nb::value_error("a span has two ends");
  return {scores.data(), static_cast<int>(side) - 1, static_cast<int>(scores.shape(0)), single_root,
          EisnerSpans{spans.data(), static_cast<int>(spans.shape(0) / 2)}};
}

// Each binding makes its grammar and calls one operation on it.
struct Siblings {
  LabelledScores siblings;
  SiblingGrammar grammar(const LabelledScores& scores, bool single_root, const Array<int32_t>& spans) const {
    for (int axis = 0; axis < 3; ++axis)
      if (siblings.shape(axis) != scores.shape(1)) throw nb::value_error("siblings must be (n+1, n+1, n+1)");
    return {sentence_of(scores, single_root, spans), siblings.data()};
  }
  size_t parts() const { return siblings.size(); }
};

struct Automaton {
  Table<int32_t, 2> next;
  Table<double, 2> weights;
  Array<double> finals;
  int start;
  AutomatonGrammar grammar(const LabelledScores& scores, bool single_root,
                           const Array<int32_t>& spans) const {
    const size_t states = finals.shape(0);
    if (next.shape(0) != states || weights.shape(0) != states || next.shape(1) != scores.shape(0) ||
        weights.shape(1) != scores.shape(0) || start < 0 || static_cast<size_t>(start) >= states)
      throw nb::value_error("transitions must be (states, labels)");
    for (size_t at = 0; at < next.size(); ++at)
      if (next.data()[at] < 0 || static_cast<size_t>(next.data()[at]) >= states)
        throw nb::value_error("a transition leads to no state");
    return {sentence_of(scores, single_root, spans),
            static_cast<int>(states),
            start,
            next.data(),
            weights.data(),
            finals.data()};
  }
  size_t parts() const { return weights.size(); }
};

template <typename Factor>
double log_partition(const Factor& factor, LabelledScores scores, bool single_root, Array<int32_t> spans) {
  const auto grammar = factor.grammar(scores, single_root, spans);
  nb::gil_scoped_release release;
  ForestWorkspace workspace;
  return Forest(grammar, workspace).log_partition();
}

// (probabilities of labelled arcs, expected counts of the parts of the factor, log Z), both flat.
template <typename Factor>
auto marginals(const Factor& factor, LabelledScores scores, bool single_root, Array<int32_t> spans) {
  const auto grammar = factor.grammar(scores, single_root, spans);
  std::vector<double> arcs(scores.size()), parts(factor.parts());
  double value;
  {
    nb::gil_scoped_release release;
    ForestWorkspace workspace;
    value = Forest(grammar, workspace).marginals(arcs.data(), parts.data());
  }
  return std::make_tuple(moved(std::move(arcs)), moved(std::move(parts)), value);
}

// (heads, label codes, values): k rows at most.
template <typename Factor>
auto k_best(const Factor& factor, LabelledScores scores, bool single_root, Array<int32_t> spans, int k) {
  if (k < 1) throw nb::value_error("k must be at least 1");
  const auto grammar = factor.grammar(scores, single_root, spans);
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

template <typename Factor>
auto sample(const Factor& factor, LabelledScores scores, bool single_root, Array<int32_t> spans, int count,
            uint64_t seed) {
  if (count < 0) throw nb::value_error("count must not be negative");
  const auto grammar = factor.grammar(scores, single_root, spans);
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
  nb::class_<Siblings>(m, "SiblingFactor", "Scores of adjacent siblings.")
      .def(
          "__init__", [](Siblings* self, LabelledScores siblings) { new (self) Siblings{siblings}; },
          "siblings"_a)
      .def("log_partition", &log_partition<Siblings>, "scores"_a, "single_root"_a, "spans"_a)
      .def("marginals", &marginals<Siblings>, "scores"_a, "single_root"_a, "spans"_a)
      .def("k_best", &k_best<Siblings>, "scores"_a, "single_root"_a, "spans"_a, "k"_a)
      .def("sample", &sample<Siblings>, "scores"_a, "single_root"_a, "spans"_a, "count"_a, "seed"_a);
  nb::class_<Automaton>(m, "AutomatonFactor", "An automaton over the labels of a head's dependents.")
      .def(
          "__init__",
          [](Automaton* self, Table<int32_t, 2> next, Table<double, 2> weights, Array<double> finals,
             int start) { new (self) Automaton{next, weights, finals, start}; },
          "next"_a, "weights"_a, "finals"_a, "start"_a)
      .def("log_partition", &log_partition<Automaton>, "scores"_a, "single_root"_a, "spans"_a)
      .def("marginals", &marginals<Automaton>, "scores"_a, "single_root"_a, "spans"_a)
      .def("k_best", &k_best<Automaton>, "scores"_a, "single_root"_a, "spans"_a, "k"_a)
      .def("sample", &sample<Automaton>, "scores"_a, "single_root"_a, "spans"_a, "count"_a, "seed"_a);
}
