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

namespace {

using Ints = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Offsets = nb::ndarray<const uint32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using MoveTuple = std::tuple<int, int, int, int>;  // transition, left, right, label

TransitionSystem make_system(int capacity, int max_distance, int start, bool wall_right, bool many_heads,
                             const std::vector<std::tuple<int, bool, bool, int>>& transitions) {
  TransitionSystem system;
  auto bound = [](int value) { return value <= 0 ? TransitionSystem::UNBOUNDED : value; };
  system.capacity = bound(capacity);
  system.max_distance = bound(max_distance);
  system.start = bound(start);
  system.wall_right = wall_right;
  system.many_heads = many_heads;
  for (const auto& [kind, bottom_up, arc_shift, periphery] : transitions)
    system.transitions.push_back(
        {static_cast<MoveKind>(kind), bottom_up, arc_shift, static_cast<Periphery>(periphery)});
  return system;
}

MoveTuple tuple_of(const Move& move) { return {move.transition, move.left, move.right, move.label}; }

Move move_of(const TransitionState& state, const MoveTuple& given) {
  const auto& [transition, left, right, label] = given;
  Move move{left, right, static_cast<int16_t>(transition), static_cast<int16_t>(label)};
  if (!state.is_legal(move)) throw nb::value_error("move: not legal in this state");
  return move;
}

GoldArcs gold_of(const TransitionState& state, Ints heads) {
  const int n = state.words();
  if (static_cast<int>(heads.shape(0)) != n + 1)
    throw nb::value_error("heads: one per word and one for the wall");
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
          [](const TransitionState& state, Ints heads) -> nb::object {
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
          [](const TransitionState& state, Ints heads) {
            std::vector<Move> moves;
            TransitionOracle().correct_moves(state, gold_of(state, heads), moves);
            return tuples_of(moves);
          },
          "heads"_a)
      .def(
          "cost",
          [](const TransitionState& state, Ints heads, const MoveTuple& move) {
            return TransitionOracle::cost(decomposable_as(state.system()), state, gold_of(state, heads),
                                          move_of(state, move));
          },
          "heads"_a, "move"_a);
}

}  // namespace

void bind_transition(nb::module_& m) {
  nb::class_<TransitionSystem>(m, "TransitionSystem",
                               "The control parameters of a system, checked by arcwise.transition.")
      .def(
          "__init__",
          [](TransitionSystem* self, int capacity, int max_distance, int start, bool wall_right,
             bool many_heads, const std::vector<std::tuple<int, bool, bool, int>>& transitions) {
            new (self) TransitionSystem(
                make_system(capacity, max_distance, start, wall_right, many_heads, transitions));
          },
          "capacity"_a, "max_distance"_a, "start"_a, "wall_right"_a, "many_heads"_a, "transitions"_a)
      .def_prop_ro("is_arc_decomposable",
                   [](const TransitionSystem& s) { return decomposable_as(s) != Decomposable::no; });
  bind_state(m);
  m.def(
      "transition_trees",
      [](const TransitionSystem& system, int words, bool single_root) {
        std::vector<int32_t> heads = transition_trees(system, words, single_root);
        const size_t size = heads.size();
        return owned_array(std::move(heads), {size});
      },
      "system"_a, "words"_a, "single_root"_a,
      "All trees that the system can build, heads of words 1..n each.");
  m.def(
      "transition_coverage_batch",
      [](const TransitionSystem& system, bool single_root, Ints heads, Offsets sentence_words, int threads) {
        const size_t sentences = sentence_words.shape(0) - 1;
        if (sentence_words.data()[sentences] != heads.shape(0))
          throw nb::value_error("heads: one per word is needed");
        std::vector<uint8_t> derivable(sentences), found(sentences);
        std::vector<int32_t> nearest(heads.shape(0));
        {
          nb::gil_scoped_release release;
          transition_coverage_batch(system, single_root, heads.data(), sentence_words.data(), sentences,
                                    threads, derivable.data(), found.data(), nearest.data());
        }
        return nb::make_tuple(owned_array(std::move(derivable), {sentences}),
                              owned_array(std::move(found), {sentences}),
                              owned_array(std::move(nearest), {heads.shape(0)}));
      },
      "system"_a, "single_root"_a, "heads"_a, "sentence_words"_a, "threads"_a,
      nb::sig("def transition_coverage_batch(system: TransitionSystem, single_root: bool, heads: "
              "numpy.typing.NDArray[numpy.int32], sentence_words: numpy.typing.NDArray[numpy.uint32], "
              "threads: int) -> tuple[numpy.typing.NDArray[numpy.uint8], numpy.typing.NDArray[numpy.uint8], "
              "numpy.typing.NDArray[numpy.int32]]"),
      "Which trees the system can build, whether a near one was found where not, and the near ones.");
}
