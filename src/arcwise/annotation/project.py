"""``AnnotationProject``: the CoNLL-U files of a folder under annotation, as if they were one."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from arcwise.annotation.changes import DocumentChange, PreparedEdit, Splice, Splices
from arcwise.annotation.document import AnnotationDocument, ChangedMeanwhile
from arcwise.annotation.external_changes import ExternalMerge
from arcwise.annotation.journal import Record
from arcwise.annotation.store import block_digest
from arcwise.errors import InputError
from arcwise.treebanks import Problem, Sentence, Treebank
from arcwise.treebanks.edits import Edit
from arcwise.treebanks.files import PathLike
from arcwise.treebanks.rows import BOM

ENDING = ".conllu"
FileChange = Callable[[AnnotationDocument], "DocumentChange | None"]
"""A change of one file; None if nothing changed."""


def project_files(folder: Path) -> list[Path]:
    """The CoNLL-U files of a folder and of the folders in it, in the order of their names; hidden ones and
    links to elsewhere are left out.
    """
    files = [path for path in folder.rglob(f"*{ENDING}") if path.is_file() and not path.is_symlink()]
    relative = sorted(path.relative_to(folder) for path in files)
    return [folder / path for path in relative if not any(part.startswith(".") for part in path.parts)]


@dataclass(frozen=True)
class ProjectFile:
    """A file of a project. ``name``: relative to the folder; ``first``: the number of its first sentence."""

    name: str
    first: int
    sentences: int


class AnnotationProject:
    """The files of a folder under annotation: sentences are numbered through all of them.

    It has the methods of ``AnnotationDocument``. Each file has a separate journal and is saved separately.
    Undo goes back through the changes of all files in the order they were made, also after reopening.
    """

    read_only: str | None = None
    """None, because a read-only file raises an error when it is edited."""

    def __init__(self, folder: Path, documents: Sequence[AnnotationDocument]) -> None:
        """Use ``open``."""
        self.path = folder
        self.stem = folder / folder.resolve().name
        self.version = 0
        """Incremented with each change of any file."""
        self._documents = list(documents)
        self._guard = threading.RLock()
        self._time = 0
        for document in self._documents:
            document.clock = lambda: self._time

    @classmethod
    def open(cls, folder: PathLike) -> AnnotationProject:
        """Open all files of a folder and recover unsaved edits from their journals."""
        path = Path(folder)
        files = project_files(path)
        if not files:
            raise InputError(f"{path}: has no {ENDING} file; expected at least one")
        with contextlib.ExitStack() as opened:
            documents = [opened.enter_context(AnnotationDocument.open(file)) for file in files]
            opened.pop_all()
        return cls(path, documents)

    def close(self) -> None:
        """Release all files."""
        with self._guard, contextlib.ExitStack() as closing:
            for document in self._documents:
                closing.callback(document.close)

    def __enter__(self) -> AnnotationProject:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def documents(self) -> tuple[AnnotationDocument, ...]:
        """The documents of the files; change sentences through the project."""
        return tuple(self._documents)

    # ---- reading

    def __len__(self) -> int:
        """The number of sentences of all files."""
        return sum(map(len, self._documents))

    def files(self) -> list[ProjectFile]:
        """The files, in their order."""
        with self._guard:
            sizes = list(map(len, self._documents))
            return [
                ProjectFile(self._name(document), first, size)
                for document, first, size in zip(self._documents, self._firsts(), sizes, strict=True)
            ]

    def _name(self, document: AnnotationDocument) -> str:
        return document.path.relative_to(self.path).as_posix()

    @property
    def notices(self) -> tuple[str, ...]:
        """Messages from opening the files."""
        return tuple(f"{self._name(d)}: {notice}" for d in self._documents for notice in d.notices)

    @property
    def problems(self) -> list[Problem]:
        """Problems that reading the files found."""
        return [
            replace(problem, sentence=problem.sentence + first)
            for document, first in zip(self._documents, self._firsts(), strict=True)
            for problem in document.problems
        ]

    def _firsts(self) -> list[int]:
        """The number of the first sentence of each file."""
        return list(itertools.accumulate(map(len, self._documents[:-1]), initial=0))

    def _place(self, number: int) -> tuple[int, int]:
        """The file of a sentence, and its number there."""
        if not 0 <= number < len(self):
            raise InputError(f"sentence: found {number}, expected 0..{len(self) - 1}")
        firsts = self._firsts()
        # Of files without sentences, which begin at the same number, the last.
        at = bisect_right(firsts, number) - 1
        return at, number - firsts[at]

    def block(self, number: int) -> bytes:
        """The current bytes of a sentence, with its final blank line and without a byte order mark."""
        with self._guard:
            at, local = self._place(number)
            return _closed(self._documents[at].block(local))

    def block_version(self, number: int) -> str:
        """A digest of the bytes of a sentence."""
        return block_digest(self.block(number))

    def sentence(self, number: int) -> Sentence:
        """The current sentence, as a treebank of one sentence (read with ``strict=False``)."""
        with self._guard:
            at, local = self._place(number)
            return self._documents[at].sentence(local)

    def source(self, number: int) -> str:
        """The path of the file of a sentence."""
        with self._guard:
            return str(self._documents[self._place(number)[0]].path)

    def file_name(self, number: int) -> str:
        """The name of the file of a sentence, relative to the folder."""
        with self._guard:
            return self._name(self._documents[self._place(number)[0]])

    def first_line(self, number: int) -> int:
        """The line of its file, from 1, at which a sentence begins."""
        with self._guard:
            at, local = self._place(number)
            return self._documents[at].first_line(local)

    def batches(self, *, batch_bytes: int = 1 << 20) -> Iterator[tuple[int, Treebank]]:
        """The current contents in treebanks of about ``batch_bytes``, each with its first sentence number."""
        for document, first in zip(self._documents, self._firsts(), strict=True):
            for number, treebank in document.batches(batch_bytes=batch_bytes):
                yield first + number, treebank

    def treebank(self) -> Treebank:
        """The current contents of all files as one treebank (read with ``strict=False``)."""
        with self._guard:
            data = b"".join(_closed(document.treebank().data) for document in self._documents)
        return Treebank(data, source=str(self.path), strict=False)

    # ---- changes

    def edit(
        self,
        number: int,
        edits: Sequence[Edit],
        *,
        version_of_block: str | None = None,
        description: str = "",
        prepared: PreparedEdit | None = None,
    ) -> DocumentChange | None:
        """Edit one sentence as one undo step; see ``AnnotationDocument.edit``."""

        def change(document: AnnotationDocument, local: int) -> DocumentChange | None:
            return document.edit(local, edits, description=description, prepared=prepared)

        return self._change_at(number, version_of_block, change)

    def split_sentence(
        self, number: int, before_row: str, *, version_of_block: str | None = None
    ) -> DocumentChange | None:
        """Split a sentence before a row."""
        return self._change_at(
            number, version_of_block, lambda document, local: document.split_sentence(local, before_row)
        )

    def join_sentences(self, number: int, *, version_of_block: str | None = None) -> DocumentChange | None:
        """Join a sentence with the next one of the same file."""
        return self._change_at(
            number, version_of_block, lambda document, local: document.join_sentences(local)
        )

    def remove_sentence(self, number: int, *, version_of_block: str | None = None) -> DocumentChange | None:
        """Remove a sentence."""
        return self._change_at(
            number, version_of_block, lambda document, local: document.remove_sentence(local)
        )

    def insert_sentences(self, number: int, data: bytes, *, description: str = "") -> DocumentChange | None:
        """Insert sentences (CoNLL-U) before sentence ``number``, in its file, or at the end of the last."""
        with self._guard:
            last = len(self._documents) - 1
            at, local = (last, len(self._documents[last])) if number == len(self) else self._place(number)
            return self._change({at: lambda d: d.insert_sentences(local, data, description=description)})

    def append_sentences(self, file: str, data: bytes) -> DocumentChange | None:
        """Insert sentences at the end of a file, given by its name."""
        with self._guard:
            names = list(map(self._name, self._documents))
            if file not in names:
                raise InputError(f"file: found {file!r}, expected one of {', '.join(names)}")
            return self._change({names.index(file): lambda d: d.insert_sentences(len(d), data)})

    def edit_many(self, edits: Mapping[int, Sequence[Edit]], description: str) -> DocumentChange | None:
        """Edit several sentences as one undo step, all or none; None if nothing changed."""
        with self._guard:
            by_file: dict[int, dict[int, Sequence[Edit]]] = {}
            for number, some in edits.items():
                at, local = self._place(number)
                by_file.setdefault(at, {})[local] = some
                # Checked before any file changes.
                self._documents[at].check_edits(local, some)

            def change_of(these: Mapping[int, Sequence[Edit]]) -> FileChange:
                return lambda document: document.edit_many(these, description)

            return self._change({at: change_of(these) for at, these in by_file.items()})

    def _change_at(
        self,
        number: int,
        version: str | None,
        change: Callable[[AnnotationDocument, int], DocumentChange | None],
    ) -> DocumentChange | None:
        """Change one sentence, if it has the version."""
        with self._guard:
            block = self.block(number)
            if version is not None and version != block_digest(block):
                raise ChangedMeanwhile(
                    f"sentence {number + 1}: was changed in the meantime; reload it", block
                )
            at, local = self._place(number)
            return self._change({at: lambda document: change(document, local)})

    def _change(self, changes: Mapping[int, FileChange]) -> DocumentChange | None:
        """Change files as one undo step, all or none."""
        # The steps of a change have one time, by which they are undone together.
        self._time = max(time.time_ns(), 1 + max((d.last_done for d in self._documents), default=0))
        made: list[tuple[int, DocumentChange]] = []
        try:
            for at in sorted(changes, reverse=True):
                if (change := changes[at](self._documents[at])) is not None:
                    made.append((at, change))
        except BaseException:
            for at, _ in made:
                self._documents[at].undo()
            raise
        return self._joined(made)

    def _joined(self, made: Sequence[tuple[int, DocumentChange]]) -> DocumentChange | None:
        """The changes of files as one change of the project."""
        if not made:
            return None
        self.version += 1
        changed = dict(made)
        # Files are given from the last to the first: those before it have their old sizes still.
        sizes = list(map(len, self._documents))
        grown = {at: sum(len(p.after) - len(p.before) for p in change.parts) for at, change in made}
        parts: list[Splice] = []
        for at, change in sorted(made, reverse=True):
            first = sum(size - grown.get(other, 0) for other, size in enumerate(sizes[:at]))
            parts += [replace(part, first=part.first + first) for part in change.parts]
        description = changed[min(changed)].description
        splices: Splices = tuple(parts)
        return DocumentChange(self.version, splices, description)

    # ---- undo

    @property
    def can_undo(self) -> bool:
        """Whether there is a step to undo."""
        return any(document.can_undo for document in self._documents)

    @property
    def can_redo(self) -> bool:
        """Whether there is a step to redo."""
        return self._next_redo() is not None

    def _next_redo(self) -> int | None:
        """The time of the step to redo.

        A step that was undone before another change was made stays undone: it is older than that change.
        """
        last = max((document.last_done for document in self._documents), default=0)
        times = [d.last_undone for d in self._documents if d.can_redo and d.last_undone >= last]
        return min(times, default=None)

    def undo(self) -> DocumentChange | None:
        """Undo the last step of all files; None if there is none."""
        with self._guard:
            if not self.can_undo:
                return None
            last = max(d.last_done for d in self._documents if d.can_undo)
            steps = [at for at, d in enumerate(self._documents) if d.can_undo and d.last_done == last]
            return self._step(steps if last else steps[-1:], AnnotationDocument.undo)

    def redo(self) -> DocumentChange | None:
        """Redo the step undone last; None if there is none."""
        with self._guard:
            first = self._next_redo()
            if first is None:
                return None
            steps = [at for at, d in enumerate(self._documents) if d.can_redo and d.last_undone == first]
            return self._step(steps if first else steps[:1], AnnotationDocument.redo)

    def _step(self, files: Sequence[int], step: FileChange) -> DocumentChange | None:
        """Undo or redo the steps of one change; journals of earlier releases have no times, and their steps
        are taken one by one.
        """
        changes = [(at, change) for at in files if (change := step(self._documents[at])) is not None]
        return self._joined(changes)

    def latest_steps(self, count: int) -> list[Record]:
        """The latest steps of all files that are in effect, newest first."""
        with self._guard:
            steps = [step for document in self._documents for step in document.latest_steps(count)]
        return sorted(steps, key=lambda step: -(step["time"] or 0))[:count]

    # ---- files

    @property
    def saved(self) -> bool:
        """Whether the files have every edit; the journals have them in any case."""
        return all(document.saved for document in self._documents)

    def save(self) -> None:
        """Write every file with unsaved edits, each atomically."""
        for document in self._documents:
            if not document.saved:
                document.save()

    def state_on_disk(self) -> Literal["same", "changed", "gone"]:
        """Whether all files are as last opened or saved."""
        states = {document.state_on_disk() for document in self._documents}
        return "changed" if "changed" in states else "gone" if "gone" in states else "same"

    def merge_external_changes(self) -> ExternalMerge:
        """Merge another program's changes of the files with the edits made here, as one undo step."""
        with self._guard:
            conflicts: list[object] = []

            def merge(document: AnnotationDocument) -> DocumentChange | None:
                merged = document.merge_external_changes()
                conflicts.extend(merged.conflicts)
                return merged.change

            changed = [at for at, d in enumerate(self._documents) if d.state_on_disk() == "changed"]
            return ExternalMerge(self._change(dict.fromkeys(changed, merge)), tuple(conflicts))


def _closed(data: bytes) -> bytes:
    """Sentences of a file as they can stand before those of the next file.

    >>> _closed(b"1\\ta\\n"), _closed(b"1\\ta\\r\\n\\r\\n"), _closed(b"1\\ta"), _closed(b"")
    (b'1\\ta\\n\\n', b'1\\ta\\r\\n\\r\\n', b'1\\ta\\n\\n', b'')
    """
    data = data.removeprefix(BOM)
    if not data.strip():
        return b""
    if not data.endswith(b"\n"):
        data += b"\n"
    return data if data.endswith((b"\n\n", b"\n\r\n")) else data + b"\n"
