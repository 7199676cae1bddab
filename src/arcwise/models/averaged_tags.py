"""Average a small pipeline's parser over several taggers, and calibrate the result."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from arcwise.evaluation.attachment import GoldTrees, UasLas
from arcwise.graph import GraphConfig, GraphParser
from arcwise.inference import Scores, TreeClass
from arcwise.learning.cross_validation import pooled
from arcwise.learning.folds import Folds, calibration_report, split_fold
from arcwise.learning.model_file import Packed, Precision
from arcwise.learning.progress import Progress
from arcwise.parsing.calibration import (
    confident_parses,
    fit_common_temperatures,
    head_calibration_error,
    match_label_temperature,
    temperatures_text,
)
from arcwise.parsing.parses import Codes, Parses
from arcwise.parsing.scored import ScoredParser, Temperatures
from arcwise.parsing.scorer import Scorer
from arcwise.pipeline.tag_averaging import TagAveragedParser, TagAveragedScorer
from arcwise.text.tagger import Tagger, TaggerConfig
from arcwise.treebanks import Sentence, Treebank

MOST_SENTENCES = 200
"""Size of a treebank up to which parsers average over tags: taggers trained on more are right more often."""


def average_tags(
    parser: GraphParser,
    train: Treebank,
    seen: Treebank,
    folds: Folds,
    *,
    config: GraphConfig,
    tagging: TaggerConfig,
    seed: int,
    progress: Progress,
    threads: int = 1,
) -> TagAveragedParser:
    """Average a cross-validated parser over the taggers trained without each fold, and calibrate the result.

    train: gold. seen: as the parser has seen it, with jackknifed tags. Confidences are fitted on held-out
    sentences whose parser and taggers have not seen them, so no tagger of fold i may have seen it: there are
    taggers without each pair of folds.
    """
    progress.say("training further taggers")
    count = folds.count
    without = {
        left_out: Tagger.train(_without(train, count, left_out), config=tagging, seed=seed)
        for size in (1, 2)
        for left_out in combinations(range(count), size)
    }
    final = replace(config, epochs=parser.info["epoch"], patience=0)
    parts = []
    for fold in range(count):
        tagger = without[(fold,)]
        others, _ = split_fold(seen, count, fold)
        _, held_out = split_fold(train, count, fold)
        view = tagger.look_alikes.view
        member = GraphParser.train(view(others), config=final, threads=threads).reading(tagger.look_alikes)
        at = parser.temperatures
        member = member.with_temperatures(at.heads, at.labels, at.smoothing)
        rest = [taggers for left_out, taggers in without.items() if len(left_out) == 2 and fold in left_out]
        averaged = ScoredParser(_CachedScorer(TagAveragedScorer(member, rest)), decoding=parser.decoding)
        parts.append((averaged.with_temperatures, tagger.tag(held_out, confidence=True, threads=threads)))
    likeliest = fit_common_temperatures(parts, start=Temperatures(), threads=threads, steps=12)
    best = match_label_temperature(parts, likeliest, threads=threads)
    parses = confident_parses(parts, best, threads)
    error, score = head_calibration_error(parses), _score(parses)
    progress.say(f"averaged over {count + 1} taggers, {folds}: {score}")
    progress.say(temperatures_text(best, error, str(folds)))
    scorer = TagAveragedScorer(parser, [without[(fold,)] for fold in range(count)])
    report = {
        "dev_uas": score.uas,
        "dev_las": score.las,
        "calibration": calibration_report(folds, error, ()),
    }
    return TagAveragedParser(scorer, decoding=parser.decoding, temperatures=best, report=report)


class _CachedScorer:
    """A scorer that caches the scores of a treebank, because the search for temperatures needs them dozens of
    times."""

    def __init__(self, scorer: Scorer) -> None:
        self._scorer = scorer
        self._cached: dict[bytes, Scores] = {}

    @property
    def labels(self) -> tuple[str, ...]:
        return self._scorer.labels

    def scores(
        self, treebank: Treebank, *, trees: TreeClass, required: Codes | None = None, threads: int = 1
    ) -> Scores:
        # Held-out sentences are parsed freely, in one tree class: the words alone determine the scores.
        if treebank.data not in self._cached:
            self._cached[treebank.data] = self._scorer.scores(treebank, trees=trees, threads=threads)
        return self._cached[treebank.data]

    def pack(self, precision: Precision = "float32") -> Packed:
        return self._scorer.pack(precision)


def _score(parses: Sequence[tuple[Parses, Treebank]]) -> UasLas:
    """The attachment scores of all held-out sentences."""
    words = [int((bank.heads >= 0).sum()) for _, bank in parses]
    scores = [
        GoldTrees.of(bank, parsed.label_names).score(parsed.heads, parsed.labels) for parsed, bank in parses
    ]
    return pooled(words, scores)


def _without(treebank: Treebank, count: int, left_out: tuple[int, ...]) -> Treebank:
    """The sentences outside some of ``count`` folds; sentence i is in fold i mod ``count``."""
    kept: list[Sentence] = [s for number, s in enumerate(treebank) if number % count not in left_out]
    return Treebank.from_sentences(kept, source=treebank.source)
