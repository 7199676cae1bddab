"""A stand-in for annotation.document until that is here: nothing is on disk before ``save``."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from arcwise.annotation.document import Change, ChangedMeanwhile, Part, Taken
from arcwise.annotation.document import Document as RealDocument
from arcwise.treebanks import Sentence, Treebank, open_output
from arcwise.treebanks.edits import Edit, edited


class Document(RealDocument):
    notices = ()
    read_only = None

    def __init__(self, path: Path, blocks: list[bytes]) -> None:
        self.path, self.blocks = path, blocks
        self.version = self._saved = 0
        self._done: list[Change] = []
        self._undone: list[Change] = []

    @classmethod
    def open(cls, path: Any, *, new: bool = False) -> Document:
        return cls(Path(path), [] if new else [s.whole_bytes for s in Treebank.read(path)])

    def __len__(self) -> int:
        return len(self.blocks)

    def block(self, number: int) -> bytes:
        return self.blocks[number]

    def block_version(self, number: int) -> str:
        return hashlib.blake2b(self.blocks[number], digest_size=8).hexdigest()

    def sentence(self, number: int) -> Sentence:
        return Treebank(self.blocks[number], strict=False)[0]

    def treebank(self) -> Treebank:
        return Treebank(b"".join(self.blocks), source=str(self.path), strict=False)

    def _change(self, parts: Sequence[Part], told: str) -> Change | None:
        parts = [p for p in parts if p.before != p.after]
        if not parts:
            return None
        self.version += 1
        change = Change(self.version, tuple(parts), told)
        self._apply(change)
        self._done.append(change)
        self._undone.clear()
        return change

    def _apply(self, change: Change) -> None:
        for part in change.parts:
            self.blocks[part.first : part.first + len(part.before)] = part.after

    def edit(
        self, number: int, edits: Sequence[Edit], *, version_of_block: str | None = None, told: str = ""
    ) -> Change | None:
        if version_of_block not in (None, self.block_version(number)):
            raise ChangedMeanwhile("was changed meanwhile", self.blocks[number])
        return self.edit_many({number: edits}, told)

    def edit_many(self, edits: Mapping[int, Sequence[Edit]], told: str) -> Change | None:
        return self._change(
            [
                Part(n, (self.blocks[n],), (edited(self.blocks[n], edits[n]),))
                for n in sorted(edits, reverse=True)
            ],
            told,
        )

    def insert_sentences(self, number: int, data: bytes, *, told: str = "") -> Change:
        made = self._change([Part(number, (), tuple(s.whole_bytes for s in Treebank(data)))], told)
        assert made
        return made

    def _step(self, source: list[Change], target: list[Change], back: bool) -> Change | None:
        if not source:
            return None
        change = source.pop()
        target.append(change)
        self.version += 1
        parts = tuple(Part(p.first, p.after, p.before) for p in change.parts) if back else change.parts
        made = Change(self.version, parts, change.told)
        self._apply(made)
        return made

    def undo(self) -> Change | None:
        return self._step(self._done, self._undone, True)

    def redo(self) -> Change | None:
        return self._step(self._undone, self._done, False)

    @property
    def can_undo(self) -> bool:
        return bool(self._done)

    @property
    def can_redo(self) -> bool:
        return bool(self._undone)

    @property
    def saved(self) -> bool:
        return self._saved == self.version

    def save(self) -> None:
        with open_output(self.path) as out:
            out.write(b"".join(self.blocks))
        self._saved = self.version

    def state_on_disk(self) -> Literal["same", "changed", "gone"]:
        return "same" if self.path.exists() else "gone"

    def take_in_changes(self) -> Taken:
        return Taken(None, ())


# ---- for validation, learner, doubts and mass edits, until they are here


class Learner:
    history: tuple[Any, ...] = ()

    def __init__(self, file: Any, *, on_change: Any = None) -> None:
        from arcwise.annotation.learner import TrainState

        self.state = TrainState("idle", 0.0, "")

    def model(self) -> Any:
        return None

    def cancel(self) -> None:
        pass


class Doubts:
    def __init__(self, *, on_change: Any = None) -> None:
        pass

    def of(self, number: int) -> list[Any]:
        return []

    def changed(self, numbers: list[int]) -> None:
        pass

    def cancel(self) -> None:
        pass


class MassEdit:
    pass

