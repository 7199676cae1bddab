"""How the search over counts works."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from arcwise.learning.options import check_options, option

SUBSETS = ("Max.0k", "Max.1k", "Max.10k", "Max.100k", "Obj.Filter", "All")

MOST = 1_000_000
"""Bound of options that count rounds and restarts."""


@dataclass(frozen=True)
class CountOptions:
    """How the search over counts works; the defaults did best."""

    middle: float = option(
        0.1,
        "A range is split at (1 - middle) × the value in the linear program + middle × its centre.",
        low=0,
        high=1,
    )
    enumerate_up_to: int = option(
        8,
        "The parses of sentences of at most so many words are enumerated; those of longer ones come from the Viterbi program.",
        low=0,
        high=20,
    )
    precision: float = option(
        0.02,
        "The linear program of a node is solved until it is this share of the distance to the incumbent from its limit.",
        above=0,
    )
    rounds: int = option(60, "At most so many rounds of new columns in a node.", low=1, high=MOST)
    passes: int = option(
        3,
        "A node is bounded again, at most so often, while its bound deletes many of its parses.",
        low=0,
        high=MOST,
    )
    sweeps: int = option(
        30,
        "DualMessages of a node are improved at most so often (0: bounds by prices alone).",
        low=0,
        high=MOST,
    )
    least_gain: float = option(
        0.02,
        "They are improved while a sweep brings at least this share of the distance to the incumbent.",
        low=0,
    )
    candidates: int = option(
        1,
        "So many splits of a node are tried, and the best is taken (1: that of the linear program).",
        low=1,
        high=100,
    )
    trial_sweeps: int = option(
        1, "DualMessages of the two halves of each are improved so often.", low=0, high=MOST
    )
    first_restarts: int = option(2000, "Viterbi EM restarts before the search begins.", low=0, high=MOST)
    restarts: int = option(100, "Viterbi EM restarts after every 50th node.", low=0, high=MOST)

    def __post_init__(self) -> None:
        check_options(self)


Projection = Literal["normalise", "simplex", "parses"]
PROJECTIONS: tuple[Projection, ...] = ("normalise", "simplex", "parses")


@dataclass(frozen=True)
class ThetaOptions:
    """How the search over parameters works."""

    rlt: str = option(
        "Max.0k",
        "Products of constraints: Max.0k (envelopes alone), Max.1k, Max.10k, Max.100k (a random sample), Obj.Filter (those that touch the "
        "objective), All.",
        choices=SUBSETS,
    )
    projection: Projection = option(
        "normalise",
        "From a relaxed solution to parses: parameters normalised, or their nearest point of the simplex, or the arcs' best trees.",
    )
    smoothing: float = option(0.0, "Added to probabilities before they are projected.", low=0)
    integral: bool = option(True, "Split counts and arcs too, where θ is narrow.")
    narrow: float = option(0.25, "What counts as narrow, in probability.", low=0, high=1)
    cut_rounds: int = option(5, "Rounds of new tangent cuts per node.", low=0, high=MOST)
    first_restarts: int = option(
        10, "Viterbi EM restarts before the search begins (as in the paper).", low=0, high=MOST
    )

    def __post_init__(self) -> None:
        check_options(self)
