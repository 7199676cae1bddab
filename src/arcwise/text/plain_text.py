"""Reconstruct the raw text of a treebank, with the offsets of its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from arcwise.treebanks import Sentence, Treebank
from arcwise.treebanks.rows import FORM, ID, MISC, TokenRow, gaps_in_text, is_glued

_UNSPACED = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x3400, 0x9FFF))
"""Code-point ranges of scripts written without spaces between words."""


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
    space. If a treebank has no information on spaces and its script has none between words (Japanese, Thai),
    none are added.

    >>> blank = "\\t_" * 7
    >>> rows = f"1\\tHi{blank}\\tSpaceAfter=No\\n2\\t!{blank}\\t_\\n\\n"
    >>> plain_text(Treebank.from_string(rows + "# newpar\\n" + rows)).text
    'Hi!\\n\\nHi!\\n'
    """
    spaced = not _is_unspaced(treebank)
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
        spaces = _spaces(sentence, rows, spaced=spaced)
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


def _spaces(sentence: Sentence, tokens: Sequence[TokenRow], *, spaced: bool) -> list[str]:
    """The white space after each token."""
    text = sentence.comments.get("text")
    marked = [
        "" if is_glued(token.fields[MISC]) or (not spaced and not token.fields[FORM].isascii()) else " "
        for token in tokens
    ]
    # A text that goes on after the last token is still right about the spaces before it.
    gaps = None if text is None else gaps_in_text(text, [token.fields[FORM] for token in tokens], whole=False)
    return marked if gaps is None else [*gaps[:-1], *marked[-1:]]


def _starts_paragraph(sentence: Sentence) -> bool:
    return any(line.startswith(("newdoc", "newpar")) for line in sentence.comment_lines)


def _is_unspaced(treebank: Treebank) -> bool:
    if b"SpaceAfter=No" in treebank.data or b"# text = " in treebank.data:
        return False
    sample = "".join(form for sentence in treebank[:200] for form in sentence.forms)
    unspaced = sum(any(low <= ord(c) <= high for low, high in _UNSPACED) for c in sample)
    return 2 * unspaced > len(sample)
