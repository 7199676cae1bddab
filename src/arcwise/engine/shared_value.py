"""``SharedValue``: a value that one process writes and its workers read, with or without copies of arrays."""

from __future__ import annotations

import mmap
import pickle
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing import Self

_MEMORY = Path("/dev/shm")
_ROOM = 2**31
"""With less free shared memory than this, the file goes to disk: containers often have only 64 MB."""
_ALIGNED = 64
"""Arrays start at multiples of a cache line."""


@dataclass(frozen=True)
class ValueLayout:
    """The position of a value in the file: its pickle, and the buffer of each array."""

    number: int
    """Counts the values written to this file, from 1."""
    parts: tuple[tuple[int, int], ...]
    """(start, size) pairs."""


class SharedValue:
    """An unnamed file, in shared memory if there is room, that disappears with the processes holding it.

    A process started with it as an argument reads the value written before the start; it reads later values
    by their ``layout``.

    >>> with SharedValue() as shared:
    ...     shared.write([1, 2])
    ...     shared.value()
    [1, 2]
    """

    def __init__(self) -> None:
        room = _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM
        self._file = tempfile.TemporaryFile(dir=_MEMORY if room else None)  # noqa: SIM115 (closed by __exit__)
        self._descriptor = self._file.fileno()
        self.layout = ValueLayout(0, ())
        self._read: tuple[int, Any] = (0, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._read = (0, None)
        self._file.close()

    def __getstate__(self) -> dict[str, Any]:
        from multiprocessing.reduction import DupFd

        return {"descriptor": DupFd(self._descriptor), "layout": self.layout}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._descriptor, self.layout = state["descriptor"].detach(), state["layout"]
        self._read = (0, None)

    def write(self, value: object, *, share_arrays: bool = False) -> None:
        """Replace the value; there must be no readers of the previous one left.

        ``share_arrays``: readers map the arrays of the file read-only instead of copying them.
        """
        buffers: list[pickle.PickleBuffer] = []
        # Protocol 5 keeps arrays out of band, so that they can be mapped instead of copied.
        pickled = pickle.dumps(value, protocol=5, buffer_callback=buffers.append if share_arrays else None)
        parts, end = [], 0
        for part in (memoryview(pickled), *(buffer.raw() for buffer in buffers)):
            start = -(-end // _ALIGNED) * _ALIGNED
            end = start + part.nbytes
            parts.append((start, part.nbytes))
            self._file.seek(start)
            self._file.write(part)
        self._file.flush()
        self.layout = ValueLayout(self.layout.number + 1, tuple(parts))

    def value(self, layout: ValueLayout | None = None) -> Any:
        """Return the value; it is read once and cached."""
        layout = layout or self.layout
        if self._read[0] != layout.number:
            self._read = (0, None)  # free the previous value before the next one is loaded
            pages = memoryview(mmap.mmap(self._descriptor, 0, access=mmap.ACCESS_READ))
            pickled, *buffers = (pages[start : start + size] for start, size in layout.parts)
            self._read = (layout.number, pickle.loads(pickled, buffers=buffers))
        return self._read[1]
