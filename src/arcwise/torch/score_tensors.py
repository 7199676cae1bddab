"""``ScoreTensors``: the scores of a batch, between the layer's arguments and the operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

import torch
from torch import Tensor

from arcwise.errors import InputError
from arcwise.inference.arc_matrices import Span
from arcwise.inference.tree_class import TreeClass
from arcwise.torch import operators
from arcwise.torch.eager import constant_lengths, in_inference_mode, no_spans
from arcwise.torch.label_sums import MINUS_INFINITY, group_states, log_sum
from arcwise.torch.padded import Padded
from arcwise.torch.tree_tensors import word_mask

Lengths: TypeAlias = Tensor | Sequence[int] | int | None
T = TypeVar("T")
_REALS = (torch.float32, torch.float64)


@dataclass(slots=True)
class ScoreTensors:
    """The scores of B sentences, leading dimensions flattened, float32 or float64.

    Immutable by convention: a frozen dataclass takes longer to construct.
    """

    values: Tensor
    """(B, N+1, N+1); with labels (B, L, N+1, N+1) or (B, N+1, N+1, L)."""
    label_dim: int | None
    """The dimension of the labels: 1, 3, or None."""
    lengths: Tensor
    """(B,), int32."""
    trees: TreeClass
    spans: tuple[tuple[Span, ...], ...] = ()
    """Spans of each sentence that must be subtrees; empty if no sentence has any."""
    _cache: dict[str, Any] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """N+1."""
        return self.values.shape[2]

    @property
    def words(self) -> Tensor:
        """(B, N+1), True for the words 1..n."""
        return self.cached("words", lambda: word_mask(self.lengths, self.size))

    @property
    def readable(self) -> Tensor:
        """(B, N+1, N+1), True for the arcs of the sentence, whose scores are read."""
        heads = self.words | (torch.arange(self.size, device=self.words.device) == 0)
        read = heads[:, :, None] & self.words[:, None, :]
        return read & ~torch.eye(self.size, dtype=torch.bool, device=self.words.device)

    def select(self, sentences: Sequence[int]) -> ScoreTensors:
        """Return some of the sentences."""
        rows = torch.tensor(sentences, dtype=torch.int64, device=self.values.device)
        spans = tuple(self.spans[s] for s in sentences) if self.spans else ()
        return replace(self, values=self.values[rows], lengths=self.lengths[rows], spans=spans, _cache={})

    def cached(self, name: str, compute: Callable[[], T]) -> T:
        """Return the result cached under this name, computed on first use, with gradients if the scores need
        them."""
        if name in self._cache:
            return self._cache[name]
        if not self.values.requires_grad:
            self._cache[name] = compute()
        elif in_inference_mode():  # not cached: useless where gradients are enabled again
            return compute()
        else:
            with torch.enable_grad():
                self._cache[name] = compute()
        return self._cache[name]

    @property
    def arcs(self) -> Tensor:
        """Arc scores with labels summed out (log Σ exp), (B, N+1, N+1)."""
        if self.label_dim is None:
            return self.values
        dim = self.label_dim
        return self.cached("arcs", lambda: log_sum(self.values, dim))

    @property
    def best_arcs(self) -> Tensor:
        """Arc scores with the best label, (B, N+1, N+1), without gradient."""
        values = self.values.detach() if self.values.requires_grad else self.values
        return values if self.label_dim is None else values.amax(self.label_dim)

    def padded(self, arcs: Tensor, lengths: Tensor | None = None) -> Padded:
        """Return a batch for the operators with these arc scores, (B, …), or (B · S, …) for S trees per
        sentence."""
        if self.spans:
            repeats = 1 if lengths is None else len(lengths) // max(len(self.lengths), 1)
            ends, starts = _span_tensors(self.spans, repeats, arcs.device)
        else:
            ends, starts = no_spans(arcs)
        lengths = self.lengths if lengths is None else lengths
        return Padded(arcs, lengths, self.trees.projective, self.trees.single_root, ends, starts)

    def log_partition(self) -> Tensor:
        """Return log Z, (B,), of the scores' type."""
        return self._log_z(self.arcs, "sums")

    def marginals(self) -> Tensor:
        """Return the probability of every arc, (B, N+1, N+1)."""
        return self._sums(self.arcs, "sums")[1]

    def wide_log_partition(self) -> Tensor:
        """Return log Z in float64, for small differences of large sums."""
        return self._log_z(*self._wide())

    def wide_sums(self) -> tuple[Tensor, Tensor]:
        """Return log Z and marginals in float64."""
        return self._sums(*self._wide())

    def _wide(self) -> tuple[Tensor, str]:
        is_wide = self.values.dtype == torch.float64
        return (self.arcs, "sums") if is_wide else (self.arcs.double(), "wide sums")

    def _log_z(self, arcs: Tensor, name: str) -> Tensor:
        """Return log Z; where a gradient may be needed, the same pass computes and caches the marginals."""
        if name in self._cache or arcs.requires_grad:
            return self._sums(arcs, name)[0]
        return self.cached(f"{name}: log Z", lambda: operators.log_partition(self.padded(arcs)))

    def _sums(self, arcs: Tensor, name: str) -> tuple[Tensor, Tensor]:
        return self.cached(name, lambda: operators.marginals(self.padded(arcs)))

    # Below, heads and labels are (B, S, N+1): S trees per sentence, -1 where unknown.

    def label_scores(self, heads: Tensor) -> Tensor:
        """Return the scores of all labels of the trees' arcs, (B, S, N+1, L)."""
        count = heads.shape[1]
        rows = heads.clamp(0, self.size - 1)
        if self.label_dim == 1:
            labels = self.values.shape[1]
            index = rows[:, None].expand(-1, labels, count, self.size)
            return self.values.gather(2, index).permute(0, 2, 3, 1)
        labels = self.values.shape[3]
        return self.values.gather(1, rows[..., None].expand(-1, count, self.size, labels))

    def tree_arcs(self, heads: Tensor, labels: Tensor | None, *, with_all: bool = True) -> Tensor:
        """Return the score of each word's arc, (B, S, N+1), with labels summed out where unknown.

        0 where the head is unknown or there is no word. ``with_all=False``: no label is unknown.
        """
        arc = self._arc_places(heads)
        has_head = self.words[:, None] & (heads >= 0)
        if labels is None or self.label_dim is None:
            return torch.where(has_head, _take(self.arcs, arc), 0.0)
        scores = torch.where(has_head, _take(self.values, self.places(heads, labels)), 0.0)
        if with_all:
            scores = torch.where(has_head & (labels < 0), _take(self.arcs, arc), scores)
        return scores

    def places(self, heads: Tensor, labels: Tensor | None) -> Tensor:
        """Return the place of each word's arc, with its label, in the flat scores of its sentence, (B, S,
        N+1).

        Any place where the head is unknown or there is no word.
        """
        arc = self._arc_places(heads)
        if labels is None or self.label_dim is None:
            return arc
        count = self.values.shape[self.label_dim]
        codes = labels.clamp(0, count - 1)
        return codes * self.size**2 + arc if self.label_dim == 1 else arc * count + codes

    def _arc_places(self, heads: Tensor) -> Tensor:
        return heads.clamp(0, self.size - 1) * self.size + torch.arange(self.size, device=heads.device)

    def known_arcs(self, arcs: Tensor, heads: Tensor, labels: Tensor | None) -> Tensor:
        """Return arc scores, (B, S, N+1, N+1), -inf for arcs that disagree with a known head.

        An arc whose label is known has the score of that label.
        """
        scores = arcs[:, None]
        size = self.size
        if labels is not None and self.label_dim is not None:
            count = self.values.shape[self.label_dim]
            codes = labels.clamp(0, count - 1)
            if self.label_dim == 1:
                labelled = self.values.gather(1, codes[:, :, None].expand(-1, -1, size, -1))
            else:
                index = codes.transpose(1, 2)[:, None].expand(-1, size, -1, -1)
                labelled = self.values.gather(3, index).permute(0, 3, 1, 2)
            scores = torch.where((labels >= 0)[:, :, None], labelled, scores)
        rows = torch.arange(size, device=heads.device)[:, None]
        agrees = (heads[:, :, None] < 0) | (heads[:, :, None] == rows)
        return torch.where(agrees, scores, MINUS_INFINITY)

    def log_weights(self, heads: Tensor, labels: Tensor | None, *, complete: bool | None) -> Tensor:
        """Return log Σ exp(score) over all trees that agree with the known heads and labels, (B, S), float64.

        -inf if none does. For a complete tree it is the score, without a sum. ``complete``: whether all trees
        are complete, None if unknown."""
        if self.spans:
            return self._summed(heads, labels, self.lengths)
        total = self.tree_arcs(heads, labels).sum(-1, dtype=torch.float64)
        total = torch.where(operators.are_trees(heads, self.lengths, self.trees), total, MINUS_INFINITY)
        if complete:
            return total
        is_open = (self.words[:, None] & (heads < 0)).any(-1)
        if complete is None and _is_surely_false(is_open):
            return total
        # Length 0 for complete trees, so that the sum over trees costs nothing there.
        lengths = torch.where(is_open, self.lengths[:, None], 0)
        return torch.where(is_open, self._summed(heads, labels, lengths.flatten()), total)

    def _summed(self, heads: Tensor, labels: Tensor | None, lengths: Tensor) -> Tensor:
        count = heads.shape[1]
        if len(lengths) != len(heads) * count:
            lengths = lengths[:, None].expand(-1, count).flatten()
        arcs = self.known_arcs(self.arcs, heads, labels).double().flatten(0, 1)
        return operators.log_partition(self.padded(arcs, lengths)).unflatten(0, (-1, count))


def score_tensors(
    scores: Any,
    lengths: Lengths,
    trees: TreeClass,
    *,
    label_dim: int | None,
    label_count: int | None = None,
    label_of_state: Sequence[int] | Tensor | None = None,
    by: Callable[[Tensor, int], Tensor] = log_sum,
) -> tuple[ScoreTensors, torch.Size]:
    """Check the layer's arguments; return them as ``ScoreTensors``, and the leading dimensions.

    The states of a label are reduced to one ``by`` log-sum or maximum.
    """
    if not isinstance(scores, Tensor) or not scores.is_floating_point():
        kind = f"a tensor of {scores.dtype}" if isinstance(scores, Tensor) else type(scores).__name__
        raise InputError(f"scores: found {kind}, expected a tensor of real numbers")
    if label_dim is None and 2 <= scores.ndim <= 3 and scores.dtype in _REALS:  # the common case
        *batch, side, columns = scores.shape
        if side == columns and side:
            values, leading = scores if batch else scores.unsqueeze(0), torch.Size(batch)
            return ScoreTensors(values, None, _lengths(lengths, leading, values, side - 1), trees), leading
    dim = None if label_dim is None else _place_of_labels(scores, label_dim)
    axes = 2 if dim is None else 3
    shape = list(scores.shape[max(scores.ndim - axes, 0) :])
    states = None if dim is None else shape.pop(0 if dim == 1 else 2)
    if scores.ndim < axes or shape[0] != shape[1] or not shape[0]:
        expected = {None: "(…, N+1, N+1)", 1: "(…, L, N+1, N+1)", 3: "(…, N+1, N+1, L)"}[dim]
        raise InputError(f"scores: found shape {tuple(scores.shape)}, expected {expected}")
    batch_shape = scores.shape[: scores.ndim - axes]
    values = scores if scores.dtype in _REALS else scores.float()
    values = values.reshape(-1, *scores.shape[scores.ndim - axes :])
    if dim is not None and states is not None:
        values = _labels_of_states(values, dim, states, label_count, label_of_state, by)
    return ScoreTensors(values, dim, _lengths(lengths, batch_shape, values, shape[0] - 1), trees), batch_shape


def _place_of_labels(scores: Tensor, label_dim: int) -> int:
    place = label_dim % scores.ndim if -scores.ndim <= label_dim < scores.ndim else -1
    if scores.ndim >= 3 and place in (scores.ndim - 3, scores.ndim - 1):
        return 1 if place == scores.ndim - 3 else 3
    raise InputError(
        f"label_dim: found {label_dim} for scores of shape {tuple(scores.shape)}, "
        "expected -3 (…, L, N+1, N+1) or -1 (…, N+1, N+1, L)"
    )


def _labels_of_states(
    values: Tensor,
    dim: int,
    states: int,
    labels: int | None,
    label_of_state: Sequence[int] | Tensor | None,
    by: Callable[[Tensor, int], Tensor],
) -> Tensor:
    if label_of_state is None:
        if (labels is not None and states != labels) or not states:
            raise InputError(
                f"scores: found {states} labels in dimension {dim}, expected {labels or 'at least one'}"
            )
        return values
    numbers = label_of_state.tolist() if isinstance(label_of_state, Tensor) else list(label_of_state)
    count = max(numbers, default=-1) + 1 if labels is None else labels
    if len(numbers) != states or not all(0 <= number < count for number in numbers):
        raise InputError(
            f"label_of_state: found {numbers}, expected the number of a label, 0 to {count - 1}, "
            f"for each of {states} states"
        )
    return by(group_states(values, dim, numbers, count), dim + 1)


def _lengths(lengths: Lengths, batch_shape: torch.Size, values: Tensor, longest: int) -> Tensor:
    if lengths is None:
        return constant_lengths(values, longest)
    tensor: Tensor = lengths if isinstance(lengths, Tensor) else torch.as_tensor(lengths)
    is_list = not isinstance(lengths, Tensor)  # checking it needs no synchronisation with a GPU
    if is_list and tensor.numel() and not 0 <= int(tensor.min()) <= int(tensor.max()) <= longest:
        raise InputError(f"lengths: found {tensor.tolist()}, expected numbers from 0 to {longest}")
    if tensor.shape != batch_shape or tensor.is_floating_point():
        raise InputError(
            f"lengths: found shape {tuple(tensor.shape)} of {tensor.dtype}, "
            f"expected whole numbers of shape {tuple(batch_shape)}"
        )
    if tensor.dtype is not torch.int32 or tensor.device != values.device:
        tensor = tensor.to(values.device, torch.int32)
    return tensor if tensor.ndim == 1 else tensor.reshape(-1)


def with_values(scores: ScoreTensors, values: Tensor) -> ScoreTensors:
    """Return the same sentences with other scores."""
    return replace(scores, values=values, _cache={})


def _span_tensors(
    spans: tuple[tuple[Span, ...], ...], repeats: int, device: torch.device
) -> tuple[Tensor, Tensor]:
    repeated = [pairs for pairs in spans for _ in range(repeats)]
    ends = torch.tensor([pair for pairs in repeated for pair in pairs], dtype=torch.int32, device=device)
    starts = torch.tensor([0, *(len(pairs) for pairs in repeated)], dtype=torch.int64).cumsum(0)
    return ends, starts.to(device)


def _take(values: Tensor, at: Tensor) -> Tensor:
    """Return ``values[b].flatten()[at[b]]``."""
    return values.flatten(1).gather(1, at.flatten(1)).view_as(at)


def _is_surely_false(flags: Tensor) -> bool:
    """Return whether no flag is set, if that needs no synchronisation; otherwise False."""
    if flags.device.type != "cpu" or torch.compiler.is_compiling():
        return False
    return not bool(flags.any())
