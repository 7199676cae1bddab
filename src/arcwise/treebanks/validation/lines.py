"""Level 1: check the lines of a sentence: row IDs, columns, encoding and white space."""

from __future__ import annotations

import re
import unicodedata

from arcwise.treebanks.rows import DEPREL, DEPS, FEATS, FORM, HEAD, ID, LEMMA, UPOS, XPOS, Row
from arcwise.treebanks.validation.findings import Report
from arcwise.treebanks.validation.raw import RawSentence
from arcwise.treebanks.validation.repairs import normalise_all, set_field


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


_SPACE = re.compile(r"[^\S\t]")
_WHITESPACE = re.compile(r"\s+")
_TWO_SPACES = re.compile(r"\s\s")
_NOT_TEXT = re.compile("[\ufffd\udc80-\udcff]")
_WITHOUT_SPACES = {ID, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS}


def check_lines(raw: RawSentence, report: Report) -> bool:
    """Check every line of the sentence; False if broken lines or columns make rows unreliable."""
    sound = _check_line_types(raw, report)
    for row in raw.rows:
        columns = len(row.fields)
        if columns != 10:
            sound = False
            hint = "; are they separated by spaces instead of tabs?" if columns == 1 else ""
            message = f"the row has {columns} column{'s' * (columns != 1)} instead of 10{hint}"
            report.add("number-of-columns", row.line, message, row=row.id)
    return sound


def check_whitespace(raw: RawSentence, report: Report) -> None:
    """Check whitespace in fields, and fields without a value."""
    for row in raw.rows:
        if len(row.fields) == 10 and ("" in row.fields or _SPACE.search("\t".join(row.fields))):
            for column, value in enumerate(row.fields):
                _check_field(raw, row, column, value, report)


def check_encoding(raw: RawSentence, report: Report) -> None:
    """Check that the text is UTF-8 in normalization form NFC."""
    text = raw.text
    # ASCII is valid UTF-8 and always in NFC.
    if text.isascii():
        return
    invalid, composed = _NOT_TEXT.search(text) is not None, unicodedata.is_normalized("NFC", text)
    repair = None if composed else normalise_all(raw)
    for line, content in enumerate(raw.lines, raw.first_line) if invalid or not composed else ():
        match = _NOT_TEXT.search(content)
        if match:
            # Bytes that are not UTF-8 were decoded to surrogates, which keep the byte in their low 8 bits.
            character = (
                "the replacement character U+FFFD"
                if match[0] == "\ufffd"
                else f"byte 0x{ord(match[0]) & 0xFF:02X}"
            )
            report.add("invalid-utf", line, f"{character} is not valid UTF-8 text")
        if not unicodedata.is_normalized("NFC", content):
            message = f"{_first_decomposed(content)!r} is not in Unicode normalization form NFC"
            report.add("unicode-normalization", line, message, repair=repair)


def _first_decomposed(content: str) -> str:
    """The first word of a line that is not in NFC."""
    words = (word for word in content.split() if not unicodedata.is_normalized("NFC", word))
    return next(words, content)


def _check_line_types(raw: RawSentence, report: Report) -> bool:
    sound, rows_begun, words = True, False, False
    for line, content in enumerate(raw.lines, raw.first_line):
        if content.startswith("#"):
            if rows_begun:
                sound = False
                message = "a comment is inside a sentence; move it before the first word"
                report.add("misplaced-comment", line, message)
        elif not content or content.isspace():
            if content:
                report.add("pseudo-empty-line", line, "the blank line contains whitespace")
            if not words:
                sound = False
                report.add("empty-sentence", line, "there is no word before the blank line")
        else:
            rows_begun = True
            if content[0].isdigit():
                words = True
            else:
                sound = False
                start = content[:20] + "…" * (len(content) > 20)
                report.add("invalid-line", line, f"the line should start with a number or #: {start!r}")
    if raw.lines and raw.lines[-1] and not raw.lines[-1].isspace():
        last = raw.first_line + len(raw.lines) - 1
        report.add("missing-empty-line", last, "a blank line is missing after the sentence")
    return sound and words


def _check_field(raw: RawSentence, row: Row, column: int, value: str, report: Report) -> None:
    def add(rule: str, message: str, repaired: str | None) -> None:
        repair = None if repaired is None else set_field(raw, row, column, repaired)
        report.add_field(rule, row, column, message, repair=repair)

    if row.kind == "multiword" and column in (FORM, LEMMA) and _WHITESPACE.search(value):
        add("invalid-whitespace-mwt", f"the multiword token {value!r} contains whitespace", None)
    elif column in _WITHOUT_SPACES and _WHITESPACE.search(value):
        repaired = None if column == ID else _WHITESPACE.sub("", value) or "_"
        add("invalid-whitespace", f"{value!r} contains whitespace", repaired)
    elif not value:
        add(
            "empty-column",
            "the field is empty; write a value or _",
            None if column in (ID, FORM, HEAD) else "_",
        )
    else:
        stripped = _WHITESPACE.sub(" ", value).strip() or "_"
        if value[0].isspace():
            add("leading-whitespace", f"{value!r} starts with whitespace", stripped)
        if value[-1].isspace():
            add("trailing-whitespace", f"{value!r} ends with whitespace", stripped)
        if _TWO_SPACES.search(value):
            add("repeated-whitespace", f"{value!r} contains two consecutive spaces", stripped)
