"""Compare the text of a sentence with its tokens, and repair findings without causing others."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from arcwise.treebanks.columns import COLUMNS
from arcwise.treebanks.edits import Edit, ReplaceComment, SetComment, SetField
from arcwise.treebanks.rows import FORM, HEAD, ID, MISC, Row, joined_text
from arcwise.treebanks.validation.findings import Repair
from arcwise.treebanks.validation.raw import RawSentence

_SHOWN = 100  # characters of the text that a difference keeps
_TEXT = re.compile(r"#\s*text\s*=\s*(.*)")


@dataclass(frozen=True)
class SpacingDifference:
    """A mismatch of text and tokens: the rule, the token (None after the last), how the text continues."""

    rule: str
    token: Row | None
    rest: str


def differences(text: str, tokens: Sequence[Row]) -> Iterator[SpacingDifference]:
    """Yield the differences between text and tokens, up to the first token that is not in the text."""
    at = 0
    for token in tokens:
        form = token.fields[FORM]
        if not text.startswith(form, at):
            yield SpacingDifference("text-form-mismatch", token, text[at : at + _SHOWN])
            return
        at += len(form)
        if not token.glued:
            if at < len(text) and not text[at].isspace():
                yield SpacingDifference("missing-spaceafter", token, text[at : at + _SHOWN])
            at = after_spaces(text, at)
    if at < len(text):
        yield SpacingDifference("text-extra-chars", None, text[at : at + _SHOWN])


def after_spaces(text: str, at: int) -> int:
    """The position of the next character that is not white space."""
    while at < len(text) and text[at].isspace():
        at += 1
    return at


def texts_of(raw: RawSentence) -> list[tuple[int, str]]:
    """All text comments as (line, text); there should be one."""
    return [(line, match[1]) for line, comment in raw.comments if (match := _TEXT.fullmatch(comment))]


def text_of(raw: RawSentence) -> str | None:
    """The text comment; None if there is none or more than one."""
    texts = texts_of(raw)
    return texts[0][1] if len(texts) == 1 else None


def adds_differences(raw: RawSentence, text: str, tokens: Sequence[Row]) -> bool:
    """Whether a changed text or changed tokens have differences that the sentence does not have now."""
    current = text_of(raw)
    before = (
        set()
        if current is None
        else {(d.rule, d.token and d.token.id) for d in differences(current, raw.tokens)}
    )
    return any((d.rule, d.token and d.token.id) not in before for d in differences(text, tokens))


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
