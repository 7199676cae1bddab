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
from arcwise.parsing.calibration import fit_common_temperatures, head_calibration_error, match_temperatures
from arcwise.parsing.parser import ParseOptions
from arcwise.parsing.scored import Temperatures
from arcwise.treebanks import Treebank

CALIBRATION_SENTENCES = 1000
_DECODERS = ("mbr", "map")


def select_tag_columns(
    model: NeuralModel, gold: Treebank, seen: Treebank, threads: int, progress: Progress
) -> tuple[str, ...]:
    """Select the tag columns that the network predicts better than its input tags."""
    if not model.tags.names:
        return ()
    parser = NeuralParser(replace(model, writes=model.tags.columns))
    found = parser.parse(seen, threads=threads)
    better = []
    for column in model.tags.columns:
        right = np.array(gold.column(column), object)
        shares = [float((np.array(own.column(column), object) == right).mean()) for own in (seen, found)]
        progress.say(
            f"{column}: {100 * shares[0]:.2f} % right as seen, {100 * shares[1]:.2f} % by the network"
        )
        if shares[1] > shares[0] or (gold is seen):
            better.append(column)
    return tuple(better)


def tune_decoding(
    model: NeuralModel, dev: Treebank, doubts: Sequence[str], *, threads: int, progress: Progress
) -> NeuralModel:
    """Select the decoder with the best development score and calibrate temperatures for it."""
    some = dev.spread(CALIBRATION_SENTENCES)
    start = _likeliest([(NeuralParser(model), some)], threads)
    model = _decoding_chosen(model.with_temperatures(start), dev, threads, progress)
    return _matched(model, [(NeuralParser(model), some)], start, dev, doubts, threads, progress)


def _decoding_chosen(model: NeuralModel, dev: Treebank, threads: int, progress: Progress) -> NeuralModel:
    """Select decoder and projectivity by development LAS; ties go to those of training."""
    gold = GoldTrees.of(dev, model.labels)
    own = model.decoding
    candidates = [
        replace(own, decode=decode, projective=projective)
        for projective in (own.projective, not own.projective)
        for decode in (own.decode, *(name for name in _DECODERS if name != own.decode))
    ]
    scores = []
    parser = NeuralParser(model)
    for one in candidates:
        options = ParseOptions(decode=one.decode, projective=one.projective)  # type: ignore[arg-type]
        parses = parser.parses(dev, options=options, threads=threads)
        scores.append(gold.score(parses.heads, parses.labels))
    best = max(range(len(candidates)), key=lambda i: scores[i].las)
    trees = "projective" if candidates[best].projective else "non-projective"
    progress.say(f"chosen: decoder {candidates[best].decode}, {trees}: dev {scores[best]}")
    told = {"dev_uas": scores[best].uas, "dev_las": scores[best].las}
    return replace(model, decoding=candidates[best], report={**model.report, **told})


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
        (NeuralParser(replace(own, decoding=model.decoding)), some.spread(CALIBRATION_SENTENCES))
        for own, some in parts
    ]
    return _matched(model, parsers, _likeliest(parsers, threads), dev, doubts, threads, progress)


_Parts = Sequence[tuple[NeuralParser, Treebank]]


def _likeliest(parts: _Parts, threads: int) -> Temperatures:
    own = [(parser.with_temperatures, some) for parser, some in parts]
    return fit_common_temperatures(own, start=parts[0][0].fitted, threads=threads, steps=12)


def _matched(
    model: NeuralModel,
    parts: _Parts,
    start: Temperatures,
    dev: Treebank | Folds,
    doubts: Sequence[str],
    threads: int,
    progress: Progress,
) -> NeuralModel:
    """Fit the temperatures that make stated probabilities match accuracy on ``parts``."""
    own = [(parser.with_temperatures, some) for parser, some in parts]
    found = match_temperatures(own, start, threads=threads)
    parsed = []
    for parser, some in parts:
        fitted = parser.with_temperatures(found.heads, found.labels, found.smoothing)
        options = ParseOptions(confidence=True)
        parsed.append((fitted.parses(some, options=options, threads=threads), some))
    error = head_calibration_error(parsed)
    on = str(dev) if isinstance(dev, Folds) else data_name(dev)
    progress.say(
        f"temperature of heads {found.heads:.3g}, of labels {found.labels:.3g}, "
        f"smoothing {found.smoothing:.2g}: "
        f"calibration error of heads {100 * error:.1f} % on {on} ('arcwise calibrate' shows more)"
    )
    report = {**model.report, "calibration": calibration_report(dev, error, doubts)}
    return replace(model, temperatures=found, report=report)
