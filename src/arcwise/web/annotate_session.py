"""One treebank while it is annotated: the document, the parser that thinks along, and what each request of the page does with them."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from arcwise.errors import ArcwiseError, InputError
from arcwise.treebanks import Sentence
from arcwise.treebanks.edits import Edit, SetField, edit_from_json
from arcwise.web.annotate_json import overview_json, sentence_json, state_of, thoughts_json
from arcwise.web.events import Events
from arcwise.web.stand_in import Assistant, Change, ChangedMeanwhile, Document, digest

MAX_COUNT = 1000
"""Sentences of one answer."""
Json = dict[str, Any]


class NotFound(ArcwiseError):
    """There is no such sentence."""


class Stale(ArcwiseError):
    """The page saw an older version of the sentence; ``present`` is what it is now."""

    def __init__(self, number: int, present: Json) -> None:
        super().__init__(f"sentence {number}: was changed meanwhile; this is how it is now")
        self.present = present


@dataclass(frozen=True)
class Model:
    """The parser, and what the page shows of it."""

    name: str
    kind: str
    assistant: Assistant
    labels: tuple[str, ...] = ()
    upos: tuple[str, ...] = ()


class Session:
    """What the page may ask. Every method may be called from any thread; the document is touched under a lock, and parsers think
    outside it."""

    def __init__(self, document: Document, *, events: Events, model: Model | None = None) -> None:
        self._document, self._model, self.events = document, model, events
        self._lock = threading.RLock()

    # ---- looking

    def document(self) -> Json:
        """The file as a whole."""
        with self._lock:
            own, model = self._document, self._model
            return {
                "name": own.path,
                "sentences": len(own),
                "version": own.version,
                "model": model
                and {
                    "name": model.name,
                    "kind": model.kind,
                    "labels": list(model.labels),
                    "upos": list(model.upos),
                },
                "inventory": self._inventory(),
                "beside": None,
                "saved": own.saved,
                "can_undo": own.can_undo,
                "can_redo": own.can_redo,
            }

    def _inventory(self) -> Json:
        from collections import Counter

        treebank = self._document.treebank()
        counted = {name: Counter(treebank.column(name)) for name in ("deprel", "upos", "xpos")}
        counted["feats"] = Counter(pair for feats in treebank.column("feats") for pair in feats.split("|"))
        return {
            name: [value for value, _ in found.most_common() if value != "_"]
            for name, found in counted.items()
        }

    def sentences(self, first: int, count: int, worklist: str | None, query: str | None) -> Json:
        """A part of the list of sentences, in the order of the file or of a worklist."""
        with self._lock:
            numbers = range(len(self._document))
            chosen = numbers[first : first + min(count, MAX_COUNT)]
            items = [overview_json(self._document.sentence(n), n) for n in chosen]
        return {"items": items, "total": len(numbers), "ready": True}

    def sentence(self, number: int, *, gains: bool = False) -> Json:
        """One sentence with everything that is known of it."""
        with self._lock:
            self._check(number)
            block, sentence = self._document.block(number), self._document.sentence(number)
        return self._whole(sentence, number, digest(block), gains=gains)

    def _whole(self, sentence: Sentence, number: int, version: str, *, gains: bool) -> Json:
        thoughts = self._model.assistant.think(sentence, gains=gains) if self._model else None
        return {
            **sentence_json(sentence, number, version),
            "thoughts": thoughts_json(thoughts),
            "findings": [],
            "doubts": [],
            "beside": None,
        }

    def _check(self, number: int) -> None:
        if not 0 <= number < len(self._document):
            raise NotFound(f"sentence: found {number}, expected 0 to {len(self._document) - 1}")

    # ---- editing

    def edit(
        self, number: int, version: str | None, edits: Sequence[Mapping[str, Any]], *, page: str = ""
    ) -> Json:
        """The sentence after some edits. ``page``: who edits, so that it need not be told of its own edits."""
        made: list[Edit] = [edit_from_json(edit) for edit in edits]
        if not made:
            raise InputError("edits: found none, expected at least one")
        with self._lock:
            self._check(number)
            made += _settled(self._document.sentence(number), made)
            try:
                change = self._document.edit(number, made, version_of_block=version)
            except ChangedMeanwhile:
                change = None
        if change is None:
            raise Stale(number, self.sentence(number))
        self._tell(change, page)
        return self.sentence(number)

    def accept(
        self,
        number: int,
        version: str | None,
        words: Sequence[str] | None,
        threshold: float | None,
        *,
        page: str = "",
    ) -> Json:
        """The sentence with proposals made decisions: of some words, or of all that are probable enough."""
        with self._lock:
            self._check(number)
            sentence, present = self._document.sentence(number), digest(self._document.block(number))
        if version not in (None, present):
            raise Stale(number, self.sentence(number))
        thoughts = self._model.assistant.think(sentence) if self._model else None
        edits = _accepting(sentence, thoughts, words, threshold)
        if not edits:
            return self.sentence(number)
        return self.edit(number, present, edits, page=page)

    def split(self, number: int, version: str | None, row: str, *, page: str = "") -> Json:
        """The first part of the sentence, which ends before a row."""
        return self._restructure(number, version, lambda: self._document.split_sentence(number, row), page)

    def join(self, number: int, version: str | None, *, page: str = "") -> Json:
        """The sentence with the next one behind it."""
        return self._restructure(number, version, lambda: self._document.join_sentences(number), page)

    def _restructure(self, number: int, version: str | None, change: Any, page: str) -> Json:
        with self._lock:
            self._check(number)
            stale = version not in (None, digest(self._document.block(number)))
            done = None if stale else change()
        if done is None:
            raise Stale(number, self.sentence(number))
        self._tell(done, page)
        return self.sentence(number)

    def undo(self, *, page: str = "") -> Json:
        """One step back: where, and the sentence there; number None if there is nothing to undo."""
        with self._lock:
            change = self._document.undo()
        return self._stepped(change, page)

    def redo(self, *, page: str = "") -> Json:
        """One step forward again."""
        with self._lock:
            change = self._document.redo()
        return self._stepped(change, page)

    def _stepped(self, change: Change | None, page: str) -> Json:
        if change is None:
            return {"number": None, "sentence": None, "told": None}
        self._tell(change, page)
        return {"number": change.first, "sentence": self.sentence(change.first), "told": change.told}

    def save(self) -> Json:
        """Write the file."""
        with self._lock:
            self._document.save()
            version = self._document.version
        self.events.publish("saved", version=version)
        return {"saved": True, "version": version}

    def _tell(self, change: Change, page: str) -> None:
        numbers = [
            change.first + at
            for at, (a, b) in enumerate(zip(change.before, change.after, strict=False))
            if a != b
        ]
        self.events.publish(
            "changed",
            version=change.version,
            numbers=numbers[:MAX_COUNT],
            first=change.first,
            sentences=len(self._document),
            renumbered=len(change.before) != len(change.after),
            told=change.told,
            page=page,
        )

    def close(self) -> None:
        """Save what is not saved."""
        with self._lock:
            if not self._document.saved:
                self._document.save()


def _settled(sentence: Sentence, edits: Sequence[Edit]) -> list[Edit]:
    """The edits that make a proposal that stands in the file a decision, where its head or label was set by hand."""
    touched = {e.row for e in edits if isinstance(e, SetField) and e.column in ("head", "deprel")}
    own = {e.row for e in edits if isinstance(e, SetField) and e.column == "misc"}
    rows = {fields[0]: fields for fields in sentence.rows}
    return [
        SetField(row, "misc", _without_proposal(rows[row][9]))
        for row in sorted(touched - own)
        if row in rows and state_of("0", rows[row][9]) == "proposed"
    ]


def _without_proposal(misc: str) -> str:
    dropped = ("HeadProb", "DeprelProb", "UposProb", "Alternatives")
    kept = [pair for pair in misc.split("|") if pair.partition("=")[0] not in dropped]
    return "|".join(kept) or "_"


def _accepting(
    sentence: Sentence, thoughts: Any, words: Sequence[str] | None, threshold: float | None
) -> list[Json]:
    edits: list[Json] = []
    for at, row in enumerate(f for f in sentence.rows if f[0].isdecimal()):
        state = state_of(row[6], row[9])
        thought = thoughts and thoughts.words[at]
        if state == "decided" or (words is not None and row[0] not in words):
            continue
        sure = thought.label_probability if thought else 1.0
        if (thought is None and state == "open") or (threshold is not None and sure < threshold):
            continue
        head, label = (str(thought.head), thought.label) if thought else (row[6], row[7])
        if thought and thought.decided_label:
            label = row[7]
        edits += [_set(row[0], "head", head), _set(row[0], "deprel", label)]
    return edits


def _set(row: str, column: str, value: str) -> Json:
    return {"kind": SetField.kind, "row": row, "column": column, "value": value}
