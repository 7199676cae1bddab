"""Coverage of transition systems drawn over K and D."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from arcwise.transition.coverage import Coverage
from arcwise.treebanks.files import PathLike
from arcwise.visual.plots import new_figure, save


def coverage_plot(results: Sequence[Coverage], path: PathLike) -> None:
    """One line per capacity K: the share of sentences that can be built, over the arc distance D."""
    figure = new_figure(6, 4)
    axes = figure.subplots()
    ordered = sorted(results, key=lambda r: (r.system.capacity or 10**6, r.system.max_distance or 10**6))
    for capacity, group in groupby(ordered, key=lambda r: r.system.capacity):
        points = [(str(r.system.max_distance or "∞"), 100 * r.sentences) for r in group]
        axes.plot(*zip(*points, strict=True), marker="o", label=f"K = {capacity or '∞'}")
    axes.set(xlabel="arc distance D", ylabel="sentences that can be built (%)")
    axes.grid(alpha=0.3)
    axes.legend()
    save(figure, path)
