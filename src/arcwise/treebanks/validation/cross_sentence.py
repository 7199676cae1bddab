"""What needs more than one sentence: ids that are not unique, DEPS in some sentences alone, line ends."""

from __future__ import annotations

from arcwise.treebanks.rows import DEPREL, DEPS, HEAD
from arcwise.treebanks.validation.comments import ParallelId, begins_anew, parallel_ids
from arcwise.treebanks.validation.fields import deps_pairs
from arcwise.treebanks.validation.findings import Report
from arcwise.treebanks.validation.inventory import universal
from arcwise.treebanks.validation.raw import RawSentence


class CrossSentenceChecks:
    """What was seen so far of a treebank; ``check`` is called with its sentences in order."""

    def __init__(self) -> None:
        self._sent_ids: dict[str, int] = {}
        self._parallel: dict[str, ParallelId] = {}
        self._parallel_ids: set[str] = set()
        self._with_graph = self._without_graph = self._empty_node = self._orphan = (
            0  # the lines where they were first
        )
        self._enhancement = False
        self._joined = False  # whether the last sentence ended in SpaceAfter=No
        self._unix = True  # whether all lines of the file end in LF alone so far

    def begin_file(self) -> None:
        """A further file of the treebank begins."""
        self._unix = True

    def check_line_ends(self, raw: RawSentence, report: Report) -> None:
        """Whether lines end in LF alone; told once a file."""
        if self._unix and "\r" in raw.text:
            self._unix = False
            report.add(
                "non-unix-newline",
                raw.first_line,
                "found a line that ends in CR LF, expected LF alone (told once)",
            )

    def check(self, raw: RawSentence, report: Report) -> None:
        """What is wrong with the sentence because of those before it."""
        if not raw.structured:
            return
        self._check_sent_id(raw, report)
        self._check_parallel_id(raw, report)
        self._check_graph(raw, report)
        self._check_orphans(raw, report)
        if begins_anew(raw) and self._joined:
            report.add(
                "spaceafter-newdocpar",
                raw.first_row_line,
                "found a new document or paragraph after SpaceAfter=No, expected none at the end of the sentence before",
            )
        self._joined = bool(raw.tokens) and raw.tokens[-1].glued

    @property
    def copies(self) -> bool:
        """Whether DEPS is filled and never more than HEAD:DEPREL."""
        return bool(self._with_graph) and not self._enhancement

    def _check_sent_id(self, raw: RawSentence, report: Report) -> None:
        ids = raw.sent_ids
        if len(ids) != 1:
            return
        if ids[0] in self._sent_ids:
            report.add(
                "non-unique-sent-id",
                raw.first_row_line,
                f"found sent_id {ids[0]!r} a second time (the first is on line {self._sent_ids[ids[0]]}), expected another",
            )
        self._sent_ids.setdefault(ids[0], raw.first_line)

    def _check_parallel_id(self, raw: RawSentence, report: Report) -> None:
        found = parallel_ids(raw)
        if len(found) != 1:
            return
        (own,) = found
        if own.whole in self._parallel_ids:
            report.add(
                "non-unique-parallel-id",
                raw.first_row_line,
                f"found parallel_id {own.whole!r} a second time, expected another",
            )
            return
        last = self._parallel.get(own.sentence)
        for name, number, before in (
            ("alt", own.alt, last and last.alt),
            ("part", own.part, last and last.part),
        ):
            mixed = last is not None and (before is None) != (number is None)
            if mixed or (number is not None and number != (before or 0) + 1):
                report.add(
                    f"parallel-id-{name}",
                    raw.first_row_line,
                    f"found parallel_id {own.whole!r}, expected {name}1, {name}2, … one after the other, or none at all",
                )
        self._parallel_ids.add(own.whole)
        self._parallel[own.sentence] = own

    def _check_graph(self, raw: RawSentence, report: Report) -> None:
        graph = any(row.kind == "empty" or row.fields[DEPS] != "_" for row in raw.nodes)
        line = raw.first_row_line
        other = self._without_graph if graph else self._with_graph
        first = not (self._with_graph if graph else self._without_graph)
        if first and other:
            told = "found DEPS" if graph else "found no DEPS"
            report.add(
                "edeps-only-sometimes",
                line,
                f"{told}, expected it in all sentences or in none (line {other} is otherwise)",
            )
        if graph:
            self._with_graph = self._with_graph or line
            self._enhancement = self._enhancement or any(
                row.fields[DEPS] not in ("_", f"{row.fields[HEAD]}:{row.fields[DEPREL]}") for row in raw.nodes
            )
        else:
            self._without_graph = self._without_graph or line

    def _check_orphans(self, raw: RawSentence, report: Report) -> None:
        for row in raw.nodes:
            if row.kind == "empty" and not self._empty_node:
                self._empty_node = row.line
                if self._orphan:
                    report.add(
                        "empty-node-after-eorphan",
                        row.line,
                        f"found an empty node, expected no orphan in DEPS then (line {self._orphan} has one)",
                        row=row.id,
                        column="deps",
                    )
            if any(universal(label) == "orphan" for _, label in deps_pairs(row.fields[DEPS]) or ()):
                self._orphan = self._orphan or row.line
                if self._empty_node:
                    message = f"found orphan, expected none where there are empty nodes (line {self._empty_node} has one)"
                    report.add_field("eorphan-after-empty-node", row, DEPS, message)
