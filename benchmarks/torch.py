"""Tree layers in torch on a GPU: arcwise, torch-struct, SuPar and SynJax.

    python -m benchmarks.torch [--quick]

Needs a GPU and writes a section of RESULTS.md; ``--quick`` measures a few sizes only and prints. Times are
CUDA events around the calls, Python included; every library gets the batch in its preferred format, prepared
beforehand; float32, one root. Reports libraries that cannot be imported.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import torch
from measuring.tables import table

from arcwise import TreeDistributionBatch as NumpyTrees
from arcwise.torch import TreeCRF, log_likelihood
from arcwise.torch.cuda import compiler
from benchmarks.peers.gpu_trees import (
    BEST,
    PROJECTIVE_BEST,
    PROJECTIVE_SUMS,
    SUMS,
    GpuPeer,
    Run,
    installed_peers,
)
from benchmarks.report import RESULTS, write_section

LENGTHS = (10, 25, 50, 100)
BATCHES = (64, 1024, 8192)
SPREADS = (1, 60, 200, 2000)
LONGEST_SECONDS = 2.0
"""Time limit of one call: slower contenders are not measured at that size."""
SHARED_BYTES_A_CLOCK = 128
"""Bytes that a multiprocessor reads from shared memory per clock cycle."""


def gaussian(batch: int, n: int, spread: float = 1.0, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Scores of a batch of sentences, the same in every run."""
    generator = torch.Generator().manual_seed(n * 100_000 + batch)
    scores = torch.randn((batch, n + 1, n + 1), generator=generator, dtype=torch.float64) * spread
    return scores.to(dtype).cuda()


def _sums(projective: bool) -> Run:
    def run(scores: torch.Tensor) -> object:
        trees = TreeCRF(scores, projective=projective, single_root=True)
        return trees.marginals, trees.log_partition

    return run


def _best(projective: bool) -> Run:
    return lambda scores: TreeCRF(scores, projective=projective, single_root=True).best()


ARCWISE = GpuPeer(
    "arcwise",
    lambda scores: scores,
    {
        PROJECTIVE_SUMS: _sums(True),
        PROJECTIVE_BEST: _best(True),
        SUMS: _sums(False),
        BEST: _best(False),
    },
)
"""The operations, as a user calls them."""


def seconds(run: Callable[[], object], finish: Callable[[object], None] | None, *, least: float) -> float:
    """Seconds per call: repeated calls for at least that long, between two GPU events (wall clock for
    JAX).
    """
    result = run()
    if finish:
        finish(result)
    torch.cuda.synchronize()
    began = time.perf_counter()
    result = run()
    if finish:
        finish(result)
    torch.cuda.synchronize()
    calls = max(1, min(200, int(least / max(time.perf_counter() - began, 1e-6))))
    if finish:
        began = time.perf_counter()
        for _ in range(calls):
            result = run()
        finish(result)
        return (time.perf_counter() - began) / calls
    start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    start.record()
    for _ in range(calls):
        run()
    end.record()
    torch.cuda.synchronize()
    return float(start.elapsed_time(end)) / 1000 / calls


def interleaved(contenders: Mapping[str, Callable[[], float]], rounds: int) -> dict[str, float]:
    """Minimum of several rounds in which contenders take turns, without those that fail."""
    best: dict[str, float] = {}
    gone: set[str] = set()
    for _ in range(rounds):
        for name, measure in contenders.items():
            if name in gone:
                continue
            try:
                seconds = measure()
            except Exception as problem:
                print(f"{name} fails: {type(problem).__name__}: {str(problem)[:200]}")
                gone.add(name)
                best.pop(name, None)
                continue
            best[name] = min(seconds, best.get(name, seconds))
            if seconds > LONGEST_SECONDS:
                gone.add(name)
    return best


def speed_table(
    operation: str, peers: Sequence[GpuPeer], lengths: Sequence[int], batches: Sequence[int], rounds: int
) -> str:
    """Microseconds per sentence."""
    knowing = [peer for peer in (ARCWISE, *peers) if operation in peer.operations]
    rows = []
    for n in lengths:
        for batch in batches:
            scores = gaussian(batch, n)
            contenders = {}
            for peer in knowing:
                ready = peer.prepare(scores)
                run = peer.operations[operation]
                contenders[peer.name] = _measure(run, ready, peer)
            times = interleaved(contenders, rounds)
            rivals = [value for name, value in times.items() if name != "arcwise"]
            cells = [f"{times[p.name] / batch * 1e6:.3g}" if p.name in times else "–" for p in knowing]
            ahead = f"{min(rivals) / times['arcwise']:.1f} ×" if rivals and "arcwise" in times else "–"
            rows.append([n, batch, *cells, ahead])
            print(operation, rows[-1], flush=True)
            del contenders
            torch.cuda.empty_cache()
    return table(["n", "batch", *(peer.name for peer in knowing), "arcwise is faster by"], rows)


def _measure(run: Run, ready: object, peer: GpuPeer) -> Callable[[], float]:
    return lambda: seconds(lambda: run(ready), peer.finish, least=0.02)


def likelihood_row() -> str:
    """Forward and backward pass of the likelihood of 1,024 labelled sentences of 25 words."""
    batch, n, labels = 1024, 25, 50
    generator = torch.Generator().manual_seed(0)
    scores = torch.randn((batch, n + 1, n + 1, labels), generator=generator).cuda().requires_grad_()
    rows = []
    for projective in (True, False):
        heads, names = TreeCRF(
            scores.detach(), projective=projective, single_root=True, labels=labels, label_dim=-1
        ).sample()

        def step(
            projective: bool = projective, heads: torch.Tensor = heads, names: torch.Tensor = names
        ) -> object:
            loss = log_likelihood(
                scores, heads, names, projective=projective, single_root=True, label_dim=-1, complete=True
            ).sum()
            return torch.autograd.grad(loss, scores)

        taken = min(seconds(step, None, least=0.05) for _ in range(3))
        rows.append(["projective" if projective else "non-projective", f"{taken * 1e3:.2f}"])
    return table(["trees", "forward and backward, ms"], rows)


def memory_row() -> str:
    """Peak memory of log Z and its gradient beyond the scores, in units of the scores."""
    rows = []
    for projective in (True, False):
        scores = gaussian(64, 100).requires_grad_()
        size = scores.numel() * scores.element_size()
        for _ in range(2):
            torch.cuda.synchronize()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
            log_z = TreeCRF(scores, projective=projective, single_root=True).log_partition
            torch.autograd.grad(log_z.sum(), scores)
            torch.cuda.synchronize()
            peak = torch.cuda.max_memory_allocated() - before
        rows.append(["projective" if projective else "non-projective", f"{peak / size:.2f} ×"])
    return table(["trees", "memory beyond the scores (64 × 100 words)"], rows)


def error_table(n: int = 20, batch: int = 16) -> str:
    """Largest error of a marginal against the float64 CPU kernels, which the tests check against mpmath."""
    rows = []
    for projective in (True, False):
        for spread in SPREADS:
            row: list[object] = ["projective" if projective else "non-projective", spread]
            for dtype in (torch.float64, torch.float32):
                scores = gaussian(batch, n, spread, dtype)
                marginals = TreeCRF(scores, projective=projective, single_root=True).marginals
                exact = NumpyTrees(
                    list(scores.double().cpu().numpy()), projective=projective, single_root=True
                ).marginals
                row.append(f"{np.abs(marginals.double().cpu().numpy() - np.stack(exact)).max():.1e}")
            rows.append(row)
    return table(["trees", "standard deviation of the scores", "float64", "float32"], rows)


def share_row(n: int = 50, batch: int = 8192) -> str:
    """Share of the shared-memory bandwidth that the Eisner kernels use."""
    scores = gaussian(batch, n)
    taken = min(seconds(lambda: _sums(True)(scores), None, least=0.05) for _ in range(3))
    properties = torch.cuda.get_device_properties(0)
    clock = 1.98e9
    # Each of the three inside sums and six outside sums of a cell reads two doubles per term: (3 + 6) n³/6
    # terms.
    bytes_read = batch * (3 + 6) * n**3 / 6 * 16
    limit = properties.multi_processor_count * SHARED_BYTES_A_CLOCK * clock
    return (
        f"Eisner log Z and marginals, n = {n}, batch {batch:,}: {taken * 1e3:.2f} ms. The sums read "
        f"{bytes_read / 1e9:.1f} GB from shared memory (two doubles per term, (3 + 6) · n³/6 terms per "
        f"sentence), {bytes_read / taken / 1e12:.1f} TB/s: {100 * bytes_read / taken / limit:.0f} % "
        f"of the {limit / 1e12:.1f} TB/s of {properties.multi_processor_count} multiprocessors "
        f"at {clock / 1e9:.2f} GHz.\n"
    )


def first_use_table() -> str:
    """Seconds to load the kernels, compiled and from the cache.

    NVRTC has a cache, too, so compilation gets a source it has never seen.
    """
    rows = []
    properties = torch.cuda.get_device_properties(0)
    architecture = f"sm_{properties.major}{properties.minor}"
    for path in sorted((compiler.source_folder() / "kernels").glob("*/*.cu"), key=lambda path: path.name):
        new = f"\nnamespace {{ __device__ long long made_at = {time.time_ns()}; }}\n".encode()
        began = time.perf_counter()
        compiler.compile_source(path.read_bytes() + new, path.name, architecture)
        compiled = time.perf_counter() - began
        compiler.machine_code(path.name, architecture)
        began = time.perf_counter()
        compiler.machine_code(path.name, architecture)
        rows.append([path.name, f"{compiled:.2f}", f"{(time.perf_counter() - began) * 1e3:.1f}"])
    return table(["source", "compiled at first use, s", "from the cache, ms"], rows)


def report(quick: bool, rounds: int) -> str:
    peers, missing = installed_peers()
    lengths, batches = (LENGTHS[1:2], BATCHES[:2]) if quick else (LENGTHS, BATCHES)
    parts = [
        f"{torch.cuda.get_device_name(0)}, torch {torch.__version__}. Microseconds per sentence; –: not run, "
        f"because it fails or takes too long.\n"
    ]
    parts += [f"- {line}\n" for line in missing]
    for operation in ARCWISE.operations:
        parts += [f"### {operation}\n", speed_table(operation, peers, lengths, batches, rounds)]
    parts += ["### likelihood of 1,024 sentences of 25 words, 50 labels\n", likelihood_row()]
    parts += ["### memory\n", memory_row()]
    parts += ["### largest error of a marginal\n\nn = 20, 16 sentences.\n", error_table()]
    parts += ["### GPU utilisation\n", share_row()]
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few sizes, write nothing")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each measurement")
    parser.add_argument("--first-use", action="store_true", help="measure only the compilation time")
    parser.add_argument("--save", type=Path, help="write the section to this file instead of RESULTS.md")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("benchmarks.torch needs a GPU that torch can use")
    warnings.simplefilter("ignore")  # warnings of the other libraries
    if options.first_use:
        print(body := first_use_table())
        section = ("torch-first-use", "CUDA kernels at first use")
    else:
        print(body := report(options.quick, options.rounds))
        section = ("torch", "Tree layers in torch")
    if options.save or not options.quick:
        write_section(*section, body, module="torch", results=options.save or RESULTS)


if __name__ == "__main__":
    main()
