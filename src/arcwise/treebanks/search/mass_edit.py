"""``MassEdit``: the same change wherever a query finds something, looked at before it is made."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np

from arcwise.treebanks.edits import SetField, edited
from arcwise.treebanks.search.assignments import Assignment, parse_assignments, with_key
from arcwise.treebanks.search.query import Hit, Query
from arcwise.treebanks.search.syntax import MISSING, Property
from arcwise.treebanks.search.values import Columns, text_at
from arcwise.treebanks.treebank import Treebank
from arcwise.trees import UNKNOWN, find_cycle


@dataclass(frozen=True)
class RefusedHit:
    """A hit at which nothing is changed, and why."""

    hit: Hit
    reason: str


@dataclass(frozen=True)
class Plan:
    """What a mass edit does to one sentence."""

    sentence: int
    edits: list[SetField]
    refused: tuple[RefusedHit, ...] = ()


@dataclass(frozen=True)
class MassEdit:
    """A query and what is set at each of its hits.

    All values are those before the edit. Hits are taken in order. A hit is left out whole if it would set a field otherwise than an
    earlier hit of the sentence did, or if a cycle would come of it; ``plan`` says which.

    >>> treebank = Treebank.from_string("1\\tBirds\\tbird\\tNOUN\\t_\\t_\\t2\\tnsubj\\t_\\t_\\n2\\tsing\\tsing\\tVERB\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n")
    >>> list(MassEdit.parse("upos=VERB > nsubj", "2.feats.Case=Nom; 2.deprel=subj").preview(treebank))
    [(0, [SetField(row='1', column='feats', value='Case=Nom'), SetField(row='1', column='deprel', value='subj')])]
    >>> list(MassEdit.parse("upos=VERB > nsubj", "head=@2").plan(treebank))[0].refused[0].reason
    'words 1 -> 2 -> 1 would form a cycle'
    """

    query: Query
    changes: tuple[Assignment, ...]

    @classmethod
    def parse(cls, query: str, changes: str) -> MassEdit:
        """From the texts of both; ``QueryError``, with the place, if one is not understood."""
        read = Query.parse(query)
        return cls(read, parse_assignments(changes, read.names))

    def plan(self, treebank: Treebank | Columns) -> Iterator[Plan]:
        """What is done to each sentence with a hit, and what is not."""
        columns = treebank if isinstance(treebank, Columns) else Columns(treebank)
        for number, hits in groupby(self.query.hits(columns), key=lambda hit: hit.sentence):
            draft = _Draft(columns, number)
            refused = []
            for hit in hits:
                reason = draft.take(hit, self.changes)
                if reason:
                    refused.append(RefusedHit(hit, reason))
            yield Plan(number, draft.edits(), tuple(refused))

    def preview(self, treebank: Treebank | Columns) -> Iterator[tuple[int, list[SetField]]]:
        """(sentence, edits) for each sentence that would change."""
        for plan in self.plan(treebank):
            if plan.edits:
                yield plan.sentence, plan.edits

    def apply(self, treebank: Treebank) -> Treebank:
        """The treebank after the edits; all other bytes are as they were."""
        return with_edits(treebank, dict(self.preview(treebank)))


def with_edits(treebank: Treebank, edits: Mapping[int, Sequence[SetField]]) -> Treebank:
    """The treebank after edits of some of its sentences; all other bytes are as they were."""
    blocks = [
        edited(sentence.source_bytes, edits[sentence.number])
        if sentence.number in edits
        else sentence.source_bytes
        for sentence in treebank
    ]
    return Treebank(
        b"".join(blocks),
        source=treebank.source,
        strict=not treebank.layout.problems,
        first_line=treebank.first_line,
    )


Claim = dict[str | None, str]
"""What is set of a field: key → value; the key None is the whole field."""


@dataclass
class _Draft:
    """One sentence while hits are taken."""

    columns: Columns
    number: int
    fields: dict[tuple[int, str], str] = field(default_factory=dict)
    """Fields that hits have set, by word and column."""
    claims: dict[tuple[int, str], Claim] = field(default_factory=dict)

    @property
    def first(self) -> int:
        return int(self.columns.starts[self.number])

    @property
    def length(self) -> int:
        return int(self.columns.starts[self.number + 1]) - self.first

    def take(self, hit: Hit, changes: tuple[Assignment, ...]) -> str | None:
        """Set the fields of a hit; or the reason why not."""
        claims: dict[tuple[int, str], Claim] = {}
        for change in changes:
            value = self._value(change, hit)
            claims.setdefault((hit.words[change.word], change.column), {})[change.key] = value
        for place, claim in claims.items():
            reason = self._clash(place, claim)
            if reason:
                return reason
        fields = {place: self._changed(place, claim) for place, claim in claims.items()}
        reason = self._wrong_heads({word: v for (word, column), v in fields.items() if column == "head"})
        if reason:
            return reason
        self.fields.update(fields)
        for place, claim in claims.items():
            self.claims[place] = {**self.claims.get(place, {}), **claim}
        return None

    def _value(self, change: Assignment, hit: Hit) -> str:
        if change.other is None:
            return change.value
        if change.source is None:
            return str(hit.words[change.other])
        values = self.columns.of_words(change.source)
        place = self.first + hit.words[change.other] - 1
        return text_at(values, place) or MISSING

    def _clash(self, place: tuple[int, str], claim: Claim) -> str | None:
        word, column = place
        before = self.claims.get(place)
        if before is None or before == claim:
            return None
        for key, value in claim.items():
            name = column if key is None else f"{column}.{key}"
            if (None in before) != (None in claim):
                return f"{column} of word {word} is set otherwise by an earlier hit"
            if before.get(key, value) != value:
                return f"{name} of word {word} is {before[key]} by an earlier hit, and {value} by this one"
        return None

    def _changed(self, place: tuple[int, str], claim: Claim) -> str:
        text = self._now(place)
        for key, value in claim.items():
            text = value if key is None else with_key(text, place[1], key, value)
        return text

    def _now(self, place: tuple[int, str]) -> str:
        return self.fields.get(place) or self._original(place)

    def _original(self, place: tuple[int, str]) -> str:
        word, column = place
        return text_at(self.columns.of_words(Property(column)), self.first + word - 1)

    def _wrong_heads(self, new: dict[int, str]) -> str | None:
        """What is wrong with the tree that would come of it."""
        if not new:
            return None
        heads = np.concatenate([[UNKNOWN], self.columns.heads[self.first : self.first + self.length]])
        known = {word: text for (word, column), text in self.fields.items() if column == "head"}
        for word, text in {**known, **new}.items():
            heads[word] = UNKNOWN if text == MISSING else int(text)
            if heads[word] > self.length:
                return f"HEAD {text} is no word of the sentence, which has {self.length}"
            if heads[word] == word:
                return f"word {word} would be its own head"
        cycle = find_cycle(heads.astype(np.int32))
        if not cycle:
            return None
        return f"words {' -> '.join(str(word) for word in [*cycle, cycle[0]])} would form a cycle"

    def edits(self) -> list[SetField]:
        """The fields that differ from the file."""
        return [
            SetField(str(word), column, text)
            for (word, column), text in self.fields.items()
            if text != self._original((word, column))
        ]
