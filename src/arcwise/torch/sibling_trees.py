"""``SiblingTreeCRF``: differentiable distributions over projective trees with scores of adjacent siblings."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from arcwise.errors import InputError, NoTreeError
from arcwise.inference.tree_class import PROJECTIVE
from arcwise.torch import operators, sibling_operators
from arcwise.torch.label_sums import MINUS_INFINITY
from arcwise.torch.padded import PaddedSiblings
from arcwise.torch.score_tensors import Lengths, ScoreTensors, score_tensors
from arcwise.torch.tree_tensors import describe


class SiblingTreeCRF:
    """Distributions over projective trees: p(tree) ∝ exp(scores of its arcs + scores of adjacent siblings).

    scores: shape (…, N+1, N+1), as for ``TreeCRF``.
    siblings: shape (…, N+1, N+1, N+1). ``siblings[…, h, s, m]`` is added where m is the next dependent of h
        after s on the same side, outward from h, and ``siblings[…, h, h, m]`` where m is the first one on its
        side. -inf forbids it. Other entries are never read, not even nan.
    lengths: the number of words of each sentence, 0 to N (default: all N).
    projective: must be True; sums over non-projective trees with siblings are not tractable.
    single_root: whether exactly one arc leaves the root.
    validate_args: raise for invalid scores and for sentences without a tree, which synchronises with the GPU.
        Otherwise the results are those of ``TreeCRF`` for such sentences.

    Exact, by Eisner's algorithm with siblings (Eisner 1996; McDonald & Pereira 2006; as a neural layer Zhang,
    Li & Zhang 2020). O(n³). Gradients come from separate kernels: ``log_partition`` can be differentiated
    three times, ``marginals``, ``sibling_marginals``, ``log_prob`` and ``entropy`` twice. Scores must be of
    one type; half and bfloat16 are computed, and returned, in float32.

    >>> scores, siblings = torch.zeros(4, 4), torch.zeros(4, 4, 4)
    >>> siblings[1, 2, 3] = 2  # words 2 and 3 like to be siblings below 1
    >>> trees = SiblingTreeCRF(scores, siblings, projective=True, single_root=True)
    >>> trees.best()
    tensor([-1,  0,  1,  1])
    >>> trees.sibling_marginals[1, 2, 3].item()
    0.551...
    >>> scores.requires_grad_()
    tensor(...)
    >>> loss = -SiblingTreeCRF(scores, siblings, projective=True, single_root=True).log_prob(trees.best())
    >>> loss.backward()
    >>> scores.grad[1, 3].item()  # the marginal minus 1
    -0.373...
    """

    def __init__(
        self,
        scores: Tensor,
        siblings: Tensor,
        lengths: Lengths = None,
        *,
        projective: bool,
        single_root: bool,
        validate_args: bool = False,
    ) -> None:
        if not projective:
            raise InputError("projective: found False; sibling scores need projective=True")
        self.tree_class = PROJECTIVE[bool(single_root)]
        self._scores, self.batch_shape = score_tensors(scores, lengths, self.tree_class, label_dim=None)
        self._siblings = _checked_siblings(siblings, scores, self._scores)
        self._validate_args = validate_args
        if validate_args:
            self._check_values()

    def __repr__(self) -> str:
        roots = "one root" if self.tree_class.single_root else "any roots"
        words = f"up to {self._scores.size - 1} words"
        return f"<SiblingTreeCRF {tuple(self.batch_shape)} over projective trees of {words}: {roots}>"

    @property
    def log_partition(self) -> Tensor:
        """log Z = log Σ exp(score) over all trees, shape ``batch_shape``."""
        return self._reshape(self._log_z.to(self._scores.values.dtype))

    @property
    def marginals(self) -> Tensor:
        """The probability of each arc, (…, N+1, N+1)."""
        return self._reshape(self._sums[1])

    @property
    def sibling_marginals(self) -> Tensor:
        """The probability of each pair of adjacent siblings, (…, N+1, N+1, N+1), laid out as ``siblings``.

        Those of a modifier, summed over the sibling, are the marginals of its arcs.
        """
        return self._reshape(self._sums[2])

    def best(self) -> Tensor:
        """Return the heads of the highest-scoring trees, (…, N+1), int64, -1 for root and padding."""
        heads, values = sibling_operators.decode(self._padded(self._scores.values))
        self._checked(values)
        return self._reshape(heads)

    def minimum_risk(self) -> Tensor:
        """Return the trees with the highest expected number of correct heads, (…, N+1)."""
        arcs = self._sums[1].detach()
        gains = torch.where(arcs > 0, arcs, MINUS_INFINITY)
        return self._reshape(operators.decode(self._scores.padded(gains))[0])

    def entropy(self) -> Tensor:
        """Return the entropy in nats, H = log Z - E[score]."""
        log_z, arcs, pairs = self._sums
        self._checked(log_z)
        expected = _expected(arcs, self._scores.values) + _expected(pairs, self._siblings)
        total = torch.where(log_z == MINUS_INFINITY, torch.nan, log_z - expected)
        return self._reshape(total.to(self._scores.values.dtype))

    def score(self, heads: Tensor) -> Tensor:
        """Return the score of trees, (…, *batch_shape): heads (…, *batch_shape, N+1).

        -1 marks an unknown head: the result is then log Σ exp(score) of all trees that agree with the others.
        -inf outside the distribution.
        """
        weights, shape = self._log_weights(heads)
        return weights.reshape(shape).to(self._scores.values.dtype)

    def log_prob(self, heads: Tensor) -> Tensor:
        """Return log p of trees, or of all trees that agree with the heads that are known; as ``score``."""
        weights, shape = self._log_weights(heads)
        log_z = self._checked(self._log_z)
        log_p = torch.where(weights == MINUS_INFINITY, MINUS_INFINITY, (weights - log_z).clamp(max=0.0))
        return log_p.reshape(shape).to(self._scores.values.dtype)

    @property
    def _log_z(self) -> Tensor:
        """(B,), float64."""
        if "_sums" in self.__dict__ or self._needs_gradient:
            return self._sums[0]
        return self._checked(sibling_operators.log_partition(self._padded(self._scores.values)))

    @cached_property
    def _sums(self) -> tuple[Tensor, Tensor, Tensor]:
        """log Z and the marginals of arcs and of pairs."""
        with torch.set_grad_enabled(self._needs_gradient):
            sums = sibling_operators.marginals(self._padded(self._scores.values))
        self._checked(sums[0])
        return sums

    @property
    def _needs_gradient(self) -> bool:
        return (
            self._scores.values.requires_grad or self._siblings.requires_grad
        ) and not torch.is_inference_mode_enabled()

    def _padded(self, arcs: Tensor) -> PaddedSiblings:
        return PaddedSiblings(arcs, self._siblings, self._scores.lengths, self.tree_class.single_root)

    def _log_weights(self, heads: Tensor) -> tuple[Tensor, torch.Size]:
        """Return log Σ exp(score) of the trees that agree, (S, B), float64, and the shape of the result."""
        batch = self._scores
        size, count = batch.size, len(batch.values)
        if not isinstance(heads, Tensor) or heads.is_floating_point() or heads.shape[-1:] != (size,):
            expected = ", ".join(map(str, (*self.batch_shape, size)))
            raise InputError(f"heads: found {describe(heads)}, expected whole numbers (…, {expected})")
        shape = torch.Size(torch.broadcast_shapes(heads.shape[:-1], self.batch_shape))
        samples = heads.long().to(batch.values.device).expand(*shape, size).reshape(-1, count, size)
        return torch.stack([self._log_weight(sample) for sample in samples]), shape

    def _log_weight(self, heads: Tensor) -> Tensor:
        """Return log Σ exp(score) of the trees that agree with heads (B, N+1)."""
        batch = self._scores
        is_open = (batch.words & (heads < 0)).any(1)
        arcs = batch.tree_arcs(heads[:, None], None)[:, 0].sum(1, dtype=torch.float64)
        total = arcs + self._sibling_scores(heads).sum(1, dtype=torch.float64)
        is_tree = operators.are_trees(heads[:, None], batch.lengths, self.tree_class)[:, 0]
        total = torch.where(is_tree, total, MINUS_INFINITY)
        if not bool(is_open.any()):
            return total
        known = batch.known_arcs(batch.values, heads[:, None], None)[:, 0]
        # Length 0 for complete trees, so that the sum over trees costs nothing there.
        lengths = torch.where(is_open, batch.lengths, 0)
        summed = sibling_operators.log_partition(
            PaddedSiblings(known, self._siblings, lengths, self.tree_class.single_root)
        )
        return torch.where(is_open, summed, total)

    def _sibling_scores(self, heads: Tensor) -> Tensor:
        """Return the sibling score of each word of complete trees, (B, N+1); 0 where there is no word."""
        batch = self._scores
        size = batch.size
        rows = heads.clamp(0, size - 1)
        before = previous_siblings(heads).clamp(0, size - 1)
        place = (rows * size + before) * size + torch.arange(size, device=heads.device)
        picked = self._siblings.flatten(1).gather(1, place)
        return torch.where(batch.words & (heads >= 0), picked, 0.0)

    def _reshape(self, values: Tensor) -> Tensor:
        return values.reshape((*self.batch_shape, *values.shape[1:]))

    def _checked(self, log_z: Tensor) -> Tensor:
        if self._validate_args and bool((log_z == MINUS_INFINITY).any()):
            sentence = int(log_z.argmin())
            words = int(self._scores.lengths[sentence])
            raise NoTreeError(
                f"scores: no projective tree exists over the {words} words of sentence {sentence}: too many "
                "arcs or siblings are forbidden (-inf)"
            )
        return log_z

    def _check_values(self) -> None:
        batch = self._scores
        if bool(((batch.lengths < 0) | (batch.lengths >= batch.size)).any()):
            raise InputError(
                f"lengths: found {batch.lengths.tolist()}, expected numbers from 0 to {batch.size - 1}"
            )
        arcs = batch.readable
        pairs = arcs[:, :, None] & _may_follow(batch.size, arcs.device)
        for name, values, is_read in (("scores", batch.values, arcs), ("siblings", self._siblings, pairs)):
            wrong = is_read & ~(values < torch.inf)
            if bool(wrong.any()):
                place = wrong.nonzero()[0].tolist()
                raise InputError(
                    f"{name}: found {values[tuple(place)].item()} at {place[1:]} of sentence {place[0]}, "
                    "expected a number or -inf"
                )


def previous_siblings(heads: Tensor) -> Tensor:
    """Return, for each word, the dependent before it on its side of its head, or the head if it is the first.

    heads, and the result: (B, N+1), int64; -1 in heads marks the root, the padding and unknown heads, whose
    results have no meaning. O(n²).

    >>> previous_siblings(torch.tensor([[-1, 2, 0, 2, 2]]))
    tensor([[-1,  2,  0,  2,  3]])
    """
    size = heads.shape[-1]
    places = torch.arange(size, device=heads.device)
    head, word = heads[:, :, None], places[:, None]
    has_same_head = (heads[:, None, :] == head) & (heads[:, None, :] >= 0)
    nearest_left = torch.where(has_same_head & (places > head) & (places < word), places, -1).amax(-1)
    nearest_right = torch.where(has_same_head & (places < head) & (places > word), places, size).amin(-1)
    left_of_head = heads > places
    nearest = torch.where(left_of_head, nearest_right, nearest_left)
    return torch.where((nearest < 0) | (nearest >= size), heads, nearest)


def _checked_siblings(siblings: Any, scores: Tensor, batch: ScoreTensors) -> Tensor:
    """Return sibling scores as (B, N+1, N+1, N+1), of the type of the arc scores."""
    expected = (*scores.shape, batch.size)
    if not isinstance(siblings, Tensor) or not siblings.is_floating_point() or siblings.shape != expected:
        raise InputError(f"siblings: found {describe(siblings)}, expected real numbers of shape {expected}")
    if siblings.dtype is not scores.dtype or siblings.device != scores.device:
        raise InputError(
            f"siblings: found {siblings.dtype} on {siblings.device}, expected {scores.dtype} on "
            f"{scores.device} as the scores"
        )
    return siblings.to(batch.values.dtype).reshape(-1, batch.size, batch.size, batch.size)


def _may_follow(size: int, device: torch.device) -> Tensor:
    """Return (h, s, m): whether m can follow s below h, or be the first if s is h."""
    h, s, m = (
        torch.arange(size, device=device).view(shape) for shape in ((-1, 1, 1), (1, -1, 1), (1, 1, -1))
    )
    return (s == h) | ((h < s) & (s < m)) | ((m < s) & (s < h))


def _expected(probabilities: Tensor, values: Tensor) -> Tensor:
    """Return Σ μ · value of each sentence, float64; probability 0 adds 0, even to an infinite value."""
    products = probabilities * torch.where(probabilities > 0, values, 0.0)
    return products.flatten(1).sum(1, dtype=torch.float64)
