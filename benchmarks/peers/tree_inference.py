"""Adapters of libraries for inference over trees.

Each ``Peer`` prepares a batch of equally long sentences outside the timing and has a function for every
operation it supports. Scores and marginals use arcwise's layout, [head, modifier], the root first. All trees
have a single root, except where a library does not support it (ufal.chu_liu_edmonds).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Run = Callable[[Any], Any]


@dataclass(frozen=True)
class Peer:
    """A library: ``prepare`` a batch, then pass the result to ``operations[name]``."""

    name: str
    prepare: Callable[[Sequence[Floats]], Any]
    operations: dict[str, Run]
    set_threads: Callable[[int], None] = field(default=lambda threads: None)
    longest: int = 10**9  # longer sentences take too long


def installed_peers() -> tuple[list[Peer], list[str]]:
    """Importable peers, and the reason for each one that is missing."""
    peers, missing = [], []
    for name, load in LOADERS.items():
        try:
            peers.append(load())
        except Exception as problem:  # an old library may fail in any way under a new Python or torch
            missing.append(f"{name}: not installed ({type(problem).__name__}: {problem})")
    return peers, missing


def _ufal() -> Peer:
    from ufal.chu_liu_edmonds import chu_liu_edmonds

    def prepare(batch: Sequence[Floats]) -> list[Floats]:
        return [np.ascontiguousarray(_without_unread(scores).T) for scores in batch]

    return Peer(
        "ufal.chu_liu_edmonds (multi-root)",
        prepare,
        {"non-projective decode": lambda batch: [chu_liu_edmonds(scores) for scores in batch]},
    )


def _networkx() -> Peer:
    import networkx as nx

    def prepare(batch: Sequence[Floats]) -> list[Any]:
        graphs = []
        for scores in batch:
            side = len(scores)
            graph = nx.DiGraph()
            graph.add_weighted_edges_from(
                (h, m, float(scores[h, m])) for h in range(side) for m in range(1, side) if h != m
            )
            graphs.append(graph)
        return graphs

    def decode(graphs: list[Any]) -> list[Any]:
        return [nx.maximum_spanning_arborescence(graph) for graph in graphs]

    return Peer("networkx (multi-root)", prepare, {"non-projective decode": decode}, longest=25)


def _torch_struct(precision: str) -> Peer:
    import torch
    from torch_struct import DependencyCRF, NonProjectiveDependencyCRF

    def prepare(batch: Sequence[Floats]) -> Any:
        words = np.stack([scores[1:, 1:] for scores in batch])
        diagonal = np.arange(words.shape[1])
        words[:, diagonal, diagonal] = np.stack([scores[0, 1:] for scores in batch])  # root scores
        return torch.tensor(words, dtype=getattr(torch, precision))

    def crf(potentials: Any) -> Any:
        # its in-place masks fail on a leaf of the graph, so pass a copy
        return DependencyCRF(potentials.clone().requires_grad_() * 1, multiroot=False)

    def arcwise_layout(marginals: Any) -> Floats:
        words = marginals.detach().numpy().astype(np.float64)
        size, n, _ = words.shape
        diagonal = np.arange(n)
        out = np.zeros((size, n + 1, n + 1))
        out[:, 0, 1:] = words[:, diagonal, diagonal]
        words[:, diagonal, diagonal] = 0
        out[:, 1:, 1:] = words
        return out

    def sums(potentials: Any) -> Floats:
        crf = NonProjectiveDependencyCRF(potentials.clone(), multiroot=False)
        crf.partition  # noqa: B018
        return arcwise_layout(crf.marginals)

    return Peer(
        f"torch-struct {precision}",
        prepare,
        {
            "non-projective marginals": sums,
            "projective decode": lambda p: crf(p).argmax,
            "projective marginals": lambda p: arcwise_layout(crf(p).marginals),
        },
        set_threads=torch.set_num_threads,
    )


def _supar(precision: str) -> Peer:
    import torch
    from supar.structs import DependencyCRF, MatrixTree

    def prepare(batch: Sequence[Floats]) -> Any:
        scores = np.stack([_without_unread(scores).T for scores in batch])  # [modifier, head]
        return torch.tensor(scores, dtype=getattr(torch, precision))

    def marginals(distribution: Any) -> Run:
        def run(scores: Any) -> Floats:
            result = distribution(scores.clone(), multiroot=False).marginals
            return result.detach().numpy().astype(np.float64).transpose(0, 2, 1)

        return run

    return Peer(
        f"SuPar {precision}",
        prepare,
        {
            "non-projective marginals": marginals(MatrixTree),
            "non-projective decode": lambda s: MatrixTree(s.clone(), multiroot=False).argmax,
            "projective decode": lambda s: DependencyCRF(s.clone(), multiroot=False).argmax,
            "projective marginals": marginals(DependencyCRF),
        },
        set_threads=torch.set_num_threads,
    )


def _without_unread(scores: Floats) -> Floats:
    """Zero the entries that arcwise ignores: some libraries read them."""
    clean = scores.copy()
    clean[:, 0] = 0
    np.fill_diagonal(clean, 0)
    return clean


LOADERS: dict[str, Callable[[], Peer]] = {
    "ufal.chu_liu_edmonds": _ufal,
    "networkx": _networkx,
    "torch-struct float32": lambda: _torch_struct("float32"),
    "torch-struct float64": lambda: _torch_struct("float64"),
    "SuPar float32": lambda: _supar("float32"),
    "SuPar float64": lambda: _supar("float64"),
}
