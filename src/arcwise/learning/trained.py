"""What parsers that are one model share: loading, saving, and the parts that all their model files have."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.features.look_alikes import LookAlikes
from arcwise.learning.model_file import Packable, Packed, Precision, read_model, write_model
from arcwise.treebanks.files import PathLike

if TYPE_CHECKING:
    from typing import Self


class Model(Protocol):
    """What a parser asks of its model."""

    @property
    def summary(self) -> str:
        """What it is, in a few words."""
        ...

    def pack(self, precision: Precision = "float32") -> Packed:
        """Everything that the model consists of."""
        ...


M = TypeVar("M", bound=Model)


class TrainedParser(Packable, Generic[M]):
    """A parser that is its ``model`` and nothing else: from a file and back."""

    kind: ClassVar[str]

    def __init__(self, model: M) -> None:
        self.model = model

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.model.summary}>"

    @classmethod
    @abstractmethod
    def _model_of(cls, packed: Packed) -> M:
        """The model that was packed; ``ModelError`` if it is none of this kind."""

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """The parser of a model file."""
        return cls.unpack(read_model(path))

    def pack(self, precision: Precision = "float32") -> Packed:
        """The model, weights in that precision."""
        return self.model.pack(precision)

    @classmethod
    def unpack(cls, packed: Packed) -> Self:
        """The parser of a packed model."""
        return cls(cls._model_of(packed))

    def reading(self, look_alikes: LookAlikes) -> Self:
        """The same parser, for which words are those that are read so."""
        model: Any = self.model
        return type(self)(replace(model, look_alikes=look_alikes))

    def save(self, path: PathLike, *, precision: Precision = "float32") -> None:
        """Write the model file; it appears whole or not at all."""
        write_model(path, self.pack(precision))


def vocabulary_arrays(vocabulary: native.Vocabulary) -> dict[str, npt.NDArray[Any]]:
    """A vocabulary as arrays of a model file."""
    return {"words.hashes": vocabulary.hashes, "words.counts": vocabulary.counts}


def read_vocabulary(packed: Packed) -> native.Vocabulary:
    """The vocabulary of a packed model; ``ModelError`` if it is not there."""
    hashes, counts = (np.array(packed.array(f"words.{name}")) for name in ("hashes", "counts"))
    return native.Vocabulary(hashes, counts)


def read_report(packed: Packed) -> Mapping[str, Any]:
    """What the model tells of its training; if it comes from a file, with its precision and size."""
    report: dict[str, Any] = packed.header["report"]
    if packed.size is None:
        return report
    return report | {"precision": packed.header["precision"], "bytes": packed.size}
