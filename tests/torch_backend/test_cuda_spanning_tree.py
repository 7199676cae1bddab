"""The CUDA kernels of the maximum spanning tree, run on the CPU, against the CPU's own kernels and
enumeration."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from arcwise.errors import NoTreeError  # noqa: E402
from arcwise.inference.spanning_tree import spanning_tree_decode, spanning_tree_k_best  # noqa: E402
from arcwise.torch.cuda import spanning_tree  # noqa: E402
from reference.enumerate_trees import Enumeration, random_scores  # noqa: E402
from torch_backend.emulated_gpu import COMPILER, EmulatedGpu  # noqa: E402
from torch_backend.padded_batches import crossing  # noqa: E402

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")
Root = pytest.mark.parametrize("single_root", [True, False])
Launchers = pytest.mark.parametrize(
    "gpu",
    [EmulatedGpu(), EmulatedGpu(shared_limit=22_000), EmulatedGpu(threads=3)],
    ids=["shared", "global", "threads"],
)
LENGTHS = [0, 1, 2, 3, 4, 5, 7, 9, 14, 16, 25, 40]


def sentences(seed: int, *, holes: float, whole: bool) -> list[np.ndarray]:
    """whole: scores are small whole numbers, so that many trees tie."""
    rng = np.random.default_rng(seed)
    made = [random_scores(rng, n, spread=2.0, holes=holes) for n in LENGTHS]
    return [np.round(scores) for scores in made] if whole else made


@pytest.mark.slow
@Root
@Launchers
@pytest.mark.parametrize("holes", [0.0, 0.3, 0.7])
@pytest.mark.parametrize("whole", [False, True])
def test_the_best_tree_is_that_of_the_cpu(
    gpu: EmulatedGpu, single_root: bool, holes: float, whole: bool
) -> None:
    for seed in range(4):
        made = sentences(seed, holes=holes, whole=whole)
        heads, values = spanning_tree.decode(gpu, crossing(made, single_root=single_root))
        for b, scores in enumerate(made):
            if len(scores) == 1:
                assert float(values[b]) == 0
            else:
                try:
                    wanted, value = spanning_tree_decode(scores, single_root=single_root)
                except NoTreeError:
                    wanted, value = np.full(len(scores), -1), -np.inf
                assert heads[b, : len(scores)].tolist() == wanted.tolist()
                assert float(values[b]) == value
            assert heads.dtype == torch.int64
            assert (heads[b, len(scores) :] == -1).all()
            assert int(heads[b, 0]) == -1


@pytest.mark.slow
@Root
@Launchers
@pytest.mark.parametrize("k", [1, 2, 7, spanning_tree.LARGEST_K])
@pytest.mark.parametrize("whole", [False, True])
def test_the_k_best_trees_are_those_of_the_cpu(
    gpu: EmulatedGpu, single_root: bool, k: int, whole: bool
) -> None:
    made = [*sentences(k, holes=0.3, whole=whole), *sentences(k + 1, holes=0.0, whole=whole)]
    heads, values = spanning_tree.k_best(gpu, crossing(made, single_root=single_root), k)
    for b, scores in enumerate(made):
        size = len(scores)
        wanted, wanted_values = np.full((1, 1), -1), np.zeros(1)
        if size > 1:
            try:
                wanted, wanted_values = spanning_tree_k_best(scores, k=k, single_root=single_root)
            except NoTreeError:
                wanted, wanted_values = np.zeros((0, size)), np.zeros(0)
        found = len(wanted)
        assert heads[b, :found, :size].tolist() == wanted.tolist()
        assert values[b, :found].tolist() == wanted_values.tolist()
        assert (heads[b, found:] == -1).all()
        assert (heads[b, :, size:] == -1).all()
        assert (values[b, found:] == -np.inf).all()


@Root
@pytest.mark.parametrize("holes", [0.0, 0.4])
def test_enumeration(single_root: bool, holes: float) -> None:
    made = [
        random_scores(np.random.default_rng(seed), n, holes=holes) for seed in range(6) for n in (1, 2, 3, 4)
    ]
    batch = crossing(made, single_root=single_root, dtype=torch.float32)
    best, best_values = spanning_tree.decode(EmulatedGpu(), batch)
    heads, values = spanning_tree.k_best(EmulatedGpu(), batch, 12)
    assert values.dtype == best_values.dtype == torch.float32
    for b, scores in enumerate(made):
        size = len(scores)
        trees = Enumeration(
            np.where(np.isneginf(scores), scores, scores.astype(np.float32).astype(float)),
            projective=False,
            single_root=single_root,
        )
        found = min(12, len(trees.trees))
        assert heads[b, :found, :size].tolist() == trees.trees[:found].tolist()
        assert np.allclose(values[b, :found].numpy(), trees.values[:found], rtol=1e-6, atol=1e-6)
        assert (values[b, found:] == -np.inf).all()
        if found:
            assert best[b, :size].tolist() == trees.trees[0].tolist()
        else:
            assert (best[b] == -1).all()
            assert float(best_values[b]) == -np.inf


@Root
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_nan_and_infinity_give_no_tree(single_root: bool, wrong: float) -> None:
    made = [random_scores(np.random.default_rng(n), n) for n in (3, 4)]
    made[0][0, 2] = wrong
    batch = crossing(made, single_root=single_root)
    heads, values = spanning_tree.decode(EmulatedGpu(), batch)
    several, their_values = spanning_tree.k_best(EmulatedGpu(), batch, 3)
    assert torch.isnan(values).tolist() == [True, False]
    assert torch.isnan(their_values).all(dim=1).tolist() == [True, False]
    assert (heads[0] == -1).all()
    assert (several[0] == -1).all()
    assert (heads[1, 1:5] >= 0).all()


@Root
def test_large_masks_and_long_sentences(single_root: bool) -> None:
    rng = np.random.default_rng(3)
    made = [random_scores(rng, n, spread=5.0) for n in (100, 130)]
    for scores in made:
        scores[rng.random(scores.shape) < 0.2] = -1e9
    heads, values = spanning_tree.decode(EmulatedGpu(), crossing(made, single_root=single_root))
    for b, scores in enumerate(made):
        wanted, value = spanning_tree_decode(scores, single_root=single_root)
        assert heads[b, : len(scores)].tolist() == wanted.tolist()
        assert float(values[b]) == value


def test_no_sentence() -> None:
    batch = crossing([np.zeros((3, 3))], single_root=True)
    empty = replace(batch, scores=batch.scores[:0], lengths=batch.lengths[:0])
    heads, values = spanning_tree.k_best(EmulatedGpu(), empty, 2)
    assert tuple(heads.shape) == (0, 2, 5)
    assert tuple(values.shape) == (0, 2)
