"""The text of a sentence and the tokens it is made of."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from arcwise.treebanks.rows import FORM, Row
from arcwise.treebanks.validation.raw import RawSentence

_TEXT = re.compile(r"#\s*text\s*=\s*(.*)")


@dataclass(frozen=True)
class SpacingDifference:
    """Where the text and the tokens part: the rule, the token (None after the last), and what the text has there."""

    rule: str
    token: Row | None
    rest: str


def differences(text: str, tokens: Sequence[Row]) -> Iterator[SpacingDifference]:
    """Where the text is not what the tokens say, up to the first token that is not in it."""
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
    """All text comments, which should be one: line and text."""
    return [(line, match[1]) for line, comment in raw.comments if (match := _TEXT.fullmatch(comment))]


def text_of(raw: RawSentence) -> str | None:
    """The text comment; None if there is none, or more than one."""
    found = texts_of(raw)
    return found[0][1] if len(found) == 1 else None


def says_more(raw: RawSentence, text: str, tokens: Sequence[Row]) -> bool:
    """Whether another text, or other tokens, differ where the sentence's own do not."""
    own = text_of(raw)
    before = (
        set() if own is None else {(d.rule, d.token and d.token.id) for d in differences(own, raw.tokens)}
    )
    return any((d.rule, d.token and d.token.id) not in before for d in differences(text, tokens))
