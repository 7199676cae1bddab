"""Calibration of confidences, from few sentences and from whole treebanks.

    python -m benchmarks.calibration [--draws 10] [--sentences 100]

Trains the graph-based parser with its default options and gold tags. Few sentences: drawn from the training
data, no development data (cross-validation, as in ``arcwise train``), measured on the test data. ``--full``:
all training data, calibrated on the development data. ``--halves``: temperatures and smoothing refitted on
one half of the development data and measured on the other, which shows how calibration carries over to other
text of the same kind; test data stay unread. ``--trainer`` and ``--projective`` replace the defaults. ``--on
dev`` measures on the development data (for changes to the parser). Set ARCWISE_TREEBANKS to the treebanks;
``--write`` writes the table to RESULTS.md.
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
    "heads: ECE %",
    "± over draws",
    "head and label: ECE %",
    "LAS",
)

HALVES_HEADER = (
    "treebank",
    "fitted on",
    "heads, same half: ECE %",
    "heads, other half: ECE %",
    "overconfidence, %",
)


def drawn(train: Treebank, sentences: int, draw: int) -> Treebank:
    """Draw sentences from the training data, in treebank order."""
    chosen = np.sort(np.random.default_rng(draw).permutation(len(train))[:sentences])
    return Treebank.from_sentences((train[int(i)] for i in chosen), source=train.source)


def errors(parser: GraphParser, measured: Treebank) -> tuple[float, float, float]:
    """Expected calibration errors of heads and of labelled heads, and LAS (subtypes cut), in per cent."""
    curves = reliability(parser, measured)
    assert curves.labels is not None
    las = evaluate(measured, parser.parse(measured)).attachment.las
    return 100 * curves.heads.error, 100 * curves.labels.error, 100 * las


def row(name: str, folder: Path, options: argparse.Namespace) -> tuple[object, ...]:
    """One row of the table."""
    parts = {part: Treebank.read(folder / name / f"{part}.conllu.xz") for part in ("train", "dev", "test")}
    measured, config = parts[options.on], config_of(options)
    if options.full:
        parser = GraphParser.train(parts["train"], parts["dev"], config=config)
        heads, labels, las = errors(parser, measured)
        return name, f"{len(parts['train']):,}", 1, f"{heads:.2f}", "", f"{labels:.2f}", f"{las:.2f}"
    draws = []
    for draw in range(options.draws):
        parser = GraphParser.train(drawn(parts["train"], options.sentences, draw), "auto", config=config)
        draws.append(errors(parser, measured))
        print(
            f"{name}, draw {draw}: heads {draws[-1][0]:.2f} %, head and label {draws[-1][1]:.2f} %",
            flush=True,
        )
    mean, spread = np.mean(draws, axis=0), np.std(draws, axis=0)
    heads, labels, las = (f"{value:.2f}" for value in mean)
    return name, options.sentences, options.draws, heads, f"{spread[0]:.2f}", labels, las


def halves(name: str, folder: Path, options: argparse.Namespace) -> list[tuple[object, ...]]:
    """Two rows: fit on one half of the development data, measure on the other."""
    train, dev = (Treebank.read(folder / name / f"{part}.conllu.xz") for part in ("train", "dev"))
    parser = GraphParser.train(train, dev, config=config_of(options))
    middle = len(dev) // 2
    first, second = (
        Treebank.from_sentences((dev[i] for i in half), source=dev.source)
        for half in (range(middle), range(middle, len(dev)))
    )
    rows: list[tuple[object, ...]] = []
    for name_of_half, fitted_half, other_half in (
        ("first half", first, second),
        ("second half", second, first),
    ):
        fitted = fit_temperatures(parser, fitted_half, steps=12)
        same, held_out = (reliability(fitted, half).heads for half in (fitted_half, other_half))
        errors = (f"{100 * curve.error:.2f}" for curve in (same, held_out))
        rows.append((name, name_of_half, *errors, f"{100 * held_out.overconfidence:+.2f}"))
    return rows


def config_of(options: argparse.Namespace) -> GraphConfig:
    """Training configuration of the parser."""
    config = GraphConfig(projective=options.projective)
    return config.for_trainer(options.trainer) if options.trainer else config


def main() -> None:
    """Print the table, and write it to RESULTS.md on request."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--sentences", type=int, default=100)
    parser.add_argument(
        "--full", action="store_true", help="train on all training data, calibrate on development data"
    )
    parser.add_argument(
        "--halves", action="store_true", help="fit on one half of the development data, measure on the other"
    )
    parser.add_argument("--trainer", choices=sorted(TRAINERS), help="trainer to use instead of the default")
    parser.add_argument("--projective", action="store_true", help="train on projective trees only")
    parser.add_argument("--on", choices=("dev", "test"), default="test")
    parser.add_argument("--treebanks", nargs="+", default=TREEBANKS)
    parser.add_argument("--write", action="store_true", help="write the table to RESULTS.md")
    options = parser.parse_args()
    folder = os.environ.get("ARCWISE_TREEBANKS")
    if folder is None:
        sys.exit("ARCWISE_TREEBANKS: set it to a folder of treebanks")
    if options.halves:
        rows_of_halves = [line for name in options.treebanks for line in halves(name, Path(folder), options)]
        body, kind, of = table(HALVES_HEADER, rows_of_halves), "halves", "halves of the development data"
    else:
        rows = [row(name, Path(folder), options) for name in options.treebanks]
        mean = np.mean([float(str(cells[3])) for cells in rows])
        body = f"{table(HEADER, rows)}\nMean expected calibration error of heads: {mean:.2f} %."
        kind, of = ("full", "whole treebanks") if options.full else ("", "little data")
    print(body)
    if options.write:
        trained = [options.trainer] * bool(options.trainer) + ["projective"] * options.projective
        name, title = "-".join(filter(None, ("calibration", kind, *trained))), ", ".join((of, *trained))
        write_section(name, f"Calibration ({title})", body, module="calibration")


if __name__ == "__main__":
    main()
