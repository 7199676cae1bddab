"""Calibration of confidences, from few sentences and from whole treebanks.

    python -m benchmarks.calibration [--draws 10] [--sentences 100]

Trains the graph-based parser with its default options and gold tags. Few sentences: drawn from the training
data, no development data (cross-validation, as in ``arcwise train``), measured on the test data. ``--full``:
all training data, calibrated on the development data. ``--halves``: temperatures and smoothing refitted on
one half of the development data and measured on the other, which shows how calibration carries over to other
text of the same kind; test data stay unread. ``--trainer`` and ``--projective`` replace the defaults. ``--on
dev`` measures on the development data (for changes to the parser). Set ARCWISE_TREEBANKS to the treebanks;
``--write`` writes the table to RESULTS.md.

``--pipeline``: pipelines trained as ``arcwise annotate`` trains them, measured on gold words with the tags
that they predict and with gold tags; also how often heads with labels of at least 95 and 97 % are right.
"""

from __future__ import annotations

import argparse
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from measuring.tables import table

from arcwise.annotation.tag_accuracy import untagged
from arcwise.annotation.training import train as train_to_annotate
from arcwise.evaluation import evaluate
from arcwise.evaluation.calibration import calibration
from arcwise.graph import GraphConfig, GraphParser
from arcwise.graph.trainer_table import TRAINERS
from arcwise.parsing import ParseOptions
from arcwise.parsing.calibration import fit_temperatures, reliability
from arcwise.pipeline.pipeline import as_pipeline
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

MEASURED = 800
"""Sentences, spread over the treebank, on which pipelines are measured."""

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


PIPELINE_HEADER = (
    "treebank",
    "training sentences",
    "tags",
    "LAS",
    "heads: ECE %",
    "head and label: ECE %",
    "said ≥ 95 %: words, %",
    "right, %",
    "said ≥ 97 %: words, %",
    "right, %",
)
PIPELINE_TREEBANKS = ("English-EWT", "Slovenian-SSJ-rs", "Turkish-IMST")


def pipeline_rows(name: str, folder: Path, options: argparse.Namespace) -> list[tuple[object, ...]]:
    """Two rows: predicted and gold tags, means over draws; shares of sure words pool all draws."""
    train, measured = (Treebank.read(folder / name / f"{part}.conllu.xz") for part in ("train", options.on))
    measured = measured.spread(MEASURED) if len(measured) > MEASURED else measured
    pools: dict[str, list[Stated]] = {"predicted": [], "gold": []}
    for draw in range(options.draws):
        pipeline = as_pipeline(train_to_annotate(drawn(train, options.sentences, draw), "pipeline"))
        assert pipeline is not None
        tagged = pipeline.tagger.tag(untagged(measured), confidence=True)
        for tags, treebank in (("predicted", tagged), ("gold", measured)):
            pools[tags].append(Stated.of(pipeline.parser, treebank, measured))
            print(f"{name}, draw {draw}, {tags} tags: {pools[tags][-1].line}", flush=True)
    rows: list[tuple[object, ...]] = []
    for tags, draws in pools.items():
        means = np.mean([draw.errors for draw in draws], axis=0)
        joint, right = (
            np.concatenate([getattr(draw, field) for draw in draws]) for field in ("joint", "right")
        )
        sure = [part for least in (0.95, 0.97) for part in share_and_accuracy(joint, right, least)]
        rows.append((name, options.sentences, tags, *(f"{value:.1f}" for value in (*means, *sure))))
    return rows


@dataclass(frozen=True)
class Stated:
    """The stated probabilities of the parsed words and whether they are right."""

    heads: npt.NDArray[np.float64]
    heads_right: npt.NDArray[np.bool_]
    joint: npt.NDArray[np.float64]
    right: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, parser: Any, treebank: Treebank, gold: Treebank) -> Stated:
        """Parse ``treebank``, which has the words of ``gold``."""
        parses = parser.parses(treebank, options=ParseOptions(confidence=True))
        heads_right = parses.heads == gold.heads
        right = heads_right & (parses.label_strings == np.array(gold.column("deprel"), object))
        probabilities = parses.probabilities
        heads, joint = (np.asarray(p, np.float64) for p in (probabilities.head, probabilities.label))
        return cls(heads, heads_right, joint, right)

    @property
    def errors(self) -> tuple[float, float, float]:
        """LAS (with subtypes) and the expected calibration errors of heads and of labelled heads, in %."""
        of_heads, of_labels = calibration(self.heads, self.heads_right), calibration(self.joint, self.right)
        return 100 * float(self.right.mean()), 100 * of_heads.error, 100 * of_labels.error

    @property
    def line(self) -> str:
        """One line for the progress of the benchmark."""
        las, heads, labels = self.errors
        sure, right = share_and_accuracy(self.joint, self.right, 0.97)
        return f"LAS {las:.1f}, ECE {heads:.1f} {labels:.1f}, {sure:.1f} % at 97 % right in {right:.1f} %"


def share_and_accuracy(
    stated: npt.NDArray[np.float64], right: npt.NDArray[np.bool_], least: float
) -> tuple[float, float]:
    """The share of words with at least this probability, and how often they are right, in per cent."""
    sure = stated >= least
    return 100 * float(sure.mean()), 100 * float(right[sure].mean()) if sure.any() else float("nan")


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
    parser.add_argument(
        "--pipeline", action="store_true", help="pipelines of arcwise annotate, predicted and gold tags"
    )
    parser.add_argument("--treebanks", nargs="+")
    parser.add_argument("--write", action="store_true", help="write the table to RESULTS.md")
    options = parser.parse_args()
    folder = os.environ.get("ARCWISE_TREEBANKS")
    if folder is None:
        sys.exit("ARCWISE_TREEBANKS: set it to a folder of treebanks")
    if options.treebanks is None:
        options.treebanks = PIPELINE_TREEBANKS if options.pipeline else TREEBANKS
    if options.pipeline:
        rows_of_pipelines = [
            line for name in options.treebanks for line in pipeline_rows(name, Path(folder), options)
        ]
        body, kind = table(PIPELINE_HEADER, rows_of_pipelines), f"pipeline-{options.sentences}"
        of = f"pipelines from {options.sentences} sentences, {options.draws} draws, {options.on}"
    elif options.halves:
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
