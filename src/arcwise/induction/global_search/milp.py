"""``method="milp"``: the whole task as one integer program, solved by HiGHS; a cross-check for the searches.

There is one binary per sentence and count vector of its parses. Counts are sums of them, encoded in unary:
f = low + Σ_k y_k with y_low+1 ≥ … ≥ y_high, which makes φ(f) = φ(low) + Σ_k (φ(k) − φ(k−1)) y_k linear
(φ(x) = x log x). The program is exact.
"""

from __future__ import annotations

import numpy as np

from arcwise import native
from arcwise.errors import InputError
from arcwise.induction.global_search.lp import LinearProgram
from arcwise.induction.global_search.problem import Incumbent, InductionTask, TracePoint

LONGEST = 8
"""Longest sentence: all parses are enumerated."""


def _phi(x: np.ndarray) -> np.ndarray:
    return np.where(x > 0, x * np.log(np.maximum(x, 1)), 0.0)


class ExactProgram:
    """The integer program of a task."""

    def __init__(self, task: InductionTask) -> None:
        longest = max(len(s) for s, _ in task.sentences)
        if longest > LONGEST:
            raise InputError(
                f"method: milp takes sentences of at most {LONGEST} words, found one of {longest}"
            )
        if task.constraint is not None:
            task.constraint.check(task.corpus)
        self.task = task
        self.problem = native.CountProblem(
            task.batch, marked=task.marked, least=task.least, enumerate_up_to=LONGEST
        )
        self.lp = LinearProgram()
        self.integers: list[int] = []
        self.constant = 0.0
        box = self.problem.root_box
        self.low, self.high = box.low, box.high
        self._add_parses()
        self._add_likelihood()
        self.lp.make_integer(self.integers)

    def _add_parses(self) -> None:
        """Add binaries for parses; ``self.sums[j]``: the (column, weight) pairs that sum to coordinate j."""
        self.first: list[int] = []
        self.sums: dict[int, list[tuple[int, float]]] = {}
        for s, (_, weight) in enumerate(self.task.sentences):
            names, values, _ = self.problem.vectors(s)
            self.first.append(self.lp.columns)
            self.lp.add_columns(np.zeros(len(values)), upper=1.0)
            columns = np.arange(self.first[-1], self.lp.columns)
            self.integers += columns.tolist()
            self._add_row([(int(c), 1.0) for c in columns], 1.0, 1.0)
            for place, name in enumerate(names.tolist()):
                used = np.flatnonzero(values[:, place])
                pairs = [(int(columns[p]), weight * float(values[p, place])) for p in used]
                self.sums.setdefault(name, []).extend(pairs)

    def _add_row(self, entries: list[tuple[int, float]], lower: float, upper: float) -> None:
        # HiGHS rejects a row that names a column twice.
        merged: dict[int, float] = {}
        for column, value in entries:
            merged[column] = merged.get(column, 0.0) + value
        self.lp.add_rows([lower], [upper], starts=[0], columns=list(merged), values=list(merged.values()))

    def _add_unary(self, entries: list[tuple[int, float]], low: int, high: int, gains: np.ndarray) -> None:
        """Add a count Σ entries in low..high whose k-th unit, k = low+1 .., contributes ``gains[k]``."""
        first = self.lp.columns
        count = high - low
        if count:
            self.lp.add_columns(gains[low + 1 : high + 1], upper=1.0)
            self.integers += range(first, first + count)
            for k in range(first, first + count - 1):
                self._add_row([(k, 1.0), (k + 1, -1.0)], 0.0, np.inf)
        self._add_row([*entries, *((first + k, -1.0) for k in range(count))], float(low), float(low))
        self.constant += float(np.sum(gains[1 : low + 1]))

    def _add_likelihood(self) -> None:
        tags, words = len(self.task.corpus.tags), self.task.tag_words
        total = self.task.corpus.words + len(self.task.corpus) + 1
        gain = np.diff(_phi(np.arange(total, dtype=float)), prepend=0.0)
        self.constant -= float(_phi(np.array([len(self.task.corpus)], float))[0])
        priced = tags + 2 * tags * (tags + 1)
        for t in range(tags):
            self._add_unary(self.sums.get(t, []), int(self.low[t]), int(self.high[t]), gain)
        for b in range(2 * tags):
            some, children = tags + b * (tags + 1) + tags, priced + b
            for part in range(some - tags, some):
                self._add_unary(self.sums.get(part, []), int(self.low[part]), int(self.high[part]), gain)
            n = int(words[b % tags])
            # 2 φ(A) + φ(N-A): the k-th unit of A is worth 2 (φ(k) - φ(k-1)) - (φ(N-k+1) - φ(N-k)).
            of_some = np.array([0.0, *(2 * gain[k] - gain[n - k + 1] for k in range(1, n + 1))])
            chosen = self.sums.get(some, [])
            self._add_unary(chosen, int(self.low[some]), int(self.high[some]), of_some)
            arcs = self.sums.get(children, [])
            self._add_unary(arcs, int(self.low[children]), int(self.high[children]), -2 * gain)
            more = int(self.high[children])
            self._add_unary([*arcs, *((c, -v) for c, v in chosen)], 0, more, gain)
        if self.task.constraint is not None:
            self._add_row(self.sums.get(priced + 2 * tags, []), float(self.task.least), np.inf)

    def solve(self, *, epsilon: float, time_limit: float | None) -> tuple[Incumbent, float]:
        """Return the incumbent and an upper bound."""
        solution = self.lp.solve(time_limit=time_limit, relative_gap=epsilon)
        best = Incumbent(self.task)
        if solution.status in ("optimal", "limit", "failed") and len(solution.columns):
            heads = []
            for s, first in enumerate(self.first):
                _, values, trees = self.problem.vectors(s)
                heads.append(trees[int(np.argmax(solution.columns[first : first + len(values)]))])
            candidate = np.concatenate(heads).astype(np.int32)
            # A solution within the solver's tolerance may round to parses that violate the constraint.
            if self.task.satisfies(candidate):
                best.offer(candidate)
        if best.heads is None:
            best.restart(first=0, restarts=200, seed=0)
        return best, solution.bound + self.constant


def solve_milp(
    task: InductionTask, *, epsilon: float, time_limit: float | None
) -> tuple[Incumbent, TracePoint]:
    """Solve the integer program of a task."""
    import time

    began = time.monotonic()
    best, bound = ExactProgram(task).solve(epsilon=epsilon, time_limit=time_limit)
    return best, TracePoint(time.monotonic() - began, best.value, max(bound, best.value), 0, 0)
