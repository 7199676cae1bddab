"""``NetworkShape``: the layer sizes of a network, and the names and shapes of its arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.errors import ModelError

Arrays = Mapping[str, npt.NDArray[Any]]
SCALE = ".scale"
"""Suffix of the array with the row scales of an 8-bit array."""
TRANSFORMER = "transformer.model."
"""Prefix of the arrays of a transformer, followed by the library's own names."""
_QUANTISED = ("table.", ".input", ".recurrent", ".weight", "label.product")
"""Name prefixes and suffixes of arrays that may be quantised to 8 bits; the rest are small."""


def may_be_8_bit(name: str) -> bool:
    """Tell whether the array of this name may be quantised to 8 bits."""
    return name.startswith(_QUANTISED) or name.endswith(_QUANTISED)


@dataclass(frozen=True)
class NetworkShape:
    """Layer sizes of a network.

    Embedding tables and a bidirectional LSTM, or a transformer, encode the words; biaffine layers score
    heads and labels, linear layers tags. The arrays have the names that ``native.NeuralNetwork`` expects;
    ``native/kernels/neural/neural_network.hpp`` documents their use.

    >>> NetworkShape(((5, 4),), layers=1, hidden=2, arc_size=3).arrays["layer.0.forward.input"]
    (8, 4)
    """

    tables: tuple[tuple[int, int], ...]
    """Rows and columns of each embedding table."""
    layers: int
    hidden: int
    arc_size: int
    label_size: int = 0
    labels: int = 0
    clusters: int = 1
    tags: tuple[int, ...] = ()
    """Number of values of each predicted tag."""
    sibling_size: int = 0
    """Size of a word's representations as head, inner and outer sibling; 0 at order 1."""
    transformer_width: int = 0
    """Hidden size of the transformer; 0 if the encoder is a bidirectional LSTM."""
    transformer: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Names and shapes of the transformer's arrays."""

    @property
    def input_size(self) -> int:
        """Size of a word's input vector: its embeddings concatenated."""
        return sum(columns for _, columns in self.tables)

    @property
    def width(self) -> int:
        """Size of the encoder's hidden states."""
        return self.transformer_width or 2 * self.hidden

    @property
    def states(self) -> int:
        """Number of states of an arc: labels × latent clusters."""
        return self.labels * self.clusters

    @property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        """Name → shape, in a fixed order."""
        return dict(self._arrays())

    def _arrays(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        wide, H, A, R, S = self.width, self.hidden, self.arc_size, self.label_size, self.states
        K = self.sibling_size
        for place, table in enumerate(self.tables):
            yield f"table.{place}", table
        for layer in range(self.layers):
            for direction in ("forward", "backward"):
                name = f"layer.{layer}.{direction}"
                yield f"{name}.input", (4 * H, self.input_size if layer == 0 else wide)
                yield f"{name}.recurrent", (4 * H, H)
                yield f"{name}.bias", (4 * H,)
        if self.transformer_width:
            yield "transformer.root", (wide,)
            yield "transformer.nothing", (wide,)
        for name, sizes in self.transformer:
            yield f"{TRANSFORMER}{name}", sizes
        for name, size in (("arc", A), *([("label", R)] if S else [])):
            for side in ("head", "dependent"):
                yield f"{name}_{side}.weight", (size, wide)
                yield f"{name}_{side}.bias", (size,)
        for side in ("head", "inner", "outer") if K else ():
            yield f"sibling_{side}.weight", (K, wide)
            yield f"sibling_{side}.bias", (K,)
        yield "arc.product", (A, A)
        yield "arc.head", (A,)
        if S:
            yield "label.product", (S, R, R)
            yield "label.head", (S, R)
            yield "label.dependent", (S, R)
            yield "label.bias", (S,)
        if K:
            yield "sibling.product", (K,)
        for place, values in enumerate(self.tags):
            yield f"tag.{place}.weight", (values, wide)
            yield f"tag.{place}.bias", (values,)

    def flat(self, arrays: Arrays) -> npt.NDArray[np.float32]:
        """Concatenate all arrays into a vector."""
        return np.concatenate([np.asarray(arrays[name], np.float32).ravel() for name in self.arrays])

    def split(self, flat: npt.NDArray[np.float32]) -> dict[str, npt.NDArray[np.float32]]:
        """Split a vector made by ``flat`` into arrays again."""
        arrays, start = {}, 0
        for name, shape in self.arrays.items():
            size = int(np.prod(shape))
            arrays[name] = flat[start : start + size].reshape(shape)
            start += size
        return arrays

    def check(self, arrays: Arrays, where: str) -> None:
        """Raise ``ModelError`` if an array is missing, misshapen, not finite or of a wrong dtype."""
        for name, shape in self.arrays.items():
            _check(arrays, name, shape, where, may_be_8_bit=may_be_8_bit(name))
            if arrays[name].dtype == np.int8:
                _check(arrays, name + SCALE, shape[:-1], where)


def _check(
    arrays: Arrays, name: str, shape: tuple[int, ...], where: str, *, may_be_8_bit: bool = False
) -> None:
    if name not in arrays:
        raise ModelError(f"{where}: has no array {name!r}; the file is damaged")
    values = arrays[name]
    if values.shape != shape:
        raise ModelError(f"{where}: array {name!r} has shape {values.shape}, expected {shape}")
    if values.dtype != np.float32 and not (may_be_8_bit and values.dtype == np.int8):
        raise ModelError(f"{where}: array {name!r} has dtype {values.dtype}, expected float32")
    if not np.isfinite(values).all():
        raise ModelError(f"{where}: array {name!r} has values that are not finite")
