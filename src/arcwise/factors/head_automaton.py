"""``HeadAutomaton``: a weighted automaton over the labels of a head's dependents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError
from arcwise.factors.siblings import sides
from arcwise.inference.arc_matrices import Floats
from arcwise.inference.arguments import LARGEST_SCORE, floats
from arcwise.trees import Tree


class HeadAutomaton:
    """A deterministic automaton that reads a head's dependents on each side, outward from the head.

    It starts anew on each side of every word and of the root, so a rule holds for each side on its own.

    next_states: shape (Q, L), integers: the state after a dependent with label l is read in state q.
    weights: shape (Q, L), added to the score of the tree for each transition; -inf forbids it (default: 0).
    final_weights: shape (Q,), added where the side ends in state q; -inf forbids it (default: 0).
    start: the initial state.

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

    @classmethod
    def at_most_one(cls, group: Sequence[str], *, labels: Sequence[str]) -> HeadAutomaton:
        """Allow at most one dependent on each side whose label is in ``group``."""
        unknown = [label for label in group if label not in labels]
        if unknown:
            raise InputError(f"group: found the label {unknown[0]!r}, expected one of {', '.join(labels)}")
        counted = np.array([label in group for label in labels])
        next_states = np.stack([counted.astype(np.int32), np.ones(len(labels), np.int32)])
        return cls(next_states, np.stack([np.zeros(len(labels)), np.where(counted, -np.inf, 0.0)]))

    def __repr__(self) -> str:
        return f"<HeadAutomaton: {len(self.weights)} states, {self.weights.shape[1]} labels>"

    def kernel(self, words: int, labels: tuple[str, ...] | None) -> native.AutomatonFactor:
        """Return the native factor for scores with these labels."""
        expected = 1 if labels is None else len(labels)
        if self.weights.shape[1] != expected:
            raise InputError(
                f"next_states: found transitions for {self.weights.shape[1]} labels, "
                f"but the scores have {expected}"
            )
        return native.AutomatonFactor(self.next_states, self.weights, self.final_weights, self.start)

    @property
    def part_scores(self) -> Floats:
        """The score of each part: the weights of the transitions."""
        return self.weights

    def score(self, tree: Tree, labels: tuple[str, ...] | None) -> float:
        """Return the weight of a tree: the sum over both sides of every head."""
        total = 0.0
        for _, dependents in sides(tree):
            state = self.start
            for m in dependents:
                code = 0 if labels is None or tree.labels is None else labels.index(tree.labels[m])
                total += float(self.weights[state, code])
                state = int(self.next_states[state, code])
            total += float(self.final_weights[state])
        return total


def _weights(values: npt.ArrayLike | None, name: str, shape: tuple[int, ...]) -> Floats:
    if values is None:
        return np.zeros(shape)
    array = np.array(floats(values, name), order="C")
    if array.shape != shape:
        raise InputError(f"{name}: found shape {array.shape}, expected {shape}")
    if not (array <= LARGEST_SCORE).all():
        raise InputError(f"{name}: found nan or inf, expected numbers up to {LARGEST_SCORE:g}, or -inf")
    return array
