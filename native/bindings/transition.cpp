// Bindings of the transition room: systems, states, oracles, coverage.
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"
#include "bindings/rooms.hpp"
#include "kernels/transition/transition_coverage.hpp"
#include "kernels/transition/transition_oracle.hpp"

namespace nb = nanobind;
using namespace nb::literals;
using namespace arcwise;
using namespace arcwise::bindings;

namespace {

using MoveTuple = std::tuple<int, int, int, int>;  // transition, left, right, label

TransitionSystem make_system(int capacity, int max_distance, int start, bool root_right, bool many_heads,
                             const std::vector<Transition>& transitions) {
  auto bound = [](int value) { return value <= 0 ? TransitionSystem::UNBOUNDED : value; };
  return {bound(capacity), bound(max_distance), bound(start), root_right, many_heads, transitions};
}

void bind_system(nb::module_& m) {
  nb::enum_<MoveKind>(m, "MoveKind", "What a transition does.")
      .value("left_arc", MoveKind::left_arc)
      .value("right_arc", MoveKind::right_arc)
      .value("reduce", MoveKind::reduce)
      .value("shift", MoveKind::shift);
  nb::enum_<Periphery>(m, "Periphery", "Which outermost active token a transition must involve.")
      .value("none", Periphery::none)
      .value("left", Periphery::left)
      .value("right", Periphery::right)
      .value("not_right", Periphery::not_right);
  nb::class_<Transition>(m, "Transition", "One transition with its control parameters.")
      .def(
          "__init__",
          [](Transition* self, MoveKind kind, bool bottom_up, bool arc_shift, Periphery periphery) {
            new (self) Transition{kind, bottom_up, arc_shift, periphery};
          },
          nb::kw_only(), "kind"_a, "bottom_up"_a, "arc_shift"_a, "periphery"_a);
  nb::class_<TransitionSystem>(m, "TransitionSystem",
                               "The control parameters of a system, checked by arcwise.transition.")
      .def(
          "__init__",
          [](TransitionSystem* self, int capacity, int max_distance, int start, bool root_right,
             bool many_heads, const std::vector<Transition>& transitions) {
            new (self) TransitionSystem(
                make_system(capacity, max_distance, start, root_right, many_heads, transitions));
          },
          nb::kw_only(), "capacity"_a, "max_distance"_a, "start"_a, "root_right"_a, "many_heads"_a,
          "transitions"_a, "A capacity, distance or start of 0 means unbounded.")
      .def_prop_ro("is_arc_decomposable",
                   [](const TransitionSystem& s) { return decomposable_as(s) != Decomposable::no; });
}

struct TransitionCoverage {
  std::vector<uint8_t> derivable, found;
  std::vector<int32_t> nearest;
};

TransitionCoverage coverage(const TransitionSystem& system, bool single_root, Array<int32_t> heads,
                            Array<uint32_t> sentence_words, int threads) {
  const size_t sentences = sentence_words.shape(0) - 1;
  if (sentence_words.data()[sentences] != heads.shape(0))
    throw nb::value_error("heads: one per word is needed");
  TransitionCoverage out{std::vector<uint8_t>(sentences), std::vector<uint8_t>(sentences),
                         std::vector<int32_t>(heads.shape(0))};
  nb::gil_scoped_release release;
  transition_coverage_batch(system, single_root, heads.data(), sentence_words.data(), sentences, threads,
                            out.derivable.data(), out.found.data(), out.nearest.data());
  return out;
}

void bind_coverage(nb::module_& m) {
  constexpr auto MOVE = nb::rv_policy::move;
  nb::class_<TransitionCoverage>(m, "TransitionCoverage",
                                 "Which trees a system can build (of each sentence), whether a near one was "
                                 "found where not, and its heads.")
      .def_prop_ro(
          "derivable", [](const TransitionCoverage& c) { return copied(c.derivable); }, MOVE)
      .def_prop_ro(
          "found", [](const TransitionCoverage& c) { return copied(c.found); }, MOVE)
      .def_prop_ro("nearest", [](const TransitionCoverage& c) { return copied(c.nearest); }, MOVE);
  m.def("transition_coverage_batch", &coverage, "system"_a, nb::kw_only(), "single_root"_a, "heads"_a,
        "sentence_words"_a, "threads"_a, "Which trees of a treebank the system can build.");
}

MoveTuple tuple_of(const Move& move) { return {move.transition, move.left, move.right, move.label}; }

Move move_of(const TransitionState& state, const MoveTuple& given) {
  const auto& [transition, left, right, label] = given;
  Move move{left, right, static_cast<int16_t>(transition), static_cast<int16_t>(label)};
  if (!state.is_legal(move)) throw nb::value_error("move: not legal in this state");
  return move;
}

GoldArcs gold_of(const TransitionState& state, Array<int32_t> heads) {
  const int n = state.words();
  if (static_cast<int>(heads.shape(0)) != n + 1)
    throw nb::value_error("heads: one per word and one for the root");
  for (int m = 1; m <= n; ++m)
    if (heads.data()[m] < 0 || heads.data()[m] > n) throw nb::value_error("heads: unknown or out of range");
  return GoldArcs(heads.data(), nullptr, n);
}

std::vector<MoveTuple> tuples_of(const std::vector<Move>& moves) {
  std::vector<MoveTuple> out;
  for (const Move& move : moves) out.push_back(tuple_of(move));
  return out;
}

std::vector<MoveTuple> legal_moves(const TransitionState& state) {
  std::vector<MoveTuple> out;
  state.for_each_move([&](const Move& move, int) { out.push_back(tuple_of(move)); });
  return out;
}

std::vector<int> operative(const TransitionState& state) {
  std::vector<int> out;
  for (int32_t t = state.top(); t != NO_TOKEN; t = state.before(t)) out.push_back(t);
  return {out.rbegin(), out.rend()};
}

std::vector<int> input(const TransitionState& state) {
  std::vector<int> out;
  for (int ahead = 0; ahead < state.input_left(); ++ahead) out.push_back(state.input(ahead));
  return out;
}

void bind_state(nb::module_& m) {
  nb::class_<TransitionState>(m, "TransitionState", "One state of a transition system: O, U and the arcs.")
      .def(
          "__init__",
          [](TransitionState* self, const TransitionSystem& system, int words, bool single_root) {
            new (self) TransitionState();
            self->start(system, words, single_root);
          },
          nb::keep_alive<1, 2>(), "system"_a, "words"_a, "single_root"_a)
      .def_prop_ro("operative", &operative)
      .def_prop_ro("input", &input)
      .def_prop_ro("is_final", &TransitionState::is_final)
      .def_prop_ro("heads",
                   [](const TransitionState& state) {
                     std::vector<int> out;
                     for (int t = 0; t <= state.words(); ++t) out.push_back(state.head(t));
                     return out;
                   })
      .def_prop_ro("arcs",
                   [](const TransitionState& state) {
                     std::vector<std::tuple<int, int, int>> out;
                     for (const GraphArc& a : state.arcs()) out.emplace_back(a.head, a.modifier, a.label);
                     return out;
                   })
      .def("moves", &legal_moves)
      .def(
          "after",
          [](const TransitionState& state, const MoveTuple& move) {
            TransitionState next = state;
            next.apply(move_of(state, move));
            return next;
          },
          nb::keep_alive<0, 1>(), "move"_a, "A new state: this one with the move made.")
      .def(
          "derivation",
          [](const TransitionState& state, Array<int32_t> heads) -> nb::object {
            std::vector<Move> moves;
            const GoldArcs gold = gold_of(state, heads);
            if (has_wrong_arc(state, gold) || !TransitionOracle().derive(state, gold, &moves))
              return nb::none();
            return nb::cast(tuples_of(moves));
          },
          "heads"_a,
          nb::sig("def derivation(self, heads: numpy.typing.NDArray[numpy.int32]) -> list[tuple[int, int, "
                  "int, int]] | None"))
      .def(
          "correct_moves",
          [](const TransitionState& state, Array<int32_t> heads) {
            std::vector<Move> moves;
            TransitionOracle().correct_moves(state, gold_of(state, heads), moves);
            return tuples_of(moves);
          },
          "heads"_a)
      .def(
          "cost",
          [](const TransitionState& state, Array<int32_t> heads, const MoveTuple& move) {
            return TransitionOracle::cost(decomposable_as(state.system()), state, gold_of(state, heads),
                                          move_of(state, move));
          },
          "heads"_a, "move"_a)
      .def(
          "arcs_lost",
          [](const TransitionState& state, Array<int32_t> heads, const MoveTuple& move) {
            return TransitionOracle::arcs_lost(state, gold_of(state, heads), move_of(state, move));
          },
          "heads"_a, "move"_a, "How many gold arcs a move loses, as if all tokens were active.");
}

}  // namespace

void bind_transition(nb::module_& m) {
  bind_system(m);
  bind_state(m);
  m.def(
      "transition_trees",
      [](const TransitionSystem& system, int words, bool single_root) {
        std::vector<int32_t> heads = transition_trees(system, words, single_root);
        return moved(std::move(heads));
      },
      "system"_a, "words"_a, "single_root"_a,
      "All trees that the system can build, heads of words 1..n each.");
  bind_coverage(m);
}
