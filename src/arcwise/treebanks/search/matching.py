"""Evaluate conditions of queries and relations between words over whole columns."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from arcwise.errors import InputError
from arcwise.treebanks.search.nodes import includes_empty_nodes
from arcwise.treebanks.search.regex import RegexError, StepBudget, compiled
from arcwise.treebanks.search.syntax import (
    MISSING,
    AllOf,
    AnyOf,
    Condition,
    Exists,
    Not,
    PropertyTest,
    Relation,
    RelationKind,
)
from arcwise.treebanks.search.values import Columns, Flags, Floats, Positions, Texts, Values

_UNBOUNDED = 1 << 40  # more words than any sentence has
_MAX_PAIRS = 20_000_000  # of a word and an ancestor, in memory at once; real trees have a few per word


def enhanced_pairs(relation: Relation, columns: Columns) -> tuple[Positions, Positions]:
    """The left and right words of a relation of the enhanced graph."""
    label = relation.label
    heads, children = columns.enhanced(None if label is None else lambda texts: evaluate_test(label, texts))
    return (heads, children) if relation.kind is RelationKind.ENHANCED_CHILD else (children, heads)


def _has_enhanced(relation: Relation, right: Flags, columns: Columns) -> Flags:
    left_words, right_words = enhanced_pairs(relation, columns)
    flags = np.zeros(columns.size, bool)
    flags[left_words[right[right_words]]] = True
    return flags


def has_related(relation: Relation, right: Flags, columns: Columns, label: Flags | None) -> Flags:
    """Mask of words that have one of the words ``right`` in the relation.

    ``label``: mask of words with the label of the relation, None if it has no label.
    """
    if label is not None and relation.kind is RelationKind.DESCENDANT:
        right = right & label
    flags: Flags = _HAS_RELATED[relation.kind](relation, right, columns)
    return flags & label if label is not None and relation.kind is RelationKind.ANCESTOR else flags


def ancestors(relation: Relation, words: Positions, columns: Columns) -> Iterator[Positions]:
    """For each number of steps in the bounds, the ancestor that many steps above each word; -1 for none."""
    return islice(columns.walk_up(words), relation.low - 1, relation.high)


def _has_descendant(relation: Relation, right: Flags, columns: Columns) -> Flags:
    flags = np.zeros(columns.size, bool)
    for above in ancestors(relation, np.flatnonzero(right), columns):
        flags[above[above >= 0]] = True
    return flags


def _has_ancestor(relation: Relation, right: Flags, columns: Columns) -> Flags:
    flags = np.zeros(columns.size, bool)
    padded = np.append(right, False)  # position -1, no word, is False
    for above in ancestors(relation, np.arange(columns.size), columns):
        flags |= padded[above]
    return flags


def _has_neighbour(relation: Relation, right: Flags, columns: Columns) -> Flags:
    # Prefix sums: a window contains a right word iff the count grows over it.
    before = np.concatenate([[0], np.cumsum(right)])
    low, stop = window(relation, np.arange(columns.size), columns)
    flags: Flags = before[stop] > before[low]
    return flags


def _has_sibling(relation: Relation, right: Flags, columns: Columns) -> Flags:
    families = columns.family
    size = columns.size + len(columns.starts)  # one too many, so that family -1 reads an empty one
    counts = np.bincount(families[right & (families >= 0)], minlength=size)
    flags: Flags = counts[families] - right > 0
    return flags


_HAS_RELATED: Mapping[RelationKind, Callable[[Relation, Flags, Columns], Flags]] = {
    RelationKind.DESCENDANT: _has_descendant,
    RelationKind.ANCESTOR: _has_ancestor,
    RelationKind.FOLLOWING: _has_neighbour,
    RelationKind.PRECEDING: _has_neighbour,
    RelationKind.SIBLING: _has_sibling,
    RelationKind.SAME: lambda relation, right, columns: right,
    RelationKind.ENHANCED_CHILD: _has_enhanced,
    RelationKind.ENHANCED_HEAD: _has_enhanced,
}


def window(relation: Relation, left: Positions, columns: Columns) -> tuple[Positions, Positions]:
    """The range [low, stop) of words in which the right word of each left word can be."""
    high = _UNBOUNDED if relation.high is None else relation.high
    first, end = columns.first[left], columns.end[left]
    if columns.words_before is not None:
        return _node_window(relation, left, columns, columns.words_before)
    if relation.kind is RelationKind.FOLLOWING:
        return np.minimum(left + relation.low, end), np.minimum(left + high + 1, end)
    stop = np.maximum(left - relation.low + 1, first)
    return np.minimum(np.maximum(left - high, first), stop), stop


def _node_window(
    relation: Relation, left: Positions, columns: Columns, words_before: Positions
) -> tuple[Positions, Positions]:
    """The same among words and empty nodes; steps are counted in words, see ``_steps``."""
    high = _UNBOUNDED if relation.high is None else relation.high
    if relation.kind is RelationKind.FOLLOWING:
        words = words_before[left + 1]
        low = np.searchsorted(words_before, words + relation.low - 1)
        stop = np.searchsorted(words_before, words + high - 1, side="right")
        stop = np.minimum(stop, columns.end[left])
        return np.minimum(np.maximum(low, left + 1), stop), stop
    words = words_before[left] + 1
    low = np.searchsorted(words_before, words - high) - 1
    stop = np.searchsorted(words_before, words - relation.low, side="right") - 1
    stop = np.maximum(np.minimum(stop, left), columns.first[left])
    return np.minimum(np.maximum(low, columns.first[left]), stop), stop


def _steps(left: Positions, right: Positions, columns: Columns) -> Positions:
    """Distance in words from each left node to its right node; below 1 if that is not to the right.

    One step leads over any number of empty nodes, so that they do not come between two words.
    """
    if columns.words_before is None:
        return right - left
    steps = columns.words_before[right] - columns.words_before[left + 1] + 1
    return np.where(right > left, steps, 0)


def holds(
    relation: Relation, left: Positions, right: Positions, columns: Columns, label: Flags | None
) -> Flags:
    """Whether the relation holds between each pair of words of the same sentence."""
    if relation.kind in (RelationKind.ANCESTOR, RelationKind.PRECEDING):
        # Trees are stored as heads, so pairs are tested by walking up from the lower word.
        return holds(relation.inverse, right, left, columns, label)
    if relation.kind.is_enhanced:
        pairs = enhanced_pairs(relation, columns)
        return np.isin(left * columns.size + right, pairs[0] * columns.size + pairs[1])
    flags: Flags = left == right
    if relation.kind is RelationKind.SAME:
        return flags
    if relation.kind is RelationKind.SIBLING:
        families = columns.family
        flags = ~flags & (families[left] == families[right]) & (families[left] >= 0)
        return flags
    if relation.kind is RelationKind.FOLLOWING:
        steps = _steps(left, right, columns)
        flags = (steps >= relation.low) & (steps <= (_UNBOUNDED if relation.high is None else relation.high))
        return flags
    flags = np.zeros(len(left), bool)
    for above in ancestors(relation, right, columns):
        flags |= above == left
    return flags if label is None else flags & label[right]


@dataclass(frozen=True)
class WordGroups:
    """Words sorted by group, so that the words of a group are found by binary search in ``groups``."""

    groups: Positions
    words: Positions

    @classmethod
    def of(cls, groups: Positions, words: Positions) -> WordGroups:
        """Sort words by group, and by position within a group."""
        order = np.lexsort((words, groups))
        return cls(groups[order], words[order])

    def between(self, low: Positions, stop: Positions) -> tuple[Positions, Positions]:
        """The words of the groups ``low[i]`` to ``stop[i] - 1`` of each row i, as (row, word) pairs."""
        begin = np.searchsorted(self.groups, low)
        counts = np.maximum(np.searchsorted(self.groups, stop) - begin, 0)
        rows = np.repeat(np.arange(len(low)), counts)
        offset = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        return rows, self.words[begin[rows] + offset]


class RelationIndex:
    """Index of candidate right words of a relation; relation None relates all words of a sentence."""

    def __init__(self, relation: Relation | None, candidates: Flags, columns: Columns) -> None:
        self.relation, self.columns = relation, columns
        self.candidates = candidates
        words = np.flatnonzero(candidates)
        if relation is None:
            self.groups = WordGroups(columns.sentence[words], words)
        elif relation.kind is RelationKind.DESCENDANT:
            self.groups = _by_ancestor(relation, words, columns)
        elif relation.kind.is_enhanced:
            left, right = enhanced_pairs(relation, columns)
            self.groups = WordGroups.of(left[candidates[right]], right[candidates[right]])
        elif relation.kind is RelationKind.SIBLING:
            self.groups = WordGroups.of(columns.family[words], words)
        else:
            self.groups = WordGroups(words, words)

    def pairs(self, left: Positions, sentences: Positions) -> tuple[Positions, Positions]:
        """(row, right word) pairs for left words and their sentences, in order of rows."""
        if self.relation is None:
            return self.groups.between(sentences, sentences + 1)
        kind = self.relation.kind
        if kind is RelationKind.ANCESTOR:
            return self._ancestor_pairs(left)
        if kind in (RelationKind.FOLLOWING, RelationKind.PRECEDING):
            return self.groups.between(*window(self.relation, left, self.columns))
        if kind is not RelationKind.SIBLING:
            return self.groups.between(left, left + 1)
        families = self.columns.family[left]
        # An empty range for words without a known head, which have no siblings.
        rows, right = self.groups.between(families, np.where(families < 0, families, families + 1))
        different = right != left[rows]
        return rows[different], right[different]

    def _ancestor_pairs(self, left: Positions) -> tuple[Positions, Positions]:
        assert self.relation is not None
        rows: list[Positions] = [np.zeros(0, np.int64)]
        right: list[Positions] = [np.zeros(0, np.int64)]
        padded = np.append(self.candidates, False)
        for above in ancestors(self.relation, left, self.columns):
            hit = np.flatnonzero(padded[above])
            rows.append(hit)
            right.append(above[hit])
        return np.concatenate(rows), np.concatenate(right)


def _by_ancestor(relation: Relation, words: Positions, columns: Columns) -> WordGroups:
    """Group words by each of their ancestors within the bounds of the relation."""
    groups: list[Positions] = [np.zeros(0, np.int64)]
    members: list[Positions] = [np.zeros(0, np.int64)]
    pairs = 0
    for above in ancestors(relation, words, columns):
        exists = above >= 0
        pairs += int(exists.sum())
        if pairs > _MAX_PAIRS:
            raise InputError(
                f"query: more than {_MAX_PAIRS:,} pairs of a word and an ancestor; trees are too deep"
            )
        groups.append(above[exists])
        members.append(words[exists])
    return WordGroups.of(np.concatenate(groups), np.concatenate(members))


COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def words_where(condition: Condition, columns: Columns) -> Flags:
    """Mask of words that satisfy the condition, shape (words,)."""

    def holds(part: Condition) -> Flags:
        if isinstance(part, PropertyTest):
            return evaluate_test(part, columns.of_words(part.property))
        if isinstance(part, Exists):
            right = nodes_of(part.condition, holds(part.condition), columns)
            return has_related(part.relation, right, columns, with_label(part.relation, columns))
        return _combined(part, holds, columns.size)

    return holds(condition)


def nodes_of(condition: Condition, flags: Flags, columns: Columns) -> Flags:
    """Of the nodes that satisfy a condition: words alone, unless it tests ``empty``."""
    return flags if includes_empty_nodes(condition) else flags & ~columns.is_empty


def sentences_where(condition: Condition, columns: Columns) -> Flags:
    """Mask of sentences that satisfy the condition, shape (sentences,)."""

    def holds(part: Condition) -> Flags:
        if isinstance(part, PropertyTest):
            return evaluate_test(part, columns.of_sentences(part.property))
        return _combined(part, holds, len(columns.starts) - 1)

    return holds(condition)


def with_label(relation: Relation, columns: Columns) -> Flags | None:
    """Mask of words with the label of a relation; None if any label matches, or if it is a label in DEPS."""
    label = relation.label
    if label is None or relation.kind.is_enhanced:
        return None
    return evaluate_test(label, columns.of_words(label.property))


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
    """Mask of words for which the test is true."""
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
        return values.where(_bounded(test))
    accepted = set(test.values)
    return values.where(lambda text: text in accepted)


def _bounded(test: PropertyTest) -> Callable[[str], bool]:
    """The regular expression of a test; a backreference that takes too long is an error of the query."""
    matches = compiled(test.values[0])
    budget = StepBudget()

    def holds(text: str) -> bool:
        try:
            return matches(text, budget)
        except RegexError as error:
            raise InputError(f"query: {test.property}{test.operator}{test.values[0]!r}: {error}") from None

    return holds


def _is_one_of(values: tuple[str, ...], numbers: Floats) -> Flags:
    flags = np.zeros(len(numbers), bool)
    for value in values:
        flags |= np.isnan(numbers) if value == MISSING else numbers == float(value)
    return flags
