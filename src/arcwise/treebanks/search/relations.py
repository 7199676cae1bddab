"""The relations between words, over whole columns: which words have one, which pairs there are, whether it holds of pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

import numpy as np

from arcwise.treebanks.search.syntax import Relation, RelationKind
from arcwise.treebanks.search.values import Columns, Flags, Places

_FAR = 1 << 40


def has(relation: Relation, right: Flags, columns: Columns, label: Flags | None) -> Flags:
    """Which words have one of the words ``right`` in the relation. ``label``: which words have the label of the relation."""
    if label is not None and relation.kind is RelationKind.BELOW:
        right = right & label
    found: Flags = _HAS[relation.kind](relation, right, columns)
    return found & label if label is not None and relation.kind is RelationKind.ABOVE else found


def words_above(relation: Relation, places: Places, columns: Columns) -> Iterator[Places]:
    """For each number of steps that the relation allows, the word so many steps above each word; -1 for none."""
    return islice(columns.walk_up(places), relation.low - 1, relation.high)


def _has_below(relation: Relation, right: Flags, columns: Columns) -> Flags:
    found = np.zeros(columns.size, bool)
    for above in words_above(relation, np.flatnonzero(right), columns):
        found[above[above >= 0]] = True
    return found


def _has_above(relation: Relation, right: Flags, columns: Columns) -> Flags:
    found = np.zeros(columns.size, bool)
    with_none = np.append(right, False)
    for above in words_above(relation, np.arange(columns.size), columns):
        found |= with_none[above]
    return found


def _has_beside(relation: Relation, right: Flags, columns: Columns) -> Flags:
    before = np.concatenate([[0], np.cumsum(right)])
    low, stop = window(relation, np.arange(columns.size), columns)
    found: Flags = before[stop] > before[low]
    return found


def _has_sibling(relation: Relation, right: Flags, columns: Columns) -> Flags:
    families = columns.family
    size = columns.size + len(columns.starts)  # one more than there are families: nobody is in the last
    counts = np.bincount(families[right & (families >= 0)], minlength=size)
    found: Flags = counts[families] - right > 0
    return found


_HAS: Mapping[RelationKind, Callable[[Relation, Flags, Columns], Flags]] = {
    RelationKind.BELOW: _has_below,
    RelationKind.ABOVE: _has_above,
    RelationKind.AFTER: _has_beside,
    RelationKind.BEFORE: _has_beside,
    RelationKind.SIBLING: _has_sibling,
    RelationKind.SAME: lambda relation, right, columns: right,
}


def window(relation: Relation, left: Places, columns: Columns) -> tuple[Places, Places]:
    """The stretch of words after or before each word in which the right word is: its first word, and the one after its last."""
    high = _FAR if relation.high is None else relation.high
    first, end = columns.first[left], columns.end[left]
    if relation.kind is RelationKind.AFTER:
        return np.minimum(left + relation.low, end), np.minimum(left + high + 1, end)
    stop = np.maximum(left - relation.low + 1, first)
    return np.minimum(np.maximum(left - high, first), stop), stop


def holds(relation: Relation, left: Places, right: Places, columns: Columns, label: Flags | None) -> Flags:
    """Whether the relation holds of each pair of words; both are of the same sentence."""
    if relation.kind in (RelationKind.ABOVE, RelationKind.BEFORE):
        return holds(relation.inverse, right, left, columns, label)
    found: Flags = left == right
    if relation.kind is RelationKind.SAME:
        return found
    if relation.kind is RelationKind.SIBLING:
        families = columns.family
        found = ~found & (families[left] == families[right]) & (families[left] >= 0)
        return found
    if relation.kind is RelationKind.AFTER:
        steps = right - left
        found = (steps >= relation.low) & (steps <= (_FAR if relation.high is None else relation.high))
        return found
    found = np.zeros(len(left), bool)
    for above in words_above(relation, right, columns):
        found |= above == left
    return found if label is None else found & label[right]


@dataclass(frozen=True)
class WordGroups:
    """Words in groups: those of group g are ``words[starts of g …]``, found by search in ``groups``, which are sorted."""

    groups: Places
    words: Places

    @classmethod
    def of(cls, groups: Places, words: Places) -> WordGroups:
        """Grouped; the words of a group in order."""
        order = np.lexsort((words, groups))
        return cls(groups[order], words[order])

    def between(self, low: Places, stop: Places) -> tuple[Places, Places]:
        """For each row the words of the groups from ``low`` to before ``stop``: (row, word) pairs, in order of rows."""
        begin = np.searchsorted(self.groups, low)
        counts = np.maximum(np.searchsorted(self.groups, stop) - begin, 0)
        rows = np.repeat(np.arange(len(low)), counts)
        inside = np.arange(len(rows)) - np.repeat(np.cumsum(counts) - counts, counts)
        return rows, self.words[begin[rows] + inside]


class RelationIndex:
    """The right words of a relation, among some, for any left words. ``relation`` None: all of the same sentence."""

    def __init__(self, relation: Relation | None, among: Flags, columns: Columns) -> None:
        self.relation, self.columns = relation, columns
        self.among = among
        words = np.flatnonzero(among)
        if relation is None:
            self.partners = WordGroups(columns.sentence[words], words)
        elif relation.kind is RelationKind.BELOW:
            self.partners = _below(relation, words, columns)
        elif relation.kind is RelationKind.SIBLING:
            self.partners = WordGroups.of(columns.family[words], words)
        else:
            self.partners = WordGroups(words, words)

    def pairs(self, left: Places, sentences: Places) -> tuple[Places, Places]:
        """(row, right word) for each left word, in order of rows. ``sentences``: of each row."""
        if self.relation is None:
            return self.partners.between(sentences, sentences + 1)
        kind = self.relation.kind
        if kind is RelationKind.ABOVE:
            return self._above(left)
        if kind in (RelationKind.AFTER, RelationKind.BEFORE):
            return self.partners.between(*window(self.relation, left, self.columns))
        if kind is not RelationKind.SIBLING:
            return self.partners.between(left, left + 1)
        families = self.columns.family[left]
        rows, right = self.partners.between(families, np.where(families < 0, families, families + 1))
        different = right != left[rows]
        return rows[different], right[different]

    def _above(self, left: Places) -> tuple[Places, Places]:
        assert self.relation is not None
        rows: list[Places] = [np.zeros(0, np.int64)]
        found: list[Places] = [np.zeros(0, np.int64)]
        with_none = np.append(self.among, False)
        for above in words_above(self.relation, left, self.columns):
            hit = np.flatnonzero(with_none[above])
            rows.append(hit)
            found.append(above[hit])
        return np.concatenate(rows), np.concatenate(found)


def _below(relation: Relation, words: Places, columns: Columns) -> WordGroups:
    """Words, grouped by each word that they are below of."""
    groups: list[Places] = [np.zeros(0, np.int64)]
    members: list[Places] = [np.zeros(0, np.int64)]
    for above in words_above(relation, words, columns):
        known = above >= 0
        groups.append(above[known])
        members.append(words[known])
    return WordGroups.of(np.concatenate(groups), np.concatenate(members))
