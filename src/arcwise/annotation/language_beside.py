"""The language data next to a treebank under annotation, reread after each edit of that file."""

from __future__ import annotations

import threading
from pathlib import Path

from arcwise.errors import InputError
from arcwise.treebanks.validation import LanguageData, find_language

Stamp = tuple[int, int, int]


class LanguageBeside:
    """The language data (``arcwise-language.toml``) in the folder of a treebank.

    A file that cannot be read is treated as missing: ``error`` says why, and annotation continues.
    """

    def __init__(self, treebank: Path) -> None:
        """``treebank``: any file of the folder."""
        self._treebank = treebank
        self._lock = threading.Lock()
        self._stamp: Stamp | None = None
        self.path: Path | None = None
        """The file; None if there is none."""
        self.data: LanguageData | None = None
        self.error: str | None = None
        self.version = 0
        """Increases when the file changes."""

    def refresh(self) -> bool:
        """Read the file if it has changed; returns whether it has."""
        with self._lock:
            path = find_language([self._treebank])
            stamp = _stamp(path)
            if stamp == self._stamp and path == self.path:
                return False
            self.path, self._stamp = path, stamp
            self.version += 1
            self.data = self.error = None
            if path is not None:
                try:
                    self.data = LanguageData.read(path)
                except InputError as error:
                    self.error = str(error)
            return True


def _stamp(path: Path | None) -> Stamp | None:
    if path is None:
        return None
    try:
        status = path.stat()
    except OSError:  # deleted since it was found
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
