"""Level 1: check the IDs of words, multiword tokens and empty nodes."""

from __future__ import annotations

from arcwise.treebanks.rows import Row
from arcwise.treebanks.validation.findings import Report
from arcwise.treebanks.validation.raw import RawSentence


def check_ids(raw: RawSentence, report: Report) -> bool:
    """Whether words are numbered 1, 2, 3, … and ranges and empty nodes are where they belong."""
    findings_before = len(report.findings)
    numbers = [int(row.id) for row in raw.words]
    last_word, empty_nodes = 0, 0  # empty_nodes counts those since the last word
    token = (0, 0)  # first and last word of the last token
    ranges: list[Row] = []
    for row in raw.rows:
        if row.kind == "broken":
            _add(report, "invalid-word-id", row, f"ID {row.id!r} should look like 3, 3-4 or 3.1")
        elif row.kind == "word":
            last_word, empty_nodes = int(row.id), 0
            token = token if token[0] <= last_word <= token[1] else (last_word, last_word)
        elif row.kind == "multiword":
            empty_nodes = 0
            if row.span[0] <= last_word:
                message = f"the range {row.id} should precede its first word, but follows word {last_word}"
                _add(report, "misplaced-word-interval", row, message)
            else:
                ranges.append(row)
                token = row.span
        else:
            empty_nodes += 1
            _check_empty_node(row, last_word, empty_nodes, token[0], report)
    if numbers != list(range(1, len(numbers) + 1)):
        wrong = next((n for expected, n in enumerate(numbers, 1) if n != expected), 0)
        index = numbers.index(wrong)
        message = f"word {wrong} should be {index + 1}; words are numbered 1, 2, 3, … without gaps"
        _add(report, "word-id-sequence", raw.words[index], message)
    _check_ranges(raw, ranges, len(numbers), report)
    return len(report.findings) == findings_before


def _check_empty_node(row: Row, last_word: int, number: int, token_start: int, report: Report) -> None:
    if row.span != (last_word, number):
        message = f"the empty node {row.id} should be {last_word}.{number} here"
        _add(report, "misplaced-empty-node", row, message)
    elif last_word < token_start:
        message = f"the empty node {row.id} should precede the row of the multiword token"
        _add(report, "misplaced-empty-node", row, message)


def _check_ranges(raw: RawSentence, ranges: list[Row], words: int, report: Report) -> None:
    for row in ranges:
        first, last = row.span
        if last < first:
            _add(report, "reversed-word-interval", row, f"the range {row.id} should be ascending")
        elif last > words:
            message = f"the range {row.id} is outside the sentence (1-{words})"
            _add(report, "word-interval-out", row, message)
    covered = 0
    for row in raw.rows:
        if row.kind == "multiword" and row.span[0] <= row.span[1]:
            if row.span[0] <= covered:
                message = f"the range {row.id} overlaps another; a word belongs to only one token"
                _add(report, "overlapping-word-intervals", row, message)
            covered = max(covered, row.span[1])


def _add(report: Report, rule: str, row: Row, message: str) -> None:
    report.add(rule, row.line, message, row=row.id, column="id")
