"""How the search over counts works."""

from __future__ import annotations

from dataclasses import dataclass

from arcwise.learning.options import check_options, option

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
        30, "Messages of a node are improved at most so often (0: bounds by prices alone).", low=0, high=MOST
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
        1, "Messages of the two halves of each are improved so often.", low=0, high=MOST
    )
    first_restarts: int = option(2000, "Viterbi EM restarts before the search begins.", low=0, high=MOST)
    restarts: int = option(100, "Viterbi EM restarts after every 50th node.", low=0, high=MOST)

    def __post_init__(self) -> None:
        check_options(self)
