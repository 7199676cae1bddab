"""Iterative parameter mixing (McDonald, Hall & Mann 2010) of parallel online trainers.

The sentences of an epoch are split into parts. The trainers of all parts start from the same state (weights,
running sums, optimiser state), and the new state is the mean of theirs, so that averaged weights cover all
steps of all trainers. With one part this is plain training, to the bit. The paper splits the sentences once;
here each epoch's random order is dealt out round-robin.
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
# uint32: tables have at most 2**32 cells, and changes travel between processes.
Places = npt.NDArray[np.uint32]


class MixableTrainer(EpochTrainer, Protocol):
    """An online trainer whose state can be set from another one's."""

    steps: float
    """The number of the next step; weights the running sums of averaging."""

    @property
    def tables(self) -> Sequence[Table]:
        """Views of the rest of the state; writing to them changes the trainer."""
        ...


@dataclass(frozen=True)
class TrainerState:
    """The common initial state of an epoch."""

    tables: Sequence[Table]
    steps: float


@dataclass(frozen=True)
class EpochPart:
    """The sentences of one trainer in an epoch, in order."""

    epoch: int
    order: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Learned:
    """The result of training on a part: the changed cells of each table and their new values."""

    changes: Sequence[tuple[Places, Table]]
    steps: float
    metrics: dict[str, float]


class PartTraining:
    """The task of an engine: train on a part from a given state.

    ``make`` builds the trainer in the worker, which keeps it for the next epochs; any trainer can take any
    part.
    """

    def __init__(self, make: Callable[[], MixableTrainer]) -> None:
        self._make = make

    @cached_property
    # Made lazily and kept: building a trainer extracts the features of the whole treebank.
    def _trainer(self) -> MixableTrainer:
        return self._make()

    def __call__(self, task: tuple[TrainerState, EpochPart]) -> Learned:
        state, part = task
        trainer = self._trainer
        _set(trainer, state)
        metrics = trainer.epoch(part.epoch, part.order, lambda _: None)
        # Only changed cells travel: an epoch touches a small part of a hashed table.
        return Learned(changes(trainer.tables, state.tables), trainer.steps, metrics)


class MixingTrainer:
    """An ``EpochTrainer`` that trains each epoch in ``parts`` on a pool of ``PartTraining`` workers.

    ``main`` holds the mixed state. The result depends on the number of parts, not on where they run.
    """

    def __init__(
        self,
        main: MixableTrainer,
        pool: WorkerPool[tuple[TrainerState, EpochPart], Learned],
        *,
        parts: int,
        threads: int,
    ) -> None:
        self._main, self._pool, self._parts, self._threads = main, pool, parts, threads

    def epoch(self, number: int, order: npt.NDArray[np.int64], advance: Advance) -> dict[str, float]:
        """One parallel pass over the sentences, mixed afterwards; metrics are summed."""
        parts = split_epoch(number, order, self._parts)
        learned = []
        # Views suffice: `mix` writes to them only after all parts have read them.
        state = TrainerState(list(self._main.tables), self._main.steps)
        for part, result in zip(parts, self._pool.map_with(state, parts), strict=True):
            learned.append(result)
            advance(len(part.order))
        mix(self._main, learned, self._threads)
        names = dict.fromkeys(name for result in learned for name in result.metrics)
        return {name: sum(result.metrics.get(name, 0.0) for result in learned) for name in names}

    @property
    def weights(self) -> Weights:
        """The current (averaged) weights."""
        return self._main.weights

    @property
    def finished(self) -> bool:
        """Whether training has converged."""
        return self._main.finished


def split_epoch(epoch: int, order: npt.NDArray[np.int64], parts: int) -> list[EpochPart]:
    """Split the sentences round-robin; no part is empty.

    >>> [part.order.tolist() for part in split_epoch(1, np.arange(5), 2)]
    [[0, 2, 4], [1, 3]]
    """
    count = max(1, min(parts, len(order)))
    # Contiguous, because native trainers read the order as a plain array.
    return [EpochPart(epoch, np.ascontiguousarray(order[part::count])) for part in range(count)]


def changes(tables: Sequence[Table], before: Sequence[Table]) -> list[tuple[Places, Table]]:
    """The changed cells of each table; tables of one size change together and share them."""
    places: dict[int, Places] = {}
    for size in dict.fromkeys(map(len, tables)):
        chosen = [number for number, table in enumerate(tables) if len(table) == size]
        places[size] = native.changed_cells([tables[n] for n in chosen], [before[n] for n in chosen])
    return [(places[len(table)], table[places[len(table)]]) for table in tables]


def mix(trainer: MixableTrainer, learned: Sequence[Learned], threads: int) -> None:
    """Set the state of the trainer to the mean of the results."""
    for number, table in enumerate(trainer.tables):
        changed = [result.changes[number] for result in learned]
        places, values = [p for p, _ in changed], [v for _, v in changed]
        native.mix_table(table, places, values, threads=threads)
    trainer.steps = sum(result.steps for result in learned) / len(learned)


def _set(trainer: MixableTrainer, state: TrainerState) -> None:
    for table, value in zip(trainer.tables, state.tables, strict=True):
        table[:] = value
    trainer.steps = state.steps
