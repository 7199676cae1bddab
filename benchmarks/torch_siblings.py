"""Projective trees with sibling scores in torch on a GPU: arcwise and SuPar's second-order CRF.

    python -m benchmarks.torch_siblings [--quick] [--device cpu]

Writes a section of RESULTS.md; ``--quick`` measures one size only and prints; ``--device cpu`` measures
smaller batches. Times as in ``benchmarks.torch``: CUDA events around the calls, Python included; every
library gets the batch in its preferred format, prepared beforehand; float32, one root. SuPar computes the
marginals of arcs (``marginals``); its time for those of siblings too, by autograd, stands beside it. The
script ends with an error if the results differ.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from measuring.tables import table
from torch import Tensor

from arcwise.torch import SiblingTreeCRF, TreeCRF
from benchmarks.peers.gpu_trees import supar_siblings
from benchmarks.report import RESULTS, write_section

SIZES = ((10, 1024), (25, 64), (25, 1024), (50, 64), (50, 1024))
CPU_SIZES = ((10, 64), (25, 64), (50, 64))
ALL_SUMS, ARC_SUMS, BEST = "log Z, marginals of arcs and siblings", "log Z, marginals of arcs", "best tree"


def random_scores(batch: int, n: int, device: str) -> tuple[Tensor, Tensor]:
    """Arc and sibling scores, the same in every run; first dependents have none, as in SuPar."""
    generator = torch.Generator().manual_seed(n * 100_000 + batch)
    scores = torch.randn((batch, n + 1, n + 1), generator=generator)
    siblings = torch.randn((batch, n + 1, n + 1, n + 1), generator=generator)
    siblings.diagonal(dim1=1, dim2=2).zero_()
    return scores.to(device), siblings.to(device)


def arcwise_runs(scores: Tensor, siblings: Tensor) -> dict[str, Callable[[], Any]]:
    """The operations as a user calls them."""

    def trees() -> SiblingTreeCRF:
        return SiblingTreeCRF(scores, siblings, projective=True, single_root=True)

    def sums() -> Any:
        distribution = trees()
        return distribution.log_partition, distribution.marginals, distribution.sibling_marginals

    return {ALL_SUMS: sums, ARC_SUMS: sums, BEST: lambda: trees().best()}


def supar_runs(scores: Tensor, siblings: Tensor) -> dict[str, Callable[[], Any]]:
    """The operations of SuPar, whose scores are [modifier, head] and [modifier, head, sibling]."""
    distribution = supar_siblings()
    arcs = scores.transpose(1, 2).contiguous()
    pairs = siblings.permute(0, 3, 1, 2).contiguous()

    def trees() -> Any:
        return distribution((arcs.clone(), pairs.clone()), multiroot=False)

    def sums() -> Any:
        crf = trees()
        return crf.log_partition, crf.marginals

    def all_sums() -> Any:
        crf = trees()
        return crf.log_partition, *torch.autograd.grad(crf.log_partition.sum(), crf.scores)

    return {ALL_SUMS: all_sums, ARC_SUMS: sums, BEST: lambda: trees().argmax}


def seconds(run: Callable[[], object], device: str, least: float = 0.05) -> float:
    """Seconds per call: repeated calls for at least that long, after one to warm up."""
    run()
    _wait(device)
    began = time.perf_counter()
    run()
    _wait(device)
    calls = max(1, min(200, int(least / max(time.perf_counter() - began, 1e-6))))
    began = time.perf_counter()
    for _ in range(calls):
        run()
    _wait(device)
    return (time.perf_counter() - began) / calls


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()


def check_agreement(scores: Tensor, siblings: Tensor) -> None:
    """Raise ``SystemExit`` if the two libraries disagree beyond float32."""
    log_z, arcs, pairs = arcwise_runs(scores, siblings)[ALL_SUMS]()
    peer_log_z, peer_arcs, peer_pairs = supar_runs(scores, siblings)[ALL_SUMS]()
    comparisons = (
        (log_z, peer_log_z, 1e-3),
        (arcs, peer_arcs.transpose(1, 2), 1e-3),
        # SuPar has no score of a first dependent.
        (
            pairs * (1 - torch.eye(len(arcs[0]), device=pairs.device))[..., None],
            peer_pairs.permute(0, 2, 3, 1),
            1e-3,
        ),
    )
    for own, other, tolerance in comparisons:
        if not torch.allclose(own, other, rtol=tolerance, atol=tolerance):
            raise SystemExit(f"arcwise and SuPar disagree by {(own - other).abs().max().item():.1e}")


def speed_table(operation: str, sizes: tuple[tuple[int, int], ...], device: str, rounds: int) -> str:
    """Microseconds per sentence; libraries take turns, and the best round counts."""
    rows = []
    for n, batch in sizes:
        prepared = random_scores(batch, n, device)
        best: dict[str, float] = {}
        contenders = {"arcwise": arcwise_runs(*prepared)}
        contenders["SuPar"] = supar_runs(*prepared)
        for _ in range(rounds):
            for name, runs in list(contenders.items()):
                try:
                    taken = seconds(runs[operation], device)
                except torch.OutOfMemoryError:
                    del contenders[name]
                    continue
                best[name] = min(taken, best.get(name, taken))
        cells = [f"{best[name] / batch * 1e6:.3g}" if name in best else "–" for name in ("arcwise", "SuPar")]
        ahead = f"{best['SuPar'] / best['arcwise']:.1f} ×" if "SuPar" in best else "–"
        rows.append([n, batch, *cells, ahead])
        print(operation, rows[-1], flush=True)
        if device == "cuda":
            torch.cuda.empty_cache()
    return table(["n", "batch", "arcwise", "SuPar", "arcwise is faster by"], rows)


def order_row(device: str, n: int = 25) -> str:
    """What siblings cost: the likelihood's forward and backward pass, first and second order."""
    batch = 1024 if device == "cuda" else 64
    scores, siblings = (part.requires_grad_() for part in random_scores(batch, n, device))
    rows = []

    def first() -> object:
        trees = TreeCRF(scores, projective=True, single_root=True)
        return torch.autograd.grad(-trees.log_prob(heads, complete=True).sum(), scores)

    def second() -> object:
        trees = SiblingTreeCRF(scores, siblings, projective=True, single_root=True)
        return torch.autograd.grad(-trees.log_prob(heads).sum(), (scores, siblings))

    heads = TreeCRF(scores.detach(), projective=True, single_root=True).best()
    for name, step in (("arcs", first), ("arcs and siblings", second)):
        rows.append([name, f"{min(seconds(step, device) for _ in range(3)) * 1e3:.2f}"])
    return table(["scores of", f"likelihood of {batch:,} × {n} words, forward and backward, ms"], rows)


def report(quick: bool, device: str, rounds: int) -> str:
    sizes = SIZES if device == "cuda" else CPU_SIZES
    sizes = sizes[2:3] if quick else sizes
    where = torch.cuda.get_device_name(0) if device == "cuda" else "CPU, one thread; not measured on a GPU"
    torch.set_num_threads(1)
    check_agreement(*random_scores(16, 12, device))
    parts = [f"{where}, torch {torch.__version__}. Microseconds per sentence; –: out of memory.\n"]
    for operation in (ALL_SUMS, ARC_SUMS, BEST):
        parts += [f"### {operation}\n", speed_table(operation, sizes, device, rounds)]
    parts += ["### first and second order\n", order_row(device)]
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one size, write nothing")
    parser.add_argument("--device", default="cuda", choices=["cuda", "cpu"])
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each measurement")
    parser.add_argument("--save", type=Path, help="write the section to this file instead of RESULTS.md")
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        raise SystemExit("benchmarks.torch_siblings needs a GPU that torch can use, or --device cpu")
    warnings.simplefilter("ignore")  # warnings of the other library
    print(body := report(options.quick, options.device, options.rounds))
    if options.save or not options.quick:
        write_section(
            "torch-siblings",
            "Sibling scores in torch",
            body,
            module="torch_siblings",
            results=options.save or RESULTS,
        )


if __name__ == "__main__":
    main()
