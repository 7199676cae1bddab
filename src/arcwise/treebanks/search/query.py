"""``Query``: a search of a treebank, its hits, and hints for queries without hits."""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from itertools import islice

import numpy as np

from arcwise.treebanks.search.joining import PartialMatches, extension_test, find
from arcwise.treebanks.search.nodes import NodeColumns, asks_for_empty_nodes, with_empty_nodes
from arcwise.treebanks.search.query_parser import parse_alternatives, parse_extension
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
    Pattern,
    Property,
    PropertyTest,
    Relation,
    Scanner,
    check_matched,
)
from arcwise.treebanks.search.values import Columns, Texts, text_at
from arcwise.treebanks.treebank import Treebank

_MAX_COMPARED = 1000  # fuzzy matching against more distinct values would be slow


@dataclass(frozen=True)
class Hit:
    """A match: the sentence (from 0) and the words (from 1) by their names in the query.

    ``empty_nodes``: the IDs of matched empty nodes (``8.1``) by their names; ``words`` does not have them.
    """

    sentence: int
    words: dict[str, int]
    empty_nodes: dict[str, str] = field(default_factory=dict, repr=False)

    def row(self, name: str) -> str:
        """The ID of a matched word or empty node.

        >>> hit = Hit(0, {"1": 3}, {"2": "8.1"})
        >>> hit.row("1"), hit.row("2")
        ('3', '8.1')
        """
        return self.empty_nodes.get(name) or str(self.words[name])


@dataclass(frozen=True)
class Query:
    """A search, made by ``Query.parse``. docs/reference/search.md describes the language.

    >>> rows = ["1 Birds _ NOUN _ _ 2 nsubj _ _", "2 sing _ VERB _ _ 0 root _ _"]
    >>> treebank = Treebank.from_string("\\n".join(rows).replace(" ", "\\t") + "\\n\\n")
    >>> list(Query.parse("upos=VERB > nsubj").hits(treebank))
    [Hit(sentence=0, words={'1': 2, '2': 1})]
    """

    text: str
    alternatives: tuple[ParsedQuery, ...]

    @classmethod
    def parse(cls, text: str) -> Query:
        """Parse a query; raises ``QueryError`` with the position of a syntax error."""
        return cls(text, parse_alternatives(text))

    @property
    def parsed(self) -> ParsedQuery:
        """The first alternative; most queries have only one."""
        return self.alternatives[0]

    @property
    def names(self) -> tuple[str, ...]:
        """The words of every hit in the order of the query: names, or numbers of words without a name."""
        others = [set(parsed.pattern.words) for parsed in self.alternatives[1:]]
        return tuple(name for name in self.parsed.pattern.words if all(name in words for words in others))

    @property
    def asks_for_empty_nodes(self) -> bool:
        """Whether a word of the query can be an empty node."""
        return any(map(asks_for_empty_nodes, self.alternatives))

    def columns(self, treebank: Treebank | Columns) -> Columns:
        """The columns that this query searches, with empty nodes if it mentions them."""
        columns = treebank if isinstance(treebank, Columns) else Columns(treebank)
        return with_empty_nodes(columns) if self.asks_for_empty_nodes else columns

    def hits(self, treebank: Treebank | Columns) -> Iterator[Hit]:
        """Yield all hits, in order. Pass ``Columns(treebank)`` to share work between several searches."""
        columns = self.columns(treebank)
        if len(self.alternatives) == 1:
            return _hits(self.parsed, columns)
        return _distinct(
            heapq.merge(*(_hits(p, columns) for p in self.alternatives), key=lambda h: h.sentence)
        )

    def count(self, treebank: Treebank | Columns) -> tuple[int, int]:
        """The number of hits, and of sentences with a hit."""
        columns = self.columns(treebank)
        if len(self.alternatives) > 1:
            by_sentence = Counter(hit.sentence for hit in self.hits(columns))
            return by_sentence.total(), len(by_sentence)
        hits = sentences = 0
        last = -1
        for matches in find(self.parsed, columns):
            hits += len(matches.sentence)
            distinct = np.unique(matches.sentence)
            # A sentence with very many hits is spread over several blocks.
            sentences += len(distinct) - int(bool(len(distinct)) and distinct[0] == last)
            last = int(distinct[-1]) if len(distinct) else last
        return hits, sentences


def _pieces(parsed: ParsedQuery, columns: Columns) -> Iterator[PartialMatches]:
    """The matches in pieces: lists of all numbers of a block would take several times its memory."""
    for matches in find(parsed, columns):
        for start in range(0, len(matches.sentence), _HITS_AT_ONCE):
            yield matches.at(slice(start, start + _HITS_AT_ONCE))


def _hits(parsed: ParsedQuery, columns: Columns) -> Iterator[Hit]:
    names = tuple(parsed.pattern.words)
    if isinstance(columns, NodeColumns):
        yield from _node_hits(parsed, columns)
        return
    for matches in _pieces(parsed, columns):
        starts = columns.starts[matches.sentence]
        numbers = [(matches.words[name] - starts + 1).tolist() for name in names]
        for sentence, *words in zip(matches.sentence.tolist(), *numbers, strict=True):
            yield Hit(sentence, dict(zip(names, words, strict=True)))


def _node_hits(parsed: ParsedQuery, columns: NodeColumns) -> Iterator[Hit]:
    names = tuple(parsed.pattern.words)
    ids = columns.ids
    for matches in _pieces(parsed, columns):
        positions = [matches.words[name].tolist() for name in names]
        for sentence, *nodes in zip(matches.sentence.tolist(), *positions, strict=True):
            rows = {name: ids[node] for name, node in zip(names, nodes, strict=True)}
            words = {name: int(row) for name, row in rows.items() if "." not in row}
            yield Hit(sentence, words, {name: row for name, row in rows.items() if "." in row})


def _distinct(hits: Iterable[Hit]) -> Iterator[Hit]:
    """Each hit once: several alternatives can match the same words under the same names."""
    sentence, seen = -1, set[str]()
    for hit in hits:
        if hit.sentence != sentence:
            sentence, seen = hit.sentence, set()
        # A string: a long sentence may have a million hits, and a set of pairs takes five times its memory.
        key = " ".join(sorted(f"{name}={hit.row(name)}" for name in (*hit.words, *hit.empty_nodes)))
        if key not in seen:
            seen.add(key)
            yield hit


def unseen(query: Query, columns: Columns) -> dict[str, str]:
    """Tests whose values do not occur in the treebank → the closest value that does, or "".

    >>> from arcwise.treebanks import Sentence
    >>> unseen(Query.parse("upos=Verb"), Columns(Sentence.from_words(["Go"], upos=["VERB"]).treebank))
    {'upos=Verb': 'VERB'}
    """
    conditions: list[Condition] = []
    for pattern in (parsed.pattern for parsed in query.alternatives):
        conditions += pattern.words.values()
        conditions += [label for link in pattern.links if (label := _basic_label(link.relation)) is not None]
    suggestions: dict[str, str] = {}
    columns = query.columns(columns)
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
        label = _basic_label(condition.relation)
        if label is not None:
            yield label
    else:
        assert isinstance(condition, Not)


def _basic_label(relation: Relation) -> PropertyTest | None:
    return None if relation.kind.is_enhanced else relation.label


def _closest(value: str, seen: set[str]) -> str:
    same = sorted(candidate for candidate in seen if candidate.lower() == value.lower())
    if same or len(seen) > _MAX_COMPARED:
        return same[0] if same else ""
    return next(iter(get_close_matches(value, sorted(seen), 1)), "")


_HITS_AT_ONCE = 1 << 14
_BRACE_OR_QUOTED = re.compile(r"[{}]|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'", re.DOTALL)
_WORD_PREFIX = re.compile(r"@?(\w+)\.(?=[A-Za-z])")


@dataclass(frozen=True)
class TableColumn:
    """A property of a matched word."""

    word: str
    property: Property

    def __str__(self) -> str:
        return f"{self.word}.{self.property}"


@dataclass(frozen=True)
class TableCondition:
    """Whether a hit can be extended by a pattern: ``yes`` or ``no``."""

    text: str
    pattern: Pattern

    def __str__(self) -> str:
        return self.text


def read_table(text: str, names: Sequence[str]) -> tuple[TableColumn | TableCondition, ...]:
    """Parse the columns of a table: ``2.lemma,upos``; without a word they belong to the first.

    ``{@1 > obj}`` is a column with ``yes`` and ``no``: whether the hit has such further words.

    >>> [str(column) for column in read_table("2.lemma,feats.Case,{@2 .. @1}", ["1", "2"])]
    ['2.lemma', '1.feats.Case', '{@2 .. @1}']
    """
    scan = Scanner(text, "table")
    columns: list[TableColumn | TableCondition] = []
    while True:
        if not names:
            raise scan.error(
                "the query matches only sentences; a table needs matched words", unexpected="property"
            )
        columns.append(_condition(scan, names) if scan.sees("{") else _property(scan, names))
        scan.skip()
        if scan.is_done:
            return tuple(columns)
        scan.expect(",", " and another property")


def _property(scan: Scanner, names: Sequence[str]) -> TableColumn:
    word = names[0]
    prefix = _WORD_PREFIX.match(scan.text, scan.at)
    if prefix and (scan.sees("@") or prefix[1] not in (*WORD_TEXTS, *WORD_NUMBERS, *STEPS)):
        word = prefix[1]
        check_matched(scan, word, names)
        scan.at = prefix.end()
    return TableColumn(word, scan.property())


def _condition(scan: Scanner, names: Sequence[str]) -> TableCondition:
    start, depth = scan.at, 0
    for token in _BRACE_OR_QUOTED.finditer(scan.text, start):
        depth += {"{": 1, "}": -1}.get(token[0], 0)
        if depth == 0:
            scan.at = token.end()
            # Blanks in front keep the positions of errors those of the whole text.
            pattern = parse_extension(" " * (start + 1) + scan.text[start + 1 : token.start()], names)
            return TableCondition(scan.text[start : scan.at], pattern)
    raise scan.error("the closing } is missing", unexpected="end", at=len(scan.text))


def frequencies(
    hits: Iterable[Hit], table: Sequence[TableColumn | TableCondition], columns: Columns
) -> Counter[tuple[str, ...]]:
    """Count the hits with each combination of values."""
    return Counter(table_rows(hits, table, columns))


def table_rows(
    hits: Iterable[Hit], table: Sequence[TableColumn | TableCondition], columns: Columns
) -> Iterator[tuple[str, ...]]:
    """Yield the values of each hit in the columns of a table."""
    # Both the hits and the conditions of a table can have empty nodes.
    columns = with_empty_nodes(columns)
    cells = [_cells(column, columns) for column in table]
    remaining = iter(hits)
    while batch := list(islice(remaining, _HITS_AT_ONCE)):
        yield from zip(*(column(batch) for column in cells), strict=True)


def _cells(column: TableColumn | TableCondition, columns: Columns) -> Callable[[list[Hit]], list[str]]:
    """A function that gives the cells of a column for some hits."""

    def positions(hits: list[Hit], name: str) -> list[int]:
        return [columns.position(hit.sentence, hit.row(name)) for hit in hits]

    if isinstance(column, TableColumn):
        word, values = column.word, columns.of_words(column.property)
        return lambda hits: [text_at(values, position) for position in positions(hits, word)]
    test, names = extension_test(column.pattern, columns), column.pattern.outer

    def whether(hits: list[Hit]) -> list[str]:
        words = {name: np.array(positions(hits, name), np.int64) for name in names}
        flags = test(PartialMatches(np.array([hit.sentence for hit in hits], np.int64), words))
        return ["yes" if flag else "no" for flag in flags.tolist()]

    return whether
