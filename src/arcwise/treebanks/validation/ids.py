"""Level 1: the IDs of words, multiword tokens and empty nodes."""

from __future__ import annotations

from arcwise.treebanks.rows import Row
from arcwise.treebanks.validation.findings import Report
from arcwise.treebanks.validation.raw import RawSentence


def check_ids(raw: RawSentence, report: Report) -> bool:
    """Whether words are numbered 1, 2, 3, … and ranges and empty nodes stand where they belong."""
    before = len(report.findings)
    numbers = [int(row.id) for row in raw.words]
    last, empty = 0, 0  # the last word, and the last empty node after it
    token = (0, 0)  # first and last word of the last token
    ranges: list[Row] = []
    for row in raw.rows:
        if row.kind == "broken":
            _tell(report, "invalid-word-id", row, f"found ID {row.id!r}, expected 3, 3-4 or 3.1")
        elif row.kind == "word":
            last, empty = int(row.id), 0
            token = token if token[0] <= last <= token[1] else (last, last)
        elif row.kind == "multiword":
            empty = 0
            if row.span[0] <= last:
                _tell(
                    report,
                    "misplaced-word-interval",
                    row,
                    f"found the range {row.id} after word {last}, expected it before its first word",
                )
            else:
                ranges.append(row)
                token = row.span
        else:
            empty += 1
            _check_empty_node(row, last, empty, token[0], report)
    if numbers != list(range(1, len(numbers) + 1)):
        wrong = next((n for place, n in enumerate(numbers, 1) if n != place), 0)
        place = numbers.index(wrong)
        row = raw.words[place]
        _tell(
            report,
            "word-id-sequence",
            row,
            f"found ID {wrong}, expected {place + 1} (IDs count 1, 2, 3, … without gaps)",
        )
    _check_ranges(raw, ranges, len(numbers), report)
    return len(report.findings) == before


def _check_empty_node(row: Row, last: int, number: int, opened: int, report: Report) -> None:
    if row.span != (last, number):
        _tell(
            report,
            "misplaced-empty-node",
            row,
            f"found the empty node {row.id}, expected {last}.{number} here",
        )
    elif last < opened:
        _tell(
            report,
            "misplaced-empty-node",
            row,
            f"found the empty node {row.id} after a multiword token, expected it before",
        )


def _check_ranges(raw: RawSentence, ranges: list[Row], words: int, report: Report) -> None:
    for row in ranges:
        first, last = row.span
        if last < first:
            _tell(
                report,
                "reversed-word-interval",
                row,
                f"found the range {row.id}, expected one that goes upwards",
            )
        elif last > words:
            _tell(
                report, "word-interval-out", row, f"found the range {row.id}, expected one inside 1-{words}"
            )
    covered = 0
    for row in raw.rows:
        if row.kind == "multiword" and row.span[0] <= row.span[1]:
            if row.span[0] <= covered:
                _tell(
                    report,
                    "overlapping-word-intervals",
                    row,
                    f"found the range {row.id}, which overlaps with another, expected one token for each word",
                )
            covered = max(covered, row.span[1])


def _tell(report: Report, rule: str, row: Row, message: str) -> None:
    report.add(rule, row.line, message, row=row.id, column="id")
