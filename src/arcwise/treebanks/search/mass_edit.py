"""``MassEdit``: apply the same changes to all matches of a query, with a preview."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from arcwise.errors import InputError
from arcwise.treebanks.edits import Edit, SetField, edited
from arcwise.treebanks.search.nodes import with_empty_nodes
from arcwise.treebanks.search.query import Hit, Query
from arcwise.treebanks.search.syntax import (
    KEYED,
    MISSING,
    STEPS,
    WORD_NUMBERS,
    Property,
    Scanner,
    check_matched,
)
from arcwise.treebanks.search.values import Columns, text_at
from arcwise.treebanks.search.word_changes import WordChange, read_word_change
from arcwise.treebanks.treebank import Treebank
from arcwise.trees import UNKNOWN, find_cycle

SETTABLE = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_NUMBER = re.compile(r"0|[1-9]\d{0,8}")
_WORD_PREFIX = re.compile(r"@?(\w+)(?=\.)")


@dataclass(frozen=True)
class FieldAssignment:
    """Sets a field of a matched word to a value or a property of another; ``_`` removes a key."""

    word: str
    column: str
    key: str | None
    value: str = MISSING
    source_word: str | None = None
    """The word to copy from. HEAD without ``source`` becomes that word itself."""
    source: Property | None = None

    @property
    def field(self) -> str:
        """``feats.Case``."""
        return self.column if self.key is None else f"{self.column}.{self.key}"


def parse_assignments(text: str, names: Sequence[str]) -> tuple[FieldAssignment, ...]:
    """Parse assignments for a query whose matched words have these names.

    >>> [(a.word, a.field, a.value) for a in parse_assignments("2.deprel=obl; feats.Case=_", ["1", "2"])]
    [('2', 'deprel', 'obl'), ('1', 'feats.Case', '_')]
    """
    scan = Scanner(text, "changes")
    assignments: list[FieldAssignment] = []
    while True:
        start = scan.at
        assignment = _assignment(scan, names)
        if any((a.word, a.field) == (assignment.word, assignment.field) for a in assignments):
            raise scan.error("a field can be set once", unexpected=f"second {assignment.field}", at=start)
        assignments.append(assignment)
        if not scan.take(";") and not scan.is_done:
            raise scan.error("expected ; and another change (quote values with special characters or spaces)")
        if scan.is_done:
            return tuple(assignments)


def _assignment(scan: Scanner, names: Sequence[str]) -> FieldAssignment:
    """change = [ name "." ] column [ "." key ] "=" ( value | "@" name [ "." property ] )"""
    word = _word(scan, names)
    start = scan.at
    if not re.compile(r"[A-Za-z]").match(scan.text, start):
        raise scan.error("expected a change such as deprel=obl or 2.feats.Case=Nom")
    prop = scan.property()
    if prop.name not in SETTABLE or prop.steps:
        hint = f"expected a column that can be set: {', '.join(SETTABLE)}"
        raise scan.error(hint, unexpected=f"'{prop}'", at=start)
    scan.skip()
    if scan.sees("=="):
        raise scan.error("use a single =")
    scan.expect("=", f" after {prop}")
    if scan.sees("@"):
        return _copy(scan, word, prop, names)
    at = scan.at
    value = scan.value()
    if prop.name == "head" and value != MISSING and not _NUMBER.fullmatch(value):
        raise scan.error("expected a number, _ or a matched word such as @1", unexpected=repr(value), at=at)
    if not value or re.search(r"[\t\r\n]", value) or (prop.key is not None and "|" in value):
        hint = "expected a value without tabs and line breaks (for a key also without |); _ removes it"
        raise scan.error(hint, unexpected=repr(value), at=at)
    scan.skip()
    return FieldAssignment(word, prop.name, prop.key, value)


def _word(scan: Scanner, names: Sequence[str]) -> str:
    """Read the word before the column; the default is the first word."""
    if not names:
        raise scan.error("the query matches only sentences; changes need matched words", unexpected="change")
    match = _WORD_PREFIX.match(scan.text, scan.at)
    if not match or (not scan.sees("@") and match[1] in (*KEYED, *STEPS)):
        return names[0]
    check_matched(scan, match[1], names)
    scan.at = match.end() + 1
    return match[1]


def _copy(scan: Scanner, word: str, prop: Property, names: Sequence[str]) -> FieldAssignment:
    at = scan.at
    name = scan.name()
    if name is None:
        raise scan.error("expected a name after @")
    if name not in names:
        scan.at = at
        check_matched(scan, name, names)
    source = None
    if scan.sees("."):
        scan.at += 1
        at = scan.at
        source = scan.property()
    scan.skip()
    is_word_number = source is not None and not source.steps and source.name in ("id", "head")
    if prop.name == "head" and source is not None and not is_word_number:
        raise scan.error("expected a matched word, its .id or its .head", unexpected=f"'{source}'", at=at)
    if prop.name != "head" and (source is None or source.name in WORD_NUMBERS):
        hint = f"expected a text property of the word, such as @{name}.lemma"
        raise scan.error(hint, unexpected=f"@{name}", at=at)
    return FieldAssignment(word, prop.name, prop.key, MISSING, name, source)


def with_key(field: str, column: str, key: str, value: str) -> str:
    """Set one key of FEATS or MISC, or remove it by ``_``; new features go in alphabetical order.

    >>> with_key("Case=Acc|Number=Sing", "feats", "Gender", "Fem")
    'Case=Acc|Gender=Fem|Number=Sing'
    >>> with_key("SpaceAfter=No", "misc", "SpaceAfter", "_")
    '_'
    """
    pairs = [] if field == MISSING else field.split("|")
    keys = [pair.partition("=")[0] for pair in pairs]
    if key in keys:
        index = keys.index(key)
        pairs[index : index + 1] = [] if value == MISSING else [f"{key}={value}"]
    elif value != MISSING:
        later = [i for i, k in enumerate(keys) if column == "feats" and k.lower() > key.lower()]
        pairs.insert(later[0] if later else len(pairs), f"{key}={value}")
    return "|".join(pairs) or MISSING


@dataclass(frozen=True)
class RefusedHit:
    """A hit that is not edited, and the reason."""

    hit: Hit
    reason: str


@dataclass(frozen=True)
class Plan:
    """The edits of one sentence, the hits that are refused, and those that are edited."""

    sentence: int
    edits: Sequence[Edit]
    refused: tuple[RefusedHit, ...] = ()
    hits: tuple[Hit, ...] = ()


_MOST_HITS = 100_000
"""Hits of one sentence: a plan keeps them, and a query without relations has millions in a long sentence."""


def _by_sentence(hits: Iterable[Hit]) -> Iterator[tuple[int, Iterator[Hit]]]:
    """The hits of each sentence; raises ``InputError`` while they are read, if there are too many."""
    for number, own in groupby(hits, key=lambda hit: hit.sentence):
        yield number, _bounded(number, own)


def _bounded(number: int, hits: Iterable[Hit]) -> Iterator[Hit]:
    for count, hit in enumerate(hits):
        if count == _MOST_HITS:
            raise InputError(
                f"query: more than {_MOST_HITS:,} hits in sentence {number + 1}; make it more specific"
            )
        yield hit


@dataclass(frozen=True)
class MassEdit:
    """A query and the assignments to make at each of its hits, or the change of its words.

    Values are read before any edit. Hits are processed in order. A hit is refused as a whole if it
    conflicts with an earlier hit of the sentence or would create a cycle; ``plan`` has the reasons.

    >>> rows = ["1 Birds _ NOUN _ _ 2 nsubj _ _", "2 sing _ VERB _ _ 0 root _ _"]
    >>> treebank = Treebank.from_string("\\n".join(rows).replace(" ", "\\t") + "\\n\\n")
    >>> list(MassEdit.parse("upos=VERB > nsubj", "2.feats.Case=Nom").preview(treebank))
    [(0, [SetField(row='1', column='feats', value='Case=Nom')])]
    >>> list(MassEdit.parse("upos=VERB > nsubj", "head=@2").plan(treebank))[0].refused[0].reason
    'words 1 -> 2 -> 1 would form a cycle'
    """

    query: Query
    assignments: tuple[FieldAssignment, ...] = ()
    word_change: WordChange | None = None

    @classmethod
    def parse(cls, query: str, changes: str) -> MassEdit:
        """Parse a query and its changes; raises ``QueryError`` with the position of a syntax error."""
        parsed = Query.parse(query)
        word_change = read_word_change(Scanner(changes, "changes"), parsed.names)
        return cls(parsed, () if word_change else parse_assignments(changes, parsed.names), word_change)

    def plan(
        self, treebank: Treebank | Columns, *, skip: Callable[[Hit], bool] = lambda hit: False
    ) -> Iterator[Plan]:
        """Yield the plan of each sentence with a hit; ``skip``: whether to leave a hit as it is."""
        columns = treebank if isinstance(treebank, Columns) else Columns(treebank)
        if self.word_change is not None:
            yield from self._plan_words(columns, self.word_change, skip)
            return
        for number, hits in _by_sentence(self.query.hits(columns)):
            draft = _Draft(columns, number)
            refused, applied = [], []
            for hit in hits:
                if skip(hit):
                    continue
                reason = draft.apply(hit, self.assignments)
                if reason:
                    refused.append(RefusedHit(hit, reason))
                else:
                    applied.append(hit)
            yield Plan(number, draft.edits(), tuple(refused), tuple(applied))

    def _plan_words(
        self, columns: Columns, change: WordChange, skip: Callable[[Hit], bool]
    ) -> Iterator[Plan]:
        for number, hits in _by_sentence(self.query.hits(columns)):
            block = columns.treebank[number].source_bytes
            taken: set[str] = set()
            edits: list[tuple[float, Edit]] = []
            refused, applied = [], []
            for hit in hits:
                if skip(hit):
                    continue
                try:
                    edit = change.edit(hit, block, taken)
                except InputError as error:
                    refused.append(RefusedHit(hit, str(error)))
                    continue
                taken |= change.rows(hit)
                applied.append(hit)
                edits.append((max(map(float, change.rows(hit))), edit))
            # From the end of the sentence, so that the IDs of words before it stay what they are.
            ordered = [edit for _, edit in sorted(edits, key=lambda e: -e[0])]
            yield Plan(number, ordered, tuple(refused), tuple(applied))

    def preview(self, treebank: Treebank | Columns) -> Iterator[tuple[int, Sequence[Edit]]]:
        """Yield (sentence, edits) for each sentence that would change."""
        for plan in self.plan(treebank):
            if plan.edits:
                yield plan.sentence, plan.edits

    def apply(self, treebank: Treebank) -> Treebank:
        """Apply the edits; all other bytes stay unchanged."""
        return with_edits(treebank, dict(self.preview(treebank)))


def with_edits(treebank: Treebank, edits: Mapping[int, Sequence[Edit]]) -> Treebank:
    """Apply edits to some sentences; all other bytes stay unchanged."""
    blocks = [
        edited(sentence.source_bytes, edits[sentence.number])
        if sentence.number in edits
        else sentence.source_bytes
        for sentence in treebank
    ]
    return Treebank(
        b"".join(blocks),
        source=treebank.source,
        # Problems that the file had before do not prevent the edit.
        strict=not treebank.layout.problems,
        first_line=treebank.first_line,
    )


FieldValues = dict[str | None, str]
"""Values to set in a field, by key; the key None is the whole field."""
Place = tuple[str, str]
"""A field: the ID of its row, and its column."""


@dataclass
class _Draft:
    """The new fields of one sentence while its hits are processed."""

    columns: Columns
    number: int
    fields: dict[Place, str] = field(default_factory=dict)
    """Fields set so far, by ID and column."""
    requested: dict[Place, FieldValues] = field(default_factory=dict)

    @property
    def nodes(self) -> Columns:
        """The columns with empty nodes, which can be part of a hit."""
        return with_empty_nodes(self.columns)

    @property
    def first(self) -> int:
        return int(self.columns.starts[self.number])

    @property
    def length(self) -> int:
        return int(self.columns.starts[self.number + 1]) - self.first

    def apply(self, hit: Hit, assignments: tuple[FieldAssignment, ...]) -> str | None:
        """Set the fields of a hit, or return the reason why it is refused."""
        requested: dict[Place, FieldValues] = {}
        for assignment in assignments:
            value = self._value(assignment, hit)
            place = hit.row(assignment.word), assignment.column
            reason = _problem_of_empty_node(place, value)
            if reason:
                return reason
            requested.setdefault(place, {})[assignment.key] = value
        for place, values in requested.items():
            reason = self._conflict(place, values)
            if reason:
                return reason
        fields = {place: self._changed(place, values) for place, values in requested.items()}
        reason = self._head_problem(_heads_of(fields))
        if reason:
            return reason
        self.fields.update(fields)
        for place, values in requested.items():
            self.requested[place] = {**self.requested.get(place, {}), **values}
        return None

    def _value(self, assignment: FieldAssignment, hit: Hit) -> str:
        if assignment.source_word is None:
            return assignment.value
        row = hit.row(assignment.source_word)
        if assignment.source is None:
            return row
        position = self.nodes.position(self.number, row)
        return text_at(self.nodes.of_words(assignment.source), position) or MISSING

    def _conflict(self, place: Place, values: FieldValues) -> str | None:
        word, column = place
        before = self.requested.get(place)
        if before is None or before == values:
            return None
        for key, value in values.items():
            name = column if key is None else f"{column}.{key}"
            # One hit sets the whole field, the other a key in it.
            if (None in before) != (None in values):
                return f"{column} of word {word} was set differently by an earlier hit"
            if before.get(key, value) != value:
                return f"an earlier hit sets {name} of word {word} to {before[key]}, this one to {value}"
        return None

    def _changed(self, place: Place, values: FieldValues) -> str:
        text = self._current(place)
        for key, value in values.items():
            text = value if key is None else with_key(text, place[1], key, value)
        return text

    def _current(self, place: Place) -> str:
        return self.fields.get(place) or self._original(place)

    def _original(self, place: Place) -> str:
        row, column = place
        return text_at(self.nodes.of_words(Property(column)), self.nodes.position(self.number, row))

    def _head_problem(self, new: dict[int, str]) -> str | None:
        """Why the new heads would not form a tree; None if they do."""
        if not new:
            return None
        heads = np.concatenate([[UNKNOWN], self.columns.heads[self.first : self.first + self.length]])
        earlier = _heads_of(self.fields)
        for word, text in {**earlier, **new}.items():
            heads[word] = UNKNOWN if text == MISSING else int(text)
            if heads[word] > self.length:
                return f"HEAD {text} is outside the sentence ({self.length} words)"
            if heads[word] == word:
                return f"word {word} would be its own head"
        cycle = find_cycle(heads.astype(np.int32))
        if not cycle:
            return None
        return f"words {' -> '.join(str(word) for word in [*cycle, cycle[0]])} would form a cycle"

    def edits(self) -> list[SetField]:
        """The edits for all fields that differ from the file."""
        return [
            SetField(word, column, text)
            for (word, column), text in self.fields.items()
            if text != self._original((word, column))
        ]


def _heads_of(fields: Mapping[Place, str]) -> dict[int, str]:
    return {int(row): text for (row, column), text in fields.items() if column == "head" and "." not in row}


def _problem_of_empty_node(place: Place, value: str) -> str | None:
    """Why a field cannot have a value because a row, or a head, is an empty node."""
    row, column = place
    if "." in row and column in ("head", "deprel") and value != MISSING:
        return f"{row} is an empty node: it has no {column.upper()}, only DEPS"
    if column == "head" and "." in value:
        return f"{value} is an empty node: it can be a head only in DEPS"
    return None
