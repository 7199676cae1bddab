"""The engine against its twins: textbook systems move by move, exhaustive search for all others."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from arcwise import native
from arcwise.errors import InputError
from arcwise.transition import State, Transition, TransitionSystem, every_named, start, system
from reference.textbook_transitions import Textbook, initial
from reference.textbook_transitions import moves as textbook_moves
from reference.transition_search import Twin

TREE_SYSTEMS = [s for s in every_named() if not s.many_heads]
GRID = [
    TransitionSystem(
        (Transition("left-arc"), Transition("right-arc"), Transition("shift")),
        k,
        d,
        root=root,
        name=f"K{k}D{d}{root}",
    )
    for k in range(2, 6)
    for d in range(1, 5)
    for root in ("left", "right")
]


def engine_trees(chosen: TransitionSystem, n: int) -> set[tuple[int, ...]]:
    return {tuple(row) for row in native.transition_trees(chosen.native, n, False).reshape(-1, n).tolist()}


@pytest.mark.parametrize("chosen", TREE_SYSTEMS + GRID, ids=str)
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_trees_are_those_of_exhaustive_search(chosen: TransitionSystem, n: int) -> None:
    assert engine_trees(chosen, n) == Twin(chosen, n).trees()


PERIPHERIES = st.sampled_from(["none", "left", "right", "not-right"])
ARCS = st.builds(
    Transition,
    st.sampled_from(["left-arc", "right-arc"]),
    bottom_up=st.booleans(),
    arc_shift=st.booleans(),
    periphery=PERIPHERIES,
)
REDUCES = st.builds(lambda p: Transition("reduce", periphery=p), PERIPHERIES)


@st.composite
def systems(draw: st.DrawFn) -> TransitionSystem:
    """Any system a user might write."""
    arcs = draw(st.lists(ARCS, min_size=1, max_size=3))
    others = draw(st.lists(st.one_of(REDUCES, st.just(Transition("shift"))), max_size=2, unique=True))
    capacity = draw(st.sampled_from([2, 3, 4, None]))
    try:
        return TransitionSystem(
            (*arcs, *others),
            capacity,
            draw(st.sampled_from([1, 2, 3, None])),
            root=draw(st.sampled_from(["left", "right"])),
            start=draw(st.sampled_from([None, 2])),
        )
    except InputError:
        assume(False)
        raise


@given(systems(), st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_any_system_agrees_with_exhaustive_search(chosen: TransitionSystem, n: int) -> None:
    assert engine_trees(chosen, n) == Twin(chosen, n).trees()


@given(systems(), st.integers(1, 4), st.data())
@settings(max_examples=60, deadline=None)
def test_derivability_is_that_of_exhaustive_search_in_any_system(
    chosen: TransitionSystem, n: int, data: st.DataObject
) -> None:
    trees = Twin(chosen, n).trees()
    heads = data.draw(st.sampled_from(sorted(trees | {tuple(max(m - 1, 0) for m in range(1, n + 1))})))
    assert chosen.derives(heads) == (heads in trees)


@given(st.sampled_from(TREE_SYSTEMS + GRID), st.integers(1, 7), st.booleans(), st.data())
@settings(max_examples=300, deadline=None)
def test_every_legal_move_keeps_the_invariants(
    chosen: TransitionSystem, n: int, single_root: bool, data: st.DataObject
) -> None:
    state = start(chosen, n, single_root=single_root)
    while not state.is_final:
        moves = state.moves()
        assert moves, "a named system has no dead ends"
        assert len(set(moves)) == len(moves)
        state = state.after(data.draw(st.sampled_from(moves)))
        check_invariants(state, n)
    assert min(state.heads[1:]) >= 0
    assert not single_root or state.heads[1:].count(0) == 1


def check_invariants(state: State, n: int) -> None:
    heads = state.heads
    assert heads[0] == -1
    operative, remaining = state.operative, state.input
    assert not set(operative) & set(remaining)
    for word in range(1, n + 1):
        assert word in operative or word in remaining or heads[word] >= 0  # nothing goes without a head
        seen, above = set(), word
        while above > 0:
            assert above not in seen  # no cycle
            seen.add(above)
            above = heads[above]


@pytest.mark.parametrize("name", ["arc-standard", "arc-eager", "hybrid"])
@pytest.mark.parametrize("n", [1, 2, 3, 4])
def test_textbook_systems_agree_move_by_move(name: str, n: int) -> None:
    chosen = system(name)
    book = initial(name, n)
    while len(book.stack) + (name != "arc-standard") < min(
        2, n + 1
    ):  # the engine starts with two tokens in O
        book = textbook_moves(name, book)["shift"]
    agree(name, chosen, start(chosen, n, single_root=False), book, n, set())


def agree(
    name: str, chosen: TransitionSystem, state: State, book: Textbook, n: int, seen: set[Textbook]
) -> None:
    if book in seen:
        return
    seen.add(book)
    front = () if name == "arc-standard" else book.buffer[:1]
    assert tuple(state.operative) == (*book.stack, *front)
    assert tuple(state.input) == book.buffer[len(front) :]
    assert {(m, h) for m, h in enumerate(state.heads) if h >= 0} == set(book.heads)
    assert state.is_final == book.is_final(n)
    if state.is_final:
        return
    following = textbook_moves(name, book)
    engine = {chosen.transitions[m[0]].kind: m for m in state.moves()}
    assert len(engine) == len(state.moves())
    assert set(engine) == set(following)
    for kind, move in engine.items():
        agree(name, chosen, state.after(move), following[kind], n, seen)


def test_an_illegal_move_is_refused() -> None:
    with pytest.raises(ValueError, match="not legal"):
        start(system("arc-standard"), 3, single_root=True).after((0, 0, 1, 0))
