"""Inference with trained networks in PyTorch: loading them, finding the best trees of a batch."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
from torch import Tensor

from arcwise.inference.tree_class import TreeClass
from arcwise.neural.batch import Batch
from arcwise.neural.model import NeuralModel, dequantised
from arcwise.neural.network import Network
from arcwise.neural.transformer_encoder import TransformerEncoder
from arcwise.torch import TreeCRF


def load_network(model: NeuralModel, weights: Mapping[str, npt.NDArray[np.float32]], device: str) -> Network:
    """Build the network of one member of a model on a device, for inference only."""
    encoder = None
    if model.transformer is not None:
        encoder = TransformerEncoder(model.transformer, layers=model.config.encoder_layers)
    network = Network(model.shape, encoder)
    network.load(dequantised(weights))
    network = network.to(device).requires_grad_(False).eval()
    network.encoder.flatten()
    return network


def best_trees(arcs: Tensor, batch: Batch, trees: TreeClass, *, minimum_risk: bool = False) -> Tensor:
    """(B, T): heads of the best trees; with ``minimum_risk`` those with the highest expected UAS."""
    for use_marginals in (True, False) if minimum_risk else (False,):
        crf = TreeCRF(arcs, batch.lengths, projective=trees.projective, single_root=trees.single_root)
        if use_marginals:
            arcs = crf.marginals
    best = crf.best()
    assert isinstance(best, Tensor)
    return best
