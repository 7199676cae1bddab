"""Plots with matplotlib, an optional dependency."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arcwise.errors import InputError
from arcwise.evaluation.calibration import Calibration
from arcwise.optional import require
from arcwise.treebanks.files import PathLike, open_output
from arcwise.treebanks.statistics import Statistics, percent

if TYPE_CHECKING:
    from arcwise.induction.global_search import TracePoint
    from arcwise.transition.coverage import Coverage

FORMATS = ("png", "svg", "pdf")
_COLORS = ("#1d5fd1", "#c2410c", "#0c7c6c", "#7c3aed", "#b8860b", "#6b7785")


def new_figure(width: float, height: float) -> Any:
    """An empty matplotlib figure, in inches."""
    require("matplotlib")
    # Not pyplot, which keeps every figure in global state and may look for a display.
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def plot_format(path: PathLike) -> str:
    """The format of a plot, from the extension of its path."""
    extension = Path(path).suffix.removeprefix(".").lower()
    if extension not in FORMATS:
        raise InputError(f"{path}: found the extension {extension!r}, expected one of {', '.join(FORMATS)}")
    return extension


def check_plot(path: PathLike) -> None:
    """Check before the work starts that a plot can be written."""
    plot_format(path)
    require("matplotlib")


def save(figure: Any, path: PathLike) -> None:
    """Write a figure as .png, .svg or .pdf, atomically."""
    # In memory first: matplotlib would write the file in place, not atomically.
    image = io.BytesIO()
    figure.savefig(image, format=plot_format(path), dpi=150)
    with open_output(path) as out:
        out.write(image.getvalue())


def plot_statistics(treebanks: Sequence[Statistics], names: Sequence[str]) -> Any:
    """Plot lengths, depths, gap degrees and the most frequent labels of treebanks."""
    figure = new_figure(11, 8)
    lengths, depths, gaps, labels = figure.subplots(2, 2).ravel()
    for treebank, name, color in zip(treebanks, names, _colors(len(names)), strict=True):
        _plot_shares(lengths, treebank.lengths, name, color, step=5)
        _plot_shares(depths, treebank.depths, name, color, step=1)
    lengths.set(title="Sentence length", xlabel="words, in steps of 5", ylabel="% of sentences")
    depths.set(title="Tree depth", xlabel="words from the root down", ylabel="% of sentences")
    lengths.legend(frameon=False)
    most = max(max(t.gap_degrees, default=0) for t in treebanks)
    degrees = range(1, max(most, 1) + 1)
    shares = [[percent(t.gap_degrees[d], t.sentences) for d in degrees] for t in treebanks]
    _plot_bars(gaps, [str(d) for d in degrees], shares)
    gaps.set(title="Gap degree of non-projective trees", xlabel="gap degree", ylabel="% of sentences")
    frequent = [name for name, _ in sum((t.labels for t in treebanks), Counter[str]()).most_common(15)]
    shares = [[percent(t.labels[name], t.words) for name in frequent] for t in treebanks]
    _plot_bars(labels, frequent, shares)
    labels.set(title="Most frequent labels", ylabel="% of words")
    labels.tick_params(axis="x", rotation=60)
    for axes in (lengths, depths, gaps, labels):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="y", alpha=0.25)
    return figure


def _colors(count: int) -> list[str]:
    return [_COLORS[i % len(_COLORS)] for i in range(count)]


def _plot_shares(axes: Any, counts: Counter[int], name: str, color: str, *, step: int) -> None:
    """Plot a histogram with bins of ``step`` values as a line; empty bins are 0."""
    starts = range(1, max(counts, default=1) + 1, step)
    shares = [percent(sum(counts[v] for v in range(s, s + step)), counts.total()) for s in starts]
    axes.plot([s + (step - 1) / 2 for s in starts], shares, label=name, color=color)


def _plot_bars(axes: Any, names: Sequence[str], shares: Sequence[Sequence[float]]) -> None:
    """Plot a group of bars per name, a colour per treebank."""
    width = 0.8 / len(shares)
    for index, (heights, color) in enumerate(zip(shares, _colors(len(shares)), strict=True)):
        positions = [i + (index - (len(shares) - 1) / 2) * width for i in range(len(names))]
        axes.bar(positions, heights, width=width, color=color)
    axes.set_xticks(range(len(names)), names)


def plot_reliability(calibration: Calibration) -> Any:
    """Plot a reliability diagram: accuracy over confidence; the size of a point is its number of words."""
    figure = new_figure(5, 5)
    axes = figure.subplots()
    points = [b for b in calibration.bins if b.count]
    most = max(b.count for b in points)
    axes.plot([0, 1], [0, 1], color=_COLORS[-1], linewidth=1)
    axes.scatter(
        [b.confidence for b in points],
        [b.accuracy for b in points],
        s=[10 + 190 * b.count / most for b in points],
        color=_COLORS[0],
    )
    title = f"expected calibration error {100 * calibration.error:.2f} %"
    axes.set(title=title, xlabel="confidence", ylabel="accuracy", xlim=(0, 1), ylim=(0, 1))
    return figure


def plot_bounds(trace: Sequence[TracePoint]) -> Any:
    """Plot incumbent and upper bound of a global search over time (Gormley & Eisner 2013, figure 5)."""
    figure = new_figure(7, 4)
    axes = figure.subplots()
    seconds = [p.seconds for p in trace]
    lower, upper = [p.lower for p in trace], [p.upper for p in trace]
    axes.step(seconds, upper, where="post", color="#c2410c", label="upper bound")
    axes.step(seconds, lower, where="post", color="#1d5fd1", label="incumbent")
    axes.fill_between(seconds, lower, upper, step="post", color="#6b7785", alpha=0.15)
    axes.set(
        xlabel="seconds",
        ylabel="log-likelihood",
        title=f"gap {100 * trace[-1].gap:.2f} %, {trace[-1].nodes} nodes",
    )
    axes.legend(frameon=False)
    return figure


def plot_coverage(results: Sequence[Coverage]) -> Any:
    """Plot the coverage of transition systems over the arc distance D, one line per capacity K."""
    figure = new_figure(6, 4)
    axes = figure.subplots()
    ordered = sorted(results, key=lambda r: (r.system.capacity or 10**6, r.system.max_distance or 10**6))
    for capacity, group in groupby(ordered, key=lambda r: r.system.capacity):
        points = [(str(r.system.max_distance or "∞"), 100 * r.sentences) for r in group]
        axes.plot(*zip(*points, strict=True), marker="o", label=f"K = {capacity or '∞'}")
    axes.set(xlabel="arc distance D", ylabel="coverage (% of sentences)")
    axes.grid(alpha=0.3)
    axes.legend()
    return figure
