"""``Learner``: trains on what is decided, in a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Lock
from typing import Any, Literal

from arcwise.annotation.background import Job
from arcwise.annotation.training import decided_part, own_header, what_it_sees
from arcwise.errors import InputError
from arcwise.models.registry import open_model
from arcwise.parsing.parser import Parser
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import PathLike, check_output


@dataclass(frozen=True)
class Trained:
    """One training: from how much, and how good by cross-validation (None below ten sentences). A line of the history."""

    sentences: int
    words: int
    """Words with a decided head."""
    uas: float | None
    las: float | None
    ece: float | None
    """The calibration error of heads."""
    seconds: float
    when: str
    """Date and time, ISO 8601."""


@dataclass(frozen=True)
class TrainState:
    """Where a learner stands."""

    state: Literal["idle", "training", "cancelled", "failed"]
    progress: float = 0.0
    """The share of the work that is done, 0..1."""
    told: str = ""
    """What it is doing, or why it failed: one sentence."""


class Learner:
    """Trains the graph-based parser on what is decided in a file, in a process of its own. The model and the history of trainings are
    kept beside the file: ``FILE.arcwise``, which appears whole or not at all, and never in the place of a file that a learner did not write."""

    def __init__(self, file: PathLike, *, on_change: Callable[[TrainState], None] | None = None) -> None:
        """``on_change`` is called, from another thread, whenever the state is another one."""
        self.file = Path(file)
        self.path = self.file.with_name(f"{self.file.name}.arcwise")
        self._on_change = on_change
        self._lock = Lock()
        self._job: Job | None = None
        self._state = TrainState("idle")

    @property
    def state(self) -> TrainState:
        """Where it stands."""
        return self._state

    def start(self, treebank: Treebank) -> None:
        """Begin to train on what is decided in it. ``InputError`` if nothing is, if it is training already, or if another file is where
        the model would be written."""
        with self._lock:
            if self._state.state == "training":
                raise InputError("found a training that is not over, expected none")
            own_header(self.path)
            check_output(self.path)
            decided = decided_part(list(treebank))
            request = {
                "model": str(self.path),
                "source": self.file.name,
                "sees": what_it_sees(decided, treebank),
            }
            self._state = TrainState("training", 0.0, "starting")
            self._job = Job("train", request, decided.data, self._hear)
        self._changed()

    def cancel(self) -> None:
        """End the training; the model stays as it was."""
        job = self._job
        if job is not None and self._state.state == "training":
            job.cancel()

    def wait(self, seconds: float | None = None) -> TrainState:
        """Wait until it is done, or so long."""
        if self._job is not None:
            self._job.wait(seconds)
        return self._state

    @property
    def history(self) -> tuple[Trained, ...]:
        """All trainings of this file, oldest first."""
        try:
            found = own_header(self.path) or {}
        except InputError:
            return ()
        return tuple(Trained(**line) for line in found.get("history", ()))

    def model(self) -> Parser | None:
        """The parser (or pipeline) beside the file, if there is one that a learner wrote."""
        try:
            return None if own_header(self.path) is None else open_model(self.path)
        except InputError:
            return None

    def _hear(self, message: Mapping[str, Any]) -> None:
        end = message.get("end")
        if end is None:
            self._state = replace(self._state, progress=message["progress"], told=message["told"])
        elif end == "done":
            self._state = TrainState("idle", 1.0, "trained")
        else:
            self._state = TrainState(end, self._state.progress, message.get("told", ""))
        self._changed()

    def _changed(self) -> None:
        if self._on_change is not None:
            self._on_change(self._state)
