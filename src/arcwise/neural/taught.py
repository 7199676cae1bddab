"""What a teacher says of the sentences of ``Data``, and the loss of a student: the cross-entropy between tree distributions."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from arcwise.neural.batch import Batch
from arcwise.neural.config import NeuralConfig
from arcwise.neural.network import Hidden, Network
from arcwise.parsing.taught_arcs import TaughtArcs
from arcwise.torch import TreeCRF

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Taught:
    """How probable the arcs into each word are, and how much each sentence counts. A sentence of which nothing is told has its own tree."""

    arcs: TaughtArcs
    weights: npt.NDArray[np.float64]
    starts: Ints
    """The first word of each sentence among all words."""

    def told(self, sentences: Ints) -> npt.NDArray[np.bool_]:
        """Whether the teacher says something of the words of each sentence."""
        first, last = self.arcs.starts[self.starts[sentences]], self.arcs.starts[self.starts[sentences + 1]]
        return last > first

    def loss(self, network: Network, hidden: Hidden, batch: Batch, config: NeuralConfig) -> Tensor:
        """(B,): H(teacher, student) = log Z - Σ P(arc) · score, and for labels -Σ P(arc, label) · log P(label | arc), of the student."""
        arcs = network.arcs(hidden)
        trees = TreeCRF(arcs, batch.lengths, projective=config.projective, single_root=config.single_root)
        b, h, m, label, share = self._entries(batch.sentences, arcs.device)
        scores = arcs[b, h, m]
        if network.shape.states:
            of_labels = network.by_label(network.all_label_scores(hidden))
            scores = scores + of_labels[b, h, m, label]
        right = scores.new_zeros(batch.size).index_add(0, b, share.to(scores.dtype) * scores)
        return trees.log_partition - right

    def _entries(
        self, sentences: Ints, device: torch.device
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Of each arc that is told: sentence of the batch, head, dependent, label, share."""
        lengths = self.starts[sentences + 1] - self.starts[sentences]
        of_word = np.repeat(np.arange(len(sentences)), lengths)
        place = np.arange(len(of_word)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        words = self.starts[sentences][of_word] + place
        counts = np.diff(self.arcs.starts)[words]
        own = self.arcs.of_words(words)
        whole = np.stack(
            [np.repeat(of_word, counts), own.heads, np.repeat(place + 1, counts), np.maximum(own.labels, 0)]
        )
        b, h, m, label = torch.from_numpy(whole.astype(np.int64)).to(device)
        return b, h, m, label, torch.from_numpy(own.shares).to(device)
