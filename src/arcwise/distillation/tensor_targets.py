"""``TensorTargets``: soft targets as tensors, and the cross-entropy with a student."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from arcwise.distillation.soft_targets import SoftTargets
from arcwise.torch import TreeCRF

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class TensorTargets:
    """Soft targets and sentence weights; sentences without targets use their gold tree."""

    targets: SoftTargets
    weights: npt.NDArray[np.float64]
    starts: Ints
    """The first word of each sentence among all words."""

    def has_targets(self, sentences: Ints) -> npt.NDArray[np.bool_]:
        """Whether each sentence has soft targets."""
        arc_starts = self.targets.starts
        return arc_starts[self.starts[sentences + 1]] > arc_starts[self.starts[sentences]]

    def loss(
        self,
        sentences: Ints,
        arcs: Tensor,
        labels: Tensor | None,
        lengths: Tensor,
        *,
        projective: bool,
        single_root: bool,
    ) -> Tensor:
        """(B,): the cross-entropy log Z - Σ P(arc) · score - Σ P(arc, label) · log P(label | arc).

        ``arcs`` are the student's arc scores (B, n+1, n+1), ``labels`` its log P(label | arc) (B, n+1, n+1,
        L).
        """
        trees = TreeCRF(arcs, lengths, projective=projective, single_root=single_root)
        b, h, m, label, probability = self._entries(sentences, arcs.device)
        scores = arcs[b, h, m]
        if labels is not None:
            scores = scores + labels[b, h, m, label]
        expected = scores.new_zeros(len(sentences)).index_add(0, b, probability.to(scores.dtype) * scores)
        return trees.log_partition - expected

    def _entries(
        self, sentences: Ints, device: torch.device
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Of each arc: its sentence in the batch, head, dependent, label and probability."""
        lengths = self.starts[sentences + 1] - self.starts[sentences]
        of_word = np.repeat(np.arange(len(sentences)), lengths)
        place = np.arange(len(of_word)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        words = self.starts[sentences][of_word] + place
        counts = np.diff(self.targets.starts)[words]
        arcs = self.targets.select_words(words)
        columns = np.stack(
            [
                np.repeat(of_word, counts),
                arcs.heads,
                np.repeat(place + 1, counts),
                np.maximum(arcs.labels, 0),
            ]
        )
        b, h, m, label = torch.from_numpy(columns.astype(np.int64)).to(device)
        return b, h, m, label, torch.from_numpy(arcs.probabilities).to(device)
