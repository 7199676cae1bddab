"""Frequency tables of the properties of matched words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from arcwise.treebanks.search.assignments import check_matched
from arcwise.treebanks.search.query import Hit
from arcwise.treebanks.search.scanner import Scanner
from arcwise.treebanks.search.syntax import STEPS, WORD_NUMBERS, WORD_TEXTS, Property
from arcwise.treebanks.search.values import Columns, text_at

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
