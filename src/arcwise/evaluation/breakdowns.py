"""Error analysis: scores by label, arc length, projectivity and sentence length; label confusions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from arcwise.evaluation.attachment import Attachment, attachment
from arcwise.evaluation.verdicts import Verdicts
from arcwise.evaluation.words import Flags, Ints, WordColumns
from arcwise.treebanks import ProblemKind
from arcwise.trees import tree_properties

_ARC_LENGTHS = ((0, "root"), (1, "1"), (2, "2"), (3, "3-6"), (7, "7-10"), (11, "11 or more"))
_SENTENCE_LENGTHS = (
    (1, "1-10"),
    (11, "11-20"),
    (21, "21-30"),
    (31, "31-40"),
    (41, "41-50"),
    (51, "51 or more"),
)


@dataclass(frozen=True)
class ArcGroup:
    """Counts of one group of arcs in gold and system, for precision and recall.

    ``heads`` counts ignore the label, ``arcs`` counts include it.
    """

    name: str
    gold: int
    gold_heads_found: int
    gold_arcs_found: int
    system: int
    system_heads_right: int
    system_arcs_right: int

    @property
    def head_recall(self) -> float | None:
        return _share(self.gold_heads_found, self.gold)

    @property
    def head_precision(self) -> float | None:
        return _share(self.system_heads_right, self.system)

    @property
    def recall(self) -> float | None:
        return _share(self.gold_arcs_found, self.gold)

    @property
    def precision(self) -> float | None:
        return _share(self.system_arcs_right, self.system)

    @property
    def f1(self) -> float | None:
        """The harmonic mean of labelled precision and recall."""
        if self.precision is None or self.recall is None:
            return None
        both = self.precision + self.recall
        return 2 * self.precision * self.recall / both if both else 0.0

    def to_json(self) -> dict[str, Any]:
        """Counts and scores; undefined scores are null."""
        shares = ("head_recall", "head_precision", "recall", "precision", "f1")
        return {**asdict(self), **{name: getattr(self, name) for name in shares}}


@dataclass(frozen=True)
class SentenceGroup:
    """Scores of one group of sentences."""

    name: str
    scores: Attachment

    def to_json(self) -> dict[str, Any]:
        """Name and scores."""
        return {"name": self.name, **self.scores.to_json()}


@dataclass(frozen=True)
class Confusion:
    """The number of words with gold label ``gold`` and system label ``system``."""

    gold: str
    system: str
    count: int

    def to_json(self) -> dict[str, Any]:
        """The three fields."""
        return asdict(self)


def by_label(verdicts: Verdicts) -> list[ArcGroup]:
    """Scores of every label in gold or system, most frequent first."""
    gold, system = verdicts.gold_labels, verdicts.system_labels
    labels = np.unique(np.concatenate([gold[verdicts.scored], system[verdicts.system_scored]]))
    strings = verdicts.gold.codebook.strings
    groups = _grouped(
        verdicts,
        [strings[label] for label in labels],
        np.searchsorted(labels, gold),
        np.searchsorted(labels, system),
    )
    return sorted(groups, key=lambda group: (-group.gold, -group.system, group.name))


def by_arc_length(verdicts: Verdicts) -> list[ArcGroup]:
    """Scores by arc length, the distance from modifier to head (McDonald and Nivre 2007); root arcs apart."""
    starts = [start for start, _ in _ARC_LENGTHS]

    def bins(words: WordColumns) -> Ints:
        position = np.arange(len(words))
        length = np.where(words.heads >= 0, np.abs(words.heads - position), 0)
        groups = np.searchsorted(starts, length, side="right") - 1
        return np.where(words.treebank.heads < 0, len(starts), groups)  # missing heads form a separate group

    names = [name for _, name in _ARC_LENGTHS]
    return _grouped(verdicts, [*names, "no head"], bins(verdicts.gold), bins(verdicts.system))


def by_crossing(verdicts: Verdicts) -> list[ArcGroup]:
    """Scores of projective arcs, non-projective arcs, and arcs that cross another (including root arcs).

    Recall is over the arcs of the group in gold, precision over those in the system output. Arcs of
    sentences with a cycle belong to no group.
    """
    gold, system = _shapes(verdicts.gold), _shapes(verdicts.system)
    names = ("projective", "non-projective", "crossing another")
    return [_group(verdicts, name, gold[name], system[name]) for name in names]


def by_sentence_length(verdicts: Verdicts) -> list[SentenceGroup]:
    """Scores of the gold sentences with 1-10, 11-20, … words."""
    lengths = verdicts.gold.treebank.sentence_lengths
    starts = [start for start, _ in _SENTENCE_LENGTHS]
    bins = np.searchsorted(starts, lengths, side="right") - 1
    return [
        SentenceGroup(name, attachment(verdicts, sentences=bins == number))
        for number, (_, name) in enumerate(_SENTENCE_LENGTHS)
        if (bins == number).any()
    ]


def confusions(verdicts: Verdicts) -> list[Confusion]:
    """Label confusions on scored words regardless of heads, most frequent first."""
    pairs = verdicts.alignment
    gold, system = verdicts.gold_labels[pairs.gold], verdicts.system_labels[pairs.system]
    wrong = verdicts.scored[pairs.gold] & (gold != system)
    pairs_seen, counts = np.unique(np.stack([gold[wrong], system[wrong]]), axis=1, return_counts=True)
    strings = verdicts.gold.codebook.strings
    rows = [Confusion(strings[g], strings[s], int(n)) for g, s, n in zip(*pairs_seen, counts, strict=True)]
    return sorted(rows, key=lambda row: (-row.count, row.gold, row.system))


def _grouped(verdicts: Verdicts, names: list[str], gold_group: Ints, system_group: Ints) -> list[ArcGroup]:
    groups = [
        _group(verdicts, name, gold_group == number, system_group == number)
        for number, name in enumerate(names)
    ]
    return [group for group in groups if group.gold or group.system]


def _group(verdicts: Verdicts, name: str, in_gold: Flags, in_system: Flags) -> ArcGroup:
    gold, system = in_gold & verdicts.scored, in_system & verdicts.system_scored
    return ArcGroup(
        name,
        gold=int(gold.sum()),
        gold_heads_found=int((gold & verdicts.head_right).sum()),
        gold_arcs_found=int((gold & verdicts.arc_right).sum()),
        system=int(system.sum()),
        system_heads_right=int((system & verdicts.of_system(verdicts.head_right)).sum()),
        system_arcs_right=int((system & verdicts.of_system(verdicts.arc_right)).sum()),
    )


def _shapes(words: WordColumns) -> dict[str, Flags]:
    # Projectivity is undefined where heads form a cycle.
    cyclic = [sentence for kind, sentence, *_ in words.treebank.layout.problems if kind == ProblemKind.CYCLE]
    heads = np.where(np.isin(words.sentence, cyclic), np.int32(-1), words.treebank.heads)
    properties = tree_properties(heads, words.treebank.sentence_words)
    return {
        "projective": (heads >= 0) & ~properties.non_projective_arcs,
        "non-projective": properties.non_projective_arcs,
        "crossing another": properties.crossing_arcs,
    }


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
