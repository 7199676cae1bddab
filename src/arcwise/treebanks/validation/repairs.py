"""Repairs: edits that fix a finding without causing another."""

from __future__ import annotations

import unicodedata

from arcwise.treebanks.columns import COLUMNS
from arcwise.treebanks.edits import Edit, ReplaceComment, SetComment, SetField
from arcwise.treebanks.rows import FORM, HEAD, ID, MISC, Row, joined_text
from arcwise.treebanks.validation.findings import Repair
from arcwise.treebanks.validation.raw import RawSentence
from arcwise.treebanks.validation.spacing import adds_differences, differences, text_of


def set_field(
    raw: RawSentence, row: Row, column: int, value: str, description: str | None = None
) -> Repair | None:
    """Repair by setting a field; None if the rows cannot be edited or text and words would then disagree.

    If a new FORM no longer matches the text comment, the text is rewritten with it.
    """
    if not raw.editable:
        return None
    name = COLUMNS[column]
    edits: list[Edit] = [SetField(row.id, name, value)]
    text = text_of(raw)
    if column in (FORM, MISC) and text is not None:
        fields = [*row.fields]
        fields[column] = value
        tokens = [Row(row.kind, fields, row.line) if token is row else token for token in raw.tokens]
        if adds_differences(raw, text, tokens):
            if column == MISC:
                return None
            new_text = joined_text(token.fields for token in tokens)
            edits.append(SetComment("text", new_text))
            if any(differences(new_text, tokens)):
                return None
    return Repair(description or f"write {value} in {name.upper()}", tuple(edits))


def set_text(raw: RawSentence) -> Repair | None:
    """Repair by writing the text comment from the words, if that makes them agree.

    It does not if a form starts or ends with whitespace.
    """
    if not raw.editable:
        return None
    text = joined_text(token.fields for token in raw.tokens)
    if any(differences(text, raw.tokens)):
        return None
    return Repair("write the text from the words", (SetComment("text", text),))


def normalise_all(raw: RawSentence) -> Repair | None:
    """Repair by normalizing all comments and fields to NFC at once, so that text and words still agree."""
    if not raw.editable:
        return None
    edits: list[Edit] = [
        SetField(row.id, COLUMNS[column], _nfc(value))
        for row in raw.rows
        for column, value in enumerate(row.fields)
        if column not in (ID, HEAD) and _nfc(value) != value
    ]
    for _, comment in raw.comments:
        content = comment[1:].strip()
        if _nfc(content) != content:
            edits.append(ReplaceComment(content, _nfc(content)))
    text = text_of(raw)
    tokens = [Row(row.kind, [_nfc(value) for value in row.fields], row.line) for row in raw.tokens]
    if text is not None and adds_differences(raw, _nfc(text), tokens):
        return None
    return Repair("normalize the sentence to NFC", tuple(edits))


def _nfc(value: str) -> str:
    return unicodedata.normalize("NFC", value)
