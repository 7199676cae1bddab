"""``WordPieces``: words as the pieces of a transformer's tokenizer, and long sentences in windows that overlap."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError
from arcwise.optional import require
from arcwise.treebanks import Coded, Treebank

MOST = 64
"""Pieces of a word that are looked at; what follows them is not."""
NO_PIECE = -1
_PROBES = ("a", "the", "1", ".", "的")


@dataclass(frozen=True)
class WordPieces:
    """A tokenizer (the text of its ``tokenizer.json``) that cuts each word on its own; ``window``: pieces that the transformer takes at
    once, special ones included."""

    tokenizer: str
    window: int

    @cached_property
    def _tokenizer(self) -> Any:
        require("transformers")
        from tokenizers import Tokenizer

        found = Tokenizer.from_str(json.dumps(_with_spaces(json.loads(self.tokenizer))))
        found.no_truncation()
        found.no_padding()
        return found

    @cached_property
    def special(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The pieces that stand before and after those of the words, such as [CLS] and [SEP]."""
        if not self._tokenizer.num_special_tokens_to_add(is_pair=False):
            return (), ()
        for word in _PROBES:
            whole = self._tokenizer.encode([word], is_pretokenized=True)
            places = [place for place, special in enumerate(whole.special_tokens_mask) if not special]
            if places:
                return tuple(whole.ids[: places[0]]), tuple(whole.ids[places[-1] + 1 :])
        raise InputError("the tokenizer makes nothing of a letter, a digit or a full stop, expected pieces")

    @property
    def room(self) -> int:
        """Pieces of words in a window."""
        return self.window - sum(map(len, self.special))

    @property
    def highest(self) -> int:
        """The largest number of a piece."""
        return max(map(int, self._tokenizer.get_vocab(with_added_tokens=True).values()))

    def of(self, word: str) -> list[int]:
        """The numbers of the pieces of a word; there may be none."""
        found: list[int] = self._tokenizer.encode([word], is_pretokenized=True, add_special_tokens=False).ids
        return found[: min(MOST, self.room)]

    def rows(self, treebank: Treebank) -> npt.NDArray[np.int32]:
        """Shape (words, most pieces of a word): the pieces of each word, -1 after the last."""
        forms = Coded.of(treebank.column("form"))
        found = [self.of(form) for form in forms.strings]
        width = max((len(pieces) for pieces in found), default=0) or 1
        table = np.full((len(found), width), NO_PIECE, np.int32)
        for row, pieces in zip(table, found, strict=True):
            row[: len(pieces)] = pieces
        return table[forms.codes]


class Window(NamedTuple):
    """Words ``first`` to ``last`` of a sentence, the latter not included; those of ``own_first`` to ``own_last`` get their vectors here."""

    first: int
    last: int
    own_first: int
    own_last: int


def windows(counts: Sequence[int], room: int) -> list[Window]:
    """Words with so many pieces each in windows of at most ``room`` pieces; no word has more.

    Neighbours overlap by about a quarter, the last one by as much as there is room for; a word belongs to the window in which it is
    further from the end.

    >>> windows([1, 1, 1, 1], 8)
    [Window(first=0, last=4, own_first=0, own_last=4)]
    >>> windows([1] * 10, 8)
    [Window(first=0, last=8, own_first=0, own_last=5), Window(first=2, last=10, own_first=5, own_last=10)]
    """
    ends = [0, *accumulate(counts)]
    if ends[-1] <= room:
        return [Window(0, len(counts), 0, len(counts))]
    found: list[tuple[int, int]] = []
    first = 0
    while True:
        last = first
        while last < len(counts) and ends[last + 1] - ends[first] <= room:
            last += 1
        if last == len(counts):
            break
        found.append((first, last))
        most = min(room // 4, room - counts[last])
        while first < last and ends[last] - ends[first] > most:
            first += 1
    while ends[-1] - ends[first - 1] <= room:
        first -= 1
    found.append((first, len(counts)))
    middles = [0, *((after + before) // 2 for (_, before), (after, _) in pairwise(found)), len(counts)]
    return [Window(*both, *own) for both, own in zip(found, pairwise(middles), strict=True)]


def _with_spaces(tokenizer: dict[str, Any]) -> dict[str, Any]:
    """Where spaces are part of the pieces (byte-level BPE), one before each word: that is how words inside a text were seen in training."""

    def spaced(part: Any) -> Any:
        if not isinstance(part, dict):
            return part
        own = {"add_prefix_space": True} if part.get("type") == "ByteLevel" else {}
        inner = part.get("pretokenizers")
        return part | own | ({} if inner is None else {"pretokenizers": [spaced(one) for one in inner]})

    return tokenizer | {"pre_tokenizer": spaced(tokenizer.get("pre_tokenizer"))}
