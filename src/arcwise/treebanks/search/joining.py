"""Join the words of a query along its relations, in bounded memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from arcwise.errors import InputError
from arcwise.treebanks.search.matching import (
    COMPARISONS,
    RelationIndex,
    has_related,
    holds,
    nodes_of,
    sentences_where,
    with_label,
    words_where,
)
from arcwise.treebanks.search.syntax import (
    MISSING,
    Link,
    ParsedQuery,
    Pattern,
    PropertyComparison,
    Relation,
    RelationKind,
)
from arcwise.treebanks.search.values import Columns, Flags, Floats, Positions, Texts, Values

_BLOCK = 1 << 14  # words joined at a time, so that the first hits come early
_MAX_ROWS = 1 << 19  # partial matches in memory at a time: some 60 MB
_MAX_JOINED = 10**8  # partial matches of one block, a few sentences: seconds of work


@dataclass(frozen=True)
class PartialMatches:
    """Matches of some words of a pattern: the sentence of each match, and its words by name."""

    sentence: Positions
    words: Mapping[str, Positions]

    @classmethod
    def joined(cls, parts: Sequence[PartialMatches]) -> PartialMatches:
        """All matches of several parts with the same words."""
        if len(parts) == 1:
            return parts[0]
        names = parts[0].words
        words = {name: np.concatenate([part.words[name] for part in parts]) for name in names}
        return cls(np.concatenate([part.sentence for part in parts]), words)

    def at(self, rows: Positions | Flags | slice) -> PartialMatches:
        """Select matches."""
        return PartialMatches(self.sentence[rows], {name: words[rows] for name, words in self.words.items()})

    def with_word(self, name: str, rows: Positions, words: Positions) -> PartialMatches:
        """Select matches, possibly repeatedly, and add a word to each."""
        selected = self.at(rows)
        return PartialMatches(selected.sentence, {**selected.words, name: words})


def find(parsed: ParsedQuery, columns: Columns) -> Iterator[PartialMatches]:
    """Yield all matches in blocks, ordered by sentence and then by the words in the order of the query.

    A sentence with very many matches is spread over several blocks.
    """
    sentences = sentences_where(parsed.sentence, columns)
    excluded = [_Join(pattern, columns, distinct=False) for pattern in parsed.excluded]
    if not parsed.pattern.words:
        yield _without(PartialMatches(np.flatnonzero(sentences), {}), excluded)
        return
    join = _Join(parsed.pattern, columns, distinct=True, sentences=sentences, comparisons=parsed.comparisons)
    for block in join.blocks():
        matches = join.extend_at_once(block)
        if matches is None:
            for some in join.extend(join.first_words(block), in_order=True):
                yield _without(some, excluded)
        else:
            yield _ordered(_without(matches, excluded), list(parsed.pattern.words))


def _ordered(matches: PartialMatches, names: Sequence[str]) -> PartialMatches:
    # lexsort sorts by its last key first.
    order = np.lexsort([matches.words[name] for name in reversed(names)] + [matches.sentence])
    return matches.at(order)


def _without(matches: PartialMatches, excluded: Sequence[_Join]) -> PartialMatches:
    """Remove the matches that can be extended by one of the excluded patterns."""
    for join in excluded:
        matches = matches.at(~join.can_extend(matches))
    return matches


def extension_test(pattern: Pattern, columns: Columns) -> Callable[[PartialMatches], Flags]:
    """A function that selects the matches that can be extended by the words of a pattern."""
    return _Join(pattern, columns, distinct=False).can_extend


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
        self.labels = {link: with_label(link.relation, columns) for link in pattern.links}
        self.candidates = {name: self._nodes_where(name) for name in pattern.words}
        if sentences is not None and not sentences.all():
            for flags in self.candidates.values():
                flags &= sentences[columns.sentence]
        self._prune_candidates()
        self.counts = {name: int(flags.sum()) for name, flags in self.candidates.items()}
        self._indexes: dict[tuple[Relation | None, str], RelationIndex] = {}
        self._compared: dict[PropertyComparison, tuple[Floats, Floats]] = {}

    def _nodes_where(self, name: str) -> Flags:
        condition = self.pattern.words[name]
        flags = words_where(condition, self.columns)
        # A condition on an outer word, in ``without``: that word can be an empty node even if it is not
        # marked so here.
        same = any(
            link.right == name and link.relation.kind is RelationKind.SAME and not link.negated
            for link in self.pattern.links
        )
        return flags if same else nodes_of(condition, flags, self.columns)

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
            # Blocks end with a sentence, which keeps hits in order.
            last = sentences[min(start + _BLOCK, len(words)) - 1]
            stop = int(np.searchsorted(sentences, last, side="right"))
            yield PartialMatches(sentences[start:stop], {name: words[start:stop]})
            start = stop

    def first_words(self, block: PartialMatches) -> PartialMatches:
        """The candidates of the first word of the query in the sentences of a block."""
        name = next(iter(self.pattern.words))
        words = np.flatnonzero(self.candidates[name])
        sentences = self.columns.sentence[words]
        inside = (sentences >= block.sentence[0]) & (sentences <= block.sentence[-1])
        return PartialMatches(sentences[inside], {name: words[inside]})

    def extend_at_once(self, block: PartialMatches) -> PartialMatches | None:
        """All matches of a block in any order; None if they are too many for the memory."""
        parts: list[PartialMatches] = []
        rows = 0
        for part in self.extend(block):
            parts.append(part)
            rows += len(part.sentence)
            if rows > _MAX_ROWS:
                return None
        return PartialMatches.joined(parts)

    def can_extend(self, matches: PartialMatches) -> Flags:
        """Mask of outer matches that the words of this pattern can extend."""
        outer = self.pattern.outer
        # Many matches share the words that the pattern refers to: test each combination once.
        keys = np.stack([matches.sentence, *(matches.words[name] for name in outer)])
        distinct, inverse = np.unique(keys, axis=1, return_inverse=True)
        numbers = np.arange(distinct.shape[1])
        # The name "" carries the number of each combination through the join.
        start = PartialMatches(distinct[0], {**dict(zip(outer, distinct[1:], strict=True)), "": numbers})
        extended = np.zeros(len(numbers), bool)
        for part in self.extend(start):
            extended[part.words[""]] = True
        flags: Flags = extended[inverse.reshape(-1)]
        return flags

    def extend(self, rows: PartialMatches, *, in_order: bool = False) -> Iterator[PartialMatches]:
        """Add the other words of the pattern to each row, in all possible ways; yield the matches in parts.

        in_order: bind the words in the order of the query, so that sorted rows give sorted matches.
        """
        used: set[Link] = set()
        agenda = [(self._filtered(rows, set(), used), frozenset(used))]
        joined = 0
        at_once = max(_MAX_ROWS // max(self.columns.longest, 1), 1)
        while agenda:
            rows, done = agenda.pop()
            if not any(name not in rows.words for name in self.pattern.words):
                yield rows
            elif len(rows.sentence) > at_once:  # depth first: only a part is extended at a time
                starts = range(0, len(rows.sentence), at_once)
                agenda += [(rows.at(slice(start, start + at_once)), done) for start in reversed(starts)]
            else:
                rows, done = self._with_next_word(rows, set(done), in_order=in_order)
                joined += len(rows.sentence)
                if joined > _MAX_JOINED:
                    raise InputError(
                        f"query: more than {_MAX_JOINED:,} combinations of words in one place; "
                        "relate the words of the query to each other"
                    )
                agenda.append((rows, done))

    def _with_next_word(
        self, rows: PartialMatches, used: set[Link], *, in_order: bool
    ) -> tuple[PartialMatches, frozenset[Link]]:
        """Add one word to each row, in all possible ways."""
        bound = set(rows.words)
        missing = [name for name in self.pattern.words if name not in bound]
        name, link = self._next(missing[:1] if in_order else missing, bound)
        relation = None if link is None else link.relation if link.right == name else link.relation.inverse
        left = rows.sentence if link is None else rows.words[link.left if link.right == name else link.right]
        picked, words = self._index(relation, name).pairs(left, rows.sentence)
        if in_order:
            order = np.lexsort((words, picked))
            picked, words = picked[order], words[order]
        rows = rows.with_word(name, picked, words)
        if link is not None:
            self._check_label(link, name, used)
        if self.distinct:
            distinct = np.ones(len(words), bool)
            for bound_name in bound:
                distinct &= rows.words[bound_name] != rows.words[name]
            rows = rows.at(distinct)
        rows = self._filtered(rows, bound, used)
        return rows, frozenset(used)

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

    def _values(self, comparison: PropertyComparison) -> tuple[Floats, Floats]:
        if comparison not in self._compared:
            self._compared[comparison] = _comparable(comparison, self.columns)
        return self._compared[comparison]

    def _filtered(self, rows: PartialMatches, bound: set[str], used: set[Link]) -> PartialMatches:
        """Keep the rows for which all links and comparisons between bound words hold."""
        for link in self.pattern.links:
            if link in used or link.left not in rows.words or link.right not in rows.words:
                continue
            used.add(link)
            ends = rows.words[link.left], rows.words[link.right]
            hold = holds(link.relation, *ends, self.columns, self.labels[link])
            rows = rows.at(hold != link.negated)
        for c in self.comparisons:
            if c.left in rows.words and c.right in rows.words and not {c.left, c.right} <= bound:
                left, right = self._values(c)
                rows = rows.at(_compared(c.operator, left[rows.words[c.left]], right[rows.words[c.right]]))
        return rows


def _comparable(comparison: PropertyComparison, columns: Columns) -> tuple[Floats, Floats]:
    """The two properties of every word as numbers that are equal where the values are; NaN if missing."""
    left = columns.of_words(comparison.left_property)
    right = columns.of_words(comparison.right_property)
    if comparison.operator in COMPARISONS or not (isinstance(left, Texts) and isinstance(right, Texts)):
        return _numbers(left), _numbers(right)
    # The two columns have different codes: recode each distinct string once, not each row.
    numbers: dict[str, float] = {MISSING: np.nan}
    tables = [
        np.array([numbers.setdefault(text, len(numbers)) for text in texts.strings], float)
        for texts in (left, right)
    ]
    return tables[0][left.codes], tables[1][right.codes]


def _numbers(values: Values) -> Floats:
    return values.numbers() if isinstance(values, Texts) else values


def _compared(operator: str, left: Floats, right: Floats) -> Flags:
    """Compare pairs of values; two missing values are equal for = and !=, and incomparable for the rest."""
    flags: Flags
    with np.errstate(invalid="ignore"):
        if operator in COMPARISONS:
            flags = COMPARISONS[operator](left, right)
            return flags
        equal = left == right
        missing_left, missing_right = np.isnan(left), np.isnan(right)
    if operator in ("==", "!=="):
        flags = (equal == (operator == "==")) & ~missing_left & ~missing_right
        return flags
    flags = equal | (missing_left & missing_right)
    return flags if operator == "=" else ~flags
