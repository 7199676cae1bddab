"""The optimization problem: parses and parameters that maximise the joint likelihood of a corpus."""

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
from arcwise.induction.global_search.lp import ProgramCounts
from arcwise.trees import Tree

NO_MARKS = np.zeros(0, np.uint8)


@dataclass(frozen=True)
class InductionTask:
    """A corpus with an optional posterior constraint, in the form that searches need.

    Equal sentences share one parse, because they have the same optimum for fixed parameters. Under a
    constraint on the whole corpus they may need different parses, so every sentence is kept separate.
    """

    corpus: TagSentences
    constraint: ArcShare | None = None

    @property
    def features(self) -> Features:
        """Indices of the parameters."""
        return Features(self.corpus.tags)

    @cached_property
    def sentences(self) -> tuple[tuple[tuple[int, ...], int], ...]:
        """The sentences to parse, with their weights."""
        return self.corpus.kinds if self.constraint is None else tuple((s, 1) for s in self.corpus.sentences)

    @cached_property
    def batch(self) -> native.TagCorpus:
        """``sentences`` for the native kernels."""
        return self.corpus.batch_of_kinds if self.constraint is None else self.corpus.batch

    @cached_property
    def marked(self) -> npt.NDArray[np.uint8]:
        """Mask of the features that the constraint counts; empty without one."""
        return NO_MARKS if self.constraint is None else self.constraint.marked(self.features)

    @property
    def least(self) -> int:
        """Number of arcs that the constraint requires."""
        return 0 if self.constraint is None else self.constraint.least(self.corpus.words)

    @property
    def constraint_json(self) -> dict[str, Any] | None:
        """The constraint as certificates and checkpoints store it."""
        if self.constraint is None:
            return None
        return {"marked": np.flatnonzero(self.marked).tolist(), "least": self.least}

    @cached_property
    def tag_words(self) -> Vector:
        """Number of words with each tag."""
        words = [t for s in self.corpus.sentences for t in s]
        return np.bincount(words, minlength=len(self.corpus.tags)).astype(np.float64)

    def spread(self, heads: Heads) -> Heads:
        """Expand heads of ``sentences`` to all sentences of the corpus."""
        if self.constraint is not None:
            return heads
        ends = np.cumsum([len(s) for s, _ in self.sentences])
        of = {s: heads[end - len(s) : end] for (s, _), end in zip(self.sentences, ends, strict=True)}
        return np.concatenate([of[s] for s in self.corpus.sentences])

    def gathered(self, heads: Heads) -> Heads:
        """Reduce heads of the corpus to those of ``sentences``; the inverse of ``spread``."""
        if self.constraint is not None:
            return heads
        of = {
            s: heads[a : a + len(s)] for s, a in zip(self.corpus.sentences, self.corpus.starts, strict=False)
        }
        return np.concatenate([of[s] for s, _ in self.sentences])

    def satisfies(self, heads: Heads) -> bool:
        """Whether parses of ``sentences`` satisfy the constraint."""
        return self.constraint is None or bool(
            native.dmv_counts(self.batch, heads) @ self.marked >= self.least
        )

    def likelihood(self, counts: Vector) -> float:
        """Log-likelihood of parses with these counts under their maximum-likelihood parameters."""
        used = counts > 0
        return float(counts[used] @ log_ratio(counts, self.features)[used])

    def counts_of(self, coordinates: Vector) -> Vector:
        """Convert coordinates of count_parses.hpp to feature counts."""
        t, features = len(self.corpus.tags), self.features
        counts = np.zeros(features.count)
        counts[:t] = coordinates[:t]
        blocks = coordinates[t : t + 2 * t * (t + 1)].reshape(2, t, t + 1)
        counts[t : t + 2 * t * t] = blocks[:, :, :t].ravel()
        some, children = blocks[:, :, t], blocks[:, :, :t].sum(axis=2)
        decisions = np.stack([self.tag_words - some, some, some, children - some], axis=2)
        counts[t + 2 * t * t :] = decisions.ravel()
        # Rounding of the solver leaves tiny counts, which would turn impossible steps into possible ones.
        return np.where(counts > 1e-7, counts, 0.0)


@dataclass
class Incumbent:
    """The best parses so far, with their maximum-likelihood parameters."""

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
        """Run Viterbi EM from these parameters; return whether it improved the incumbent."""
        result = native.dmv_em_improve(
            theta, self.task.batch, self._viterbi_em(smoothing, native.DmvStart.uniform)
        )
        # Differences due to rounding are not improvements.
        if not result.value > self.value + 1e-9 * max(1.0, abs(result.value)):
            return False
        self.value, self.theta, self.heads = self.task.likelihood(result.counts), result.theta, result.heads
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
        """Take parses of ``task.sentences`` if they are better; return whether they are."""
        counts = native.dmv_counts(self.task.batch, heads)
        value = self.task.likelihood(counts)
        if not value > self.value:
            return False
        self.value, self.theta, self.heads = value, log_ratio(counts, self.task.features), heads
        return True

    def restart(self, *, first: int, restarts: int, seed: int, near: bool = False) -> bool:
        """Run Viterbi EM ``restarts`` times from random parameters, or ``near`` the incumbent.

        ``first``: number of the first restart; the number determines the random start.
        """
        options = self._viterbi_em(0.25, native.DmvStart.random)
        if near and self.heads is not None:
            base = native.dmv_counts(self.task.batch, self.heads)
            options = self._viterbi_em(0.25, native.DmvStart.near, base)
        result = native.dmv_em_restarts(
            self.task.batch, options, first=first, restarts=restarts, seed=seed, threads=1
        )
        return result.value > self.value and self.improve_from(result.theta)


@dataclass(frozen=True)
class TracePoint:
    """State of a search: the incumbent has log-likelihood ``lower``, no parses have more than ``upper``."""

    seconds: float
    lower: float
    upper: float
    nodes: int
    open_nodes: int

    @property
    def gap(self) -> float:
        """Relative gap, (upper - lower) / |lower|."""
        return relative_gap(self.lower, self.upper)


ProgressCallback = Callable[[TracePoint], None]


@dataclass(frozen=True, eq=False)
class Result:
    """The best parameters and parses, and their optimality gap.

    ``lower``: joint log-likelihood of the parses under the parameters. ``upper``: upper bound for any
    parameters and parses. ``certificate``: input of ``arcwise.induction.verifier`` (None for methods without
    one). ``linear_programs``: of the method ``theta``, how many the solver failed on.
    """

    parameters: DMV
    parses: list[Tree]
    lower: float
    upper: float
    trace: list[TracePoint]
    certificate: dict[str, Any] | None = None
    linear_programs: ProgramCounts | None = None

    @property
    def gap(self) -> float:
        """Relative gap, (upper - lower) / |lower|."""
        return relative_gap(self.lower, self.upper)


def relative_gap(lower: float, upper: float) -> float:
    """Relative gap, (upper - lower) / |lower|; 0 if they are equal."""
    if upper <= lower:
        return 0.0
    return (upper - lower) / abs(lower) if lower else float("inf")
