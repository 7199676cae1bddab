"""Bidirectional LSTM layer over packed sentences on the CPU.

It computes what ``torch.nn.LSTM`` does, but faster: torch's gradient of packed sentences adds up a tensor as
large as the batch for every position.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd import Function
from torch.autograd.function import once_differentiable

_ENDS = ("_l0", "_l0_reverse")
"""Suffixes of a layer's weights: forward, backward."""


def packed_lstm(layer: nn.LSTM, rows: Tensor, counts: Sequence[int]) -> Tensor:
    """Run a bidirectional layer on ``rows`` (N, D), packed as in ``Batch`` with ``counts`` rows per position.

    Returns the outputs, (N, 2H).
    """

    def both(name: str) -> list[Tensor]:
        return [getattr(layer, name + end) for end in _ENDS]

    bias = torch.cat(both("bias_ih")) + torch.cat(both("bias_hh"))
    outputs = _Layer.apply(rows, torch.cat(both("weight_ih")), bias, torch.stack(both("weight_hh")), counts)
    return torch.as_tensor(outputs)


class _Layer(Function):
    """Weights of the gates (input, forget, cell, output; forward, then backward).

    Input weights (8H, D), bias (8H), recurrent weights (2, 4H, H).
    """

    @staticmethod
    def forward(
        ctx: Any, rows: Tensor, of_inputs: Tensor, bias: Tensor, of_outputs: Tensor, counts: Sequence[int]
    ) -> Tensor:
        size = of_outputs.shape[2]
        # A single product for all positions and both directions; only the recurrent part is sequential.
        gates = _product(rows, of_inputs.t()).add_(bias)
        outputs, outputs_before, cells_before, squashed = (
            gates.new_empty(len(gates), 2 * size) for _ in range(4)
        )
        for way in range(2):
            values = [
                both.chunk(2, 1)[way] for both in (gates, outputs, outputs_before, cells_before, squashed)
            ]
            output, cell = (gates.new_zeros(counts[0], size) for _ in range(2))
            weights = of_outputs[way].t().contiguous()
            # tanh(x) = 2 σ(2x) - 1, because torch computes σ nine times as fast as tanh.
            for place, count in _positions(counts, backwards=way == 1):
                gate, out, out_before, cell_before, tanh = (value[place] for value in values)
                last, kept = output[:count], cell[:count]
                out_before.copy_(last)
                cell_before.copy_(kept)
                gate.addmm_(last, weights)
                gate[:, 2 * size : 3 * size].mul_(2)
                gate.sigmoid_()
                gate[:, 2 * size : 3 * size].mul_(2).sub_(1)
                let_in, forget, new, let_out = gate.chunk(4, 1)
                kept.mul_(forget).addcmul_(let_in, new)
                torch.mul(kept, 2, out=tanh)
                tanh.sigmoid_().mul_(2).sub_(1)
                torch.mul(let_out, tanh, out=last)
                out.copy_(last)
        ctx.save_for_backward(rows, of_inputs, of_outputs, gates, outputs_before, cells_before, squashed)
        ctx.counts = counts
        return outputs

    @staticmethod
    @once_differentiable  # type: ignore[untyped-decorator]
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        rows, of_inputs, of_outputs, gates, outputs_before, cells_before, squashed = ctx.saved_tensors
        size, counts = of_outputs.shape[2], ctx.counts
        gate_gradient = torch.empty_like(gates)  # with respect to the pre-activations
        recurrent_gradient = torch.empty_like(of_outputs)
        for way in range(2):
            slopes, way_gates = gate_gradient.chunk(2, 1)[way], gates.chunk(2, 1)[way]
            before, last, tanh, incoming = (
                both.chunk(2, 1)[way] for both in (cells_before, outputs_before, squashed, gradient)
            )
            let_in, forget, new, let_out = way_gates.chunk(4, 1)
            of_in, of_forget, of_new, of_out = slopes.chunk(4, 1)
            # Local derivatives of all positions at once; the loop below multiplies them by the gradients
            # of cell and output, which depend on each other from position to position.
            torch.mul(new, let_in - let_in * let_in, out=of_in)
            torch.mul(before, forget - forget * forget, out=of_forget)
            torch.mul(let_in, 1 - new * new, out=of_new)
            torch.mul(tanh, let_out - let_out * let_out, out=of_out)
            to_cell = let_out - let_out * tanh * tanh
            output, cell = (gates.new_zeros(counts[0], size) for _ in range(2))
            for place, count in _positions(counts, backwards=way == 0):
                of_output, of_cell = output[:count], cell[:count]
                of_output.add_(incoming[place])
                of_cell.addcmul_(of_output, to_cell[place])
                slopes[place].unflatten(1, (4, size))[:, :3].mul_(of_cell[:, None])
                of_out[place].mul_(of_output)
                of_cell.mul_(forget[place])
                torch.mm(slopes[place], of_outputs[way], out=of_output)
            recurrent_gradient[way] = _product(slopes.t(), last)
        of_rows, of_weights = _product(gate_gradient, of_inputs), _product(gate_gradient.t(), rows)
        return of_rows, of_weights, gate_gradient.sum(0), recurrent_gradient, None


def _product(left: Tensor, right: Tensor) -> Tensor:
    """Matrix product; factors and result in bfloat16 if torch may use it (``repeatable``)."""
    if torch.get_float32_matmul_precision() != "medium":
        return left @ right
    return (left.bfloat16() @ right.bfloat16()).float()


def _positions(counts: Sequence[int], *, backwards: bool) -> Iterator[tuple[slice, int]]:
    """Yield the rows of each position and their count, forwards or backwards."""
    starts = [0]
    for count in counts:
        starts.append(starts[-1] + count)
    places = range(len(counts))
    for place in reversed(places) if backwards else places:
        yield slice(starts[place], starts[place + 1]), counts[place]
