// The second-order graph-based parser.
#include <nanobind/nanobind.h>
#include <nanobind/stl/tuple.h>

#include "bindings/arrays.hpp"
#include "bindings/trainer_state.hpp"
#include "kernels/siblings/sibling_scores.hpp"
#include "kernels/siblings/sibling_trainer.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise;
using namespace arcwise::bindings;

namespace {

SiblingTable table_of(int bits) {
  if (bits < 4 || bits > 28) throw nb::value_error("bits must be 4 to 28");
  return {bits};
}

void make_trainer(SiblingTrainer* self, const ArcTable& table, const ArcData& data, SiblingUpdate update,
                  int bits, bool projective, bool single_root, double C, double rate, double dropout,
                  uint64_t seed) {
  if (table.states.clusters != 1) throw nb::value_error("latent clusters have no siblings");
  SiblingOptions options;
  options.update = update;
  options.trees = {projective, single_root};
  const bool by_sum = update == SiblingUpdate::log_linear || update == SiblingUpdate::softmax_margin;
  if (by_sum && !projective) throw nb::value_error("sums with siblings are over projective trees");
  options.C = C;
  options.rate = rate;
  options.dropout = {dropout, seed};
  new (self) SiblingTrainer(table, table_of(bits), data, options);
}

SiblingReport run(SiblingTrainer& trainer, Array<int64_t> sentences, uint64_t epoch) {
  for (size_t i = 0; i < sentences.shape(0); ++i)
    if (sentences.data()[i] < 0 || sentences.data()[i] >= static_cast<int64_t>(trainer.data().sentences()))
      throw nb::index_error("sentence out of range");
  nb::gil_scoped_release release;
  return trainer.run(sentences.data(), sentences.shape(0), epoch);
}

// (loss, cells, derivatives)
auto loss(SiblingTrainer& trainer, size_t sentence) {
  if (sentence >= trainer.data().sentences()) throw nb::index_error("sentence out of range");
  SparseVector gradient;
  const double value = trainer.loss(sentence, gradient);
  std::vector<uint32_t> places;
  std::vector<double> values;
  for (const auto& [place, change] : gradient.entries()) {
    places.push_back(place);
    values.push_back(change);
  }
  return std::make_tuple(value, moved(std::move(places)), moved(std::move(values)));
}

void check(const ScoreBatch& arcs, const ArcData& data, const SiblingTable& siblings,
           const Array<float>& weights) {
  if (weights.shape(0) != siblings.cells()) throw nb::value_error("weights of another table");
  if (arcs.size() != data.sentences()) throw nb::value_error("scores of other sentences");
  for (size_t s = 0; s < arcs.size(); ++s)
    if (arcs.length(s) != data.length(s)) throw nb::value_error("scores of other sentences");
}

ScoreBatch scores(const ScoreBatch& arcs, const ArcTable& table, Array<float> weights, const ArcData& data,
                  int bits, bool projective, bool single_root, bool by_sum, int threads) {
  const SiblingTable siblings = table_of(bits);
  check(arcs, data, siblings, weights);
  nb::gil_scoped_release release;
  return with_siblings(arcs, table, siblings, weights.data(), data, {projective, single_root}, by_sum,
                       threads);
}

// (arcs, siblings)
auto sentence_scores(const ScoreBatch& arcs, const ArcTable& table, Array<float> weights, const ArcData& data,
                     int bits, size_t sentence) {
  const SiblingTable siblings = table_of(bits);
  check(arcs, data, siblings, weights);
  if (sentence >= data.sentences()) throw nb::index_error("sentence out of range");
  SecondOrderScores scores = second_order_scores(arcs, table, siblings, weights.data(), data, sentence);
  const size_t side = data.length(sentence) + 1;
  return std::make_tuple(moved(std::move(scores.arcs), {side, side}),
                         moved(std::move(scores.siblings), {side, side, side}));
}

}  // namespace

void bind_siblings(nb::module_& m) {
  nb::enum_<SiblingUpdate>(m, "SiblingUpdate")
      .value("perceptron", SiblingUpdate::perceptron)
      .value("mira", SiblingUpdate::mira)
      .value("log_linear", SiblingUpdate::log_linear)
      .value("softmax_margin", SiblingUpdate::softmax_margin);
  nb::class_<SiblingReport>(m, "SiblingReport")
      .def_ro("loss", &SiblingReport::loss)
      .def_ro("updates", &SiblingReport::updates)
      .def_ro("skipped", &SiblingReport::skipped);
  auto trainer = nb::class_<SiblingTrainer>(m, "SiblingTrainer", "Arcs and siblings, trained together.");
  trainer
      .def("__init__", &make_trainer, "table"_a, "data"_a, "update"_a, "bits"_a, "projective"_a,
           "single_root"_a, "C"_a, "rate"_a, "dropout"_a, "seed"_a, nb::keep_alive<1, 2>(),
           nb::keep_alive<1, 3>())
      .def("run", &run, "sentences"_a, "epoch"_a)
      .def("loss", &loss, "sentence"_a, "Loss, and the cells and values of its gradient.")
      .def_prop_ro(
          "weights", [](const SiblingTrainer& t) { return copied(t.weights().weights); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "averaged", [](const SiblingTrainer& t) { return moved(t.weights().averaged()); },
          nb::rv_policy::automatic);
  bind_state(trainer);
  m.def("with_siblings", &scores, "arcs"_a, "table"_a, "weights"_a, "data"_a, nb::kw_only(), "bits"_a,
        "projective"_a, "single_root"_a, "by_sum"_a, "threads"_a,
        "The score of the best tree with each arc, or the log of its probability, in place of arc scores.");
  m.def("second_order_scores", &sentence_scores, "arcs"_a, "table"_a, "weights"_a, "data"_a, nb::kw_only(),
        "bits"_a, "sentence"_a, "The best score of each arc of a sentence, and the scores of its siblings.");
}
