"""Compare the text comment of a sentence with its tokens."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from arcwise.treebanks.rows import FORM, Row
from arcwise.treebanks.validation.raw import RawSentence

_TEXT = re.compile(r"#\s*text\s*=\s*(.*)")


@dataclass(frozen=True)
class SpacingDifference:
    """A mismatch of text and tokens: the rule, the token (None after the last), the rest of the text."""

    rule: str
    token: Row | None
    rest: str


def differences(text: str, tokens: Sequence[Row]) -> Iterator[SpacingDifference]:
    """Yield the differences between text and tokens, up to the first token that is not in the text."""
    rest = text
    for token in tokens:
        form = token.fields[FORM]
        if not rest.startswith(form):
            yield SpacingDifference("text-form-mismatch", token, rest)
            return
        rest = rest[len(form) :]
        if not token.glued:
            if rest and not rest[0].isspace():
                yield SpacingDifference("missing-spaceafter", token, rest)
            rest = rest.lstrip()
    if rest:
        yield SpacingDifference("text-extra-chars", None, rest)


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
