"""Data-parallel training: parameter mixing for online trainers, summed gradients for batch training."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.distillation import DistillationData
from arcwise.engine import Engine, WorkerPool
from arcwise.graph.config import GraphConfig
from arcwise.graph.trainers import BatchTrainer, likelihood_objective
from arcwise.learning.parameter_mixing import MixableTrainer, MixingTrainer, PartTraining
from arcwise.learning.progress import Progress
from arcwise.learning.training import EpochTrainer
from arcwise.treebanks import Treebank

if TYPE_CHECKING:
    from arcwise.graph.training import GraphLearner


@dataclass(frozen=True)
class LearnerSource:
    """The picklable inputs of a ``GraphLearner``, from which a worker builds the same one."""

    train: Treebank
    config: GraphConfig
    distilled: DistillationData | None

    def learner(self) -> GraphLearner:
        """Build the learner without progress output."""
        from arcwise.graph.training import GraphLearner

        return GraphLearner.of(self.train, self.config, 1, Progress(shown=False), self.distilled)


@contextmanager
def trainer_of(learner: GraphLearner, engine: Engine, threads: int) -> Iterator[EpochTrainer]:
    """The configured trainer; with several ``config.parts``, one that trains them on the engine."""
    config = learner.config
    if config.parts == 1:
        yield config.trainer_kind.make(config, learner.table, learner.data, threads)
    elif config.trainer_kind.batch:
        with engine.pool(PartObjective(learner.source)) as pool:
            yield BatchTrainer(config, learner.table.cells, SummedObjective(pool, learner, config.parts))
    else:
        with engine.pool(PartTraining(partial(_mixable, learner.source))) as mixed:
            main = config.trainer_kind.make(config, learner.table, learner.data, threads)
            yield MixingTrainer(_online(main), mixed, parts=config.parts, threads=threads)


def _mixable(source: LearnerSource) -> MixableTrainer:
    learner = source.learner()
    return _online(learner.config.trainer_kind.make(source.config, learner.table, learner.data, 1))


def _online(trainer: EpochTrainer) -> MixableTrainer:
    assert hasattr(trainer, "tables")  # batch trainers are handled above, and eg rejects the option parts
    return trainer  # type: ignore[return-value]


Range = tuple[int, int]
KEPT_OBJECTIVES = 4
"""Objectives cached by a worker, each with separate tables; there are several after another worker died."""


@dataclass(frozen=True)
class PartValue:
    """The loss of a range of sentences, and its gradient for the features that occur."""

    places: npt.NDArray[np.uint32]
    loss: float
    gradient: npt.NDArray[np.float64]
    skipped: int


class PartObjective:
    """The task of an engine: the loss of a range of sentences at given weights of all cells."""

    def __init__(self, source: LearnerSource) -> None:
        self._source = source
        self._objectives: dict[Range, native.LossObjective] = {}

    @cached_property
    def _learner(self) -> GraphLearner:
        return self._source.learner()

    def _objective(self, sentences: Range) -> native.LossObjective:
        if sentences not in self._objectives:
            learner, (first, last) = self._learner, sentences
            if len(self._objectives) == KEPT_OBJECTIVES:
                # Cleared, not evicted one by one: a worker has several only after another one died.
                self._objectives.clear()
            self._objectives[sentences] = likelihood_objective(
                learner.config, learner.table, learner.data, threads=1, first=first, last=last
            )
        return self._objectives[sentences]

    def __call__(self, task: tuple[npt.NDArray[np.float64], Range]) -> PartValue:
        weights, sentences = task
        objective = self._objective(sentences)
        places = objective.places
        loss, gradient = objective(weights[places])
        return PartValue(places, loss, gradient, objective.skipped)


class SummedObjective:
    """An ``Objective`` summed over parts, in their order so that the result is reproducible.

    A part is a range of sentences that stays with its worker.
    """

    def __init__(
        self,
        pool: WorkerPool[tuple[npt.NDArray[np.float64], Range], PartValue],
        learner: GraphLearner,
        parts: int,
    ) -> None:
        self._pool, self._cells, self.skipped = pool, learner.table.cells, 0
        bounds = np.linspace(0, len(learner.train), min(parts, len(learner.train)) + 1).astype(int).tolist()
        self._ranges = list(pairwise(bounds))

    @cached_property
    def places(self) -> npt.NDArray[np.uint32]:
        """The cells of features that occur in any part."""
        occurs = np.zeros(self._cells, np.bool_)
        # At weights 0, because only the places are needed.
        for part in self._pool.map_with(np.zeros(self._cells), self._ranges):
            occurs[part.places] = True
        return np.flatnonzero(occurs).astype(np.uint32)

    def __call__(self, x: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        """The loss and its gradient at the weights ``x`` of the cells in ``places``."""
        # float64, as the solvers expect; the model rounds to float32 at the end.
        weights, gradient = np.zeros(self._cells), np.zeros(self._cells)
        weights[self.places] = x
        loss, self.skipped = 0.0, 0
        for part in self._pool.map_with(weights, self._ranges):
            loss += part.loss
            gradient[part.places] += part.gradient
            self.skipped += part.skipped
        return loss, gradient[self.places]
