#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <optional>

#include "bindings/arrays.hpp"
#include "bindings/rooms.hpp"
#include "kernels/graph/arc_exponentiated_gradient.hpp"
#include "kernels/graph/arc_likelihood.hpp"
#include "kernels/graph/arc_margin.hpp"
#include "kernels/graph/arc_parse.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise;

namespace {

template <typename T>
using Array = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <typename T>
std::vector<T> copied(const Array<T>& array) {
  return {array.data(), array.data() + array.shape(0)};
}

template <typename T, typename Allocator>
auto moved(std::vector<T, Allocator> values) {
  size_t size = values.size();
  return owned_array(std::move(values), {size});
}

// A part is (place, offset, atom); a template is (head parts, modifier parts, between, context, is a label
// template).
using PartTuple = std::tuple<int, int, int>;
using TemplateTuple = std::tuple<std::vector<PartTuple>, std::vector<PartTuple>, int, int, bool>;

std::vector<TemplatePart> parts_of(const std::vector<PartTuple>& given) {
  std::vector<TemplatePart> parts;
  for (const auto& [place, offset, atom] : given) parts.push_back({static_cast<Place>(place), offset, atom});
  return parts;
}

void make_space(ArcSpace* self, const std::vector<std::string>& atoms, int word_atom, int frequent,
                const std::vector<TemplateTuple>& templates, int tags, int labels, int clusters, int arc_bits,
                int row_bits, Array<uint64_t> hashes, Array<uint32_t> counts) {
  std::vector<AtomSpec> specs;
  for (const std::string& name : atoms) specs.push_back(atom_spec(name));
  std::vector<ArcTemplate> compiled;
  for (const auto& [head, modifier, between, context, label] : templates)
    compiled.push_back({parts_of(head), parts_of(modifier), static_cast<Between>(between),
                        static_cast<Context>(context), label});
  new (self) ArcSpace();
  self->templates = ArcTemplates(std::move(specs), word_atom, frequent, compiled, clusters > 1);
  self->vocabulary = Vocabulary(copied(hashes), copied(counts));
  self->tags = tags;
  self->labels = labels;
  self->clusters = clusters;
  self->arc_bits = arc_bits;
  self->row_bits = row_bits;
}

void set_classes(ArcSpace& space, Array<uint32_t> starts, Array<uint16_t> ids, Array<uint16_t> reach) {
  auto classes = static_cast<size_t>(space.classes());
  if (starts.shape(0) != classes + 1 || reach.shape(0) != classes || starts.data()[classes] != ids.shape(0))
    throw nb::value_error("classes of another space");
  space.label_starts = copied(starts);
  space.label_ids = copied(ids);
  space.reach = copied(reach);
}

ArcData make_data(const ArcSpace& space, const TreebankLayout& layout, nb::bytes text, int tag_column,
                  const std::vector<std::string>& tags, const std::vector<std::string>& labels,
                  std::optional<Array<int32_t>> heads) {
  const char* bytes = text.c_str();
  nb::gil_scoped_release release;
  ArcData data;
  data.atom_count = space.templates.atoms.size();
  data.atoms = token_atoms(layout, bytes, space.templates.atoms, 0, layout.words());
  data.tags = known_codes(layout, bytes, tag_column, tags);
  for (int32_t& tag : data.tags)
    if (tag < 0) tag = space.tags;
  data.labels = known_codes(layout, bytes, DEPREL, labels);
  data.heads = heads ? copied(*heads) : layout.heads;
  data.sentence_words = layout.sentence_words;
  if (data.heads.size() != data.tags.size()) throw nb::value_error("one head per word is needed");
  return data;
}

void check_weights(const ArcSpace& space, size_t size) {
  if (size != space.cells()) throw nb::value_error("weights of another space");
}

void check_sentences(const ArcData& data, const Array<int64_t>& sentences) {
  for (size_t i = 0; i < sentences.shape(0); ++i)
    if (sentences.data()[i] < 0 || sentences.data()[i] >= static_cast<int64_t>(data.sentences()))
      throw nb::index_error("sentence out of range");
}

ParseSettings settings_of(int decoder, bool projective, bool single_root, double scale, bool filtered) {
  ParseSettings settings{static_cast<ArcDecoder>(decoder), {projective, single_root}, scale};
  settings.filtered = filtered;
  return settings;
}

// Results by name.
using ResultDict = nb::typed<nb::dict, nb::str, nb::object>;

using Required = std::optional<Array<int32_t>>;

const int32_t* required_heads(const Required& required, const ArcData& data) {
  if (!required) return nullptr;
  if (required->shape(0) != data.tags.size()) throw nb::value_error("one required head per word is needed");
  return required->data();
}

ResultDict parse(const ArcSpace& space, Array<float> weights, const ArcData& data, Required required,
                 int decoder, bool projective, bool single_root, double scale, double label_scale,
                 bool confidence, bool filtered, int threads, std::optional<Array<uint64_t>> occupied) {
  check_weights(space, weights.shape(0));
  const int32_t* heads = required_heads(required, data);
  ParseSettings settings = settings_of(decoder, projective, single_root, scale, filtered);
  settings.label_scale = label_scale;
  settings.confidence = confidence;
  if (occupied) {
    if (occupied->shape(0) != (space.cells() - space.row_start()) / 512 + 2)
      throw nb::value_error("occupied rows of another space");
    settings.occupied = occupied->data();
  }
  ParseResult result;
  {
    nb::gil_scoped_release release;
    result = arc_parse(space, weights.data(), data, heads, settings, threads);
  }
  ResultDict out;
  out["heads"] = moved(std::move(result.heads));
  out["labels"] = moved(std::move(result.labels));
  out["parsed"] = moved(std::move(result.parsed));
  if (confidence) {
    out["head_probability"] = moved(std::move(result.head_probability));
    out["label_probability"] = moved(std::move(result.label_probability));
    out["gold_probability"] = moved(std::move(result.gold_probability));
    out["gold_label_probability"] = moved(std::move(result.gold_label_probability));
    out["log_probability"] = moved(std::move(result.log_probability));
    out["entropy"] = moved(std::move(result.entropy));
  }
  return out;
}

ResultDict k_best(const ArcSpace& space, Array<float> weights, const ArcData& data, Required required, int k,
                  bool projective, bool single_root, bool filtered, int threads) {
  check_weights(space, weights.shape(0));
  const int32_t* heads = required_heads(required, data);
  ParseSettings settings = settings_of(0, projective, single_root, 1, filtered);
  KBestResult result;
  {
    nb::gil_scoped_release release;
    result = arc_k_best(space, weights.data(), data, heads, settings, k, threads);
  }
  ResultDict out;
  out["counts"] = moved(std::move(result.counts));
  out["heads"] = moved(std::move(result.heads));
  out["labels"] = moved(std::move(result.labels));
  out["scores"] = moved(std::move(result.scores));
  return out;
}

// The places of the features of one arc in one state: what its score is the sum of.
std::vector<uint32_t> feature_places(const ArcSpace& space, const ArcData& data, size_t sentence, int head,
                                     int modifier, int state) {
  ArcSentence prepared;
  if (sentence >= data.sentences()) throw nb::index_error("sentence out of range");
  prepared.set(space, data, sentence, {});
  if (head < 0 || modifier < 1 || head > prepared.n() || modifier > prepared.n() || head == modifier)
    throw nb::index_error("no such arc");
  std::vector<uint32_t> places;
  state_places(space, prepared, head, modifier, state, [&](uint32_t place) { places.push_back(place); });
  return places;
}

void bind_space(nb::module_& m) {
  nb::class_<ArcData>(m, "ArcData",
                      "A treebank as the graph-based parser sees it: atoms, tags, heads, labels.")
      .def_prop_ro("sentence_count", &ArcData::sentences)
      .def_prop_ro(
          "heads", [](const ArcData& d) { return moved(d.heads); }, nb::rv_policy::automatic)
      .def_prop_ro("labels", [](const ArcData& d) { return moved(d.labels); }, nb::rv_policy::automatic);
  nb::class_<ArcSpace>(m, "ArcSpace",
                       "Templates, tags, labels and table of an arc-factored model, without weights.")
      .def("__init__", &make_space, "atoms"_a, "word_atom"_a, "frequent"_a, "templates"_a, "tags"_a,
           "labels"_a, "clusters"_a, "arc_bits"_a, "row_bits"_a, "word_hashes"_a, "word_counts"_a)
      .def_prop_ro("cells", &ArcSpace::cells)
      .def_prop_ro(
          "label_starts", [](const ArcSpace& s) { return moved(s.label_starts); }, nb::rv_policy::automatic)
      .def_prop_ro(
          "label_ids", [](const ArcSpace& s) { return moved(s.label_ids); }, nb::rv_policy::automatic)
      .def_prop_ro(
          "reach", [](const ArcSpace& s) { return moved(s.reach); }, nb::rv_policy::automatic)
      .def("data", &make_data, "layout"_a, "text"_a, "tag_column"_a, "tags"_a, "labels"_a,
           "heads"_a = nb::none(),
           "The treebank as this space sees it; `heads` stand in for those of the file.")
      .def("learn_classes", &ArcSpace::learn_classes, "data"_a, "restricted"_a,
           nb::call_guard<nb::gil_scoped_release>())
      .def(
          "count_features",
          [](const ArcSpace& space, const ArcData& data) {
            FeatureCount found;
            {
              nb::gil_scoped_release release;
              found = count_features(space, data);
            }
            return std::make_tuple(found.features, found.places);
          },
          "data"_a,
          "How many different features the gold arcs have, and how many places in the table these take.")
      .def("set_classes", &set_classes, "label_starts"_a, "label_ids"_a, "reach"_a)
      .def("feature_places", &feature_places, "data"_a, "sentence"_a, "head"_a, "modifier"_a, "state"_a);
}

void bind_parsing(nb::module_& m) {
  m.def("arc_parse", &parse, "space"_a, "weights"_a, "data"_a, "required"_a.none(), "decoder"_a,
        "projective"_a, "single_root"_a, "scale"_a, "label_scale"_a, "confidence"_a, "filtered"_a,
        "threads"_a, "occupied"_a = nb::none());
  m.def(
      "occupied_rows",
      [](const ArcSpace& space, Array<float> weights) {
        check_weights(space, weights.shape(0));
        return moved(occupied_rows(space, weights.data()));
      },
      "space"_a, "weights"_a, "Which rows of the table have a weight at all; parsing with it is faster.");
  m.def("arc_k_best", &k_best, "space"_a, "weights"_a, "data"_a, "required"_a.none(), "k"_a, "projective"_a,
        "single_root"_a, "filtered"_a, "threads"_a);
  m.def(
      "arc_matrices",
      [](const ArcSpace& space, Array<float> weights, const ArcData& data, bool projective, bool single_root,
         double scale, bool filtered, int threads) {
        check_weights(space, weights.shape(0));
        ArcMatrices result;
        {
          nb::gil_scoped_release release;
          result = arc_matrices(space, weights.data(), data,
                                settings_of(0, projective, single_root, scale, filtered), threads);
        }
        return std::make_tuple(moved(std::move(result.scores)), moved(std::move(result.starts)));
      },
      "space"_a, "weights"_a, "data"_a, "projective"_a, "single_root"_a, "scale"_a, "filtered"_a, "threads"_a,
      "Scores of labelled arcs of every sentence, labels × (n+1)² each, one after the other, and where each "
      "starts.");
}

void bind_margin(nb::module_& m) {
  nb::class_<MarginTrainer>(m, "MarginTrainer", "Averaged perceptron and MIRA.")
      .def(
          "__init__",
          [](MarginTrainer* self, const ArcSpace& space, const ArcData& data, int update, bool projective,
             bool single_root, int k, double C, bool loss_augmented, bool minimum_risk, double dropout,
             uint64_t seed) {
            MarginOptions options;
            options.update = static_cast<MarginUpdate>(update);
            options.trees = {projective, single_root};
            options.k = k;
            options.C = C;
            options.loss_augmented = loss_augmented;
            options.minimum_risk = minimum_risk;
            options.dropout = {dropout, seed};
            new (self) MarginTrainer(space, data, options);
          },
          "space"_a, "data"_a, "update"_a, "projective"_a, "single_root"_a, "k"_a, "C"_a, "loss_augmented"_a,
          "minimum_risk"_a, "dropout"_a, "seed"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def(
          "run",
          [](MarginTrainer& self, const ArcData& data, Array<int64_t> sentences, uint64_t epoch) {
            check_sentences(data, sentences);
            MarginReport report;
            {
              nb::gil_scoped_release release;
              report = self.run(sentences.data(), sentences.shape(0), epoch);
            }
            return std::make_tuple(report.loss, report.updates, report.skipped);
          },
          "data"_a, "sentences"_a, "epoch"_a,
          "(loss, sentences that changed the weights, sentences left out)")
      .def_prop_ro(
          "averaged", [](const MarginTrainer& t) { return moved(t.weights().averaged()); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "weights", [](const MarginTrainer& t) { return moved(t.weights().weights); },
          nb::rv_policy::automatic);
}

void bind_likelihood(nb::module_& m) {
  nb::class_<LikelihoodTrainer>(m, "LikelihoodTrainer", "Log-linear models, online.")
      .def(
          "__init__",
          [](LikelihoodTrainer* self, const ArcSpace& space, const ArcData& data, bool projective,
             bool single_root, bool adagrad, double prior, double floor, double noise, double dropout,
             uint64_t seed) {
            new (self) LikelihoodTrainer(
                space, data, {{projective, single_root}, adagrad, prior, floor, noise, {dropout, seed}});
          },
          "space"_a, "data"_a, "projective"_a, "single_root"_a, "adagrad"_a, "prior"_a, "floor"_a, "noise"_a,
          "dropout"_a, "seed"_a, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def(
          "run",
          [](LikelihoodTrainer& self, const ArcData& data, Array<int64_t> sentences, uint64_t epoch,
             double rate) {
            check_sentences(data, sentences);
            LikelihoodReport report;
            {
              nb::gil_scoped_release release;
              report = self.run(sentences.data(), sentences.shape(0), epoch, rate);
            }
            return std::make_tuple(report.log_likelihood, report.skipped);
          },
          "data"_a, "sentences"_a, "epoch"_a, "rate"_a, "(log likelihood, sentences left out)")
      .def_prop_ro(
          "averaged", [](const LikelihoodTrainer& t) { return moved(t.weights().averaged()); },
          nb::rv_policy::automatic)
      .def_prop_ro(
          "weights", [](const LikelihoodTrainer& t) { return moved(t.weights().weights); },
          nb::rv_policy::automatic);
  m.def(
      "likelihood_objective",
      [](const ArcSpace& space, const ArcData& data, bool projective, bool single_root, Array<double> weights,
         int threads) {
        check_weights(space, weights.shape(0));
        std::vector<double> gradient(space.cells(), 0);
        double value;
        {
          nb::gil_scoped_release release;
          value = likelihood_objective(space, data, {projective, single_root}, weights.data(),
                                       gradient.data(), threads);
        }
        return std::make_tuple(value, moved(std::move(gradient)));
      },
      "space"_a, "data"_a, "projective"_a, "single_root"_a, "weights"_a, "threads"_a,
      "Minus the log likelihood of the treebank, and its gradient.");
  nb::class_<DualTrainer>(m, "DualTrainer", "Max-margin training by exponentiated gradient.")
      .def(
          "__init__",
          [](DualTrainer* self, const ArcSpace& space, const ArcData& data, bool projective, bool single_root,
             double C, double beta) {
            nb::gil_scoped_release release;
            new (self) DualTrainer(space, data, {{projective, single_root}, C, beta});
          },
          "space"_a, "data"_a, "projective"_a, "single_root"_a, "C"_a, "beta"_a, nb::keep_alive<1, 2>(),
          nb::keep_alive<1, 3>())
      .def(
          "run",
          [](DualTrainer& self, const ArcData& data, Array<int64_t> sentences) {
            check_sentences(data, sentences);
            nb::gil_scoped_release release;
            return self.run(sentences.data(), sentences.shape(0));
          },
          "data"_a, "sentences"_a, "C times the expected cost of the sentences after their steps")
      .def("dual", &DualTrainer::dual, "expected_costs"_a)
      .def_prop_ro("mean_step", &DualTrainer::mean_step)
      .def("primal", &DualTrainer::primal, nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro(
          "weights", [](const DualTrainer& t) { return moved(t.weights()); }, nb::rv_policy::automatic);
}

}  // namespace

void bind_graph(nb::module_& m) {
  bind_space(m);
  bind_parsing(m);
  bind_margin(m);
  bind_likelihood(m);
}
