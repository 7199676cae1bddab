"""Model selection on development data after training: tag columns, decoder, temperatures."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from arcwise.evaluation.attachment import GoldTrees
from arcwise.learning.folds import Folds, calibration_report, data_name
from arcwise.learning.progress import Progress
from arcwise.neural.model import NeuralModel
from arcwise.neural.parser import NeuralParser
from arcwise.parsing.calibration import (
    confident_parses,
    fit_common_temperatures,
    head_calibration_error,
    match_temperatures,
    temperatures_text,
)
from arcwise.parsing.parser import ParseOptions
from arcwise.parsing.parses import Parses, parses_from_native
from arcwise.parsing.scored import Temperatures, decode_settings
from arcwise.parsing.scorer import decode_scores
from arcwise.treebanks import Treebank

CALIBRATION_SENTENCES = 1000
_SCORED_SENTENCES = 512
"""Sentences whose scores are in memory at a time."""
_DECODERS = ("mbr", "map")


def select_tag_columns(
    model: NeuralModel, gold: Treebank, seen: Treebank, threads: int, progress: Progress
) -> tuple[str, ...]:
    """Select the tag columns that the network predicts better than its input tags."""
    if not model.tags.names:
        return ()
    parser = NeuralParser(replace(model, writes=model.tags.columns))
    predicted = seen.annotate(**parser.tag_columns(seen, ParseOptions(), threads))
    selected = []
    for column in model.tags.columns:
        gold_values = np.array(gold.column(column), object)
        before, after = (
            float((np.array(treebank.column(column), object) == gold_values).mean())
            for treebank in (seen, predicted)
        )
        progress.say(
            f"{column}: accuracy {100 * before:.2f} % in the input, {100 * after:.2f} % by the network"
        )
        if after > before or gold is seen:  # against gold tags no network could win: keep all columns
            selected.append(column)
    return tuple(selected)


def tune_decoding(
    model: NeuralModel, dev: Treebank, doubts: Sequence[str], *, threads: int, progress: Progress
) -> NeuralModel:
    """Select the decoder with the best development score and calibrate temperatures for it."""
    sample = dev.spread(CALIBRATION_SENTENCES)
    parser = NeuralParser(model)
    # MBR decoding depends on the temperatures, so a fit by likelihood precedes the choice of decoder.
    start = _most_likely_temperatures([(parser, sample)], threads)
    parser = parser.with_temperatures(start.heads, start.labels, start.smoothing)
    parser = parser.with_model(_select_decoder(parser, dev, threads, progress))
    return _calibrated(parser.model, [(parser, sample)], start, dev, doubts, threads, progress)


def _select_decoder(parser: NeuralParser, dev: Treebank, threads: int, progress: Progress) -> NeuralModel:
    """Select decoder and projectivity by development LAS; ties go to those of training."""
    model = parser.model
    gold = GoldTrees.of(dev, model.labels)
    trained = model.decoding
    candidates = [
        replace(trained, decode=decode, projective=projective)
        for projective in (trained.projective, not trained.projective)
        for decode in (trained.decode, *(name for name in _DECODERS if name != trained.decode))
    ]
    results: list[list[Parses]] = [[] for _ in candidates]
    for first in range(0, len(dev), _SCORED_SENTENCES):
        # The network runs once for all candidates.
        scores = parser.scorer.scores(
            dev[first : first + _SCORED_SENTENCES], trees=trained.trees, threads=threads
        )
        for candidate, parts in zip(candidates, results, strict=True):
            settings = decode_settings(candidate, parser.temperatures)
            result = decode_scores(scores, settings, threads=threads)
            parts.append(parses_from_native(result, model.labels, probabilities=False, gold=False))
    scores_of = [
        gold.score(np.concatenate([p.heads for p in parts]), np.concatenate([p.labels for p in parts]))
        for parts in results
    ]
    best = max(range(len(candidates)), key=lambda i: scores_of[i].las)
    trees = "projective" if candidates[best].projective else "non-projective"
    progress.say(f"chosen: decoder {candidates[best].decode}, {trees}: dev {scores_of[best]}")
    dev_scores = {"dev_uas": scores_of[best].uas, "dev_las": scores_of[best].las}
    return replace(model, decoding=candidates[best], report={**model.report, **dev_scores})


def calibrate(
    model: NeuralModel,
    parts: Sequence[tuple[NeuralModel, Treebank]],
    dev: Treebank | Folds,
    doubts: Sequence[str],
    threads: int,
    progress: Progress,
) -> NeuralModel:
    """Fit the temperatures with models of cross-validation on their held-out parts."""
    parsers = [
        (NeuralParser(replace(fold_model, decoding=model.decoding)), held_out.spread(CALIBRATION_SENTENCES))
        for fold_model, held_out in parts
    ]
    start = _most_likely_temperatures(parsers, threads)
    return _calibrated(model, parsers, start, dev, doubts, threads, progress)


_Parts = Sequence[tuple[NeuralParser, Treebank]]


def _most_likely_temperatures(parts: _Parts, threads: int) -> Temperatures:
    scorers = [(parser.with_temperatures, sample) for parser, sample in parts]
    return fit_common_temperatures(scorers, start=parts[0][0].fitted, threads=threads, steps=12)


def _calibrated(
    model: NeuralModel,
    parts: _Parts,
    start: Temperatures,
    dev: Treebank | Folds,
    doubts: Sequence[str],
    threads: int,
    progress: Progress,
) -> NeuralModel:
    """Fit the temperatures that make stated probabilities match accuracy on ``parts``."""
    scorers = [(parser.with_temperatures, sample) for parser, sample in parts]
    matched = match_temperatures(scorers, start, threads=threads)
    error = head_calibration_error(confident_parses(scorers, matched, threads))
    on = str(dev) if isinstance(dev, Folds) else data_name(dev)
    progress.say(temperatures_text(matched, error, on))
    report = {**model.report, "calibration": calibration_report(dev, error, doubts)}
    return replace(model, temperatures=matched, report=report)
