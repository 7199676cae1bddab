"""How far two annotators agree: shares of words, and coefficients corrected for chance."""

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
"""Added to the distance of a head that the other side has not: no head of the other side is the same."""

_OPEN = -1_000_000
"""The value of a head that is not decided."""


@dataclass(frozen=True)
class Coefficients:
    """Agreement about one thing, over the words of which both said something.

    ``share``: of these words, how many have the same value; ``kappa``: Cohen's κ (1960); ``alpha``: Krippendorff's α for nominal data (2004),
    whose distance is 0 for the same value and 1 for another. None where they are not defined: no words, or one value everywhere.
    """

    words: int
    same: int
    share: float | None
    kappa: float | None
    alpha: float | None


@dataclass(frozen=True)
class LabelPair:
    """Words that A gave one label and B another."""

    a: str
    b: str
    count: int


@dataclass(frozen=True)
class Agreement:
    """What ``agreement`` finds. ``to_json()`` is part of what ``arcwise diff --json`` prints.

    The value of a *head*, for κ and α, is how far it is from its word and on which side (the root is a value of its own): so chance is
    that both choose, say, the next word to the right. ``labels`` are compared whatever the heads; ``arcs`` are heads and labels together, so
    its share is LAS and its α the one for trees (distance: nominal, of single arcs, not the tree edit distance of Skjærholt 2014);
    ``labels_of_same_heads`` are the labels of words on whose heads both agree. A head, label or UPOS ``_`` is open and does not count.
    """

    sentences: int
    sentences_only_a: int
    sentences_only_b: int
    words: int
    """Words that both have."""
    words_only_a: int
    words_only_b: int
    same_trees: int
    """Sentences all of whose words have the same heads and labels."""
    heads: Coefficients
    labels: Coefficients
    labels_of_same_heads: Coefficients
    arcs: Coefficients
    upos: Coefficients
    xpos: Coefficients
    feats: Coefficients
    lemmas: Coefficients
    label_pairs: tuple[LabelPair, ...]
    """Different labels of the same word, the most frequent first."""

    @property
    def uas(self) -> float | None:
        """The share of words with the same head."""
        return self.heads.share

    @property
    def las(self) -> float | None:
        """The share of words with the same head and label."""
        return self.arcs.share

    def rows(self) -> Iterator[tuple[str, Coefficients]]:
        """The coefficients, with names for readers."""
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
    r"""How far two versions of a treebank agree, over the words that both have. O(W).

    ``subtypes`` of labels: ``"keep"`` compares whole labels, ``"cut"`` nsubj for nsubj:pass.

    >>> rows = "1\tTea\t_\t_\t_\t_\t2\t{}\t_\t_\n2\tcools\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    >>> found = agreement(*(Treebank.from_string(rows.format(label)) for label in ("nsubj", "obj")))
    >>> found.uas, found.las, found.label_pairs
    (1.0, 0.5, (LabelPair(a='nsubj', b='obj', count=1),))
    """
    return agreement_of(SideBySide(a, b), subtypes=subtypes)


def agreement_of(sides: SideBySide, *, subtypes: Subtypes = "keep") -> Agreement:
    """The same, of treebanks whose sentences and words are paired already."""
    options = Options(subtypes=subtypes)
    book = Codebook()
    words = WordColumns(sides.a, book), WordColumns(sides.b, book)
    first, other = sides.word_pairs
    heads = _head_values(sides, words)
    labels = [
        (w.universal_label if options.subtypes == "cut" else w.label)[at]
        for w, at in zip(words, (first, other), strict=True)
    ]
    empty = book("_")
    with_heads = (words[0].treebank.heads[first] >= 0) & (words[1].treebank.heads[other] >= 0)
    with_labels = (labels[0] != empty) & (labels[1] != empty)
    arcs = [_paired(h, x) for h, x in zip(heads, labels, strict=True)]
    tags = words[0].upos[first], words[1].upos[other]
    same_head = with_heads & (heads[0] == heads[1])
    return Agreement(
        sentences=len(sides.pairs),
        sentences_only_a=len(sides.a) - len(sides.pairs),
        sentences_only_b=len(sides.b) - len(sides.pairs),
        words=len(first),
        words_only_a=len(words[0]) - len(first),
        words_only_b=len(words[1]) - len(first),
        same_trees=_same_trees(sides, words, arcs[0] == arcs[1]),
        heads=coefficients(*heads, with_heads),
        labels=coefficients(labels[0], labels[1], with_labels),
        labels_of_same_heads=coefficients(labels[0], labels[1], with_labels & same_head),
        arcs=coefficients(arcs[0], arcs[1], with_heads),
        upos=coefficients(*tags, (tags[0] != empty) & (tags[1] != empty)),
        xpos=coefficients(words[0].xpos[first], words[1].xpos[other]),
        feats=coefficients(words[0].coded("feats")[first], words[1].coded("feats")[other]),
        lemmas=coefficients(words[0].lemma[first], words[1].lemma[other]),
        label_pairs=_label_pairs(labels[0][with_labels], labels[1][with_labels], book),
    )


def coefficients(a: npt.ArrayLike, b: npt.ArrayLike, counted: Flags | None = None) -> Coefficients:
    """Share, κ and α of two annotators' values of the same words, coded as numbers; ``counted``: which words count.

    With p the share of the same values, κ = (p - e) / (1 - e), where e = Σ p_A(v) p_B(v) is the share that two people would have by chance who
    use each value v as often as these do. α = 1 - (1 - p) / d, where d = 1 - Σ n(v) (n(v) - 1) / (n (n - 1)) is the
    share of different values among all pairs of the n values that both gave together, n(v) of them v.

    >>> coefficients([1, 1, 2, 2], [1, 1, 2, 3])
    Coefficients(words=4, same=3, share=0.75, kappa=0.6, alpha=0.631578947368421)
    """
    first, other = (np.asarray(side, np.int64) for side in (a, b))
    if counted is not None:
        first, other = first[counted], other[counted]
    words, same = len(first), int((first == other).sum())
    if not words:
        return Coefficients(0, 0, None, None, None)
    of_a, of_b = (np.unique(side, return_counts=True) for side in (first, other))
    _, in_a, in_b = np.intersect1d(of_a[0], of_b[0], assume_unique=True, return_indices=True)
    both = np.unique(np.concatenate([first, other]), return_counts=True)[1]
    share = same / words
    by_chance = int((of_a[1][in_a] * of_b[1][in_b]).sum()) / words**2
    different = 1 - int((both * (both - 1)).sum()) / (2 * words * (2 * words - 1))
    return Coefficients(
        words,
        same,
        share,
        None if by_chance >= 1 else (share - by_chance) / (1 - by_chance),
        None if different <= 0 else 1 - (1 - share) / different,
    )


def _head_values(sides: SideBySide, words: tuple[WordColumns, WordColumns]) -> tuple[Ints, Ints]:
    """How far the head of each word that both have is from it, 0 for the root, counted in the words of A."""
    first, other = sides.word_pairs
    in_a = np.full(len(words[1]), -1, np.int64)
    in_a[other] = first
    own = [w.treebank.heads.astype(np.int64)[at] for w, at in zip(words, (first, other), strict=True)]
    flat = [w.heads[at] for w, at in zip(words, (first, other), strict=True)]
    of_a = np.where(own[0] > 0, flat[0] - first, 0)
    image = in_a[np.maximum(flat[1], 0)] if len(in_a) else flat[1]
    elsewhere = _ELSEWHERE + flat[1] - other
    of_b = np.where(own[1] > 0, np.where(image >= 0, image - first, elsewhere), 0)
    return np.where(own[0] < 0, _OPEN, of_a), np.where(own[1] < 0, _OPEN, of_b)


def _paired(heads: Ints, labels: Ints) -> Ints:
    """One number for head and label together."""
    return heads * (1 << 32) + labels


def _same_trees(sides: SideBySide, words: tuple[WordColumns, WordColumns], same: Flags) -> int:
    """Sentences of both sides that have the same words, heads and labels."""
    first, _ = sides.word_pairs
    right = np.bincount(words[0].sentence[first[same]], minlength=len(sides.a))
    lengths = sides.a.sentence_lengths, sides.b.sentence_lengths
    return sum(int(right[a] == lengths[0][a] == lengths[1][b]) for a, b in sides.pairs.items())


def _label_pairs(a: Ints, b: Ints, book: Codebook) -> tuple[LabelPair, ...]:
    differ = a != b
    counts = Counter(zip(a[differ].tolist(), b[differ].tolist(), strict=True))
    pairs = [LabelPair(book.strings[x], book.strings[y], count) for (x, y), count in counts.items()]
    return tuple(sorted(pairs, key=lambda pair: (-pair.count, pair.a, pair.b)))
