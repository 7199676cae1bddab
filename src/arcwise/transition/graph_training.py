"""Train a DAG system greedily on the graphs in DEPS, evaluated by the F1 of arcs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError, OptionError
from arcwise.learning.progress import Progress
from arcwise.learning.training import DevScore, Weights, fit, training_report
from arcwise.transition.config import TransitionConfig
from arcwise.transition.graphs import GoldGraphs, gold_graphs
from arcwise.transition.model import TransitionModel, make_scorer
from arcwise.transition.system import TransitionSystem
from arcwise.transition.training import TransitionTrainer, word_vocabulary
from arcwise.treebanks import Treebank


def train_graph_model(
    train: Treebank,
    dev: Treebank | None,
    config: TransitionConfig,
    system: TransitionSystem,
    *,
    progress: Progress,
) -> TransitionModel:
    """Train on the graphs that the system can derive; reports the number of others."""
    if config.beam > 1:
        reason = "derivations of graphs differ in length, so their scores are not comparable"
        raise OptionError("beam", f"found {config.beam}, expected 1 for {system}: {reason}")
    gold = gold_graphs(train)
    derivable = native.transition_graph_coverage(system.native, gold.graphs, train.sentence_lengths.tolist())
    sentences = np.flatnonzero(derivable).astype(np.int64)
    if not len(sentences):
        raise InputError(
            f"{train.source}: {system} can derive none of the graphs in DEPS, expected some to learn from"
        )
    notes = _notes(gold, derivable, system)
    for note in notes:
        progress.say(note)
    vocabulary = word_vocabulary(train, config)
    scorer = make_scorer(config, system, len(gold.labels), vocabulary, root_label=gold.root_label)
    data = native.TransitionData(scorer, *train.fields)
    data.set_graphs(gold.graphs)
    best = fit(
        TransitionTrainer(config, scorer, data, sentences),
        len(sentences),
        epochs=config.epochs,
        patience=config.patience,
        seed=config.seed,
        evaluate=None if dev is None else _evaluator(config, system, gold, vocabulary, dev),
        progress=progress,
    )
    assert best.weights is not None
    report = training_report(train, dev, notes, best)
    return TransitionModel.build(
        config, system, gold.labels, vocabulary, best.weights, report=report, root_label=gold.root_label
    )


def _notes(gold: GoldGraphs, derivable: npt.NDArray[np.uint8], system: TransitionSystem) -> list[str]:
    missed = int((derivable == 0).sum())
    lines = (
        (
            missed,
            f"sentences ({1 - derivable.mean():.2%}) have graphs that {system} cannot derive; skipped",
        ),
        (gold.with_empty_nodes, "arcs from empty nodes were skipped"),
        (gold.doubled, "second arcs between the same two words were skipped"),
    )
    return [f"{count} {text}" for count, text in lines if count]


def _evaluator(
    config: TransitionConfig,
    system: TransitionSystem,
    train: GoldGraphs,
    vocabulary: native.Vocabulary,
    dev: Treebank,
) -> Callable[[Weights], DevScore]:
    """A function that computes unlabelled and labelled arc F1 on the development data."""
    gold = [set(graph) for graph in gold_graphs(dev, train.labels).graphs]
    # A separate scorer, because the trainer's holds weights that are not averaged.
    scorer = make_scorer(config, system, len(train.labels), vocabulary, root_label=train.root_label)
    data = native.TransitionData(scorer, *dev.fields)

    def evaluate(weights: Weights) -> DevScore:
        scorer.set_weights(weights)
        # Words of a graph may have several heads, the root among them, so the root is not restricted.
        result = native.transition_parse(scorer, data, beam=1, single_root=False)
        graphs = [set(graph) for graph in result.graphs]
        total = max(sum(map(len, gold)) + sum(map(len, graphs)), 1)
        pairs = list(zip(gold, graphs, strict=True))
        labelled = sum(len(g & p) for g, p in pairs)
        unlabelled = sum(len({arc[:2] for arc in g} & {arc[:2] for arc in p}) for g, p in pairs)
        return DevScore(2 * unlabelled / total, 2 * labelled / total)

    return evaluate
