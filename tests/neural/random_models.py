"""Neural parsers with random weights: everything after training can be tried without torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.neural import NeuralConfig, NeuralModel, NeuralParser
from arcwise.neural.inputs import Inputs
from arcwise.neural.model import network_shape
from arcwise.neural.shape import NetworkShape
from arcwise.neural.tags import TagAlphabets
from arcwise.parsing import Decoding
from arcwise.treebanks import Treebank
from contracts.small_treebank import small_treebank

SMALL: dict[str, Any] = {
    "inputs": ("lower", "suffix2", "shape", "upos"),
    "word_size": 6,
    "affix_size": 4,
    "tag_size": 5,
    "layers": 2,
    "hidden": 8,
    "arc_size": 7,
    "label_size": 6,
    "rare": 0,
    "device": "cpu",
}
"""Options of a network that is trained, and runs, in no time."""


def random_arrays(
    shape: NetworkShape, seed: int, *, scale: float = 1.5
) -> dict[str, npt.NDArray[np.float32]]:
    """Weights such that arcs and labels have scores of some units."""
    random = np.random.default_rng(seed)
    # Products of three representations are small.
    scales = {name: scale * (20 if name == "sibling.product" else 1) for name in shape.arrays}
    return {
        name: (scales[name] * random.normal(size=size) / np.sqrt(max(size[-1], 4))).astype(np.float32)
        for name, size in shape.arrays.items()
    }


def random_model(
    treebank: Treebank | None = None,
    *,
    seed: int = 1,
    members: int = 1,
    root_label: str | None = None,
    **options: Any,
) -> NeuralModel:
    """A model that knows the words, labels and tags of the treebank, and nothing else.

    ``root_label``: the label of all arcs from the root and of no others.
    """
    treebank = treebank or small_treebank(crossing=True)
    config = NeuralConfig(**(SMALL | {"ensemble": members} | options)).resolved(treebank.word_count)
    inputs = Inputs.learn(treebank, config.inputs, rare=config.rare)
    labels = tuple(sorted(set(treebank.column("deprel")))) if config.labelled else ()
    tags = TagAlphabets.learn(treebank, config.learns)
    shape = network_shape(config, inputs, labels, tags)
    networks = tuple(random_arrays(shape, seed + number) for number in range(members))
    decoding = Decoding("map", config.projective, config.single_root)
    return NeuralModel(
        config,
        inputs,
        labels,
        tags,
        networks,
        decoding,
        writes=tags.columns,
        root_label=-1 if root_label is None else labels.index(root_label),
    )


def random_parser(*, bits: int = 32, **options: Any) -> NeuralParser:
    """A parser over a random model; ``bits``: of its weights, 32 or 8."""
    model = random_model(**options)
    return NeuralParser(model.quantised() if bits == 8 else model)


PARSERS: dict[str, dict[str, Any]] = {
    "neural": {},
    "neural-8-bit": {"bits": 8, "seed": 3},
    "neural-unlabelled": {"labelled": False, "seed": 2},
    "neural-latent": {"clusters": 3, "seed": 5},
    "neural-ensemble": {"members": 2, "seed": 7},
    "neural-latent-ensemble": {"members": 2, "clusters": 2, "bits": 8, "seed": 11},
    "neural-tags": {"learns": ("upos",), "seed": 13},
    "neural-root-label": {"root_label": "root", "seed": 17},
    "neural-siblings": {"order": 2, "sibling_size": 5, "seed": 76},
    "neural-siblings-ensemble": {
        "order": 2,
        "sibling_size": 4,
        "members": 2,
        "bits": 8,
        "root_label": "root",
        "seed": 50,
    },
    "neural-root-label-latent-ensemble": {"root_label": "nsubj", "members": 2, "clusters": 2, "seed": 19},
}
"""One of every sort, by name: what ``random_parser`` makes it from."""
