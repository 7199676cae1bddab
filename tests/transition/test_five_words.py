"""All that five words allow: every state, move and tree of every system, against the exhaustive search of the
twin."""

import pytest

from arcwise.transition import State, TransitionSystem, derivation, start
from reference.transition_search import Twin, TwinMove, TwinState
from transition.test_engine import GRID, TREE_SYSTEMS, check_invariants, engine_trees
from transition.test_oracle import built_by, every_tree

N = 5


@pytest.fixture(scope="module")
def all_trees() -> list[tuple[int, ...]]:
    return every_tree(N)


@pytest.mark.parametrize("chosen", TREE_SYSTEMS + GRID, ids=str)
def test_states_trees_and_oracle_are_those_of_exhaustive_search(
    chosen: TransitionSystem, all_trees: list[tuple[int, ...]]
) -> None:
    trees = trees_found_side_by_side(chosen)
    assert engine_trees(chosen, N) == trees
    for heads in all_trees:
        moves = derivation(chosen, heads)
        assert (moves is not None) == (heads in trees)
        assert moves is None or built_by(chosen, N, moves) == heads


def trees_found_side_by_side(chosen: TransitionSystem) -> set[tuple[int, ...]]:
    """The trees of the twin, after engine and twin went through all reachable states together, comparing
    moves and states."""
    twin = Twin(chosen, N)
    waiting: list[tuple[State, TwinState]] = [(start(chosen, N, single_root=False), twin.start())]
    seen, trees = {twin.start()}, set()
    while waiting:
        state, twin_state = waiting.pop()
        assert tuple(state.operative) == twin_state.operative
        assert tuple(state.heads[1:]) == tuple(-1 if h is None else h for h in twin_state.heads[1:])
        check_invariants(state, N)
        moves = state.moves()
        assert sorted(m[:3] for m in moves) == sorted(map(tuple, twin.moves(twin_state)))
        assert state.is_final == twin.is_final(twin_state)
        if state.is_final:
            trees.add(tuple(state.heads[1:]))
        for move in moves:
            following = twin.after(twin_state, TwinMove(*move[:3]))
            if following not in seen:
                seen.add(following)
                waiting.append((state.after(move), following))
    return trees
