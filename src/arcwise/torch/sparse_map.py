"""SparseMAP for a batch of sentences: a sparse mean of trees, with gradients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from arcwise.torch import operators
from arcwise.torch.active_set import ActiveSet, Arcs, Floats
from arcwise.torch.label_sums import MINUS_INFINITY
from arcwise.torch.score_tensors import ScoreTensors, with_values
from arcwise.torch.tree_tensors import Trees

_TOLERANCE = 1e-9
"""On the gain of a tree, after the best score of each word is subtracted."""


@dataclass(frozen=True)
class SparseTrees:
    """The solution of SparseMAP: trees, best first, and their weights."""

    marginals: Tensor
    """Σ weight · tree, shaped as the scores; with gradient."""
    trees: Tensor | Trees
    """(K, …, N+1); heads -1 where a sentence has fewer than K trees."""
    weights: Tensor
    """(K, …): at least 0, with sum 1; with gradient, as long as the same trees have weight.

    Marginals are unique. Trees and weights need not be: two pairs of trees that exchange arcs can have the
    same mean.
    """


def sparse_map(scores: ScoreTensors, max_steps: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return marginals, shaped as the scores, heads and labels (B, K, N+1), and weights (B, K).

    Within the active trees the weights are linear in the scores, so the gradient is that of this linear map.
    """
    with torch.no_grad():
        active = _solve(scores, max_steps)
        heads, labels, weights, jacobian = _tensors(active, scores)
    tree_scores = scores.tree_arcs(heads, labels, with_all=False).sum(-1, dtype=torch.float64)
    change = tree_scores - tree_scores.detach()  # 0, with the gradient of the scores
    weights = weights + (jacobian @ change.unsqueeze(-1)).squeeze(-1)
    places = scores.places(heads, labels)
    amounts = torch.where(heads >= 0, weights.unsqueeze(-1), 0.0).flatten(1)
    flat = torch.zeros(len(heads), scores.values[0].numel(), dtype=torch.float64, device=heads.device)
    marginals = flat.scatter_add(1, places.flatten(1), amounts).view_as(scores.values)
    dtype = scores.values.dtype
    return marginals.to(dtype), heads, labels, weights.to(dtype)


def _solve(scores: ScoreTensors, max_steps: int) -> list[ActiveSet | None]:
    """Return the active trees of each sentence, None if it has no tree; one batched decoding per step."""
    values = _relative(scores)
    flat = values.cpu().numpy().reshape(len(values), -1)
    active: list[ActiveSet | None] = [None] * len(values)
    for s, arcs in zip(range(len(values)), _decode(scores, values), strict=True):
        if arcs is not None:
            active[s] = ActiveSet(flat[s], arcs)
    unfinished = [s for s, trees in enumerate(active) if trees is not None and trees.trees.size]
    for _ in range(max_steps):
        if not unfinished:
            break
        gradients = torch.from_numpy(np.stack([flat[s] - _of(active[s]).marginals() for s in unfinished]))
        some = scores.select(unfinished)
        decoded = _decode(some, gradients.view(-1, *values.shape[1:]).to(values.device))
        improving = []
        for s, arcs in zip(unfinished, decoded, strict=True):
            if arcs is not None and _of(active[s]).improves(arcs, _TOLERANCE):
                _of(active[s]).add(arcs)
                improving.append(s)
        unfinished = improving
    return active


def _of(trees: ActiveSet | None) -> ActiveSet:
    assert trees is not None
    return trees


def _relative(scores: ScoreTensors) -> Tensor:
    """Return the scores less the best of each word, float64.

    Every tree has one arc into each word, so nothing changes but the rounding of large scores.
    """
    values = scores.values.detach().double()
    by_word = values.movedim(-1, 1) if scores.label_dim == 3 else values
    readable = scores.readable.unsqueeze(1) if scores.label_dim is not None else scores.readable
    by_word = torch.where(readable, by_word, MINUS_INFINITY)
    dims = (-3, -2) if scores.label_dim is not None else (-2,)
    best = by_word.amax(dims, keepdim=True)
    relative = by_word - torch.where(best.isfinite(), best, 0.0)
    return relative.movedim(1, -1).contiguous() if scores.label_dim == 3 else relative


def _decode(scores: ScoreTensors, values: Tensor) -> list[Arcs | None]:
    """Return the places of the arcs of the best tree of each sentence, None where there is none."""
    batch = with_values(scores, values)
    heads, best = operators.decode(batch.padded(batch.best_arcs))
    labels = batch.label_scores(heads[:, None]).argmax(-1) if scores.label_dim is not None else heads[:, None]
    places = batch.places(heads[:, None], labels)[:, 0].cpu().numpy()
    rows = zip(places, (heads >= 0).cpu().numpy(), best.tolist(), strict=True)
    return [row[mask] if value > MINUS_INFINITY else None for row, mask, value in rows]


def _tensors(active: list[ActiveSet | None], scores: ScoreTensors) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return heads and labels (B, K, N+1), weights (B, K) and their Jacobians (B, K, K), padded."""
    count = max((len(trees.trees) for trees in active if trees is not None), default=1)
    size, device = scores.size, scores.values.device
    label_count = 1 if scores.label_dim is None else scores.values.shape[scores.label_dim]
    heads = np.full((2, len(active), count, size), -1, np.int64)
    weights: Floats = np.zeros((len(active), count))
    jacobians: Floats = np.zeros((len(active), count, count))
    for s, trees in enumerate(active):
        if trees is None:
            continue
        order = np.argsort(-trees.weights, kind="stable")
        weights[s, : len(order)] = trees.weights[order]
        jacobians[s, : len(order), : len(order)] = trees.jacobian()[np.ix_(order, order)]
        for k, tree in enumerate(order):
            arcs = trees.trees[tree]
            # As ``ScoreTensors.places`` counts them: (label, head, word) or (head, word, label).
            if scores.label_dim == 3:
                arcs, codes = np.divmod(arcs, label_count)
            else:
                codes, arcs = np.divmod(arcs, size * size)
            heads[0, s, k, arcs % size], heads[1, s, k, arcs % size] = arcs // size, codes
    parts = (torch.from_numpy(part).to(device) for part in (heads[0], heads[1], weights, jacobians))
    tree_heads, labels, tree_weights, slopes = parts
    return tree_heads, labels, tree_weights, slopes
