"""``Learner``: trains on what is decided, in a process of its own."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from arcwise.parsing.parser import Parser
from arcwise.treebanks import Treebank


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
    progress: float
    """The share of the work that is done, 0..1."""
    told: str
    """What it is doing, or why it failed: one sentence."""


class Learner:
    """Trains the graph-based parser on what is decided in a treebank, in a process of its own. The model and the history of trainings are
    kept beside the file: ``FILE.arcwise``."""

    def __init__(self, file: Path, *, on_change: Callable[[TrainState], None] | None = None) -> None:
        """``on_change`` is called, from another thread, whenever the state is another one."""
        raise NotImplementedError

    def start(self, treebank: Treebank) -> None:
        """Begin to train on what is decided in it. ``InputError`` if that is too little, or if it is training already."""
        raise NotImplementedError

    def cancel(self) -> None:
        """End the training; the model stays as it was."""
        raise NotImplementedError

    def wait(self, seconds: float | None = None) -> TrainState:
        """Wait until it is done."""
        raise NotImplementedError

    @property
    def state(self) -> TrainState:
        """Where it stands."""
        raise NotImplementedError

    @property
    def history(self) -> tuple[Trained, ...]:
        """All trainings of this file, oldest first."""
        raise NotImplementedError

    def model(self) -> Parser | None:
        """The parser beside the file, if there is one that a learner wrote."""
        raise NotImplementedError
