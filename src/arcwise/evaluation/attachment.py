"""Attachment scores: UAS, LAS, label and root accuracy, exact match."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from arcwise.evaluation.verdicts import Verdicts
from arcwise.evaluation.words import ROOT, Codebook, Flags, Ints, WordColumns, without_subtype
from arcwise.treebanks import Treebank


class UasLas(NamedTuple):
    """Unlabelled and labelled attachment score, as fractions."""

    uas: float
    las: float

    def __str__(self) -> str:
        return f"UAS {100 * self.uas:.2f} LAS {100 * self.las:.2f}"


def uas_las(
    gold_heads: npt.ArrayLike,
    heads: npt.ArrayLike,
    gold_labels: npt.ArrayLike | None = None,
    labels: npt.ArrayLike | None = None,
) -> UasLas:
    """UAS and LAS of flat arrays over the same words; words without a gold head (-1) do not count.

    Labels are strings or numbers. Without labels, LAS equals UAS. ``attachment`` computes more scores and
    aligns different tokenisations.

    >>> print(uas_las([2, 0, -1], [2, 1, 1], ["nsubj", "root", "_"], ["obj", "root", "obj"]))
    UAS 50.00 LAS 0.00
    """
    annotated = np.asarray(gold_heads) >= 0
    right: Flags = annotated & (np.asarray(heads) == np.asarray(gold_heads))
    both = right if gold_labels is None else right & (np.asarray(labels) == np.asarray(gold_labels))
    words = int(annotated.sum())
    return UasLas(_share(int(right.sum()), words), _share(int(both.sum()), words))


_SHARES = (
    "uas",
    "las",
    "label_accuracy",
    "root_accuracy",
    "root_precision",
    "root_recall",
    "root_f1",
    "complete",
    "complete_labelled",
)


@dataclass(frozen=True)
class GoldTrees:
    """Gold trees, prepared to score many parses of the same words.

    Scores are those of ``arcwise evaluate`` by default: punctuation counts, label subtypes are ignored
    (nsubj for nsubj:pass). Words without a gold head do not count.

    >>> from arcwise import Treebank
    >>> row = "{}\\t{}\\t_\\t_\\t_\\t_\\t{}\\t{}\\t_\\t_\\n"
    >>> rows = row.format(1, "Birds", 2, "nsubj:pass") + row.format(2, "sing", 0, "root")
    >>> gold = Treebank.from_string(rows + "\\n")
    >>> print(GoldTrees.of(gold, ["nsubj", "obj", "root"]).score([2, 0], [0, 2]))
    UAS 100.00 LAS 100.00
    """

    heads: npt.NDArray[np.int32]
    labels: Ints | None
    """The code of the label of each word, without subtype; None if labels do not count."""
    cut: Ints
    """Label of a parse → code of the label without its subtype."""

    @classmethod
    def of(cls, treebank: Treebank, labels: Sequence[str]) -> GoldTrees:
        """Prepare the trees of a treebank; ``labels`` is the label alphabet of the parses, or empty."""
        numbers = Codebook()
        gold = WordColumns(treebank, numbers).universal_label if labels else None
        cut = np.array([numbers(without_subtype(label)) for label in labels], np.int64)
        return cls(np.asarray(treebank.heads), gold, cut)

    def score(self, heads: npt.ArrayLike, labels: npt.ArrayLike) -> UasLas:
        """UAS and LAS of a parse; labels are indices into the alphabet (negative: none)."""
        if self.labels is None:
            return uas_las(self.heads, heads)
        codes = np.asarray(labels)
        # Index -1 would read the last label of the alphabet.
        return uas_las(self.heads, heads, self.labels, np.where(codes < 0, -1, self.cut[codes]))


@dataclass(frozen=True)
class Attachment:
    """Counts over the scored words and the sentences of gold, and the scores computed from them.

    - ``uas``, ``las``: words with the correct head; with the correct head and label (Buchholz and Marsi
      2006).
    - ``label_accuracy``: words with the correct label, regardless of the head.
    - ``root_accuracy``: sentences whose set of roots is correct (McDonald et al. 2005).
    - ``root_precision``, ``root_recall``, ``root_f1``: over words that are roots (McDonald et al. 2005 for
      Czech, whose sentences may have several roots). With one root per sentence on both sides all three
      equal ``root_accuracy``.
    - ``complete``, ``complete_labelled``: exact match, sentences in which every scored head (and label) is
      correct.
    """

    words: int
    heads_right: int
    arcs_right: int
    labels_right: int
    sentences: int
    roots_right: int
    trees_right: int
    labelled_trees_right: int
    gold_roots: int = 0
    system_roots: int = 0
    common_roots: int = 0
    """Words that are roots in gold, in the system output, in both."""

    @property
    def uas(self) -> float:
        return _share(self.heads_right, self.words)

    @property
    def las(self) -> float:
        return _share(self.arcs_right, self.words)

    @property
    def label_accuracy(self) -> float:
        return _share(self.labels_right, self.words)

    @property
    def root_accuracy(self) -> float:
        return _share(self.roots_right, self.sentences)

    @property
    def root_precision(self) -> float:
        return _share(self.common_roots, self.system_roots)

    @property
    def root_recall(self) -> float:
        return _share(self.common_roots, self.gold_roots)

    @property
    def root_f1(self) -> float:
        return _share(2 * self.common_roots, self.gold_roots + self.system_roots)

    @property
    def complete(self) -> float:
        return _share(self.trees_right, self.sentences)

    @property
    def complete_labelled(self) -> float:
        return _share(self.labelled_trees_right, self.sentences)

    def to_json(self) -> dict[str, Any]:
        """Counts and scores."""
        return {**asdict(self), **{name: getattr(self, name) for name in _SHARES}}


def attachment(verdicts: Verdicts, *, sentences: Flags | None = None) -> Attachment:
    """Attachment scores over all sentences of gold, or over the flagged ones. O(W).

    >>> from arcwise import Treebank
    >>> from arcwise.evaluation import verdicts
    >>> row = "{}\\t{}\\t_\\t_\\t_\\t_\\t{}\\t{}\\t_\\t_\\n"
    >>> gold = row.format(1, "Birds", 2, "nsubj") + row.format(2, "sing", 0, "root") + "\\n"
    >>> system = gold.replace("nsubj", "obj")
    >>> scores = attachment(verdicts(Treebank.from_string(gold), Treebank.from_string(system)))
    >>> scores.uas, scores.las, scores.complete, scores.complete_labelled
    (1.0, 0.5, 1.0, 0.0)
    """
    count = len(verdicts.gold.treebank)
    chosen = np.ones(count, bool) if sentences is None else sentences
    of_word = verdicts.gold.sentence
    words = verdicts.scored & chosen[of_word]
    gold_roots = chosen[of_word] & (verdicts.gold.heads == ROOT)
    system_roots = _roots_of_system(verdicts)

    def sentences_without(wrong: Flags) -> int:
        return int(chosen.sum() - (per_sentence(wrong, of_word, count)[chosen] > 0).sum())

    return Attachment(
        words=int(words.sum()),
        heads_right=int((words & verdicts.head_right).sum()),
        arcs_right=int((words & verdicts.arc_right).sum()),
        labels_right=int((words & verdicts.label_right).sum()),
        sentences=int(chosen.sum()),
        roots_right=sentences_without((verdicts.gold.heads == ROOT) != system_roots),
        trees_right=sentences_without(words & ~verdicts.head_right),
        labelled_trees_right=sentences_without(words & ~verdicts.arc_right),
        gold_roots=int(gold_roots.sum()),
        system_roots=int((verdicts.system.heads == ROOT)[chosen[_gold_sentences(verdicts)]].sum()),
        common_roots=int((gold_roots & system_roots).sum()),
    )


def per_sentence(flags: Flags, sentence: Ints, count: int) -> Ints:
    """The number of flagged words in each of ``count`` sentences."""
    return np.bincount(sentence[flags], minlength=count)


def _roots_of_system(verdicts: Verdicts) -> Flags:
    """Mask of gold words that are roots in the system output."""
    roots = np.zeros(len(verdicts.gold), bool)
    pairs = verdicts.alignment
    roots[pairs.gold] = verdicts.system.heads[pairs.system] == ROOT
    return roots


def _gold_sentences(verdicts: Verdicts) -> Ints:
    """The gold sentence in which each system word starts."""
    starts = verdicts.gold.sentence_spans[:, 0]
    sentences: Ints = np.searchsorted(starts, verdicts.system.spans[:, 0], side="right") - 1
    return sentences


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0
