"""Level 2: check comments, and rules across sentences: unique ids, DEPS in all or none, line ends."""

from __future__ import annotations

import re
from dataclasses import dataclass

from arcwise.treebanks.columns import COLUMNS
from arcwise.treebanks.edits import RemoveComment
from arcwise.treebanks.rows import DEPREL, DEPS, HEAD
from arcwise.treebanks.validation.fields import deps_pairs
from arcwise.treebanks.validation.findings import Repair, Report
from arcwise.treebanks.validation.inventory import universal
from arcwise.treebanks.validation.raw import SENT_ID, RawSentence

_PARALLEL_ID = re.compile(
    r"#\s*parallel_id\s*=\s*(?P<all>(?P<sentence>[a-z]+/[-0-9a-z]+)"
    r"(?:/(?=[ap])(?:alt(?P<alt>[1-9][0-9]{0,17}))?(?:part(?P<part>[1-9][0-9]{0,17}))?)?)"
)
_CONFLICT = re.compile(r"#\s*conflict\s*=\s*(?P<place>[^=]*) (?P<side>mine|theirs)=.*")
"""A comment that records a merge conflict; see ``arcwise.treebanks.conflicts``."""
_NEW = {name: re.compile(rf"#\s*{name}(?:\s+\S+)?") for name in ("newdoc", "newpar")}


@dataclass(frozen=True)
class ParallelId:
    """The sentence of a parallel corpus, with the number of its alternative or part."""

    whole: str
    sentence: str
    alt: int | None
    part: int | None


def check_comments(raw: RawSentence, report: Report) -> None:
    """Check the comments of a single sentence."""
    line = raw.first_row_line
    ids = raw.sent_ids
    for comment_line, comment in raw.comments:
        if comment.startswith(("# sent_id", "#sent_id")) and not SENT_ID.fullmatch(comment):
            message = f"{comment!r} should be # sent_id = ID, without whitespace in the ID"
            report.add("invalid-sent-id", comment_line, message)
        if comment.startswith(("# parallel_id", "#parallel_id")) and not _PARALLEL_ID.fullmatch(comment):
            message = (
                f"{comment!r} should be # parallel_id = corpus/sentence, optionally with /alt1 or /part1"
            )
            report.add("invalid-parallel-id", comment_line, message)
    _check_conflicts(raw, report)
    if not ids:
        report.add("missing-sent-id", line, "the sentence has no sent_id; add a comment # sent_id = ID")
    elif len(ids) > 1:
        report.add("multiple-sent-id", line, f"the sentence has {len(ids)} sent_ids instead of one")
    elif ids[0].count("/") > 1:
        report.add("slash-in-sent-id", line, f"sent_id {ids[0]!r} has more than one slash")
    if len(parallel_ids(raw)) > 1:
        report.add("multiple-parallel-id", line, "the sentence has several parallel_ids instead of one")
    for name in _NEW:
        count = sum(bool(_NEW[name].fullmatch(comment)) for _, comment in raw.comments)
        if count > 1:
            report.add(f"multiple-{name}", line, f"# {name} occurs {count} times instead of once")


def _check_conflicts(raw: RawSentence, report: Report) -> None:
    """Report the conflicts that ``arcwise merge`` left: one finding for each place, however many lines."""
    lines: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for line, comment in raw.comments:
        if match := _CONFLICT.fullmatch(comment):
            lines.setdefault((match["place"], match["side"]), []).append((line, comment))
    for (place, side), comments in lines.items():
        row, _, column = place.partition(" ")
        is_field = column in COLUMNS and any(row == known.id for known in raw.rows)
        value = comments[0][1].partition(f"{side}=")[2]
        shown = "it was removed" if not value else f"{value!r}" if len(comments) == 1 else "another version"
        where = column.upper() if is_field else place
        repair = Repair("keep mine", tuple(RemoveComment(comment[1:].strip()) for _, comment in comments))
        report.add(
            "merge-conflict",
            comments[0][0],
            f"{where}: unresolved merge conflict; {side}: {shown}",
            row=row if is_field else None,
            column=column if is_field else None,
            repair=repair if raw.editable and side == "theirs" else None,
        )


def parallel_ids(raw: RawSentence) -> list[ParallelId]:
    """All parallel_ids of a sentence."""
    ids = []
    for _, comment in raw.comments:
        match = _PARALLEL_ID.fullmatch(comment)
        if match:
            alt, part = (int(match[name]) if match[name] else None for name in ("alt", "part"))
            ids.append(ParallelId(match["all"], match["sentence"], alt, part))
    return ids


def starts_document_or_paragraph(raw: RawSentence) -> bool:
    """Whether the sentence has a newdoc or newpar comment."""
    return any(pattern.fullmatch(comment) for _, comment in raw.comments for pattern in _NEW.values())


class CrossSentenceChecks:
    """State of these checks; ``check`` is called with the sentences of a treebank in order."""

    def __init__(self) -> None:
        self._sent_ids: dict[str, int] = {}
        self._parallel: dict[str, ParallelId] = {}
        self._parallel_ids: set[str] = set()
        # Lines of the first sentence with and without DEPS, of the first empty node and orphan; 0: none.
        self._with_graph = self._without_graph = self._empty_node = self._orphan = 0
        self._has_enhancements = False
        self._ends_without_space = False  # whether the previous sentence ended in SpaceAfter=No
        self._only_lf = True  # whether all lines of the current file so far end in LF

    def begin_file(self) -> None:
        """Start the next file of the treebank."""
        self._only_lf = True

    def check_line_ends(self, raw: RawSentence, report: Report) -> None:
        """Report CR LF line ends, once per file."""
        if self._only_lf and "\r" in raw.text:
            self._only_lf = False
            message = "lines should end in LF, not CR LF (reported once per file)"
            report.add("non-unix-newline", raw.first_line, message)

    def check(self, raw: RawSentence, report: Report) -> None:
        """Report problems of the sentence that depend on the sentences before it."""
        if not raw.structured:
            return
        self._check_sent_id(raw, report)
        self._check_parallel_id(raw, report)
        self._check_graph(raw, report)
        self._check_orphans(raw, report)
        if starts_document_or_paragraph(raw) and self._ends_without_space:
            message = "a document or paragraph starts here, but the previous sentence ends in SpaceAfter=No"
            report.add("spaceafter-newdocpar", raw.first_row_line, message)
        self._ends_without_space = bool(raw.tokens) and raw.tokens[-1].glued

    @property
    def deps_are_copies(self) -> bool:
        """Whether DEPS is filled, but always just HEAD:DEPREL."""
        return bool(self._with_graph) and not self._has_enhancements

    def _check_sent_id(self, raw: RawSentence, report: Report) -> None:
        if len(raw.sent_ids) != 1:
            return
        (sent_id,) = raw.sent_ids
        if sent_id in self._sent_ids:
            message = f"sent_id {sent_id!r} is not unique; line {self._sent_ids[sent_id]} has it too"
            report.add("non-unique-sent-id", raw.first_row_line, message)
        self._sent_ids.setdefault(sent_id, raw.first_line)

    def _check_parallel_id(self, raw: RawSentence, report: Report) -> None:
        ids = parallel_ids(raw)
        if len(ids) != 1:
            return
        (parallel_id,) = ids
        line, whole = raw.first_row_line, parallel_id.whole
        if whole in self._parallel_ids:
            report.add("non-unique-parallel-id", line, f"parallel_id {whole!r} is not unique")
            return
        last = self._parallel.get(parallel_id.sentence)
        for name, number, previous in (
            ("alt", parallel_id.alt, last and last.alt),
            ("part", parallel_id.part, last and last.part),
        ):
            mixed = last is not None and (previous is None) != (number is None)
            if mixed or (number is not None and number != (previous or 0) + 1):
                message = f"parallel_id {whole!r}: number all sentences {name}1, {name}2, … in order, or none"
                report.add(f"parallel-id-{name}", line, message)
        self._parallel_ids.add(whole)
        self._parallel[parallel_id.sentence] = parallel_id

    def _check_graph(self, raw: RawSentence, report: Report) -> None:
        has_graph = any(row.kind == "empty" or row.fields[DEPS] != "_" for row in raw.nodes)
        line = raw.first_row_line
        opposite = self._without_graph if has_graph else self._with_graph
        is_first = not (self._with_graph if has_graph else self._without_graph)
        if is_first and opposite:
            here, there = ("has", "has none") if has_graph else ("has no", "has it")
            message = (
                f"DEPS should be in all sentences or in none; this one {here} DEPS, line {opposite} {there}"
            )
            report.add("edeps-only-sometimes", line, message)
        if has_graph:
            self._with_graph = self._with_graph or line
            self._has_enhancements = self._has_enhancements or any(
                row.fields[DEPS] not in ("_", f"{row.fields[HEAD]}:{row.fields[DEPREL]}") for row in raw.nodes
            )
        else:
            self._without_graph = self._without_graph or line

    def _check_orphans(self, raw: RawSentence, report: Report) -> None:
        conflict = "DEPS should have empty nodes or orphan relations, not both; line"
        for row in raw.nodes:
            if row.kind == "empty" and not self._empty_node:
                self._empty_node = row.line
                if self._orphan:
                    message = f"{conflict} {self._orphan} has an orphan"
                    report.add("empty-node-after-eorphan", row.line, message, row=row.id, column="deps")
            if any(universal(label) == "orphan" for _, label in deps_pairs(row.fields[DEPS]) or ()):
                self._orphan = self._orphan or row.line
                if self._empty_node:
                    message = f"{conflict} {self._empty_node} has an empty node"
                    report.add_field("eorphan-after-empty-node", row, DEPS, message)
