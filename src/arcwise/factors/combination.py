"""``FactorCombination``: several factors as sibling scores and one product automaton, for the kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError
from arcwise.factors.arc_kernel import ArcKernel
from arcwise.factors.head_automaton import HeadAutomaton
from arcwise.factors.sibling_kernel import SiblingKernel
from arcwise.factors.siblings import Siblings
from arcwise.inference.arc_matrices import Floats
from arcwise.trees import Tree

Factor = HeadAutomaton | Siblings
MAX_STATES = 4096
"""States of all automata together: the product of those that they reach at the same time."""


@dataclass(frozen=True)
class FactorCombination:
    """A sum of factors: sibling scores are added, and automata run in parallel."""

    factors: tuple[Factor, ...]
    siblings: Floats
    """Sum of the sibling scores; (0, 0, 0) without any."""
    automaton: HeadAutomaton
    states: npt.NDArray[np.int64]
    """For each state of ``automaton``, the states of the automata among ``factors``; (Q, automata)."""

    @classmethod
    def of(cls, factors: Sequence[Factor], words: int, labels: tuple[str, ...] | None) -> FactorCombination:
        """Check the factors against a sentence and combine them."""
        count = 1 if labels is None else len(labels)
        siblings = np.zeros((0, 0, 0))
        automaton = _one_state(count)
        states = np.zeros((1, 0), np.int64)
        for factor in factors:
            if isinstance(factor, Siblings):
                factor.check(words)
                siblings = factor.scores + siblings if siblings.size else factor.scores
            else:
                factor.check(count)
                automaton, pairs = automaton.beside(factor)
                if len(pairs) > MAX_STATES:
                    message = f"the automata have {len(pairs)} states together"
                    raise InputError(f"factors: {message}, expected at most {MAX_STATES}")
                states = np.column_stack([states[pairs[:, 0]], pairs[:, 1]])
        return cls(tuple(factors), siblings, automaton, states)

    @property
    def is_siblings_alone(self) -> bool:
        """Whether there are sibling scores and no automaton."""
        return bool(self.factors) and all(isinstance(factor, Siblings) for factor in self.factors)

    def kernel(self) -> native.HeadFactors | SiblingKernel | ArcKernel:
        """Return the fastest kernel for the factors."""
        if self.is_siblings_alone:
            return SiblingKernel(self.siblings, self._general)
        if not self.siblings.size and len(self.states) == 1:
            return ArcKernel(self.automaton)
        return self._general()

    def _general(self) -> native.HeadFactors:
        automaton = self.automaton
        return native.HeadFactors(
            self.siblings,
            automaton.next_states,
            automaton.weights,
            automaton.ends,
            automaton.final_weights,
            automaton.start,
        )

    @property
    def part_scores(self) -> Floats:
        """The scores of all parts, as the kernel counts them."""
        if self.is_siblings_alone:
            return self.siblings.ravel()
        automaton = self.automaton
        parts = (self.siblings, automaton.weights, automaton.ends, automaton.final_weights)
        return np.concatenate([part.ravel() for part in parts])

    def split(self, counts: Floats) -> tuple[Floats, ...]:
        """Split the expected counts of all parts by factor, each shaped as ``part_scores`` of the factor."""
        if self.is_siblings_alone:
            return (counts.reshape(self.siblings.shape),) * len(self.factors)
        transitions = counts[self.siblings.size :][: self.automaton.weights.size].reshape(
            self.automaton.weights.shape
        )
        result: list[Floats] = []
        column = 0
        for factor in self.factors:
            if isinstance(factor, Siblings):
                result.append(counts[: self.siblings.size].reshape(self.siblings.shape))
                continue
            expected = np.zeros(factor.weights.shape)
            np.add.at(expected, self.states[:, column], transitions)
            result.append(expected)
            column += 1
        return tuple(result)

    def score(self, tree: Tree, labels: tuple[str, ...] | None) -> float:
        """Return the sum of the factors' scores of a tree."""
        return sum(factor.score(tree, labels) for factor in self.factors)


@cache
def _one_state(labels: int) -> HeadAutomaton:
    """Return the automaton that adds nothing."""
    return HeadAutomaton(np.zeros((1, labels), np.int32))
