"""How often each value of a property occurs among hits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from arcwise.treebanks.search.query import Hit
from arcwise.treebanks.search.scanner import Scanner
from arcwise.treebanks.search.syntax import STEPS, WORD_NUMBERS, WORD_TEXTS, Property
from arcwise.treebanks.search.values import Columns, text_at

_FIRST = re.compile(r"@?(\w+)\.(?=[A-Za-z])")


@dataclass(frozen=True)
class TableColumn:
    """A property of a found word."""

    word: str
    property: Property

    def __str__(self) -> str:
        return f"{self.word}.{self.property}"


def read_table(text: str, names: Sequence[str]) -> tuple[TableColumn, ...]:
    """The columns of a table: ``2.lemma,upos``; without a word the property is that of the first.

    >>> [str(column) for column in read_table("2.lemma,feats.Case", ["1", "2"])]
    ['2.lemma', '1.feats.Case']
    """
    scan = Scanner(text, "table")
    found = []
    while True:
        if not names:
            raise scan.error("a query that finds words: this one finds sentences alone", found="a property")
        word = names[0]
        first = _FIRST.match(scan.text, scan.at)
        if first and (scan.sees("@") or first[1] not in (*WORD_TEXTS, *WORD_NUMBERS, *STEPS)):
            word = first[1]
            if word not in names:
                raise scan.error(f"a word that the query finds ({', '.join(names)})", found=f"'{word}'")
            scan.at = first.end()
        found.append(TableColumn(word, scan.property()))
        scan.skip()
        if scan.is_done:
            return tuple(found)
        scan.expect(",", " and another property")


def frequencies(
    hits: Iterable[Hit], table: Sequence[TableColumn], columns: Columns
) -> Counter[tuple[str, ...]]:
    """How many hits have each combination of values."""
    values = [columns.of_words(column.property) for column in table]
    starts = columns.starts.tolist()
    return Counter(
        tuple(
            text_at(known, starts[hit.sentence] + hit.words[column.word] - 1)
            for column, known in zip(table, values, strict=True)
        )
        for hit in hits
    )
