"""What a parser thinks of a sentence under the decisions that were taken: of each word, and of the whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from arcwise.inference import LabelledArc


@dataclass(frozen=True)
class Thought:
    """Of one word. Everything is conditional on all decisions of the sentence; entropies and gains are in nats."""

    decided_head: bool
    decided_label: bool
    head: int
    """The decided one, else the one proposed; -1 if there is neither."""
    label: str
    """The decided one, else the one proposed; ``_`` if there is neither."""
    probability: float | None = None
    """Of the head; None where the parser gives no probabilities."""
    label_probability: float | None = None
    """Of head and label together."""
    entropy: float | None = None
    """How unsure the parser is of the head."""
    gain: float | None = None
    """How much an answer to "which head?" is expected to settle in the whole sentence; None if not asked for."""
    alternatives: tuple[LabelledArc, ...] = ()
    """Heads with labels, most probable first: (head, label, probability of both)."""
    tags: Mapping[str, str] = field(default_factory=dict)
    """Column (``upos``, …) → what a tagger proposes where the file has ``_``."""
    upos_probability: float | None = None
    """Of the proposed UPOS."""


@dataclass(frozen=True)
class OtherTree:
    """Another tree of the sentence; ``heads`` and ``labels`` are one a word."""

    heads: tuple[int, ...]
    labels: tuple[str, ...]
    probability: float
    """Of the tree, its labels left open."""


@dataclass(frozen=True)
class Thoughts:
    """Of a sentence."""

    words: tuple[Thought, ...]
    """One a word, in order: that of word m is ``words[m - 1]``."""
    entropy: float | None = None
    """How unsure the parser is of the tree, labels left open, in nats."""
    probability: float | None = None
    """Of the tree proposed, labels left open."""
    second_best: OtherTree | None = None
    """The tree that comes second; None if there is no other."""
    note: str | None = None
    """One sentence about the decisions, if there is something to say: no tree allows them, or only one with crossing arcs or several roots;
    or that the parser gives no probabilities."""
    clash: tuple[int, ...] = ()
    """The words whose decisions no tree allows; the thoughts are those without these."""
    gain_error: float | None = None
    """How far, at most, the gains are from the exact ones, because improbable answers were skipped."""


@dataclass(frozen=True)
class Reason:
    """Why a proposal is another one than it was."""

    word: int
    was: tuple[int, str]
    """Head and label."""
    now: tuple[int, str]
    because: int | None
    """The word whose decision did it: without it, the proposal would be what it was. None: no single one did."""
