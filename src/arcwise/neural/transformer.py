"""``Transformer``: a transformer as encoder, but for its weights; everything that a model file keeps of it. Nothing here needs torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.learning.model_file import Packed
from arcwise.neural.pieces import WordPieces

_TOKENIZER = "tokenizer"


@dataclass(frozen=True)
class Transformer:
    """Configuration and tokenizer of a transformer, as its folder had them, and the shapes of its arrays."""

    config: Mapping[str, Any]
    tokenizer: str
    window: int
    """Pieces that it takes at once."""
    width: int
    """Numbers in the vector of a piece."""
    arrays: tuple[tuple[str, tuple[int, ...]], ...]
    """Names and shapes of its weights."""

    @cached_property
    def pieces(self) -> WordPieces:
        """Its tokenizer."""
        return WordPieces(self.tokenizer, self.window)

    def header(self) -> dict[str, Any]:
        """What goes into the header of a model file."""
        return {
            "config": dict(self.config),
            "window": self.window,
            "width": self.width,
            "arrays": [[name, list(shape)] for name, shape in self.arrays],
        }

    def tokenizer_array(self) -> dict[str, npt.NDArray[Any]]:
        """The tokenizer as an array of a model file."""
        return {_TOKENIZER: np.frombuffer(self.tokenizer.encode(), np.uint8)}

    @classmethod
    def read(cls, packed: Packed) -> Transformer | None:
        """That of a packed model; None if it has none."""
        header = packed.header.get("transformer")
        if header is None:
            return None
        return cls(
            dict(header["config"]),
            packed.array(_TOKENIZER).tobytes().decode(),
            int(header["window"]),
            int(header["width"]),
            tuple((str(name), tuple(int(side) for side in shape)) for name, shape in header["arrays"]),
        )
