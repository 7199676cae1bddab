"""Repairs: the edits after which a finding is gone and none is new."""

from __future__ import annotations

import unicodedata

from arcwise.treebanks.columns import COLUMNS
from arcwise.treebanks.edits import Edit, ReplaceComment, SetComment, SetField
from arcwise.treebanks.rows import FORM, HEAD, ID, MISC, Row, joined_text
from arcwise.treebanks.validation.findings import Repair
from arcwise.treebanks.validation.raw import RawSentence
from arcwise.treebanks.validation.spacing import differences, says_more, text_of


def set_field(raw: RawSentence, row: Row, column: int, value: str, told: str | None = None) -> Repair | None:
    """Another value in a field. With a FORM the text follows where it must; MISC stays as it is if the text would contradict.

    None where there is no such repair, or rows cannot be named.
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
        if says_more(raw, text, tokens):
            if column == MISC:
                return None
            new_text = joined_text(token.fields for token in tokens)
            edits.append(SetComment("text", new_text))
            if any(differences(new_text, tokens)):
                return None
    return Repair(told or f"write {value} in {name.upper()}", tuple(edits))


def set_text(raw: RawSentence) -> Repair | None:
    """The text comment as the words tell it, if they do: a form with a blank at an end cannot be found in a text."""
    if not raw.editable:
        return None
    text = joined_text(token.fields for token in raw.tokens)
    if any(differences(text, raw.tokens)):
        return None
    return Repair("write the text from the words", (SetComment("text", text),))


def normalise_all(raw: RawSentence) -> Repair | None:
    """All comments and fields in NFC, at once, so that text and words go on agreeing."""
    if not raw.editable:
        return None
    edits: list[Edit] = [
        SetField(row.id, COLUMNS[column], _nfc(value))
        for row in raw.rows
        for column, value in enumerate(row.fields)
        if column not in (ID, HEAD) and _nfc(value) != value
    ]
    for _, comment in raw.comments:
        old = comment[1:].strip()
        if _nfc(old) != old:
            edits.append(ReplaceComment(old, _nfc(old)))
    text = text_of(raw)
    tokens = [Row(row.kind, [_nfc(value) for value in row.fields], row.line) for row in raw.tokens]
    if text is not None and says_more(raw, _nfc(text), tokens):
        return None
    return Repair("write the sentence in NFC", tuple(edits))


def _nfc(value: str) -> str:
    return unicodedata.normalize("NFC", value)
