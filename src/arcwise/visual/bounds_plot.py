"""The bounds of a global search over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from arcwise.induction.global_search import TracePoint
from arcwise.visual.plots import new_figure


def plot_bounds(trace: Sequence[TracePoint]) -> Any:
    """Incumbent and upper bound over seconds, as a matplotlib figure (Gormley & Eisner 2013, figure 5)."""
    figure = new_figure(7, 4)
    axes = figure.subplots()
    seconds = [p.seconds for p in trace]
    lower, upper = [p.lower for p in trace], [p.upper for p in trace]
    axes.step(seconds, upper, where="post", color="#c2410c", label="upper bound")
    axes.step(seconds, lower, where="post", color="#1d5fd1", label="best parses found")
    axes.fill_between(seconds, lower, upper, step="post", color="#6b7785", alpha=0.15)
    axes.set(
        xlabel="seconds",
        ylabel="log-likelihood",
        title=f"gap {100 * trace[-1].gap:.2f} %, {trace[-1].nodes} nodes",
    )
    axes.legend(frameon=False)
    return figure
