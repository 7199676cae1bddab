"""``Inventory``: the tags and labels of a treebank, with frequencies and contexts."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from arcwise.treebanks.columns import Coded, column_number
from arcwise.treebanks.rows import NATIVE_KINDS
from arcwise.treebanks.treebank import Treebank

if TYPE_CHECKING:
    from arcwise.treebanks.validation.language import LanguageData


def edit_distance(a: str, b: str) -> int:
    """Damerau-Levenshtein distance: insertions, deletions, substitutions and swaps of neighbours.

    >>> edit_distance("nsubj", "nsbuj"), edit_distance("amod", "advmod"), edit_distance("", "x")
    (1, 2, 1)
    """
    *_, last_row = _distance_rows(a, b)
    return last_row[-1]


def _distance_rows(a: str, b: str) -> Iterator[list[int]]:
    before: list[int] = []
    last = list(range(len(b) + 1))
    yield last
    for i, letter_a in enumerate(a, 1):
        row = [i]
        for j, letter_b in enumerate(b, 1):
            cost = min(last[j] + 1, row[-1] + 1, last[j - 1] + (letter_a != letter_b))
            if before and j > 1 and letter_a == b[j - 2] and a[i - 2] == letter_b:
                cost = min(cost, before[j - 2] + 1)
            row.append(cost)
        before, last = last, row
        yield row


@lru_cache(maxsize=1 << 14)
def similarity(a: str, b: str) -> float:
    """Similarity from 0 to 1: by edit distance, or by the longest common substring (of 3 letters or more)."""
    by_distance = 1 - edit_distance(a, b) / max(len(a), len(b), 1)
    shared = SequenceMatcher(None, a, b, autojunk=False).find_longest_match(0, len(a), 0, len(b)).size
    return max(by_distance, shared / max(len(b), 4) if shared >= 3 else 0.0)


UPOS_TAGS = frozenset([
    "ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM", "PART", "PRON", "PROPN", "PUNCT",
    "SCONJ", "SYM", "VERB", "X",
])  # fmt: skip
"""The universal tags."""

RELATIONS = frozenset([
    "acl", "advcl", "advmod", "amod", "appos", "aux", "case", "cc", "ccomp", "clf", "compound", "conj",
    "cop", "csubj", "dep", "det", "discourse", "dislocated", "expl", "fixed", "flat", "goeswith", "iobj",
    "list", "mark", "nmod", "nsubj", "nummod", "obj", "obl", "orphan", "parataxis", "punct", "reparandum",
    "root", "vocative", "xcomp",
])  # fmt: skip
"""The universal relations."""

# A label is a likely typo if it occurs at most _RARE times and a similar one _FREQUENT_TIMES as often.
_RARE, _FREQUENT_TIMES = 2, 30

_LABEL = re.compile(r"[a-z]+(:[a-z]+)?", re.ASCII)


def has_label_form(label: str) -> bool:
    """Whether a label is ``relation`` or ``relation:subtype`` in lowercase letters."""
    return _LABEL.fullmatch(label) is not None


def is_label(label: str) -> bool:
    """Whether a label is a universal relation, possibly with a subtype."""
    return has_label_form(label) and universal(label) in RELATIONS


def universal(label: str) -> str:
    """The part of a label before the colon."""
    return label.partition(":")[0]


@dataclass(frozen=True)
class Inventory:
    """Counts of the arcs of a treebank: (UPOS of the head, UPOS of the word, label) → count.

    The UPOS of the root node is ``""``. An empty inventory has only the universal tags and relations.
    """

    arcs: Mapping[tuple[str, str, str], int] = field(default_factory=dict)
    features: bool = False
    """Whether any word or empty node of the treebank has FEATS."""
    language: LanguageData | None = None
    """Data for levels 4 and 5."""
    guesses: dict[tuple[str, str, str], list[str]] = field(default_factory=dict, repr=False, compare=False)
    """Cache of ``guess_labels``."""

    @classmethod
    def of(cls, treebanks: Treebank | Iterable[Treebank]) -> Inventory:
        r"""Count the arcs of a treebank, or of one that is read in pieces.

        >>> rows = "1\tBirds\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_\n2\tsing\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"
        >>> inventory = Inventory.of(Treebank.from_string(rows))
        >>> inventory.deprel, inventory.arcs["VERB", "NOUN", "nsubj"]
        ({'nsubj': 1, 'root': 1}, 1)
        """
        arcs: Counter[tuple[str, str, str]] = Counter()
        features = False
        for treebank in [treebanks] if isinstance(treebanks, Treebank) else treebanks:
            if treebank.word_count:
                arcs.update(_arcs(treebank))
                features = features or _has_features(treebank)
        return cls(dict(arcs), features)

    @cached_property
    def deprel(self) -> dict[str, int]:
        """Label → count, most frequent first."""
        return self._counts_by(2)

    @cached_property
    def upos(self) -> dict[str, int]:
        """UPOS → count, most frequent first."""
        return self._counts_by(1)

    @cached_property
    def known_labels(self) -> frozenset[str]:
        """The universal relations and the well-formed labels of the treebank, except root."""
        return frozenset(name for name in {*self.deprel, *RELATIONS} if is_label(name) and name != "root")

    @cached_property
    def labels_of(self) -> dict[tuple[str, str], Counter[str]]:
        """(UPOS of the head, UPOS of the word) → label → count."""
        counts: dict[tuple[str, str], Counter[str]] = {}
        for (head, word, label), count in self.arcs.items():
            counts.setdefault((head, word), Counter())[label] += count
        return counts

    @cached_property
    def upos_of(self) -> dict[str, Counter[str]]:
        """Label → UPOS of the word → count."""
        counts: dict[str, Counter[str]] = {}
        for (_, word, label), count in self.arcs.items():
            counts.setdefault(label, Counter())[word] += count
        return counts

    @cached_property
    def misspelt(self) -> dict[str, str]:
        """Rare label → the frequent label of the same universal relation that is one edit away.

        >>> Inventory({("VERB", "NOUN", "nsubj:pass"): 60, ("VERB", "NOUN", "nsubj:pas"): 1}).misspelt
        {'nsubj:pas': 'nsubj:pass'}
        """
        return {
            rare: frequent
            for rare, count in self.deprel.items()
            if count <= _RARE and ":" in rare and len(rare.partition(":")[2]) >= 3
            for frequent, times in self.deprel.items()
            if times >= _FREQUENT_TIMES * count
            and ":" in frequent
            and universal(frequent) == universal(rare)
            and edit_distance(rare, frequent) == 1
        }

    def _counts_by(self, position: int) -> dict[str, int]:
        counts: Counter[str] = Counter()
        for arc, count in self.arcs.items():
            counts[arc[position]] += count
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def _has_features(treebank: Treebank) -> bool:
    layout = treebank.layout
    rows = np.flatnonzero(layout.row_kinds != NATIVE_KINDS.index("multiword")).astype(np.uint32)
    _, strings = layout.column_codes(treebank.data, rows, column_number("feats"))
    return any(value not in ("_", "") for value in strings)


def _arcs(treebank: Treebank) -> Counter[tuple[str, str, str]]:
    upos, labels = Coded.of(treebank.column("upos")), Coded.of(treebank.column("deprel"))
    heads = treebank.heads.astype(np.int64)
    starts = np.repeat(treebank.sentence_words[:-1].astype(np.int64), treebank.sentence_lengths)
    tags = [*upos.strings, "", "_"]  # of the root node, and of an unknown head
    root, unknown = len(upos.strings), len(upos.strings) + 1
    head_tags = upos.codes[np.clip(starts + heads - 1, 0, None)].astype(np.int64)
    head_tags = np.where(heads > 0, head_tags, np.where(heads == 0, root, unknown))
    # One integer per (head tag, tag, label), so that a single np.unique counts all arcs.
    keys = (head_tags * len(tags) + upos.codes) * len(labels.strings) + labels.codes
    distinct, counts = np.unique(keys, return_counts=True)
    return Counter(
        {
            (
                tags[key // len(labels.strings) // len(tags)],
                tags[key // len(labels.strings) % len(tags)],
                labels.strings[key % len(labels.strings)],
            ): count
            for key, count in zip(distinct.tolist(), counts.tolist(), strict=True)
        }
    )
