"""Of which words (or sentences) a condition holds: one flag each, over the whole treebank at once."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from arcwise.treebanks.search.relations import has
from arcwise.treebanks.search.syntax import MISSING, AllOf, AnyOf, Condition, Exists, Not, PropertyTest
from arcwise.treebanks.search.values import Columns, Flags, Floats, Texts, Values

COMPARE: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def words_where(condition: Condition, columns: Columns) -> Flags:
    """Of which words the condition holds, shape (words,)."""

    def holds(part: Condition) -> Flags:
        if isinstance(part, PropertyTest):
            return tested(part, columns.of_words(part.property))
        if isinstance(part, Exists):
            return has(part.relation, holds(part.condition), columns, labelled(part.relation.label, columns))
        return _combined(part, holds, columns.size)

    return holds(condition)


def sentences_where(condition: Condition, columns: Columns) -> Flags:
    """Of which sentences the condition holds, shape (sentences,)."""

    def holds(part: Condition) -> Flags:
        if isinstance(part, PropertyTest):
            return tested(part, columns.of_sentences(part.property))
        return _combined(part, holds, len(columns.starts) - 1)

    return holds(condition)


def labelled(label: PropertyTest | None, columns: Columns) -> Flags | None:
    """Which words have such a label; None if any will do."""
    return None if label is None else tested(label, columns.of_words(label.property))


def _combined(part: Condition, holds: Callable[[Condition], Flags], size: int) -> Flags:
    if isinstance(part, Not):
        return ~holds(part.condition)
    if isinstance(part, AnyOf):
        return ~_combined(AllOf(tuple(Not(c) for c in part.conditions)), holds, size)
    assert isinstance(part, AllOf)
    flags = np.ones(size, bool)
    for condition in part.conditions:
        flags &= holds(condition)
    return flags


def tested(test: PropertyTest, values: Values) -> Flags:
    """Where the test holds."""
    if test.sign in ("!=", "!~"):
        return ~_equal(test, values)
    if test.sign in ("=", "~"):
        return _equal(test, values)
    numbers = values.numbers() if isinstance(values, Texts) else values
    with np.errstate(invalid="ignore"):
        found: Flags = COMPARE[test.sign](numbers, float(test.values[0]))
    return found


def _equal(test: PropertyTest, values: Values) -> Flags:
    if not isinstance(values, Texts):
        return _among(test.values, values)
    if test.sign.endswith("~"):
        search = re.compile(test.values[0]).search
        return values.where(lambda text: search(text) is not None)
    wanted = set(test.values)
    return values.where(lambda text: text in wanted)


def _among(wanted: tuple[str, ...], numbers: Floats) -> Flags:
    found = np.zeros(len(numbers), bool)
    for value in wanted:
        found |= np.isnan(numbers) if value == MISSING else numbers == float(value)
    return found
