"""Evaluate conditions over all words or sentences of a treebank at once, as boolean arrays."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from arcwise.treebanks.search.relations import has_related
from arcwise.treebanks.search.syntax import MISSING, AllOf, AnyOf, Condition, Exists, Not, PropertyTest
from arcwise.treebanks.search.values import Columns, Flags, Floats, Texts, Values

COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def words_where(condition: Condition, columns: Columns) -> Flags:
    """Which words satisfy the condition, shape (words,)."""

    def holds(part: Condition) -> Flags:
        if isinstance(part, PropertyTest):
            return evaluate_test(part, columns.of_words(part.property))
        if isinstance(part, Exists):
            return has_related(
                part.relation, holds(part.condition), columns, with_label(part.relation.label, columns)
            )
        return _combined(part, holds, columns.size)

    return holds(condition)


def sentences_where(condition: Condition, columns: Columns) -> Flags:
    """Which sentences satisfy the condition, shape (sentences,)."""

    def holds(part: Condition) -> Flags:
        if isinstance(part, PropertyTest):
            return evaluate_test(part, columns.of_sentences(part.property))
        return _combined(part, holds, len(columns.starts) - 1)

    return holds(condition)


def with_label(label: PropertyTest | None, columns: Columns) -> Flags | None:
    """Which words have the label; None if any label matches."""
    return None if label is None else evaluate_test(label, columns.of_words(label.property))


def _combined(part: Condition, holds: Callable[[Condition], Flags], size: int) -> Flags:
    if isinstance(part, Not):
        return ~holds(part.condition)
    if isinstance(part, AnyOf):
        # De Morgan: only conjunction needs a loop.
        return ~_combined(AllOf(tuple(Not(c) for c in part.conditions)), holds, size)
    assert isinstance(part, AllOf)
    flags = np.ones(size, bool)
    for condition in part.conditions:
        flags &= holds(condition)
    return flags


def evaluate_test(test: PropertyTest, values: Values) -> Flags:
    """Where the test is true."""
    if test.operator in ("!=", "!~"):
        return ~_equal(test, values)
    if test.operator in ("=", "~"):
        return _equal(test, values)
    numbers = values.numbers() if isinstance(values, Texts) else values
    with np.errstate(invalid="ignore"):
        flags: Flags = COMPARISONS[test.operator](numbers, float(test.values[0]))  # NaN compares false
    return flags


def _equal(test: PropertyTest, values: Values) -> Flags:
    if not isinstance(values, Texts):
        return _is_one_of(test.values, values)
    if test.operator.endswith("~"):
        search = re.compile(test.values[0]).search
        return values.where(lambda text: search(text) is not None)
    accepted = set(test.values)
    return values.where(lambda text: text in accepted)


def _is_one_of(values: tuple[str, ...], numbers: Floats) -> Flags:
    flags = np.zeros(len(numbers), bool)
    for value in values:
        flags |= np.isnan(numbers) if value == MISSING else numbers == float(value)
    return flags
