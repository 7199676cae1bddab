"""``Network``: the network in PyTorch, for training; parsing runs it in native code."""

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
"""Negative slope of the leaky ReLU."""
_CACHED_ROWS = 256
"""Words whose labels are scored at a time on the CPU."""
SIBLING_SIDES = ("sibling_head", "sibling_inner", "sibling_outer")


@dataclass(frozen=True)
class Hidden:
    """Hidden states of a batch: head and dependent vectors, padded (B, T, ·); encoder states (N, width)."""

    states: Tensor
    arc_heads: Tensor
    arc_dependents: Tensor
    label_heads: Tensor | None
    label_dependents: Tensor | None
    siblings: tuple[Tensor, Tensor, Tensor] | None
    """As heads, inner and outer siblings; None at order 1."""


class TagValues(nn.Module):
    """The values of all tags in a row, as index tensors that move with the network."""

    tag: Tensor
    """Of each value its tag, (values,)."""
    value: Tensor
    """Of each value its number among those of its tag, (values,)."""
    of_tag: Tensor
    """Whether a value belongs to a tag, as 0 or 1, (values, tags)."""
    columns: Tensor
    """The values of each tag, (tags, most values), the last of them repeated."""

    def __init__(self, sizes: Sequence[int]) -> None:
        super().__init__()
        counts, most = torch.tensor(sizes, dtype=torch.int64), torch.arange(max(sizes, default=0))
        first = counts.cumsum(0) - counts
        tag = torch.arange(len(sizes)).repeat_interleave(counts)
        buffers = {
            "tag": tag,
            "value": torch.arange(len(tag)) - first[tag],
            "of_tag": (tag[:, None] == torch.arange(len(sizes))).float(),
            "columns": first[:, None] + torch.minimum(most, counts[:, None] - 1),
        }
        for name, buffer in buffers.items():
            self.register_buffer(name, buffer, persistent=False)


class Encoder(Protocol):
    """A module that encodes positions."""

    def __call__(self, rows: Tensor, batch: Batch, drops: Dropout | None = None) -> Tensor:
        """Encode the rows of the batch's positions, (N, width)."""
        ...

    def start(self) -> None:
        """Initialise the weights."""
        ...

    def flatten(self) -> None:
        """Compact the weights in memory after they were copied."""
        ...

    def parameter_of(self) -> dict[str, Sequence[Any]]:
        """Name of an array (``NetworkShape``) → the parameters whose sum it is."""
        ...


class Network(nn.Module):
    """The network of a ``NetworkShape`` (Kiperwasser & Goldberg 2016; Dozat & Manning 2017).

    At order 2 it scores adjacent siblings as well (Zhang, Li & Zhang 2020, with a product of three vectors
    in place of a triaffine tensor: K numbers instead of K³).

    ``encoder``: by default a ``RecurrentEncoder``.
    """

    def __init__(self, shape: NetworkShape, encoder: Encoder | None = None) -> None:
        super().__init__()
        self.shape = shape
        self.encoder = encoder or RecurrentEncoder(shape)
        sides = ("arc_head", "arc_dependent", *(("label_head", "label_dependent") if shape.states else ()))
        if shape.sibling_size:
            sides = (*sides, *SIBLING_SIDES)
        sizes = {"arc": shape.arc_size, "label": shape.label_size, "sibling": shape.sibling_size}
        self.sides = nn.ModuleDict(
            {side: nn.Linear(shape.width, sizes[side.split("_")[0]]) for side in sides}
        )
        self.arc_product = nn.Parameter(torch.zeros(shape.arc_size, shape.arc_size))
        self.arc_head = nn.Parameter(torch.zeros(shape.arc_size))
        if shape.sibling_size:
            self.sibling_product = nn.Parameter(torch.zeros(shape.sibling_size))
        if shape.states:
            S, R = shape.states, shape.label_size
            self.label_product = nn.Parameter(torch.zeros(S, R, R))
            self.label_head = nn.Parameter(torch.zeros(S, R))
            self.label_dependent = nn.Parameter(torch.zeros(S, R))
            self.label_bias = nn.Parameter(torch.zeros(S))
        self.tags = nn.ModuleList(nn.Linear(shape.width, values) for values in shape.tags)
        self.tag_values = TagValues(shape.tags)
        self._start()

    def _start(self) -> None:
        """Initialise with orthogonal matrices."""
        self.encoder.start()
        for weight in self.sides.parameters():
            nn.init.orthogonal_(weight) if weight.ndim == 2 else weight.data.zero_()
        if self.shape.clusters > 1:  # equal clusters would have equal gradients and stay equal
            nn.init.normal_(self.label_head, std=0.05)
            nn.init.normal_(self.label_dependent, std=0.05)

    def hidden(self, rows: Tensor, batch: Batch, drops: Dropout | None = None) -> Hidden:
        """Compute hidden states from the rows (N, features) of the batch's positions."""
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
            tuple(vectors[side] for side in SIBLING_SIDES) if self.shape.sibling_size else None,  # type: ignore[arg-type]
        )

    def encoded(self, rows: Tensor, batch: Batch, drops: Dropout | None) -> Tensor:
        """Encoder states, (N, width)."""
        states: Tensor = self.encoder(rows, batch, drops)
        return states

    def arcs(self, hidden: Hidden) -> Tensor:
        """Scores of the arcs h → m, (B, T, T)."""
        heads = linear(hidden.arc_heads, self.arc_product.t())
        return heads @ hidden.arc_dependents.transpose(1, 2) + (hidden.arc_heads @ self.arc_head)[:, :, None]

    def siblings(self, hidden: Hidden) -> Tensor:
        """Scores of m next to s below h, (B, T, T, T); of m as the first one on its side if s is h."""
        assert hidden.siblings is not None
        heads, inner, outer = hidden.siblings
        pairs = (heads * self.sibling_product)[:, :, None] * inner[:, None]  # (B, h, s, K)
        return pairs @ outer.transpose(1, 2)[:, None]

    def label_scores(self, hidden: Hidden, heads: Tensor) -> Tensor:
        """log P(state | arc) for the arcs from ``heads`` (B, T), (B, T, S).

        Undefined where heads are negative.
        """
        assert hidden.label_heads is not None
        assert hidden.label_dependents is not None
        rows = torch.arange(heads.shape[1], device=heads.device)
        # One-hot rows select the heads: a head of -1 selects nothing, where gather would fail.
        chosen = (heads[:, :, None] == rows).to(hidden.label_heads.dtype) @ hidden.label_heads  # (B, T, R)
        return self._label_scores(chosen, hidden.label_dependents)

    def label_scores_of(self, hidden: Hidden, sentence: Tensor, head: Tensor, dependent: Tensor) -> Tensor:
        """log P(state | arc) of A arcs, (A, S)."""
        assert hidden.label_heads is not None
        assert hidden.label_dependents is not None
        width = hidden.label_heads.shape[1]
        heads = hidden.label_heads.flatten(0, 1).index_select(0, sentence * width + head)
        dependents = hidden.label_dependents.flatten(0, 1).index_select(0, sentence * width + dependent)
        return self._label_scores(heads, dependents)

    def _label_scores(self, heads: Tensor, dependents: Tensor) -> Tensor:
        """log P(state | arc), (…, S), from the vectors of heads and dependents, (…, R)."""
        S, R = self.shape.states, self.shape.label_size
        product = self.label_product.permute(1, 0, 2).reshape(R, S * R)

        def bilinear_scores(of_heads: Tensor, of_dependents: Tensor) -> Tensor:
            return ((of_heads @ product).view(-1, S, R) @ of_dependents[..., None]).squeeze(-1)

        # On the CPU in slices whose S·R products per word stay in the cache.
        rows = len(heads.flatten(0, -2)) if heads.is_cuda else _CACHED_ROWS
        slices = zip(heads.flatten(0, -2).split(rows), dependents.flatten(0, -2).split(rows), strict=True)
        bilinear = torch.cat([bilinear_scores(*of_slice) for of_slice in slices]).view(*heads.shape[:-1], S)
        affine = heads @ self.label_head.t() + dependents @ self.label_dependent.t()
        return (bilinear + affine + self.label_bias).log_softmax(-1)

    def all_label_scores(self, hidden: Hidden) -> Tensor:
        """log P(state | arc) of every arc h → m, (B, T, T, S)."""
        assert hidden.label_heads is not None
        assert hidden.label_dependents is not None
        S, R = self.shape.states, self.shape.label_size
        of_heads, dependents = hidden.label_heads, hidden.label_dependents
        from_heads = (of_heads @ self.label_product.permute(1, 0, 2).reshape(R, S * R)).view(
            *of_heads.shape[:2], S, R
        )
        scores = torch.einsum("bhsr,bmr->bhms", from_heads, dependents)
        scores = scores + (dependents @ self.label_dependent.t())[:, None]
        return (scores + (of_heads @ self.label_head.t() + self.label_bias)[:, :, None]).log_softmax(-1)

    def by_label(self, states: Tensor) -> Tensor:
        """Sum out clusters: log P of states (…, S) → of labels (…, L)."""
        if self.shape.clusters == 1:
            return states
        return states.view(*states.shape[:-1], self.shape.labels, self.shape.clusters).logsumexp(-1)

    def tag_scores(self, hidden: Hidden) -> list[Tensor]:
        """Scores of the values of each tag, (N, values)."""
        return [tag(hidden.states) for tag in self.tags]

    def parameter_of(self) -> dict[str, Sequence[Any]]:
        """Name of an array (``NetworkShape``) → the parameters whose sum it is."""
        parameters = self.encoder.parameter_of()
        for name, side in self.sides.items():
            parameters[f"{name}.weight"], parameters[f"{name}.bias"] = (side.weight,), (side.bias,)
        parameters["arc.product"], parameters["arc.head"] = (self.arc_product,), (self.arc_head,)
        if self.shape.sibling_size:
            parameters["sibling.product"] = (self.sibling_product,)
        if self.shape.states:
            for name in ("product", "head", "dependent", "bias"):
                parameters[f"label.{name}"] = (getattr(self, f"label_{name}"),)
        for number, tag in enumerate(self.tags):
            parameters[f"tag.{number}.weight"], parameters[f"tag.{number}.bias"] = (tag.weight,), (tag.bias,)
        return parameters

    def arrays(self) -> dict[str, npt.NDArray[np.float32]]:
        """Weights under the names of ``NetworkShape``."""
        with torch.no_grad():
            return {
                name: sum(parts[1:], parts[0]).detach().cpu().numpy().copy()
                for name, parts in self.parameter_of().items()
            }

    def load(self, arrays: Mapping[str, npt.NDArray[np.float32]]) -> None:
        """Load weights."""
        with torch.no_grad():
            for name, parts in self.parameter_of().items():
                for place, part in enumerate(parts):
                    value = torch.from_numpy(np.array(arrays[name], np.float32))
                    # Files keep only the sum (of the two LSTM biases): the first parameter takes all of it.
                    part.copy_(value if place == 0 else torch.zeros_like(value))
