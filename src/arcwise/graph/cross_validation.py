"""Train a graph-based parser with cross-validation in place of development data."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from arcwise.distillation import DistillationData, distillation_report
from arcwise.engine import Engine, ThisProcess
from arcwise.graph.config import GraphConfig
from arcwise.graph.model import GraphModel
from arcwise.graph.parser import GraphParser
from arcwise.graph.training import (
    GraphLearner,
    choose_decoding,
    decoding_candidates,
    say_decoding,
)
from arcwise.learning.cross_validation import FoldScores, FoldTask, cross_validate, fold_tasks, pooled
from arcwise.learning.folds import Folds, calibration_report
from arcwise.learning.progress import Progress
from arcwise.learning.training import DevScore, training_report
from arcwise.parsing.calibration import (
    confident_parses,
    fit_common_temperatures,
    head_calibration_error,
    match_label_temperature,
    temperatures_text,
)
from arcwise.parsing.scored import Decoding
from arcwise.treebanks import Treebank


def train_cross_validated(
    train: Treebank,
    folds: Folds,
    config: GraphConfig,
    threads: int,
    progress: Progress,
    distilled: DistillationData | None = None,
    engine: Engine = ThisProcess(),
) -> GraphModel:
    """Choose epoch, decoder and temperatures by cross-validation, then train on everything."""
    tasks = fold_tasks(folds, train, distilled)
    chosen = cross_validate(
        folds, tasks, partial(_train_fold, config, threads), engine=engine, progress=progress
    )
    # patience=0: the number of epochs is decided, and no development data are left to stop on.
    final = replace(config, epochs=chosen.epoch, patience=0)
    weights = engine.map(partial(_fold_weights, final, threads), tasks)
    held_out = [
        _FoldParser(_learner(task, final, 1), task.held_out, *sparse)
        for task, sparse in zip(tasks, weights, strict=True)
    ]
    decoding, score = _decoding(held_out, final, threads)
    say_decoding(progress, chosen.epoch, decoding, score, str(folds))
    parts = [(partial(fold.parser, decoding), fold.part) for fold in held_out]
    likeliest = fit_common_temperatures(parts, threads=threads, steps=12)
    # Maximum likelihood left label confidences off; those of heads stay at their likeliest temperature.
    temperatures = match_label_temperature(parts, likeliest, threads=threads)
    at = temperatures.heads, temperatures.labels, temperatures.smoothing
    error = head_calibration_error(confident_parses(parts, temperatures, threads))
    progress.say(f"training on all {len(train)} sentences")
    learner = GraphLearner.of(train, final, threads, progress, distilled)
    counts = learner.report_features(progress, threads)
    best = learner.run(None, threads, progress, engine=engine)
    assert best.weights is not None
    best.score = score
    report = training_report(train, folds, learner.notes(best, progress), best) | counts
    report |= distillation_report(distilled)
    report["calibration"] = calibration_report(folds, error, ())
    report["folds"] = chosen.history
    model = learner.model(best.weights, decoding, report).with_temperatures(*at)
    # The file keeps the requested configuration, not the number of epochs found.
    model = replace(model, config=config)
    progress.say(temperatures_text(temperatures, error, str(folds)))
    return model


def _learner(task: FoldTask[DistillationData], config: GraphConfig, threads: int) -> GraphLearner:
    return GraphLearner.of(task.train, config, threads, Progress(shown=False), task.distilled)


def _train_fold(
    config: GraphConfig, threads: int, task: FoldTask[DistillationData]
) -> tuple[None, FoldScores]:
    """Train without the fold and score each epoch on it."""
    learner = _learner(task, config, threads)
    decoding = Decoding("map", config.projective, config.single_root)
    data = learner.development(task.held_out, threads)
    best = learner.run(partial(data.attachment, decoding), threads, Progress(shown=False))
    # The weights are not returned: only those of the chosen epoch matter, which is not known yet.
    return None, FoldScores.of(task.held_out, best.history, interrupted=best.interrupted)


def _fold_weights(config: GraphConfig, threads: int, task: FoldTask[DistillationData]) -> _SparseWeights:
    """The weights trained without the fold, sparse because one table per fold has to fit into memory."""
    best = _learner(task, config, threads).run(None, threads, Progress(shown=False), last_only=True)
    assert best.weights is not None
    places = np.flatnonzero(best.weights)
    return places, best.weights[places].astype(np.float32)


_SparseWeights = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]


@dataclass(frozen=True)
class _FoldParser:
    """A parser trained on the other folds."""

    learner: GraphLearner
    part: Treebank
    places: npt.NDArray[np.int64]
    values: npt.NDArray[np.float32]

    @property
    def weights(self) -> npt.NDArray[np.float32]:
        weights = np.zeros(self.learner.table.cells, np.float32)
        weights[self.places] = self.values
        return weights

    def scores(self, candidates: list[Decoding], threads: int) -> list[DevScore]:
        """The score of each candidate on the held-out fold."""
        data, weights = self.learner.development(self.part, threads), self.weights
        return [data.attachment(decoding, weights) for decoding in candidates]

    def parser(self, decoding: Decoding, heads: float, labels: float, smoothing: float) -> GraphParser:
        model = self.learner.model(self.weights, decoding, {})
        return GraphParser(model.with_temperatures(heads, labels, smoothing))


def _decoding(held_out: list[_FoldParser], config: GraphConfig, threads: int) -> tuple[Decoding, DevScore]:
    """The decoder and tree class with the best pooled score."""
    candidates = decoding_candidates(config)
    words = [int((np.asarray(fold.part.heads) >= 0).sum()) for fold in held_out]
    by_fold = [fold.scores(candidates, threads) for fold in held_out]
    return choose_decoding(candidates, [pooled(words, scores) for scores in zip(*by_fold, strict=True)])
