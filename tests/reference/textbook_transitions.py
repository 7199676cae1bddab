"""Arc-standard, arc-eager and hybrid as textbooks have them: a stack, a buffer, named moves (Kuhlmann et al.
2011)."""

from __future__ import annotations

from typing import NamedTuple


class Textbook(NamedTuple):
    """A configuration; ``heads`` maps words that have one to their head."""

    stack: tuple[int, ...]
    buffer: tuple[int, ...]
    heads: tuple[tuple[int, int], ...]  # (modifier, head), sorted

    def attached(self, modifier: int, head: int) -> tuple[tuple[int, int], ...]:
        return tuple(sorted((*self.heads, (modifier, head))))

    def is_final(self, n: int) -> bool:
        return len(self.heads) == n and len(self.stack) + len(self.buffer) == 1


def initial(name: str, n: int) -> Textbook:
    """The root stands at the bottom of the stack in arc-standard, at the end of the buffer in the others."""
    words = tuple(range(1, n + 1))
    return Textbook((0,), words, ()) if name == "arc-standard" else Textbook((), (*words, 0), ())


def moves(name: str, state: Textbook) -> dict[str, Textbook]:
    """Legal moves by name, each with the configuration it leads to."""
    return {"arc-standard": _arc_standard, "arc-eager": _arc_eager, "hybrid": _hybrid}[name](state)


def _shift(state: Textbook) -> Textbook:
    return state._replace(stack=(*state.stack, state.buffer[0]), buffer=state.buffer[1:])


def _arc_standard(state: Textbook) -> dict[str, Textbook]:
    found = {"shift": _shift(state)} if state.buffer else {}
    if len(state.stack) >= 2:
        *rest, i, j = state.stack
        if i != 0:
            found["left-arc"] = Textbook((*rest, j), state.buffer, state.attached(i, j))
        found["right-arc"] = Textbook((*rest, i), state.buffer, state.attached(j, i))
    return found


def _arc_eager(state: Textbook) -> dict[str, Textbook]:
    headed = {m for m, _ in state.heads}
    found = {"shift": _shift(state)} if len(state.buffer) > 1 else {}
    if state.stack:
        *rest, i = state.stack
        j = state.buffer[0]
        if i in headed:
            found["reduce"] = state._replace(stack=tuple(rest))
        else:
            found["left-arc"] = Textbook(tuple(rest), state.buffer, state.attached(i, j))
        if j != 0:
            found["right-arc"] = Textbook((*state.stack, j), state.buffer[1:], state.attached(j, i))
    return found


def _hybrid(state: Textbook) -> dict[str, Textbook]:
    found = {"shift": _shift(state)} if len(state.buffer) > 1 else {}
    if state.stack:
        *rest, i = state.stack
        found["left-arc"] = Textbook(tuple(rest), state.buffer, state.attached(i, state.buffer[0]))
    if len(state.stack) >= 2:
        *rest, i, j = state.stack
        found["right-arc"] = Textbook((*rest, i), state.buffer, state.attached(j, i))
    return found
