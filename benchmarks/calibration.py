"""How honest confidences are, from little data and from whole treebanks: ``python -m benchmarks.calibration [--draws 10] [--sentences 100]``.

The graph-based parser by its own defaults, with the treebank's tags. From little data: some sentences drawn from the training data,
no development data (cross-validation, as ``arcwise train`` does it), measured on the test data. ``--full``: all training
data, the development data to fit on. ``--halves``: temperatures and smoothing fitted anew on one half of the development data and
measured on the other, to see what other text of the same kind costs; no test data are read. ``--trainer``
and ``--projective`` train otherwise than by the defaults. ``--on dev`` measures on the development data (for whoever changes the parser). Treebanks by ARCWISE_TREEBANKS; the table goes to RESULTS.md with ``--write``.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import numpy as np
from measuring.tables import table

from arcwise.evaluation import evaluate
from arcwise.graph import GraphConfig, GraphParser
from arcwise.graph.trainer_table import TRAINERS
from arcwise.parsing.calibration import fit_temperatures, reliability
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
    "LAS",
)

HALVES_HEADER = (
    "treebank",
    "fitted on",
    "heads there: error %",
    "heads of the other half: error %",
    "said in excess of what is right, %",
)


def drawn(train: Treebank, sentences: int, draw: int) -> Treebank:
    """Some sentences of the training data, in their order."""
    chosen = np.sort(np.random.default_rng(draw).permutation(len(train))[:sentences])
    return Treebank.from_sentences((train[int(i)] for i in chosen), source=train.source)


def errors(parser: GraphParser, measured: Treebank) -> tuple[float, float, float]:
    """The calibration errors of heads, and of heads with their labels, and LAS (subtypes cut), in per cent."""
    found = reliability(parser, measured)
    assert found.labels is not None
    las = evaluate(measured, parser.parse(measured)).attachment.las
    return 100 * found.heads.error, 100 * found.labels.error, 100 * las


def row(name: str, folder: Path, options: argparse.Namespace) -> tuple[object, ...]:
    """One line of the table."""
    parts = {part: Treebank.read(folder / name / f"{part}.conllu.xz") for part in ("train", "dev", "test")}
    measured, config = parts[options.on], config_of(options)
    if options.full:
        parser = GraphParser.train(parts["train"], parts["dev"], config=config)
        heads, labels, las = errors(parser, measured)
        return name, f"{len(parts['train']):,}", 1, f"{heads:.2f}", "", f"{labels:.2f}", f"{las:.2f}"
    found = []
    for draw in range(options.draws):
        parser = GraphParser.train(drawn(parts["train"], options.sentences, draw), "auto", config=config)
        found.append(errors(parser, measured))
        print(
            f"{name}, draw {draw}: heads {found[-1][0]:.2f} %, head and label {found[-1][1]:.2f} %",
            flush=True,
        )
    mean, spread = np.mean(found, axis=0), np.std(found, axis=0)
    heads, labels, las = (f"{value:.2f}" for value in mean)
    return name, options.sentences, options.draws, heads, f"{spread[0]:.2f}", labels, las


def halves(name: str, folder: Path, options: argparse.Namespace) -> list[tuple[object, ...]]:
    """Two lines: fitted on one half of the development data, in its order, measured on the other."""
    train, dev = (Treebank.read(folder / name / f"{part}.conllu.xz") for part in ("train", "dev"))
    parser = GraphParser.train(train, dev, config=config_of(options))
    middle = len(dev) // 2
    first, second = (
        Treebank.from_sentences((dev[i] for i in half), source=dev.source)
        for half in (range(middle), range(middle, len(dev)))
    )
    found: list[tuple[object, ...]] = []
    for said, own, other in (("the first half", first, second), ("the second half", second, first)):
        fitted = fit_temperatures(parser, own, steps=12)
        there, elsewhere = (reliability(fitted, half).heads for half in (own, other))
        errors = (f"{100 * one.error:.2f}" for one in (there, elsewhere))
        found.append((name, said, *errors, f"{100 * elsewhere.overconfidence:+.2f}"))
    return found


def config_of(options: argparse.Namespace) -> GraphConfig:
    """What the parser is trained by."""
    config = GraphConfig(projective=options.projective)
    return config.for_trainer(options.trainer) if options.trainer else config


def main() -> None:
    """The table of the treebanks, on standard output or in RESULTS.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument("--full", action="store_true", help="all training data, with development data")
    parser.add_argument(
        "--halves", action="store_true", help="fitted on one half of dev, measured on the other"
    )
    parser.add_argument("--trainer", choices=sorted(TRAINERS), help="another one than the default")
    parser.add_argument("--projective", action="store_true", help="trained on trees without crossing arcs")
    parser.add_argument("--on", choices=("dev", "test"), default="test")
    parser.add_argument("--treebanks", nargs="+", default=TREEBANKS)
    parser.add_argument("--write", action="store_true", help="into RESULTS.md")
    options = parser.parse_args()
    folder = os.environ.get("ARCWISE_TREEBANKS")
    if folder is None:
        sys.exit("ARCWISE_TREEBANKS: expected a folder of treebanks")
    if options.halves:
        own = [line for name in options.treebanks for line in halves(name, Path(folder), options)]
        told, kind, of = table(HALVES_HEADER, own), "halves", "halves of the development data"
    else:
        rows = [row(name, Path(folder), options) for name in options.treebanks]
        mean = np.mean([float(str(cells[3])) for cells in rows])
        told = f"{table(HEADER, rows)}\nMean calibration error of heads: {mean:.2f} %."
        kind, of = ("full", "whole treebanks") if options.full else ("", "little data")
    print(told)
    if options.write:
        trained = [options.trainer] * bool(options.trainer) + ["projective"] * options.projective
        name, title = "-".join(filter(None, ("calibration", kind, *trained))), ", ".join((of, *trained))
        write_section(name, f"Confidences ({title})", told, module="calibration")


if __name__ == "__main__":
    main()
