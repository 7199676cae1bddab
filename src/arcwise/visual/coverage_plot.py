"""Coverage of transition systems drawn over K and D."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from arcwise.errors import MissingExtraError, OptionError
from arcwise.transition.coverage import Coverage
from arcwise.treebanks.files import open_output


def coverage_plot(results: Sequence[Coverage], path: str) -> None:
    """One line per capacity K: the share of sentences that can be built, over the arc distance D."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError("matplotlib", "plot") from error
    kind = path.rpartition(".")[2]
    if kind not in ("svg", "png", "pdf"):
        raise OptionError("path", f"found {path!r}, expected a name that ends in .svg, .png or .pdf")
    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    ordered = sorted(results, key=lambda r: (r.system.capacity or 10**6, r.system.max_distance or 10**6))
    for capacity, group in groupby(ordered, key=lambda r: r.system.capacity):
        points = [(str(r.system.max_distance or "∞"), 100 * r.sentences) for r in group]
        axes.plot(*zip(*points, strict=True), marker="o", label=f"K = {capacity or '∞'}")
    axes.set(xlabel="arc distance D", ylabel="sentences that can be built (%)")
    axes.grid(alpha=0.3)
    axes.legend()
    with open_output(path) as stream:
        figure.savefig(stream, format=kind)
