"""Small networks and data for the tests of training: everything in float64, so that definitions can be
compared closely."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from arcwise.inference.labels import codes_of
from arcwise.neural import NeuralConfig
from arcwise.neural.data import Data
from arcwise.neural.inputs import Inputs
from arcwise.neural.model import network_shape
from arcwise.neural.network import Network
from arcwise.neural.objectives import tree_loss
from arcwise.neural.tags import TagAlphabets
from arcwise.treebanks import Treebank
from contracts.small_treebank import conllu, small_treebank
from neural.random_models import SMALL, random_arrays
from neural.slow_network import SlowNetwork, log_softmax

SENTENCES = {
    "whole": "The/DET/2/det cat/NOUN/3/nsubj sleeps/VERB/0/root",
    "one word": "Yes/INTJ/0/root",
    "crossing": "a/DET/3/det b/NOUN/4/obj c/NOUN/0/root d/VERB/3/obj",
    "two roots": "a/DET/0/root b/NOUN/0/root c/X/2/obj",
    "some heads": "a/DET/_/_ b/NOUN/3/nsubj c/VERB/_/_ d/X/3/obj",
    "heads without labels": "a/DET/2/_ b/NOUN/0/_ c/X/2/obj",
    "labels without heads": "a/DET/_/det b/NOUN/_/nsubj c/VERB/0/root",
    "nothing known": "a/DET/_/_ b/NOUN/_/_",
}
"""Everything that may be known of a tree; words that some of the networks have not seen."""
WHOLE = ("whole", "one word")


@dataclass(frozen=True)
class Tiny:
    """A network with random weights, and sentences to learn from."""

    config: NeuralConfig
    treebank: Treebank
    inputs: Inputs
    labels: tuple[str, ...]
    tags: TagAlphabets
    network: Network
    data: Data

    @classmethod
    def of(cls, treebank: Treebank, *, seed: int = 1, **options: Any) -> Tiny:
        chosen: dict[str, Any] = SMALL | {"dropout": 0.0, "word_dropout": 0.0, **options}
        config = NeuralConfig(**chosen).resolved(treebank.word_count)
        known = small_treebank(crossing=True)
        inputs = Inputs.learn(known, config.inputs, rare=0)
        labels = ("det", "nsubj", "obj", "root")[: 4 if config.labelled else 0]
        tags = TagAlphabets.learn(known, config.learns)
        shape = network_shape(config, inputs, labels, tags)
        network = Network(shape).double()
        network.load(random_arrays(shape, seed))
        heads = np.ascontiguousarray(treebank.heads, np.int32)
        codes = codes_of(treebank.column("deprel"), labels)
        data = Data.of(treebank, inputs, heads, codes, tags.codes(treebank), "cpu")
        return cls(config, treebank, inputs, labels, tags, network, data)

    @property
    def everything(self) -> np.ndarray:
        """The numbers of all sentences."""
        return np.arange(len(self.treebank), dtype=np.int64)

    def losses(self, sentences: np.ndarray | None = None) -> Tensor:
        """The loss of each of the sentences, in the order in which they are given."""
        chosen = self.everything if sentences is None else sentences
        batch = self.data.batch(chosen)
        hidden = self.network.hidden(self.data.rows[batch.positions], batch)
        found = tree_loss(self.network, hidden, self.data, batch, self.config)
        longest_first = np.argsort(-self.data.lengths[chosen], kind="stable")
        return found[np.argsort(longest_first)]

    def slow(self) -> SlowNetwork:
        """The same network, in plain numpy."""
        shape = self.network.shape
        return SlowNetwork(
            self.inputs.atoms,
            self.inputs.vocabularies,
            self.network.arrays(),
            shape.layers,
            shape.labels,
            shape.clusters,
            len(shape.tags),
            self.config.order,
        )

    def slow_scores(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Of each sentence the scores of arcs (n+1, n+1), and log P(state | arc) (n+1, n+1, states)."""
        slow = self.slow()
        found = []
        for rows in slow.rows(self.treebank):
            states = slow.states(rows)
            labels = slow.label_scores(states) if slow.labels else np.zeros((*slow.arcs(states).shape, 1))
            found.append((slow.arcs(states), log_softmax(labels)))
        return found

    def slow_siblings(self) -> list[np.ndarray]:
        """Of each sentence the scores of siblings, (n+1, n+1, n+1); zeros at order 1."""
        slow = self.slow()
        states = [slow.states(rows) for rows in slow.rows(self.treebank)]
        return [slow.siblings(s) if slow.order == 2 else np.zeros((len(s),) * 3) for s in states]


def sentences(*names: str) -> Treebank:
    """Those of ``SENTENCES``, all of them if none is named."""
    return Treebank.from_string(
        conllu([SENTENCES[name] for name in names or SENTENCES]), source="tiny.conllu"
    )


def gradient(tiny: Tiny, sentences: np.ndarray | None = None) -> tuple[list[Tensor], list[Tensor]]:
    """The parameters, and the gradient of the sum of the finite losses by them."""
    parameters = [p for p in tiny.network.parameters() if p.requires_grad]
    losses = tiny.losses(sentences)
    total = torch.where(losses.isfinite(), losses, 0.0).sum()
    slopes = torch.autograd.grad(total, parameters, allow_unused=True)
    return parameters, [
        torch.zeros_like(p) if s is None else s for p, s in zip(parameters, slopes, strict=True)
    ]
