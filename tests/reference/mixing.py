"""Iterative parameter mixing as McDonald, Hall & Mann (2010) write it: whole tables, one trainer after the
other, plain means."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from arcwise.learning.parameter_mixing import MixableTrainer

Tables = list[npt.NDArray[np.float32]]


def mixed(
    make: Callable[[], MixableTrainer], orders: list[npt.NDArray[np.int64]], parts: int
) -> tuple[MixableTrainer, list[dict[str, float]]]:
    """A trainer with what is learned in epochs of these orders, each dealt out to new trainers; and what
    these told, added up."""
    keeper = make()
    told = []
    for number, order in enumerate(orders, start=1):
        found: list[tuple[Tables, float]] = []
        sums: dict[str, float] = {}
        for part in range(parts):
            trainer = make()
            _set(trainer, [table.copy() for table in keeper.tables], keeper.steps)
            own = trainer.epoch(number, np.ascontiguousarray(order[part::parts]), lambda _: None)
            found.append(([table.copy() for table in trainer.tables], trainer.steps))
            sums = {name: sums.get(name, 0.0) + value for name, value in own.items()}
        tables = [
            np.stack(same).astype(np.float64).mean(axis=0).astype(np.float32)
            for same in zip(*(own for own, _ in found), strict=True)
        ]
        _set(keeper, tables, sum(steps for _, steps in found) / parts)
        told.append(sums)
    return keeper, told


def _set(trainer: MixableTrainer, tables: Tables, steps: float) -> None:
    for own, given in zip(trainer.tables, tables, strict=True):
        own[:] = given
    trainer.steps = steps
