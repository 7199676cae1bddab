// Scores of a batch, and the decoder and losses that start from them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <limits>
#include <optional>

#include "bindings/arrays.hpp"
#include "bindings/rooms.hpp"
#include "kernels/inference/mean_scores.hpp"
#include "kernels/inference/ordinary_scores.hpp"
#include "kernels/inference/score_batch.hpp"
#include "kernels/inference/tree_inference.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise;
using namespace arcwise::bindings;

namespace {

template <typename T>
using Optional = std::optional<Array<T>>;

// The data of an optional array, which must have the given size.
template <typename T>
const T* checked(const Optional<T>& given, size_t size, const char* what) {
  if (!given) return nullptr;
  if (given->shape(0) != size) throw nb::value_error(what);
  return given->data();
}

using Numbers = nb::ndarray<const double, nb::c_contig, nb::device::cpu>;

// The argument of ScoreBatch::set_highest, or empty.
std::vector<double> by_word(const ScoreBatch& scores, const Optional<double>& highest) {
  if (!highest || highest->shape(0) == 0) return {};
  checked(highest, scores.words(), "one number per word is needed");
  return vector_of(*highest);
}

// Keeps the arrays alive instead of copying them.
ScoreBatch dense(const std::vector<Numbers>& arrays, int labels, Optional<double> highest) {
  std::vector<const double*> data;
  std::vector<int32_t> lengths;
  for (const Numbers& array : arrays) {
    const size_t dimensions = labels > 0 ? 3 : 2,
                 side = array.ndim() == dimensions ? array.shape(dimensions - 1) : 0;
    if (side < 2 || array.shape(dimensions - 2) != side ||
        (labels > 0 && array.shape(0) != static_cast<size_t>(labels)))
      throw nb::value_error("scores of another shape");
    data.push_back(array.data());
    lengths.push_back(static_cast<int32_t>(side) - 1);
  }
  ScoreBatch batch = ScoreBatch::dense(std::move(data), std::move(lengths), labels,
                                       std::make_shared<const std::vector<Numbers>>(arrays));
  batch.set_highest(by_word(batch, highest));
  return batch;
}

ScoreBatch constrained(const ScoreBatch& scores, Optional<int32_t> heads, Optional<int32_t> labels,
                       Optional<uint8_t> forbidden, Optional<double> highest) {
  const size_t words = scores.words(), arcs = static_cast<size_t>(scores.arc_starts().back());
  const int32_t* kept_heads = checked(heads, words, "one head per word is needed");
  const int32_t* kept_labels = checked(labels, words, "one label per word is needed");
  const uint8_t* mask = checked(forbidden, arcs, "one mark per arc is needed");
  std::vector<double> before = by_word(scores, highest);
  nb::gil_scoped_release release;
  return scores.constrained(kept_heads, kept_labels, mask, std::move(before));
}

// The plain arrays a batch is packed into and rebuilt from: labels, clusters, sets of labels; lengths; place
// and set of every arc; scores; highest arc weights before constraints.
using Parts = std::tuple<int, int, NewArray<uint32_t>, NewArray<uint16_t>, NewArray<int32_t>,
                         NewArray<int32_t>, NewArray<int32_t>, NewArray<double>, NewArray<double>>;

Parts parts(const ScoreBatch& batch) {
  std::vector<int32_t> lengths, starts, sets;
  std::vector<double> values;
  ArcScores<double> memory;
  for (size_t s = 0; s < batch.size(); ++s) {
    const ArcScores<double>& own = batch.scores(s, memory);
    lengths.push_back(own.n);
    size_t size = 0;  // up to the last value of an existing arc, as of_parts counts
    for (const auto& arc : own.arcs) {
      starts.push_back(arc.start);
      sets.push_back(arc.set);
      if (arc.start != own.NONE) size = std::max<size_t>(size, arc.start + batch.states().count(arc.set));
    }
    values.insert(values.end(), own.values.begin(), own.values.begin() + size);
  }
  const ArcStates& states = batch.states();
  return {states.labels,
          states.clusters,
          copied(states.set_starts),
          copied(states.set_labels),
          moved(std::move(lengths)),
          moved(std::move(starts)),
          moved(std::move(sets)),
          moved(std::move(values)),
          copied(batch.known_highest())};
}

ScoreBatch of_parts(int labels, int clusters, Array<uint32_t> set_starts, Array<uint16_t> set_labels,
                    Array<int32_t> lengths, Array<int32_t> starts, Array<int32_t> sets, Array<double> values,
                    Optional<double> highest) {
  if (std::any_of(lengths.data(), lengths.data() + lengths.shape(0), [](int32_t n) { return n < 1; }))
    throw nb::value_error("every sentence needs a word");
  ScoreBatch batch =
      ScoreBatch::kept({labels, clusters, vector_of(set_starts), vector_of(set_labels)}, vector_of(lengths));
  size_t at = 0, value = 0;
  for (size_t s = 0; s < batch.size(); ++s) {
    ArcScores<double>& own = batch[s];
    if (at + own.arcs.size() > std::min(starts.shape(0), sets.shape(0)))
      throw nb::value_error("arcs of another batch");
    size_t size = 0;
    for (auto& arc : own.arcs) {
      arc = {starts.data()[at], sets.data()[at]};
      if (arc.start != ArcScores<double>::NONE) {
        if (arc.set < 0 || (labels > 0 && arc.set + 1 >= static_cast<int>(set_starts.shape(0))))
          throw nb::value_error("no such set of labels");
        size = std::max<size_t>(size, arc.start + batch.states().count(arc.set));
      }
      ++at;
    }
    if (value + size > values.shape(0)) throw nb::value_error("values of another batch");
    own.values.assign(values.data() + value, values.data() + value + size);
    value += size;
  }
  batch.set_highest(by_word(batch, highest));
  return batch;
}

BatchSpans spans_of(const ScoreBatch& scores, const Optional<int32_t>& ends,
                    const Optional<int64_t>& starts) {
  if (!starts || starts->shape(0) == 0) return {};
  if (!ends || starts->shape(0) != scores.size() + 1 ||
      2 * starts->data()[scores.size()] != static_cast<int64_t>(ends->shape(0)))
    throw nb::value_error("spans of another batch");
  return {ends->data(), starts->data()};
}

ParseResult decode(const ScoreBatch& scores, const DecodeSettings& settings, Optional<int32_t> asked_heads,
                   Optional<int32_t> asked_labels, Optional<int32_t> span_ends, Optional<int64_t> span_starts,
                   int threads) {
  AskedTrees asked{checked(asked_heads, scores.words(), "one head per word is needed"),
                   checked(asked_labels, scores.words(), "one label per word is needed")};
  BatchSpans spans = spans_of(scores, span_ends, span_starts);
  nb::gil_scoped_release release;
  return scores.decode(settings, asked, spans, threads);
}

KBestResult k_best(const ScoreBatch& scores, const DecodeSettings& settings, int k,
                   Optional<int32_t> span_ends, Optional<int64_t> span_starts, int threads) {
  if (k < 1) throw nb::value_error("k must be at least 1");
  BatchSpans spans = spans_of(scores, span_ends, span_starts);
  nb::gil_scoped_release release;
  return scores.k_best(settings, k, spans, threads);
}

void bind_settings(nb::module_& m) {
  nb::enum_<Decoder>(m, "Decoder")
      .value("map", Decoder::map)
      .value("minimum_risk", Decoder::minimum_risk)
      .value("minimum_labelled_risk", Decoder::minimum_labelled_risk)
      .value("max_z", Decoder::max_z)
      .value("greedy", Decoder::greedy);
  nb::enum_<TreeLoss>(m, "TreeLoss")
      .value("likelihood", TreeLoss::likelihood)
      .value("hinge", TreeLoss::hinge)
      .value("softmax_margin", TreeLoss::softmax_margin)
      .value("risk", TreeLoss::risk);
  nb::class_<DecodeSettings>(m, "DecodeSettings",
                             "Which trees are wanted, and how scores become probabilities.")
      .def(
          "__init__",
          [](DecodeSettings* self, Decoder decoder, bool projective, bool single_root, double temperature,
             double label_temperature, double smoothing, bool probabilities) {
            new (self) DecodeSettings{decoder,
                                      {projective, single_root},
                                      {temperature, label_temperature, smoothing},
                                      probabilities};
          },
          nb::kw_only(), "decoder"_a = Decoder::map, "projective"_a, "single_root"_a, "temperature"_a = 1.0,
          "label_temperature"_a = 1.0, "smoothing"_a = 0.0, "probabilities"_a = false);
}

void bind_results(nb::module_& m) {
  nb::class_<ParseResult>(m, "ParseResult",
                          "Trees of a batch, flat over words or sentences; see arcwise.parsing.Parses.")
      .def_prop_ro("heads", array_of(&ParseResult::heads), nb::rv_policy::automatic)
      .def_prop_ro("labels", array_of(&ParseResult::labels), nb::rv_policy::automatic)
      .def_prop_ro("parsed", array_of(&ParseResult::parsed), nb::rv_policy::automatic)
      .def_prop_ro("head_probability", array_of(&ParseResult::head_probability), nb::rv_policy::automatic)
      .def_prop_ro("label_probability", array_of(&ParseResult::label_probability), nb::rv_policy::automatic)
      .def_prop_ro("log_probability", array_of(&ParseResult::log_probability), nb::rv_policy::automatic)
      .def_prop_ro("head_entropy", array_of(&ParseResult::head_entropy), nb::rv_policy::automatic)
      .def_prop_ro("asked_head_probability", array_of(&ParseResult::asked_head_probability),
                   nb::rv_policy::automatic)
      .def_prop_ro("asked_label_probability", array_of(&ParseResult::asked_label_probability),
                   nb::rv_policy::automatic)
      .def_prop_ro("gaps", array_of(&ParseResult::gaps), nb::rv_policy::automatic);
  nb::class_<KBestResult>(m, "KBestResult",
                          "The k best trees of every sentence, best first, one after the other.")
      .def_prop_ro("counts", array_of(&KBestResult::counts), nb::rv_policy::automatic)
      .def_prop_ro("heads", array_of(&KBestResult::heads), nb::rv_policy::automatic)
      .def_prop_ro("labels", array_of(&KBestResult::labels), nb::rv_policy::automatic)
      .def_prop_ro("scores", array_of(&KBestResult::scores), nb::rv_policy::automatic)
      .def_prop_ro("head_probability", array_of(&KBestResult::head_probability), nb::rv_policy::automatic)
      .def_prop_ro("label_probability", array_of(&KBestResult::label_probability), nb::rv_policy::automatic)
      .def_prop_ro("log_probability", array_of(&KBestResult::log_probability), nb::rv_policy::automatic);
}

using Writable = nb::ndarray<double, nb::c_contig, nb::device::cpu>;

// Sets column 0 and the diagonal of each (…, n+1, n+1) matrix to -inf; returns false, without any change, if
// a score is NaN, infinite or above the largest.
bool mask_arc_scores(Writable scores) {
  const size_t side = scores.ndim() < 2 ? 0 : scores.shape(scores.ndim() - 1);
  if (side == 0 || scores.shape(scores.ndim() - 2) != side) return false;
  double* const first = scores.data();
  const size_t count = scores.size();
  if (!are_ordinary(first, count)) return false;
  for (double* matrix = first; matrix < first + count; matrix += side * side)
    for (size_t h = 0; h < side; ++h)
      matrix[h * side] = matrix[h * side + h] = -std::numeric_limits<double>::infinity();
  return true;
}

void bind_batch(nb::module_& m) {
  m.def("mask_arc_scores", &mask_arc_scores, "scores"_a,
        "Forbids what is no arc, in place; false, and nothing is done, for scores that need a closer look.");
  nb::class_<ScoreBatch>(m, "ScoreBatch", "Scores of every arc of every sentence, in each of its states.")
      .def_static("dense", &dense, "arrays"_a, "labels"_a, "highest"_a.none() = nb::none(),
                  "From one array a sentence, (labels, n+1, n+1) or, for labels = 0, (n+1, n+1); they are "
                  "not copied.")
      .def_static("of_parts", &of_parts, "labels"_a, "clusters"_a, "set_starts"_a, "set_labels"_a,
                  "lengths"_a, "starts"_a, "sets"_a, "values"_a, "highest"_a.none() = nb::none())
      .def_static(
          "mean",
          [](const std::vector<const ScoreBatch*>& batches, double temperature, double label_temperature) {
            return mean_scores(batches, temperature, label_temperature);
          },
          "batches"_a, "temperature"_a = 1.0, "label_temperature"_a = 1.0,
          nb::call_guard<nb::gil_scoped_release>(),
          "The geometric mean of the distributions over trees; then log weights of arcs, and of states given "
          "the arc, divided by temperatures.")
      .def("parts", &parts, "Everything in it as plain arrays, for of_parts.")
      .def("__len__", &ScoreBatch::size)
      .def_prop_ro("labels", [](const ScoreBatch& s) { return s.states().labels; })
      .def_prop_ro("clusters", [](const ScoreBatch& s) { return s.states().clusters; })
      .def_prop_ro(
          "lengths",
          [](const ScoreBatch& s) {
            std::vector<int32_t> lengths;
            for (size_t i = 0; i < s.size(); ++i) lengths.push_back(s.length(i));
            return moved(std::move(lengths));
          },
          nb::rv_policy::automatic)
      .def("constrained", &constrained, "heads"_a.none() = nb::none(), "labels"_a.none() = nb::none(),
           "forbidden"_a.none() = nb::none(), "highest"_a.none() = nb::none(),
           "The scores without what the given heads and labels (flat over words, -1: free) and forbidden "
           "arcs rule out.")
      .def("decode", &decode, "settings"_a, nb::kw_only(), "asked_heads"_a.none() = nb::none(),
           "asked_labels"_a.none() = nb::none(), "span_ends"_a.none() = nb::none(),
           "span_starts"_a.none() = nb::none(), "threads"_a)
      .def("k_best", &k_best, "settings"_a, "k"_a, nb::kw_only(), "span_ends"_a.none() = nb::none(),
           "span_starts"_a.none() = nb::none(), "threads"_a)
      .def(
          "arc_weights",
          [](const ScoreBatch& s, double temperature, double smoothing, int threads) {
            std::vector<double> weights;
            {
              nb::gil_scoped_release release;
              weights = s.arc_weights({temperature, 1, smoothing}, threads);
            }
            return moved(std::move(weights));
          },
          "temperature"_a, "smoothing"_a, "threads"_a)
      .def(
          "highest",
          [](const ScoreBatch& s, double temperature, int threads) {
            return moved(s.highest(temperature, threads));
          },
          "temperature"_a, "threads"_a,
          "Of each word the highest log weight of its arcs before constraints took some away.")
      .def(
          "by_label", [](const ScoreBatch& s, double t) { return moved(s.by_label(t)); }, "temperature"_a)
      .def(
          "log_weights",
          [](const ScoreBatch& s, double heads, double labels, double smoothing) {
            return moved(s.log_weights({heads, labels, smoothing}));
          },
          "temperature"_a, "label_temperature"_a, "smoothing"_a)
      .def(
          "label_marginals",
          [](const ScoreBatch& s, Array<double> marginals, double heads, double labels) {
            if (marginals.shape(0) != static_cast<size_t>(s.arc_starts().back()))
              throw nb::value_error("one marginal per arc is needed");
            return moved(s.label_marginals(marginals.data(), {heads, labels}));
          },
          "marginals"_a, "temperature"_a, "label_temperature"_a)
      .def(
          "loss",
          [](const ScoreBatch& s, TreeLoss loss, Array<int32_t> heads, Array<int32_t> labels, bool projective,
             bool single_root, int threads) {
            if (heads.shape(0) != s.words() || labels.shape(0) != s.words())
              throw nb::value_error("one head and one label per word are needed");
            BatchLoss found;
            {
              nb::gil_scoped_release release;
              found =
                  tree_loss_batch(loss, s, heads.data(), labels.data(), {projective, single_root}, threads);
            }
            return std::make_tuple(moved(std::move(found.values)), moved(std::move(found.gradient)));
          },
          "loss"_a, nb::kw_only(), "heads"_a, "labels"_a, "projective"_a, "single_root"_a, "threads"_a,
          "(values of the sentences, gradient by label as by_label places them)");
}

// Whether each row of heads, (M, N+1), is a tree of the class over the given number of words: 1 or 0.
auto are_trees(nb::ndarray<const int64_t, nb::ndim<2>, nb::c_contig, nb::device::cpu> heads,
               Array<int32_t> lengths, bool projective, bool single_root) {
  const size_t rows = heads.shape(0), side = heads.shape(1);
  if (lengths.shape(0) != rows) throw nb::value_error("lengths: expected one for each row of heads");
  auto found = new_array<bool, 1>({rows});
  std::vector<int32_t> own(side);
  for (size_t row = 0; row < rows; ++row) {
    const int n = lengths.data()[row];
    if (n < 0 || n >= static_cast<int>(side)) throw nb::value_error("lengths: expected 0..N");
    const int64_t* given = heads.data() + row * side;
    bool good = true;
    for (int m = 1; m <= n && good; ++m) {
      good = given[m] >= 0 && given[m] <= n;
      own[m] = static_cast<int32_t>(given[m]);
    }
    found.data()[row] = good && (n == 0 || is_tree(own.data(), n, {projective, single_root}));
  }
  return found;
}

}  // namespace

void bind_inference_scores(nb::module_& m) {
  bind_settings(m);
  bind_results(m);
  bind_batch(m);
  m.def("are_trees", &are_trees, "heads"_a, "lengths"_a, "projective"_a, "single_root"_a,
        "Whether each row of heads, (M, N+1), is a tree of the class over so many words.");
}
