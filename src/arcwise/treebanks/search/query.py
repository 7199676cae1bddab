"""``Query``: a search of a treebank, its hits, and hints for queries without hits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches

import numpy as np

from arcwise.treebanks.search.joining import find
from arcwise.treebanks.search.query_parser import parse_query
from arcwise.treebanks.search.syntax import (
    STEPS,
    WORD_NUMBERS,
    WORD_TEXTS,
    AllOf,
    AnyOf,
    Condition,
    Exists,
    Not,
    ParsedQuery,
    Property,
    PropertyTest,
    Scanner,
    check_matched,
)
from arcwise.treebanks.search.values import Columns, Texts, text_at
from arcwise.treebanks.treebank import Treebank

_MAX_COMPARED = 1000  # fuzzy matching against more distinct values would be slow


@dataclass(frozen=True)
class Hit:
    """A match: the sentence (from 0) and the words (from 1) by their names in the query."""

    sentence: int
    words: dict[str, int]


@dataclass(frozen=True)
class Query:
    """A search, made by ``Query.parse``. docs/reference/search.md describes the language.

    >>> rows = ["1 Birds _ NOUN _ _ 2 nsubj _ _", "2 sing _ VERB _ _ 0 root _ _"]
    >>> treebank = Treebank.from_string("\\n".join(rows).replace(" ", "\\t") + "\\n\\n")
    >>> list(Query.parse("upos=VERB > nsubj").hits(treebank))
    [Hit(sentence=0, words={'1': 2, '2': 1})]
    """

    text: str
    parsed: ParsedQuery

    @classmethod
    def parse(cls, text: str) -> Query:
        """Parse a query; raises ``QueryError`` with the position of a syntax error."""
        return cls(text, parse_query(text))

    @property
    def names(self) -> tuple[str, ...]:
        """The words of a hit in the order of the query: their names, or their numbers if they have none."""
        return tuple(self.parsed.pattern.words)

    def hits(self, treebank: Treebank | Columns) -> Iterator[Hit]:
        """Yield all hits, in order. Pass ``Columns(treebank)`` to share work between several searches."""
        columns = treebank if isinstance(treebank, Columns) else Columns(treebank)
        names = self.names
        for matches in find(self.parsed, columns):
            starts = columns.starts[matches.sentence]
            numbers = [(matches.words[name] - starts + 1).tolist() for name in names]
            for sentence, *words in zip(matches.sentence.tolist(), *numbers, strict=True):
                yield Hit(sentence, dict(zip(names, words, strict=True)))

    def count(self, treebank: Treebank | Columns) -> tuple[int, int]:
        """The number of hits, and of sentences with a hit."""
        columns = treebank if isinstance(treebank, Columns) else Columns(treebank)
        hits = sentences = 0
        last = -1
        for matches in find(self.parsed, columns):
            hits += len(matches.sentence)
            distinct = np.unique(matches.sentence)
            # A sentence with very many hits is spread over several blocks.
            sentences += len(distinct) - int(bool(len(distinct)) and distinct[0] == last)
            last = int(distinct[-1]) if len(distinct) else last
        return hits, sentences


def unseen(query: Query, columns: Columns) -> dict[str, str]:
    """Tests whose values do not occur in the treebank → the closest value that does, or "".

    >>> from arcwise.treebanks import Sentence
    >>> unseen(Query.parse("upos=Verb"), Columns(Sentence.from_words(["Go"], upos=["VERB"]).treebank))
    {'upos=Verb': 'VERB'}
    """
    pattern = query.parsed.pattern
    conditions = [*pattern.words.values(), *(c.relation.label for c in pattern.links if c.relation.label)]
    suggestions: dict[str, str] = {}
    for test in (test for condition in conditions for test in _positive_tests(condition)):
        values = columns.of_words(test.property)
        if test.operator != "=" or not isinstance(values, Texts):
            continue
        seen = {values.strings[code] for code in set(values.codes.tolist())}
        if not seen & set(test.values):
            suggestions[f"{test.property}={'|'.join(test.values)}"] = _closest(test.values[0], seen)
    return suggestions


def hint_texts(unseen_values: Mapping[str, str]) -> list[str]:
    """Hints for a query without hits, from ``unseen``.

    >>> hint_texts({"upos=Verb": "VERB", "deprel=x": ""})
    ['upos=Verb does not occur, VERB does', 'deprel=x does not occur']
    """
    return [
        f"{test} does not occur" + (f", {meant} does" if meant else "")
        for test, meant in unseen_values.items()
    ]


def _positive_tests(condition: Condition) -> Iterator[PropertyTest]:
    """The tests that are not under a negation."""
    if isinstance(condition, PropertyTest):
        yield condition
    elif isinstance(condition, (AllOf, AnyOf)):
        for part in condition.conditions:
            yield from _positive_tests(part)
    elif isinstance(condition, Exists):
        yield from _positive_tests(condition.condition)
        if condition.relation.label:
            yield condition.relation.label
    else:
        assert isinstance(condition, Not)


def _closest(value: str, seen: set[str]) -> str:
    same = sorted(candidate for candidate in seen if candidate.lower() == value.lower())
    if same or len(seen) > _MAX_COMPARED:
        return same[0] if same else ""
    return next(iter(get_close_matches(value, sorted(seen), 1)), "")


_WORD_PREFIX = re.compile(r"@?(\w+)\.(?=[A-Za-z])")


@dataclass(frozen=True)
class TableColumn:
    """A property of a matched word."""

    word: str
    property: Property

    def __str__(self) -> str:
        return f"{self.word}.{self.property}"


def read_table(text: str, names: Sequence[str]) -> tuple[TableColumn, ...]:
    """Parse the columns of a table: ``2.lemma,upos``; without a word they belong to the first.

    >>> [str(column) for column in read_table("2.lemma,feats.Case", ["1", "2"])]
    ['2.lemma', '1.feats.Case']
    """
    scan = Scanner(text, "table")
    columns = []
    while True:
        if not names:
            raise scan.error(
                "the query matches only sentences; a table needs matched words", unexpected="property"
            )
        word = names[0]
        prefix = _WORD_PREFIX.match(scan.text, scan.at)
        if prefix and (scan.sees("@") or prefix[1] not in (*WORD_TEXTS, *WORD_NUMBERS, *STEPS)):
            word = prefix[1]
            check_matched(scan, word, names)
            scan.at = prefix.end()
        columns.append(TableColumn(word, scan.property()))
        scan.skip()
        if scan.is_done:
            return tuple(columns)
        scan.expect(",", " and another property")


def frequencies(
    hits: Iterable[Hit], table: Sequence[TableColumn], columns: Columns
) -> Counter[tuple[str, ...]]:
    """Count the hits with each combination of values."""
    values = [columns.of_words(column.property) for column in table]
    starts = columns.starts.tolist()
    return Counter(
        tuple(
            text_at(column_values, starts[hit.sentence] + hit.words[column.word] - 1)
            for column, column_values in zip(table, values, strict=True)
        )
        for hit in hits
    )
