"""Worklists and searches of a document: created on request and kept up to date as it changes."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Sequence
from itertools import islice
from typing import TYPE_CHECKING, get_args

from arcwise.annotation.editable import EditableTreebank
from arcwise.errors import InputError
from arcwise.treebanks.search import (
    Columns,
    Hit,
    HitList,
    MassEdit,
    Query,
    frequencies,
    hint_texts,
    read_table,
    table_rows,
    unseen,
)
from arcwise.treebanks.search.mass_edit import Plan
from arcwise.web.background import Background

if TYPE_CHECKING:
    from arcwise.annotation.assistant import Assistant
    from arcwise.annotation.worklist import By, Worklist

STEP = 4
"""Sentences scored in one background step: a few, so that requests do not wait."""
SLOW = ("gain", "repairs", "training")
"""Orders that infer once per possible answer: one sentence of them is a step."""
MOST_HITS = 1_000_000
"""A search with more hits is refused; the cached searches have no more hits together."""
HitKey = tuple[int, tuple[tuple[str, str], ...]]
"""A hit as a key: its sentence, and the names and row IDs of its words and empty nodes."""


def hit_key(hit: Hit) -> HitKey:
    """The key of a hit."""
    return hit.sentence, tuple(sorted(hit_rows(hit).items()))


def hit_rows(hit: Hit) -> dict[str, str]:
    """The words and empty nodes of a hit: name → row ID."""
    return {name: hit.row(name) for name in (*hit.words, *hit.empty_nodes)}


KEPT = 8
"""Searches whose hits are cached."""


class Worklists:
    """The worklists of a document."""

    def __init__(
        self, document: EditableTreebank, background: Background, *, has_tags: Callable[[], bool]
    ) -> None:
        """``has_tags``: whether a word needs a UPOS to count as annotated."""
        self._document, self._background, self._has_tags = document, background, has_tags
        self._lock = threading.Lock()
        self._lists: dict[str, Worklist] = {}

    def get(self, by: str, assistant: Assistant | None) -> Worklist:
        """The worklist of an order, created on first use; it may still be incomplete."""
        # Imported here: worklists need numpy and the parsers, which a server without a model never loads.
        from arcwise.annotation.states import first_unfinished
        from arcwise.annotation.worklist import By, Worklist

        orders: tuple[By, ...] = tuple(order for order in get_args(By) if order != "search")
        order = next((order for order in orders if order == by), None)
        if order is None:
            raise InputError(f"worklist: found {by!r}, expected one of {', '.join(orders)}")
        if assistant is None:
            raise InputError(f"worklist: {by} needs a model; train one, or start the server with one")
        with self._lock:
            worklist = self._lists.get(by)
            if worklist is None:
                worklist = self._lists[by] = Worklist(
                    self._document.sentence,
                    len(self._document),
                    assistant,
                    by=order,
                    unfinished=lambda sentence: first_unfinished(sentence, tags=self._has_tags()),
                )
                self._background.add(self._step)
        return worklist

    def _step(self) -> bool:
        with self._lock:
            # A copy, because steps run without the lock.
            lists = list(self._lists.values())
        for worklist in lists:
            if not worklist.ready:
                step = 1 if worklist.by in SLOW else STEP
                return bool(worklist.step(step)) or any(not pending.ready for pending in lists)
        return False

    def changed(self, numbers: Sequence[int], count: int | None) -> None:
        """Rescore changed sentences; ``count``: the new number of sentences, if it changed."""
        with self._lock:
            lists = list(self._lists.values())
        for worklist in lists:
            worklist.changed(numbers, count=count)
        if lists:
            self._background.add(self._step)

    def forget(self) -> None:
        """Discard all worklists: the model has changed."""
        with self._lock:
            self._lists.clear()


class Searches:
    """Searches of a document. Hits and columns are cached until the document changes."""

    def __init__(self, document: EditableTreebank) -> None:
        self._document = document
        self._lock = threading.Lock()
        self._columns: tuple[int, Columns] | None = None
        self._hits: OrderedDict[tuple[str, int], HitList] = OrderedDict()

    def hits(self, query: str) -> HitList:
        """All hits of a query, in file order."""
        parsed = Query.parse(query)
        version, columns = self._current()
        key = query, version
        with self._lock:
            if key in self._hits:
                return self._hits[key]
        # Outside the lock, so that another search need not wait; twice the work is harmless.
        hits = HitList(islice(parsed.hits(columns), MOST_HITS + 1))
        if len(hits) > MOST_HITS:
            raise InputError(f"query: more than {MOST_HITS:,} hits; make it more specific")
        with self._lock:
            self._hits[key] = hits
            while len(self._hits) > KEPT or (len(self._hits) > 1 and self._hit_count() > MOST_HITS):
                self._hits.popitem(last=False)
        return hits

    def _hit_count(self) -> int:
        return sum(map(len, self._hits.values()))

    def hints(self, query: str) -> list[str]:
        """Why a query may have no hits: values in it that do not occur."""
        _, columns = self._current()
        return hint_texts(unseen(Query.parse(query), columns))

    def sentences(self, query: str) -> list[tuple[int, int]]:
        """The sentences with hits, each with its number of hits."""
        return sorted(Counter(self.hits(query).sentences).items())

    def plan(self, query: str, changes: str, skipped: Collection[HitKey] = ()) -> list[Plan]:
        """The edits that a mass edit makes to each sentence, and the hits it refuses.

        skipped: hits (``hit_key``) to leave as they are.
        """
        _, columns = self._current()
        left_out = set(skipped)
        return list(MassEdit.parse(query, changes).plan(columns, skip=lambda hit: hit_key(hit) in left_out))

    def table(self, query: str, properties: str) -> tuple[list[str], list[tuple[tuple[str, ...], int]]]:
        """Clusters of the hits by properties of their words: columns, and (values, hits), largest first."""
        hits = self.hits(query)
        table = read_table(properties, Query.parse(query).names)
        _, columns = self._current()
        return [str(column) for column in table], frequencies(hits, table, columns).most_common()

    def cluster(self, query: str, properties: str, values: Sequence[str]) -> HitList:
        """The hits of one cluster, in file order."""
        hits = self.hits(query)
        table = read_table(properties, Query.parse(query).names)
        _, columns = self._current()
        cluster_values = tuple(values)
        rows = table_rows(hits, table, columns)
        return HitList(hit for hit, row in zip(hits, rows, strict=True) if row == cluster_values)

    def _current(self) -> tuple[int, Columns]:
        """The version of the document and its columns."""
        with self._lock:
            # Under the lock: building the columns of a large file twice at once would be slow.
            if self._columns is None or self._columns[0] != self._document.version:
                version = self._document.version
                self._columns = version, Columns(self._document.treebank())
                # Hits have sentence numbers of an older version.
                self._hits.clear()
            return self._columns
