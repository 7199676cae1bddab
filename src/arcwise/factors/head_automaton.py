"""``HeadAutomaton``: a weighted automaton over the labels of a head's dependents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError
from arcwise.factors.siblings import sides
from arcwise.inference.arc_matrices import Floats
from arcwise.inference.arguments import LARGEST_SCORE, floats
from arcwise.trees import Tree


class HeadAutomaton:
    """A deterministic automaton that reads a head's dependents on each side, outward from the head.

    It restarts on each side of every word and of the root. ``joint_weights`` relate the two sides of a
    word: without them, a rule applies to each side separately.

    next_states: shape (Q, L), integers: the state after a dependent with label l is read in state q.
    weights: shape (Q, L), added to the score of the tree for each transition; -inf forbids it (default: 0).
    final_weights: shape (Q,), added where the side ends in state q; -inf forbids it (default: 0).
    start: the initial state.
    joint_weights: shape (Q, Q), added for each word by the states in which its two sides end, the side
        towards its own head first; -inf forbids them (default: 0).

    >>> HeadAutomaton.at_most_one(["subj"], labels=["subj", "obj"])
    <HeadAutomaton: 2 states, 2 labels>
    """

    def __init__(
        self,
        next_states: npt.ArrayLike,
        weights: npt.ArrayLike | None = None,
        final_weights: npt.ArrayLike | None = None,
        *,
        start: int = 0,
        joint_weights: npt.ArrayLike | None = None,
    ) -> None:
        states: npt.NDArray[Any] = np.asarray(next_states)
        if states.ndim != 2 or not states.size or not np.issubdtype(states.dtype, np.integer):
            raise InputError(
                f"next_states: found {states.dtype} of shape {states.shape}, "
                "expected integers of shape (states, labels)"
            )
        count = len(states)
        if states.min() < 0 or states.max() >= count:
            wrong = int(states.min() if states.min() < 0 else states.max())
            raise InputError(f"next_states: found state {wrong}, expected 0..{count - 1}")
        if isinstance(start, bool) or not isinstance(start, int | np.integer) or not 0 <= start < count:
            raise InputError(f"start: found {start!r}, expected a state 0..{count - 1}")
        self.next_states = np.ascontiguousarray(states, np.int32)
        self.weights = _weights(weights, "weights", states.shape)
        self.final_weights = _weights(final_weights, "final_weights", (count,))
        self.start = int(start)
        self.joint_weights = None
        if joint_weights is not None:
            self.joint_weights = _weights(joint_weights, "joint_weights", (count, count))

    @classmethod
    def at_most_one(
        cls, group: Sequence[str], *, labels: Sequence[str], both_sides: bool = False
    ) -> HeadAutomaton:
        """Allow at most one dependent on each side whose label is in ``group``.

        ``both_sides``: at most one on both sides of a word together.
        """
        unknown = [label for label in group if label not in labels]
        if unknown:
            raise InputError(f"group: found the label {unknown[0]!r}, expected one of {', '.join(labels)}")
        counted = np.array([label in group for label in labels])
        next_states = np.stack([counted.astype(np.int32), np.ones(len(labels), np.int32)])
        weights = np.stack([np.zeros(len(labels)), np.where(counted, -np.inf, 0.0)])
        twice = np.array([[0, 0], [0, -np.inf]])
        return cls(next_states, weights, joint_weights=twice if both_sides else None)

    def __repr__(self) -> str:
        return f"<HeadAutomaton: {len(self.weights)} states, {self.weights.shape[1]} labels>"

    def check(self, labels: int) -> None:
        """Raise ``InputError`` unless it has transitions for this many labels."""
        if self.weights.shape[1] != labels:
            message = f"found transitions for {self.weights.shape[1]} labels"
            raise InputError(f"next_states: {message}, but the scores have {labels}")

    @property
    def part_scores(self) -> Floats:
        """The score of each part: the weights of the transitions."""
        return self.weights

    @property
    def ends(self) -> Floats:
        """The final weights: (1, Q) for each side separately, or (Q, Q) for both sides of a word."""
        if self.joint_weights is None:
            return self.final_weights[None]
        return self.final_weights[:, None] + self.final_weights + self.joint_weights

    def score(self, tree: Tree, labels: tuple[str, ...] | None) -> float:
        """Return the weight of a tree: the sum over both sides of every head."""
        total = 0.0
        ends: dict[int, list[int]] = {}
        for head, dependents in sides(tree):
            state = self.start
            for m in dependents:
                code = 0 if labels is None or tree.labels is None else labels.index(tree.labels[m])
                total += float(self.weights[state, code])
                state = int(self.next_states[state, code])
            total += float(self.final_weights[state])
            ends.setdefault(head, []).append(state)
        if self.joint_weights is not None:
            heads = tree.heads.tolist()
            for word, (left, right) in ((word, pair) for word, pair in ends.items() if word > 0):
                inner, outer = (left, right) if heads[word] < word else (right, left)
                total += float(self.joint_weights[inner, outer])
        return total

    def beside(self, other: HeadAutomaton) -> tuple[HeadAutomaton, npt.NDArray[np.int64]]:
        """Return the product automaton of both, and the pairs of states that are its states, (Q, 2)."""
        pairs = [(self.start, other.start)]
        numbers = {pairs[0]: 0}
        rows: list[list[int]] = []
        for first, second in pairs:  # grows while it is read
            row = []
            for pair in zip(
                self.next_states[first].tolist(), other.next_states[second].tolist(), strict=True
            ):
                if pair not in numbers:
                    numbers[pair] = len(pairs)
                    pairs.append(pair)
                row.append(numbers[pair])
            rows.append(row)
        joint = None
        if self.joint_weights is not None or other.joint_weights is not None:
            if len(pairs) == 1:  # joint weights need two states, even if one is never reached
                pairs.append(pairs[0])
                rows.append(rows[0])
            joint = np.zeros((len(pairs), len(pairs)))
        states = np.array(pairs, np.int64)
        for automaton, column in ((self, states[:, 0]), (other, states[:, 1])):
            if joint is not None and automaton.joint_weights is not None:
                joint = joint + automaton.joint_weights[np.ix_(column, column)]
        product = HeadAutomaton(
            rows,
            self.weights[states[:, 0]] + other.weights[states[:, 1]],
            self.final_weights[states[:, 0]] + other.final_weights[states[:, 1]],
            joint_weights=joint,
        )
        return product, states


def _weights(values: npt.ArrayLike | None, name: str, shape: tuple[int, ...]) -> Floats:
    if values is None:
        return np.zeros(shape)
    array = np.array(floats(values, name), order="C")
    if array.shape != shape:
        raise InputError(f"{name}: found shape {array.shape}, expected {shape}")
    if not (array <= LARGEST_SCORE).all():
        raise InputError(f"{name}: found nan or inf, expected numbers up to {LARGEST_SCORE:g}, or -inf")
    return array
