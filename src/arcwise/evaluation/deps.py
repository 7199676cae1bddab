"""Scores of dependency graphs in the DEPS column: precision, recall and F1 over arcs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from arcwise.errors import InputError
from arcwise.treebanks import Sentence, Treebank

DepsArc = tuple[str, int, str]
"""Head (as written: 3, or 8.1 for an empty node), modifier, label."""


@dataclass(frozen=True)
class ArcScore:
    """How many arcs the gold graphs have, the system's have, and both."""

    gold: int
    system: int
    both: int

    @property
    def precision(self) -> float:
        """The share of the system's arcs that are gold."""
        return self.both / self.system if self.system else 0.0

    @property
    def recall(self) -> float:
        """The share of the gold arcs that the system found."""
        return self.both / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of both."""
        return 2 * self.both / (self.gold + self.system) if self.gold + self.system else 0.0


@dataclass(frozen=True)
class DepsScores:
    """Scores of arcs without and with their labels."""

    unlabelled: ArcScore
    labelled: ArcScore


def deps_arcs(sentence: Sentence) -> list[DepsArc]:
    """The arcs of the DEPS column of one sentence's words.

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
                raise InputError(
                    f"{sentence.treebank.source} ({name}): found {part!r} in DEPS of word {word}, expected head:label"
                )
            arcs.append((head, word, label))
    return arcs


def deps_scores(gold: Treebank, system: Treebank) -> DepsScores:
    """F1 of the arcs in DEPS; both files have the same words.

    >>> def one(deps):
    ...     return Treebank.from_sentences([Sentence.from_words(["She", "sings"], deps=deps)])
    >>> deps_scores(one(["2:nsubj", "0:root"]), one(["2:obj", "0:root"])).labelled.f1
    0.5
    """
    if gold.sentence_words.tolist() != system.sentence_words.tolist():
        raise InputError(f"{system.source}: has other sentences than {gold.source}, expected the same words")
    found = [(deps_arcs(g), deps_arcs(s)) for g, s in zip(gold, system, strict=True)]
    bare = [({a[:2] for a in g}, {a[:2] for a in s}) for g, s in found]
    return DepsScores(_score(bare), _score([(set(g), set(s)) for g, s in found]))


def _score(
    pairs: Iterable[tuple[set[tuple[str, int]], set[tuple[str, int]]] | tuple[set[DepsArc], set[DepsArc]]],
) -> ArcScore:
    counts = [(len(g), len(s), len(g & s)) for g, s in pairs]
    return ArcScore(*(sum(column) for column in zip(*counts, strict=True)))
