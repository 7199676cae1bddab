"""What to look at next: worklists, made when they are first asked for and kept up to date in the background."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from arcwise.annotation.document import Document
from arcwise.errors import InputError
from arcwise.web.background import Background

if TYPE_CHECKING:
    from arcwise.annotation.assistant import Assistant
    from arcwise.annotation.worklist import By, Worklist

STEP = 4
"""Sentences that are scored in one go."""


class Worklists:
    """The worklists of a document."""

    def __init__(self, document: Document, background: Background) -> None:
        self._document, self._background = document, background
        self._lock = threading.Lock()
        self._lists: dict[str, Worklist] = {}

    def get(self, by: str, assistant: Assistant | None) -> Worklist:
        """The worklist of an order; perhaps not complete yet."""
        from arcwise.annotation.worklist import By, Worklist

        orders: tuple[By, ...] = tuple(known for known in get_args(By) if known != "search")
        order = next((known for known in orders if known == by), None)
        if order is None:
            raise InputError(f"worklist: found {by!r}, expected one of {', '.join(orders)}")
        if assistant is None:
            raise InputError(f"worklist: {by} needs a model that thinks along: train one, or start with one")
        with self._lock:
            found = self._lists.get(by)
            if found is None:
                found = self._lists[by] = Worklist(
                    self._document.sentence, len(self._document), assistant, by=order
                )
                self._background.add(self._step)
        return found

    def _step(self) -> bool:
        with self._lock:
            lists = list(self._lists.values())
        for worklist in lists:
            if not worklist.ready:
                return bool(worklist.step(STEP)) or any(not other.ready for other in lists)
        return False

    def changed(self, numbers: Sequence[int], count: int | None) -> None:
        """These sentences are not what they were; ``count``: how many there are now, if that changed."""
        with self._lock:
            lists = list(self._lists.values())
        for worklist in lists:
            worklist.changed(numbers, count=count)
        if lists:
            self._background.add(self._step)

    def forget(self) -> None:
        """Another parser thinks along: all orders are another one."""
        with self._lock:
            self._lists.clear()
