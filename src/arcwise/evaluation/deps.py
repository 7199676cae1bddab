"""Precision, recall and F1 of the arcs of dependency graphs in the DEPS column."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from arcwise.errors import InputError
from arcwise.treebanks import Sentence, Treebank

DepsArc = tuple[str, int, str]
"""Head (as written: 3, or 8.1 for an empty node), modifier, label."""


@dataclass(frozen=True)
class ArcScore:
    """Numbers of arcs in gold, in the system output, and in both."""

    gold: int
    system: int
    both: int

    @property
    def precision(self) -> float:
        """The fraction of the system's arcs that are in gold."""
        return self.both / self.system if self.system else 0.0

    @property
    def recall(self) -> float:
        """The fraction of the gold arcs that are in the system output."""
        return self.both / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        return 2 * self.both / (self.gold + self.system) if self.gold + self.system else 0.0


@dataclass(frozen=True)
class DepsScores:
    """Unlabelled and labelled scores."""

    unlabelled: ArcScore
    labelled: ArcScore


def deps_arcs(sentence: Sentence) -> list[DepsArc]:
    """The arcs in the DEPS column of a sentence.

    >>> sentence = Sentence.from_words(["She", "sings"], deps=["2:nsubj", "0:root"])
    >>> deps_arcs(sentence)
    [('2', 1, 'nsubj'), ('0', 2, 'root')]
    """
    arcs = []
    for word, text in enumerate(sentence.deps, start=1):
        for part in filter(None, text.split("|") if text != "_" else []):
            head, colon, label = part.partition(":")
            if not colon or not head.replace(".", "", 1).isdecimal():
                name = sentence.sent_id or f"sentence {sentence.number + 1}"
                source = sentence.treebank.source
                raise InputError(
                    f"{source} ({name}): found {part!r} in DEPS of word {word}, expected head:label"
                )
            arcs.append((head, word, label))
    return arcs


def deps_scores(gold: Treebank, system: Treebank) -> DepsScores:
    """Scores of the arcs in DEPS; both files must have the same words.

    >>> def treebank(deps):
    ...     return Treebank.from_sentences([Sentence.from_words(["She", "sings"], deps=deps)])
    >>> deps_scores(treebank(["2:nsubj", "0:root"]), treebank(["2:obj", "0:root"])).labelled.f1
    0.5
    """
    if gold.sentence_words.tolist() != system.sentence_words.tolist():
        raise InputError(f"{system.source} and {gold.source} must have the same sentences and words")
    arcs = [(deps_arcs(g), deps_arcs(s)) for g, s in zip(gold, system, strict=True)]
    unlabelled = [({a[:2] for a in g}, {a[:2] for a in s}) for g, s in arcs]
    return DepsScores(_score(unlabelled), _score([(set(g), set(s)) for g, s in arcs]))


def _score(
    pairs: Iterable[tuple[set[tuple[str, int]], set[tuple[str, int]]] | tuple[set[DepsArc], set[DepsArc]]],
) -> ArcScore:
    counts = [(len(g), len(s), len(g & s)) for g, s in pairs]
    return ArcScore(*(sum(column) for column in zip(*counts, strict=True)))
