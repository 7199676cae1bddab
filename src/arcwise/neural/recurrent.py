"""``RecurrentEncoder``: tables of vectors and a bidirectional LSTM, in PyTorch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding
from torch.nn.utils.rnn import PackedSequence

from arcwise.neural.batch import Batch, Dropout, apply_dropout
from arcwise.neural.inputs import ROOT, UNKNOWN
from arcwise.neural.packed_lstm import packed_lstm
from arcwise.neural.shape import NetworkShape


class RecurrentEncoder(nn.Module):
    """What a network sees of a word, each by a table of vectors, and layers of LSTMs over them (Kiperwasser & Goldberg 2016)."""

    def __init__(self, shape: NetworkShape) -> None:
        super().__init__()
        self.shape = shape
        self.tables = nn.ParameterList(nn.Parameter(torch.randn(rows, size)) for rows, size in shape.tables)
        self.layers = nn.ModuleList(
            nn.LSTM(shape.input_size if layer == 0 else shape.width, shape.hidden, bidirectional=True)
            for layer in range(shape.layers)
        )

    def start(self) -> None:
        """First weights: orthogonal matrices, a bias of 1 for the forget gates."""
        for table in self.tables:
            nn.init.normal_(table, std=0.5)
        for name, weight in self.layers.named_parameters():
            if weight.ndim == 2:
                for gate in weight.data.chunk(4):
                    nn.init.orthogonal_(gate)
            else:
                weight.data.zero_()
                if "bias_ih" in name:
                    weight.data[self.shape.hidden : 2 * self.shape.hidden] = 1

    def forward(self, rows: Tensor, batch: Batch, drops: Dropout | None = None) -> Tensor:
        """(N, 2H): the output of the last layer, ``rows`` (N, atoms) being those of the batch's positions."""
        parts = []
        for place, table in enumerate(self.tables):
            own = rows[:, place]
            if drops is not None and drops.inputs[place] > 0:
                lost = torch.rand(len(own), device=own.device) < drops.inputs[place]
                own = own.masked_fill(lost & (own != ROOT), UNKNOWN)
            parts.append(embedding(own, table))
        states = apply_dropout(torch.cat(parts, 1), batch, drops)
        for layer in self.layers:
            states = apply_dropout(_through(layer, states, batch), batch, drops)
        return states

    def flatten(self) -> None:
        """Put the weights of each layer into one stretch of memory, as a GPU wants them."""
        for layer in self.layers:
            layer.flatten_parameters()  # type: ignore[operator]

    def parameter_of(self) -> dict[str, Sequence[Any]]:
        """Name of an array (``NetworkShape``) → the parameters whose sum it is."""
        found: dict[str, Sequence[Any]] = {f"table.{i}": (table,) for i, table in enumerate(self.tables)}
        for number, layer in enumerate(self.layers):
            for direction, end in (("forward", "_l0"), ("backward", "_l0_reverse")):
                name = f"layer.{number}.{direction}"
                found[f"{name}.input"] = (getattr(layer, f"weight_ih{end}"),)
                found[f"{name}.recurrent"] = (getattr(layer, f"weight_hh{end}"),)
                found[f"{name}.bias"] = (getattr(layer, f"bias_ih{end}"), getattr(layer, f"bias_hh{end}"))
        return found


def _through(layer: Any, states: Tensor, batch: Batch) -> Tensor:
    """(N, 2H): what a layer of LSTMs makes of the positions."""
    if states.device.type == "cpu":
        return packed_lstm(layer, states, batch.counts.tolist())
    output, _ = layer(PackedSequence(states, batch.counts))
    return torch.as_tensor(output.data)
