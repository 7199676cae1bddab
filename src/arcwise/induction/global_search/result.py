"""What a search reports, while it runs and in the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from arcwise.induction.dmv import DMV
from arcwise.trees import Tree


@dataclass(frozen=True)
class TracePoint:
    """Where a search stands: no parses of the corpus have a log-likelihood above ``upper``, some have ``lower``."""

    seconds: float
    lower: float
    upper: float
    nodes: int
    open_nodes: int

    @property
    def gap(self) -> float:
        """(upper - lower) / |lower|."""
        return relative_gap(self.lower, self.upper)


ProgressCallback = Callable[[TracePoint], None]


@dataclass(frozen=True, eq=False)
class Result:
    """The best parameters and parses found, and how far from optimal they can be.

    ``lower``: log-likelihood of the parses under the parameters. ``upper``: no parameters and parses have more. ``certificate``: what
    ``arcwise.induction.verifier`` needs to check that (None for methods without one).
    """

    parameters: DMV
    parses: list[Tree]
    lower: float
    upper: float
    trace: list[TracePoint]
    certificate: dict[str, Any] | None = None

    @property
    def gap(self) -> float:
        """(upper - lower) / |lower|."""
        return relative_gap(self.lower, self.upper)


def relative_gap(lower: float, upper: float) -> float:
    """(upper - lower) / |lower|; 0 if they are equal."""
    if upper <= lower:
        return 0.0
    return (upper - lower) / abs(lower) if lower else float("inf")
