"""Match queries: evaluate conditions over whole columns, then join words along the relations."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from arcwise.treebanks.search.conditions import COMPARISONS, sentences_where, with_label, words_where
from arcwise.treebanks.search.relations import RelationIndex, has_related, holds
from arcwise.treebanks.search.syntax import (
    Link,
    ParsedQuery,
    Pattern,
    PropertyComparison,
    Relation,
    RelationKind,
)
from arcwise.treebanks.search.values import Columns, Flags, Floats, Positions, Texts, Values

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
        equal = _equal(left, a, right, b)
        return equal if comparison.operator == "=" else ~equal
    with np.errstate(invalid="ignore"):
        flags: Flags = COMPARISONS[comparison.operator](_numbers(left)[a], _numbers(right)[b])
    return flags


def _numbers(values: Values) -> Floats:
    return values.numbers() if isinstance(values, Texts) else values


def _equal(left: Values, a: Positions, right: Values, b: Positions) -> Flags:
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
