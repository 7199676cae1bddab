"""What a journal tells: the steps that can be undone and redone, and what the file lacks of them.

Records: ``start`` (the file as it was), ``do`` (a step), ``undo``, ``redo``, ``saving`` (the file that is about to be written, with everything
before ``after``: edits go on meanwhile), ``saved`` (it was), ``taken`` (what another program did to the file was taken in: a step, and how the file on the disk becomes the present state).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from arcwise.annotation.changes import Splice, Splices, inverse
from arcwise.annotation.journal import Journal, Record
from arcwise.annotation.store import Fingerprint

FORM = 1
"""Of the records; the first tells it."""


class NewerJournal(Exception):
    """A record that this arcwise does not know."""


@dataclass(frozen=True)
class Mark:
    """A state that the file may be in: ``parts`` make it the document as it was before the records from ``after`` on."""

    after: int
    file: Fingerprint
    sentences: int
    parts: Splices
    top: int
    """The last step that was done then, -1 if none."""

    @property
    def saved(self) -> bool:
        """Whether the file had everything."""
        return not self.parts


@dataclass
class History:
    """The steps of a journal by their places: those that are done, last one last, and those that were undone."""

    done: list[int] = field(default_factory=list)
    undone: list[int] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    """The states that the file may be in: what was saved last, and what was being saved since."""

    @property
    def top(self) -> int:
        """The last step that is done; -1 if there is none."""
        return self.done[-1] if self.done else -1

    @classmethod
    def of(cls, journal: Journal) -> History:
        """What a journal tells."""
        history = cls()
        for place, record in journal.records():
            history.follow(place, record)
        return history

    def follow(self, place: int, record: Record) -> None:
        """One more record."""
        match record["kind"]:
            case "do":
                self.done.append(place)
                self.undone.clear()
            case "undo":
                self.undone.append(self.done.pop())
            case "redo":
                self.done.append(self.undone.pop())
            case "taken":
                if record["parts"]:
                    self.done.append(place)
                    self.undone.clear()
                self.marks = [self._mark(place, record)]
            case "start":
                if record.get("journal") != FORM:
                    raise NewerJournal(str(record.get("journal")))
                self.marks = [self._mark(place, record)]
            case "saving":
                self.marks.append(self._mark(place, record))
            case "saved":
                self.marks = self.marks[-1:]
            case kind:
                raise NewerJournal(str(kind))

    def _mark(self, place: int, record: Record) -> Mark:
        file = Fingerprint(record["size"], record["digest"])
        to = tuple(map(Splice.from_json, record.get("to", ())))
        after, top = record.get("after", place + 1), record.get("top", self.top)
        return Mark(after, file, record["sentences"], to, top)


def parts_of(record: Record) -> Splices:
    """The change that a record tells."""
    return tuple(map(Splice.from_json, record["parts"]))


def steps_after(journal: Journal, mark: Mark) -> Iterator[Splices]:
    """What was done since the file was in some state, one change after the other; the first makes the file that state."""
    yield mark.parts
    history = History()
    for place, record in journal.records():
        kind, late = record["kind"], place >= mark.after
        if late and kind in ("do", "taken"):
            yield parts_of(record)
        elif late and kind == "undo":
            yield inverse(parts_of(journal.read(history.done[-1])))
        elif late and kind == "redo":
            yield parts_of(journal.read(history.undone[-1]))
        history.follow(place, record)


def file_record(kind: str, file: Fingerprint, sentences: int) -> Record:
    """A record of the file as it is, or is about to be."""
    form = {"journal": FORM} if kind == "start" else {}
    return {"kind": kind, **form, "size": file.size, "digest": file.digest, "sentences": sentences}


def compacted(journal: Journal, history: History) -> list[Record]:
    """The records without which nothing could be undone or redone, for a file that has everything."""
    mark = history.marks[-1]
    first = file_record("start", mark.file, mark.sentences)
    steps = [
        {"kind": "do", "parts": record["parts"], "told": record["told"]}
        for record in (journal.read(place) for place in [*history.done, *reversed(history.undone)])
    ]
    last = file_record("saving", mark.file, mark.sentences)
    return [first, *steps, *[{"kind": "undo"} for _ in history.undone], last, {"kind": "saved"}]
