"""Oracles against exhaustive search: derivability, correct moves, costs."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from arcwise.transition import Move, State, TransitionSystem, derivation, start, system
from arcwise.transition.oracle import gold_heads
from arcwise.trees import Tree
from arcwise.trees.tree import find_cycle
from reference.transition_search import Twin, TwinMove, TwinState
from transition.test_engine import GRID, TREE_SYSTEMS

ALL = TREE_SYSTEMS + GRID


def every_tree(n: int) -> list[tuple[int, ...]]:
    choices = itertools.product(*[[h for h in range(n + 1) if h != m] for m in range(1, n + 1)])
    return [heads for heads in choices if not find_cycle(np.array([-1, *heads], np.int32))]


@pytest.mark.parametrize("chosen", ALL, ids=str)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_oracle_rebuilds_the_tree_exactly_when_it_is_derivable(chosen: TransitionSystem, n: int) -> None:
    derivable = Twin(chosen, n).trees()
    for heads in every_tree(n):
        moves = derivation(chosen, heads)
        assert (moves is not None) == (heads in derivable)
        if moves is not None:
            assert built_by(chosen, n, moves) == heads


def built_by(chosen: TransitionSystem, n: int, moves: list[Move]) -> tuple[int, ...]:
    state = start(chosen, n, single_root=False)
    for move in moves:
        state = state.after(move)
    assert state.is_final
    return tuple(state.heads[1:])


@pytest.mark.parametrize("chosen", ALL, ids=str)
@pytest.mark.parametrize("n", [2, 3, 4])
def test_correct_moves_are_all_that_keep_the_tree_in_reach(chosen: TransitionSystem, n: int) -> None:
    twin = Twin(chosen, n)
    for heads in sorted(twin.trees())[:: 1 + n * (n - 2)]:
        best, gold = twin.most_gold_arcs(heads), gold_heads(list(heads))
        waiting, seen = [(start(chosen, n, single_root=False), twin.start())], set()
        while waiting:
            state, twin_state = waiting.pop()
            if state.is_final or twin_state in seen:
                continue
            seen.add(twin_state)
            correct = {Move(*m)[:3] for m in state.correct_moves(gold)}
            expected = {m for m in twin.moves(twin_state) if best(twin.after(twin_state, m)) == n}
            assert correct == expected
            waiting += [(state.after((*m, 0)), twin.after(twin_state, TwinMove(*m))) for m in correct]


DYNAMIC = [*(s for s in TREE_SYSTEMS if s.is_arc_decomposable), system("non-projective(D=inf)")]
LENGTHS = [1, 2, 3, 4, pytest.param(5, marks=pytest.mark.slow)]


@pytest.mark.parametrize("single_root", [False, True], ids=["any roots", "single root"])
@pytest.mark.parametrize("chosen", DYNAMIC, ids=str)
@pytest.mark.parametrize("n", LENGTHS)
def test_dynamic_cost_is_the_exhaustive_cost(chosen: TransitionSystem, n: int, single_root: bool) -> None:
    """For every derivable gold tree, every state that any moves lead to, and every move: the gold arcs that
    exhaustive search still reaches before the move and not after it."""
    if chosen.max_distance is None and n == 5:
        pytest.skip("1.3 million moves")
    twin = Twin(chosen, n, single_root=single_root)
    states = list(every_state(chosen, twin, n))
    for heads in sorted(twin.trees()):
        best, gold = twin.most_gold_arcs(heads), gold_heads(list(heads))
        for state, twin_state in states:
            for move in state.moves():
                following = twin.after(twin_state, TwinMove(*move[:3]))
                assert state.cost(gold, move) == best(twin_state) - best(following)


@pytest.mark.parametrize("chosen", DYNAMIC, ids=str)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_a_single_root_forbids_exactly_the_moves_after_which_there_can_be_none(
    chosen: TransitionSystem, n: int
) -> None:
    twin = Twin(chosen, n, single_root=True)
    for state, twin_state in every_state(chosen, twin, n):
        assert {Move(*m)[:3] for m in state.moves()} == set(twin.moves(twin_state))


@pytest.mark.parametrize("chosen", DYNAMIC, ids=str)
def test_a_tree_that_is_out_of_reach_has_no_derivation_with_a_single_root(chosen: TransitionSystem) -> None:
    """Every tree of four words, crossing arcs and several roots too."""
    derivable = Twin(chosen, 4, single_root=True).trees()
    for heads in every_tree(4):
        moves = start(chosen, 4, single_root=True).derivation(gold_heads(list(heads)))
        assert (moves is not None) == (heads in derivable)


def test_a_word_left_on_the_stack_costs_the_root_its_arc() -> None:
    """Hybrid, gold 1 ← 2 ← 3 ← root: word 1 has lost its head and lies under 3, the root, after a shift."""
    hybrid, gold = system("hybrid"), gold_heads([2, 3, 0])
    state = start(hybrid, 3, single_root=True)
    kinds = [t.kind for t in hybrid.transitions]
    for kind in ("shift", "left-arc"):
        state = state.after(next(m for m in state.moves() if kinds[m[0]] == kind))
    costs = {kinds[m[0]]: state.cost(gold, m) for m in state.moves()}
    assert costs == {"left-arc": 0, "shift": 1}


WIDE = [s for s in ALL if s.is_bottom_up and not s.many_heads and (s.capacity is None or s.capacity > 2)]


@pytest.mark.parametrize("chosen", WIDE, ids=str)
@pytest.mark.parametrize("n", [2, 3])
def test_arcs_lost_are_counted_as_if_all_tokens_were_active(chosen: TransitionSystem, n: int) -> None:
    """The cost of exploring in systems that are not arc-decomposable: from any state, after wrong moves
    too."""
    twin, positive = Twin(chosen, n), 0
    for heads in every_tree(n):
        gold = gold_heads(list(heads))
        for state, twin_state in every_state(chosen, twin, n):
            for move in state.moves():
                wanted = arcs_lost(twin, twin_state, heads, TwinMove(*move[:3]))
                assert state.arcs_lost(gold, move) == wanted
                positive += wanted > 0
    assert positive > 0


def arcs_lost(twin: Twin, state: TwinState, gold: tuple[int, ...], move: TwinMove) -> int:
    """An arc takes its modifier away: lost are the arc to its gold head, unless that is gone, and those to
    gold children without a head. A SHIFT loses what could have been had: 1 if a gold arc of the leftmost
    active token costs nothing now."""
    if twin.system.transitions[move.transition].is_arc:
        head, modifier = twin.arc(move)
        wanted = gold[modifier - 1]
        there = wanted in state.operative or wanted in twin.tokens[state.used :]
        waiting = [c for c in range(1, twin.n + 1) if gold[c - 1] == modifier and state.heads[c] is None]
        return int(head != wanted and there) + len(waiting)
    active = min(len(state.operative), twin.system.capacity or twin.n + 1)
    for other in twin.moves(state):
        if twin.system.transitions[other.transition].is_arc and other.left == state.operative[-active]:
            head, modifier = twin.arc(other)
            if gold[modifier - 1] == head and arcs_lost(twin, state, gold, other) == 0:
                return 1
    return 0


def every_state(chosen: TransitionSystem, twin: Twin, n: int) -> Iterator[tuple[State, TwinState]]:
    """Every state that any moves lead to, and its twin."""
    waiting, seen = [(start(chosen, n, single_root=twin.single_root), twin.start())], set()
    while waiting:
        state, twin_state = waiting.pop()
        if twin_state not in seen:
            seen.add(twin_state)
            yield state, twin_state
            waiting += [(state.after(m), twin.after(twin_state, TwinMove(*m[:3]))) for m in state.moves()]


@pytest.mark.parametrize("chosen", TREE_SYSTEMS, ids=str)
def test_from_any_state_there_is_a_derivation_exactly_if_the_tree_is_in_reach(
    chosen: TransitionSystem,
) -> None:
    n = 3
    twin = Twin(chosen, n)
    for heads in sorted(twin.trees())[::3]:
        best, gold = twin.most_gold_arcs(heads), gold_heads(list(heads))
        for state, twin_state in every_state(chosen, twin, n):
            assert (state.derivation(gold) is not None) == (best(twin_state) == n)


def test_which_systems_have_the_dynamic_oracle() -> None:
    assert {s.name for s in TREE_SYSTEMS if s.is_arc_decomposable} == {"arc-eager", "hybrid", "easy-first"}


def test_the_projective_systems_derive_exactly_the_projective_trees() -> None:
    projective = [chosen for chosen in TREE_SYSTEMS if chosen.is_projective]
    assert {"arc-standard", "arc-eager", "hybrid", "easy-first"} <= {chosen.name for chosen in projective}
    for chosen in projective:
        for heads in every_tree(4):
            assert chosen.derives(heads) == Tree.from_heads(heads).is_projective
