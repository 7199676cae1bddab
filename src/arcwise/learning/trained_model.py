"""``TrainedParser``: load and save parsers, and the components that their model files share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.features.look_alikes import LookAlikes
from arcwise.learning.model_file import (
    Packable,
    Packed,
    Precision,
    check_precision,
    read_model,
    write_model,
)
from arcwise.treebanks.files import PathLike

if TYPE_CHECKING:
    from typing import Self


_BLOCK = native.WEIGHT_BLOCK
Arrays = dict[str, npt.NDArray[Any]]


class Model(Protocol):
    """The interface of a parser's model."""

    @property
    def summary(self) -> str:
        """A short description."""
        ...

    def pack(self, precision: Precision = "float32") -> Packed:
        """The model as plain values."""
        ...


M = TypeVar("M", bound=Model)


class TrainedParser(Packable, Generic[M]):
    """A parser defined entirely by its ``model``."""

    kind: ClassVar[str]
    model_class: ClassVar[type[Any]]
    """The class of its ``model``."""

    def __init__(self, model: M) -> None:
        self.model = model

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.model.summary}>"

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """Load the parser from a model file."""
        return cls.unpack(read_model(path))

    def pack(self, precision: Precision = "float32") -> Packed:
        """The packed model, weights in that precision."""
        return self.model.pack(precision)

    @classmethod
    def unpack(cls, packed: Packed) -> Self:
        """Rebuild the parser from a packed model."""
        return cls(cls.model_class.unpack(packed))

    def reading(self, look_alikes: LookAlikes) -> Self:
        """The same parser with these character substitutions in words."""
        model: Any = self.model
        return type(self)(replace(model, look_alikes=look_alikes))

    def save(self, path: PathLike, *, precision: Precision = "float32") -> None:
        """Write the model file atomically."""
        write_model(path, self.pack(precision))


def vocabulary_arrays(vocabulary: native.Vocabulary) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a vocabulary in a model file."""
    return {"words.hashes": vocabulary.hashes, "words.counts": vocabulary.counts}


def read_vocabulary(packed: Packed) -> native.Vocabulary:
    """Read the vocabulary of a packed model; raises ``ModelError`` if it is missing."""
    hashes, counts = (np.array(packed.array(f"words.{name}")) for name in ("hashes", "counts"))
    return native.Vocabulary(hashes, counts)


def read_report(packed: Packed) -> Mapping[str, Any]:
    """Read the training report; for a model from a file, with its precision and size."""
    report: dict[str, Any] = packed.header["report"]
    if packed.size is None:
        return report
    return report | {"precision": packed.header["precision"], "bytes": packed.size}


def pack_weights(name: str, weights: npt.NDArray[np.float32], precision: Precision) -> Arrays:
    """Pack a sparse table: a bit mask, values and, for int8, a scale per 256 values.

    >>> arrays = pack_weights("w", np.array([0, 0.5, 0, -2], np.float32), "int8")
    >>> unpack_weights("w", arrays, 4).tolist()
    [0.0, 0.503..., 0.0, -2.0]
    """
    check_precision(precision)
    # Most cells of a hashed table are zero: a bit for each is cheaper than an index for the others.
    present = weights != 0
    values: npt.NDArray[Any] = weights[present]
    arrays: Arrays = {f"{name}.bits": np.packbits(present)}
    if precision == "int8":
        blocks = np.zeros(-(-len(values) // _BLOCK) * _BLOCK, np.float32)
        blocks[: len(values)] = values
        largest = np.abs(blocks.reshape(-1, _BLOCK)).max(axis=1) if len(blocks) else np.zeros(0)
        # tiny: a block of zeros would divide by zero.
        scales = np.maximum(largest / 127, np.finfo(np.float32).tiny).astype(np.float32)
        arrays[f"{name}.scales"] = scales
        values = np.rint(blocks / np.repeat(scales, _BLOCK))[: len(values)].astype(np.int8)
    elif precision == "float16":
        # Beyond 65504 float16 is infinite, and one infinite weight would win every sentence.
        values = np.clip(values, -65504, 65504).astype(np.float16)
    arrays[f"{name}.values"] = values
    return arrays


def unpack_weights(name: str, arrays: Mapping[str, npt.NDArray[Any]], size: int) -> npt.NDArray[np.float32]:
    """Unpack a table of ``size`` weights packed by ``pack_weights``."""
    bits = arrays[f"{name}.bits"]
    if f"{name}.scales" in arrays:
        return native.spread_weights(bits, arrays[f"{name}.values"], arrays[f"{name}.scales"], size)
    weights = np.zeros(size, np.float32)
    weights[np.unpackbits(bits, count=size).view(np.bool_)] = arrays[f"{name}.values"]
    return weights


def read_weights(packed: Packed, name: str, size: int) -> npt.NDArray[np.float32]:
    """Read a table of a packed model; raises ``ModelError`` if it is missing."""
    # Looked up first, for a ModelError that names the missing array.
    packed.array(f"{name}.bits"), packed.array(f"{name}.values")
    return unpack_weights(name, packed.arrays, size)
