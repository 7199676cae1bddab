"""Parser suggestions for a sentence, given its annotation so far: per word and for the whole tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arcwise.inference import LabelledArc


@dataclass(frozen=True)
class WordSuggestion:
    """The suggestion for one word.

    All values are conditional on every decision in the sentence; entropies and gains are in nats.
    """

    decided_head: bool
    decided_label: bool
    head: int
    """The decided head, else the suggested one; -1 if there is neither."""
    label: str
    """The decided label, else the suggested one; ``_`` if there is neither."""
    probability: float | None = None
    """Probability of the head; None if the parser gives no probabilities."""
    label_probability: float | None = None
    """Joint probability of head and label."""
    entropy: float | None = None
    """Entropy of the head."""
    gain: float | None = None
    """Expected information gain for the whole sentence from knowing this head; None unless requested."""
    alternatives: tuple[LabelledArc, ...] = ()
    """(head, label, joint probability), most probable first."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Column (``upos``, …) → the tagger's value where the file has ``_``."""
    tag_probabilities: Mapping[str, float] = field(default_factory=dict)
    """Column → probability of the tagger's value; a column without an estimate is missing."""

    @property
    def upos_probability(self) -> float | None:
        """Probability of the suggested UPOS."""
        return self.tag_probabilities.get("upos")


@dataclass(frozen=True)
class AlternativeTree:
    """Another tree of the sentence, with one head and one label per word."""

    heads: tuple[int, ...]
    labels: tuple[str, ...]
    probability: float
    """Probability of the unlabelled tree."""


@dataclass(frozen=True)
class SentenceSuggestions:
    """The suggestions for a sentence."""

    words: tuple[WordSuggestion, ...]
    """One per word: that of word m is ``words[m - 1]``."""
    entropy: float | None = None
    """Entropy of the unlabelled tree, in nats."""
    probability: float | None = None
    """Probability of the suggested unlabelled tree."""
    second_best: AlternativeTree | None = None
    """The second-best tree, if there is one."""
    note: str | None = None
    """A remark, for example that no projective tree satisfies the decisions."""
    clash: tuple[int, ...] = ()
    """Words whose decisions form a cycle; the suggestions ignore those decisions."""
    gain_error: float | None = None
    """Upper bound on the error of the gains, which skip improbable heads."""


@dataclass(frozen=True)
class SuggestionChange:
    """A suggestion that differs from an earlier one, and the decision that caused it."""

    word: int
    was: tuple[int, str]
    """Head and label before."""
    now: tuple[int, str]
    because: int | None
    """The word whose decision alone explains the change; None if no single decision does."""
