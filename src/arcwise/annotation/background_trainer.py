"""``BackgroundTrainer``: trains on what is decided, in a process of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arcwise.annotation.background_job import BackgroundTask, TaskState
from arcwise.errors import InputError
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import PathLike, check_output

if TYPE_CHECKING:
    from arcwise.parsing.parser import Parser


@dataclass(frozen=True)
class TrainingRecord:
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


class BackgroundTrainer(BackgroundTask):
    """Trains the graph-based parser on what is decided in a file, in a process of its own. The model and the history of trainings are
    kept beside the file: ``FILE.arcwise``, which appears whole or not at all, and never in the place of a file that a learner did not write."""

    busy = "a training is already running"

    def __init__(self, file: PathLike, *, on_change: Callable[[TaskState], None] | None = None) -> None:
        """``on_change`` is called, from another thread, whenever the state is another one."""
        self.file = Path(file)
        self.path = self.file.with_name(f"{self.file.name}.arcwise")
        super().__init__(on_change)

    def start(self, treebank: Treebank) -> None:
        """Begin to train on what is decided in it. ``InputError`` if nothing is, if it is training already, or if another file is where
        the model would be written."""
        from arcwise.annotation.training import decided_part, own_header, what_it_sees

        with self._lock:
            self._refuse_if_busy()
            own_header(self.path)
            check_output(self.path)
            decided = decided_part(list(treebank))
            request = {
                "model": str(self.path),
                "source": self.file.name,
                "sees": what_it_sees(decided, treebank),
            }
            self._begin("train", request, decided.data)
        self._notify()

    @property
    def history(self) -> tuple[TrainingRecord, ...]:
        """All trainings of this file, oldest first."""
        try:
            found = self._header() or {}
        except InputError:
            return ()
        return tuple(TrainingRecord(**line) for line in found.get("history", ()))

    def model(self) -> Parser | None:
        """The parser (or pipeline) beside the file, if there is one that a learner wrote."""
        try:
            if self._header() is None:
                return None
            from arcwise.models.registry import open_model

            return open_model(self.path)
        except InputError:
            return None

    def _header(self) -> Mapping[str, Any] | None:
        """What a learner noted in the model; nothing that trains is imported where there is none."""
        if not os.path.lexists(self.path):
            return None
        from arcwise.annotation.training import own_header

        return own_header(self.path)

    def _done(self, message: Mapping[str, Any]) -> str:
        return "trained"
