"""Inter-annotator agreement: observed agreement, Cohen's kappa and Krippendorff's alpha."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.evaluation.verdicts import Options, Subtypes
from arcwise.evaluation.words import Codebook, Flags, Ints, WordColumns
from arcwise.treebanks import Treebank
from arcwise.treebanks.differences import SideBySide

_ELSEWHERE = 1_000_000
"""Offset for heads that the other annotator's sentence does not have, so that they never agree."""

_OPEN = -1_000_000
"""The value of a head that is not annotated."""


@dataclass(frozen=True)
class Coefficients:
    """Agreement on one column, over the words that both annotators annotated.

    ``share`` is the observed agreement, ``kappa`` Cohen's κ (1960), ``alpha`` Krippendorff's α for nominal
    data (2004). They are None where they are undefined: no words, or the same value everywhere.
    """

    words: int
    same: int
    share: float | None
    kappa: float | None
    alpha: float | None


@dataclass(frozen=True)
class LabelPair:
    """Words that A and B label differently."""

    a: str
    b: str
    count: int


@dataclass(frozen=True)
class Agreement:
    """The result of ``agreement``. ``to_json()`` is part of the output of ``arcwise diff --json``.

    For κ and α the value of a *head* is its signed distance from the word (the root is a value of its own),
    so that chance agreement means choosing, say, the next word to the right. ``labels`` are compared
    regardless of heads. ``arcs`` are heads and labels together: their share is LAS, their α the one for
    trees (nominal distance of single arcs, not the tree edit distance of Skjærholt 2014).
    ``labels_of_same_heads`` are the labels of words with the same head. Heads, labels and UPOS ``_`` are
    not annotated and do not count.
    """

    sentences: int
    sentences_only_a: int
    sentences_only_b: int
    words: int
    """Words in both files."""
    words_only_a: int
    words_only_b: int
    same_trees: int
    """Sentences with identical words, heads and labels."""
    heads: Coefficients
    labels: Coefficients
    labels_of_same_heads: Coefficients
    arcs: Coefficients
    upos: Coefficients
    xpos: Coefficients
    feats: Coefficients
    lemmas: Coefficients
    label_pairs: tuple[LabelPair, ...]
    """Disagreeing labels of the same word, most frequent first."""

    @property
    def uas(self) -> float | None:
        """The share of words with the same head."""
        return self.heads.share

    @property
    def las(self) -> float | None:
        """The share of words with the same head and label."""
        return self.arcs.share

    def rows(self) -> Iterator[tuple[str, Coefficients]]:
        """Yield the coefficients with their display names."""
        yield "heads (UAS)", self.heads
        yield "heads and labels (LAS)", self.arcs
        yield "labels", self.labels
        yield "labels of same heads", self.labels_of_same_heads
        yield "UPOS", self.upos
        yield "XPOS", self.xpos
        yield "FEATS", self.feats
        yield "LEMMA", self.lemmas

    def to_json(self) -> dict[str, Any]:
        """All fields, UAS and LAS."""
        return {"uas": self.uas, "las": self.las, **asdict(self)}


def agreement(a: Treebank, b: Treebank, *, subtypes: Subtypes = "keep") -> Agreement:
    r"""Agreement of two versions of a treebank, over the words in both. O(W).

    ``subtypes``: ``"keep"`` compares whole labels, ``"cut"`` ignores subtypes (nsubj for nsubj:pass).

    >>> rows = "1\tTea\t_\t_\t_\t_\t2\t{}\t_\t_\n2\tcools\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    >>> result = agreement(*(Treebank.from_string(rows.format(label)) for label in ("nsubj", "obj")))
    >>> result.uas, result.las, result.label_pairs
    (1.0, 0.5, (LabelPair(a='nsubj', b='obj', count=1),))
    """
    return agreement_of(SideBySide(a, b), subtypes=subtypes)


def agreement_of(sides: SideBySide, *, subtypes: Subtypes = "keep") -> Agreement:
    """Agreement of treebanks whose sentences and words are already aligned."""
    options = Options(subtypes=subtypes)
    book = Codebook()
    words = WordColumns(sides.a, book), WordColumns(sides.b, book)
    in_a, in_b = sides.word_pairs
    heads = _head_values(sides, words)
    labels = [
        (w.universal_label if options.subtypes == "cut" else w.label)[at]
        for w, at in zip(words, (in_a, in_b), strict=True)
    ]
    empty = book("_")
    with_heads = (words[0].treebank.heads[in_a] >= 0) & (words[1].treebank.heads[in_b] >= 0)
    with_labels = (labels[0] != empty) & (labels[1] != empty)
    arcs = [_paired(h, x) for h, x in zip(heads, labels, strict=True)]
    tags = words[0].upos[in_a], words[1].upos[in_b]
    same_head = with_heads & (heads[0] == heads[1])
    return Agreement(
        sentences=len(sides.pairs),
        sentences_only_a=len(sides.a) - len(sides.pairs),
        sentences_only_b=len(sides.b) - len(sides.pairs),
        words=len(in_a),
        words_only_a=len(words[0]) - len(in_a),
        words_only_b=len(words[1]) - len(in_a),
        same_trees=_same_trees(sides, words, arcs[0] == arcs[1]),
        heads=coefficients(*heads, with_heads),
        labels=coefficients(labels[0], labels[1], with_labels),
        labels_of_same_heads=coefficients(labels[0], labels[1], with_labels & same_head),
        arcs=coefficients(arcs[0], arcs[1], with_heads),
        upos=coefficients(*tags, (tags[0] != empty) & (tags[1] != empty)),
        xpos=coefficients(words[0].xpos[in_a], words[1].xpos[in_b]),
        feats=coefficients(words[0].coded("feats")[in_a], words[1].coded("feats")[in_b]),
        lemmas=coefficients(words[0].lemma[in_a], words[1].lemma[in_b]),
        label_pairs=_label_pairs(labels[0][with_labels], labels[1][with_labels], book),
    )


def coefficients(a: npt.ArrayLike, b: npt.ArrayLike, counted: Flags | None = None) -> Coefficients:
    """Observed agreement, κ and α of two annotators' values of the same words, coded as numbers.

    ``counted`` selects the words that count. With p the observed agreement, κ = (p - e) / (1 - e), where e
    = Σ p_A(v) p_B(v) is the agreement expected by chance. α = 1 - (1 - p) / d, where d = 1 - Σ n(v) (n(v) -
    1) / (n (n - 1)) is the disagreement expected among all n values of both annotators, n(v) of them equal
    to v.

    >>> coefficients([1, 1, 2, 2], [1, 1, 2, 3])
    Coefficients(words=4, same=3, share=0.75, kappa=0.6, alpha=0.631578947368421)
    """
    values_a, values_b = (np.asarray(side, np.int64) for side in (a, b))
    if counted is not None:
        values_a, values_b = values_a[counted], values_b[counted]
    words, same = len(values_a), int((values_a == values_b).sum())
    if not words:
        return Coefficients(0, 0, None, None, None)
    counts_a, counts_b = (np.unique(side, return_counts=True) for side in (values_a, values_b))
    _, in_a, in_b = np.intersect1d(counts_a[0], counts_b[0], assume_unique=True, return_indices=True)
    both = np.unique(np.concatenate([values_a, values_b]), return_counts=True)[1]
    share = same / words
    by_chance = int((counts_a[1][in_a] * counts_b[1][in_b]).sum()) / words**2
    different = 1 - int((both * (both - 1)).sum()) / (2 * words * (2 * words - 1))
    return Coefficients(
        words,
        same,
        share,
        None if by_chance >= 1 else (share - by_chance) / (1 - by_chance),
        None if different <= 0 else 1 - (1 - share) / different,
    )


def _head_values(sides: SideBySide, words: tuple[WordColumns, WordColumns]) -> tuple[Ints, Ints]:
    """The signed distance of the head of each common word, 0 for the root, in positions of A."""
    in_a, in_b = sides.word_pairs
    b_to_a = np.full(len(words[1]), -1, np.int64)
    b_to_a[in_b] = in_a
    heads = [w.treebank.heads.astype(np.int64)[at] for w, at in zip(words, (in_a, in_b), strict=True)]
    positions = [w.heads[at] for w, at in zip(words, (in_a, in_b), strict=True)]
    of_a = np.where(heads[0] > 0, positions[0] - in_a, 0)
    mapped = b_to_a[np.maximum(positions[1], 0)] if len(b_to_a) else positions[1]
    elsewhere = _ELSEWHERE + positions[1] - in_b
    of_b = np.where(heads[1] > 0, np.where(mapped >= 0, mapped - in_a, elsewhere), 0)
    return np.where(heads[0] < 0, _OPEN, of_a), np.where(heads[1] < 0, _OPEN, of_b)


def _paired(heads: Ints, labels: Ints) -> Ints:
    """One number for head and label together."""
    # Label codes are far below 2**32, so no two pairs share a number.
    return heads * (1 << 32) + labels


def _same_trees(sides: SideBySide, words: tuple[WordColumns, WordColumns], same: Flags) -> int:
    """The number of sentences with the same words, heads and labels."""
    in_a, _ = sides.word_pairs
    agreeing = np.bincount(words[0].sentence[in_a[same]], minlength=len(sides.a))
    lengths = sides.a.sentence_lengths, sides.b.sentence_lengths
    return sum(int(agreeing[a] == lengths[0][a] == lengths[1][b]) for a, b in sides.pairs.items())


def _label_pairs(a: Ints, b: Ints, book: Codebook) -> tuple[LabelPair, ...]:
    differ = a != b
    counts = Counter(zip(a[differ].tolist(), b[differ].tolist(), strict=True))
    pairs = [LabelPair(book.strings[x], book.strings[y], count) for (x, y), count in counts.items()]
    return tuple(sorted(pairs, key=lambda pair: (-pair.count, pair.a, pair.b)))
