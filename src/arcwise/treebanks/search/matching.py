"""Match queries: evaluate conditions over whole columns, then join words along the relations."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from arcwise.treebanks.search.syntax import (
    MISSING,
    AllOf,
    AnyOf,
    Condition,
    Exists,
    Link,
    Not,
    ParsedQuery,
    Pattern,
    PropertyComparison,
    PropertyTest,
    Relation,
    RelationKind,
)
from arcwise.treebanks.search.values import Columns, Flags, Floats, Positions, Texts, Values

_UNBOUNDED = 1 << 40  # more words than any sentence has


def has_related(relation: Relation, right: Flags, columns: Columns, label: Flags | None) -> Flags:
    """Which words have one of the words ``right`` in the relation.

    ``label``: which words have the label of the relation, None if it has none.
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
}


def window(relation: Relation, left: Positions, columns: Columns) -> tuple[Positions, Positions]:
    """The range [low, stop) of words in which the right word of each left word can be."""
    high = _UNBOUNDED if relation.high is None else relation.high
    first, end = columns.first[left], columns.end[left]
    if relation.kind is RelationKind.FOLLOWING:
        return np.minimum(left + relation.low, end), np.minimum(left + high + 1, end)
    stop = np.maximum(left - relation.low + 1, first)
    return np.minimum(np.maximum(left - high, first), stop), stop


def holds(
    relation: Relation, left: Positions, right: Positions, columns: Columns, label: Flags | None
) -> Flags:
    """Whether the relation holds between each pair of words of the same sentence."""
    if relation.kind in (RelationKind.ANCESTOR, RelationKind.PRECEDING):
        # Trees are stored as heads, so pairs are tested by walking up from the lower word.
        return holds(relation.inverse, right, left, columns, label)
    flags: Flags = left == right
    if relation.kind is RelationKind.SAME:
        return flags
    if relation.kind is RelationKind.SIBLING:
        families = columns.family
        flags = ~flags & (families[left] == families[right]) & (families[left] >= 0)
        return flags
    if relation.kind is RelationKind.FOLLOWING:
        steps = right - left
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
    for above in ancestors(relation, words, columns):
        exists = above >= 0
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


_BLOCK = 1 << 14  # words joined at a time, so that the first hits come early and memory is bounded


@dataclass(frozen=True)
class PartialMatches:
    """Matches of some words of a pattern: the sentence of each match, and its words by name."""

    sentence: Positions
    words: Mapping[str, Positions]

    def at(self, rows: Positions | Flags) -> PartialMatches:
        """Select matches."""
        return PartialMatches(self.sentence[rows], {name: words[rows] for name, words in self.words.items()})

    def with_word(self, name: str, rows: Positions, words: Positions) -> PartialMatches:
        """Select matches, possibly repeatedly, and add a word to each."""
        selected = self.at(rows)
        return PartialMatches(selected.sentence, {**selected.words, name: words})


def find(parsed: ParsedQuery, columns: Columns) -> Iterator[PartialMatches]:
    """Yield all matches in blocks, ordered by sentence and then by the words in the order of the query."""
    sentences = sentences_where(parsed.sentence, columns)
    excluded = [_Join(pattern, columns, distinct=False) for pattern in parsed.excluded]
    if not parsed.pattern.words:
        yield _without(PartialMatches(np.flatnonzero(sentences), {}), excluded)
        return
    join = _Join(parsed.pattern, columns, distinct=True, sentences=sentences, comparisons=parsed.comparisons)
    names = list(parsed.pattern.words)
    for block in join.blocks():
        matches = _without(join.extend(block), excluded)
        # lexsort sorts by its last key first.
        order = np.lexsort([matches.words[name] for name in reversed(names)] + [matches.sentence])
        yield matches.at(order)


def _without(matches: PartialMatches, excluded: Sequence[_Join]) -> PartialMatches:
    """Remove the matches that can be extended by one of the excluded patterns."""
    for join in excluded:
        outer = join.pattern.outer
        # Many matches share the words that the excluded pattern refers to: test each combination once.
        keys = np.stack([matches.sentence, *(matches.words[name] for name in outer)])
        distinct, inverse = np.unique(keys, axis=1, return_inverse=True)
        numbers = np.arange(distinct.shape[1])
        # The name "" carries the number of each combination through the join.
        start = PartialMatches(distinct[0], {**dict(zip(outer, distinct[1:], strict=True)), "": numbers})
        matched = np.zeros(len(numbers), bool)
        matched[join.extend(start).words[""]] = True
        matches = matches.at(~matched[inverse.reshape(-1)])
    return matches


class _Join:
    """Joins the words of a pattern, with the candidates of each word and indexes of the relations."""

    def __init__(
        self,
        pattern: Pattern,
        columns: Columns,
        *,
        distinct: bool,
        sentences: Flags | None = None,
        comparisons: Sequence[PropertyComparison] = (),
    ) -> None:
        self.pattern, self.columns, self.distinct, self.comparisons = pattern, columns, distinct, comparisons
        self.labels = {link: with_label(link.relation.label, columns) for link in pattern.links}
        self.candidates = {name: words_where(condition, columns) for name, condition in pattern.words.items()}
        if sentences is not None and not sentences.all():
            for flags in self.candidates.values():
                flags &= sentences[columns.sentence]
        self._prune_candidates()
        self.counts = {name: int(flags.sum()) for name, flags in self.candidates.items()}
        self._indexes: dict[tuple[Relation | None, str], RelationIndex] = {}

    def _prune_candidates(self) -> None:
        """Keep only candidates with a candidate partner for each link, propagating forwards and back."""
        # Semi-joins over whole columns are cheap, and keep the joins of single words small.
        positive = [link for link in self.pattern.links if not link.negated]
        for link in positive:
            lower = link.right if link.relation.kind is RelationKind.DESCENDANT else link.left
            label = self.labels[link]
            if label is not None and lower in self.candidates:
                self.candidates[lower] = self.candidates[lower] & label
        for link in [*positive, *reversed(positive)]:
            if link.left in self.candidates and link.right in self.candidates:
                left, right = self.candidates[link.left], self.candidates[link.right]
                self.candidates[link.left] = left & has_related(link.relation, right, self.columns, None)
                left = self.candidates[link.left]
                self.candidates[link.right] = right & has_related(
                    link.relation.inverse, left, self.columns, None
                )

    def blocks(self) -> Iterator[PartialMatches]:
        """Yield the candidates of the rarest word, some sentences at a time."""
        name = min(self.counts, key=lambda n: self.counts[n])
        words = np.flatnonzero(self.candidates[name])
        sentences = self.columns.sentence[words]
        start = 0
        while start < len(words):
            # Blocks end with a sentence, which keeps hits in order and lets count() count sentences.
            last = sentences[min(start + _BLOCK, len(words)) - 1]
            stop = int(np.searchsorted(sentences, last, side="right"))
            yield PartialMatches(sentences[start:stop], {name: words[start:stop]})
            start = stop

    def extend(self, rows: PartialMatches) -> PartialMatches:
        """Add the other words of the pattern to each row, in all possible ways."""
        used: set[Link] = set()
        rows = self._filtered(rows, set(), used)
        while missing := [name for name in self.pattern.words if name not in rows.words]:
            bound = set(rows.words)
            name, link = self._next(missing, bound)
            relation = (
                None if link is None else link.relation if link.right == name else link.relation.inverse
            )
            left = (
                rows.sentence if link is None else rows.words[link.left if link.right == name else link.right]
            )
            picked, words = self._index(relation, name).pairs(left, rows.sentence)
            rows = rows.with_word(name, picked, words)
            if link is not None:
                self._check_label(link, name, used)
            if self.distinct:
                distinct = np.ones(len(words), bool)
                for bound_name in bound:
                    distinct &= rows.words[bound_name] != rows.words[name]
                rows = rows.at(distinct)
            rows = self._filtered(rows, bound, used)
        return rows

    def _check_label(self, link: Link, name: str, used: set[Link]) -> None:
        """Mark a followed link as checked, unless its label belongs to an outer word."""
        lower = link.right if link.relation.kind is RelationKind.DESCENDANT else link.left
        if self.labels[link] is None or lower in self.candidates:
            used.add(link)

    def _next(self, missing: Sequence[str], bound: set[str]) -> tuple[str, Link | None]:
        """Choose the word to add next and the link to follow, the most selective first."""
        best: tuple[float, str, Link | None] | None = None
        for link in self.pattern.links:
            for here, there, relation in (
                (link.left, link.right, link.relation),
                (link.right, link.left, link.relation.inverse),
            ):
                if not link.negated and here in bound and there in missing:
                    # First by how many words a relation reaches, then by the number of candidates.
                    cost = 0 if relation.is_unique else 1 if relation.high == 1 else 2
                    value = cost * 1e12 + self.counts[there]
                    if best is None or value < best[0]:
                        best = value, there, link
        if best is None:
            return min(missing, key=lambda n: self.counts[n]), None
        return best[1], best[2]

    def _index(self, relation: Relation | None, name: str) -> RelationIndex:
        if (relation, name) not in self._indexes:
            self._indexes[relation, name] = RelationIndex(relation, self.candidates[name], self.columns)
        return self._indexes[relation, name]

    def _filtered(self, rows: PartialMatches, bound: set[str], used: set[Link]) -> PartialMatches:
        """Keep the rows for which all links and comparisons between bound words hold."""
        for link in self.pattern.links:
            if link in used or link.left not in rows.words or link.right not in rows.words:
                continue
            used.add(link)
            left, right = rows.words[link.left], rows.words[link.right]
            hold = holds(link.relation, left, right, self.columns, self.labels[link])
            rows = rows.at(hold != link.negated)
        for c in self.comparisons:
            if c.left in rows.words and c.right in rows.words and not {c.left, c.right} <= bound:
                rows = rows.at(_compared(c, rows, self.columns))
        return rows


def _compared(comparison: PropertyComparison, rows: PartialMatches, columns: Columns) -> Flags:
    left = columns.of_words(comparison.left_property)
    right = columns.of_words(comparison.right_property)
    a, b = rows.words[comparison.left], rows.words[comparison.right]
    if comparison.operator in ("=", "!="):
        equal = _equal_values(left, a, right, b)
        return equal if comparison.operator == "=" else ~equal
    with np.errstate(invalid="ignore"):
        flags: Flags = COMPARISONS[comparison.operator](_numbers(left)[a], _numbers(right)[b])
    return flags


def _numbers(values: Values) -> Floats:
    return values.numbers() if isinstance(values, Texts) else values


def _equal_values(left: Values, a: Positions, right: Values, b: Positions) -> Flags:
    """Whether two properties are equal, as texts or as numbers; two missing values are equal."""
    equal: Flags
    if isinstance(left, Texts) and isinstance(right, Texts):
        # The two columns have codes of their own: recode each distinct string once, not each row.
        numbers: dict[str, int] = {}
        maps = [
            np.array([numbers.setdefault(s, len(numbers)) for s in texts.strings], np.int64)
            for texts in (left, right)
        ]
        equal = maps[0][left.codes[a]] == maps[1][right.codes[b]]
    else:
        x, y = _numbers(left)[a], _numbers(right)[b]
        equal = (x == y) | (np.isnan(x) & np.isnan(y))
    return equal
