"""Level 1: encoding, lines, columns, blanks in fields."""

from __future__ import annotations

import re
import unicodedata

from arcwise.treebanks.rows import DEPREL, DEPS, FEATS, FORM, HEAD, ID, LEMMA, UPOS, XPOS, Row
from arcwise.treebanks.validation.findings import Report
from arcwise.treebanks.validation.raw import RawSentence
from arcwise.treebanks.validation.repairs import normalise_all, set_field

_BLANK = re.compile(r"[^\S\t]")
_BLANKS = re.compile(r"\s+")
_TWO_BLANKS = re.compile(r"\s\s")
_NOT_TEXT = re.compile("[\ufffd\udc80-\udcff]")
_WITHOUT_BLANKS = {ID, UPOS, XPOS, FEATS, HEAD, DEPREL, DEPS}


def check_lines(raw: RawSentence, report: Report) -> bool:
    """Every line of the sentence; False if rows cannot be trusted, because lines or columns are not sound."""
    sound = _check_kinds(raw, report)
    for row in raw.rows:
        if len(row.fields) != 10:
            sound = False
            found = len(row.fields)
            hint = "; are they separated by spaces instead of tabs?" if found == 1 else ""
            report.add(
                "number-of-columns",
                row.line,
                f"found {found} column{'s' * (found != 1)}, expected 10 separated by tabs{hint}",
                row=row.id,
            )
    return sound


def check_blanks(raw: RawSentence, report: Report) -> None:
    """Blanks in the fields of rows, and fields without value."""
    for row in raw.rows:
        if len(row.fields) == 10 and ("" in row.fields or _BLANK.search("\t".join(row.fields))):
            for column, value in enumerate(row.fields):
                _check_field(raw, row, column, value, report)


def check_encoding(raw: RawSentence, report: Report) -> None:
    """UTF-8, and in the normal form NFC."""
    text = raw.text
    if text.isascii():
        return
    bad, composed = _NOT_TEXT.search(text) is not None, unicodedata.is_normalized("NFC", text)
    repair = None if composed else normalise_all(raw)
    for line, content in enumerate(raw.lines, raw.first_line) if bad or not composed else ():
        found = _NOT_TEXT.search(content)
        if found:
            what = (
                "the replacement character U+FFFD"
                if found[0] == "\ufffd"
                else f"byte 0x{ord(found[0]) & 0xFF:02X}"
            )
            report.add("invalid-utf", line, f"found {what}, expected UTF-8 text")
        if not unicodedata.is_normalized("NFC", content):
            wrong = _first_decomposed(content)
            report.add(
                "unicode-normalization",
                line,
                f"found {wrong!r}, expected it in the Unicode normal form NFC",
                repair=repair,
            )


def _first_decomposed(content: str) -> str:
    """The first word of a line that is not in NFC."""
    words = (word for word in content.split() if not unicodedata.is_normalized("NFC", word))
    return next(words, content)


def _check_kinds(raw: RawSentence, report: Report) -> bool:
    sound, rows_begun, words = True, False, False
    for line, content in enumerate(raw.lines, raw.first_line):
        if content.startswith("#"):
            if rows_begun:
                sound = False
                report.add(
                    "misplaced-comment",
                    line,
                    "found a comment inside a sentence, expected it before the first word",
                )
        elif not content or content.isspace():
            if content:
                report.add(
                    "pseudo-empty-line", line, "found blanks in a line that seems empty, expected none"
                )
            if not words:
                sound = False
                report.add(
                    "empty-sentence",
                    line,
                    "found no word before the blank line, expected a sentence before each one",
                )
        else:
            rows_begun = True
            if content[0].isdigit():
                words = True
            else:
                sound = False
                start = content[:20] + "…" * (len(content) > 20)
                report.add(
                    "invalid-line",
                    line,
                    f"found a line {start!r}, expected one that begins with a number or #",
                )
    if raw.lines and raw.lines[-1] and not raw.lines[-1].isspace():
        last = raw.first_line + len(raw.lines) - 1
        report.add("missing-empty-line", last, "found no blank line after the sentence, expected one")
    return sound and words


def _check_field(raw: RawSentence, row: Row, column: int, value: str, report: Report) -> None:
    def add(rule: str, message: str, repaired: str | None) -> None:
        repair = None if repaired is None else set_field(raw, row, column, repaired)
        report.add_field(rule, row, column, message, repair=repair)

    if row.kind == "multiword" and column in (FORM, LEMMA) and _BLANKS.search(value):
        add(
            "invalid-whitespace-mwt",
            f"found a blank in the multiword token {value!r}, expected one word",
            None,
        )
    elif column in _WITHOUT_BLANKS and _BLANKS.search(value):
        repaired = None if column == ID else _BLANKS.sub("", value) or "_"
        add("invalid-whitespace", f"found a blank in {value!r}, expected none", repaired)
    elif not value:
        add(
            "empty-column",
            "found nothing, expected a value or _",
            None if column in (ID, FORM, HEAD) else "_",
        )
    else:
        plain = _BLANKS.sub(" ", value).strip() or "_"
        if value[0].isspace():
            add("leading-whitespace", f"found a blank at the start of {value!r}, expected none", plain)
        if value[-1].isspace():
            add("trailing-whitespace", f"found a blank at the end of {value!r}, expected none", plain)
        if _TWO_BLANKS.search(value):
            add("repeated-whitespace", f"found two blanks side by side in {value!r}, expected one", plain)
