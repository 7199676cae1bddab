"""Searches of the document as it is now, and edits of all that one finds."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict

from arcwise.annotation.document import Document
from arcwise.treebanks.search import Columns, Hit, MassEdit, Query
from arcwise.treebanks.search.mass_edit import Plan

KEPT = 8
"""Searches whose hits are kept."""


class Searches:
    """Searches of one document. Hits and columns are kept until the document changes."""

    def __init__(self, document: Document) -> None:
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
