"""The CUDA kernels that draw non-projective trees, run on the CPU, against enumeration and marginals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs torch")

from arcwise.inference.matrix_tree import matrix_tree_marginals  # noqa: E402
from arcwise.torch.cuda import wilson  # noqa: E402
from inference.test_wilson import fits  # noqa: E402
from reference.enumerate_trees import Enumeration, random_scores  # noqa: E402
from torch_backend.emulated_gpu import COMPILER, EmulatedGpu  # noqa: E402
from torch_backend.padded_batches import crossing  # noqa: E402

pytestmark = pytest.mark.skipif(COMPILER is None, reason="needs a C++ compiler")
Root = pytest.mark.parametrize("single_root", [True, False])


@Root
@pytest.mark.parametrize("holes", [0.0, 0.25])
def test_samples_pass_a_chi_squared_test(single_root: bool, holes: float) -> None:
    sentences = [random_scores(np.random.default_rng(n), n, holes=holes) for n in (1, 2, 3, 4)]
    batch = crossing(sentences, single_root=single_root)
    draws = wilson.sample(EmulatedGpu(), batch, 4000, seed=5).numpy()
    assert draws.shape == (4000, 4, 7)
    for b, scores in enumerate(sentences):
        expected = Enumeration(scores, projective=False, single_root=single_root)
        assert (draws[:, b, len(scores) :] == -1).all()
        if len(expected.trees):
            assert fits(draws[:, b, : len(scores)], expected)
        else:
            assert (draws[:, b] == -1).all()


@Root
@pytest.mark.parametrize("stuck", [8.0, 60.0, 900.0])
def test_words_that_prefer_each_other_do_not_stop_it(single_root: bool, stuck: float) -> None:
    """The walk would leave words 1 and 2 (and 3 and 4) once in exp(stuck) steps; the distribution is the
    same."""
    sentences = [random_scores(np.random.default_rng(8), n) for n in (4, 5)]
    for scores in sentences:
        for one, other in ((1, 2), (3, 4)):
            scores[one, other] += stuck
            scores[other, one] += stuck
    draws = wilson.sample(EmulatedGpu(), crossing(sentences, single_root=single_root), 3000, seed=6).numpy()
    for b, scores in enumerate(sentences):
        expected = Enumeration(scores, projective=False, single_root=single_root)
        assert fits(draws[:, b, : len(scores)], expected)


@Root
@pytest.mark.parametrize("stuck", [0.0, 30.0])
@pytest.mark.parametrize("gpu", [EmulatedGpu(), EmulatedGpu(shared_limit=9_000)], ids=["shared", "global"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_frequencies_are_marginals(
    gpu: EmulatedGpu, single_root: bool, stuck: float, dtype: torch.dtype
) -> None:
    """With words that prefer each other nearly every draw is by elimination."""
    n, count = 20, 1200
    scores = random_scores(np.random.default_rng(10), n, spread=2.0)
    for one in range(1, n, 2):
        scores[one, one + 1] += stuck
        scores[one + 1, one] += stuck
    draws = wilson.sample(gpu, crossing([scores], single_root=single_root, dtype=dtype), count, seed=3)[
        :, 0
    ].numpy()
    frequencies = np.zeros((n + 1, n + 1))
    for m in range(1, n + 1):
        frequencies[:, m] = np.bincount(draws[:, m], minlength=n + 1) / count
    marginals, _ = matrix_tree_marginals(scores, single_root=single_root)
    deviation = np.sqrt(marginals * (1 - marginals) / count)
    assert (np.abs(frequencies - marginals) < 5 * deviation + 3 / count).all()
    assert not single_root or (np.count_nonzero(draws == 0, axis=1) == 1).all()


@Root
@pytest.mark.parametrize("stuck", [0.0, 40.0])
def test_same_seed_same_trees_whatever_the_threads_and_the_batch(single_root: bool, stuck: float) -> None:
    sentences = [random_scores(np.random.default_rng(n), n) for n in (5, 0, 3, 8)]
    for scores in sentences:
        if len(scores) > 2:
            scores[1, 2] += stuck
            scores[2, 1] += stuck
    batch = crossing(sentences, single_root=single_root)
    draws = wilson.sample(EmulatedGpu(), batch, 7, seed=2)
    assert torch.equal(draws, wilson.sample(EmulatedGpu(threads=3), batch, 7, seed=2))
    assert torch.equal(draws[:4], wilson.sample(EmulatedGpu(), batch, 4, seed=2))
    assert not torch.equal(draws, wilson.sample(EmulatedGpu(), batch, 7, seed=3))
    assert (draws[:, 1] == -1).all()


@Root
def test_masks_nan_and_no_tree(single_root: bool) -> None:
    masked = random_scores(np.random.default_rng(1), 5)
    masked[:, 3] = np.where(np.arange(6) == 1, masked[:, 3], -1e30)
    without_tree = np.full((4, 4), -np.inf)
    wrong = np.zeros((4, 4))
    wrong[2, 1] = np.nan
    batch = crossing([masked, without_tree, wrong], single_root=single_root)
    draws = wilson.sample(EmulatedGpu(), batch, 50, seed=1)
    assert (draws[:, 0, 3] == 1).all()
    assert (draws[:, 1:] == -1).all()


def test_nothing_to_draw() -> None:
    batch = crossing([np.zeros((3, 3))], single_root=True)
    assert tuple(wilson.sample(EmulatedGpu(), batch, 0, seed=1).shape) == (0, 1, 5)
    empty = replace(batch, scores=batch.scores[:0], lengths=batch.lengths[:0])
    assert tuple(wilson.sample(EmulatedGpu(), empty, 2, seed=1).shape) == (2, 0, 5)
