"""Cross-fitting: evidence about every sentence from parsers and a tagger that were not trained on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from itertools import pairwise
from typing import Literal

import numpy as np

from arcwise.engine import Engine, ThisProcess
from arcwise.errors import ModelError
from arcwise.graph import GraphConfig, GraphParser
from arcwise.inference import TreeDistributionBatch
from arcwise.mining.conditionals import arc_conditionals, best_tree_gaps
from arcwise.mining.evidence import ArcTable, Codes, Floats, ParserEvidence, Strings
from arcwise.mining.folds import Numbers, document_folds
from arcwise.parsing.parser import ParseOptions, Parser
from arcwise.parsing.scored import ScoredParser
from arcwise.pipeline.pipeline import tree_parser
from arcwise.text.tagger import Tagger
from arcwise.transition import TransitionConfig, TransitionParser
from arcwise.treebanks import Treebank

LONGEST = 300
"""Longer sentences get no evidence from the graph-based parser: their labelled marginals take gigabytes."""
_CHUNK = 64
"""Sentences whose labelled marginals are in memory at once."""
_TEMPERATURES = (0.7, 1.0, 1.4, 2.0, 2.8, 4.0)
_BEAM_TEMPERATURES = tuple(float(t) for t in np.geomspace(0.5, 500, 13))
_CALIBRATION = 150
"""Held-out sentences of a fold on which the graph-based parser's temperature is chosen."""
_UNIFORM = 0.02
"""Weight of a uniform distribution mixed into the beam's: arcs that left the beam are not impossible."""
_K_BEST = 16
_LEAST = 1e-9
"""Lower bound of probabilities whose logarithm is taken."""


@dataclass(frozen=True)
class NeuralEffort:
    """Training effort of a neural parser."""

    size: Literal["small", "base"] = "small"
    words: int = 1_600_000
    """Words of all epochs together; small treebanks get more epochs."""
    epochs: tuple[int, int] = (4, 40)
    """Fewest and most epochs."""
    batch_words: int = 1000
    """Words of the largest batch: with larger ones, the steps of a few epochs do not suffice."""


@dataclass(frozen=True)
class Effort:
    """The effort of cross-fitting: folds, epochs and parsers."""

    folds: int = 4
    epochs: int = 4
    parsers: tuple[str, ...] = ("graph", "greedy")
    neural: NeuralEffort = NeuralEffort()


EFFORTS: Mapping[str, Effort] = {
    "fast": Effort(),
    "full": Effort(parsers=("graph", "greedy", "beam", "neural")),
    "thorough": Effort(
        parsers=("graph", "greedy", "beam", "neural"),
        neural=NeuralEffort("base", words=6_000_000, epochs=(30, 60), batch_words=2500),
    ),
}
"""``--time`` → effort; ``thorough`` is meant for a GPU."""


@dataclass(frozen=True)
class TagEvidence:
    """A tagger's predictions of UPOS, flat over all words; ``_`` and NaN where it has none."""

    predicted: Strings
    probability: Floats
    """P(predicted UPOS)."""


@dataclass(frozen=True)
class Crossfitted:
    """The evidence about a treebank, by parser."""

    parsers: Mapping[str, ParserEvidence]
    tags: TagEvidence
    folds: Numbers
    """The fold of each sentence."""

    @property
    def mean_arc(self) -> Floats:
        """The mean over parsers of P(annotated head and universal label); NaN without any."""
        return _nan_mean([evidence.arc for evidence in self.parsers.values()], len(self.tags.predicted))

    def with_parser(self, name: str, evidence: ParserEvidence) -> Crossfitted:
        """The same with the evidence of another parser."""
        return replace(self, parsers={**self.parsers, name: evidence})


def _nan_mean(columns: list[Floats], words: int) -> Floats:
    if not columns:
        return np.full(words, np.nan)
    values = np.stack(columns)
    some = np.isfinite(values)
    total = np.where(some, values, 0.0).sum(axis=0)
    return np.where(some.any(axis=0), total / np.maximum(some.sum(axis=0), 1), np.nan)


@dataclass(frozen=True)
class FoldTraining:
    """One training run: a parser (or ``tagger``) and its held-out fold."""

    parser: str
    fold: int


def crossfit(
    treebank: Treebank,
    *,
    effort: Effort = EFFORTS["fast"],
    seed: int = 1,
    engine: Engine = ThisProcess(),
    report: Callable[[str], None] = lambda line: None,
) -> Crossfitted:
    """Train every parser without each fold in turn and collect its evidence about that fold.

    The result does not depend on the ``engine``. A treebank of one document or one sentence has no evidence.
    """
    folds = document_folds(treebank, min(effort.folds, max(len(treebank), 1)), seed=seed)
    tagged = any(tag != "_" for tag in treebank.column("upos"))
    parsers = [kind for kind in effort.parsers if kind != "neural" or find_spec("torch")]
    kinds = [*parsers, *(["tagger"] if tagged else [])]
    present = np.unique(folds).tolist() if len(np.unique(folds)) > 1 else []
    tasks = [FoldTraining(kind, fold) for kind in kinds for fold in present]
    words = treebank.word_count
    evidence = {kind: ParserEvidence.empty(words) for kind in parsers}
    tags = TagEvidence(np.full(words, "_", object), np.full(words, np.nan))
    results = engine.map(partial(_run, treebank.data, folds, effort, seed), tasks)
    for number, task in enumerate(tasks, 1):
        report(f"{task.parser}: training without part {task.fold + 1} ({number} of {len(tasks)})")
        result = next(results)
        places = _words_of(treebank, np.flatnonzero(folds == task.fold))
        if isinstance(result, ParserEvidence):
            evidence[task.parser].put(places, result)
        elif result is not None:
            tags.predicted[places], tags.probability[places] = result
    return Crossfitted(evidence, tags, folds)


def _words_of(treebank: Treebank, sentences: Numbers) -> Numbers:
    starts = treebank.sentence_words.astype(np.int64)
    ranges = [np.arange(starts[s], starts[s + 1]) for s in sentences.tolist()]
    return np.concatenate(ranges) if ranges else np.zeros(0, np.int64)


def _run(
    data: bytes, folds: Numbers, effort: Effort, seed: int, task: FoldTraining
) -> ParserEvidence | tuple[Strings, Floats] | None:
    """Train on the other folds and judge the held-out one; None if there is nothing to train on."""
    treebank = Treebank(data, strict=False)
    others = Treebank.from_sentences(treebank[int(s)] for s in np.flatnonzero(folds != task.fold))
    held_out = Treebank.from_sentences(treebank[int(s)] for s in np.flatnonzero(folds == task.fold))
    if task.parser == "tagger":
        return _tags(others, held_out, seed)
    if task.parser == "graph":
        return _graph(others, held_out, effort.epochs, seed)
    if task.parser == "neural":
        return _neural(others, held_out, effort.neural, seed)
    return _transition(others, held_out, effort.epochs, seed, beam=8 if task.parser == "beam" else 1)


def _tags(others: Treebank, held_out: Treebank, seed: int) -> tuple[Strings, Floats] | None:
    tagged = Treebank.from_sentences(s for s in others if "_" not in s.upos)
    if not tagged.word_count:
        return None
    tagger = Tagger.train(tagged, seed=seed)
    tags = tagger.tags(held_out)
    states = np.array([tagger.alphabet.upos[upos] for upos, _ in tagger.alphabet.states], object)
    return states[tags.state], np.asarray(tags.upos_probability, np.float64)


def table_bits(words: int) -> tuple[int, int]:
    """The sizes (arc_bits, row_bits) of the weight tables for training data of this many words."""
    for most, bits in ((1_500, (18, 20)), (60_000, (20, 22))):
        if words <= most:
            return bits
    return 21, 23


def _graph(others: Treebank, held_out: Treebank, epochs: int, seed: int) -> ParserEvidence | None:
    if not (np.asarray(others.heads) >= 0).any():
        return None
    arc_bits, row_bits = table_bits(others.word_count)
    labelled = any(label != "_" for label in others.column("deprel"))
    config = GraphConfig(
        arc_bits=arc_bits,
        row_bits=row_bits,
        epochs=epochs,
        seed=seed,
        labelled=labelled,
        single_root=all((s.heads[1:] == 0).sum() <= 1 for s in others),
    ).for_trainer("log-linear")
    return _calibrated(GraphParser.train(others, config=config), held_out)


def _neural(others: Treebank, held_out: Treebank, effort: NeuralEffort, seed: int) -> ParserEvidence | None:
    if not (np.asarray(others.heads) >= 0).any():
        return None
    # Importing torch takes seconds.
    from arcwise.neural import NeuralConfig, NeuralParser

    config = NeuralConfig(
        size=effort.size,
        epochs=int(np.clip(effort.words // others.word_count, *effort.epochs)),
        batch_words=int(np.clip(others.word_count // 15, 150, effort.batch_words)),
        warm_up=50,
        average=0.99,
        seed=seed,
        labelled=any(label != "_" for label in others.column("deprel")),
        single_root=all((s.heads[1:] == 0).sum() <= 1 for s in others),
    )
    return _calibrated(NeuralParser.train(others, config=config), held_out)


def _calibrated(parser: ScoredParser, held_out: Treebank) -> ParserEvidence:
    """The evidence of a parser at the temperature at which the annotation is most probable."""
    sample = held_out.spread(_CALIBRATION)
    tried = [(_likelihood(_at(parser, t), sample), t) for t in _TEMPERATURES]
    return graph_evidence(_at(parser, max(tried)[1]), held_out)


def _at(parser: ScoredParser, temperature: float) -> ScoredParser:
    return parser.with_temperatures(temperature, temperature)


def _likelihood(parser: ScoredParser, sample: Treebank) -> float:
    """Σ log P(annotated head and label)."""
    parses = parser.parses(sample, options=ParseOptions(confidence=True), gold=True)
    assert parses.probabilities is not None
    assert parses.probabilities.gold is not None
    gold = parses.probabilities.gold
    annotated = np.asarray(sample.heads) >= 0
    # A label that the parser does not score says nothing about its temperature.
    label = np.where(np.asarray(gold.label) < 0, 1.0, gold.label)
    return float(np.log(np.maximum(np.asarray(gold.head) * label, _LEAST))[annotated].sum())


def model_evidence(model: Parser, treebank: Treebank) -> ParserEvidence:
    """The evidence of a labelled parser that was trained on other treebanks; it reads the annotated tags.

    A parser that has seen this treebank would repeat its errors.
    """
    parser = check_model(model)
    return (
        _calibrated(parser, treebank) if isinstance(parser, ScoredParser) else beam_evidence(parser, treebank)
    )


def check_model(model: Parser) -> ScoredParser | TransitionParser:
    """The parser of a model; ``ModelError`` if it has no probabilities of labelled arcs."""
    parser = tree_parser(model)
    if not isinstance(parser, ScoredParser | TransitionParser):
        raise ModelError(
            f"found a {parser.kind} parser, expected a graph-based, neural or transition-based one"
        )
    if not (parser.labels if isinstance(parser, ScoredParser) else parser.model.labels):
        raise ModelError("the parser predicts no labels; error mining needs one that does")
    return parser


def graph_evidence(parser: ScoredParser, held_out: Treebank) -> ParserEvidence:
    """The evidence of a graph-based or neural parser: marginals, and conditionals given the other arcs."""
    parts = []
    numbers = np.arange(len(held_out))
    lengths = held_out.sentence_lengths
    for first in range(0, len(held_out), _CHUNK):
        chunk = [int(s) for s in numbers[first : first + _CHUNK]]
        short = [s for s in chunk if lengths[s] <= LONGEST]
        scored = iter(_scored(parser, Treebank.from_sentences(held_out[s] for s in short)) if short else ())
        for s in chunk:
            parts.append(next(scored) if lengths[s] <= LONGEST else ParserEvidence.empty(int(lengths[s])))
    return ParserEvidence.joined(parts)


def _scored(parser: ScoredParser, chunk: Treebank) -> list[ParserEvidence]:
    trees, at = parser.decoding.trees, parser.temperatures
    labels = parser.labels or ("_",)
    scores = parser.scorer.scores(chunk, trees=trees)
    batch = TreeDistributionBatch(
        scores,
        projective=trees.projective,
        single_root=trees.single_root,
        temperature=at.heads,
        label_temperature=at.labels,
        smoothing=at.smoothing,
    )
    marginals = batch.label_marginals if parser.labels else batch.marginals
    weights = scores.split(scores.batch.log_weights(at.heads, at.labels, at.smoothing))
    results = []
    for sentence, marginal, weight in zip(chunk, marginals, weights, strict=True):
        heads = np.asarray(sentence.heads[1:])
        n = len(heads)
        table = ArcTable(marginal.reshape(-1, n + 1, n + 1)[:, :, 1:], labels, heads, sentence.deprels)
        log_weights = np.asarray(weight).reshape(-1, n + 1, n + 1)
        conditionals = arc_conditionals(log_weights, heads, single_root=trees.single_root)
        conditional = replace(table, probabilities=conditionals).annotated_arcs()[1]
        # Without a label to compare, every label of the annotated head is the same arc.
        gaps = best_tree_gaps(log_weights, heads, table.same_label() | table.unlabelled, trees)
        results.append(table.evidence(conditional, gaps))
    return results


def _transition(
    others: Treebank, held_out: Treebank, epochs: int, seed: int, *, beam: int
) -> ParserEvidence | None:
    # Unlike the graph-based trainer, this one needs whole trees.
    whole = Treebank.from_sentences(s for s in others if (np.asarray(s.heads[1:]) >= 0).all())
    if not whole.word_count:
        return None
    labelled = any(label != "_" for label in whole.column("deprel"))
    config = TransitionConfig(beam=beam, epochs=max(epochs, 2), seed=seed, labelled=labelled)
    parser = TransitionParser.train(whole, config=config)
    return beam_evidence(parser, held_out)


def beam_evidence(parser: TransitionParser, held_out: Treebank) -> ParserEvidence:
    """The evidence of a transition-based parser: arcs weighted by the trees of the final beam."""
    best = parser.k_best_parses(held_out, options=ParseOptions(k_best=_K_BEST))
    labels = tuple(best.label_names) or ("_",)
    beams = list(_beams(best.counts, best.scores, best.heads, best.labels, held_out))
    tables = [
        partial(_beam_table, *beam, labels, np.asarray(s.heads[1:]), s.deprels)
        for beam, s in zip(beams, held_out, strict=True)
    ]
    sample = tables[:: max(1, len(tables) // _CALIBRATION)]
    tried = []
    for temperature in _BEAM_TEMPERATURES:
        arcs = [table(temperature=temperature).annotated_arcs()[1] for table in sample]
        finite = np.concatenate([np.zeros(0), *arcs])
        finite = finite[np.isfinite(finite)]
        tried.append((float(np.log(np.maximum(finite, _LEAST)).sum()), temperature))
    best_temperature = max(tried)[1] if tried else 1.0
    return ParserEvidence.joined([table(temperature=best_temperature).evidence() for table in tables])


def _beams(
    counts: Numbers, scores: Floats, heads: Codes, labels: Codes, held_out: Treebank
) -> list[tuple[Floats, Codes, Codes]]:
    """(scores, heads, label codes) of the trees of each sentence; heads have the shape (K, n)."""
    lengths = held_out.sentence_lengths
    trees = np.concatenate([[0], np.cumsum(counts)])
    words = np.concatenate([[0], np.cumsum(counts * lengths)])
    return [
        (scores[a:b], heads[c:d].reshape(b - a, n), labels[c:d].reshape(b - a, n))
        for (a, b), (c, d), n in zip(
            pairwise(trees.tolist()), pairwise(words.tolist()), lengths.tolist(), strict=True
        )
    ]


def _beam_table(
    scores: Floats,
    heads: Codes,
    codes: Codes,
    labels: tuple[str, ...],
    annotated_heads: Codes,
    annotated: list[str],
    *,
    temperature: float,
) -> ArcTable:
    n = heads.shape[1]
    weights = np.exp((scores - scores.max(initial=-np.inf)) / temperature) if len(scores) else scores
    weights = weights / max(float(weights.sum()), 1e-300)
    p = np.full((len(labels), n + 1, n), _UNIFORM / (len(labels) * (n + 1)))
    tree, word = np.divmod(np.arange(heads.size), n) if n else (np.zeros(0, int),) * 2
    flat = np.maximum(codes.ravel(), 0), np.maximum(heads.ravel(), 0), word
    np.add.at(p, flat, (1 - _UNIFORM) * weights[tree])
    return ArcTable(p, labels, annotated_heads, annotated)
