"""The network of the neural parser in plain numpy, sentence by sentence: what ``native.NeuralNetwork`` must
compute.

In float64; with ``precision="int8"`` the matrices are rounded to 8 bits and multiplied in integers, as the
native network does it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.factors import FactoredTreeDistribution, Siblings
from arcwise.treebanks import Treebank

Floats = npt.NDArray[np.float64]
UNKNOWN, NOTHING, ROOT, FIRST_VALUE = range(4)
MATRICES = (".input", ".recurrent", ".weight", "label.product")
"""Ends of the names of matrices that 8-bit networks round, besides tables."""


def is_matrix(name: str) -> bool:
    """Whether an array is a matrix that may be in 8 bits."""
    return name.startswith("table.") or name.endswith(MATRICES)


def in_bytes(matrix: npt.ArrayLike) -> tuple[npt.NDArray[np.int8], npt.NDArray[np.float32]]:
    """Rows in 8 bits, by their largest number."""
    numbers = np.asarray(matrix, np.float32)
    most = np.abs(numbers).max(axis=-1)
    scale = np.where(most > 0, most / np.float32(127), np.float32(1)).astype(np.float32)
    return np.clip(np.rint(numbers / scale[..., None]), -127, 127).astype(np.int8), scale


def sigmoid(x: Floats) -> Floats:
    return 0.5 * (1 + np.tanh(0.5 * x))


def log_softmax(x: Floats) -> Floats:
    top = x.max(axis=-1, keepdims=True)
    return x - top - np.log(np.exp(x - top).sum(axis=-1, keepdims=True))


@dataclass
class SlowNetwork:
    """Made from what ``native.NeuralNetwork`` is made from."""

    atoms: Sequence[str]
    vocabularies: Sequence[native.Vocabulary]
    arrays: Mapping[str, npt.NDArray[Any]]
    layers: int
    labels: int = 0
    clusters: int = 1
    tags: int = 0
    order: int = 1
    precision: str = "float32"

    def number(self, name: str) -> Floats:
        """An array, of 8-bit networks as it is after rounding."""
        found = self.arrays[name]
        if self.precision == "int8" and is_matrix(name):
            if found.dtype == np.int8:
                return found.astype(np.float64) * self.arrays[f"{name}.scale"][..., None]
            numbers, scale = in_bytes(found)
            return numbers.astype(np.float64) * scale[..., None]
        return found.astype(np.float64)

    def product(self, name: str, x: Floats) -> Floats:
        """The product with outputs of an LSTM, which 8-bit networks round to 127ths."""
        return (np.rint(127 * x) / 127 if self.precision == "int8" else x) @ self.number(name).T

    def rows(self, treebank: Treebank) -> list[npt.NDArray[np.int64]]:
        """The rows of the tables, (n+1, tables) for each sentence."""
        found = native.token_atoms(treebank.layout, treebank.data, list(self.atoms))
        rows = np.full(found.shape, UNKNOWN)
        for column, vocabulary in enumerate(self.vocabularies):
            rank = {int(value): place for place, value in enumerate(vocabulary.hashes)}
            for word, value in enumerate(found[:, column]):
                rows[word, column] = NOTHING if value == 0 else rank.get(int(value), -3) + FIRST_VALUE
        words = treebank.sentence_words
        root = np.full((1, len(self.atoms)), ROOT)
        return [np.vstack([root, rows[words[s] : words[s + 1]]]) for s in range(len(treebank))]

    def direction(self, name: str, inputs: Floats) -> Floats:
        """The outputs of an LSTM that reads rows of products with its input matrix, bias included."""
        H = self.arrays[f"{name}.recurrent"].shape[1]
        h, c, outputs = np.zeros(H), np.zeros(H), []
        for start in inputs:
            i, f, g, o = np.split(start + self.product(f"{name}.recurrent", h), 4)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = sigmoid(o) * np.tanh(c)
            outputs.append(h)
        return np.array(outputs)

    def states(self, rows: npt.NDArray[np.int64]) -> Floats:
        """Outputs of the last layer, (n+1, 2H)."""
        x = np.hstack([self.number(f"table.{t}")[rows[:, t]] for t in range(len(self.atoms))])
        for layer in range(self.layers):
            both = []
            for name in (f"layer.{layer}.forward", f"layer.{layer}.backward"):
                inputs = (
                    x @ self.number(f"{name}.input").T if layer == 0 else self.product(f"{name}.input", x)
                )
                inputs = inputs + self.number(f"{name}.bias")
                back = name.endswith("backward")
                both.append(
                    self.direction(name, inputs[::-1])[::-1] if back else self.direction(name, inputs)
                )
            x = np.hstack(both)
        return np.rint(127 * x) / 127 if self.precision == "int8" else x

    def space(self, name: str, states: Floats) -> Floats:
        """A perceptron."""
        y = self.product(f"{name}.weight", states) + self.number(f"{name}.bias")
        return np.where(y > 0, y, 0.1 * y)

    def arcs(self, states: Floats) -> Floats:
        """s(h, m), (n+1, n+1)."""
        head, dependent = self.space("arc_head", states), self.space("arc_dependent", states)
        return head @ (dependent @ self.number("arc.product").T + self.number("arc.head")).T

    def siblings(self, states: Floats) -> Floats:
        """t(h, s, m), (n+1, n+1, n+1); 0 where no tree has such a pair."""
        head, inner, outer = (self.space(f"sibling_{side}", states) for side in ("head", "inner", "outer"))
        scores = np.einsum("k,hk,sk,mk->hsm", self.number("sibling.product"), head, inner, outer)
        h, s, m = np.indices(scores.shape)
        is_pair = (m > 0) & (m != h) & ((s == h) | ((h < s) & (s < m)) | ((m < s) & (s < h)))
        return np.where(is_pair, scores, 0.0)

    def arc_scores(self, states: Floats, *, single_root: bool = True) -> Floats:
        """Of every arc, (n+1, n+1): s(h, m), or with siblings its log-probability among projective trees."""
        arcs = self.arcs(states)
        if self.order == 1:
            return arcs
        trees = FactoredTreeDistribution(
            arcs, factors=[Siblings(self.siblings(states))], projective=True, single_root=single_root
        )
        with np.errstate(divide="ignore"):
            return np.maximum(np.log(trees.marginals), -700.0)

    def label_scores(self, states: Floats) -> Floats:
        """l(s, h, m), (n+1, n+1, states)."""
        head, dependent = self.space("label_head", states), self.space("label_dependent", states)
        rounded = dependent
        if self.precision == "int8":
            scale = np.abs(dependent).max(axis=1, keepdims=True) / 127
            rounded = np.rint(dependent / scale) * scale
        both = np.einsum("hi,sij,mj->hms", head, self.number("label.product"), rounded)
        return (
            both
            + (head @ self.number("label.head").T)[:, None]
            + (dependent @ self.number("label.dependent").T)[None]
            + self.number("label.bias")
        )

    def scores(self, states: Floats) -> Floats:
        """Of every arc in every state, (n+1, n+1, states); without labels (n+1, n+1, 1)."""
        arcs = self.arc_scores(states)[:, :, None]
        return arcs + log_softmax(self.label_scores(states)) if self.labels else arcs

    def classes(self, states: Floats, t: int) -> Floats:
        """Probabilities of the classes of each word, (n, classes)."""
        y = self.product(f"tag.{t}.weight", states[1:]) + self.number(f"tag.{t}.bias")
        return np.exp(log_softmax(y))


def random_network(
    atoms: Mapping[str, int],
    treebank: Treebank,
    *,
    seed: int,
    units: int = 12,
    arc_size: int = 10,
    label_size: int = 7,
    layers: int = 2,
    labels: int = 5,
    clusters: int = 1,
    tags: Sequence[int] = (),
    sibling_size: int = 0,
    values: int = 100_000,
    scale: float = 1.0,
) -> dict[str, Any]:
    """Arguments of ``native.NeuralNetwork`` and ``SlowNetwork``: atoms with their dimensions, vocabularies of
    the treebank cut down to so many values, random weights."""
    random = np.random.default_rng(seed)

    def normal(*shape: int) -> npt.NDArray[np.float32]:
        return (scale * random.normal(size=shape) / np.sqrt(shape[-1])).astype(np.float32)

    found = native.token_atoms(treebank.layout, treebank.data, list(atoms))
    vocabularies, arrays = [], {}
    for t, dimension in enumerate(atoms.values()):
        whole = native.Vocabulary.of(np.ascontiguousarray(found[:, t]))
        vocabularies.append(native.Vocabulary(whole.hashes[:values].copy(), whole.counts[:values].copy()))
        arrays[f"table.{t}"] = random.normal(size=(3 + len(vocabularies[t].hashes), dimension)).astype(
            "float32"
        )
    inputs = sum(atoms.values())
    for layer in range(layers):
        for name in (f"layer.{layer}.forward", f"layer.{layer}.backward"):
            arrays[f"{name}.input"] = normal(4 * units, 2 * units if layer else inputs)
            arrays[f"{name}.recurrent"] = normal(4 * units, units)
            arrays[f"{name}.bias"] = normal(4 * units)
    spaces = {"arc_head": arc_size, "arc_dependent": arc_size}
    if labels:
        spaces |= {"label_head": label_size, "label_dependent": label_size}
    if sibling_size:
        spaces |= {f"sibling_{side}": sibling_size for side in ("head", "inner", "outer")}
        arrays["sibling.product"] = normal(sibling_size)
    for name, size in spaces.items():
        arrays[f"{name}.weight"], arrays[f"{name}.bias"] = normal(size, 2 * units), normal(size)
    arrays["arc.product"], arrays["arc.head"] = normal(arc_size, arc_size), normal(arc_size)
    if states := labels * clusters:
        arrays["label.product"] = normal(states, label_size, label_size)
        arrays["label.head"], arrays["label.dependent"] = (
            normal(states, label_size),
            normal(states, label_size),
        )
        arrays["label.bias"] = normal(states)
    for t, classes in enumerate(tags):
        arrays[f"tag.{t}.weight"], arrays[f"tag.{t}.bias"] = normal(classes, 2 * units), normal(classes)
    return {
        "atoms": list(atoms),
        "vocabularies": vocabularies,
        "arrays": arrays,
        "layers": layers,
        "labels": labels,
        "clusters": clusters,
        "tags": len(tags),
        "order": 2 if sibling_size else 1,
    }
