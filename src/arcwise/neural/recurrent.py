"""``RecurrentEncoder``: embeddings and a bidirectional LSTM, in PyTorch."""

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
    """Concatenated embeddings of each word's atoms, then LSTM layers (Kiperwasser & Goldberg 2016)."""

    def __init__(self, shape: NetworkShape) -> None:
        super().__init__()
        self.shape = shape
        self.tables = nn.ParameterList(nn.Parameter(torch.randn(rows, size)) for rows, size in shape.tables)
        self.layers = nn.ModuleList(
            nn.LSTM(shape.input_size if layer == 0 else shape.width, shape.hidden, bidirectional=True)
            for layer in range(shape.layers)
        )

    def start(self) -> None:
        """Initialise the weights: orthogonal matrices, a bias of 1 for the forget gates."""
        for table in self.tables:
            nn.init.normal_(table, std=0.5)
        for name, weight in self.layers.named_parameters():
            if weight.ndim == 2:
                for gate in weight.data.chunk(4):
                    nn.init.orthogonal_(gate)
            else:
                weight.data.zero_()
                # torch adds two biases, bias_ih and bias_hh; gates are ordered input, forget, cell, output.
                if "bias_ih" in name:
                    weight.data[self.shape.hidden : 2 * self.shape.hidden] = 1

    def forward(self, rows: Tensor, batch: Batch, drops: Dropout | None = None) -> Tensor:
        """Encode the batch's positions, ``rows`` (N, atoms), into the last layer's output (N, 2H)."""
        parts = []
        for place, table in enumerate(self.tables):
            codes = rows[:, place]
            if drops is not None and drops.inputs[place] > 0:
                dropped = torch.rand(len(codes), device=codes.device) < drops.inputs[place]
                codes = codes.masked_fill(dropped & (codes != ROOT), UNKNOWN)
            parts.append(embedding(codes, table))
        states = apply_dropout(torch.cat(parts, 1), batch, drops)
        for layer in self.layers:
            states = apply_dropout(_run_layer(layer, states, batch), batch, drops)
        return states

    def flatten(self) -> None:
        """Make the weights of each layer contiguous in memory, as cuDNN requires for speed."""
        for layer in self.layers:
            layer.flatten_parameters()  # type: ignore[operator]

    def parameter_of(self) -> dict[str, Sequence[Any]]:
        """Map each array name of ``NetworkShape`` to the parameters whose sum it is."""
        parameters: dict[str, Sequence[Any]] = {f"table.{i}": (table,) for i, table in enumerate(self.tables)}
        for number, layer in enumerate(self.layers):
            for direction, end in (("forward", "_l0"), ("backward", "_l0_reverse")):
                name = f"layer.{number}.{direction}"
                parameters[f"{name}.input"] = (getattr(layer, f"weight_ih{end}"),)
                parameters[f"{name}.recurrent"] = (getattr(layer, f"weight_hh{end}"),)
                parameters[f"{name}.bias"] = (
                    getattr(layer, f"bias_ih{end}"),
                    getattr(layer, f"bias_hh{end}"),
                )
        return parameters


def _run_layer(layer: Any, states: Tensor, batch: Batch) -> Tensor:
    """Run a bidirectional LSTM layer over packed positions: (N, 2H)."""
    # On the CPU the backward pass of torch's packed LSTM is slow; see ``packed_lstm``.
    if states.device.type == "cpu":
        return packed_lstm(layer, states, batch.counts.tolist())
    output, _ = layer(PackedSequence(states, batch.counts))
    return torch.as_tensor(output.data)
