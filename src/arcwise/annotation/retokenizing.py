"""The edits that cut a sentence as a tokenizer cuts its text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from arcwise.annotation.pasted_text import line_rows
from arcwise.errors import InputError
from arcwise.treebanks import Sentence
from arcwise.treebanks.edits import Edit, JoinWords, SplitWord

if TYPE_CHECKING:
    from arcwise.text.tokenizer import Tokenizer


@dataclass(frozen=True)
class TextToken:
    """A token of the text: a word, or a multiword token with its words."""

    form: str
    words: tuple[str, ...]
    first: int = 0
    """The ID of its first word."""

    @property
    def letters(self) -> str:
        """Its characters without spaces."""
        return "".join(self.form.split())

    def same_as(self, other: TextToken) -> bool:
        """Whether it has the same form and words."""
        return (self.form, self.words) == (other.form, other.words)


def retokenizing_edits(sentence: Sentence, tokenizer: Tokenizer) -> list[Edit]:
    """The edits that make the tokens of a sentence those of a tokenizer, from the end to the start.

    Words that stay keep their annotation. ``InputError`` if the tokens do not spell the text.
    """
    rows = [line.rstrip("\n").split("\t") for line in line_rows(" ".join(sentence.text.split()), tokenizer)]
    return token_edits(tokens(sentence.rows), tokens(rows))


def tokens(rows: Sequence[Sequence[str]]) -> list[TextToken]:
    """The tokens of rows; empty nodes are left out.

    >>> rows = [["1-2", "can't"], ["1", "ca"], ["2", "n't"], ["3", "go"]]
    >>> [(token.form, token.words, token.first) for token in tokens(rows)]
    [("can't", ('ca', "n't"), 1), ('go', ('go',), 3)]
    """
    forms = {int(row[0]): row[1] for row in rows if row[0].isdecimal()}
    text_tokens: list[TextToken] = []
    covered = 0
    for row in rows:
        first, dash, last = row[0].partition("-")
        if dash:
            covered = int(last)
            words = tuple(forms[n] for n in range(int(first), covered + 1))
            text_tokens.append(TextToken(row[1], words, int(first)))
        elif first.isdecimal() and int(first) > covered:
            text_tokens.append(TextToken(row[1], (row[1],), int(first)))
    return text_tokens


def token_edits(old: Sequence[TextToken], new: Sequence[TextToken]) -> list[Edit]:
    """The edits that turn the old tokens into the new ones.

    >>> old = [TextToken("can", ("can",), 1), TextToken("not", ("not",), 2)]
    >>> [edit.kind for edit in token_edits(old, [TextToken("cannot", ("can", "not"))])]
    ['join-words', 'split-word']
    """
    edits: list[Edit] = []
    for before, after in reversed(list(_regions(old, new))):
        edits += _region_edits(before, after)
    return edits


def _regions(
    old: Sequence[TextToken], new: Sequence[TextToken]
) -> Iterator[tuple[list[TextToken], list[TextToken]]]:
    """Shortest runs of old and new tokens with the same characters that are cut differently."""
    if "".join(t.letters for t in old) != "".join(t.letters for t in new):
        raise InputError("the tokens do not spell the text of the sentence; edit # text or the forms first")
    a, b = list(old), list(new)
    while a:
        before, after = [a.pop(0)], [b.pop(0)]
        left, right = len(before[0].letters), len(after[0].letters)
        while left != right:
            source, run = (a, before) if left < right else (b, after)
            run.append(source.pop(0))
            grown = len(run[-1].letters)
            left, right = (left + grown, right) if left < right else (left, right + grown)
        if not (len(before) == len(after) == 1 and before[0].same_as(after[0])):
            yield before, after


def _region_edits(before: Sequence[TextToken], after: Sequence[TextToken]) -> Iterator[Edit]:
    first, last = before[0].first, before[-1].first + len(before[-1].words) - 1
    if last > first:
        yield JoinWords(str(first), str(last))
    if len(after) > 1:
        yield SplitWord(str(first), tuple(token.form for token in after))
    for at, token in reversed(list(enumerate(after))):
        if len(token.words) > 1:
            yield SplitWord(str(first + at), token.words, multiword=True)
