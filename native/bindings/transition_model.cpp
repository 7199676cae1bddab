// Bindings of the transition room: the model, its training and parsing.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings/arrays.hpp"
#include "bindings/rooms.hpp"
#include "kernels/transition/transition_coverage.hpp"
#include "kernels/transition/transition_parser.hpp"
#include "kernels/transition/transition_trainer.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise;

namespace {

using Ints = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Longs = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Floats = nb::ndarray<const float, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using GraphTuple = std::tuple<int, int, int>;  // head, modifier, label

void build(TransitionModel* self, const TransitionSystem& system, const std::vector<std::string>& atoms,
           const std::string& word, const std::string& tag, const Vocabulary& vocabulary,
           const std::vector<std::string>& move_templates, const std::vector<std::string>& label_templates,
           int labels, int move_bits, int label_bits) {
  auto place = [&](const std::string& name) {
    const auto at = std::find(atoms.begin(), atoms.end(), name);
    if (at == atoms.end()) throw nb::value_error("word, tag: must be among the atoms");
    return static_cast<int>(at - atoms.begin());
  };
  new (self) TransitionModel();
  self->system = system;
  self->atom_names = atoms;
  for (const std::string& name : atoms) self->atoms.push_back(atom_spec(name));
  self->word_atom = place(word);
  self->tag_atom = place(tag);
  self->vocabulary = vocabulary;
  self->move_templates = TransitionTemplates(move_templates, atoms);
  self->label_templates = TransitionTemplates(label_templates, atoms);
  self->labels = std::max(labels, 1);
  self->move_bits = move_bits;
  self->label_bits = label_bits;
  self->moves = WeightTable((size_t{1} << move_bits) * self->move_stride());
  self->label_rows = WeightTable((size_t{1} << label_bits) * self->label_stride());
}

TransitionData make_data(const TransitionModel& model, const TreebankLayout& layout, nb::bytes text) {
  const char* bytes = text.c_str();
  nb::gil_scoped_release release;
  return transition_data(model, layout, bytes);
}

void set_gold(TransitionData& data, Ints heads, Ints labels) {
  const size_t words = data.tags.size();
  if (heads.shape(0) != words || labels.shape(0) != words)
    throw nb::value_error("one head and label per word");
  data.heads.assign(heads.data(), heads.data() + words);
  data.labels.assign(labels.data(), labels.data() + words);
}

std::vector<std::vector<GraphArc>> arcs_of(const std::vector<std::vector<GraphTuple>>& graphs) {
  std::vector<std::vector<GraphArc>> out;
  for (const auto& graph : graphs) {
    auto& arcs = out.emplace_back();
    for (const auto& [head, modifier, label] : graph)
      arcs.push_back({head, modifier, static_cast<int16_t>(label)});
  }
  return out;
}

// Checked: arcs join words of their sentence.
void check_graphs(const std::vector<std::vector<GraphArc>>& graphs, const std::vector<int>& words) {
  if (graphs.size() != words.size()) throw nb::value_error("one graph per sentence");
  for (size_t s = 0; s < graphs.size(); ++s)
    for (const GraphArc& a : graphs[s])
      if (a.head < 0 || a.head > words[s] || a.modifier < 1 || a.modifier > words[s])
        throw nb::value_error("an arc leaves its sentence");
}

void set_graphs(TransitionData& data, const std::vector<std::vector<GraphTuple>>& graphs) {
  std::vector<int> words;
  for (size_t s = 0; s < data.sentences(); ++s) words.push_back(data.words(s));
  data.graphs = arcs_of(graphs);
  check_graphs(data.graphs, words);
}

// Weights travel as one array: those of moves, then those of labels.
void set_weights(TransitionModel& model, Floats weights) {
  if (weights.shape(0) != model.moves.size() + model.label_rows.size())
    throw nb::value_error("weights: another size was expected");
  std::copy_n(weights.data(), model.moves.size(), model.moves.data());
  std::copy_n(weights.data() + model.moves.size(), model.label_rows.size(), model.label_rows.data());
}

nb::dict parse(const TransitionModel& model, const TransitionData& data, int beam, bool single_root, int k,
               bool confidence, double temperature, int threads) {
  TransitionParses p;
  {
    nb::gil_scoped_release release;
    p = transition_parse_batch(model, data, {beam, single_root, k, confidence, temperature}, threads);
  }
  nb::dict out;
  auto give = [&](const char* name, auto&& values) {
    const size_t size = values.size();
    out[name] = owned_array(std::move(values), {size});
  };
  std::vector<std::vector<GraphTuple>> graphs;
  if (model.system.many_heads)
    for (const auto& arcs : p.graphs) {
      auto& graph = graphs.emplace_back();
      for (const GraphArc& a : arcs) graph.emplace_back(a.head, a.modifier, a.label);
    }
  out["graphs"] = graphs;
  out["dead_ends"] = p.dead_ends;
  give("counts", std::move(p.counts));
  give("heads", std::move(p.heads));
  give("labels", std::move(p.labels));
  give("scores", std::move(p.scores));
  give("head_probability", std::move(p.head_probability));
  give("label_probability", std::move(p.label_probability));
  give("log_probability", std::move(p.log_probability));
  give("entropy", std::move(p.entropy));
  return out;
}

// A trainer with its model and data, which Python keeps alive.
void make_trainer(TransitionTrainer* self, TransitionModel& model, const TransitionData& data, int rule,
                  int beam, bool single_root, double explore, double dropout, double step_bound,
                  int warm_epochs, uint64_t seed) {
  new (self) TransitionTrainer(
      model, data,
      {static_cast<UpdateRule>(rule), beam, single_root, explore, dropout, step_bound, warm_epochs, seed});
}

auto averages(const TransitionTrainer& trainer, const TransitionModel& model) {
  const size_t size = model.moves.size() + model.label_rows.size();
  std::vector<float> weights(size);
  trainer.average(weights.data(), weights.data() + model.moves.size());
  return owned_array(std::move(weights), {size});
}

// Every legal move of a state with its score (and its best label), for a look inside.
std::vector<std::tuple<int, int, int, int, double>> scored_moves(const TransitionModel& model,
                                                                 const TransitionData& data, size_t sentence,
                                                                 const TransitionState& state,
                                                                 bool all_labels) {
  if (sentence >= data.sentences()) throw nb::index_error("sentence out of range");
  MoveScorer scorer(model);
  scorer.begin(data, sentence, nullptr);
  std::vector<ScoredMove> moves;
  scorer.score(state, all_labels, moves);
  std::vector<std::tuple<int, int, int, int, double>> out;
  for (const ScoredMove& m : moves)
    out.emplace_back(m.move.transition, m.move.left, m.move.right, m.move.label, m.score);
  return out;
}

}  // namespace

void bind_transition_model(nb::module_& m) {
  nb::class_<TransitionModel>(m, "TransitionModel", "The weights and templates of a transition-based parser.")
      .def("__init__", &build, "system"_a, "atoms"_a, "word"_a, "tag"_a, "vocabulary"_a, "move_templates"_a,
           "label_templates"_a, "labels"_a, "move_bits"_a, "label_bits"_a)
      .def_prop_ro("weight_count",
                   [](const TransitionModel& model) { return model.moves.size() + model.label_rows.size(); })
      .def("set_weights", &set_weights, "weights"_a);
  nb::class_<TransitionData>(m, "TransitionData", "Sentences as a transition-based parser sees them.")
      .def(
          "__init__",
          [](TransitionData* self, const TransitionModel& model, const TreebankLayout& layout,
             nb::bytes text) { new (self) TransitionData(make_data(model, layout, text)); },
          "model"_a, "layout"_a, "text"_a)
      .def("set_gold", &set_gold, "heads"_a, "labels"_a)
      .def("set_graphs", &set_graphs, "graphs"_a);
  nb::class_<TransitionTrainer>(m, "TransitionTrainer",
                                "Learns the weights of a model, sentence after sentence.")
      .def("__init__", &make_trainer, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), "model"_a, "data"_a,
           "rule"_a, "beam"_a, "single_root"_a, "explore"_a, "dropout"_a, "step_bound"_a, "warm_epochs"_a,
           "seed"_a)
      .def(
          "learn",
          [](TransitionTrainer& trainer, int epoch, Longs sentences, bool explore) {
            nb::gil_scoped_release release;
            return trainer.learn(epoch, sentences.data(), sentences.shape(0), explore);
          },
          "epoch"_a, "sentences"_a, "explore"_a,
          "Learns from these sentences; returns how many updates were made.")
      .def("averages", &averages, "model"_a, "The averaged weights so far.");
  m.def("transition_parse", &parse, "model"_a, "data"_a, "beam"_a, "single_root"_a, "k"_a, "confidence"_a,
        "temperature"_a, "threads"_a,
        nb::sig("def transition_parse(model: TransitionModel, data: TransitionData, beam: int, single_root: "
                "bool, k: int, "
                "confidence: bool, temperature: float, threads: int) -> dict[str, typing.Any]"),
        "Parses all sentences; arrays flat over words, trees one after the other.");
  m.def(
      "transition_graph_coverage",
      [](const TransitionSystem& system, const std::vector<std::vector<GraphTuple>>& graphs,
         const std::vector<int>& words) {
        const auto arcs = arcs_of(graphs);
        check_graphs(arcs, words);
        std::vector<uint8_t> derivable = transition_graph_coverage(system, arcs, words);
        return owned_array(std::move(derivable), {graphs.size()});
      },
      "system"_a, "graphs"_a, "words"_a, "Whether a DAG system can build each graph.");
  m.def("transition_scored_moves", &scored_moves, "model"_a, "data"_a, "sentence"_a, "state"_a,
        "all_labels"_a, "Every legal move of a state with its score.");
}
