"""Gumbel noise on scores, and the best trees under it (perturb-and-MAP)."""

from __future__ import annotations

import torch
from torch import Generator, Tensor

from arcwise.torch import operators
from arcwise.torch.score_tensors import ScoreTensors, with_values


def gumbel_noise(scores: Tensor, generator: Generator | None) -> Tensor:
    """Draw Gumbel noise shaped as the scores; the generator may be on another device."""
    noise = torch.empty_like(scores, memory_format=torch.contiguous_format)
    if generator is None or generator.device == noise.device:
        noise.exponential_(generator=generator)
    else:
        noise.copy_(torch.empty(noise.shape, dtype=noise.dtype).exponential_(generator=generator))
    return -noise.log()


def perturbed_trees(scores: ScoreTensors, count: int, generator: Generator | None) -> tuple[Tensor, Tensor]:
    """Return heads and labels, (B, count, N+1): the best tree under independent noise on every labelled arc.

    Without labels the second is the first.
    """
    values = scores.values.detach()
    repeated = scores.select([s for s in range(len(values)) for _ in range(count)])
    copies = repeated.values.detach()
    noisy = with_values(repeated, copies + gumbel_noise(copies, generator))
    heads, _ = operators.decode(noisy.padded(noisy.best_arcs))
    if noisy.label_dim is None:
        labels = heads
    else:
        labels = torch.where(heads >= 0, noisy.label_scores(heads[:, None]).argmax(-1)[:, 0], -1)
    parts = (part.unflatten(0, (len(values), count)) for part in (heads, labels))
    tree_heads, tree_labels = parts
    return tree_heads, tree_labels
