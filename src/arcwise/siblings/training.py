"""Train a second-order parser: prepare trees, train arcs and siblings together, select and calibrate."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.evaluation.attachment import GoldTrees
from arcwise.graph.training import (
    CALIBRATION_SENTENCES,
    GraphLearner,
    choose_decoding,
    say_decoding,
)
from arcwise.learning.cross_validation import FoldTask, fold_tasks
from arcwise.learning.folds import Development, Folds, calibration_report, development, report_warnings
from arcwise.learning.progress import Progress
from arcwise.learning.training import Advance, Best, DevScore, Weights, fit, interruptible, training_report
from arcwise.parsing.scored import Decoding, decode_settings
from arcwise.siblings.config import SiblingConfig
from arcwise.siblings.model import SiblingModel
from arcwise.siblings.scorer import second_order
from arcwise.treebanks import Treebank

CHUNK = 500
"""Sentences per native call, between progress updates."""


class SiblingTrainer:
    """Perceptron, MIRA, or a gradient step per sentence."""

    # Online updates have no convergence test: epochs or patience end the training.
    finished = False

    def __init__(self, config: SiblingConfig, table: native.ArcTable, data: native.ArcData) -> None:
        self._average = config.average
        self._native = native.SiblingTrainer(
            table,
            data,
            update=config.sibling_trainer.update,
            bits=config.sibling_bits,
            projective=config.is_projective,
            single_root=config.single_root,
            C=config.effective_C,
            rate=config.effective_rate,
            dropout=config.word_dropout,
            seed=config.seed,
        )

    def epoch(self, number: int, order: npt.NDArray[np.int64], advance: Advance) -> dict[str, float]:
        """One update per sentence."""
        loss, skipped = 0.0, 0
        for start in range(0, len(order), CHUNK):
            chunk = order[start : start + CHUNK]
            report = self._native.run(chunk, number)
            loss, skipped = loss + report.loss, skipped + report.skipped
            advance(len(chunk))
        return {"loss": loss} | ({"left out": float(skipped)} if skipped else {})

    @property
    def weights(self) -> npt.NDArray[np.float32]:
        """The averaged weights: of arcs, then of siblings."""
        return self._native.averaged if self._average else self._native.weights


@dataclass(frozen=True)
class SiblingLearner:
    """Training data and the feature table, ready for a trainer."""

    config: SiblingConfig
    arcs: GraphLearner

    @classmethod
    def of(cls, train: Treebank, config: SiblingConfig, threads: int, progress: Progress) -> SiblingLearner:
        """Prepare trees, alphabets and arc classes."""
        return cls(config, GraphLearner.of(train, config.arc_config, threads, progress))

    def run(self, dev: Treebank | None, threads: int, progress: Progress) -> Best:
        """Run all epochs, evaluated on the development data."""
        config, arcs = self.config, self.arcs
        evaluate = None if dev is None else partial(self.scores_of(dev, threads), self.first_decoding)
        return fit(
            SiblingTrainer(config, arcs.table, arcs.data),
            len(arcs.train),
            epochs=config.epochs,
            patience=config.patience,
            seed=config.seed,
            evaluate=evaluate,
            progress=progress,
        )

    @property
    def first_decoding(self) -> Decoding:
        """The decoding of development scores during training."""
        return Decoding("map", self.config.is_projective, self.config.single_root)

    def scores_of(self, dev: Treebank, threads: int) -> DevelopmentScores:
        """The scorer of weights on development data."""
        development = self.arcs.development(dev, threads)
        return DevelopmentScores(self, development.data, development.gold, threads)

    def model(self, weights: Weights, decoding: Decoding, report: dict[str, Any]) -> SiblingModel:
        """The model with the given weights."""
        cells = self.arcs.table.cells
        arcs = self.arcs.model(weights[:cells], decoding, report)
        siblings = np.ascontiguousarray(weights[cells:])
        return SiblingModel(**(vars(arcs) | {"config": self.config, "siblings": siblings}))


@dataclass(frozen=True)
class DevelopmentScores:
    """UAS and LAS of weights on development data."""

    learner: SiblingLearner
    data: native.ArcData
    gold: GoldTrees
    threads: int

    def __call__(self, decoding: Decoding, weights: Weights) -> DevScore:
        table, kind = self.learner.arcs.table, self.learner.config.trainer_kind
        arcs = np.ascontiguousarray(weights[: table.cells])
        scorer = native.GraphScorer(table, arcs, margins=not kind.probabilistic)
        batch = second_order(
            scorer.scores(self.data, threads=self.threads),
            table,
            np.ascontiguousarray(weights[table.cells :]),
            self.data,
            trees=decoding.trees,
            by_sum=kind.probabilistic,
            threads=self.threads,
        )
        result = batch.decode(decode_settings(decoding), threads=self.threads)
        return self.gold.score(result.heads, result.labels)


def train_model(
    train: Treebank, dev: Development, config: SiblingConfig, *, threads: int, progress: Progress | None
) -> SiblingModel:
    """Train with the given configuration."""
    progress = progress or Progress(shown=False)
    config.refuse_unread()
    config = config.resolved(train)
    chosen = development(train, dev)
    doubts = report_warnings(train, chosen, progress)
    if isinstance(chosen, Folds):
        return _train_with_fold(train, chosen, doubts, config, threads, progress)
    return _train_once(train, chosen, doubts, config, threads, progress)


def _train_once(
    train: Treebank,
    dev: Treebank | None,
    doubts: list[str],
    config: SiblingConfig,
    threads: int,
    progress: Progress,
) -> SiblingModel:
    learner = SiblingLearner.of(train, config, threads, progress)
    counts = learner.arcs.report_features(progress, threads)
    best = learner.run(dev, threads, progress)
    assert best.weights is not None
    decoding = learner.first_decoding
    if dev is not None and not best.interrupted:
        with interruptible(best, progress):
            # Sums with siblings are only over projective trees.
            classes = (
                (True,)
                if config.trainer_kind.probabilistic
                else (config.is_projective, not config.is_projective)
            )
            candidates = [
                Decoding(name, projective, config.single_root)
                for projective in classes
                for name in config.sibling_trainer.decoders
            ]
            score = learner.scores_of(dev, threads)
            scores = [score(candidate, best.weights) for candidate in candidates]
            decoding, best.score = choose_decoding(candidates, scores)
            say_decoding(progress, best.epoch, decoding, best.score, "dev")
    report = training_report(train, dev, learner.arcs.notes(best, progress), best) | counts
    model = learner.model(best.weights, decoding, report)
    if dev is not None and not best.interrupted:
        with interruptible(best, progress):
            model = _calibrated(model, dev, doubts, threads, progress)
    return replace(model, report={**model.report, "interrupted": best.interrupted})


def _train_with_fold(
    train: Treebank,
    folds: Folds,
    doubts: list[str],
    config: SiblingConfig,
    threads: int,
    progress: Progress,
) -> SiblingModel:
    """Select and calibrate on the first fold, then train on everything with these choices."""
    task: FoldTask[Any] = fold_tasks(folds, train)[0]
    selected = _train_once(task.train, task.held_out, doubts, config, threads, progress)
    if selected.report["interrupted"]:
        return selected
    final = replace(config, epochs=selected.report["epoch"], patience=0)
    progress.say(f"training on all {len(train)} sentences")
    model = _train_once(train, None, [], final, threads, progress)
    report = {**selected.report, **model.report}
    report |= {name: selected.report[name] for name in ("dev_uas", "dev_las", "dev_counting")}
    report |= {"dev": str(folds)}
    model = replace(model, config=config, decoding=selected.decoding, report=report)
    return model.with_temperatures(  # type: ignore[return-value]
        selected.temperature, selected.label_temperature, selected.smoothing
    )


def _calibrated(
    model: SiblingModel, dev: Treebank, doubts: list[str], threads: int, progress: Progress
) -> SiblingModel:
    """Calibrate the model on (a sample of) the development data."""
    from arcwise.parsing.calibration import (
        confident_parses,
        fit_temperatures,
        head_calibration_error,
        match_label_temperature,
        temperatures_text,
    )
    from arcwise.siblings.parser import SiblingParser

    sample = dev.spread(CALIBRATION_SENTENCES)
    likeliest = fit_temperatures(SiblingParser(model), sample, threads=threads, steps=12)
    parts = [(likeliest.with_temperatures, sample)]
    at = match_label_temperature(parts, likeliest.fitted, threads=threads)
    fitted = likeliest.with_temperatures(at.heads, at.labels, at.smoothing)
    error = head_calibration_error(confident_parses(parts, at, threads))
    progress.say(temperatures_text(at, error, dev.source))
    report = {**model.report, "calibration": calibration_report(dev, error, doubts)}
    return replace(fitted.model, report=report)
