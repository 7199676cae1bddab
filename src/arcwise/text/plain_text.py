"""Reconstruct the raw text of a treebank, with the offsets of its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from arcwise.treebanks import Sentence, Treebank
from arcwise.treebanks.rows import FORM, ID, MISC, TokenRow, gaps_in_text, is_glued

_UNSPACED = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x3400, 0x9FFF))
"""Code-point ranges of scripts written without spaces between words."""
_CLOSING = frozenset(".,;:!?…)]}")
_OPENING = frozenset("([{")
_QUOTES = dict.fromkeys('"“”„‟', '"') | dict.fromkeys("'‘’", "'") | dict.fromkeys("«»", "«")
"""Quotation marks by kind. Which one opens differs between languages: of a kind, every other one does."""

Spacing = Literal["marked", "printed", "none"]
"""Where a text has spaces: as the treebank says, around punctuation as in print, or nowhere."""


@dataclass(frozen=True)
class RawToken:
    """A token of the text: code points ``first .. last-1``; ``words`` only for a multiword token."""

    first: int
    last: int
    form: str
    words: tuple[str, ...] = ()
    ends_sentence: bool = False


@dataclass
class PlainText:
    """A text and its tokens in order."""

    text: str = ""
    tokens: list[RawToken] = field(default_factory=list)


def plain_text(treebank: Treebank) -> PlainText:
    """Reconstruct raw text from ``# text``, or else from ``SpaceAfter``.

    Documents and paragraphs (``# newdoc``, ``# newpar``) start after a blank line, other sentences after a
    space. If a treebank has no information on spaces, punctuation gets them as in print, and scripts without
    spaces between words (Japanese, Thai) get none.

    >>> blank = "\\t_" * 7
    >>> rows = f"1\\tHi{blank}\\tSpaceAfter=No\\n2\\t!{blank}\\t_\\n\\n"
    >>> plain_text(Treebank.from_string(rows + "# newpar\\n" + rows)).text
    'Hi!\\n\\nHi!\\n'
    >>> words = enumerate('She said : " no ( never ) " .'.split(), 1)
    >>> plain_text(Treebank.from_string("".join(f"{i}\\t{w}{blank}\\t_\\n" for i, w in words) + "\\n")).text
    'She said: "no (never)".\\n'
    """
    spacing = spacing_of(treebank)
    pieces: list[str] = []
    tokens: list[RawToken] = []
    length = 0

    def add(piece: str) -> None:
        nonlocal length
        pieces.append(piece)
        length += len(piece)

    gap = ""
    for sentence in treebank:
        if pieces:
            add("\n\n" if _starts_paragraph(sentence) else gap)
        rows = sentence.token_rows
        spaces = _spaces(sentence, rows, spacing)
        for number, (row, space) in enumerate(zip(rows, spaces, strict=True)):
            last = number + 1 == len(rows)
            form, is_multiword = row.fields[FORM], "-" in row.fields[ID]
            words = tuple(sentence.forms[row.first - 1 : row.last]) if is_multiword else ()
            tokens.append(RawToken(length, length + len(form), form, words, last))
            add(form)
            if last:
                gap = space
            else:
                add(space)
    add("\n")
    return PlainText("".join(pieces), tokens)


def _spaces(sentence: Sentence, tokens: Sequence[TokenRow], spacing: Spacing) -> list[str]:
    """The white space after each token."""
    forms = [token.fields[FORM] for token in tokens]
    if spacing == "none":
        return [" " if form.isascii() else "" for form in forms]
    if spacing == "printed":
        return _printed_spaces(forms)
    marked = ["" if is_glued(token.fields[MISC]) else " " for token in tokens]
    text = sentence.comments.get("text")
    # A text that goes on after the last token is still right about the spaces before it.
    gaps = None if text is None else gaps_in_text(text, forms, whole=False)
    return marked if gaps is None else [*gaps[:-1], *marked[-1:]]


def _printed_spaces(forms: Sequence[str]) -> list[str]:
    """The white space after each form as in print: none before closing and after opening punctuation."""
    spaces, quoted = [" "] * len(forms), set[str]()
    for place, form in enumerate(forms):
        kind = _QUOTES.get(form)
        if place and (_CLOSING.issuperset(form) or kind in quoted):
            spaces[place - 1] = ""
        if form in _OPENING or (kind and kind not in quoted):
            spaces[place] = ""
        if kind:
            quoted ^= {kind}
    return [*spaces[:-1], " "]


def _starts_paragraph(sentence: Sentence) -> bool:
    return any(line.startswith(("newdoc", "newpar")) for line in sentence.comment_lines)


def spacing_of(treebank: Treebank) -> Spacing:
    """Return how the raw text of a treebank is reconstructed."""
    if b"SpaceAfter=No" in treebank.data or b"# text = " in treebank.data:
        return "marked"
    sample = "".join(form for sentence in treebank[:200] for form in sentence.forms)
    unspaced = sum(any(low <= ord(c) <= high for low, high in _UNSPACED) for c in sample)
    return "none" if 2 * unspaced > len(sample) else "printed"
