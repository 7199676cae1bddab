"""The history in a journal: steps to undo and redo, and steps that the file lacks.

Kinds of records: ``start`` (the file when the journal began), ``do`` (a step), ``undo``, ``redo``, ``saving``
(the file about to be written, with everything before ``after``; edits continue meanwhile), ``saved`` (it was
written), ``taken`` (another program's changes were merged: a step, and the changes from the file on disk to
the current state).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from arcwise.annotation.changes import Splice, Splices, inverse
from arcwise.annotation.journal import Journal, Record
from arcwise.annotation.store import Fingerprint

FORM = 1
"""The format version, written in the first record."""


class NewerJournal(Exception):
    """A record of a newer version of arcwise."""


@dataclass(frozen=True)
class Mark:
    """A possible state of the file.

    ``parts`` turn it into the document before the records from ``after`` on.
    """

    after: int
    file: Fingerprint
    sentences: int
    parts: Splices
    top: int
    """The last step applied at that time, -1 if none."""

    @property
    def saved(self) -> bool:
        """Whether the file had every step."""
        return not self.parts


@dataclass
class History:
    """The steps of a journal, by their byte offsets: applied ones, latest last, and undone ones."""

    done: list[int] = field(default_factory=list)
    undone: list[int] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    """Possible states of the file: the last saved one, and any that was being saved since."""

    @property
    def top(self) -> int:
        """The last applied step; -1 if there is none."""
        return self.done[-1] if self.done else -1

    @classmethod
    def of(cls, journal: Journal) -> History:
        """Read the history of a journal."""
        history = cls()
        for place, record in journal.records():
            history.follow(place, record)
        return history

    def follow(self, place: int, record: Record) -> None:
        """Update with one more record."""
        match record["kind"]:
            case "do":
                self.done.append(place)
                self.undone.clear()  # a new step ends the redo history
            case "undo":
                self.undone.append(self.done.pop())
            case "redo":
                self.done.append(self.undone.pop())
            case "taken":
                if record["parts"]:
                    self.done.append(place)
                    self.undone.clear()
                self.marks = [self._mark(place, record)]  # the file on disk is now the other program's
            case "start":
                # An unknown version is refused: guessing would apply edits wrongly.
                if record.get("journal") != FORM:
                    raise NewerJournal(str(record.get("journal")))
                self.marks = [self._mark(place, record)]
            case "saving":  # the file is the old or the new one until "saved" follows
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
    """The change in a record."""
    return tuple(map(Splice.from_json, record["parts"]))


def steps_after(journal: Journal, mark: Mark) -> Iterator[Splices]:
    """All changes since the file was in a state, in order; the first one starts from the file itself."""
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
    """A record that identifies the file as it is or is about to be."""
    form = {"journal": FORM} if kind == "start" else {}
    return {"kind": kind, **form, "size": file.size, "digest": file.digest, "sentences": sentences}


def compacted(journal: Journal, history: History) -> list[Record]:
    """The records needed for undo and redo, for a file that has every step."""
    mark = history.marks[-1]
    first = file_record("start", mark.file, mark.sentences)
    steps = [
        {"kind": "do", "parts": record["parts"], "told": record["told"]}
        for record in (journal.read(place) for place in [*history.done, *reversed(history.undone)])
    ]
    last = file_record("saving", mark.file, mark.sentences)
    return [first, *steps, *[{"kind": "undo"} for _ in history.undone], last, {"kind": "saved"}]
