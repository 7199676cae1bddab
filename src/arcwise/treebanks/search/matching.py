"""From what a query says to its hits: conditions over whole columns first, then words joined along relations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from arcwise.treebanks.search.conditions import COMPARE, labelled, sentences_where, words_where
from arcwise.treebanks.search.relations import RelationIndex, has, holds
from arcwise.treebanks.search.syntax import (
    Link,
    ParsedQuery,
    Pattern,
    PropertyComparison,
    Relation,
    RelationKind,
)
from arcwise.treebanks.search.values import Columns, Flags, Floats, Places, Texts, Values

_BLOCK = 1 << 14  # first words joined at a time: hits come early, and memory is bounded


@dataclass(frozen=True)
class PartialMatches:
    """Partial hits: the sentence of each, and its words by name."""

    sentence: Places
    words: Mapping[str, Places]

    def at(self, rows: Places | Flags) -> PartialMatches:
        """Some of the rows."""
        return PartialMatches(self.sentence[rows], {name: words[rows] for name, words in self.words.items()})

    def and_word(self, name: str, rows: Places, words: Places) -> PartialMatches:
        """PartialMatches, some repeated, with a further word."""
        found = self.at(rows)
        return PartialMatches(found.sentence, {**found.words, name: words})


def find(parsed: ParsedQuery, columns: Columns) -> Iterator[PartialMatches]:
    """All hits, in order of sentences and inside of these in order of the words of the query, in blocks."""
    sentences = sentences_where(parsed.sentence, columns)
    excluded = [_Join(pattern, columns, distinct=False) for pattern in parsed.excluded]
    if not parsed.pattern.words:
        rows = PartialMatches(np.flatnonzero(sentences), {})
        yield _without(rows, excluded)
        return
    join = _Join(parsed.pattern, columns, distinct=True, sentences=sentences, comparisons=parsed.comparisons)
    names = list(parsed.pattern.words)
    for block in join.blocks():
        found = _without(join.extend(block), excluded)
        order = np.lexsort([found.words[name] for name in reversed(names)] + [found.sentence])
        yield found.at(order)


def _without(rows: PartialMatches, excluded: Sequence[_Join]) -> PartialMatches:
    """The rows to which none of the patterns can be added."""
    for join in excluded:
        outer = join.pattern.outer
        keys = np.stack([rows.sentence, *(rows.words[name] for name in outer)])
        distinct, inverse = np.unique(keys, axis=1, return_inverse=True)
        numbers = np.arange(distinct.shape[1])
        start = PartialMatches(distinct[0], {**dict(zip(outer, distinct[1:], strict=True)), "": numbers})
        there = np.zeros(len(numbers), bool)
        there[join.extend(start).words[""]] = True
        rows = rows.at(~there[inverse.reshape(-1)])
    return rows


class _Join:
    """A pattern made ready: candidates of each word, and how words are reached from one another."""

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
        self.labels = {link: labelled(link.relation.label, columns) for link in pattern.links}
        self.candidates = {name: words_where(condition, columns) for name, condition in pattern.words.items()}
        if sentences is not None and not sentences.all():
            for flags in self.candidates.values():
                flags &= sentences[columns.sentence]
        self._narrow()
        self.counts = {name: int(flags.sum()) for name, flags in self.candidates.items()}
        self._finders: dict[tuple[Relation | None, str], RelationIndex] = {}

    def _narrow(self) -> None:
        """Only words that have the others that they need; label by label, there and back."""
        positive = [link for link in self.pattern.links if not link.negated]
        for link in positive:
            lower = link.right if link.relation.kind is RelationKind.BELOW else link.left
            label = self.labels[link]
            if label is not None and lower in self.candidates:
                self.candidates[lower] = self.candidates[lower] & label
        for link in [*positive, *reversed(positive)]:
            if link.left in self.candidates and link.right in self.candidates:
                left, right = self.candidates[link.left], self.candidates[link.right]
                self.candidates[link.left] = left & has(link.relation, right, self.columns, None)
                left = self.candidates[link.left]
                self.candidates[link.right] = right & has(link.relation.inverse, left, self.columns, None)

    def blocks(self) -> Iterator[PartialMatches]:
        """The candidates of the rarest word, a number of sentences at a time."""
        name = min(self.counts, key=lambda n: self.counts[n])
        words = np.flatnonzero(self.candidates[name])
        sentences = self.columns.sentence[words]
        start = 0
        while start < len(words):
            last = sentences[min(start + _BLOCK, len(words)) - 1]
            stop = int(np.searchsorted(sentences, last, side="right"))
            yield PartialMatches(sentences[start:stop], {name: words[start:stop]})
            start = stop

    def extend(self, rows: PartialMatches) -> PartialMatches:
        """Each row with all words of the pattern that can be added to it, once for each choice."""
        used: set[Link] = set()
        rows = self._filtered(rows, set(), used)
        while missing := [name for name in self.pattern.words if name not in rows.words]:
            known = set(rows.words)
            name, link = self._next(missing, known)
            relation = (
                None if link is None else link.relation if link.right == name else link.relation.inverse
            )
            left = (
                rows.sentence if link is None else rows.words[link.left if link.right == name else link.right]
            )
            picked, words = self._finder(relation, name).pairs(left, rows.sentence)
            rows = rows.and_word(name, picked, words)
            if link is not None:
                self._check_label(link, name, used)
            if self.distinct:
                fresh = np.ones(len(words), bool)
                for other in known:
                    fresh &= rows.words[other] != rows.words[name]
                rows = rows.at(fresh)
            rows = self._filtered(rows, known, used)
        return rows

    def _check_label(self, link: Link, name: str, used: set[Link]) -> None:
        """A link that led to a word need not be looked at again, unless its label is of a word that was there before."""
        lower = link.right if link.relation.kind is RelationKind.BELOW else link.left
        if self.labels[link] is None or lower in self.candidates:
            used.add(link)

    def _next(self, missing: Sequence[str], known: set[str]) -> tuple[str, Link | None]:
        """The word to find next, and the link that leads there: the fewest choices first."""
        best: tuple[float, str, Link | None] | None = None
        for link in self.pattern.links:
            for here, there, relation in (
                (link.left, link.right, link.relation),
                (link.right, link.left, link.relation.inverse),
            ):
                if not link.negated and here in known and there in missing:
                    cost = 0 if relation.is_unique else 1 if relation.high == 1 else 2
                    value = cost * 1e12 + self.counts[there]
                    if best is None or value < best[0]:
                        best = value, there, link
        if best is None:
            return min(missing, key=lambda n: self.counts[n]), None
        return best[1], best[2]

    def _finder(self, relation: Relation | None, name: str) -> RelationIndex:
        if (relation, name) not in self._finders:
            self._finders[relation, name] = RelationIndex(relation, self.candidates[name], self.columns)
        return self._finders[relation, name]

    def _filtered(self, rows: PartialMatches, known: set[str], used: set[Link]) -> PartialMatches:
        """The rows for which all links and comparisons between their words hold."""
        for link in self.pattern.links:
            if link in used or link.left not in rows.words or link.right not in rows.words:
                continue
            used.add(link)
            left, right = rows.words[link.left], rows.words[link.right]
            hold = holds(link.relation, left, right, self.columns, self.labels[link])
            rows = rows.at(hold != link.negated)
        for c in self.comparisons:
            if c.left in rows.words and c.right in rows.words and not {c.left, c.right} <= known:
                rows = rows.at(_compared(c, rows, self.columns))
        return rows


def _compared(comparison: PropertyComparison, rows: PartialMatches, columns: Columns) -> Flags:
    left = columns.of_words(comparison.left_property)
    right = columns.of_words(comparison.right_property)
    a, b = rows.words[comparison.left], rows.words[comparison.right]
    if comparison.sign in ("=", "!="):
        equal = _equal(left, a, right, b)
        return equal if comparison.sign == "=" else ~equal
    with np.errstate(invalid="ignore"):
        found: Flags = COMPARE[comparison.sign](_numbers(left)[a], _numbers(right)[b])
    return found


def _numbers(values: Values) -> Floats:
    return values.numbers() if isinstance(values, Texts) else values


def _equal(left: Values, a: Places, right: Values, b: Places) -> Flags:
    """Whether the texts, or else the numbers, are the same; two that are not there are."""
    equal: Flags
    if isinstance(left, Texts) and isinstance(right, Texts):
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
