"""The CUDA kernels of Matrix-Tree, run on the CPU, against the CPU's own kernels, enumeration and finite
differences."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from arcwise.errors import NoTreeError  # noqa: E402
from arcwise.inference.matrix_tree import matrix_tree_marginals  # noqa: E402
from arcwise.torch.cuda import matrix_tree  # noqa: E402
from reference.enumerate_trees import Enumeration, random_scores  # noqa: E402
from torch_backend.emulated_gpu import COMPILER, EmulatedGpu  # noqa: E402
from torch_backend.padded_batches import crossing  # noqa: E402

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")
Root = pytest.mark.parametrize("single_root", [True, False])
LAUNCHERS = [EmulatedGpu(), EmulatedGpu(shared_limit=10_000), EmulatedGpu(threads=3)]
Launchers = pytest.mark.parametrize("gpu", LAUNCHERS, ids=["shared", "global", "threads"])
LENGTHS = [0, 1, 2, 3, 4, 5, 7, 9, 14, 16, 17, 25, 33]


def expected(scores: np.ndarray, single_root: bool) -> tuple[float, np.ndarray]:
    if len(scores) == 1:
        return 0.0, np.zeros((1, 1))
    try:
        marginals, log_z = matrix_tree_marginals(scores, single_root=single_root)
    except NoTreeError:
        return -np.inf, np.zeros(scores.shape)
    return log_z, marginals


def check(
    gpu: EmulatedGpu,
    sentences: list,
    single_root: bool,
    dtype: torch.dtype,
    error: float,
    *,
    padding: int = 2,
) -> None:
    batch = crossing(sentences, single_root=single_root, dtype=dtype, padding=padding)
    log_z, marginals = matrix_tree.marginals(gpu, batch)
    alone = matrix_tree.log_partition(gpu, batch)
    assert log_z.dtype == marginals.dtype == alone.dtype == dtype
    for b, scores in enumerate(sentences):
        size = len(scores)
        read = np.where(np.eye(size), 0.0, batch.scores[b, :size, :size].double().numpy())
        read[:, 0] = 0
        wanted_z, wanted = expected(read, single_root)
        found = marginals[b].double().numpy()
        assert np.abs(found[:size, :size] - wanted).max() <= error
        assert not found[size:].any()
        assert not found[:, size:].any()
        for z in (float(log_z[b]), float(alone[b])):
            assert z == wanted_z or abs(z - wanted_z) <= 2 * error * max(1, abs(wanted_z))


@pytest.mark.slow
@Root
@Launchers
@pytest.mark.parametrize("spread", [1.0, 10.0, 60.0, 200.0, 2000.0])
@pytest.mark.parametrize("holes", [0.0, 0.3, 0.7])
def test_sums_are_those_of_the_cpu(gpu: EmulatedGpu, single_root: bool, spread: float, holes: float) -> None:
    rng = np.random.default_rng(int(spread + 10 * holes))
    lengths = LENGTHS if gpu.threads_limit == 1 else [0, 1, 2, 5, 9, 17]
    sentences = [random_scores(rng, n, spread=spread, holes=holes) for n in lengths]
    check(gpu, sentences, single_root, torch.float64, 1e-12)
    if gpu.threads_limit == 1:
        check(gpu, sentences, single_root, torch.float32, 1e-6)


SIZES = [*([n] for n in range(1, 41)), [63, 64], [65], [100, 7], [126, 127, 128], [129]]


@Root
@pytest.mark.parametrize("holes", [0.0, 0.3])
@pytest.mark.parametrize("lengths", SIZES, ids=str)
def test_every_size(lengths: list[int], single_root: bool, holes: float) -> None:
    """Kernels for short sentences hold as many words as fit, or fewer."""
    rng = np.random.default_rng(sum(lengths))
    sentences = [random_scores(rng, n, spread=2.0, holes=holes) for n in lengths]
    check(EmulatedGpu(), sentences, single_root, torch.float64, 1e-12, padding=0)


@pytest.mark.slow
@Root
@pytest.mark.parametrize("lengths", [[1, 10, 16, 0, 3], [13, 25, 32], [50], [70]], ids=str)
def test_lanes_of_a_warp(lengths: list[int], single_root: bool) -> None:
    """With as many lanes as a GPU's warp, where each holds some columns of some rows."""
    rng = np.random.default_rng(sum(lengths))
    sentences = [random_scores(rng, n, spread=2.0) for n in lengths]
    check(EmulatedGpu(threads=32, lanes=32), sentences, single_root, torch.float64, 1e-12, padding=0)


@Root
@pytest.mark.parametrize("with_marginals", [True, False])
@pytest.mark.parametrize("words", [16, 32, 64, 128])
def test_doubles_are_believed(
    words: int, with_marginals: bool, single_root: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ordinary scores are never computed twice."""
    sentences = [random_scores(np.random.default_rng(n), n) for n in (1, 2, 5, words // 2 + 1, words)]
    gpu, flags = EmulatedGpu(), []
    memory = gpu.empty

    def remembered(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        made = memory(shape, dtype)
        if dtype == torch.int32:
            flags.append(made)
        return made

    monkeypatch.setattr(gpu, "empty", remembered)
    batch = crossing(sentences, single_root=single_root, padding=0)
    (matrix_tree.marginals if with_marginals else matrix_tree.log_partition)(gpu, batch)
    assert len(flags) == 1
    pieces = len(sentences) * (2 if with_marginals else 1)
    assert flags[0][:pieces].tolist() == [0] * pieces


@Root
@pytest.mark.parametrize("mask", [-1e9, -1e30, -3.4e38])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("share", [0.3, 0.8])
def test_masks_forbid(single_root: bool, mask: float, dtype: torch.dtype, share: float) -> None:
    """Where a tree without masked arcs exists, masks are as good as -inf."""
    rng = np.random.default_rng(4)
    masked, forbidden = [], []
    while len(masked) < 12:
        n = int(rng.integers(2, 20))
        scores = random_scores(rng, n)
        hidden = rng.random(scores.shape) < share
        with_holes = np.where(hidden, -np.inf, scores)
        if expected(with_holes, single_root)[0] > -np.inf:
            masked.append(np.where(hidden, mask, scores))
            forbidden.append(with_holes)
    gpu = EmulatedGpu()
    found = matrix_tree.marginals(gpu, crossing(masked, single_root=single_root, dtype=dtype))
    wanted = matrix_tree.marginals(gpu, crossing(forbidden, single_root=single_root, dtype=dtype))
    for one, other in zip(found, wanted, strict=True):
        assert torch.allclose(one, other, rtol=1e-12, atol=0 if dtype == torch.float64 else 1e-6)


def test_every_root_arc_masked() -> None:
    """Only differences within the mask count: the root's arcs keep what digits the mask left them."""
    rng = np.random.default_rng(5)
    scores = random_scores(rng, 6)
    scores[0] += -1e9
    check(EmulatedGpu(), [scores], True, torch.float64, 1e-12)


@Root
@pytest.mark.parametrize("holes", [0.0, 0.4])
def test_enumeration(single_root: bool, holes: float) -> None:
    sentences = [
        random_scores(np.random.default_rng(seed), n, holes=holes) for seed in range(6) for n in (1, 2, 3, 4)
    ]
    log_z, marginals = matrix_tree.marginals(EmulatedGpu(), crossing(sentences, single_root=single_root))
    for b, scores in enumerate(sentences):
        trees = Enumeration(scores, projective=False, single_root=single_root)
        found = marginals[b, : len(scores), : len(scores)].numpy()
        if len(trees.trees):
            assert np.abs(found - trees.marginals).max() < 1e-13
            assert abs(float(log_z[b]) - trees.log_partition) < 1e-12
        else:
            assert float(log_z[b]) == -np.inf
            assert not found.any()


@pytest.mark.slow
@Root
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_nan_and_infinity_give_nan(single_root: bool, wrong: float) -> None:
    scores = [random_scores(np.random.default_rng(n), n) for n in (3, 4)]
    scores[0][2, 1] = wrong
    batch = crossing(scores, single_root=single_root)
    log_z, marginals = matrix_tree.marginals(EmulatedGpu(), batch)
    slope = matrix_tree.marginals_jvp(EmulatedGpu(), batch, torch.ones_like(batch.scores))
    assert torch.isnan(log_z).tolist() == [True, False]
    for result in (marginals, slope):
        arcs = [(h, m) for m in range(1, 4) for h in range(4) if h != m]
        assert all(torch.isnan(result[0, h, m]) for h, m in arcs)
        assert int(torch.isnan(result).sum()) == len(arcs)


@Root
@Launchers
@pytest.mark.parametrize("holes", [0.0, 0.3])
def test_derivatives_are_those_of_finite_differences(
    gpu: EmulatedGpu, single_root: bool, holes: float
) -> None:
    rng = np.random.default_rng(7)
    sentences = [
        random_scores(rng, n, holes=holes) for n in ([0, 1, 2, 3, 6, 9] if gpu.threads_limit == 1 else [1, 4])
    ]
    batch = crossing(sentences, single_root=single_root)
    first, second = (torch.tensor(rng.normal(size=tuple(batch.scores.shape))) for _ in range(2))

    def moved(by_first: float, by_second: float = 0.0) -> torch.Tensor:
        there = replace(batch, scores=batch.scores + by_first * first + by_second * second)
        return matrix_tree.marginals(gpu, there)[1]

    step = 1e-4
    slope = (moved(step) - moved(-step)) / (2 * step)
    assert float((matrix_tree.marginals_jvp(gpu, batch, first) - slope).abs().max()) < 1e-6
    step = 1e-3
    bend = (moved(step, step) - moved(step, -step) - moved(-step, step) + moved(-step, -step)) / (4 * step**2)
    assert (
        float((matrix_tree.marginals_second_derivative(gpu, batch, first, second) - bend).abs().max()) < 1e-4
    )


@Root
def test_derivatives_at_a_large_spread(single_root: bool) -> None:
    """Scores times 200: the slope in the direction of one arc is that of the sums with it weighted a little
    more."""
    rng = np.random.default_rng(8)
    scores = random_scores(rng, 5, spread=200.0)
    batch = crossing([scores], single_root=single_root)
    direction = torch.tensor(rng.normal(size=tuple(batch.scores.shape)))
    step = 1e-4
    ends = [
        matrix_tree.marginals(EmulatedGpu(), replace(batch, scores=batch.scores + sign * step * direction))[1]
        for sign in (1, -1)
    ]
    slope = matrix_tree.marginals_jvp(EmulatedGpu(), batch, direction)
    assert float((slope - (ends[0] - ends[1]) / (2 * step)).abs().max()) < 1e-6


@Root
def test_long_sentences(single_root: bool) -> None:
    check(
        EmulatedGpu(),
        [random_scores(np.random.default_rng(9), n) for n in (100, 170)],
        single_root,
        torch.float64,
        1e-12,
    )


def test_no_sentence() -> None:
    batch = crossing([np.zeros((3, 3))], single_root=True)
    empty = replace(batch, scores=batch.scores[:0], lengths=batch.lengths[:0])
    log_z, marginals = matrix_tree.marginals(EmulatedGpu(), empty)
    assert tuple(log_z.shape) == (0,)
    assert marginals.shape == empty.scores.shape
