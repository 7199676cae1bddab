"""What parsers that are one model share: loading, saving, and the parts that all their model files have."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.learning.model_file import ModelFile, Precision, read_model
from arcwise.treebanks.files import PathLike

if TYPE_CHECKING:
    from typing import Self


class Model(Protocol):
    """What a parser asks of its model."""

    def save(self, path: PathLike, *, precision: Precision = "float32") -> None:
        """Write the model file."""
        ...


M = TypeVar("M", bound=Model)


class TrainedParser(ABC, Generic[M]):
    """A parser that is its ``model`` and nothing else: from a file and back."""

    kind: ClassVar[str]

    def __init__(self, model: M) -> None:
        self.model = model

    @classmethod
    @abstractmethod
    def _model_of(cls, model: ModelFile) -> M:
        """The model in an opened file; ``ModelError`` if it is none of this kind."""

    @classmethod
    def load(cls, path: PathLike) -> Self:
        """The parser of a model file."""
        return cls.from_model(read_model(path))

    @classmethod
    def from_model(cls, model: ModelFile) -> Self:
        """The parser of an opened model file."""
        return cls(cls._model_of(model))

    def save(self, path: PathLike, *, precision: Precision = "float32") -> None:
        """Write the model file; it appears whole or not at all."""
        self.model.save(path, precision=precision)


def vocabulary_arrays(vocabulary: native.Vocabulary) -> dict[str, npt.NDArray[Any]]:
    """A vocabulary as arrays of a model file."""
    return {"words.hashes": vocabulary.hashes, "words.counts": vocabulary.counts}


def read_vocabulary(model: ModelFile) -> native.Vocabulary:
    """The vocabulary of a model file; ``ModelError`` if the file lacks it."""
    hashes, counts = (np.array(model.array(f"words.{name}")) for name in ("hashes", "counts"))
    return native.Vocabulary(hashes, counts)


def read_report(model: ModelFile) -> Mapping[str, Any]:
    """What the file tells of the training, with its precision and size."""
    report: dict[str, Any] = model.header["report"]
    return report | {"precision": model.header["precision"], "bytes": model.size}
