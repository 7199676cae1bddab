"""``Transformer``: configuration and tokenizer of a transformer encoder, as stored in a model file.

The weights are stored with the network's. This module does not need torch.
"""

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
    """Configuration, tokenizer and array shapes of a transformer, as read from its folder."""

    config: Mapping[str, Any]
    tokenizer: str
    window: int
    """Maximum input length in pieces."""
    width: int
    """Hidden size."""
    arrays: tuple[tuple[str, tuple[int, ...]], ...]
    """Names and shapes of the weights."""

    @cached_property
    def pieces(self) -> WordPieces:
        """The tokenizer, as a function from words to pieces."""
        return WordPieces(self.tokenizer, self.window)

    def header(self) -> dict[str, Any]:
        """Return the entries for the header of a model file."""
        return {
            "config": dict(self.config),
            "window": self.window,
            "width": self.width,
            "arrays": [[name, list(shape)] for name, shape in self.arrays],
        }

    def tokenizer_array(self) -> dict[str, npt.NDArray[Any]]:
        """Return the tokenizer as an array of a model file."""
        return {_TOKENIZER: np.frombuffer(self.tokenizer.encode(), np.uint8)}

    @classmethod
    def read(cls, packed: Packed) -> Transformer | None:
        """Read the transformer of a packed model; None if the model has none."""
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
