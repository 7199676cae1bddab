"""Model files: safetensors (named arrays, memory-mapped) with a JSON header; ``Packed`` is their content.

The header has ``kind`` (which parser), ``version`` (of that kind's format), ``written_by`` (the version of
arcwise), and what the kind stores there: configuration, alphabets, scores. Reading needs only numpy; nothing
in a file is executed.
"""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError, ModelError
from arcwise.treebanks.files import PathLike, open_output

if TYPE_CHECKING:
    from typing import Self

Precision = Literal["float32", "float16", "int8"]
PRECISIONS: tuple[Precision, ...] = ("float32", "float16", "int8")

_METADATA_KEY = "arcwise"
_WRITTEN_BY = "written_by"
_DTYPES = {
    "F64": "f8",
    "F32": "f4",
    "F16": "f2",
    "BOOL": "?",
    **{f"{sign}{8 * size}": f"{sign.lower()}{size}" for sign in "IU" for size in (8, 4, 2, 1)},
}
"""Types of safetensors → of numpy."""
# Safetensors' own limit; a damaged length must not lead to an attempt to read gigabytes.
_MAX_HEADER = 100_000_000


def check_precision(name: str) -> Precision:
    """Check the name of a precision."""
    if name not in PRECISIONS:
        raise InputError(f"precision: found {name!r}, expected one of {', '.join(PRECISIONS)}")
    return name


@dataclass(frozen=True)
class Packed:
    """A model as plain values: its kind, format version, header (JSON) and named arrays.

    Every component converts itself to one (``pack``) and back (``unpack``), for model files, pickles and
    worker processes.
    """

    kind: str
    version: int
    header: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)
    path: str = "<memory>"
    """The file it was read from, for messages."""
    size: int | None = None
    """The size of that file in bytes; None if it is not from a file."""
    written_by: str | None = None
    """The version of arcwise that wrote the file; None for files of 0.2 and before, or without a file."""

    def expect(self, kind: str, version: int) -> None:
        """Raise ``ModelError`` unless the model has this kind and version."""
        if self.kind != kind:
            raise ModelError(f"{self.path}: found a model of kind {self.kind!r}, expected {kind!r}")
        if self.version != version:
            raise ModelError(
                f"{self.path}: found version {self.version} of a {kind} model, expected {version} "
                "(retrain it with this arcwise, or install the version that wrote it)"
            )

    def array(self, name: str) -> npt.NDArray[Any]:
        """The array of that name; raises ``ModelError`` if it is missing."""
        if name not in self.arrays:
            raise ModelError(f"{self.path}: has no array {name!r}; the file is damaged")
        return self.arrays[name]


class Packable(ABC):
    """A component with ``pack`` and ``unpack``, which make it picklable and copyable.

    Pickles keep weights in full precision, so that the copy gives identical results; native objects are
    rebuilt.
    """

    @abstractmethod
    def pack(self, precision: Precision = "float32") -> Packed:
        """The component as plain values, weights in that precision."""

    @classmethod
    @abstractmethod
    def unpack(cls, packed: Packed) -> Self:
        """Rebuild the component; raises ``ModelError`` for another kind or version, or damaged data."""

    def __reduce__(self) -> tuple[Any, ...]:
        # Always float32: a rounded copy would parse differently from its original.
        return _unpacked, (type(self), self.pack("float32"))

    def __copy__(self) -> Self:
        # Shallow: weights are never written to once a model exists, so copies may share them.
        copy = object.__new__(type(self))
        copy.__dict__.update(self.__dict__)
        return copy


def _unpacked(part: type[Packable], packed: Packed) -> Packable:
    return part.unpack(packed)


def write_model(path: PathLike, packed: Packed) -> None:
    """Write a model file (safetensors) atomically.

    >>> import tempfile, numpy as np
    >>> path = Path(tempfile.mkdtemp()) / "m.arcwise"
    >>> write_model(path, Packed("graph", 1, {"labels": ["root"]}, {"w": np.ones(3, np.float32)}))
    >>> read_model(path).header["labels"], read_model(path).array("w").tolist()
    (['root'], [1.0, 1.0, 1.0])
    """
    # Imported here, because reading models needs only numpy.
    from safetensors.numpy import save

    from arcwise import __version__

    about = {"kind": packed.kind, "version": packed.version, _WRITTEN_BY: __version__}
    header = json.dumps(about | dict(packed.header), ensure_ascii=False)
    arrays = {name: np.ascontiguousarray(values) for name, values in packed.arrays.items()}
    with open_output(path) as stream:
        stream.write(save(arrays, metadata={_METADATA_KEY: header}))


def read_model(path: PathLike) -> Packed:
    """Open a model file of any kind; arrays are memory-mapped, not copied."""
    name = os.fspath(path)
    try:
        size = Path(name).stat().st_size
        # np.memmap refuses an empty file; this way it is reported as damaged.
        mapped = np.memmap(name, np.uint8, "r") if size else np.empty(0, np.uint8)
    except FileNotFoundError as error:
        raise ModelError(f"{path}: no such model file") from error
    except (OSError, ValueError) as error:
        raise ModelError(f"{path}: cannot be read ({error})") from error
    try:
        entries, start = _entries(mapped)
        header = json.loads(entries.pop("__metadata__")[_METADATA_KEY])
        arrays = {key: _array(mapped, entry, start) for key, entry in entries.items()}
        kind, version = str(header.pop("kind")), int(header.pop("version"))
        written_by = header.pop(_WRITTEN_BY, None)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(f"{path}: is not an arcwise model, or is damaged") from error
    return Packed(kind, version, header, arrays, name, size, None if written_by is None else str(written_by))


def starts_as_json(path: PathLike) -> bool:
    """Whether a file is JSON (an induced grammar) rather than safetensors."""
    try:
        with Path(path).open("rb") as stream:
            return stream.read(1) == b"{"
    except OSError:
        return False  # reading it will raise a better error


def _entries(mapped: npt.NDArray[np.uint8]) -> tuple[dict[str, Any], int]:
    """The JSON header of a safetensors file, and the offset of the data."""
    length = int.from_bytes(mapped[:8].tobytes(), "little")
    # Checked against the file, so that a truncated download is reported and not read past its end.
    if len(mapped) < 8 or length > min(len(mapped) - 8, _MAX_HEADER):
        raise ValueError("no safetensors header")
    return json.loads(mapped[8 : 8 + length].tobytes()), 8 + length


def _array(mapped: npt.NDArray[np.uint8], entry: Mapping[str, Any], start: int) -> npt.NDArray[Any]:
    first, last = entry["data_offsets"]
    if not 0 <= first <= last <= len(mapped) - start:
        raise ValueError("array outside the file")
    dtype = np.dtype(_DTYPES[entry["dtype"]])
    return mapped[start + first : start + last].view(dtype).reshape(entry["shape"])
