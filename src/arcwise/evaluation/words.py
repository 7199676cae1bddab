"""The words of a treebank as arrays, to compare two treebanks.

Strings are encoded with one ``Codebook``, so equal strings have equal codes in both treebanks. Every word
has the span of its token in the text without whitespace, by which words of different tokenisations are
aligned.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.treebanks import COLUMNS, Treebank
from arcwise.treebanks.rows import NATIVE_KINDS

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

ROOT = -1
"""The index of the head of a root."""
MISSING = -2
"""The index of a missing head: ``_``, out of range, the word itself, or not a number."""

SPACES = re.compile("[ \u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")
"""Characters of Unicode category Zs, which can occur in a FORM but are not part of the compared text."""

UNIVERSAL_FEATURES = frozenset([
    "PronType", "NumType", "Poss", "Reflex", "Foreign", "Abbr", "Gender", "Animacy", "Number", "Case",
    "Definite", "Degree", "VerbForm", "Mood", "Tense", "Aspect", "Voice", "Evident", "Polarity", "Person",
    "Polite",
])  # fmt: skip
"""The features that UFeats, AllTags and MLAS compare (as in the CoNLL 2018 shared task)."""

_ROW_MULTIWORD = NATIVE_KINDS.index("multiword")


class Codebook:
    """Assigns codes to strings, in order of first appearance.

    >>> book = Codebook()
    >>> book("NOUN"), book("VERB"), book("NOUN"), book.strings[1]
    (0, 1, 0, 'VERB')
    """

    def __init__(self) -> None:
        self.strings: list[str] = []
        self._codes: dict[str, int] = {}

    def __call__(self, string: str) -> int:
        code = self._codes.setdefault(string, len(self._codes))
        if code == len(self.strings):
            self.strings.append(string)
        return code


class WordColumns:
    """The W words of a treebank, flat over all sentences: character spans, heads, coded columns."""

    def __init__(self, treebank: Treebank, codebook: Codebook) -> None:
        self.treebank = treebank
        self.codebook = codebook

    def __len__(self) -> int:
        return self.treebank.word_count

    def column(self, name: str, value: Callable[[str], Any], rows: npt.NDArray[Any] | None = None) -> Ints:
        """Apply ``value`` to every field of a column, calling it once per distinct field."""
        layout = self.treebank.layout
        where = layout.word_rows if rows is None else np.ascontiguousarray(rows, np.uint32)
        codes, strings = layout.column_codes(self.treebank.data, where, COLUMNS.index(name))
        # Columns repeat few distinct strings: convert those, then index.
        return np.array([value(string) for string in strings], np.int64)[codes]

    def coded(self, name: str, spelling: Callable[[str], str] = str) -> Ints:
        """A column as codes, after normalizing each field with ``spelling``."""
        return self.column(name, lambda field: self.codebook(spelling(field)))

    @cached_property
    def upos(self) -> Ints:
        return self.coded("upos")

    @cached_property
    def xpos(self) -> Ints:
        return self.coded("xpos")

    @cached_property
    def lemma(self) -> Ints:
        return self.coded("lemma")

    @cached_property
    def universal_feats(self) -> Ints:
        return self.coded("feats", universal_feats)

    @cached_property
    def label(self) -> Ints:
        """DEPREL with subtypes."""
        return self.coded("deprel")

    @cached_property
    def universal_label(self) -> Ints:
        """DEPREL without its subtype."""
        return self.coded("deprel", without_subtype)

    @cached_property
    def matching_form(self) -> Ints:
        """The lower-cased form, by which words of multiword tokens are aligned."""
        inside = self.coded("form", str.lower)
        return np.where(self.in_multiword, inside, self.coded("form", lambda f: without_spaces(f).lower()))

    @cached_property
    def sentence(self) -> Ints:
        """The index of the sentence of every word."""
        return np.repeat(np.arange(len(self.treebank)), self.treebank.sentence_lengths)

    @cached_property
    def heads(self) -> Ints:
        """The index of the head of every word in the treebank, or ``ROOT`` or ``MISSING``."""
        heads = self.treebank.heads.astype(np.int64)
        first = self.treebank.sentence_words[:-1].astype(np.int64)[self.sentence]
        return np.where(heads > 0, first + heads - 1, np.where(heads == 0, ROOT, MISSING))

    @cached_property
    def in_multiword(self) -> Flags:
        """Whether a word is part of a multiword token."""
        in_multiword: Flags = self._token_rows != self.treebank.layout.word_rows
        return in_multiword

    @cached_property
    def _token_rows(self) -> Ints:
        """The row of the token of every word: that of its multiword token, if it is part of one."""
        layout = self.treebank.layout
        token_rows = layout.word_rows.astype(np.int64)
        ranges = np.flatnonzero(layout.row_kinds == _ROW_MULTIWORD)
        first = np.searchsorted(layout.word_rows, ranges)
        sentence = np.searchsorted(layout.sentence_rows, ranges, side="right") - 1
        last = np.minimum(
            first + self.column("id", _range_length, ranges), layout.sentence_words[sentence + 1]
        )
        last[:-1] = np.minimum(last[:-1], first[1:])  # a range within a range ends the outer one
        lengths = np.maximum(last - first, 0)
        covered = np.repeat(first - np.cumsum(lengths) + lengths, lengths) + np.arange(lengths.sum())
        token_rows[covered] = np.repeat(ranges, lengths)
        return token_rows

    @cached_property
    def _is_token(self) -> Flags:
        """Whether a row is a token: a multiword token, or a word outside one."""
        layout = self.treebank.layout
        is_token: Flags = layout.row_kinds == _ROW_MULTIWORD
        is_token[self._token_rows] = True
        return is_token

    @cached_property
    def _forms(self) -> tuple[Ints, list[str]]:
        """The forms of the tokens without spaces, as (codes, strings)."""
        book = Codebook()
        tokens = np.flatnonzero(self._is_token)
        return self.column("form", lambda form: book(without_spaces(form)), tokens), book.strings

    @cached_property
    def characters(self) -> str:
        """The text without spaces: the forms of all tokens."""
        codes, forms = self._forms
        return "".join([forms[code] for code in codes.tolist()])

    @cached_property
    def token_spans(self) -> Ints:
        """Shape (T, 2): where each token starts and ends in ``characters``."""
        codes, forms = self._forms
        lengths = np.array([len(form) for form in forms], np.int64)[codes]
        ends = np.cumsum(lengths)
        return np.stack([ends - lengths, ends], axis=1)

    @cached_property
    def spans(self) -> Ints:
        """Shape (W, 2): the span of the token of each word."""
        token_of_row = np.cumsum(self._is_token) - 1
        spans: Ints = self.token_spans[token_of_row[self._token_rows]]
        return spans

    @cached_property
    def sentence_spans(self) -> Ints:
        """Shape (S, 2): where each sentence starts and ends in ``characters``."""
        tokens_before = np.concatenate([[0], np.cumsum(self._is_token)])
        marks = np.concatenate([[0], self.token_spans[:, 1]])[
            tokens_before[self.treebank.layout.sentence_rows]
        ]
        return np.stack([marks[:-1], marks[1:]], axis=1)

    def line_at(self, character: int) -> int:
        """The line of the token that contains a character."""
        token = int(np.searchsorted(self.token_spans[:, 1], character, side="right"))
        rows = np.flatnonzero(self._is_token)
        row = int(rows[min(token, len(rows) - 1)]) if len(rows) else 0
        marks = self.treebank.layout.marks
        offset = int(marks[row * (len(COLUMNS) + 1)]) if len(rows) else 0
        return self.treebank.line_at(offset)


def without_spaces(form: str) -> str:
    """A form without the spaces in it."""
    return SPACES.sub("", form)


def without_subtype(label: str) -> str:
    """A label up to its first colon.

    >>> without_subtype("nsubj:pass")
    'nsubj'
    """
    return label.partition(":")[0]


def universal_feats(feats: str) -> str:
    """The universal features of a FEATS field, sorted.

    >>> universal_feats("Number=Sing|Case=Nom|Style=Arch")
    'Case=Nom|Number=Sing'
    """
    return "|".join(sorted(f for f in feats.split("|") if f.partition("=")[0] in UNIVERSAL_FEATURES))


def _range_length(identifier: str) -> int:
    first, _, last = identifier.partition("-")
    return int(last) - int(first) + 1
