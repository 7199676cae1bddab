"""Iterative parameter mixing (McDonald, Hall & Mann 2010): several online trainers learn at the same time, and are put together after
each epoch.

The sentences of an epoch are dealt out in parts. A trainer for each part goes on from the same state (weights, the sums for their
averages, whatever its steps go by), and then each number of the state becomes the mean of what the trainers made of it. The averages of
the weights are therefore over all steps of all trainers. With one part this is plain training, to the bit. (The paper deals out the
sentences once; here the order of each epoch, which is drawn anew, is dealt out like cards.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.engine import WorkerPool
from arcwise.learning.training import Advance, EpochTrainer, Weights

Table = npt.NDArray[np.float32]
Places = npt.NDArray[np.uint32]


class MixableTrainer(EpochTrainer, Protocol):
    """An online trainer that can go on from where another one is."""

    steps: float
    """The number of the step to come, by which averages go."""

    @property
    def tables(self) -> Sequence[Table]:
        """All else that it has learned; writing to them changes the trainer."""
        ...


@dataclass(frozen=True)
class TrainerState:
    """From where the trainers of all parts go on."""

    tables: Sequence[Table]
    steps: float


@dataclass(frozen=True)
class EpochPart:
    """What one trainer learns from in an epoch: these sentences, in this order."""

    epoch: int
    order: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Learned:
    """What the trainer of a part has changed: of each table the places, and what is there now."""

    changes: Sequence[tuple[Places, Table]]
    steps: float
    told: dict[str, float]


class PartTraining:
    """The work of an engine: from a state and a part to what was learned. ``make`` makes the trainer, where the work is done; it is
    kept for the next epoch, and any trainer can learn from any part."""

    def __init__(self, make: Callable[[], MixableTrainer]) -> None:
        self._make = make

    @cached_property
    def _trainer(self) -> MixableTrainer:
        return self._make()

    def __call__(self, given: tuple[TrainerState, EpochPart]) -> Learned:
        state, part = given
        trainer = self._trainer
        _set(trainer, state)
        told = trainer.epoch(part.epoch, part.order, lambda _: None)
        return Learned(changes(trainer.tables, state.tables), trainer.steps, told)


class MixingTrainer:
    """An ``EpochTrainer`` whose epochs are learned by the trainers of a pool (of ``PartTraining``), in ``parts``; ``own`` has the state.

    What it learns depends on the number of parts, and not on where they are learned.
    """

    def __init__(
        self,
        own: MixableTrainer,
        pool: WorkerPool[tuple[TrainerState, EpochPart], Learned],
        *,
        parts: int,
        threads: int,
    ) -> None:
        self._own, self._pool, self._parts, self._threads = own, pool, parts, threads

    def epoch(self, number: int, order: npt.NDArray[np.int64], advance: Advance) -> dict[str, float]:
        """One pass over the sentences by all trainers, and their mean; numbers are added up."""
        parts = dealt(number, order, self._parts)
        learned = []
        state = TrainerState(list(self._own.tables), self._own.steps)
        for part, one in zip(parts, self._pool.map_with(state, parts), strict=True):
            learned.append(one)
            advance(len(part.order))
        mix(self._own, learned, self._threads)
        names = dict.fromkeys(name for one in learned for name in one.told)
        return {name: sum(one.told.get(name, 0.0) for one in learned) for name in names}

    @property
    def weights(self) -> Weights:
        """The weights as they would be used for parsing now."""
        return self._own.weights

    @property
    def finished(self) -> bool:
        """Whether more epochs would change nothing."""
        return self._own.finished


def dealt(epoch: int, order: npt.NDArray[np.int64], parts: int) -> list[EpochPart]:
    """The sentences dealt out like cards; no part is without any.

    >>> [part.order.tolist() for part in dealt(1, np.arange(5), 2)]
    [[0, 2, 4], [1, 3]]
    """
    count = max(1, min(parts, len(order)))
    return [EpochPart(epoch, np.ascontiguousarray(order[part::count])) for part in range(count)]


def changes(tables: Sequence[Table], before: Sequence[Table]) -> list[tuple[Places, Table]]:
    """Of each table, where it differs and what is there; tables of one size, which change together, have the same places."""
    places: dict[int, Places] = {}
    for size in dict.fromkeys(map(len, tables)):
        chosen = [number for number, table in enumerate(tables) if len(table) == size]
        places[size] = native.changed_cells([tables[n] for n in chosen], [before[n] for n in chosen])
    return [(places[len(table)], table[places[len(table)]]) for table in tables]


def mix(trainer: MixableTrainer, learned: Sequence[Learned], threads: int) -> None:
    """The state of the trainer becomes the mean of what was learned from it."""
    for number, table in enumerate(trainer.tables):
        own = [one.changes[number] for one in learned]
        native.mix_table(table, [p for p, _ in own], [values for _, values in own], threads=threads)
    trainer.steps = sum(one.steps for one in learned) / len(learned)


def _set(trainer: MixableTrainer, state: TrainerState) -> None:
    for table, value in zip(trainer.tables, state.tables, strict=True):
        table[:] = value
    trainer.steps = state.steps
