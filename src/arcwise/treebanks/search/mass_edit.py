"""``MassEdit``: apply the same changes to all matches of a query, with a preview."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from arcwise.treebanks.edits import SetField, edited
from arcwise.treebanks.search.assignments import FieldAssignment, parse_assignments, with_key
from arcwise.treebanks.search.query import Hit, Query
from arcwise.treebanks.search.syntax import MISSING, Property
from arcwise.treebanks.search.values import Columns, text_at
from arcwise.treebanks.treebank import Treebank
from arcwise.trees import UNKNOWN, find_cycle


@dataclass(frozen=True)
class RefusedHit:
    """A hit that is not edited, and the reason."""

    hit: Hit
    reason: str


@dataclass(frozen=True)
class Plan:
    """The edits of one sentence, and the hits that are refused."""

    sentence: int
    edits: list[SetField]
    refused: tuple[RefusedHit, ...] = ()


@dataclass(frozen=True)
class MassEdit:
    """A query and the assignments to make at each of its hits.

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
    assignments: tuple[FieldAssignment, ...]

    @classmethod
    def parse(cls, query: str, changes: str) -> MassEdit:
        """Parse a query and its changes; raises ``QueryError`` with the position of a syntax error."""
        parsed = Query.parse(query)
        return cls(parsed, parse_assignments(changes, parsed.names))

    def plan(self, treebank: Treebank | Columns) -> Iterator[Plan]:
        """Yield the plan of each sentence with a hit."""
        columns = treebank if isinstance(treebank, Columns) else Columns(treebank)
        for number, hits in groupby(self.query.hits(columns), key=lambda hit: hit.sentence):
            draft = _Draft(columns, number)
            refused = []
            for hit in hits:
                reason = draft.apply(hit, self.assignments)
                if reason:
                    refused.append(RefusedHit(hit, reason))
            yield Plan(number, draft.edits(), tuple(refused))

    def preview(self, treebank: Treebank | Columns) -> Iterator[tuple[int, list[SetField]]]:
        """Yield (sentence, edits) for each sentence that would change."""
        for plan in self.plan(treebank):
            if plan.edits:
                yield plan.sentence, plan.edits

    def apply(self, treebank: Treebank) -> Treebank:
        """Apply the edits; all other bytes stay unchanged."""
        return with_edits(treebank, dict(self.preview(treebank)))


def with_edits(treebank: Treebank, edits: Mapping[int, Sequence[SetField]]) -> Treebank:
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
        # Problems that the file had before are no reason to refuse the result.
        strict=not treebank.layout.problems,
        first_line=treebank.first_line,
    )


FieldValues = dict[str | None, str]
"""Values to set in a field, by key; the key None is the whole field."""


@dataclass
class _Draft:
    """The new fields of one sentence while its hits are processed."""

    columns: Columns
    number: int
    fields: dict[tuple[int, str], str] = field(default_factory=dict)
    """Fields set so far, by word and column."""
    requested: dict[tuple[int, str], FieldValues] = field(default_factory=dict)

    @property
    def first(self) -> int:
        return int(self.columns.starts[self.number])

    @property
    def length(self) -> int:
        return int(self.columns.starts[self.number + 1]) - self.first

    def apply(self, hit: Hit, assignments: tuple[FieldAssignment, ...]) -> str | None:
        """Set the fields of a hit, or return the reason why it is refused."""
        requested: dict[tuple[int, str], FieldValues] = {}
        for assignment in assignments:
            value = self._value(assignment, hit)
            place = hit.words[assignment.word], assignment.column
            requested.setdefault(place, {})[assignment.key] = value
        for place, values in requested.items():
            reason = self._conflict(place, values)
            if reason:
                return reason
        fields = {place: self._changed(place, values) for place, values in requested.items()}
        reason = self._head_problem({word: v for (word, column), v in fields.items() if column == "head"})
        if reason:
            return reason
        self.fields.update(fields)
        for place, values in requested.items():
            self.requested[place] = {**self.requested.get(place, {}), **values}
        return None

    def _value(self, assignment: FieldAssignment, hit: Hit) -> str:
        if assignment.source_word is None:
            return assignment.value
        word = hit.words[assignment.source_word]
        if assignment.source is None:
            return str(word)
        return text_at(self.columns.of_words(assignment.source), self.first + word - 1) or MISSING

    def _conflict(self, place: tuple[int, str], values: FieldValues) -> str | None:
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

    def _changed(self, place: tuple[int, str], values: FieldValues) -> str:
        text = self._current(place)
        for key, value in values.items():
            text = value if key is None else with_key(text, place[1], key, value)
        return text

    def _current(self, place: tuple[int, str]) -> str:
        return self.fields.get(place) or self._original(place)

    def _original(self, place: tuple[int, str]) -> str:
        word, column = place
        return text_at(self.columns.of_words(Property(column)), self.first + word - 1)

    def _head_problem(self, new: dict[int, str]) -> str | None:
        """Why the new heads would not form a tree; None if they do."""
        if not new:
            return None
        heads = np.concatenate([[UNKNOWN], self.columns.heads[self.first : self.first + self.length]])
        earlier = {word: text for (word, column), text in self.fields.items() if column == "head"}
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
            SetField(str(word), column, text)
            for (word, column), text in self.fields.items()
            if text != self._original((word, column))
        ]
