"""The figures of RESULTS.md, drawn from its tables in one style: ``python -m benchmarks.figures``.

Benchmarks write tables only. Run this after one of those below; a figure shows what its tables say.
"""

from __future__ import annotations

import math
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks import learning_curve, peer_parsers, scaling
from benchmarks.report import RESULTS, table_rows

COLORS = ("#1d5fd1", "#c2410c", "#0c7c6c", "#7c3aed", "#b8860b", "#6b7785", "#be185d", "#0891b2", "#4d7c0f")
"""Those of ``arcwise stats --plot``, and three more."""
STYLE = {
    "axes.edgecolor": "#6b7785",
    "axes.grid": True,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlesize": 12,
    "figure.dpi": 120,
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "grid.alpha": 0.3,
    "legend.fontsize": 9,
    "legend.frameon": False,
    "lines.markersize": 5,
    "savefig.bbox": "tight",
}
FOLDER = Path(__file__).parent


def main(results: str | None = None, folder: Path = FOLDER) -> None:
    """Draw every figure."""
    import matplotlib
    from cycler import cycler
    from matplotlib import pyplot

    text = RESULTS.read_text("utf-8") if results is None else results
    style = STYLE | {"axes.prop_cycle": cycler(color=COLORS)}
    with matplotlib.rc_context(style):
        for path, draw in (
            (learning_curve.PLOT, draw_learning_curve),
            (peer_parsers.PLOT, draw_accuracy_and_speed),
            (scaling.PLOT, draw_growth),
        ):
            figure = draw(text)
            figure.savefig(folder / path.name, metadata={"Software": None})
            pyplot.close(figure)


def draw_learning_curve(results: str) -> Any:
    """LAS against the number of annotated sentences, with a band of one standard deviation."""
    from matplotlib import pyplot

    points = learning_curve.written(results)
    languages, sizes = learning_curve.LANGUAGES, learning_curve.SIZES
    figure, axes = pyplot.subplots(1, len(languages), figsize=(12, 3.8), sharey=True, layout="constrained")
    for axis, treebank in zip(axes, languages, strict=True):
        for parser, color in zip(learning_curve.PARSERS, COLORS, strict=False):
            # Sizes that were not measured get no mark, single draws no band.
            measured = {
                size: point
                for size in sizes
                if (point := points.get((treebank, size, parser))) and point.draws
            }
            means = [point.las for point in measured.values()]
            around = [0 if math.isnan(point.deviation) else point.deviation for point in measured.values()]
            axis.plot(list(measured), means, marker="o", color=color, label=NAMES.get(parser, parser))
            ends = ([m + sign * d for m, d in zip(means, around, strict=True)] for sign in (-1, 1))
            axis.fill_between(list(measured), *ends, color=color, alpha=0.15, linewidth=0)
        axis.set(xscale="log", title=treebank, xlabel="annotated sentences", xticks=sizes, xticklabels=sizes)
        axis.minorticks_off()
    axes[0].set_ylabel("LAS on test data")
    axes[-1].legend(loc="lower right")
    return figure


NAMES = {"udpipe": "UDPipe", "spacy": "spaCy"}


def draw_accuracy_and_speed(results: str) -> Any:
    """LAS against words per second; circles are arcwise, triangles its peers."""
    from matplotlib import pyplot

    points = {treebank: peer_parsers.points_of(results, treebank) for treebank in peer_parsers.LANGUAGES}
    names = list(dict.fromkeys(name for places in points.values() for name in places))
    figure, axes = pyplot.subplots(1, len(points), figsize=(12, 3.8), layout="constrained")
    handles: dict[str, Any] = {}
    for axis, (treebank, places) in zip(axes, points.items(), strict=True):
        for name, (speed, las) in places.items():
            color = COLORS[names.index(name) % len(COLORS)]
            mark = "^" if name in peer_parsers.PEERS else "o"
            label = NAMES.get(name, f"arcwise: {name}")
            handles[label] = axis.scatter(speed, las, marker=mark, color=color, s=45)
        axis.set(xscale="log", xlabel="words per second, one core", title=treebank)
        axis.margins(0.15)
    axes[0].set_ylabel("LAS")
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=3)
    return figure


def draw_growth(results: str) -> Any:
    """Time and memory at both ends of the measured sizes, joined; the legend has the slopes."""
    from matplotlib import pyplot

    panels = defaultdict(list)
    for what, name, *cells in table_rows("scaling", scaling.HEADER, results):
        panels[what].append((name, [float(cell) for cell in cells]))
    rows = max(1, (len(panels) + 1) // 2)
    figure, axes = pyplot.subplots(rows, 2, figsize=(12, 3.4 * rows), layout="constrained", squeeze=False)
    for axis, (what, curves) in zip(axes.flat, panels.items(), strict=False):
        y, _, x = what.rpartition(" over ")
        for name, (first, low, last, high, slope) in curves:
            axis.plot([first, last], [low, high], marker="o", label=f"{name}: {slope:g}")
        axis.set(xscale="log", yscale="log", xlabel=x, ylabel=y)
        axis.set_xticks([first, last], labels=[f"{end:g}" for end in (first, last)])
        axis.minorticks_off()
        axis.legend(loc="center left", bbox_to_anchor=(1, 0.5), title="slope", alignment="left")
    return figure


if __name__ == "__main__":
    main()
