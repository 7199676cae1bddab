"""Train a graph-based parser: prepare trees, learn alphabets, run the trainer, select and calibrate."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from arcwise import native
from arcwise.distillation import Distillation, DistillationData, distillation_data, distillation_report
from arcwise.engine import Engine, ThisProcess
from arcwise.errors import InputError, OptionError
from arcwise.evaluation.attachment import GoldTrees
from arcwise.graph.config import GraphConfig
from arcwise.graph.model import GraphModel
from arcwise.graph.parts import LearnerSource, trainer_of
from arcwise.graph.table import Alphabets, arc_data, learn_alphabets, make_table, word_counts
from arcwise.inference.labels import only_root_label
from arcwise.learning.folds import (
    Development,
    Folds,
    calibration_report,
    data_name,
    development,
    report_warnings,
)
from arcwise.learning.preparation import PreparedTrees, prepare_trees
from arcwise.learning.progress import Progress
from arcwise.learning.training import Best, DevScore, Weights, fit, interruptible, training_report
from arcwise.parsing.parser import ParseOptions
from arcwise.parsing.scored import Decoding, decode_settings
from arcwise.treebanks import Treebank

# Three numbers are fitted, and every step of the search parses the sample.
CALIBRATION_SENTENCES = 500
HIGH_CALIBRATION_ERROR = 0.025
"""Calibration error of heads above which a probabilistic trainer is recommended."""
# From the largest share down: the first that costs no LAS is taken.
PRUNED_SHARES = (0.8, 0.7, 0.5, 0.3)
PRUNING_COST = 0.0005
"""Weights are pruned only if development LAS falls by no more than this."""


@dataclass(frozen=True)
class DevelopmentData:
    """Development data as features, with their gold trees."""

    data: native.ArcData
    gold: GoldTrees
    table: native.ArcTable
    margins: bool
    """Whether the trainer is margin-based; unseen arcs are then scored as ``GraphScorer`` does."""
    threads: int = 1

    def attachment(self, decoding: Decoding, weights: Weights) -> DevScore:
        """UAS and LAS on the development data, as ``arcwise evaluate`` counts them."""
        scorer = native.GraphScorer(self.table, np.ascontiguousarray(weights), margins=self.margins)
        result = scorer.parse(self.data, settings=decode_settings(decoding), threads=self.threads)
        return self.gold.score(result.heads, result.labels)


def train_model(
    train: Treebank,
    dev: Development,
    config: GraphConfig,
    *,
    threads: int,
    progress: Progress | None,
    engine: Engine = ThisProcess(),
    distillation: Distillation | None = None,
) -> GraphModel:
    """Train with the given configuration; of several ``try_C``, keep the best on ``dev``.

    The ``engine`` runs values of C, folds and parts of an epoch in parallel.
    """
    progress = progress or Progress(shown=False)
    config.refuse_unread()
    if distillation is not None:
        config.check_distillation(distillation)
    chosen = development(train, dev)
    doubts = report_warnings(train, chosen, progress)
    distilled = distillation_data(
        distillation, train, config, projective=config.projective, threads=threads, progress=progress
    )
    if not config.try_C:
        return _train_once(train, chosen, doubts, config, threads, progress, distilled, engine)
    if chosen is None:
        raise OptionError("try_C", f"found {config.try_C}, which needs development data (dev)")
    best: GraphModel | None = None
    try:
        for model in engine.map(
            partial(_train_with_C, train, chosen, doubts, config, threads, progress, distilled), config.try_C
        ):
            interrupted = model.report["interrupted"]
            if best is None or model.report["dev_las"] > best.report["dev_las"]:
                best = model
            if interrupted:
                break
    except KeyboardInterrupt:
        if best is None:
            raise
        interrupted = True
    assert best is not None
    best = replace(best, report={**best.report, "interrupted": interrupted})
    progress.say(f"chosen C = {best.config.C}")
    return best


def _train_with_C(
    train: Treebank,
    dev: Treebank | Folds,
    doubts: list[str],
    config: GraphConfig,
    threads: int,
    progress: Progress,
    distilled: DistillationData | None,
    C: float,
) -> GraphModel:
    progress.say(f"C = {C}")
    chosen = replace(config, C=C, try_C=())
    # ThisProcess: the engine is already busy with the values of C.
    return _train_once(train, dev, doubts, chosen, threads, progress, distilled, ThisProcess())


@dataclass(frozen=True)
class GraphLearner:
    """Training data, alphabets and feature table, ready for a trainer."""

    config: GraphConfig
    train: Treebank
    prepared: PreparedTrees
    alphabets: Alphabets
    vocabulary: native.Vocabulary
    table: native.ArcTable
    data: native.ArcData
    source: LearnerSource

    @classmethod
    def of(
        cls,
        train: Treebank,
        config: GraphConfig,
        threads: int,
        progress: Progress,
        distilled: DistillationData | None = None,
    ) -> GraphLearner:
        """Prepare trees, alphabets and arc classes, from the sentences of ``distilled`` if given."""
        source = LearnerSource(train, config, distilled)
        train = train if distilled is None else distilled.treebank
        prepared = prepare_trees(train, projective=config.projective, single_root=config.single_root)
        for note in prepared.notes:
            progress.say(note)
        alphabets = learn_alphabets(config, train)
        vocabulary = word_counts(config, train)
        table = make_table(config, alphabets, vocabulary.hashes, vocabulary.counts)
        if config.trainer_kind.whole_trees and (
            prepared.partial or (config.labelled and prepared.unlabelled)
        ):
            prepared = _completed(train, prepared, config, threads, progress)
        data = arc_data(table, train, alphabets, config.tag, prepared.heads, prepared.labels)
        table.learn_classes(
            data,
            restricted=config.restrict_labels,
            enough=config.filter_after,
            root_label=only_root_label(data.heads, data.labels),
        )
        if distilled is not None and config.trainer_kind.learns_distributions:
            taught = distilled.targets(prepared.heads, data.labels, alphabets.labels)
            data.set_taught(
                taught.starts, taught.heads, taught.labels, taught.probabilities, distilled.weights
            )
        return cls(config, train, prepared, alphabets, vocabulary, table, data, source)

    def run(
        self,
        evaluate: Callable[[Weights], DevScore] | None,
        threads: int,
        progress: Progress,
        *,
        last_only: bool = False,
        engine: Engine = ThisProcess(),
    ) -> Best:
        """Run all epochs; the engine trains their parts in parallel."""
        config = self.config
        with trainer_of(self, engine, threads) as trainer:
            best = fit(
                trainer,
                len(self.train),
                epochs=config.epochs,
                patience=config.patience,
                seed=config.seed,
                evaluate=evaluate,
                progress=progress,
                last_only=last_only,
            )
        assert best.weights is not None
        return best

    def development(self, dev: Treebank, threads: int = 1) -> DevelopmentData:
        """The development data as features."""
        if not (dev.heads >= 0).any():
            raise InputError(f"{dev.source}: has no heads, expected gold trees")
        data = arc_data(self.table, dev, self.alphabets, self.config.tag)
        gold = GoldTrees.of(dev, self.alphabets.labels if self.config.labelled else ())
        margins = not self.config.trainer_kind.probabilistic
        return DevelopmentData(data, gold, self.table, margins, threads)

    def model(self, weights: Weights, decoding: Decoding, report: Mapping[str, Any]) -> GraphModel:
        """The model with the given weights."""
        return GraphModel(
            self.config,
            self.alphabets,
            self.table,
            self.vocabulary,
            np.ascontiguousarray(weights),
            decoding,
            report=report,
        )

    def notes(self, best: Best, progress: Progress) -> list[str]:
        """Notes on changed and on skipped trees; the latter are also reported now."""
        left_out = _left_out(best, self.config)
        for note in left_out:
            progress.say(note)
        return [*self.prepared.notes, *left_out]

    def report_features(self, progress: Progress, threads: int) -> dict[str, Any]:
        """Report the number of features and the rate of hash collisions."""
        features, places = self.table.count_features(self.data, threads)
        collisions = 1 - places / max(features, 1)
        progress.say(
            f"{features:,} features of gold arcs, {100 * collisions:.1f} % of them in hash collisions"
        )
        return {"features": features, "collision_rate": round(collisions, 4)}


def _train_once(
    train: Treebank,
    dev: Treebank | Folds | None,
    doubts: list[str],
    config: GraphConfig,
    threads: int,
    progress: Progress,
    distilled: DistillationData | None,
    engine: Engine,
) -> GraphModel:
    if isinstance(dev, Folds):
        from arcwise.graph.cross_validation import train_cross_validated

        return train_cross_validated(train, dev, config, threads, progress, distilled, engine)
    learner = GraphLearner.of(train, config, threads, progress, distilled)
    counts = learner.report_features(progress, threads)
    data = None if dev is None else learner.development(dev, threads)
    decoding = Decoding("map", config.projective, config.single_root)
    evaluate = None if data is None else partial(data.attachment, decoding)
    best = learner.run(evaluate, threads, progress, engine=engine)
    assert best.weights is not None
    notes = learner.notes(best, progress)
    weights = np.ascontiguousarray(best.weights)
    # After Ctrl-C the user wants the model at once, so skip model selection and calibration.
    if data is not None and not best.interrupted:
        with interruptible(best, progress):
            candidates = decoding_candidates(config)
            scores = [data.attachment(candidate, weights) for candidate in candidates]
            decoding, best.score = choose_decoding(candidates, scores)
            say_decoding(progress, best.epoch, decoding, best.score, "dev")
            # After the decoder is chosen, because the loss of LAS is measured with it.
            weights = _pruned(data, weights, decoding, progress)
    report = training_report(train, dev, notes, best) | counts | distillation_report(distilled)
    model = learner.model(weights, decoding, report)
    if dev is not None and not best.interrupted:
        with interruptible(best, progress):
            # Calibration comes last, since pruning changes the scores.
            model = _calibrated(model, dev, doubts, threads, progress)
    return replace(model, report={**model.report, "interrupted": best.interrupted})


def _left_out(best: Best, config: GraphConfig) -> list[str]:
    """A note on the sentences that the trainer skipped."""
    sentences = int(max((epoch.get("left out", 0) for epoch in best.history), default=0))
    if not sentences:
        return []
    kind = ("projective tree" if config.projective else "tree") + (
        " with a single root" if config.single_root else ""
    )
    return [f"{sentences} sentences were skipped: their known heads and labels fit no {kind}"]


def decoding_candidates(config: GraphConfig) -> list[Decoding]:
    """The candidate decoders and tree classes; that of training comes first."""
    return [
        Decoding(name, projective, config.single_root)
        for projective in (config.projective, not config.projective)
        for name in config.trainer_kind.decoders
    ]


def choose_decoding(candidates: Sequence[Decoding], scores: Sequence[DevScore]) -> tuple[Decoding, DevScore]:
    """Select decoder and projectivity by LAS (as Koo et al. 2007); ties go to the first."""
    best = max(range(len(candidates)), key=lambda i: scores[i].las)
    return candidates[best], scores[best]


def say_decoding(progress: Progress, epoch: int, chosen: Decoding, score: DevScore, on: str) -> None:
    """Report the selected epoch and decoder."""
    trees = "projective" if chosen.projective else "non-projective"
    progress.say(f"chosen: epoch {epoch}, decoder {chosen.decode}, {trees}: {on} {score}")


def _pruned(
    development: DevelopmentData, weights: Weights, decoding: Decoding, progress: Progress
) -> Weights:
    """Prune the smallest weights, as many as possible without a noticeable loss of development LAS."""
    required = development.attachment(decoding, weights).las - PRUNING_COST
    present = np.abs(weights[weights != 0])
    for share in PRUNED_SHARES if len(present) else ():
        pruned = weights.astype(np.float32)
        pruned[np.abs(weights) <= np.quantile(present, share)] = 0
        if development.attachment(decoding, pruned).las >= required:
            progress.say(f"pruned the {100 * share:.0f} % smallest weights")
            return pruned
    return weights


def _calibrated(
    model: GraphModel, dev: Treebank, doubts: list[str], threads: int, progress: Progress
) -> GraphModel:
    """Calibrate the model on (a sample of) the development data."""
    from arcwise.graph.parser import GraphParser
    from arcwise.parsing.calibration import (
        confident_parses,
        fit_temperatures,
        head_calibration_error,
        match_label_temperature,
        temperatures_text,
    )

    # Spread over the file, whose parts may be of different genres.
    sample = dev.spread(CALIBRATION_SENTENCES)
    likeliest = fit_temperatures(GraphParser(model), sample, threads=threads, steps=12)
    parts = [(likeliest.with_temperatures, sample)]
    at = match_label_temperature(parts, likeliest.fitted, threads=threads)
    fitted = likeliest.with_temperatures(at.heads, at.labels, at.smoothing)
    error = head_calibration_error(confident_parses(parts, at, threads))
    progress.say(temperatures_text(at, error, data_name(dev)))
    if error > HIGH_CALIBRATION_ERROR and not model.config.trainer_kind.probabilistic:
        progress.say(
            f"{model.config.trainer} is a margin trainer, whose confidences stay imperfect after "
            "calibration: where confidences matter most, use the trainer log-linear"
        )
    report = {**model.report, "calibration": calibration_report(dev, error, doubts)}
    return replace(fitted.model, report=report)


def _completed(
    train: Treebank, prepared: PreparedTrees, config: GraphConfig, threads: int, progress: Progress
) -> PreparedTrees:
    """Fill in unknown heads and labels with a perceptron trained on the rest."""
    from arcwise.graph.parser import GraphParser

    missing = "heads and labels" if config.labelled else "heads"
    progress.say(f"{config.trainer}: a perceptron trained on the rest fills in unknown {missing}")
    partial_trees = train.annotate(heads=prepared.heads, deprel=prepared.labels)
    perceptron = config.for_trainer("perceptron", epochs=5)
    helper = GraphParser.train(partial_trees, config=perceptron, threads=threads)
    if helper.model.report["interrupted"]:
        # There is no model yet that Ctrl-C could keep.
        raise KeyboardInterrupt
    filled = helper.parse(partial_trees, options=ParseOptions(keep=("head",)), threads=threads)
    labels = [
        predicted if label == "_" else label
        for label, predicted in zip(prepared.labels, filled.column("deprel"), strict=True)
    ]
    return replace(prepared, heads=np.asarray(filled.heads), labels=labels)
