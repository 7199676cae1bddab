// Bindings of the transition room: the scorer, its training and parsing.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>

#include "bindings/arrays.hpp"
#include "bindings/rooms.hpp"
#include "bindings/taught_arcs.hpp"
#include "bindings/trainer_state.hpp"
#include "kernels/transition/transition_coverage.hpp"
#include "kernels/transition/transition_parser.hpp"
#include "kernels/transition/transition_trainer.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise;
using namespace arcwise::bindings;

namespace {

using GraphTuple = std::tuple<int, int, int>;  // head, modifier, label

void build(TransitionScorer* self, const TransitionSystem& system, const std::vector<std::string>& atoms,
           const std::string& word, const std::string& tag, const Vocabulary& vocabulary,
           const std::vector<std::string>& move_templates, const std::vector<std::string>& label_templates,
           int labels, int move_bits, int label_bits, bool distance_in_labels, int root_label) {
  auto place = [&](const std::string& name) {
    const auto at = std::find(atoms.begin(), atoms.end(), name);
    if (at == atoms.end()) throw nb::value_error("word, tag: must be among the atoms");
    return static_cast<int>(at - atoms.begin());
  };
  if (root_label < -1 || (root_label >= 0 && (root_label >= labels || labels < 2)))
    throw nb::value_error("root_label: must be one of several labels");
  new (self) TransitionScorer();
  self->system = system;
  self->atom_names = atoms;
  for (const std::string& name : atoms) self->atoms.push_back(atom_spec(name));
  self->word_atom = place(word);
  self->tag_atom = place(tag);
  self->vocabulary = vocabulary;
  self->move_templates = TransitionTemplates(move_templates, atoms);
  self->label_templates = TransitionTemplates(label_templates, atoms);
  self->labels = std::max(labels, 1);
  self->root_label = root_label;
  self->move_bits = move_bits;
  self->label_bits = label_bits;
  self->distance_in_labels = distance_in_labels;
  self->moves = Table<float>((size_t{1} << move_bits) * self->move_stride());
  self->label_rows = Table<float>((size_t{1} << label_bits) * self->label_stride());
}

TransitionData make_data(const TransitionScorer& scorer, const TreebankLayout& layout, nb::bytes text) {
  const char* bytes = text.c_str();
  nb::gil_scoped_release release;
  return transition_data(scorer, layout, bytes);
}

void set_gold(TransitionData& data, Array<int32_t> heads, Array<int32_t> labels) {
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

// Checks that arcs join words of their sentence.
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

// Weights are passed as one array: those of moves, then those of labels.
void set_weights(TransitionScorer& scorer, Array<float> weights) {
  if (weights.shape(0) != scorer.moves.size() + scorer.label_rows.size())
    throw nb::value_error("weights: another size was expected");
  std::copy_n(weights.data(), scorer.moves.size(), scorer.moves.data());
  std::copy_n(weights.data() + scorer.moves.size(), scorer.label_rows.size(), scorer.label_rows.data());
}

TransitionParses parse(const TransitionScorer& scorer, const TransitionData& data, int beam, bool single_root,
                       int k, bool confidence, double temperature, int threads) {
  nb::gil_scoped_release release;
  return transition_parse_batch(scorer, data, {beam, single_root, k, confidence, temperature}, threads);
}

std::vector<std::vector<GraphTuple>> graphs_of(const TransitionParses& parses) {
  std::vector<std::vector<GraphTuple>> graphs;
  for (const auto& arcs : parses.graphs) {
    auto& graph = graphs.emplace_back();
    for (const GraphArc& a : arcs) graph.emplace_back(a.head, a.modifier, a.label);
  }
  return graphs;
}

void bind_parses(nb::module_& m) {
  using Parses = TransitionParses;
  constexpr auto own = nb::rv_policy::automatic;
  nb::class_<Parses>(m, "TransitionParses", "Trees one after the other, flat over words; or graphs.")
      .def_prop_ro("counts", array_of(&Parses::counts), own)
      .def_prop_ro("heads", array_of(&Parses::heads), own)
      .def_prop_ro("labels", array_of(&Parses::labels), own)
      .def_prop_ro("scores", array_of(&Parses::scores), own)
      .def_prop_ro("head_probability", array_of(&Parses::head_probability), own)
      .def_prop_ro("label_probability", array_of(&Parses::label_probability), own)
      .def_prop_ro("log_probability", array_of(&Parses::log_probability), own)
      .def_prop_ro("entropy", array_of(&Parses::entropy), own)
      .def_prop_ro("graphs", &graphs_of)
      .def_ro("dead_ends", &Parses::dead_ends);
}

// Builds a trainer over its scorer and data, which Python keeps alive.
void make_trainer(TransitionTrainer* self, TransitionScorer& scorer, const TransitionData& data,
                  UpdateRule rule, int beam, bool single_root, double explore, double dropout,
                  double step_bound, int warm_epochs, uint64_t seed, bool static_oracle) {
  new (self) TransitionTrainer(
      scorer, data,
      {rule, beam, single_root, explore, dropout, step_bound, warm_epochs, seed, static_oracle});
}

auto averages(const TransitionTrainer& trainer, const TransitionScorer& scorer) {
  const size_t size = scorer.moves.size() + scorer.label_rows.size();
  std::vector<float> weights(size);
  trainer.average(weights.data(), weights.data() + scorer.moves.size());
  return moved(std::move(weights));
}

using MoveTuple = std::tuple<int, int, int, int>;  // transition, left, right, label

std::vector<MoveTuple> tuples(const std::vector<Move>& moves) {
  std::vector<MoveTuple> out;
  for (const Move& m : moves) out.emplace_back(m.transition, m.left, m.right, m.label);
  return out;
}

// Every legal move of a state with its score (and its best label), for inspection.
std::vector<std::tuple<int, int, int, int, double>> scored_moves(const TransitionScorer& scorer,
                                                                 const TransitionData& data, size_t sentence,
                                                                 const TransitionState& state,
                                                                 bool all_labels) {
  if (sentence >= data.sentences()) throw nb::index_error("sentence out of range");
  MoveScorer move_scorer(scorer);
  move_scorer.begin(data, sentence, nullptr);
  std::vector<ScoredMove> moves;
  move_scorer.score(state, all_labels, moves);
  std::vector<std::tuple<int, int, int, int, double>> out;
  for (const ScoredMove& m : moves)
    out.emplace_back(m.move.transition, m.move.left, m.move.right, m.move.label, m.score);
  return out;
}

// The indices of a move's weights in the array of all weights, for inspection. `dropped`: words (1..n) whose
// form counts as unknown; no others do, as in training.
std::vector<size_t> weight_places(const TransitionScorer& scorer, const TransitionData& data, size_t sentence,
                                  const TransitionState& state, const std::tuple<int, int, int, int>& given,
                                  const std::vector<int>& dropped) {
  if (sentence >= data.sentences()) throw nb::index_error("sentence out of range");
  const auto& [transition, left, right, label] = given;
  const Move move{left, right, static_cast<int16_t>(transition), static_cast<int16_t>(label)};
  if (!state.is_legal(move)) throw nb::value_error("move: not legal in this state");
  if (label < 0 || label >= scorer.labels) throw nb::value_error("move: no such label");
  std::vector<uint8_t> unknown(data.words(sentence));
  for (int word : dropped) {
    if (word < 1 || word > data.words(sentence)) throw nb::index_error("dropped: no such word");
    unknown[word - 1] = 1;
  }
  MoveScorer move_scorer(scorer);
  move_scorer.begin(data, sentence, unknown.data());
  auto [places, labels] = move_scorer.weight_places(state, move);
  for (size_t at : labels) places.push_back(scorer.moves.size() + at);
  return places;
}

auto weights(const TransitionScorer& scorer) {
  std::vector<float> all(scorer.moves.data(), scorer.moves.data() + scorer.moves.size());
  all.insert(all.end(), scorer.label_rows.data(), scorer.label_rows.data() + scorer.label_rows.size());
  return moved(std::move(all));
}

}  // namespace

void bind_transition_scorer(nb::module_& m) {
  bind_parses(m);
  nb::enum_<UpdateRule>(m, "UpdateRule", "Where a derivation that goes wrong is corrected.")
      .value("local", UpdateRule::local)
      .value("early", UpdateRule::early)
      .value("max_violation", UpdateRule::max_violation);
  nb::class_<TransitionScorer>(m, "TransitionScorer",
                               "The weights and templates of a transition-based parser.")
      .def("__init__", &build, "system"_a, "atoms"_a, "word"_a, "tag"_a, "vocabulary"_a, "move_templates"_a,
           "label_templates"_a, "labels"_a, "move_bits"_a, "label_bits"_a, "distance_in_labels"_a = false,
           "root_label"_a = -1)
      .def_prop_ro(
          "weight_count",
          [](const TransitionScorer& scorer) { return scorer.moves.size() + scorer.label_rows.size(); })
      .def("weights", &weights, "A copy of the weights as they are now.")
      .def("set_weights", &set_weights, "weights"_a);
  nb::class_<TransitionData>(m, "TransitionData", "Sentences as a transition-based parser sees them.")
      .def(
          "__init__",
          [](TransitionData* self, const TransitionScorer& scorer, const TreebankLayout& layout,
             nb::bytes text) { new (self) TransitionData(make_data(scorer, layout, text)); },
          "scorer"_a, "layout"_a, "text"_a)
      .def("set_gold", &set_gold, "heads"_a, "labels"_a)
      .def("set_graphs", &set_graphs, "graphs"_a)
      .def(
          "set_taught",
          [](TransitionData& d, Array<int64_t> starts, Array<int32_t> heads, Array<int32_t> labels,
             Array<double> shares, Array<double> weights) {
            d.taught = taught_arcs(d.starts, starts, heads, labels, shares, weights);
          },
          "starts"_a, "heads"_a, "labels"_a, "shares"_a, "weights"_a,
          "What a teacher says. Arcs of word w are starts[w]..starts[w+1]; weights are of sentences.");
  auto trainer = nb::class_<TransitionTrainer>(m, "TransitionTrainer",
                                               "Learns the weights of a scorer, sentence after sentence.");
  bind_state(trainer);
  trainer
      .def("__init__", &make_trainer, nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), "scorer"_a, "data"_a,
           "rule"_a, "beam"_a, "single_root"_a, "explore"_a, "dropout"_a, "step_bound"_a, "warm_epochs"_a,
           "seed"_a, "static_oracle"_a = false)
      .def(
          "learn",
          [](TransitionTrainer& trainer, int epoch, Array<int64_t> sentences, bool explore) {
            nb::gil_scoped_release release;
            return trainer.learn(epoch, sentences.data(), sentences.shape(0), explore);
          },
          "epoch"_a, "sentences"_a, "explore"_a,
          "Learns from these sentences; returns how many updates were made.")
      .def("averages", &averages, "scorer"_a, "The averaged weights so far.")
      .def(
          "last_beam_update",
          [](const TransitionTrainer& trainer) {
            const BeamUpdate& last = trainer.last_beam_update();
            return std::make_tuple(last.sentence, tuples(last.good), tuples(last.bad));
          },
          "The last update of a beam: sentence, correct moves and the parser's.");
  m.def("transition_parse", &parse, "scorer"_a, "data"_a, "beam"_a, "single_root"_a, "k"_a = 1,
        "confidence"_a = false, "temperature"_a = 1.0, "threads"_a = 1,
        "Parses all sentences; arrays flat over words, trees one after the other.");
  m.def(
      "transition_graph_coverage",
      [](const TransitionSystem& system, const std::vector<std::vector<GraphTuple>>& graphs,
         const std::vector<int>& words) {
        const auto arcs = arcs_of(graphs);
        check_graphs(arcs, words);
        std::vector<uint8_t> derivable = transition_graph_coverage(system, arcs, words);
        return moved(std::move(derivable));
      },
      "system"_a, "graphs"_a, "words"_a, "Whether a DAG system can build each graph.");
  m.def("transition_scored_moves", &scored_moves, "scorer"_a, "data"_a, "sentence"_a, "state"_a,
        "all_labels"_a, "Every legal move of a state with its score.");
  m.def("transition_weight_places", &weight_places, "scorer"_a, "data"_a, "sentence"_a, "state"_a, "move"_a,
        "dropped"_a, "Where the weights of a move are in the array of all weights.");
}
