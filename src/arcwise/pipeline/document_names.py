"""Unique ``sent_id`` and ``# newdoc id`` for several documents in one CoNLL-U stream."""

from __future__ import annotations

import re

from arcwise.treebanks import Treebank

_SENT_ID = re.compile(rb"^# *sent_id *= *([^\r\n]*?)[ \t]*(?=\r?$)", re.MULTILINE)
_NEWDOC = re.compile(rb"(?:#[^\n]*\n)*?# *newdoc\b")
_NOT_IN_NAMES = re.compile(r"[\s/\\]+")
_MARK = b"\xef\xbb\xbf"


class DocumentNames:
    """Renames the sentences of documents that are written to one stream.

    Sentences numbered by arcwise become ``DOCUMENT-NUMBER``. Those of CoNLL-U keep their ``sent_id``, unless
    an earlier document used it; then they become ``DOCUMENT-NAME``.

    >>> names = DocumentNames()
    >>> row = b"# sent_id = 1\\n1\\tHi\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\n\\n"
    >>> for file in ("my texts/a.txt", "b.txt"):
    ...     names.start(file, numbered=True)
    ...     print(names.named(Treebank(row)).text.splitlines()[:2])
    ['# newdoc id = my texts/a.txt', '# sent_id = my_texts_a.txt-1']
    ['# newdoc id = b.txt', '# sent_id = b.txt-1']
    """

    def __init__(self) -> None:
        self._documents: set[bytes] = set()
        self._earlier: set[bytes] = set()
        self._current: set[bytes] = set()
        self._heading = b""
        self._prefix = b""
        self._numbered = True

    def start(self, name: str, *, numbered: bool, new: bool = False) -> None:
        """Start a document.

        ``numbered``: arcwise assigned its ``sent_id``. ``new``: the name is known to be unique, so it is not
        remembered.
        """
        self._earlier |= self._current
        self._current = set()
        self._heading = b"# newdoc id = " + " ".join(name.split()).encode("utf-8", "replace")
        name_part = _NOT_IN_NAMES.sub("_", name.strip()).strip("_") or "document"
        prefix, times = name_part, 1
        while not new and prefix.encode("utf-8", "replace") in self._documents:
            times += 1
            prefix = f"{name_part}-{times}"
        name_bytes = prefix.encode("utf-8", "replace")
        if not new:
            self._documents.add(name_bytes)
        self._prefix = name_bytes + b"-"
        self._numbered = numbered

    def named(self, treebank: Treebank) -> Treebank:
        """Rename the next sentences of the document."""
        if not len(treebank):
            return treebank
        data = _SENT_ID.sub(self._renamed, treebank.data.removeprefix(_MARK))
        newline = b"\r\n" if b"\r\n" in data[: 1 << 16] else b"\n"
        if self._heading and not _NEWDOC.match(data):
            data = self._heading + newline + data
        self._heading = b""
        if not data.endswith((b"\n\n", b"\n\r\n")):  # a file that ends without a blank line
            data += newline if data.endswith(b"\n") else 2 * newline
        return Treebank(data, source=treebank.source, strict=False)

    def _renamed(self, match: re.Match[bytes]) -> bytes:
        name = self._prefix + match[1] if self._numbered else match[1]
        while self._taken(name):
            name = self._prefix + name
        if not self._numbered:
            self._current.add(name)
        return b"# sent_id = " + name

    def _taken(self, name: bytes) -> bool:
        """Whether another document may use this name; numbered sentences are recognised by their prefix."""
        if name in self._earlier:
            return True
        document, dash, _ = name.rpartition(b"-")
        return bool(dash) and document + dash != self._prefix and document in self._documents
