"""``Network``: the network of a neural parser in PyTorch, for training. Parsing goes through native code, which needs no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import leaky_relu, linear

from arcwise.neural.batch import Batch, Dropout, apply_dropout
from arcwise.neural.recurrent import RecurrentEncoder
from arcwise.neural.shape import NetworkShape

SLOPE = 0.1
"""Of the leaky rectifier."""


@dataclass(frozen=True)
class Hidden:
    """What the network has made of a batch: vectors of the words as heads and dependents, padded (B, T, ·); states of the encoder
    (N, width)."""

    states: Tensor
    arc_heads: Tensor
    arc_dependents: Tensor
    label_heads: Tensor | None
    label_dependents: Tensor | None


class Encoder(Protocol):
    """A module that makes states of positions."""

    def __call__(self, rows: Tensor, batch: Batch, drops: Dropout | None = None) -> Tensor:
        """(N, width), from the rows of the batch's positions."""
        ...

    def start(self) -> None:
        """Give the weights their first values."""
        ...

    def flatten(self) -> None:
        """Put the weights where they are quickest, after they were copied."""
        ...

    def parameter_of(self) -> dict[str, Sequence[Any]]:
        """Name of an array (``NetworkShape``) → the parameters whose sum it is."""
        ...


class Network(nn.Module):
    """The network of a ``NetworkShape`` (Kiperwasser & Goldberg 2016; Dozat & Manning 2017).

    ``encoder``: what makes the states of the positions, (N, width), from their rows; else a ``RecurrentEncoder``.
    """

    def __init__(self, shape: NetworkShape, encoder: Encoder | None = None) -> None:
        super().__init__()
        self.shape = shape
        self.encoder = encoder or RecurrentEncoder(shape)
        sides = ("arc_head", "arc_dependent", *(("label_head", "label_dependent") if shape.states else ()))
        sizes = {"arc": shape.arc_size, "label": shape.label_size}
        self.sides = nn.ModuleDict(
            {side: nn.Linear(shape.width, sizes[side.split("_")[0]]) for side in sides}
        )
        self.arc_product = nn.Parameter(torch.zeros(shape.arc_size, shape.arc_size))
        self.arc_head = nn.Parameter(torch.zeros(shape.arc_size))
        if shape.states:
            S, R = shape.states, shape.label_size
            self.label_product = nn.Parameter(torch.zeros(S, R, R))
            self.label_head = nn.Parameter(torch.zeros(S, R))
            self.label_dependent = nn.Parameter(torch.zeros(S, R))
            self.label_bias = nn.Parameter(torch.zeros(S))
        self.tags = nn.ModuleList(nn.Linear(shape.width, values) for values in shape.tags)
        self._start()

    def _start(self) -> None:
        """First weights: orthogonal matrices."""
        self.encoder.start()
        for weight in self.sides.parameters():
            nn.init.orthogonal_(weight) if weight.ndim == 2 else weight.data.zero_()
        if self.shape.clusters > 1:  # clusters that are equal would stay so
            nn.init.normal_(self.label_head, std=0.05)
            nn.init.normal_(self.label_dependent, std=0.05)

    # ---- forward

    def hidden(self, rows: Tensor, batch: Batch, drops: Dropout | None = None) -> Hidden:
        """``rows``: (N, atoms), those of the batch's positions. ``drops``: what is left out in training."""
        states = self.encoded(rows, batch, drops)
        vectors = {}
        for name, side in self.sides.items():
            out = leaky_relu(side(states), SLOPE)
            vectors[name] = batch.padded(apply_dropout(out, batch, drops))
        return Hidden(
            states,
            vectors["arc_head"],
            vectors["arc_dependent"],
            vectors.get("label_head"),
            vectors.get("label_dependent"),
        )

    def encoded(self, rows: Tensor, batch: Batch, drops: Dropout | None) -> Tensor:
        """(N, width): what the encoder makes of the positions."""
        states: Tensor = self.encoder(rows, batch, drops)
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
        found = (from_heads @ hidden.label_dependents[:, :, :, None]).squeeze(-1)
        alone = chosen @ self.label_head.t() + hidden.label_dependents @ self.label_dependent.t()
        return (found + alone + self.label_bias).log_softmax(-1)

    def all_label_scores(self, hidden: Hidden) -> Tensor:
        """(B, T, T, S): log P(state | arc) of every arc h → m."""
        assert hidden.label_heads is not None
        assert hidden.label_dependents is not None
        S, R = self.shape.states, self.shape.label_size
        of_heads, dependents = hidden.label_heads, hidden.label_dependents
        from_heads = (of_heads @ self.label_product.permute(1, 0, 2).reshape(R, S * R)).view(
            *of_heads.shape[:2], S, R
        )
        found = torch.einsum("bhsr,bmr->bhms", from_heads, dependents)
        found = found + (dependents @ self.label_dependent.t())[:, None]
        return (found + (of_heads @ self.label_head.t() + self.label_bias)[:, :, None]).log_softmax(-1)

    def by_label(self, states: Tensor) -> Tensor:
        """log P of states (…, S) → of labels (…, L): clusters summed out."""
        if self.shape.clusters == 1:
            return states
        return states.view(*states.shape[:-1], self.shape.labels, self.shape.clusters).logsumexp(-1)

    def tag_scores(self, hidden: Hidden) -> list[Tensor]:
        """For each tag (N, values)."""
        return [tag(hidden.states) for tag in self.tags]

    # ---- arrays

    def parameter_of(self) -> dict[str, Sequence[Any]]:
        """Name of an array (``NetworkShape``) → the parameters whose sum it is."""
        found = self.encoder.parameter_of()
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
