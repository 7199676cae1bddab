"""``TensorTargets``: soft targets as tensors, and the cross-entropy with a student."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
        label_scores: Callable[[Tensor, Tensor, Tensor], Tensor] | None,
        lengths: Tensor,
        *,
        projective: bool,
        single_root: bool,
    ) -> Tensor:
        """(B,): the cross-entropy log Z - Σ P(arc) · score - Σ P(arc, label) · log P(label | arc).

        ``arcs`` are the student's arc scores (B, n+1, n+1). ``label_scores`` returns its log P(label | arc),
        (A, L), of the A arcs with these sentences, heads and dependents.
        """
        trees = TreeCRF(arcs, lengths, projective=projective, single_root=single_root)
        places, number, label, probability = self._entries(sentences, arcs.device)
        probability = probability.to(arcs.dtype)
        # Each arc has a separate place in a dense tensor: a GPU need not add up at duplicate indices, which
        # is slow where it has to be deterministic.
        of_arc = torch.zeros(len(places[0]), dtype=arcs.dtype, device=arcs.device)
        of_arc = of_arc.index_add(0, number, probability)
        expected = arcs.new_zeros(arcs.shape).index_put(places, of_arc) * arcs
        if label_scores is not None:
            scores = label_scores(*places)
            of_label = torch.zeros_like(scores).index_put((number, label), probability)
            expected = expected + torch.zeros_like(arcs).index_put(places, (of_label * scores).sum(1))
        return trees.log_partition - expected.sum((1, 2))

    def _entries(
        self, sentences: Ints, device: torch.device
    ) -> tuple[tuple[Tensor, Tensor, Tensor], Tensor, Tensor, Tensor]:
        """Sentence in the batch, head and dependent of each arc; arc, label and probability of each entry."""
        lengths = self.starts[sentences + 1] - self.starts[sentences]
        of_word = np.repeat(np.arange(len(sentences)), lengths)
        place = np.arange(len(of_word)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        words = self.starts[sentences][of_word] + place
        entries = self.targets.select_words(words)
        word = entries.words
        # Entries are sorted by word and head.
        is_first = (np.diff(word, prepend=-1) != 0) | (np.diff(entries.heads, prepend=-1) != 0)
        arcs = np.stack([of_word[word], entries.heads, place[word] + 1])[:, is_first]
        columns = np.stack([np.cumsum(is_first) - 1, np.maximum(entries.labels, 0)])
        b, h, m = _moved(arcs.astype(np.int64), device)
        number, label = _moved(columns.astype(np.int64), device)
        return (b, h, m), number, label, _moved(entries.probabilities, device)


def _moved(array: npt.NDArray[Any], device: torch.device) -> Tensor:
    tensor = torch.from_numpy(array)
    return (tensor.pin_memory() if device.type == "cuda" else tensor).to(device, non_blocking=True)
