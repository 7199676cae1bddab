"""Training a graph-based parser: prepare the trees, learn alphabets and classes, run the trainer, choose on development data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from arcwise import native
from arcwise.engine import Engine, ThisProcess
from arcwise.errors import InputError, OptionError
from arcwise.evaluation.attachment import GoldTrees
from arcwise.graph.config import GraphConfig
from arcwise.graph.model import GraphModel
from arcwise.graph.preparation import PreparedTrees, prepare_trees
from arcwise.graph.table import Alphabets, arc_data, learn_alphabets, make_table, word_counts
from arcwise.learning.progress import Progress
from arcwise.learning.training import Best, DevScore, Weights, finishing, fit, training_report
from arcwise.parsing.parser import ParseOptions
from arcwise.parsing.scored import Decoding, decode_settings
from arcwise.treebanks import Treebank

CALIBRATION_SENTENCES = 500
PRUNED_SHARES = (0.8, 0.7, 0.5, 0.3)
PRUNING_COST = 0.0005
"""Weights are left out only if LAS on the development data falls by no more than this."""


@dataclass(frozen=True)
class Development:
    """Development data as the table sees them, with their gold trees."""

    data: native.ArcData
    gold: GoldTrees

    def attachment(
        self, table: native.ArcTable, weights: Weights, decoding: Decoding, threads: int
    ) -> DevScore:
        """UAS and LAS of a parse of the development data, as ``arcwise evaluate`` counts."""
        scorer = native.GraphScorer(table, np.ascontiguousarray(weights))
        result = scorer.parse(self.data, settings=decode_settings(decoding), threads=threads)
        return self.gold.score(result.heads, result.labels)


def train_model(
    train: Treebank,
    dev: Treebank | None,
    config: GraphConfig,
    *,
    threads: int,
    progress: Progress | None,
    engine: Engine = ThisProcess(),
) -> GraphModel:
    """Train as the configuration says; with several values of C to try (where the ``engine`` says), the one best on ``dev``."""
    progress = progress or Progress(shown=False)
    config.refuse_unread()
    if not config.try_C:
        return _train_once(train, dev, config, threads, progress)
    if dev is None:
        raise OptionError("try_C", f"found {config.try_C}, expected development data (dev) to choose by")
    best: GraphModel | None = None
    try:
        for model in engine.map(partial(_train_with_C, train, dev, config, threads, progress), config.try_C):
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
    train: Treebank, dev: Treebank, config: GraphConfig, threads: int, progress: Progress, C: float
) -> GraphModel:
    progress.say(f"C = {C}")
    return _train_once(train, dev, replace(config, C=C, try_C=()), threads, progress)


def _train_once(
    train: Treebank, dev: Treebank | None, config: GraphConfig, threads: int, progress: Progress
) -> GraphModel:
    prepared = prepare_trees(train, projective=config.projective, single_root=config.single_root)
    for note in prepared.notes:
        progress.say(note)
    alphabets = learn_alphabets(config, train)
    vocabulary = word_counts(config, train)
    table = make_table(config, alphabets, vocabulary.hashes, vocabulary.counts)
    if config.trainer_kind.whole_trees and (prepared.partial or (config.labelled and prepared.unlabelled)):
        prepared = _completed(train, prepared, config, threads, progress)
    data = arc_data(table, train, alphabets, config.tag, prepared.heads, prepared.labels)
    table.learn_classes(data, restricted=config.restrict_labels)
    features, places = table.count_features(data)
    collisions = 1 - places / max(features, 1)
    progress.say(
        f"{features:,} features of gold arcs, {100 * collisions:.1f} % lost to collisions in the table"
    )
    decoding = Decoding("map", config.projective, config.single_root)
    development = None if dev is None else _development(table, dev, alphabets, config)
    evaluate = _evaluator(table, development, decoding, threads)
    best = fit(
        config.trainer_kind.make(config, table, data, threads),
        len(train),
        epochs=config.epochs,
        patience=config.patience,
        seed=config.seed,
        evaluate=evaluate,
        progress=progress,
    )
    assert best.weights is not None
    notes = [*prepared.notes, *_left_out(best, config)]
    for note in notes[len(prepared.notes) :]:
        progress.say(note)
    weights = np.ascontiguousarray(best.weights)
    if development is not None and not best.interrupted:
        with finishing(best, progress):
            decoding = _choose_decoding(table, development, best, config, threads, progress)
            weights = _pruned(table, development, weights, decoding, threads, progress)
    report = training_report(train, dev, notes, best)
    report |= {"features": features, "collision_rate": round(collisions, 4)}
    model = GraphModel(config, alphabets, table, vocabulary, weights, decoding, report=report)
    if dev is not None and not best.interrupted:
        with finishing(best, progress):
            model = _calibrated(model, dev, threads, progress)
    return replace(model, report={**model.report, "interrupted": best.interrupted})


def _left_out(best: Best, config: GraphConfig) -> list[str]:
    """Which sentences the trainer could not use, and why."""
    sentences = int(max((told.get("left out", 0) for told in best.history), default=0))
    if not sentences:
        return []
    kind = f"{'projective ' if config.projective else ''}tree{' with a single root' if config.single_root else ''}"
    return [f"{sentences} sentences were left out: what is known of their heads and labels fits no {kind}"]


def _pruned(
    table: native.ArcTable,
    development: Development,
    weights: Weights,
    decoding: Decoding,
    threads: int,
    progress: Progress,
) -> Weights:
    """The weights without the smallest ones: as many as can go without changing LAS on the development data noticeably."""
    wanted = development.attachment(table, weights, decoding, threads).las - PRUNING_COST
    present = np.abs(weights[weights != 0])
    for share in PRUNED_SHARES if len(present) else ():
        fewer = np.where(np.abs(weights) <= np.quantile(present, share), 0, weights).astype(np.float32)
        if development.attachment(table, fewer, decoding, threads).las >= wanted:
            progress.say(f"left out the {100 * share:.0f} % of weights that are smallest")
            return fewer
    return weights


def _calibrated(model: GraphModel, dev: Treebank, threads: int, progress: Progress) -> GraphModel:
    """The model with temperatures fitted on (the first sentences of) the development data."""
    from arcwise.graph.parser import GraphParser
    from arcwise.parsing.calibration import fit_temperatures

    fitted = fit_temperatures(
        GraphParser(model), dev[:CALIBRATION_SENTENCES], threads=threads, steps=12
    ).model
    progress.say(
        f"temperature of heads {fitted.temperature:.3g}, of labels {fitted.label_temperature:.3g} "
        "(arcwise calibrate shows how reliable confidences are)"
    )
    return fitted


def _completed(
    train: Treebank, prepared: PreparedTrees, config: GraphConfig, threads: int, progress: Progress
) -> PreparedTrees:
    """For a trainer that wants whole trees: unknown heads and labels are filled in by a perceptron trained on the rest."""
    from arcwise.graph.parser import GraphParser

    what = "heads and labels" if config.labelled else "heads"
    progress.say(f"{config.trainer}: unknown {what} are filled in by a perceptron trained on the known ones")
    known = train.annotate(heads=prepared.heads, deprel=prepared.labels)
    helper = GraphParser.train(known, config=config.for_trainer("perceptron", epochs=5), threads=threads)
    if helper.model.report["interrupted"]:
        raise KeyboardInterrupt
    filled = helper.parse(known, options=ParseOptions(keep=("head",)), threads=threads)
    labels = [
        found if label == "_" else label
        for label, found in zip(prepared.labels, filled.column("deprel"), strict=True)
    ]
    return replace(prepared, heads=np.asarray(filled.heads), labels=labels)


def _development(
    table: native.ArcTable, dev: Treebank, alphabets: Alphabets, config: GraphConfig
) -> Development:
    if not (dev.heads >= 0).any():
        raise InputError(f"{dev.source}: has no heads, expected trees to compare with")
    data = arc_data(table, dev, alphabets, config.tag)
    return Development(data, GoldTrees.of(dev, alphabets.labels if config.labelled else ()))


def _evaluator(
    table: native.ArcTable, development: Development | None, decoding: Decoding, threads: int
) -> Callable[[Weights], DevScore] | None:
    if development is None:
        return None
    return lambda weights: development.attachment(table, weights, decoding, threads)


def _choose_decoding(
    table: native.ArcTable,
    development: Development,
    best: Best,
    config: GraphConfig,
    threads: int,
    progress: Progress,
) -> Decoding:
    """The decoder and projectivity that do best on the development data (Koo et al. 2007 choose so); ties go to training's own."""
    chosen = Decoding("map", config.projective, config.single_root)
    assert best.score is not None
    assert best.weights is not None
    highest = best.score
    for projective in (config.projective, not config.projective):
        for name in config.trainer_kind.decoders:
            candidate = Decoding(name, projective, config.single_root)
            score = development.attachment(table, best.weights, candidate, threads)
            if score.las > highest.las:
                chosen, highest = candidate, score
    best.score = highest
    progress.say(
        f"chosen: epoch {best.epoch}, decoder {chosen.decode}, {'projective' if chosen.projective else 'non-projective'}: dev {best.score}"
    )
    return chosen
