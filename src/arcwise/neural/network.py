"""``Network``: the network of a neural parser in PyTorch, for training. Parsing goes through native code, which needs no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import embedding, leaky_relu, linear
from torch.nn.utils.rnn import PackedSequence

from arcwise.neural.inputs import ROOT, UNKNOWN
from arcwise.neural.shape import NetworkShape

SLOPE = 0.1
"""Of the leaky rectifier."""


@dataclass(frozen=True)
class Batch:
    """Sentences of a batch, longest first, without padding: all first positions (the roots), then all second ones, and so on.

    ``positions``: where each of the N rows stands in the data; ``counts``: rows of each position, on the CPU; ``sentence``: of each
    row, 0..B-1; ``places``: of each row in the padded (B, T) matrix, flat; ``lengths``: words of each sentence.
    """

    positions: Tensor
    counts: Tensor
    sentence: Tensor
    places: Tensor
    lengths: Tensor

    @property
    def size(self) -> int:
        """Sentences."""
        return len(self.lengths)

    @property
    def width(self) -> int:
        """T: one more than the words of the longest sentence."""
        return len(self.counts)

    @classmethod
    def of(
        cls,
        sentences: npt.NDArray[np.int64],
        starts: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int64],
        device: str | torch.device,
    ) -> Batch:
        """The batch of these sentences; ``starts`` and ``lengths`` (words) are those of all sentences of the data, whose every sentence
        begins with a root."""
        chosen = sentences[np.argsort(-lengths[sentences], kind="stable")]
        own = lengths[chosen]
        width = int(own[0]) + 1
        inside = np.arange(width)[:, None] <= own  # (T, B)
        position, sentence = np.nonzero(inside)
        flat = np.stack([starts[chosen][sentence] + position, sentence, sentence * width + position])
        moved = torch.from_numpy(flat).to(device, non_blocking=True)
        return cls(
            moved[0],
            torch.from_numpy(inside.sum(1)),
            moved[1],
            moved[2],
            torch.from_numpy(own.astype(np.int32)).to(device, non_blocking=True),
        )

    def padded(self, rows: Tensor) -> Tensor:
        """(N, D) → (B, T, D), 0 in the padding."""
        flat = rows.new_zeros(self.size * self.width, rows.shape[-1])
        return flat.index_copy(0, self.places, rows).view(self.size, self.width, -1)


@dataclass(frozen=True)
class Drops:
    """Shares that are left out in training: of the values of each table, of the numbers of vectors."""

    inputs: tuple[float, ...]
    vectors: float


@dataclass(frozen=True)
class Hidden:
    """What the network has made of a batch: vectors of the words as heads and dependents, padded (B, T, ·); states of the encoder (N, 2H)."""

    states: Tensor
    arc_heads: Tensor
    arc_dependents: Tensor
    label_heads: Tensor | None
    label_dependents: Tensor | None


class Network(nn.Module):
    """The network of a ``NetworkShape`` (Kiperwasser & Goldberg 2016; Dozat & Manning 2017)."""

    def __init__(self, shape: NetworkShape) -> None:
        super().__init__()
        self.shape = shape
        wide = 2 * shape.hidden
        self.tables = nn.ParameterList(nn.Parameter(torch.randn(rows, size)) for rows, size in shape.tables)
        self.layers = nn.ModuleList(
            nn.LSTM(shape.input_size if layer == 0 else wide, shape.hidden, bidirectional=True)
            for layer in range(shape.layers)
        )
        sides = ("arc_head", "arc_dependent", *(("label_head", "label_dependent") if shape.states else ()))
        sizes = {"arc": shape.arc_size, "label": shape.label_size}
        self.sides = nn.ModuleDict({side: nn.Linear(wide, sizes[side.split("_")[0]]) for side in sides})
        self.arc_product = nn.Parameter(torch.zeros(shape.arc_size, shape.arc_size))
        self.arc_head = nn.Parameter(torch.zeros(shape.arc_size))
        if shape.states:
            S, R = shape.states, shape.label_size
            self.label_product = nn.Parameter(torch.zeros(S, R, R))
            self.label_head = nn.Parameter(torch.zeros(S, R))
            self.label_dependent = nn.Parameter(torch.zeros(S, R))
            self.label_bias = nn.Parameter(torch.zeros(S))
        self.tags = nn.ModuleList(nn.Linear(wide, values) for values in shape.tags)
        self._start()

    def _start(self) -> None:
        """First weights: orthogonal matrices, a bias of 1 for the forget gates."""
        for name, weight in self.named_parameters():
            if name.startswith("tables"):
                nn.init.normal_(weight, std=0.5)
            elif name.startswith("layers"):
                if weight.ndim == 2:
                    for gate in weight.data.chunk(4):
                        nn.init.orthogonal_(gate)
                else:
                    weight.data.zero_()
                    if "bias_ih" in name:
                        weight.data[self.shape.hidden : 2 * self.shape.hidden] = 1
            elif name.startswith("sides"):
                nn.init.orthogonal_(weight) if weight.ndim == 2 else weight.data.zero_()
        if self.shape.clusters > 1:  # clusters that are equal would stay so
            nn.init.normal_(self.label_head, std=0.05)
            nn.init.normal_(self.label_dependent, std=0.05)

    # ---- forward

    def hidden(self, rows: Tensor, batch: Batch, drops: Drops | None = None) -> Hidden:
        """``rows``: (N, atoms), those of the batch's positions. ``drops``: what is left out in training."""
        states = self.encoded(rows, batch, drops)
        vectors = {}
        for name, side in self.sides.items():
            out = leaky_relu(side(states), SLOPE)
            vectors[name] = batch.padded(_dropped(out, batch, drops))
        return Hidden(
            states,
            vectors["arc_head"],
            vectors["arc_dependent"],
            vectors.get("label_head"),
            vectors.get("label_dependent"),
        )

    def encoded(self, rows: Tensor, batch: Batch, drops: Drops | None) -> Tensor:
        """(N, 2H): the output of the last layer."""
        parts = []
        for place, table in enumerate(self.tables):
            own = rows[:, place]
            if drops is not None and drops.inputs[place] > 0:
                lost = torch.rand(len(own), device=own.device) < drops.inputs[place]
                own = own.masked_fill(lost & (own != ROOT), UNKNOWN)
            parts.append(embedding(own, table))
        states = _dropped(torch.cat(parts, 1), batch, drops)
        for layer in self.layers:
            output, _ = layer(PackedSequence(states, batch.counts))
            states = _dropped(output.data, batch, drops)
        return states

    def arcs(self, hidden: Hidden) -> Tensor:
        """(B, T, T): the score of each arc h → m."""
        heads = linear(hidden.arc_heads, self.arc_product.t())
        return heads @ hidden.arc_dependents.transpose(1, 2) + (hidden.arc_heads @ self.arc_head)[:, :, None]

    def label_scores(self, hidden: Hidden, heads: Tensor) -> Tensor:
        """(B, T, S): log P(state | arc) of the arc from ``heads`` (B, T) into each word; heads below 0 give nothing of use."""
        assert hidden.label_heads is not None
        assert hidden.label_dependents is not None
        rows = torch.arange(heads.shape[1], device=heads.device)
        chosen = (heads[:, :, None] == rows).to(hidden.label_heads.dtype) @ hidden.label_heads  # (B, T, R)
        S, R = self.shape.states, self.shape.label_size
        from_heads = (chosen @ self.label_product.permute(1, 0, 2).reshape(R, S * R)).view(*heads.shape, S, R)
        found = (from_heads + self.label_dependent) @ hidden.label_dependents[:, :, :, None]
        return (found.squeeze(-1) + chosen @ self.label_head.t() + self.label_bias).log_softmax(-1)

    def all_label_scores(self, hidden: Hidden) -> Tensor:
        """(B, T, T, S): log P(state | arc) of every arc h → m."""
        assert hidden.label_heads is not None
        assert hidden.label_dependents is not None
        S, R = self.shape.states, self.shape.label_size
        of_heads, dependents = hidden.label_heads, hidden.label_dependents
        from_heads = (of_heads @ self.label_product.permute(1, 0, 2).reshape(R, S * R)).view(
            *of_heads.shape[:2], S, R
        )
        found = torch.einsum("bhsr,bmr->bhms", from_heads + self.label_dependent, dependents)
        return (found + (of_heads @ self.label_head.t() + self.label_bias)[:, :, None]).log_softmax(-1)

    def tag_scores(self, hidden: Hidden) -> list[Tensor]:
        """For each tag (N, values)."""
        return [tag(hidden.states) for tag in self.tags]

    # ---- arrays

    def parameter_of(self) -> dict[str, Sequence[Any]]:
        """Name of an array (``NetworkShape``) → the parameters whose sum it is."""
        found: dict[str, Sequence[Any]] = {f"table.{i}": (table,) for i, table in enumerate(self.tables)}
        for number, layer in enumerate(self.layers):
            for direction, end in (("forward", "_l0"), ("backward", "_l0_reverse")):
                name = f"layer.{number}.{direction}"
                found[f"{name}.input"] = (getattr(layer, f"weight_ih{end}"),)
                found[f"{name}.recurrent"] = (getattr(layer, f"weight_hh{end}"),)
                found[f"{name}.bias"] = (getattr(layer, f"bias_ih{end}"), getattr(layer, f"bias_hh{end}"))
        for name, side in self.sides.items():
            found[f"{name}.weight"], found[f"{name}.bias"] = (side.weight,), (side.bias,)
        found["arc.product"], found["arc.head"] = (self.arc_product,), (self.arc_head,)
        if self.shape.states:
            for name in ("product", "head", "dependent", "bias"):
                found[f"label.{name}"] = (getattr(self, f"label_{name}"),)
        for number, tag in enumerate(self.tags):
            found[f"tag.{number}.weight"], found[f"tag.{number}.bias"] = (tag.weight,), (tag.bias,)
        return found

    def arrays(self) -> dict[str, npt.NDArray[np.float32]]:
        """The weights by the names of ``NetworkShape``."""
        with torch.no_grad():
            return {
                name: sum(parts[1:], parts[0]).detach().cpu().numpy().copy()
                for name, parts in self.parameter_of().items()
            }

    def load(self, arrays: Mapping[str, npt.NDArray[np.float32]]) -> None:
        """Take these weights."""
        with torch.no_grad():
            for name, parts in self.parameter_of().items():
                for place, part in enumerate(parts):
                    value = torch.from_numpy(np.array(arrays[name], np.float32))
                    part.copy_(value if place == 0 else torch.zeros_like(value))


def _dropped(rows: Tensor, batch: Batch, drops: Drops | None) -> Tensor:
    """With some numbers of the vectors (N, D) left out, the same in all rows of a sentence (Gal & Ghahramani 2016)."""
    if drops is None or drops.vectors == 0:
        return rows
    kept = 1 - drops.vectors
    mask = torch.rand(batch.size, rows.shape[-1], device=rows.device) < kept
    return rows * (mask.to(rows.dtype) / kept)[batch.sentence]
