"""Training in parts that an engine does at the same time: online trainers are mixed after each epoch (``learning.parameter_mixing``), the
objective of batch training is a sum over the parts."""

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
    """What a ``GraphLearner`` is made from; it travels, where a ``GraphLearner`` does not, and makes the same one."""

    train: Treebank
    config: GraphConfig
    distilled: DistillationData | None

    def learner(self) -> GraphLearner:
        """The learner, made silently."""
        from arcwise.graph.training import GraphLearner

        return GraphLearner.of(self.train, self.config, 1, Progress(shown=False), self.distilled)


@contextmanager
def trainer_of(learner: GraphLearner, engine: Engine, threads: int) -> Iterator[EpochTrainer]:
    """The trainer of the configuration; in ``config.parts`` parts, if there are several, done where the engine says."""
    config = learner.config
    if config.parts == 1:
        yield config.trainer_kind.make(config, learner.table, learner.data, threads)
    elif config.trainer_kind.batch:
        with engine.pool(PartObjective(learner.source)) as pool:
            yield BatchTrainer(config, learner.table.cells, SummedObjective(pool, learner, config.parts))
    else:
        with engine.pool(PartTraining(partial(_mixable, learner.source))) as mixed:
            own = config.trainer_kind.make(config, learner.table, learner.data, threads)
            yield MixingTrainer(_online(own), mixed, parts=config.parts, threads=threads)


def _mixable(source: LearnerSource) -> MixableTrainer:
    learner = source.learner()
    return _online(learner.config.trainer_kind.make(source.config, learner.table, learner.data, 1))


def _online(trainer: EpochTrainer) -> MixableTrainer:
    assert hasattr(trainer, "tables")  # TrainerKind.batch says so of the others, and eg has no parts
    return trainer  # type: ignore[return-value]


# ---- sums of gradients

Range = tuple[int, int]
KEPT_OBJECTIVES = 4
"""Each has tables of its own. A worker of a pool has one part, or some of those that died."""


@dataclass(frozen=True)
class PartValue:
    """The loss of some sentences, and its gradient by the weights of the places that occur in them."""

    places: npt.NDArray[np.uint32]
    loss: float
    gradient: npt.NDArray[np.float64]
    skipped: int


class PartObjective:
    """The work of an engine: the loss of the sentences of a range, at weights of all cells."""

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
                self._objectives.clear()
            self._objectives[sentences] = likelihood_objective(
                learner.config, learner.table, learner.data, threads=1, first=first, last=last
            )
        return self._objectives[sentences]

    def __call__(self, given: tuple[npt.NDArray[np.float64], Range]) -> PartValue:
        weights, sentences = given
        objective = self._objective(sentences)
        places = objective.places
        loss, gradient = objective(weights[places])
        return PartValue(places, loss, gradient, objective.skipped)


class SummedObjective:
    """An ``Objective``: the sum over the parts, added up in their order. A part is a range of sentences; its worker keeps it."""

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
        """The places that occur in any part."""
        occurs = np.zeros(self._cells, np.bool_)
        for part in self._pool.map_with(np.zeros(self._cells), self._ranges):
            occurs[part.places] = True
        return np.flatnonzero(occurs).astype(np.uint32)

    def __call__(self, x: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        """The loss and its gradient at the weights ``x`` of the places."""
        weights, gradient = np.zeros(self._cells), np.zeros(self._cells)
        weights[self.places] = x
        loss, self.skipped = 0.0, 0
        for part in self._pool.map_with(weights, self._ranges):
            loss += part.loss
            gradient[part.places] += part.gradient
            self.skipped += part.skipped
        return loss, gradient[self.places]
