"""Train a transition-based parser: make trees derivable, run the trainer, select the epoch, calibrate."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.distillation import Distillation, DistillationData, distillation_data, distillation_report
from arcwise.engine import Engine, ThisProcess
from arcwise.errors import InputError
from arcwise.evaluation.attachment import GoldTrees
from arcwise.features.atoms import token_atoms
from arcwise.inference.labels import only_root_label
from arcwise.learning.cross_validation import FoldScores, FoldTask, cross_validate, fold_tasks
from arcwise.learning.folds import (
    Development,
    Folds,
    calibration_report,
    development,
    report_warnings,
)
from arcwise.learning.parameter_mixing import MixingTrainer, PartTraining
from arcwise.learning.progress import Progress
from arcwise.learning.training import Advance, DevScore, EpochTrainer, Weights, fit, training_report
from arcwise.parsing.scorer import label_codes
from arcwise.transition.calibration import fit_beam_temperature
from arcwise.transition.config import TransitionConfig
from arcwise.transition.model import TransitionModel, make_scorer
from arcwise.transition.named_systems import system as parse_system
from arcwise.transition.preparation import DerivableTrees, derivable_trees
from arcwise.transition.system import TransitionSystem
from arcwise.treebanks import Treebank

# Each of 20 temperatures parses the sample with a beam of at least 16.
CALIBRATION_SENTENCES = 300
MIN_TARGET = 0.01
"""Soft targets below this probability do not change any move; dropping them saves time."""
_PIECE = 100  # sentences per native call, between checks for Ctrl-C and progress updates


class TransitionTrainer:
    """The native trainer with the interface of the training loop."""

    def __init__(
        self,
        config: TransitionConfig,
        scorer: native.TransitionScorer,
        data: native.TransitionData,
        sentences: npt.NDArray[np.int64],
    ) -> None:
        self._config, self._scorer, self._sentences = config, scorer, sentences
        self._trainer = native.TransitionTrainer(
            scorer,
            data,
            rule=getattr(native.UpdateRule, config.effective_update.replace("-", "_")),
            beam=config.beam,
            single_root=config.single_root,
            explore=config.explore,
            dropout=config.word_dropout,
            step_bound=config.C if config.trainer == "mira" else 0.0,
            warm_epochs=config.warm_epochs,
            seed=config.seed,
            static_oracle=config.oracle == "static",
        )

    finished = False
    """Never: averages keep changing even without updates."""

    def epoch(self, number: int, order: npt.NDArray[np.int64], advance: Advance) -> dict[str, float]:
        """One pass over the sentences; returns the number of updates."""
        updates = 0
        if self._config.effective_update != "local" and number == self._config.warm_epochs + 1:
            # Averages count from the beam on: the greedy warm-up optimises for another search.
            self._restart_averages()
        chosen = self._sentences[order]
        for first in range(0, len(chosen), _PIECE):
            piece = np.ascontiguousarray(chosen[first : first + _PIECE])
            # Not in the first epoch, in which the parser's own moves are close to random.
            updates += self._trainer.learn(number, piece, explore=number > 1)
            advance(len(piece))
        return {"updates": updates}

    def _restart_averages(self) -> None:
        """Restart averaging when beam training begins, also in a trainer that skipped the epoch before."""
        for sums in self.tables[1::2]:
            sums[:] = 0
        self.steps = 1

    @property
    def weights(self) -> Weights:
        """The averaged weights so far."""
        return self._trainer.averages(self._scorer)

    @property
    def tables(self) -> list[npt.NDArray[np.float32]]:
        """Views of the weights of moves and of labels, each with its running sums."""
        return self._trainer.tables

    @property
    def steps(self) -> float:
        """The number of the next step."""
        return self._trainer.steps

    @steps.setter
    def steps(self, steps: float) -> None:
        self._trainer.steps = steps


def train_model(
    train: Treebank,
    dev: Development,
    config: TransitionConfig,
    *,
    threads: int,
    progress: Progress | None,
    distillation: Distillation | None = None,
    engine: Engine = ThisProcess(),
) -> TransitionModel:
    """Train with the given configuration; the ``engine`` runs folds and parts of an epoch in parallel."""
    progress = progress or Progress(shown=False)
    config.refuse_unread()
    if distillation is not None:
        config.check_distillation(distillation)
    system = parse_system(config.system)
    chosen = development(train, dev)
    doubts = report_warnings(train, chosen, progress)
    train_once: TrainOnce = partial(
        _train_graphs if system.many_heads else _train_trees, system=system, threads=threads
    )
    distilled = distillation_data(
        distillation, train, config, projective=system.is_projective, threads=threads, progress=progress
    )
    if isinstance(chosen, Folds):
        return _cross_validated(train, chosen, config, train_once, threads, progress, distilled, engine)
    model = train_once(train, chosen, config, progress=progress, distilled=distilled, engine=engine)
    # DAG systems have no confidences to calibrate.
    if chosen is None or system.many_heads or model.report["interrupted"]:
        return model
    sample = chosen.spread(CALIBRATION_SENTENCES)
    temperature, error = fit_beam_temperature([(model, sample)], threads)
    return _with_temperature(model, temperature, calibration_report(chosen, error, doubts), progress)


TrainOnce = Callable[..., TransitionModel]


def _train_graphs(
    train: Treebank,
    dev: Treebank | None,
    config: TransitionConfig,
    *,
    system: TransitionSystem,
    threads: int,
    progress: Progress,
    distilled: DistillationData | None,
    engine: Engine = ThisProcess(),
) -> TransitionModel:
    assert distilled is None
    from arcwise.transition.graph_training import train_graph_model

    return train_graph_model(train, dev, config, system, progress=progress)


@dataclass(frozen=True)
class TreeLearner:
    """Training data, labels and vocabulary, ready for a trainer."""

    config: TransitionConfig
    labels: tuple[str, ...]
    vocabulary: native.Vocabulary
    prepared: DerivableTrees
    scorer: native.TransitionScorer
    data: native.TransitionData
    root_label: int
    """The label of all arcs from the root and of no others, -1 if there is none."""

    @classmethod
    def of(
        cls,
        train: Treebank,
        config: TransitionConfig,
        system: TransitionSystem,
        distilled: DistillationData | None,
        threads: int = 1,
    ) -> TreeLearner:
        """Prepare trees, labels and vocabulary, from the sentences of ``distilled`` if given."""
        train = train if distilled is None else distilled.treebank
        labels = tuple(sorted(set(train.column("deprel")))) if config.labelled else ()
        vocabulary = word_vocabulary(train, config)
        prepared = derivable_trees(
            train, system, single_root=config.single_root, unreachable=config.unreachable, threads=threads
        )
        gold_labels = _gold_labels(train, labels)
        root_label = only_root_label(train.heads, gold_labels) if labels else -1
        gold_labels = _labels_of_moved_roots(train.heads, prepared.heads, gold_labels, root_label)
        scorer = make_scorer(config, system, len(labels), vocabulary, root_label=root_label)
        data = native.TransitionData(scorer, *train.fields)
        data.set_gold(prepared.heads, gold_labels)
        if distilled is not None:
            taught = distilled.targets(prepared.heads, gold_labels, labels).prune(MIN_TARGET)
            data.set_taught(
                taught.starts, taught.heads, taught.labels, taught.probabilities, distilled.weights
            )
        return cls(config, labels, vocabulary, prepared, scorer, data, root_label)

    def trainer(self) -> TransitionTrainer:
        """A new trainer."""
        return TransitionTrainer(self.config, self.scorer, self.data, self.prepared.sentences)


def _part_trainer(
    train: Treebank, config: TransitionConfig, system: TransitionSystem, distilled: DistillationData | None
) -> TransitionTrainer:
    return TreeLearner.of(train, config, system, distilled).trainer()


@contextmanager
def _trainer(
    learner: TreeLearner, part_trainer: Callable[[], TransitionTrainer], engine: Engine, threads: int
) -> Iterator[EpochTrainer]:
    """The trainer; with several ``config.parts``, one that trains them on the engine."""
    if learner.config.parts == 1:
        yield learner.trainer()
        return
    with engine.pool(PartTraining(part_trainer)) as pool:
        yield MixingTrainer(learner.trainer(), pool, parts=learner.config.parts, threads=threads)


def _train_trees(
    train: Treebank,
    dev: Treebank | None,
    config: TransitionConfig,
    *,
    system: TransitionSystem,
    threads: int,
    progress: Progress,
    distilled: DistillationData | None,
    engine: Engine = ThisProcess(),
) -> TransitionModel:
    learner = TreeLearner.of(train, config, system, distilled, threads)
    labels, vocabulary, prepared = learner.labels, learner.vocabulary, learner.prepared
    for note in prepared.notes:
        progress.say(note)
    # Workers build trainers from picklable inputs, because native objects do not travel.
    part_trainer = partial(_part_trainer, train, config, system, distilled)
    with _trainer(learner, part_trainer, engine, threads) as trainer:
        best = fit(
            trainer,
            len(prepared.sentences),
            epochs=config.epochs,
            patience=config.patience,
            seed=config.seed,
            evaluate=None
            if dev is None
            else _evaluator(config, system, labels, vocabulary, dev, threads, learner.root_label),
            progress=progress,
        )
    assert best.weights is not None
    report = training_report(train, dev, prepared.notes, best) | distillation_report(distilled)
    return TransitionModel.build(
        config, system, labels, vocabulary, best.weights, report=report, root_label=learner.root_label
    )


def _cross_validated(
    train: Treebank,
    folds: Folds,
    config: TransitionConfig,
    train_once: TrainOnce,
    threads: int,
    progress: Progress,
    distilled: DistillationData | None,
    engine: Engine,
) -> TransitionModel:
    """Choose the epoch by cross-validation, train on everything, fit the temperature."""
    tasks = fold_tasks(folds, train, distilled)
    chosen = cross_validate(
        folds, tasks, partial(_train_fold, train_once, config), engine=engine, progress=progress
    )
    # The warm epochs, and where exploration starts, do not depend on the number of epochs: so this is the
    # epoch scored.
    final = replace(config, epochs=chosen.epoch, patience=0)
    model = train_once(train, None, final, progress=progress, distilled=distilled, engine=engine)
    report = {**model.report, **chosen.report, "folds": chosen.history}
    model = replace(model, config=config, report=report)
    if model.system.many_heads or report["interrupted"]:
        return model
    models = engine.map(partial(_fold_model, train_once, final), tasks)
    held_out = [(model, task.held_out) for model, task in zip(models, tasks, strict=True)]
    temperature, error = fit_beam_temperature(held_out, threads)
    return _with_temperature(model, temperature, calibration_report(folds, error, ()), progress)


def _train_fold(
    train_once: TrainOnce, config: TransitionConfig, task: FoldTask[DistillationData]
) -> tuple[None, FoldScores]:
    """Train without the fold and score each epoch on it."""
    quiet = Progress(shown=False)
    report = train_once(task.train, task.held_out, config, progress=quiet, distilled=task.distilled).report
    return None, FoldScores.of(task.held_out, report["history"], interrupted=report["interrupted"])


def _fold_model(
    train_once: TrainOnce, config: TransitionConfig, task: FoldTask[DistillationData]
) -> TransitionModel:
    """The model of the chosen epoch, trained without the fold."""
    quiet = Progress(shown=False)
    model = train_once(task.train, None, config, progress=quiet, distilled=task.distilled)
    if model.report["interrupted"]:
        raise KeyboardInterrupt
    return model


def _with_temperature(
    model: TransitionModel, temperature: float, report: dict[str, Any], progress: Progress
) -> TransitionModel:
    progress.say(
        f"temperature {temperature:.3g}: calibration error of heads {100 * report['error']:.1f} % on "
        f"{report['on']}"
    )
    return replace(model, temperature=temperature, report={**model.report, "calibration": report})


def word_vocabulary(train: Treebank, config: TransitionConfig) -> native.Vocabulary:
    """Count the words: unknown words are those without a count, and word dropout depends on it."""
    return native.Vocabulary.of(np.ascontiguousarray(token_atoms(train, [config.word])[:, 0]))


def _gold_labels(treebank: Treebank, labels: Sequence[str]) -> npt.NDArray[np.int32]:
    """The index of each word's label in ``labels``; 0 for all words of an unlabelled model."""
    return label_codes(treebank, labels) if labels else np.zeros(treebank.word_count, np.int32)


def _labels_of_moved_roots(
    original: npt.NDArray[np.int32],
    prepared: npt.NDArray[np.int32],
    labels: npt.NDArray[np.int32],
    root_label: int,
) -> npt.NDArray[np.int32]:
    """Labels that keep the rule of the root where preparing a tree moved a root or made another one.

    A move needs some label there: that of the root, or the most frequent other one.
    """
    if root_label < 0:
        return labels
    labels = labels.copy()
    labels[(original != 0) & (prepared == 0)] = root_label
    others = labels[(labels >= 0) & (labels != root_label)]
    labels[(original == 0) & (prepared != 0)] = np.bincount(others).argmax()
    return labels


def _evaluator(
    config: TransitionConfig,
    system: TransitionSystem,
    labels: Sequence[str],
    vocabulary: native.Vocabulary,
    dev: Treebank,
    threads: int,
    root_label: int,
) -> Callable[[Weights], DevScore]:
    """A function that scores weights on the development data."""
    if not (dev.heads >= 0).any():
        raise InputError(f"{dev.source}: has no heads, expected gold trees")
    # A separate scorer: evaluation sets averaged weights, and the trainer's must keep the current ones.
    scorer = make_scorer(config, system, len(labels), vocabulary, root_label=root_label)
    data = native.TransitionData(scorer, *dev.fields)
    gold = GoldTrees.of(dev, labels)

    def evaluate(weights: Weights) -> DevScore:
        scorer.set_weights(weights)
        result = native.transition_parse(
            scorer, data, beam=config.beam, single_root=config.single_root, threads=threads
        )
        return gold.score(result.heads, result.labels)

    return evaluate
