"""Inference over trees: arcwise and other libraries.

    python -m benchmarks.inference [--quick | --torch | --distribution]

Writes a section of RESULTS.md; ``--quick`` measures short sentences only and prints. Reports libraries that
cannot be imported. torch-struct and SuPar come with ``pip install 'arcwise[bench-torch]'``.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial

os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np
import numpy.typing as npt
from measuring.tables import table
from measuring.timing import interleaved
from tests.reference.matrix_tree_digits import precise_matrix_tree

from arcwise.inference.distribution import TreeDistribution
from arcwise.inference.eisner import (
    eisner_decode,
    eisner_decode_batch,
    eisner_marginals,
    eisner_marginals_batch,
)
from arcwise.inference.matrix_tree import matrix_tree_marginals, matrix_tree_marginals_batch
from arcwise.inference.spanning_tree import (
    spanning_tree_decode,
    spanning_tree_decode_batch,
    spanning_tree_k_best,
)
from benchmarks.peers.tree_inference import Peer, installed_peers
from benchmarks.report import write_section

Floats = npt.NDArray[np.float64]

LENGTHS = (10, 25, 50, 100)
GROWTH_LENGTHS = (50, 100, 200, 400)
BATCH = 64
SPREADS = (1, 20, 60, 200)

SINGLE: dict[str, Callable[..., object]] = {
    "non-projective decode": spanning_tree_decode,
    "non-projective marginals": matrix_tree_marginals,
    "projective decode": eisner_decode,
    "projective marginals": eisner_marginals,
}
BATCHED: dict[str, Callable[..., object]] = {
    "non-projective decode": spanning_tree_decode_batch,
    "non-projective marginals": matrix_tree_marginals_batch,
    "projective decode": eisner_decode_batch,
    "projective marginals": eisner_marginals_batch,
}


def sentences(n: int, count: int, spread: float = 1.0, seed: int = 0) -> list[Floats]:
    rng = np.random.default_rng((n, count, seed))
    return [rng.normal(scale=spread, size=(n + 1, n + 1)) for _ in range(count)]


def timings(
    operation: str, n: int, count: int, threads: int, peers: Sequence[Peer], repeat: int
) -> dict[str, float]:
    """Microseconds per sentence of arcwise and of each peer that supports the operation."""
    batch = sentences(n, count)
    if count == 1:
        ours = partial(SINGLE[operation], batch[0], single_root=True)
    else:
        ours = partial(BATCHED[operation], np.stack(batch), single_root=True, threads=threads)
    contenders: dict[str, Callable[[], object]] = {"arcwise": ours}
    for peer in peers:
        if operation in peer.operations and n <= peer.longest and not (peer.longest < 10**9 and count > 1):
            peer.set_threads(threads)
            run = partial(peer.operations[operation], peer.prepare(batch))
            if runs(run):
                contenders[peer.name] = run
    fastest = interleaved(contenders, repeat=repeat, min_seconds=0.005)
    return {name: seconds / count * 1e6 for name, seconds in fastest.items()}


def runs(contender: Callable[[], object], patience: float = 1.0) -> bool:
    """Whether the peer runs (an old library may fail under a new torch) within a reasonable time."""
    start = time.perf_counter()
    try:
        contender()
    except Exception as problem:
        print(f"fails: {type(problem).__name__}: {problem}", file=sys.stderr)
        return False
    return time.perf_counter() - start < patience


def speed_table(
    operation: str, count: int, threads: int, peers: Sequence[Peer], lengths: Sequence[int], repeat: int
) -> str:
    knowing = [peer.name for peer in peers if operation in peer.operations]
    rows = []
    for n in lengths:
        times = timings(operation, n, count, threads, peers, repeat)
        rivals = [times[name] for name in knowing if name in times]
        ahead = f"{min(rivals) / times['arcwise']:.1f} ×" if rivals else "–"
        cells = [f"{times[name]:.1f}" if name in times else "–" for name in ("arcwise", *knowing)]
        rows.append([n, *cells, ahead])
    return table(["n", "arcwise", *knowing, "arcwise is faster by"], rows)


def k_best_table(lengths: Sequence[int], repeat: int) -> str:
    rows = []
    for n in lengths:
        (scores,) = sentences(n, 1)
        times = interleaved(
            {str(k): partial(spanning_tree_k_best, scores, k=k, single_root=True) for k in (1, 4, 16)},
            repeat=repeat,
        )
        rows.append([n, *(f"{seconds * 1e6:.1f}" for seconds in times.values())])
    return table(["n", "k = 1", "k = 4", "k = 16"], rows)


def growth_table(repeat: int) -> str:
    rows = []
    for operation, run in SINGLE.items():
        seconds = [
            interleaved({"": partial(run, sentences(n, 1)[0], single_root=True)}, repeat=repeat)[""]
            for n in GROWTH_LENGTHS
        ]
        slope = np.polyfit(np.log(GROWTH_LENGTHS), np.log(seconds), 1)[0]
        rows.append([operation, *(f"{s * 1e6:.0f}" for s in seconds), f"{slope:.2f}"])
    return table(["operation", *(f"n = {n}" for n in GROWTH_LENGTHS), "log-log slope"], rows)


def torch_table(lengths: Sequence[int], repeat: int) -> str:
    """Overhead of a call of ``arcwise.torch`` over numpy for the same sentence, already a tensor; no
    gradients.
    """
    import torch

    from arcwise.torch import TreeCRF

    torch.set_num_threads(1)

    def ask(operation: str, scores: torch.Tensor) -> object:
        is_projective = operation.startswith("projective")
        trees = TreeCRF(scores, projective=is_projective, single_root=True)
        return trees.best() if operation.endswith("decode") else (trees.marginals, trees.log_partition)

    rows = []
    for operation, run in SINGLE.items():
        for n in lengths:
            (scores,) = sentences(n, 1)
            times = interleaved(
                {
                    "numpy": partial(run, scores, single_root=True),
                    "torch": partial(ask, operation, torch.from_numpy(scores)),
                },
                repeat=repeat,
                min_seconds=0.005,
            )
            by_numpy, by_torch = (times[name] * 1e6 for name in ("numpy", "torch"))
            rows.append([operation, n, f"{by_numpy:.1f}", f"{by_torch:.1f}", f"{by_torch - by_numpy:.1f}"])
    return table(["operation", "n", "numpy", "arcwise.torch", "more"], rows)


def distribution_table(peers: Sequence[Peer], lengths: Sequence[int], repeat: int) -> str:
    """Overhead of one question to a new ``TreeDistribution`` over the kernel that answers it."""

    def ask(operation: str, scores: Floats) -> object:
        trees = TreeDistribution(scores, projective=operation.startswith("projective"), single_root=True)
        return trees.best() if operation.endswith("decode") else trees.marginals

    knowing = [peer for peer in peers if peer.name.startswith("ufal")]
    rows = []
    for operation, kernel in SINGLE.items():
        for n in lengths:
            batch = sentences(n, 1)
            contenders: dict[str, Callable[[], object]] = {
                "kernel": partial(kernel, batch[0], single_root=True),
                "class": partial(ask, operation, batch[0]),
            }
            for peer in knowing:
                if operation in peer.operations:
                    contenders[peer.name] = partial(peer.operations[operation], peer.prepare(batch))
            # Rounds as in the other tables: long enough for warm caches, short enough to go uninterrupted.
            fastest = interleaved(contenders, repeat=repeat, min_seconds=0.005, clock=time.process_time)
            times = {name: 1e6 * t for name, t in fastest.items()}
            others = [f"{times[peer.name]:.1f}" if peer.name in times else "–" for peer in knowing]
            ours = [times["kernel"], times["class"], times["class"] - times["kernel"]]
            rows.append([operation, n, *(f"{t:.1f}" for t in ours), *others])
    header = ["operation", "n", "kernel", "TreeDistribution", "more", *(peer.name for peer in knowing)]
    return table(header, rows)


def error_table(peers: Sequence[Peer], n: int, count: int) -> str:
    """Largest error of any marginal over a few sentences."""
    knowing = [peer for peer in peers if "non-projective marginals" in peer.operations]
    rows = []
    for spread in SPREADS:
        batch = sentences(n, count, spread)
        expected = np.stack([precise_matrix_tree(scores, single_root=True)[0] for scores in batch])
        ours = np.stack(matrix_tree_marginals_batch(batch, single_root=True)[0])
        cells = [_error(ours, expected)]
        for peer in knowing:
            try:
                marginals = peer.operations["non-projective marginals"](peer.prepare(batch))
            except Exception as problem:  # a singular matrix, for example
                cells.append(type(problem).__name__)
                continue
            cells.append(_error(marginals, expected))
        rows.append([spread, *cells])
    return table(["standard deviation of the scores", "arcwise", *(peer.name for peer in knowing)], rows)


def _error(computed: Floats, expected: Floats) -> str:
    error = np.abs(computed - expected).max()
    return f"{error:.1e}" if np.isfinite(error) else "nan or inf"


def report(peers: Sequence[Peer], missing: Sequence[str], lengths: Sequence[int], repeat: int) -> str:
    parts = [
        "Gaussian scores, single root. Times are microseconds per sentence, Python call included; every "
        "library gets the batch in its preferred format, prepared beforehand. –: not run, because it "
        "fails or takes too long.\n"
    ]
    parts += [f"- {line}\n" for line in missing]
    # float64 is slower for the peers and no more exact at larger spreads: time them at their best
    fast = [peer for peer in peers if not peer.name.endswith("float64")]
    for operation in SINGLE:
        parts.append(f"### {operation}\n\nOne sentence, one thread\n")
        parts.append(speed_table(operation, 1, 1, fast, lengths, repeat))
        for threads in (1, 2):
            parts.append(f"Batch of {BATCH}, {threads} thread{'s' * (threads > 1)}\n")
            parts.append(speed_table(operation, BATCH, threads, fast, lengths, max(2, repeat // 2)))
    parts.append("### non-projective k-best\n")
    parts.append(k_best_table(lengths, repeat))
    parts.append("### scaling\n\nMicroseconds; one sentence, one thread.\n")
    parts.append(growth_table(repeat))
    parts.append(
        "### largest error of a marginal\n\nNon-projective, single root, n = 20, against the same sums in "
        "multiple precision (mpmath).\n"
    )
    parts.append(error_table(peers, 20, 3 if len(lengths) < len(LENGTHS) else 12))
    return "\n".join(parts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="short sentences, few rounds, write nothing")
    parser.add_argument(
        "--torch",
        action="store_true",
        help="measure only the overhead of arcwise.torch over numpy",
    )
    parser.add_argument(
        "--distribution",
        action="store_true",
        help="measure only the overhead of TreeDistribution over the kernels",
    )
    parser.add_argument("--repeat", type=int, default=7, help="rounds of each measurement")
    options = parser.parse_args()
    quick = options.quick
    warnings.simplefilter("ignore")  # warnings of the other libraries
    if options.torch:
        print(
            body := f"Microseconds per call; one sentence, one thread, "
            f"float64.\n\n{torch_table(LENGTHS, options.repeat)}"
        )
        write_section("inference-torch", "arcwise.torch on the CPU", body, module="inference")
        return
    peers, missing = installed_peers()
    if options.distribution:
        body = (
            "Microseconds of processor time per question, one sentence, one thread, Gaussian scores, single "
        )
        body += (
            "root. TreeDistribution: the constructor and one question, `best()` or `.marginals`. More: the "
        )
        body += "difference.\n\n" + distribution_table(peers, LENGTHS, options.repeat)
        print(body)
        write_section("inference-distribution", "One question to TreeDistribution", body, module="inference")
        return
    body = report(peers, missing, LENGTHS[:2] if quick else LENGTHS, 2 if quick else options.repeat)
    print(body)
    if not quick:
        write_section("inference", "Inference over trees", body)


if __name__ == "__main__":
    main()
