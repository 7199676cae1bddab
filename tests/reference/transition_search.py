"""Slow, obvious twin of the transition engine: states are tuples, derivations are searched exhaustively.

Written from the definitions of Bohnet et al. (2016), section 3, without a look at the kernels. A state is (O,
used, heads): the operative tokens from left to right, how many tokens of the input are used up, and the head
of each token (None: none yet).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

from arcwise.transition import TransitionSystem


class TwinMove(NamedTuple):
    transition: int
    left: int = -1
    right: int = -1


class TwinState(NamedTuple):
    operative: tuple[int, ...]
    used: int
    heads: tuple[int | None, ...]


class Twin:
    """Moves and states of one system over sentences of n words, by the book.

    ``single_root``: a move is legal only if some final state after it has exactly one word attached to 0.
    """

    def __init__(self, system: TransitionSystem, n: int, *, single_root: bool = False) -> None:
        self.system, self.n, self.single_root = system, n, single_root
        self._may_have_one_root: dict[TwinState, bool] = {}
        self.tokens = [0, *range(1, n + 1)] if system.root == "left" else [*range(1, n + 1), 0]

    def start(self) -> TwinState:
        first = self.system.start or self.system.capacity or self.n + 1
        used = min(first, self.n + 1)
        return TwinState(tuple(self.tokens[:used]), used, (None,) * (self.n + 1))

    def is_final(self, state: TwinState) -> bool:
        if state.used <= self.n or None in state.heads[1:]:
            return False
        return not any(self.system.transitions[m.transition].kind == "reduce" for m in self.legal(state))

    def moves(self, state: TwinState) -> list[TwinMove]:
        if self.is_final(state):
            return []
        legal = list(self.legal(state))
        return [m for m in legal if not self.single_root or self._one_root(self.after(state, m))]

    def _one_root(self, state: TwinState) -> bool:
        """Whether some final state after this one has exactly one root."""
        if state not in self._may_have_one_root:
            if self.is_final(state):
                possible = state.heads[1:].count(0) == 1
            else:
                possible = any(self._one_root(self.after(state, m)) for m in self.legal(state))
            self._may_have_one_root[state] = possible
        return self._may_have_one_root[state]

    def legal(self, state: TwinState) -> Iterator[TwinMove]:
        capacity = self.system.capacity or self.n + 1
        size = len(state.operative)
        active = min(size, capacity)
        place = {p: state.operative[size - p] for p in range(1, active + 1)}
        for number, t in enumerate(self.system.transitions):
            # A move must have a place among `ends` and none among `hidden`.
            ends = {"left": {active}, "right": {1}}.get(t.periphery, set(place))
            hidden = {1} if t.periphery == "not-right" else set()
            if t.kind == "shift" and state.used <= self.n:
                yield TwinMove(number)
            elif t.kind == "reduce":
                for p in place:
                    if p in ends - hidden and state.heads[place[p]] is not None:
                        yield TwinMove(number, place[p])
            elif t.is_arc:
                for i in place:
                    for j in place:
                        near = self.system.max_distance is None or i - j <= self.system.max_distance
                        if i > j and near and ends & {i, j} and not hidden & {i, j}:
                            move = TwinMove(number, place[i], place[j])
                            if self._may_attach(state, *self.arc(move)):
                                yield move

    def arc(self, move: TwinMove) -> tuple[int, int]:
        leftwards = self.system.transitions[move.transition].kind == "left-arc"
        return (move.right, move.left) if leftwards else (move.left, move.right)

    def _may_attach(self, state: TwinState, head: int, modifier: int) -> bool:
        if modifier == 0 or state.heads[modifier] is not None:
            return False
        above: int | None = head
        while above is not None:
            if above == modifier:
                return False
            above = state.heads[above]
        return True

    def after(self, state: TwinState, move: TwinMove) -> TwinState:
        t = self.system.transitions[move.transition]
        operative, used, heads = list(state.operative), state.used, list(state.heads)
        shifts = t.kind == "shift"
        if t.kind == "reduce":
            operative.remove(move.left)
        if t.is_arc:
            head, modifier = self.arc(move)
            heads[modifier] = head
            if t.bottom_up:
                operative.remove(modifier)
            shifts = t.arc_shift and used <= self.n
        if shifts:
            operative.append(self.tokens[used])
            used += 1
        return TwinState(tuple(operative), used, tuple(heads))

    def reachable(self) -> set[TwinState]:
        """Every state that some moves lead to."""
        seen, waiting = {self.start()}, [self.start()]
        while waiting:
            state = waiting.pop()
            for move in self.moves(state):
                following = self.after(state, move)
                if following not in seen:
                    seen.add(following)
                    waiting.append(following)
        return seen

    def trees(self) -> set[tuple[int, ...]]:
        """The heads of words 1..n of every tree that can be built."""
        return {tuple(h for h in s.heads[1:] if h is not None) for s in self.reachable() if self.is_final(s)}

    def most_gold_arcs(self, gold: tuple[int, ...]):  # type: ignore[no-untyped-def]
        """A function: state → the most gold arcs that any final state after it has; dead ends count what they
        have."""

        @cache
        def best(state: TwinState) -> int:
            following = [self.after(state, move) for move in self.moves(state)]
            if following:
                return max(map(best, following))
            return sum(state.heads[m] == gold[m - 1] for m in range(1, self.n + 1))

        return best
