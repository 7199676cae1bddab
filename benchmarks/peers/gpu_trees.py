"""Adapters of libraries for inference over trees on a GPU, float32, one root.

Each prepares a batch of equally long sentences outside the timing and has a function for every operation it
supports. Scores use arcwise's layout: (B, n+1, n+1), [head, modifier], the root first.
"""

from __future__ import annotations

import os
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Run = Callable[[Any], Any]
PROJECTIVE_SUMS = "Eisner: log Z and marginals"
PROJECTIVE_BEST = "Eisner: best tree"
SUMS = "Matrix-Tree: log Z and marginals"
BEST = "spanning tree with one root"


@dataclass(frozen=True)
class GpuPeer:
    """A library: ``prepare`` a batch, pass the result to ``operations[name]``, and ``finish`` before
    reading the clock.
    """

    name: str
    prepare: Callable[[Any], Any]
    operations: dict[str, Run]
    finish: Callable[[Any], None] | None = None
    """Waits for a result; None: torch synchronises."""


def installed_peers() -> tuple[list[GpuPeer], list[str]]:
    """Importable peers, and the reason for each one that is missing."""
    peers, missing = [], []
    for name, load in {"torch-struct": _torch_struct, "SuPar": _supar, "SynJax": _synjax}.items():
        try:
            peers.append(load())
        except Exception as problem:  # an old library may fail in any way under a new Python, torch or JAX
            missing.append(f"{name}: not measured ({type(problem).__name__}: {problem})")
    return peers, missing


def _torch_struct() -> GpuPeer:
    from torch_struct import DependencyCRF, NonProjectiveDependencyCRF

    def prepare(scores: Any) -> Any:
        words = scores[:, 1:, 1:].clone()
        words.diagonal(dim1=1, dim2=2).copy_(scores[:, 0, 1:])  # root scores
        return words

    def crf(potentials: Any) -> Any:
        # its in-place masks fail on a leaf of the graph, so pass a copy
        return DependencyCRF(potentials.clone().requires_grad_() * 1, multiroot=False)

    def both(distribution: Any) -> Any:
        return distribution.partition, distribution.marginals

    return GpuPeer(
        "torch-struct",
        prepare,
        {
            PROJECTIVE_SUMS: lambda p: both(crf(p)),
            PROJECTIVE_BEST: lambda p: crf(p).argmax,
            SUMS: lambda p: both(NonProjectiveDependencyCRF(p.clone(), multiroot=False)),
        },
    )


def _supar() -> GpuPeer:
    _without_parsers()
    from supar.structs.tree import DependencyCRF, MatrixTree

    def prepare(scores: Any) -> Any:
        clean = scores.transpose(1, 2).contiguous()  # [modifier, head]
        clean[:, 0] = 0
        clean.diagonal(dim1=1, dim2=2).zero_()
        return clean

    def both(distribution: Any) -> Any:
        return distribution.log_partition, distribution.marginals

    return GpuPeer(
        "SuPar",
        prepare,
        {
            PROJECTIVE_SUMS: lambda s: both(DependencyCRF(s.clone(), multiroot=False)),
            PROJECTIVE_BEST: lambda s: DependencyCRF(s.clone(), multiroot=False).argmax,
            SUMS: lambda s: both(MatrixTree(s.clone(), multiroot=False)),
        },
    )


def supar_siblings() -> type[Any]:
    """Return SuPar's distribution over projective trees with siblings, or raise ``ImportError``."""
    _without_parsers()
    from supar.structs.tree import Dependency2oCRF

    siblings: type[Any] = Dependency2oCRF
    return siblings


def _without_parsers() -> None:
    """Make ``supar.structs`` importable without the dependencies of SuPar's parsers (stanza, nltk, …).

    Skips its two ``__init__.py``; all code that runs is SuPar's.
    """
    if "supar" in sys.modules or (find_spec("stanza") and find_spec("nltk")):
        return
    spec = find_spec("supar")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("supar is not installed")
    home = Path(next(iter(spec.submodule_search_locations)))
    for name, folder in (
        ("supar", home),
        ("supar.utils", home / "utils"),
        ("supar.structs", home / "structs"),
    ):
        module = types.ModuleType(name)
        module.__path__ = [str(folder)]
        sys.modules[name] = module


def _synjax() -> GpuPeer:
    """Load SynJax, which needs an older JAX.

    With current JAX it ran with type checks off, with ``jax.core.is_constant_dim`` replaced by a test for
    int, and with a stub for numba, which only its CPU argmax uses. None of that is in the timed code.
    """
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    import jax
    from synjax import SpanningTreeCRF

    if jax.default_backend() != "gpu":
        raise RuntimeError("JAX sees no GPU")

    def trees(scores: Any, projective: bool) -> Any:
        return SpanningTreeCRF(scores, directed=True, projective=projective, single_root_edge=True)

    def sums(projective: bool) -> Run:
        def run(scores: Any) -> Any:
            distribution = trees(scores, projective)
            return distribution.log_partition(), distribution.marginals()

        return jax.jit(run)

    return GpuPeer(
        "SynJax, compiled",
        lambda scores: jax.device_put(scores.cpu().numpy()),
        {
            PROJECTIVE_SUMS: sums(True),
            PROJECTIVE_BEST: jax.jit(lambda scores: trees(scores, True).argmax()),
            SUMS: sums(False),
        },
        finish=lambda result: jax.block_until_ready(result),
    )
