"""``WordPieces``: words split by a transformer's tokenizer, and overlapping windows for long sentences."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError
from arcwise.optional import require
from arcwise.treebanks import Coded, Treebank

Ints = npt.NDArray[np.int64]
MAX_PIECES = 64
"""Pieces of a word that are used; the rest are cut off."""
NO_PIECE = -1
_PROBES = ("a", "the", "1", ".", "的")
"""Words to try when looking for the special pieces; a vocabulary may lack some of them."""


@dataclass(frozen=True)
class WordPieces:
    """A tokenizer, given as the text of its ``tokenizer.json``, applied to each word separately.

    ``window``: maximum input length of the transformer in pieces, special ones included.
    """

    rows_on_cpu: ClassVar[bool] = True
    tokenizer: str
    window: int

    @cached_property
    def _tokenizer(self) -> Any:
        require("transformers")
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_str(json.dumps(_with_spaces(json.loads(self.tokenizer))))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        return tokenizer

    @cached_property
    def special(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The special pieces before and after those of the words, such as [CLS] and [SEP]."""
        if not self._tokenizer.num_special_tokens_to_add(is_pair=False):
            return (), ()
        for word in _PROBES:
            encoding = self._tokenizer.encode([word], is_pretokenized=True)
            places = [place for place, special in enumerate(encoding.special_tokens_mask) if not special]
            if places:
                return tuple(encoding.ids[: places[0]]), tuple(encoding.ids[places[-1] + 1 :])
        raise InputError("the tokenizer produces no pieces for a letter, a digit or a full stop")

    @property
    def room(self) -> int:
        """Pieces of a window that are left for words."""
        return self.window - sum(map(len, self.special))

    @property
    def highest(self) -> int:
        """The highest piece number."""
        return max(map(int, self._tokenizer.get_vocab(with_added_tokens=True).values()))

    def of(self, word: str) -> list[int]:
        """Return the piece numbers of a word, possibly none."""
        pieces: list[int] = self._tokenizer.encode([word], is_pretokenized=True, add_special_tokens=False).ids
        return pieces[: min(MAX_PIECES, self.room)]

    def rows(self, treebank: Treebank) -> npt.NDArray[np.int32]:
        """Return the pieces of each word, (words, most pieces of a word), padded with -1."""
        forms = Coded.of(treebank.column("form"))
        by_form = [self.of(form) for form in forms.strings]
        width = max((len(pieces) for pieces in by_form), default=0) or 1
        table = np.full((len(by_form), width), NO_PIECE, np.int32)
        for row, pieces in zip(table, by_form, strict=True):
            row[: len(pieces)] = pieces
        return table[forms.codes]


class Window(NamedTuple):
    """Words ``first:last`` of a sentence; ``own_first:own_last`` take their vectors from this window."""

    first: int
    last: int
    own_first: int
    own_last: int


def windows(counts: Sequence[int], room: int) -> list[Window]:
    """Cover a sentence by windows of at most ``room`` pieces.

    ``counts``: the number of pieces of each word, at most ``room``.
    Neighbours overlap by about a quarter, the last two by as much as fits; each word takes its vector from
    the window in which it is further from the edge.

    >>> windows([1, 1, 1, 1], 8)
    [Window(first=0, last=4, own_first=0, own_last=4)]
    >>> windows([1] * 10, 8)
    [Window(first=0, last=8, own_first=0, own_last=5), Window(first=2, last=10, own_first=5, own_last=10)]
    """
    ends = [0, *accumulate(counts)]
    if ends[-1] <= room:
        return [Window(0, len(counts), 0, len(counts))]
    spans: list[tuple[int, int]] = []
    first = 0
    while True:
        last = first
        while last < len(counts) and ends[last + 1] - ends[first] <= room:
            last += 1
        if last == len(counts):
            break
        spans.append((first, last))
        # The overlap leaves room for the next word, so that every window gets further than the one before.
        overlap = min(room // 4, room - counts[last])
        while first < last and ends[last] - ends[first] > overlap:
            first += 1
    while ends[-1] - ends[first - 1] <= room:
        first -= 1
    spans.append((first, len(counts)))
    middles = [0, *((after + before) // 2 for (_, before), (after, _) in pairwise(spans)), len(counts)]
    return [Window(*span, *owned) for span, owned in zip(spans, pairwise(middles), strict=True)]


@dataclass(frozen=True)
class PieceLayout:
    """The pieces of a batch as the input of a transformer, and where the pieces of each row are in it."""

    width: int
    """Pieces of the longest window, rounded up."""
    arrays: tuple[Ints, Ints, Ints, Ints, Ints, Ints]
    """``pieces`` (windows, width), flat; ``lengths``, the pieces of each window; ``counts``, those of each
    row; ``starts``, where those of a row start in ``order``; ``order``, flat places in ``pieces``, by row;
    ``row_of_place``, the row of each place, or the number of rows if no row takes its vector from there.
    """

    @classmethod
    def of(
        cls, rows: npt.NDArray[Any], sentence: Ints, tokenizer: WordPieces, padding: int, step: int = 1
    ) -> PieceLayout:
        """Lay out the pieces ``rows`` (N, ·), padded with -1, of rows that belong to ``sentence``.

        ``step``: the width is a multiple of it, unless the transformer takes less.
        """
        before, after = (np.array(special, np.int64) for special in tokenizer.special)
        counts = (rows >= 0).sum(1)
        by_sentence = np.argsort(
            sentence, kind="stable"
        )  # stable: keeps the positions of a sentence in order
        sorted_rows, sorted_counts = rows[by_sentence], counts[by_sentence]
        flat = sorted_rows[sorted_rows >= 0]
        ends = np.concatenate([[0], np.cumsum(sorted_counts)])
        # Of each window: its words and those that take their vectors from it, in the order by sentence.
        spans = _window_spans(sentence[by_sentence], sorted_counts, ends, tokenizer.room)
        first_piece, sizes = ends[spans[:, 0]], ends[spans[:, 1]] - ends[spans[:, 0]]
        lengths = sizes + len(before) + len(after)
        longest = max(int(lengths.max(initial=0)), 1)
        width = min(-(-longest // step) * step, tokenizer.window)
        pieces = np.full((len(spans), width), padding, np.int64)
        pieces[:, : len(before)] = before
        window, place = _ranges(sizes)
        pieces[window, len(before) + place] = flat[first_piece[window] + place]
        window_of_end, place_of_end = np.divmod(np.arange(len(spans) * len(after)), max(len(after), 1))
        pieces[window_of_end, len(before) + sizes[window_of_end] + place_of_end] = after[place_of_end]
        window_of_word = np.repeat(np.arange(len(spans)), spans[:, 3] - spans[:, 2])
        first_place = np.empty(len(rows), np.int64)
        first_place[by_sentence] = (
            window_of_word * width + len(before) + ends[:-1] - first_piece[window_of_word]
        )
        row, number = _ranges(counts)
        order = first_place[row] + number
        row_of_place = np.full(pieces.size, len(rows), np.int64)
        row_of_place[order] = row
        # A window without any piece would attend to nothing, which is not a number.
        lengths = np.maximum(lengths, 1)
        return cls(width, (pieces.ravel(), lengths, counts, np.cumsum(counts) - counts, order, row_of_place))


def _ranges(sizes: Ints) -> tuple[Ints, Ints]:
    """Number the members of groups of these sizes: the group of each, and its place in the group."""
    group = np.repeat(np.arange(len(sizes)), sizes)
    return group, np.arange(len(group)) - np.repeat(np.cumsum(sizes) - sizes, sizes)


def _window_spans(sentence: Ints, counts: Ints, ends: Ints, room: int) -> Ints:
    """The windows of sorted sentences, (windows, 4), as ``Window`` but counted over all words."""
    borders = np.flatnonzero(np.diff(sentence)) + 1
    first, last = np.concatenate([[0], borders]), np.concatenate([borders, [len(sentence)]])
    spans = np.stack([first, last, first, last], 1)
    is_long = ends[last] - ends[first] > room
    if not is_long.any():
        return spans
    parts = [
        start + np.array(windows(counts[start:end].tolist(), room)) if long else span[None]
        for start, end, long, span in zip(first, last, is_long, spans, strict=True)
    ]
    return np.concatenate(parts)


def _with_spaces(tokenizer: dict[str, Any]) -> dict[str, Any]:
    """Let byte-level BPE put a space before each word, as in the running text of pretraining."""

    def spaced(part: Any) -> Any:
        if not isinstance(part, dict):
            return part
        prefix = {"add_prefix_space": True} if part.get("type") == "ByteLevel" else {}
        inner = part.get("pretokenizers")
        return part | prefix | ({} if inner is None else {"pretokenizers": [spaced(step) for step in inner]})

    return tokenizer | {"pre_tokenizer": spaced(tokenizer.get("pre_tokenizer"))}
