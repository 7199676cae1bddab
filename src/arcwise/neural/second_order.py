"""Networks of order 2 in PyTorch: distributions over projective trees with scores of adjacent siblings."""

from __future__ import annotations

import torch
from torch import Tensor

from arcwise.neural.batch import Batch
from arcwise.neural.network import Hidden, Network
from arcwise.torch import SiblingTreeCRF

_LEAST_LOG_PROBABILITY = -700.0
"""As in native code: the logarithm of a probability too small for a double."""


def sibling_trees(
    network: Network,
    hidden: Hidden,
    arcs: Tensor,
    batch: Batch,
    *,
    single_root: bool,
) -> SiblingTreeCRF:
    """Return the distributions over the trees of a batch with the scores ``arcs``, (B, T, T)."""
    return SiblingTreeCRF(
        arcs, network.siblings(hidden), batch.lengths, projective=True, single_root=single_root
    )


def arc_scores(network: Network, hidden: Hidden, batch: Batch, *, single_root: bool) -> Tensor:
    """Return the scores of arcs that a decoder gets, (B, T, T): at order 2 their log-probabilities.

    Single precision, in which probabilities below 1e-38 are 0, so that native scores are lower for these.
    """
    arcs = network.arcs(hidden)
    if not network.shape.sibling_size:
        return arcs
    trees = sibling_trees(network, hidden, arcs, batch, single_root=single_root)
    return torch.log(trees.marginals).clamp(min=_LEAST_LOG_PROBABILITY)
