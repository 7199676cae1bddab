"""The files of a project and their annotation progress."""

from __future__ import annotations

import threading
from collections.abc import Callable

from arcwise.annotation.document import DocumentChange
from arcwise.annotation.project import AnnotationProject, ProjectFile
from arcwise.annotation.states import first_unfinished
from arcwise.treebanks import Treebank
from arcwise.web.annotate_view import Json
from arcwise.web.background import Background

BATCH = 50
"""Sentences looked at in one background step."""


class ProjectFiles:
    """The files of a project with their progress, counted in the background and updated with each edit."""

    def __init__(
        self, project: AnnotationProject, background: Background, *, has_tags: Callable[[], bool]
    ) -> None:
        """``has_tags``: whether a word needs a UPOS to count as annotated."""
        self._project, self._background, self._has_tags = project, background, has_tags
        self._lock = threading.Lock()
        self._done: list[bool] = []
        """Whether each sentence is annotated, of those looked at so far."""
        self._version = project.version
        self._tags: bool | None = None

    def start(self) -> None:
        """Start counting in the background."""
        self._background.add(self._step)

    def _step(self) -> bool:
        with self._lock:
            if self._version != self._project.version:  # ``changed`` is about to be called for a newer edit
                return True
            if self._tags != (tags := self._has_tags()):  # the first tag of a project changes what is done
                self._tags, self._done = tags, []
            first, count = len(self._done), len(self._project)
            if first >= count:
                return False
            data = b"".join(self._project.block(n) for n in range(first, min(first + BATCH, count)))
            if self._version != self._project.version:
                return True
            self._done += self._looked_at(data)
            return True

    def _looked_at(self, data: bytes) -> list[bool]:
        tags = bool(self._tags)
        return [first_unfinished(s, tags=tags) is None for s in Treebank(data, strict=False)]

    def changed(self, change: DocumentChange) -> None:
        """Recount changed sentences."""
        with self._lock:
            for splice in change.parts:  # from the end to the start, so that numbers stay valid
                if splice.first < len(self._done):
                    # Sentences after those looked at follow by themselves.
                    stop = splice.first + len(splice.before)
                    if stop <= len(self._done):
                        after = self._looked_at(b"".join(splice.after))
                        self._done[splice.first : stop] = after
                    else:
                        del self._done[splice.first :]
            self._version = change.version
        self._background.add(self._step)

    def to_json(self) -> Json:
        """The files in order; ``done`` is None until all sentences of a file were looked at, and ``open`` the
        first unfinished one."""
        with self._lock:
            return {"files": [self._file_json(file) for file in self._project.files()]}

    def _file_json(self, file: ProjectFile) -> Json:
        done = self._done[file.first : file.first + file.sentences]
        is_counted = len(done) == file.sentences
        return {
            "name": file.name,
            "first": file.first,
            "sentences": file.sentences,
            "done": sum(done) if is_counted else None,
            "open": file.first + done.index(False) if False in done else None,
        }
