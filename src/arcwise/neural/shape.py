"""``NetworkShape``: the sizes of a network, and the names and shapes of its arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.errors import ModelError

Arrays = Mapping[str, npt.NDArray[Any]]
SCALE = ".scale"
"""The scales of the rows of an 8-bit array have its name and this."""
_QUANTISED = ("table.", ".input", ".recurrent", ".weight", "label.product")
"""Arrays of which 8 bits may be kept, one scale a row, begin or end so; the others are small."""


def may_be_8_bit(name: str) -> bool:
    """Whether an array of that name may be kept in 8 bits."""
    return name.startswith(_QUANTISED) or name.endswith(_QUANTISED)


TRANSFORMER = "transformer.model."
"""The arrays of a transformer, by the names that it gives them, begin so."""


@dataclass(frozen=True)
class NetworkShape:
    """The sizes of a network: tables of vectors → a bidirectional LSTM, or a transformer → heads, labels, tags by bilinear products.

    Its arrays have the names that ``native.NeuralNetwork`` wants; what is done with them stands in
    ``native/kernels/neural/neural_network.hpp``.

    >>> NetworkShape(((5, 4),), layers=1, hidden=2, arc_size=3).arrays["layer.0.forward.input"]
    (8, 4)
    """

    tables: tuple[tuple[int, int], ...]
    """Rows and columns of each table."""
    layers: int
    hidden: int
    arc_size: int
    label_size: int = 0
    labels: int = 0
    clusters: int = 1
    tags: tuple[int, ...] = ()
    """How many values each tag that is learned has."""
    transformer_width: int = 0
    """Numbers in the states of the transformer that is the encoder; 0: a bidirectional LSTM is."""
    transformer: tuple[tuple[str, tuple[int, ...]], ...] = ()
    """Names and shapes of the transformer's own arrays."""

    @property
    def input_size(self) -> int:
        """Numbers in the vector of a word."""
        return sum(columns for _, columns in self.tables)

    @property
    def width(self) -> int:
        """Numbers in the state of a position."""
        return self.transformer_width or 2 * self.hidden

    @property
    def states(self) -> int:
        """States of an arc: labels, in each of their clusters."""
        return self.labels * self.clusters

    @property
    def arrays(self) -> dict[str, tuple[int, ...]]:
        """Name → shape, in a fixed order."""
        return dict(self._arrays())

    def _arrays(self) -> Iterator[tuple[str, tuple[int, ...]]]:
        wide, H, A, R, S = self.width, self.hidden, self.arc_size, self.label_size, self.states
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
        yield "arc.product", (A, A)
        yield "arc.head", (A,)
        if S:
            yield "label.product", (S, R, R)
            yield "label.head", (S, R)
            yield "label.dependent", (S, R)
            yield "label.bias", (S,)
        for place, values in enumerate(self.tags):
            yield f"tag.{place}.weight", (values, wide)
            yield f"tag.{place}.bias", (values,)

    def flat(self, arrays: Arrays) -> npt.NDArray[np.float32]:
        """All numbers one after the other."""
        return np.concatenate([np.asarray(arrays[name], np.float32).ravel() for name in self.arrays])

    def split(self, flat: npt.NDArray[np.float32]) -> dict[str, npt.NDArray[np.float32]]:
        """``flat`` as arrays again."""
        found, start = {}, 0
        for name, shape in self.arrays.items():
            size = int(np.prod(shape))
            found[name] = flat[start : start + size].reshape(shape)
            start += size
        return found

    def check(self, arrays: Arrays, where: str) -> None:
        """``ModelError`` that names the first array that is missing, of another shape or kind of numbers, or not finite."""
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
        raise ModelError(f"{where}: array {name!r} has the shape {values.shape}, expected {shape}")
    if values.dtype != np.float32 and not (may_be_8_bit and values.dtype == np.int8):
        raise ModelError(f"{where}: array {name!r} has numbers of type {values.dtype}, expected float32")
    if not np.isfinite(values).all():
        raise ModelError(f"{where}: array {name!r} has numbers that are not finite")
