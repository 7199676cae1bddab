"""Parses of a corpus as a linear program: the relaxed trees of Gormley & Eisner (2013).

Columns: arcs e and flows of every sentence, one "has a child" per word and side, counts f. Rows: equations
5–16 of the paper, with fractional arcs, and the posterior constraint.
"""

from __future__ import annotations

import numpy as np

from arcwise.induction.dmv import Heads, Vector
from arcwise.induction.global_search.lp import LinearProgram
from arcwise.induction.global_search.problem import InductionTask
from arcwise.inference.eisner import eisner_decode

Row = dict[int, float]
RangedRow = tuple[Row, float, float]


class TreeProgram:
    """Columns and rows of the relaxed parses; subclasses add the columns to ``_lp`` with their costs."""

    def __init__(self, task: InductionTask, *, least: int | None = None) -> None:
        """``least``: arcs required by the posterior constraint, if different from the task."""
        self.task = task
        self.features = task.features
        self.count = 0
        self.rows: list[RangedRow] = []
        self.low: list[float] = []
        self.high: list[float] = []
        self.arcs: list[dict[tuple[int, int], int]] = []
        self._sums: list[Row] = [{} for _ in range(self.features.count)]
        self._constants = np.zeros(self.features.count)
        for tags, weight in task.sentences:
            self._add_sentence(tags, float(weight))
        self.used = [m for m in range(self.features.count) if self._sums[m] or self._constants[m]]
        most = float(task.corpus.words)
        self.f = {m: self._column(0.0, most) for m in self.used}
        for m in self.used:
            self.rows.append(({**self._sums[m], self.f[m]: -1.0}, -self._constants[m], -self._constants[m]))
        if task.constraint is not None:
            marked = {self.f[m]: 1.0 for m in self.used if task.marked[m]}
            self.rows.append((marked, float(task.least if least is None else least), np.inf))
        self._lp = LinearProgram()

    def nearest_trees(self, x: Vector) -> Heads:
        """Project fractional arcs onto the trees that contain most of them (Eisner & Satta 1999).

        Returns heads, flat over the words of ``task.sentences``.
        """
        heads = []
        for arcs, (tags, _) in zip(self.arcs, self.task.sentences, strict=True):
            scores = np.full((len(tags) + 1, len(tags) + 1), -np.inf)
            for (i, j), column in arcs.items():
                scores[i, j] = x[column]
            heads.append(eisner_decode(scores, single_root=True)[0][1:])
        return np.concatenate(heads).astype(np.int32)

    def _column(self, low: float, high: float) -> int:
        self.low.append(low)
        self.high.append(high)
        self.count += 1
        return self.count - 1

    def _add_sentence(self, tags: tuple[int, ...], weight: float) -> None:
        n = len(tags)
        arcs = {(i, j): self._column(0.0, 1.0) for i in range(n + 1) for j in range(1, n + 1) if i != j}
        flow = {arc: self._column(0.0, float(n)) for arc in arcs}
        self.arcs.append(arcs)
        self.rows.append(({arcs[0, j]: 1.0 for j in range(1, n + 1)}, 1.0, 1.0))  # one root
        self.rows.append(({flow[0, j]: 1.0 for j in range(1, n + 1)}, n, n))  # (5)
        for j in range(1, n + 1):
            self.rows.append(({arcs[i, j]: 1.0 for i in range(n + 1) if i != j}, 1.0, 1.0))
            into = {flow[i, j]: 1.0 for i in range(n + 1) if i != j}
            self.rows.append(
                ({**into, **{flow[j, k]: -1.0 for k in range(1, n + 1) if k != j}}, 1.0, 1.0)
            )  # (6)
        for arc, column in arcs.items():
            self.rows.append(({flow[arc]: 1.0, column: -float(n)}, -np.inf, 0.0))  # (7)
            left, right = min(arc), max(arc)
            crossing = [
                c
                for (k, m), c in arcs.items()
                if (left < min(k, m) < right < max(k, m)) or (min(k, m) < left < max(k, m) < right)
            ]
            if crossing:
                self.rows.append(
                    ({**dict.fromkeys(crossing, 1.0), column: float(n)}, -np.inf, float(n))
                )  # (9)
        self._count_sentence(tags, weight, arcs)

    def _count_sentence(self, tags: tuple[int, ...], weight: float, arcs: dict[tuple[int, int], int]) -> None:
        features, n = self.features, len(tags)
        for (i, j), column in arcs.items():  # (10), (11)
            m = tags[j - 1] if i == 0 else features.child(int(j > i), tags[i - 1], tags[j - 1])
            self._sums[m][column] = weight
        for i in range(1, n + 1):
            for side, others in ((0, range(1, i)), (1, range(i + 1, n + 1))):
                first, later = (features.decision(side, tags[i - 1], k, 0) for k in (0, 1))
                self._constants[first] += weight  # dec.0.stop = 1 - dec.0.cont  (14)
                children = {arcs[i, j]: 1.0 for j in others}
                if not children:
                    continue
                some = self._column(0.0, 1.0)
                self.rows.append(({**children, some: -float(n)}, -np.inf, 0.0))  # (13)
                self.rows.append(({**children, some: -1.0}, 0.0, np.inf))  # (16) is not negative
                self._sums[first][some] = -weight
                self._sums[first + 1][some] = weight
                self._sums[later][some] = weight  # (15)
                self._sums[later + 1].update({**dict.fromkeys(children, weight), some: -weight})  # (16)

    def _put_fixed_rows(self) -> None:
        """Add the rows that hold everywhere, unless they are there already."""
        self._put(self.rows[self._lp.rows :])

    def _put(self, rows: list[RangedRow]) -> None:
        if not rows:
            return
        starts = np.concatenate([[0], np.cumsum([len(r) for r, _, _ in rows])])
        columns = [c for r, _, _ in rows for c in r]
        values = [v for r, _, _ in rows for v in r.values()]
        self._lp.add_rows(
            [a for _, a, _ in rows], [b for _, _, b in rows], starts=starts, columns=columns, values=values
        )
