"""Means and covariances of additive functions of a tree, f(tree) = Σ f[h, m] over its arcs, with gradients.

See ``arcwise.inference.moments``. All in float64: covariances are small differences of products.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor

from arcwise.errors import InputError
from arcwise.torch import operators
from arcwise.torch.label_sums import MINUS_INFINITY, log_label_probs
from arcwise.torch.score_tensors import ScoreTensors
from arcwise.torch.tree_tensors import describe


@dataclass(frozen=True)
class TreeMoments:
    """The moments of the functions of a batch's trees.

    Inside, functions are (S, B, L, N+1, N+1): S of them, L = 1 without labels.
    """

    scores: ScoreTensors
    batch_shape: torch.Size
    arcs: Tensor
    """P(arc), (B, 1, N+1, N+1)."""
    labels: Tensor
    """P(label | arc), (B, L, N+1, N+1)."""

    @classmethod
    def of(cls, scores: ScoreTensors, batch_shape: torch.Size) -> TreeMoments:
        """Compute the probabilities."""
        arcs = scores.wide_sums()[1].unsqueeze(1)
        labels = torch.ones_like(arcs)
        if scores.label_dim is not None:
            log_probs = log_label_probs(scores.values, scores.arcs, scores.label_dim)
            labels = log_probs.double().exp().movedim(scores.label_dim, 1)
        return cls(scores, batch_shape, arcs, labels)

    def mean(self, values: Tensor) -> Tensor:
        """Return E[f], (*leading, *batch_shape)."""
        functions, leading = self._functions(values, "values")
        return self._per_sentence(self._unflatten(self.arcs * self.labels * functions, leading))

    def covariance(self, first: Tensor, second: Tensor) -> Tensor:
        """Return Cov(f, g), (*leading, *batch_shape); leading dimensions are broadcast."""
        (f, f_leading), (g, g_leading) = self._functions(first, "first"), self._functions(second, "second")
        if len(g) < len(f):  # one pass over the trees for each function of the shorter list
            f, f_leading, g, g_leading = g, g_leading, f, f_leading
        slopes = self._unflatten(self._arc_covariances(f), f_leading)
        return self._per_sentence(slopes * self._unflatten(self._centred(g), g_leading))

    def _arc_covariances(self, functions: Tensor) -> Tensor:
        """Return Cov(f, [labelled arc in tree]), shaped as the functions. O(S n³).

        By the law of total covariance: of the means given the arc, plus that of an arc's labels.
        """
        means = (self.labels * functions).sum(2)  # (S, B, N+1, N+1)
        count = len(means)
        arcs = self.scores.arcs.double()[:, None].expand(-1, count, -1, -1).flatten(0, 1)
        lengths = self.scores.lengths[:, None].expand(-1, count).flatten()
        slopes = operators.marginals_jvp(
            self.scores.padded(arcs, lengths), means.transpose(0, 1).flatten(0, 1)
        )
        slopes = slopes.unflatten(0, (-1, count)).transpose(0, 1)
        return self.labels * (slopes.unsqueeze(2) + self.arcs * (functions - means.unsqueeze(2)))

    def _functions(self, values: Any, name: str) -> tuple[Tensor, torch.Size]:
        """Check values; return them as functions, 0 for impossible arcs, and their leading dimensions."""
        if not isinstance(values, Tensor) or not values.is_floating_point():
            raise InputError(f"{name}: found {describe(values)}, expected a tensor of real numbers")
        label_dim, size = self.scores.label_dim, self.scores.size
        expected = self.batch_shape + self.scores.values.shape[1:]
        wide = values.to(self.arcs.device, torch.float64)
        if values.shape == (*self.batch_shape, size, size):
            wide = wide.unsqueeze(-3)
        elif values.shape[-len(expected) :] != expected:
            shape = ", ".join(map(str, expected))
            raise InputError(f"{name}: found shape {tuple(values.shape)}, expected (…, {shape})")
        else:
            wide = wide.unsqueeze(-3) if label_dim is None else wide.movedim(label_dim - 4, -3)
        event = self.labels.shape[1:]
        leading = values.shape[: max(values.ndim - len(expected), 0)]
        functions = wide.expand(*leading, *self.batch_shape, *event)
        functions = functions.reshape(prod(leading), len(self.arcs), *event)
        return torch.where(self.arcs * self.labels > 0, functions, 0.0), leading

    def _centred(self, functions: Tensor) -> Tensor:
        """Subtract each word's value at its most probable arc.

        Every tree has one arc into each word, so no covariance changes, and values far from 0 cost no digits.
        """
        joint = (self.arcs * self.labels).detach()
        usual = joint.flatten(1, 2).argmax(1, keepdim=True)  # (B, 1, N+1)
        by_word = functions.detach().flatten(2, 3)
        offsets = by_word.gather(2, usual.expand(len(functions), -1, -1, -1))
        return torch.where(joint > 0, functions - offsets.unsqueeze(2), 0.0)

    def _unflatten(self, functions: Tensor, leading: torch.Size) -> Tensor:
        return functions.reshape(*leading, *self.batch_shape, *functions.shape[2:])

    def _per_sentence(self, products: Tensor) -> Tensor:
        """Sum over arcs and labels; nan for a sentence without a tree or with nan among its scores."""
        log_z = self.scores.wide_log_partition().detach().reshape(self.batch_shape)
        total = torch.where(log_z > MINUS_INFINITY, products.sum((-3, -2, -1)), torch.nan)
        return total.to(self.scores.values.dtype)
