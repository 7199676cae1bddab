"""``TrainingCheckpoint``: a file to resume training from, written atomically after epochs."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import inf
from pathlib import Path
from time import monotonic
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from arcwise.errors import ModelError
from arcwise.evaluation.attachment import UasLas
from arcwise.learning.model_file import Packed, read_model, write_model
from arcwise.learning.training import Best
from arcwise.treebanks.files import PathLike

KIND = "neural-checkpoint"
VERSION = 1
MIN_INTERVAL = 20.0
"""Minimum number of seconds between two checkpoints."""


class Resumable(Protocol):
    """A trainer that can save and restore its state."""

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return everything needed to resume training."""
        ...

    def load_state(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Restore the state."""
        ...


@dataclass(frozen=True)
class TrainingCheckpoint:
    """A checkpoint file and the training it belongs to."""

    path: PathLike
    fingerprint: str
    """Hash of configuration and data; a file with another one is refused."""
    written: list[float] = field(default_factory=lambda: [-inf])
    """Times of writing, in seconds."""
    best: dict[int, tuple[dict[str, Any], npt.NDArray[Any]]] = field(default_factory=dict)
    """Status and best weights of each network so far, including those not yet in the file."""

    def of(self, member: int, trainer: Resumable, epochs: int) -> MemberCheckpoint:
        """Return the checkpoint of one ensemble member, which is trained for ``epochs`` epochs."""
        return MemberCheckpoint(self, member, trainer, epochs)

    def read(self) -> Packed | None:
        """Read the file.

        None if it does not exist. Raises ``ModelError`` if it belongs to another training.
        """
        if not Path(self.path).exists():
            return None
        packed = read_model(self.path)
        packed.expect(KIND, VERSION)
        if packed.header.get("fingerprint") != self.fingerprint:
            raise ModelError(
                f"{self.path}: belongs to a training run with other options or data (delete it to start over)"
            )
        return packed


@dataclass(frozen=True)
class MemberCheckpoint:
    """``learning.training.Checkpoint`` of one network; the same file keeps the finished ones."""

    file: TrainingCheckpoint
    member: int
    trainer: Resumable
    epochs: int

    def load(self) -> tuple[int, Best] | None:
        """Restore the trainer.

        Return the last finished epoch and the best so far, None if nothing was saved.
        """
        packed = self.file.read()
        if packed is None or self.member > int(packed.header["member"]):
            return None
        status = packed.header["told"][self.member]
        best = Best(
            np.array(packed.array(f"best.{self.member}")),
            status["epoch"],
            None if status["score"] is None else UasLas(*status["score"]),
            status["history"],
        )
        assert best.weights is not None
        self.file.best[self.member] = status, best.weights
        if self.member < int(packed.header["member"]):
            return self.epochs, best  # finished, perhaps by early stopping
        start = "state."
        self.trainer.load_state(
            {name.removeprefix(start): a for name, a in packed.arrays.items() if name.startswith(start)}
        )
        return status["done"], best

    def save(self, epoch: int, best: Best) -> None:
        """Write the file, unless it was just written; always after the last epoch."""
        assert best.weights is not None
        status = {
            "done": epoch,
            "epoch": best.epoch,
            "score": None if best.score is None else list(best.score),
            "history": best.history,
        }
        self.file.best[self.member] = status, best.weights
        now = monotonic()
        if epoch < self.epochs and now - self.file.written[-1] < MIN_INTERVAL:
            return
        self.file.written.append(now)
        arrays = {f"state.{name}": values for name, values in self.trainer.state().items()}
        members = [self.file.best[number] for number in range(self.member + 1)]
        arrays |= {f"best.{number}": weights for number, (_, weights) in enumerate(members)}
        header = {
            "fingerprint": self.file.fingerprint,
            "member": self.member,
            "told": [status for status, _ in members],
        }
        write_model(self.file.path, Packed(KIND, VERSION, header, arrays))
