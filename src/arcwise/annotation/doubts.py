"""Words whose annotation is improbable for parsers that never saw the sentence (cross-fitting)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from arcwise.treebanks import Treebank


@dataclass(frozen=True)
class Doubt:
    """A decided word that parsers trained on other sentences would annotate otherwise."""

    sentence: int
    word: int
    """1..n."""
    head: int
    label: str
    probability: float
    """Of what the file says: its head and label together."""
    instead_head: int
    instead_label: str
    instead_probability: float
    """What the parser says, and how surely."""


class Doubts:
    """The doubts of a treebank, found in a process of its own, fold by fold."""

    def __init__(self, *, on_change: Callable[[], None] | None = None) -> None:
        raise NotImplementedError

    def start(self, treebank: Treebank) -> None:
        """Begin; what was found before stays until there is something new."""
        raise NotImplementedError

    def cancel(self) -> None:
        """End it."""
        raise NotImplementedError

    def of(self, sentence: int) -> list[Doubt]:
        """Those of a sentence."""
        raise NotImplementedError

    def changed(self, numbers: list[int]) -> None:
        """These sentences are not what they were: their doubts are forgotten."""
        raise NotImplementedError


def doubts(treebank: Treebank, *, folds: int = 5, below: float = 0.1, threads: int = 1) -> list[Doubt]:
    """The words whose decided head and label have a probability under ``below``, least probable first."""
    raise NotImplementedError
