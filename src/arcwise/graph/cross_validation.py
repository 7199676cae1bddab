"""Training a graph-based parser without development data: epoch, decoder and temperatures from folds of the training data."""

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
    say_temperatures,
)
from arcwise.learning.folds import Folds, FoldScores, best_epoch, calibration_report, together
from arcwise.learning.progress import Progress
from arcwise.learning.training import DevScore, training_report
from arcwise.parsing.calibration import (
    fit_common_temperatures,
    head_calibration_error,
    match_label_temperature,
)
from arcwise.parsing.parser import ParseOptions
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
    """The epoch that is best on all parts together, each parsed by a parser that learned from the others; then, from parsers of that
    epoch, decoder and temperatures; then a parser that learns from everything."""
    parts = folds.split(train)
    taught = [
        None if distilled is None else distilled.without_fold(folds.count, f) for f in range(folds.count)
    ]
    sources = [_FoldSource(*pair, own) for pair, own in zip(parts, taught, strict=True)]
    scores = []
    for number, found in enumerate(engine.map(partial(_fold_scores, config, threads), sources), start=1):
        others, part = parts[number - 1]
        progress.say(f"fold {number} of {folds.count}: {len(others)} sentences, scored on {len(part)}")
        scores.append(found)
    epoch, by_epoch = best_epoch(scores)
    told = "  ".join(f"{100 * score.las:.2f}" for score in by_epoch)
    progress.say(f"LAS of the held-out parts by epoch: {told}")
    chosen = replace(config, epochs=epoch, patience=0)
    learned = engine.map(partial(_fold_weights, chosen, threads), sources)
    held_out = [
        _FoldParser.of(source, chosen, *found) for source, found in zip(sources, learned, strict=True)
    ]
    decoding, score = _decoding(held_out, chosen, threads)
    say_decoding(progress, epoch, decoding, score, str(folds))
    held_out_parts = [(fold.at(decoding), fold.part) for fold in held_out]
    likeliest = fit_common_temperatures(held_out_parts, threads=threads, steps=12)
    temperatures = match_label_temperature(held_out_parts, likeliest, threads=threads)
    at = temperatures.heads, temperatures.labels, temperatures.smoothing
    options = ParseOptions(confidence=True)
    error = head_calibration_error(
        [
            (fold.at(decoding)(*at).parses(fold.part, options=options, threads=threads), fold.part)
            for fold in held_out
        ]
    )
    progress.say(f"training on all {len(train)} sentences")
    learner = GraphLearner.of(train, chosen, threads, progress, distilled)
    counts = learner.told(progress, threads)
    best = learner.run(None, threads, progress, engine=engine)
    assert best.weights is not None
    best.score = score
    report = training_report(train, folds, learner.notes(best, progress), best) | counts
    report |= distillation_report(distilled)
    report["calibration"] = calibration_report(folds, error, ())
    report["folds"] = [{"epoch": e, "uas": s.uas, "las": s.las} for e, s in enumerate(by_epoch, start=1)]
    model = learner.model(best.weights, decoding, report).with_temperatures(*at)
    model = replace(model, config=config)
    say_temperatures(progress, model, error, str(folds))
    return model


@dataclass(frozen=True)
class _FoldSource:
    """What a fold is learned from and scored on; it travels."""

    others: Treebank
    part: Treebank
    distilled: DistillationData | None

    def learner(self, config: GraphConfig, threads: int) -> GraphLearner:
        return GraphLearner.of(self.others, config, threads, Progress(shown=False), self.distilled)


def _fold_scores(config: GraphConfig, threads: int, fold: _FoldSource) -> FoldScores:
    """What each epoch of learning from the others reaches on the part."""
    learner = fold.learner(config, threads)
    decoding = Decoding("map", config.projective, config.single_root)
    data = learner.development(fold.part)
    best = learner.run(
        lambda weights: data.attachment(learner.table, weights, decoding, threads),
        threads,
        Progress(shown=False),
    )
    if best.interrupted:
        raise KeyboardInterrupt  # nothing has learned from all the data yet
    return FoldScores.of(fold.part, best.history)


def _fold_weights(config: GraphConfig, threads: int, fold: _FoldSource) -> _SparseWeights:
    """What is learned from the others: the weights without the zeros, for there are as many parsers as folds."""
    best = fold.learner(config, threads).run(None, threads, Progress(shown=False), last_only=True)
    assert best.weights is not None
    places = np.flatnonzero(best.weights)
    return places, best.weights[places].astype(np.float32)


_SparseWeights = tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]]


@dataclass(frozen=True)
class _FoldParser:
    """A parser that learned from the other parts."""

    learner: GraphLearner
    part: Treebank
    places: npt.NDArray[np.int64]
    values: npt.NDArray[np.float32]

    @classmethod
    def of(
        cls,
        fold: _FoldSource,
        config: GraphConfig,
        places: npt.NDArray[np.int64],
        values: npt.NDArray[np.float32],
    ) -> _FoldParser:
        return cls(fold.learner(config, 1), fold.part, places, values)

    @property
    def weights(self) -> npt.NDArray[np.float32]:
        weights = np.zeros(self.learner.table.cells, np.float32)
        weights[self.places] = self.values
        return weights

    def scores(self, candidates: list[Decoding], threads: int) -> list[DevScore]:
        """What each way to decode reaches on the part."""
        data, weights = self.learner.development(self.part), self.weights
        return [data.attachment(self.learner.table, weights, one, threads) for one in candidates]

    def at(self, decoding: Decoding) -> _FoldParserAt:
        return _FoldParserAt(self, decoding)


@dataclass(frozen=True)
class _FoldParserAt:
    """From temperatures to the parser with them."""

    fold: _FoldParser
    decoding: Decoding

    def __call__(self, heads: float, labels: float, smoothing: float) -> GraphParser:
        model = self.fold.learner.model(self.fold.weights, self.decoding, {})
        return GraphParser(model.with_temperatures(heads, labels, smoothing))


def _decoding(held_out: list[_FoldParser], config: GraphConfig, threads: int) -> tuple[Decoding, DevScore]:
    """The decoder and tree class that are best on all parts together."""
    candidates = decoding_candidates(config)
    words = [int((np.asarray(fold.part.heads) >= 0).sum()) for fold in held_out]
    by_fold = [fold.scores(candidates, threads) for fold in held_out]
    return choose_decoding(candidates, [together(words, scores) for scores in zip(*by_fold, strict=True)])
