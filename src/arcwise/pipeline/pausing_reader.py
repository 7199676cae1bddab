"""``PausingReader``: read a stream in chunks, and hand on what has arrived whenever the writer pauses."""

from __future__ import annotations

import select
from typing import Any, BinaryIO

PAUSE = 0.1
"""Seconds without a byte that count as a pause."""


class PausingReader:
    """A stream whose ``read`` returns the requested size, or what has arrived when the writer pauses.

    It returns ``b""`` only at the end.

    immediate: hand on whatever has arrived, without waiting for a pause. Regular files never pause. A stream
    that ``select`` cannot watch (pipes on Windows) is read without waiting if ``immediate``, otherwise until
    the requested size has arrived.

    >>> import io
    >>> source = PausingReader(io.BytesIO(b"\\nBirds sing.\\nFish swim.\\n"))
    >>> source.peek(13), source.read(5), source.read(100)
    (b'\\nBirds sing.\\n', b'\\nBird', b's sing.\\nFish swim.\\n')
    """

    def __init__(self, stream: BinaryIO, *, immediate: bool = False, pause: float = PAUSE) -> None:
        self._stream: Any = stream
        self._immediate = immediate
        self._pause = 0.0 if immediate else pause
        self._lookahead = b""
        """Bytes that ``peek`` has read and ``read`` has not returned yet."""
        self._ended = False
        self.paused = False
        """Whether the last ``read`` ended because the writer paused."""

    def read(self, size: int) -> bytes:
        """Return at most ``size`` bytes, and at least one unless the stream has ended."""
        chunks = [self._lookahead[:size]]
        self._lookahead = self._lookahead[size:]
        length = len(chunks[0])
        self.paused = False
        while length < size and not self._ended:
            if length and not self._more_soon():
                self.paused = True
                break
            chunks.append(self._read_available(size - length))
            length += len(chunks[-1])
        return b"".join(chunks)

    def peek(self, size: int) -> bytes:
        """Return the start of what ``read`` will return, up to the first non-blank line or ``size`` bytes."""
        while len(self._lookahead) < size and b"\n" not in self._lookahead.lstrip() and not self._ended:
            self._lookahead += self._read_available(size)
        return self._lookahead[:size]

    def _read_available(self, size: int) -> bytes:
        """Read at least one byte, or none at the end of the stream."""
        read = getattr(self._stream, "read1", self._stream.read)
        data: bytes = read(size)
        self._ended = not data  # remembered, because a terminal would wait for a second end of file
        return data

    def _more_soon(self) -> bool:
        """Whether bytes, or the end of the stream, arrive before a pause."""
        try:
            return bool(select.select([self._stream.fileno()], [], [], self._pause)[0])
        except (OSError, ValueError, AttributeError):
            return not self._immediate
