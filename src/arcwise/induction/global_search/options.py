"""Options of the global searches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from arcwise.learning.options import check_options, option

SUBSETS = ("Max.0k", "Max.1k", "Max.10k", "Max.100k", "Obj.Filter", "All")

MOST = 1_000_000
"""Largest value of options that count rounds and restarts."""


@dataclass(frozen=True)
class CountOptions:
    """Options of the search over counts."""

    middle: float = option(
        0.1,
        "Split point of a range: (1 - middle) × the linear program's value + middle × the centre.",
        low=0,
        high=1,
    )
    enumerate_up_to: int = option(
        8,
        "Enumerate the parses of sentences up to this length; longer ones use dynamic programming.",
        low=0,
        high=20,
    )
    precision: float = option(
        0.02,
        "Stop the linear program of a node within this fraction of the gap to the incumbent.",
        above=0,
    )
    rounds: int = option(60, "Most rounds of column generation per node.", low=1, high=MOST)
    passes: int = option(
        3,
        "Most bounding passes per node, while they delete many of its parses.",
        low=0,
        high=MOST,
    )
    sweeps: int = option(
        30,
        "Most message-passing sweeps per node (0: bound by prices only).",
        low=0,
        high=MOST,
    )
    least_gain: float = option(
        0.02,
        "Continue sweeps while each closes at least this fraction of the gap to the incumbent.",
        low=0,
    )
    candidates: int = option(
        1,
        "Candidate splits for strong branching (1: the linear program's choice).",
        low=1,
        high=100,
    )
    trial_sweeps: int = option(
        1, "Message-passing sweeps for each half of a candidate split.", low=0, high=MOST
    )
    first_restarts: int = option(2000, "Viterbi EM restarts before the search.", low=0, high=MOST)
    restarts: int = option(100, "Viterbi EM restarts after every 50 nodes.", low=0, high=MOST)

    def __post_init__(self) -> None:
        check_options(self)


Projection = Literal["normalise", "simplex", "parses"]
PROJECTIONS: tuple[Projection, ...] = ("normalise", "simplex", "parses")


@dataclass(frozen=True)
class ThetaOptions:
    """Options of the search over parameters."""

    rlt: str = option(
        "Max.0k",
        "RLT products of constraints: Max.0k (none), Max.1k, Max.10k, Max.100k (a random sample), "
        "Obj.Filter (those of the objective's variables), All.",
        choices=SUBSETS,
    )
    second_level: int = option(
        0,
        "Second-level RLT: products of three constraints per node, drawn at random, beside those of two.",
        low=0,
        high=MOST,
    )
    projection: Projection = option(
        "normalise",
        "Projection of a relaxed solution: normalised parameters, the nearest point of the simplex, or "
        "the best trees of its arcs.",
    )
    smoothing: float = option(0.0, "Added to probabilities before projection.", low=0)
    integral: bool = option(True, "Branch on counts and arcs too, where θ is narrow.")
    narrow: float = option(0.25, "Width in probability below which θ is narrow.", low=0, high=1)
    cut_rounds: int = option(5, "Rounds of tangent cuts per node.", low=0, high=MOST)
    first_restarts: int = option(
        10, "Viterbi EM restarts before the search (as in the paper).", low=0, high=MOST
    )

    def __post_init__(self) -> None:
        check_options(self)
