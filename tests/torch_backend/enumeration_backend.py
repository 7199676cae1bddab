"""The operations of a ``TreeBackend`` by listing all trees: the slow and obvious twin of every backend, for
sentences of up to 5 words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from arcwise.torch.padded import Padded
from reference.enumerate_trees import Enumeration, all_trees, is_subtree
from torch_backend.sibling_enumeration import EnumerationSiblings


class EnumerationBackend(EnumerationSiblings):
    """Derivatives of log Z are cumulants of indicators of arcs: their covariance, and their third
    cumulant."""

    def log_partition(self, batch: Padded) -> Tensor:
        return self.marginals(batch)[0]

    def marginals(self, batch: Padded) -> tuple[Tensor, Tensor]:
        log_z = torch.empty(len(batch.scores), dtype=batch.scores.dtype)
        arcs = torch.zeros_like(batch.scores)
        for s, (n, trees) in enumerate(_sentences(batch)):
            log_z[s] = _log_partition(n, trees)
            arcs[s, : n + 1, : n + 1] = torch.from_numpy(np.tensordot(_probabilities(trees), _arcs(trees), 1))
            if _is_broken(trees):
                log_z[s] = torch.nan
                arcs[s, : n + 1, 1 : n + 1] = torch.nan
        return log_z, arcs

    def marginals_jvp(self, batch: Padded, direction: Tensor) -> Tensor:
        found = torch.zeros_like(batch.scores)
        for s, (n, trees) in enumerate(_sentences(batch)):
            p, arcs = _probabilities(trees), _arcs(trees)
            d = _centred(p, arcs, direction[s])
            found[s, : n + 1, : n + 1] = torch.from_numpy(np.tensordot(p * d, arcs, 1))
        return found

    def marginals_second_derivative(self, batch: Padded, first: Tensor, second: Tensor) -> Tensor:
        found = torch.zeros_like(batch.scores)
        for s, (n, trees) in enumerate(_sentences(batch)):
            p, arcs = _probabilities(trees), _arcs(trees)
            both = _centred(p, arcs, first[s]) * _centred(p, arcs, second[s])
            mean = np.tensordot(p, arcs, 1)
            found[s, : n + 1, : n + 1] = torch.from_numpy(np.tensordot(p * both, arcs - mean, 1))
        return found

    def decode(self, batch: Padded) -> tuple[Tensor, Tensor]:
        heads, values = self.k_best(batch, 1)
        return heads[:, 0], values[:, 0]

    def k_best(self, batch: Padded, k: int) -> tuple[Tensor, Tensor]:
        sentences, side, _ = batch.scores.shape
        heads = torch.full((sentences, k, side), -1)
        values = torch.full((sentences, k), -torch.inf, dtype=batch.scores.dtype)
        for s, (n, trees) in enumerate(_sentences(batch)):
            if n == 0:
                values[s, 0] = 0
                continue
            found = 0 if _is_broken(trees) else min(k, len(trees.trees))
            heads[s, :found, : n + 1] = torch.from_numpy(trees.trees[:found].astype(np.int64))
            values[s, :found] = torch.from_numpy(trees.values[:found])
        return heads, values

    def sample(self, batch: Padded, count: int, seed: int) -> Tensor:
        sentences, side, _ = batch.scores.shape
        heads = torch.full((count, sentences, side), -1)
        for s, (n, trees) in enumerate(_sentences(batch)):
            if n and len(trees.trees) and not _is_broken(trees):
                p = _probabilities(trees)
                drawn = np.random.default_rng([seed, s]).choice(len(p), size=count, p=p / p.sum())
                heads[:, s, : n + 1] = torch.from_numpy(trees.trees[drawn].astype(np.int64))
        return heads

    def are_trees(self, heads: Tensor, lengths: Tensor, projective: bool, single_root: bool) -> Tensor:
        found = torch.empty(heads.shape[:2], dtype=torch.bool)
        for s, n in enumerate(lengths.tolist()):
            right = all_trees(n, projective=projective, single_root=single_root).tolist() if n else [[-1]]
            found[s] = torch.tensor([[-1, *own] in right for own in heads[s, :, 1 : n + 1].tolist()])
        return found


def _sentences(batch: Padded) -> Iterator[tuple[int, Enumeration]]:
    for s, n in enumerate(batch.lengths.tolist()):
        scores = batch.scores[s, : n + 1, : n + 1].double().numpy().copy()
        spans: list[list[int]] = []
        if batch.span_starts.numel():
            spans = batch.span_ends[batch.span_starts[s] : batch.span_starts[s + 1]].tolist()
        allowed = (
            (lambda heads, spans=spans: all(is_subtree(heads, a, b) for a, b in spans)) if spans else None
        )
        yield n, Enumeration(scores, batch.projective, batch.single_root, allowed if n else None)


def _is_broken(trees: Enumeration) -> bool:
    """Whether nan or inf is among the scores that are read."""
    read = ~np.eye(len(trees.scores), dtype=bool)
    read[:, 0] = False
    return bool((read & ~(trees.scores < np.inf)).any())


def _log_partition(n: int, trees: Enumeration) -> float:
    return trees.log_partition if n else 0.0


def _probabilities(trees: Enumeration) -> np.ndarray:
    return trees.probabilities if len(trees.scores) > 1 and len(trees.values) else np.zeros(0)


def _arcs(trees: Enumeration) -> np.ndarray:
    """(T, n+1, n+1): 1 for the arcs of each tree."""
    side = len(trees.scores)
    if side == 1:
        return np.zeros((0, 1, 1))
    arcs = np.zeros((len(trees.trees), side, side))
    for at, heads in enumerate(trees.trees):
        arcs[at, heads[1:], np.arange(1, side)] = 1
    return arcs


def _centred(p: np.ndarray, arcs: np.ndarray, direction: Tensor) -> np.ndarray:
    """(T,): the sum of the direction over the arcs of each tree, less its mean."""
    side = arcs.shape[1]
    values = np.where(arcs > 0, direction[:side, :side].double().numpy(), 0).sum(axis=(1, 2))
    return values - p @ values
