#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>

#include "bindings/arrays.hpp"
#include "bindings/rooms.hpp"
#include "bindings/taught_arcs.hpp"
#include "bindings/trainer_state.hpp"
#include "kernels/graph/arc_loss_trainer.hpp"
#include "kernels/graph/arc_margin.hpp"
#include "kernels/graph/arc_parse.hpp"
#include "kernels/graph/exponentiated_gradient.hpp"
#include "kernels/learning/batched_changes.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise;
using namespace arcwise::bindings;

namespace {

// A part is (place, offset, atom); a template is (head parts, modifier parts, between, list, context, is a
// label template).
using PartTuple = std::tuple<int, int, int>;
using TemplateTuple = std::tuple<std::vector<PartTuple>, std::vector<PartTuple>, int, int, int, bool>;

std::vector<TemplatePart> parts_of(const std::vector<PartTuple>& given) {
  std::vector<TemplatePart> parts;
  for (const auto& [place, offset, atom] : given) parts.push_back({static_cast<Place>(place), offset, atom});
  return parts;
}

void make_table(ArcTable* self, const std::vector<std::string>& atoms, const std::vector<std::string>& lists,
                int word_atom, int frequent, const std::vector<TemplateTuple>& templates, int tags,
                int labels, int clusters, int arc_bits, int row_bits, Array<uint64_t> hashes,
                Array<uint32_t> counts) {
  std::vector<AtomSpec> specs, list_specs;
  for (const std::string& name : atoms) specs.push_back(atom_spec(name));
  for (const std::string& name : lists) list_specs.push_back(list_spec(name));
  std::vector<ArcTemplate> compiled;
  for (const auto& [head, modifier, between, list, context, label] : templates)
    compiled.push_back({parts_of(head), parts_of(modifier), static_cast<Between>(between), list,
                        static_cast<Context>(context), label});
  new (self) ArcTable();
  self->templates =
      ArcTemplates(std::move(specs), std::move(list_specs), word_atom, frequent, compiled, clusters > 1);
  self->vocabulary = Vocabulary(vector_of(hashes), vector_of(counts));
  self->tags = tags;
  self->states.labels = labels;
  self->states.clusters = clusters;
  self->arc_bits = arc_bits;
  self->row_bits = row_bits;
}

void set_classes(ArcTable& table, Array<uint32_t> starts, Array<uint16_t> ids, Array<uint16_t> reach,
                 std::optional<Array<float>> novelty, double unseen, int root_label) {
  auto classes = static_cast<size_t>(table.classes());
  if (starts.shape(0) != classes + 1 || reach.shape(0) != classes || starts.data()[classes] != ids.shape(0) ||
      (novelty && novelty->shape(0) != classes) || !(unseen > 0 && unseen < 1) || root_label < -1 ||
      root_label >= table.states.labels || !std::is_sorted(starts.data(), starts.data() + classes + 1) ||
      std::any_of(
          ids.data(), ids.data() + ids.shape(0), [&](uint16_t id) { return id >= table.states.labels; }))
    throw nb::value_error("classes of another table");
  table.set_classes(vector_of(starts), vector_of(ids), vector_of(reach),
                    novelty ? vector_of(*novelty) : std::vector<float>{}, unseen, root_label);
  for (int c = 0; c < table.classes(); ++c)
    for (int s = 0; s < table.states.count(c) && table.states.labels > 0; ++s)
      if (!table.is_legal(c, table.states.label_of(c, s)))
        throw nb::value_error("labels that break the rule of the root");
}

// The label sets of the classes, without the sets of all legal labels that follow them.
std::vector<uint32_t> label_starts(const ArcTable& table) {
  const auto& starts = table.states.set_starts;
  return {starts.begin(),
          starts.begin() + static_cast<ptrdiff_t>(std::min<size_t>(starts.size(), table.classes() + 1))};
}
std::vector<uint16_t> label_ids(const ArcTable& table) {
  const auto& ids = table.states.set_labels;
  return {ids.begin(),
          ids.begin() + (table.states.set_starts.empty() ? 0 : table.states.set_starts[table.classes()])};
}

ArcData make_data(const ArcTable& table, const TreebankLayout& layout, nb::bytes text, int tag_column,
                  const std::vector<std::string>& tags, const std::vector<std::string>& labels,
                  std::optional<Array<int32_t>> heads, std::optional<Array<int32_t>> label_codes) {
  const char* bytes = text.c_str();
  nb::gil_scoped_release release;
  ArcData data;
  data.atom_count = table.templates.atoms.size();
  data.atoms = token_atoms(layout, bytes, table.templates.atoms, 0, layout.words());
  for (const AtomSpec& list : table.templates.lists) data.lists.push_back(list_atoms(layout, bytes, list));
  data.tags = known_codes(layout, bytes, tag_column, tags);
  for (int32_t& tag : data.tags)
    if (tag < 0) tag = table.tags;
  data.labels = label_codes ? vector_of(*label_codes) : known_codes(layout, bytes, DEPREL, labels);
  data.heads = heads ? vector_of(*heads) : layout.heads;
  data.sentence_words = layout.sentence_words;
  if (data.heads.size() != data.tags.size()) throw nb::value_error("one head per word is needed");
  if (data.labels.size() != data.tags.size()) throw nb::value_error("one label per word is needed");
  return data;
}

void check_weights(const ArcTable& table, size_t size) {
  if (size != table.cells()) throw nb::value_error("weights of another table");
}

void check_sentences(const ArcData& data, const Array<int64_t>& sentences) {
  for (size_t i = 0; i < sentences.shape(0); ++i)
    if (sentences.data()[i] < 0 || sentences.data()[i] >= static_cast<int64_t>(data.sentences()))
      throw nb::index_error("sentence out of range");
}

using Required = std::optional<Array<int32_t>>;

const int32_t* words_of(const Required& given, const ArcData& data, const char* what) {
  if (!given) return nullptr;
  if (given->shape(0) != data.tags.size()) throw nb::value_error(what);
  return given->data();
}

// A table with its weights and a record of its nonzero rows; scores treebanks.
class GraphScorer {
 public:
  GraphScorer(const ArcTable& table, Array<float> weights, double temperature, double label_temperature,
              bool margins)
      : table_(table),
        weights_(checked(table, weights)),
        unseen_(table, temperature, label_temperature, margins),
        zeros_(table, weights.data()) {}
  WeightedTable weighted() const { return {table_, weights_.data(), unseen_, &zeros_}; }

 private:
  static Array<float> checked(const ArcTable& table, Array<float> weights) {
    check_weights(table, weights.shape(0));
    return weights;
  }

  const ArcTable& table_;
  Array<float> weights_;
  UnseenScores unseen_;
  KnownZeros zeros_;
};

ParseResult parse(const GraphScorer& scorer, const ArcData& data, Required required,
                  const DecodeSettings& settings, Required asked_heads, Required asked_labels,
                  const LegalSettings* legal, int threads) {
  const int32_t* heads = words_of(required, data, "one required head per word is needed");
  AskedTrees asked{words_of(asked_heads, data, "one head per word is needed"),
                   words_of(asked_labels, data, "one label per word is needed")};
  if (legal && !legal->fit(data.tags.size(), scorer.weighted().table.states.labels))
    throw nb::value_error("rules of other labels or words");
  nb::gil_scoped_release release;
  return arc_parse(scorer.weighted(), data, heads, settings, asked, legal, threads);
}

KBestResult k_best(const GraphScorer& scorer, const ArcData& data, Required required,
                   const DecodeSettings& settings, int k, int threads) {
  const int32_t* heads = words_of(required, data, "one required head per word is needed");
  nb::gil_scoped_release release;
  return arc_k_best(scorer.weighted(), data, heads, settings, k, threads);
}

ScoreBatch scores(const GraphScorer& scorer, const ArcData& data, Required required, int threads) {
  const int32_t* heads = words_of(required, data, "one required head per word is needed");
  nb::gil_scoped_release release;
  return score_treebank(scorer.weighted(), data, heads, threads);
}

// The places of the features of one arc in one state, whose weights add up to its score.
std::vector<uint32_t> feature_places(const ArcTable& table, const ArcData& data, size_t sentence, int head,
                                     int modifier, int state) {
  ArcSentence prepared;
  if (sentence >= data.sentences()) throw nb::index_error("sentence out of range");
  prepared.set(table, data, sentence, {});
  if (head < 0 || modifier < 1 || head > prepared.n() || modifier > prepared.n() || head == modifier)
    throw nb::index_error("no such arc");
  std::vector<uint32_t> places;
  state_places(table, prepared, head, modifier, state, [&](uint32_t place) { places.push_back(place); });
  return places;
}

void bind_table(nb::module_& m) {
  nb::class_<ArcData>(m, "ArcData",
                      "A treebank as the graph-based parser sees it: atoms, tags, heads, labels.")
      .def_prop_ro("sentence_count", &ArcData::sentences)
      .def_prop_ro(
          "heads", [](const ArcData& d) { return moved(d.heads); }, nb::rv_policy::automatic)
      .def_prop_ro(
          "labels", [](const ArcData& d) { return moved(d.labels); }, nb::rv_policy::automatic)
      .def(
          "set_taught",
          [](ArcData& d, Array<int64_t> starts, Array<int32_t> heads, Array<int32_t> labels,
             Array<double> shares, Array<double> weights) {
            d.taught = taught_arcs(d.sentence_words, starts, heads, labels, shares, weights);
          },
          "starts"_a, "heads"_a, "labels"_a, "shares"_a, "weights"_a,
          "What a teacher says: losses go by it from now on. Arcs of word w are starts[w]..starts[w+1]; "
          "weights are of sentences.");
  nb::class_<ArcTable>(
      m, "ArcTable",
      "Where the weights of an arc-factored model lie: templates, tags, labels, without the weights.")
      .def("__init__", &make_table, "atoms"_a, "lists"_a, "word_atom"_a, "frequent"_a, "templates"_a,
           "tags"_a, "labels"_a, "clusters"_a, "arc_bits"_a, "row_bits"_a, "word_hashes"_a, "word_counts"_a)
      .def_prop_ro("cells", &ArcTable::cells)
      .def_prop_ro(
          "label_starts", [](const ArcTable& s) { return moved(label_starts(s)); }, nb::rv_policy::automatic)
      .def_prop_ro(
          "label_ids", [](const ArcTable& s) { return moved(label_ids(s)); }, nb::rv_policy::automatic)
      .def_prop_ro(
          "reach", [](const ArcTable& s) { return moved(s.reach); }, nb::rv_policy::automatic)
      .def_prop_ro(
          "novelty", [](const ArcTable& s) { return moved(s.novelty); }, nb::rv_policy::automatic)
      .def_ro("unseen", &ArcTable::unseen)
      .def_ro_static("UNTOLD", &ArcTable::UNTOLD)
      .def("data", &make_data, "layout"_a, "text"_a, "tag_column"_a, "tags"_a, "labels"_a,
           "heads"_a = nb::none(), "label_codes"_a = nb::none(),
           "The treebank as this table sees it; `heads` and `label_codes` (places in `labels`, -1 where "
           "unknown) stand in for those of "
           "the file.")
      .def_ro("root_label", &ArcTable::root_label)
      .def("learn_classes", &ArcTable::learn_classes, "data"_a, "restricted"_a, "enough"_a,
           "root_label"_a = -1, nb::call_guard<nb::gil_scoped_release>())
      .def(
          "count_features",
          [](const ArcTable& table, const ArcData& data, int threads) {
            FeatureCount found;
            {
              nb::gil_scoped_release release;
              found = count_features(table, data, threads);
            }
            return std::make_tuple(found.features, found.places);
          },
          "data"_a, "threads"_a = 1,
          "How many different features the gold arcs have, and how many places in the table these take.")
      .def("set_classes", &set_classes, "label_starts"_a, "label_ids"_a, "reach"_a, "novelty"_a = nb::none(),
           "unseen"_a = ArcTable::UNTOLD, "root_label"_a = -1)
      .def("feature_places", &feature_places, "data"_a, "sentence"_a, "head"_a, "modifier"_a, "state"_a);
}

void bind_parsing(nb::module_& m) {
  nb::class_<GraphScorer>(m, "GraphScorer",
                          "A table with its weights: from a treebank to scores, or at once to trees.")
      .def(nb::init<const ArcTable&, Array<float>, double, double, bool>(), "table"_a, "weights"_a,
           "temperature"_a = 1.0, "label_temperature"_a = 1.0, "margins"_a = false, nb::keep_alive<1, 2>())
      .def("scores", &scores, "data"_a, "required"_a.none() = nb::none(), nb::kw_only(), "threads"_a,
           "The scores of all sentences: of every arc that the required heads allow, with every label.")
      .def("parse", &parse, "data"_a, "required"_a.none() = nb::none(), nb::kw_only(), "settings"_a,
           "asked_heads"_a.none() = nb::none(), "asked_labels"_a.none() = nb::none(),
           "legal"_a.none() = nb::none(), "threads"_a,
           "scores(…).decode(…), without keeping the scores; and legal_parses(…) if there are rules.")
      .def("k_best", &k_best, "data"_a, "required"_a.none() = nb::none(), nb::kw_only(), "settings"_a, "k"_a,
           "threads"_a, "scores(…).k_best(…), without keeping the scores.");
}

template <typename Trainer>
void bind_weights(nb::class_<Trainer>& trainer) {
  trainer
      .def_prop_ro(
          "averaged", [](const Trainer& t) { return moved(t.weights().averaged()); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "weights", [](const Trainer& t) { return moved(t.weights().weights); }, nb::rv_policy::automatic);
  bind_state(trainer);
}

void bind_margin(nb::module_& m) {
  nb::enum_<MarginUpdate>(m, "MarginUpdate")
      .value("perceptron", MarginUpdate::perceptron)
      .value("mira", MarginUpdate::mira)
      .value("mira_factored", MarginUpdate::mira_factored);
  nb::class_<MarginReport>(m, "MarginReport")
      .def_ro("loss", &MarginReport::loss)
      .def_ro("updates", &MarginReport::updates, "sentences that changed the weights")
      .def_ro("skipped", &MarginReport::skipped, "sentences left out");
  m.attr("BATCH_WINDOW") = BATCH_WINDOW;
  auto trainer = nb::class_<MarginTrainer>(m, "MarginTrainer", "Averaged perceptron and MIRA.");
  trainer
      .def(
          "__init__",
          [](MarginTrainer* self, const ArcTable& table, const ArcData& data, MarginUpdate update,
             bool projective, bool single_root, int k, double C, bool loss_augmented, bool minimum_risk,
             bool risk_augmented, double dropout, uint64_t seed) {
            MarginOptions options;
            options.update = update;
            options.trees = {projective, single_root};
            options.k = k;
            options.C = C;
            options.loss_augmented = loss_augmented;
            options.minimum_risk = minimum_risk;
            options.risk_augmented = risk_augmented;
            options.dropout = {dropout, seed};
            new (self) MarginTrainer(table, data, options);
          },
          "table"_a, "data"_a, nb::kw_only(), "update"_a, "projective"_a, "single_root"_a, "k"_a, "C"_a,
          "loss_augmented"_a, "minimum_risk"_a, "risk_augmented"_a = false, "dropout"_a, "seed"_a,
          nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def(
          "run",
          [](MarginTrainer& self, Array<int64_t> sentences, uint64_t epoch, size_t batch, int threads) {
            check_sentences(self.data(), sentences);
            nb::gil_scoped_release release;
            return self.run(sentences.data(), sentences.shape(0), epoch, batch, threads);
          },
          "sentences"_a, "epoch"_a, "batch"_a = 1, "threads"_a = 1);
  bind_weights(trainer);
}

void bind_loss_trainer(nb::module_& m) {
  nb::class_<LossReport>(m, "LossReport")
      .def_ro("loss", &LossReport::loss)
      .def_ro("skipped", &LossReport::skipped, "sentences left out");
  auto trainer =
      nb::class_<LossTrainer>(m, "LossTrainer", "Online training by the gradient of a loss on scores.");
  trainer
      .def(
          "__init__",
          [](LossTrainer* self, const ArcTable& table, const ArcData& data, TreeLoss loss, bool projective,
             bool single_root, bool adagrad, double prior, double floor, double noise, double dropout,
             uint64_t seed) {
            new (self)
                LossTrainer(table, data,
                            {loss, {projective, single_root}, adagrad, prior, floor, noise, {dropout, seed}});
          },
          "table"_a, "data"_a, nb::kw_only(), "loss"_a, "projective"_a, "single_root"_a, "adagrad"_a,
          "prior"_a, "floor"_a, "noise"_a, "dropout"_a, "seed"_a, nb::keep_alive<1, 2>(),
          nb::keep_alive<1, 3>())
      .def(
          "run",
          [](LossTrainer& self, Array<int64_t> sentences, uint64_t epoch, double rate) {
            check_sentences(self.data(), sentences);
            nb::gil_scoped_release release;
            return self.run(sentences.data(), sentences.shape(0), epoch, rate);
          },
          "sentences"_a, "epoch"_a, "rate"_a)
      .def_prop_rw("loss", &LossTrainer::loss, &LossTrainer::set_loss);
  bind_weights(trainer);
  nb::class_<LossObjective>(m, "LossObjective",
                            "The loss of a treebank by the weights of the features that occur in it.")
      .def(
          "__init__",
          [](LossObjective* self, const ArcTable& table, const ArcData& data, TreeLoss loss, bool projective,
             bool single_root, int threads, size_t first, std::optional<size_t> last) {
            nb::gil_scoped_release release;
            new (self) LossObjective(table, data, loss, {projective, single_root}, threads, first,
                                     last.value_or(data.sentences()));
          },
          "table"_a, "data"_a, nb::kw_only(), "loss"_a, "projective"_a, "single_root"_a, "threads"_a,
          "first"_a = 0, "last"_a = nb::none(), nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def_prop_ro(
          "places", [](const LossObjective& o) { return moved(o.places()); }, nb::rv_policy::automatic,
          "the cells of these features")
      .def_prop_ro("skipped", &LossObjective::skipped, "sentences left out of the last value")
      .def(
          "__call__",
          [](LossObjective& self, Array<double> x) {
            if (x.shape(0) != self.places().size()) throw nb::value_error("weights of another table");
            std::vector<double> gradient(x.shape(0));
            double value;
            {
              nb::gil_scoped_release release;
              value = self.compute(x.data(), gradient.data());
            }
            return std::make_tuple(value, moved(std::move(gradient)));
          },
          "x"_a, "The loss, and its gradient by the weights of the places.");
}

void bind_exponentiated_gradient(nb::module_& m) {
  using Trainer = ExponentiatedGradientTrainer;
  nb::class_<Trainer>(m, "ExponentiatedGradientTrainer",
                      "Max-margin or log-linear training by exponentiated gradient.")
      .def(
          "__init__",
          [](Trainer* self, const ArcTable& table, const ArcData& data, bool projective, bool single_root,
             double C, double beta, int violators, bool log_linear) {
            nb::gil_scoped_release release;
            new (self) Trainer(table, data, {{projective, single_root}, C, beta, violators, log_linear});
          },
          "table"_a, "data"_a, nb::kw_only(), "projective"_a, "single_root"_a, "C"_a, "beta"_a,
          "violators"_a = 3, "log_linear"_a = false, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def(
          "run",
          [](Trainer& self, Array<int64_t> sentences) {
            check_sentences(self.data(), sentences);
            nb::gil_scoped_release release;
            return self.run(sentences.data(), sentences.shape(0));
          },
          "sentences"_a, "One visit to each of the sentences; their terms of the dual after it.")
      .def_prop_ro("dual", &Trainer::dual)
      .def_prop_ro("mean_step", &Trainer::mean_step)
      .def_prop_ro("skipped", &Trainer::skipped, "sentences left out: their heads are no tree of the class")
      .def("primal", &Trainer::primal, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("weights", [](const Trainer& t) { return moved(t.weights()); }, nb::rv_policy::automatic);
}

}  // namespace

void bind_graph(nb::module_& m) {
  bind_table(m);
  bind_parsing(m);
  bind_margin(m);
  bind_loss_trainer(m);
  bind_exponentiated_gradient(m);
}
