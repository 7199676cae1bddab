"""How honest confidences are, from little data and from whole treebanks: ``python -m benchmarks.calibration [--draws 10] [--sentences 100]``.

The graph-based parser by its own defaults, with the treebank's tags. From little data: some sentences drawn from the training data,
no development data (cross-validation, as ``arcwise train`` does it), measured on the test data. ``--full``: all training
data, the development data to fit on. ``--on dev`` measures on the development data (for whoever changes the parser). Treebanks by
ARCWISE_TREEBANKS; the table goes to RESULTS.md with ``--write``.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np
from measuring.tables import table

from arcwise.graph import GraphParser
from arcwise.parsing.calibration import reliability
from arcwise.treebanks import Treebank
from benchmarks.report import write_section

TREEBANKS = ("English-EWT", "Swedish-Talbanken", "Turkish-IMST")
HEADER = (
    "treebank",
    "training sentences",
    "draws",
    "heads: error %",
    "± over draws",
    "head and label: error %",
)


def drawn(train: Treebank, sentences: int, draw: int) -> Treebank:
    """Some sentences of the training data, in their order."""
    chosen = np.sort(np.random.default_rng(draw).permutation(len(train))[:sentences])
    return Treebank.from_sentences((train[int(i)] for i in chosen), source=train.source)


def errors(parser: GraphParser, measured: Treebank) -> tuple[float, float]:
    """The calibration errors of heads, and of heads with their labels, in per cent."""
    found = reliability(parser, measured)
    assert found.labels is not None
    return 100 * found.heads.error, 100 * found.labels.error


def row(name: str, folder: Path, options: argparse.Namespace) -> tuple[object, ...]:
    """One line of the table."""
    parts = {part: Treebank.read(folder / name / f"{part}.conllu.xz") for part in ("train", "dev", "test")}
    measured = parts[options.on]
    if options.full:
        parser = GraphParser.train(parts["train"], parts["dev"])
        heads, labels = errors(parser, measured)
        return name, f"{len(parts['train']):,}", 1, f"{heads:.2f}", "", f"{labels:.2f}"
    found = []
    for draw in range(options.draws):
        parser = GraphParser.train(drawn(parts["train"], options.sentences, draw), "auto")
        found.append(errors(parser, measured))
        print(
            f"{name}, draw {draw}: heads {found[-1][0]:.2f} %, head and label {found[-1][1]:.2f} %",
            flush=True,
        )
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0)
    return name, options.sentences, options.draws, f"{mean[0]:.2f}", f"{spread[0]:.2f}", f"{mean[1]:.2f}"


def main() -> None:
    """The table of the treebanks, on standard output or in RESULTS.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument("--full", action="store_true", help="all training data, with development data")
    parser.add_argument("--on", choices=("dev", "test"), default="test")
    parser.add_argument("--treebanks", nargs="+", default=TREEBANKS)
    parser.add_argument("--write", action="store_true", help="into RESULTS.md")
    options = parser.parse_args()
    folder = os.environ.get("ARCWISE_TREEBANKS")
    if folder is None:
        sys.exit("ARCWISE_TREEBANKS: expected a folder of treebanks")
    rows = [row(name, Path(folder), options) for name in options.treebanks]
    mean = np.mean([float(str(cells[3])) for cells in rows])
    told = f"{table(HEADER, rows)}\nMean calibration error of heads: {mean:.2f} %."
    print(told)
    if options.write:
        name = "calibration-full" if options.full else "calibration"
        kind = "whole treebanks" if options.full else "little data"
        write_section(name, f"Confidences ({kind})", told, module="calibration")


if __name__ == "__main__":
    main()
