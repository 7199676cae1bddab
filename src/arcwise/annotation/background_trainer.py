"""``BackgroundTrainer``: trains a parser on the current annotation in a child process."""

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
    from arcwise.annotation.tag_accuracy import TagAccuracy
    from arcwise.parsing.parser import Parser


@dataclass(frozen=True)
class TrainingRecord:
    """One training: its data and its cross-validated accuracy (None below ten sentences)."""

    sentences: int
    words: int
    """Words with an annotated head."""
    uas: float | None
    las: float | None
    ece: float | None
    """Expected calibration error of heads."""
    seconds: float
    when: str
    """Date and time in ISO 8601."""


class BackgroundTrainer(BackgroundTask):
    """Trains the graph-based parser on the annotation of a file in a child process.

    The model and the history of trainings are stored in ``FILE.arcwise``, which is written atomically and
    never replaces a file that this class did not write.
    """

    busy = "a training is already running"

    def __init__(self, file: PathLike, *, on_change: Callable[[TaskState], None] | None = None) -> None:
        """``on_change`` is called, from another thread, whenever the state changes."""
        self.file = Path(file)
        self.path = self.file.with_name(f"{self.file.name}.arcwise")
        super().__init__(on_change)

    def start(self, treebank: Treebank) -> None:
        """Start a training on the annotation of a treebank.

        Raises ``InputError`` if nothing is annotated, if a training is running, or if the model file was
        written by something else.
        """
        # Imported here: the server starts without loading the parsers.
        from arcwise.annotation.training import decided_part, trainer_header, visible_columns

        with self._lock:
            self._refuse_if_busy()
            # Checked now, so that a training does not fail at its end; the child checks again.
            trainer_header(self.path)
            check_output(self.path)
            decided = decided_part(list(treebank))
            request = {
                "model": str(self.path),
                "source": self.file.name,
                "sees": visible_columns(decided, treebank),
            }
            self._begin("train", request, decided.data)
        self._notify()

    @property
    def history(self) -> tuple[TrainingRecord, ...]:
        """All trainings of the file, oldest first."""
        try:
            header = self._header() or {}
        except InputError:
            # A model file that is not ours has no history; `start` reports it when training begins.
            return ()
        return tuple(TrainingRecord(**record) for record in header.get("history", ()))

    def model(self) -> Parser | None:
        """The trained parser or pipeline of the file; None if there is none."""
        try:
            if self._header() is None:
                return None
            from arcwise.models.registry import open_model

            return open_model(self.path)
        except InputError:
            return None

    def tag_accuracy(self) -> TagAccuracy | None:
        """The cross-validated accuracy of the trained pipeline's tags; None without one."""
        header = self._header()
        if not header or not header.get("tags"):
            return None
        from arcwise.annotation.tag_accuracy import TagAccuracy

        return TagAccuracy.from_json(header["tags"])

    def _header(self) -> Mapping[str, Any] | None:
        """The trainer's entry in the model header; training code is imported only if there is a model."""
        # lexists: a dangling link must be refused as well, not written through.
        if not os.path.lexists(self.path):
            return None
        from arcwise.annotation.training import trainer_header

        return trainer_header(self.path)

    def _done(self, message: Mapping[str, Any]) -> str:
        return "trained"
