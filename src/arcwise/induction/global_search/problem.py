"""The task: parses and parameters that together make a corpus most likely, with or without a posterior constraint."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.induction.constraints import ArcShare
from arcwise.induction.corpus import TagSentences
from arcwise.induction.dmv import DMV, Features, Heads, Vector, log_ratio
from arcwise.trees import Tree

NO_MARKS = np.zeros(0, np.uint8)


@dataclass(frozen=True)
class InductionTask:
    """A corpus and its constraint, in the form that searches need.

    Equal sentences share one parse: for given parameters they have the same best one. A constraint on the whole corpus may need
    different ones, so that then every sentence stands for itself.
    """

    corpus: TagSentences
    constraint: ArcShare | None = None

    @property
    def features(self) -> Features:
        """The parameters."""
        return Features(self.corpus.tags)

    @cached_property
    def sentences(self) -> tuple[tuple[tuple[int, ...], int], ...]:
        """The sentences to parse and how often each counts."""
        return self.corpus.kinds if self.constraint is None else tuple((s, 1) for s in self.corpus.sentences)

    @cached_property
    def batch(self) -> native.TagCorpus:
        """The same for the kernels."""
        return self.corpus.batch_of_kinds if self.constraint is None else self.corpus.batch

    @cached_property
    def marked(self) -> npt.NDArray[np.uint8]:
        """1 for the features that the constraint counts; empty without one."""
        return NO_MARKS if self.constraint is None else self.constraint.marked(self.features)

    @property
    def least(self) -> int:
        """How many arcs the constraint asks for."""
        return 0 if self.constraint is None else self.constraint.least(self.corpus.words)

    @cached_property
    def tag_words(self) -> Vector:
        """How many words have each tag."""
        words = [t for s in self.corpus.sentences for t in s]
        return np.bincount(words, minlength=len(self.corpus.tags)).astype(np.float64)

    def spread(self, heads: Heads) -> Heads:
        """Heads of the words of ``sentences`` as heads of all words of the corpus."""
        if self.constraint is not None:
            return heads
        ends = np.cumsum([len(s) for s, _ in self.sentences])
        of = {s: heads[end - len(s) : end] for (s, _), end in zip(self.sentences, ends, strict=True)}
        return np.concatenate([of[s] for s in self.corpus.sentences])

    def gathered(self, heads: Heads) -> Heads:
        """The other way round: heads of all words as heads of the words of ``sentences``."""
        if self.constraint is not None:
            return heads
        of = {
            s: heads[a : a + len(s)] for s, a in zip(self.corpus.sentences, self.corpus.starts, strict=False)
        }
        return np.concatenate([of[s] for s, _ in self.sentences])

    def satisfies(self, heads: Heads) -> bool:
        """Whether parses of ``sentences`` keep to the constraint."""
        return self.constraint is None or bool(
            native.dmv_counts(self.batch, heads) @ self.marked >= self.least
        )

    def likelihood(self, counts: Vector) -> float:
        """The highest log-likelihood of parses with these counts: that of their own ratios."""
        used = counts > 0
        return float(counts[used] @ log_ratio(counts, self.features)[used])

    def counts_of(self, coordinates: Vector) -> Vector:
        """Counts of all features from the coordinates of count_parses.hpp."""
        t, features = len(self.corpus.tags), self.features
        counts = np.zeros(features.count)
        counts[:t] = coordinates[:t]
        blocks = coordinates[t : t + 2 * t * (t + 1)].reshape(2, t, t + 1)
        counts[t : t + 2 * t * t] = blocks[:, :, :t].ravel()
        some, children = blocks[:, :, t], blocks[:, :, :t].sum(axis=2)
        decisions = np.stack([self.tag_words - some, some, some, children - some], axis=2)
        counts[t + 2 * t * t :] = decisions.ravel()
        return np.where(counts > 1e-7, counts, 0.0)


@dataclass
class Incumbent:
    """The best parses so far, with the parameters that fit them best."""

    task: InductionTask
    value: float = -np.inf
    theta: Vector | None = None
    heads: Heads | None = None

    @property
    def grammar(self) -> DMV:
        """The parameters."""
        assert self.theta is not None
        return DMV(self.task.corpus.tags, self.theta)

    def improve_from(self, theta: Vector, *, smoothing: float = 0.0) -> bool:
        """Viterbi EM from the given parameters; whether it led to better parses than all before."""
        found = native.dmv_em_improve(
            theta, self.task.batch, self._viterbi_em(smoothing, native.DmvStart.uniform)
        )
        if not found.value > self.value + 1e-9 * max(1.0, abs(found.value)):
            return False
        self.value, self.theta, self.heads = self.task.likelihood(found.counts), found.theta, found.heads
        return True

    def _viterbi_em(
        self, smoothing: float, start: native.DmvStart, base: Vector | None = None
    ) -> native.DmvEmOptions:
        return native.DmvEmOptions(
            viterbi=True,
            start=start,
            smoothing=smoothing,
            polish=smoothing > 0,
            iterations=60,
            tolerance=0.0,
            marked=self.task.marked,
            least=float(self.task.least),
            base=base,
        )

    def offer(self, heads: Heads) -> bool:
        """Given parses of ``task.sentences``; whether they are better than all before."""
        counts = native.dmv_counts(self.task.batch, heads)
        value = self.task.likelihood(counts)
        if not value > self.value:
            return False
        self.value, self.theta, self.heads = value, log_ratio(counts, self.task.features), heads
        return True

    def restart(self, *, first: int, restarts: int, seed: int, near: bool = False) -> bool:
        """Viterbi EM ``restarts`` times, as number ``first`` and following: from random parameters, or ``near`` the best so far."""
        options = self._viterbi_em(0.25, native.DmvStart.random)
        if near and self.heads is not None:
            base = native.dmv_counts(self.task.batch, self.heads)
            options = self._viterbi_em(0.25, native.DmvStart.near, base)
        found = native.dmv_em_restarts(
            self.task.batch, options, first=first, restarts=restarts, seed=seed, threads=1
        )
        return found.value > self.value and self.improve_from(found.theta)


@dataclass(frozen=True)
class TracePoint:
    """Where a search stands: no parses of the corpus have a log-likelihood above ``upper``, some have ``lower``."""

    seconds: float
    lower: float
    upper: float
    nodes: int
    open_nodes: int

    @property
    def gap(self) -> float:
        """(upper - lower) / |lower|."""
        return relative_gap(self.lower, self.upper)


ProgressCallback = Callable[[TracePoint], None]


@dataclass(frozen=True, eq=False)
class Result:
    """The best parameters and parses found, and how far from optimal they can be.

    ``lower``: log-likelihood of the parses under the parameters. ``upper``: no parameters and parses have more. ``certificate``: what
    ``arcwise.induction.verifier`` needs to check that (None for methods without one).
    """

    parameters: DMV
    parses: list[Tree]
    lower: float
    upper: float
    trace: list[TracePoint]
    certificate: dict[str, Any] | None = None

    @property
    def gap(self) -> float:
        """(upper - lower) / |lower|."""
        return relative_gap(self.lower, self.upper)


def relative_gap(lower: float, upper: float) -> float:
    """(upper - lower) / |lower|; 0 if they are equal."""
    if upper <= lower:
        return 0.0
    return (upper - lower) / abs(lower) if lower else float("inf")
