"""Worklists and searches of a document: created on request and kept up to date as it changes."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from arcwise.annotation.document import AnnotationDocument
from arcwise.errors import InputError
from arcwise.treebanks.search import Columns, Hit, MassEdit, Query
from arcwise.treebanks.search.mass_edit import Plan
from arcwise.web.background import Background

if TYPE_CHECKING:
    from arcwise.annotation.assistant import Assistant
    from arcwise.annotation.worklist import By, Worklist

STEP = 4
"""Sentences that are scored in one go."""
KEPT = 8
"""Searches whose hits are kept."""


class Worklists:
    """The worklists of a document."""

    def __init__(self, document: AnnotationDocument, background: Background) -> None:
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


class Searches:
    """Searches of one document. Hits and columns are kept until the document changes."""

    def __init__(self, document: AnnotationDocument) -> None:
        self._document = document
        self._lock = threading.Lock()
        self._columns: tuple[int, Columns] | None = None
        self._hits: OrderedDict[tuple[str, int], list[Hit]] = OrderedDict()

    def hits(self, query: str) -> list[Hit]:
        """All hits of a query, in the order of the file."""
        asked = Query.parse(query)
        version, columns = self._now()
        key = query, version
        with self._lock:
            if key in self._hits:
                return self._hits[key]
        found = list(asked.hits(columns))
        with self._lock:
            self._hits[key] = found
            while len(self._hits) > KEPT:
                self._hits.popitem(last=False)
        return found

    def sentences(self, query: str) -> list[tuple[int, int]]:
        """The sentences that have a hit, each with how many."""
        return sorted(Counter(hit.sentence for hit in self.hits(query)).items())

    def plan(self, query: str, changes: str) -> list[Plan]:
        """What some changes of all hits do to each sentence, and what they cannot do."""
        asked = MassEdit.parse(query, changes)
        _, columns = self._now()
        return list(asked.plan(columns))

    def _now(self) -> tuple[int, Columns]:
        """The document as it is now, and its version."""
        with self._lock:
            if self._columns is None or self._columns[0] != self._document.version:
                version = self._document.version
                self._columns = version, Columns(self._document.treebank())
                self._hits.clear()
            return self._columns
