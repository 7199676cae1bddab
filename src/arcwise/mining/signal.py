"""``Signal`` and ``Measurement``: one kind of evidence about every word of a treebank."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from arcwise.mining.crossfit import Crossfitted
from arcwise.mining.evidence import Floats
from arcwise.mining.words import FlatWords


@dataclass(frozen=True)
class Vote:
    """A value that a signal proposes for a word, with its weight."""

    column: str
    """``upos``, ``lemma`` or ``feats``; ``arc``: a head (0..n), and a label as the value."""
    head: int = -1
    value: str = "_"
    weight: float = 1.0


def no_votes(word: int) -> list[Vote]:
    """The votes of a signal that proposes nothing."""
    return []


@dataclass(frozen=True)
class Measurement:
    """A signal's values, reasons and votes for every word."""

    score: Floats
    """Log-odds of an error according to this signal only; NaN where it has no evidence."""
    columns: Mapping[str, Floats]
    """Features for the combiner: higher is more suspicious; NaN where it has no evidence."""
    reasons: Callable[[int], list[str]] = lambda word: []
    """Sentences that explain the score of a word (a flat index)."""
    votes: Callable[[int], list[Vote]] = no_votes
    """Proposals for a word."""
    kinds: Mapping[str, list[str]] = field(default_factory=dict)
    """Categories for the combiner, one per word, which learns how often each is an error."""


class Signal(Protocol):
    """One kind of evidence."""

    @property
    def name(self) -> str:
        """The name in ``--signals``."""
        ...

    @property
    def help(self) -> str:
        """One line about it."""
        ...

    @property
    def crossfits(self) -> bool:
        """Whether it needs the evidence of cross-fitted parsers."""
        ...

    def measure(self, words: FlatWords, crossfitted: Crossfitted) -> Measurement:
        """Measure every word."""
        ...


@dataclass(frozen=True)
class FunctionSignal:
    """A function as a signal."""

    name: str
    help: str
    function: Callable[[FlatWords, Crossfitted], Measurement] = field(repr=False)
    crossfits: bool = False

    def measure(self, words: FlatWords, crossfitted: Crossfitted) -> Measurement:
        """Measure every word."""
        return self.function(words, crossfitted)


def log_odds(probability: Floats, least: float = 1e-6) -> Floats:
    """log(p / (1 - p)), bounded; NaN stays.

    >>> log_odds(np.array([0.5, 0.0])).round(1).tolist()
    [0.0, -13.8]
    """
    p = np.clip(probability, least, 1 - least)
    return np.asarray(np.log(p) - np.log1p(-p))


def percent(probability: float) -> str:
    """Format a probability as a percentage.

    >>> percent(0.0234), percent(0.00001), percent(0.97)
    ('2.3 %', 'under 0.1 %', '97 %')
    """
    if probability < 0.001:
        return "under 0.1 %"
    return f"{100 * probability:.1f} %" if probability < 0.1 else f"{100 * probability:.0f} %"


def times(share: float) -> str:
    """Format the odds against an event with this probability as a multiple.

    >>> times(0.1), times(0.0123), times(0.00001)
    ('9 times', '80 times', 'over 1,000 times')
    """
    odds = (1 - share) / max(share, 1e-9)
    return f"{odds:.0f} times" if odds <= 1000 else "over 1,000 times"
