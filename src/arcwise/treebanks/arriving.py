"""Standard input as it arrives: what is there is handed on when the one who writes pauses, so that an answer need not wait for more."""

from __future__ import annotations

import select
from typing import Any, BinaryIO

PAUSE = 0.1
"""Seconds without a byte that are a pause."""


class Arriving:
    """A stream whose ``read`` gives as much as was asked for, or what there is when the writer pauses; ``b""`` at the end alone.

    ``immediate``: whatever is there is handed on at once. Files never pause. A stream that cannot be watched (Windows watches no pipes)
    is read without waiting if it is to be immediate, and else until it has given what was asked for.

    >>> import io
    >>> source = Arriving(io.BytesIO(b"\\nBirds sing.\\nFish swim.\\n"))
    >>> source.look(13), source.read(5), source.read(100)
    (b'\\nBirds sing.\\n', b'\\nBird', b's sing.\\nFish swim.\\n')
    """

    def __init__(self, stream: BinaryIO, *, immediate: bool = False, pause: float = PAUSE) -> None:
        self._stream: Any = stream
        self._immediate = immediate
        self._pause = 0.0 if immediate else pause
        self._ahead = b""
        """Read by ``look``, and still to be given."""
        self._ended = False
        self.paused = False
        """Whether the last ``read`` ended because nothing more was there."""

    def read(self, size: int) -> bytes:
        """At most ``size`` bytes, and at least one unless the stream has ended."""
        found = [self._ahead[:size]]
        self._ahead = self._ahead[size:]
        length = len(found[0])
        self.paused = False
        while length < size and not self._ended:
            if length and not self._more():
                self.paused = True
                break
            found.append(self._some(size - length))
            length += len(found[-1])
        return b"".join(found)

    def look(self, size: int) -> bytes:
        """The beginning of what ``read`` will give: the first line that is not blank is in it, unless that is longer than ``size``."""
        while len(self._ahead) < size and b"\n" not in self._ahead.lstrip() and not self._ended:
            self._ahead += self._some(size)
        return self._ahead[:size]

    def _some(self, size: int) -> bytes:
        """What there is, at least a byte; none at the end, which is asked for once (a terminal would wait for another one)."""
        read = getattr(self._stream, "read1", self._stream.read)
        data: bytes = read(size)
        self._ended = not data
        return data

    def _more(self) -> bool:
        """Whether something comes soon: bytes, or the end."""
        try:
            return bool(select.select([self._stream.fileno()], [], [], self._pause)[0])
        except (OSError, ValueError, AttributeError):
            return not self._immediate
