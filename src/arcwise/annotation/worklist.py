"""What to annotate next: sentences in order, scored in the background in batches, sentence by sentence anew where edits come."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from arcwise.annotation.assistant import Assistant
from arcwise.treebanks import Sentence

By = Literal["entropy", "least-sure", "gain", "disagreement", "search"]


@dataclass(frozen=True)
class Item:
    """A sentence of a worklist."""

    number: int
    value: float
    """What it is ordered by: more comes first."""
    word: int | None
    """The word to look at first (1..n); None: the sentence as a whole."""


class Worklist:
    """Sentences by what is to be gained from them. Usable before it is complete: ``items`` has those that are scored.

    ``sentence(number)`` gives a sentence as it is now; numbers are 0..``count``-1.
    """

    def __init__(
        self,
        sentence: Callable[[int], Sentence],
        count: int,
        assistant: Assistant | None,
        *,
        by: By,
        hits: Callable[[Sentence], int | None] | None = None,
    ) -> None:
        """``hits`` (for ``search``): the first word that a search finds in a sentence, None if it finds nothing."""
        raise NotImplementedError

    @property
    def ready(self) -> bool:
        """Whether every sentence is scored as it is now."""
        raise NotImplementedError

    @property
    def scored(self) -> int:
        """How many sentences are."""
        raise NotImplementedError

    def items(self) -> list[Item]:
        """Those scored so far, first comes first; sentences with nothing to do are not among them."""
        raise NotImplementedError

    def step(self, sentences: int = 32) -> int:
        """Score so many more sentences; how many were. 0: it is ready."""
        raise NotImplementedError

    def start(self) -> None:
        """Score all of them in a thread of its own, which never keeps a program from ending."""
        raise NotImplementedError

    def stop(self) -> None:
        """Stop that thread."""
        raise NotImplementedError

    def changed(self, numbers: Iterable[int], *, count: int | None = None) -> None:
        """These sentences are not what they were: they are scored anew. ``count``: how many sentences there are now, if that changed;
        all from the first of ``numbers`` on are then scored anew."""
        raise NotImplementedError
