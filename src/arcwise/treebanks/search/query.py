"""``Query``: a search of a treebank, and its hits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from arcwise.treebanks.search.matching import find
from arcwise.treebanks.search.query_parser import parse_query
from arcwise.treebanks.search.syntax import ParsedQuery
from arcwise.treebanks.search.values import Columns
from arcwise.treebanks.treebank import Treebank


@dataclass(frozen=True)
class Hit:
    """A sentence (numbered from 0) and the words found in it (numbered from 1), by their names in the query."""

    sentence: int
    words: dict[str, int]


@dataclass(frozen=True)
class Query:
    """A search, made by ``Query.parse``. The language: docs/reference/search.md.

    >>> treebank = Treebank.from_string("1\\tBirds\\tbird\\tNOUN\\t_\\t_\\t2\\tnsubj\\t_\\t_\\n2\\tsing\\tsing\\tVERB\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n")
    >>> list(Query.parse("upos=VERB > nsubj").hits(treebank))
    [Hit(sentence=0, words={'1': 2, '2': 1})]
    """

    text: str
    parsed: ParsedQuery

    @classmethod
    def parse(cls, text: str) -> Query:
        """The query of a text; ``QueryError``, with the place, if it is not understood."""
        return cls(text, parse_query(text))

    @property
    def names(self) -> tuple[str, ...]:
        """The words of a hit, in the order of the query: their names, or else their numbers in it."""
        return tuple(self.parsed.pattern.words)

    def hits(self, treebank: Treebank | Columns) -> Iterator[Hit]:
        """All hits, in order. ``Columns(treebank)`` keeps what was computed, for a series of searches of one treebank."""
        columns = treebank if isinstance(treebank, Columns) else Columns(treebank)
        names = self.names
        for rows in find(self.parsed, columns):
            starts = columns.starts[rows.sentence]
            numbers = [(rows.words[name] - starts + 1).tolist() for name in names]
            for sentence, *words in zip(rows.sentence.tolist(), *numbers, strict=True):
                yield Hit(sentence, dict(zip(names, words, strict=True)))

    def count(self, treebank: Treebank | Columns) -> tuple[int, int]:
        """How many hits there are, and how many sentences have one."""
        columns = treebank if isinstance(treebank, Columns) else Columns(treebank)
        hits = sentences = 0
        for rows in find(self.parsed, columns):  # blocks end with sentences
            hits += len(rows.sentence)
            sentences += len(set(rows.sentence.tolist()))
        return hits, sentences
