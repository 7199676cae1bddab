"""Raw text from a treebank: what its sentences looked like before anybody cut them into words."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from arcwise.treebanks import Sentence, Treebank

_ROW_WORD, _ROW_MULTIWORD, _ROW_EMPTY_NODE = 0, 1, 2
_UNSPACED = ((0x0E00, 0x0EFF), (0x1000, 0x109F), (0x1780, 0x17FF), (0x3040, 0x30FF), (0x3400, 0x9FFF))
"""Scripts that are written without spaces between words."""


@dataclass(frozen=True)
class RawToken:
    """A token of the text: code points ``first .. last-1``; ``words`` are those of a multiword token, else empty."""

    first: int
    last: int
    form: str
    words: tuple[str, ...] = ()
    ends_sentence: bool = False


@dataclass
class PlainText:
    """A text, and the tokens that the treebank found in it, in order."""

    text: str = ""
    tokens: list[RawToken] = field(default_factory=list)


def plain_text(treebank: Treebank) -> PlainText:
    """The raw text of a treebank, rebuilt from ``# text``, or else from ``SpaceAfter``.

    A document or paragraph (``# newdoc``, ``# newpar``) starts after a blank line; other sentences follow after a space. A
    treebank that says nothing about spaces, in a script that has none between words (Japanese, Thai), gets none.

    >>> rows = "1\\tHi\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\tSpaceAfter=No\\n2\\t!\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\n\\n"
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
        found = list(_tokens(sentence))
        spaces = _spaces(sentence, found, spaced=spaced)
        for number, ((form, words, _), space) in enumerate(zip(found, spaces, strict=True)):
            last = number + 1 == len(found)
            tokens.append(RawToken(length, length + len(form), form, words, last))
            add(form)
            if last:
                gap = space
            else:
                add(space)
    add("\n")
    return PlainText("".join(pieces), tokens)


def _tokens(sentence: Sentence) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Form, words (of a multiword token) and MISC of each token."""
    rows = sentence.rows
    first = int(sentence.treebank.layout.sentence_rows[sentence.number])
    kinds = sentence.treebank.layout.row_kinds[first : first + len(rows)]
    words = [fields for fields, kind in zip(rows, kinds, strict=True) if kind == _ROW_WORD]
    inside = 0
    for fields, kind in zip(rows, kinds, strict=True):
        if kind == _ROW_MULTIWORD:
            start, _, end = fields[0].partition("-")
            inside = int(end)
            yield fields[1], tuple(w[1] for w in words[int(start) - 1 : inside]), fields[9]
        elif kind == _ROW_WORD and int(fields[0]) > inside:
            yield fields[1], (), fields[9]


def _spaces(sentence: Sentence, tokens: list[tuple[str, tuple[str, ...], str]], *, spaced: bool) -> list[str]:
    """What follows each token."""
    text = sentence.comments.get("text")
    marked = [
        "" if "SpaceAfter=No" in misc.split("|") or (not spaced and not form.isascii()) else " "
        for form, _, misc in tokens
    ]
    if text is None:
        return marked
    spaces: list[str] = []
    at = 0
    for number, (form, _, _) in enumerate(tokens):
        if not text.startswith(form, at):
            return marked
        at += len(form)
        end = at
        while end < len(text) and text[end].isspace():
            end += 1
        spaces.append(text[at:end] if number + 1 < len(tokens) else marked[-1])
        at = end
    return spaces


def _starts_paragraph(sentence: Sentence) -> bool:
    return any(line.startswith(("newdoc", "newpar")) for line in sentence.comment_lines)


def _is_unspaced(treebank: Treebank) -> bool:
    if b"SpaceAfter=No" in treebank.data or b"# text = " in treebank.data:
        return False
    sample = "".join(form for sentence in treebank[:200] for form in sentence.forms)
    unspaced = sum(any(low <= ord(c) <= high for low, high in _UNSPACED) for c in sample)
    return 2 * unspaced > len(sample)
