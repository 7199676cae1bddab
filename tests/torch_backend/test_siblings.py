"""Projective trees with sibling scores in torch: every kind of device against all trees, against
``FactoredTreeDistribution`` and against first-order trees."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.autograd import gradcheck, gradgradcheck

from arcwise import InputError, NoTreeError, Tree
from arcwise.factors import FactoredTreeDistribution, Siblings
from arcwise.torch import SiblingTreeCRF, TreeCRF, sibling_operators
from arcwise.torch.cpu import CpuBackend
from arcwise.torch.cuda.backend import CudaBackend
from arcwise.torch.padded import PaddedSiblings
from arcwise.torch.sibling_trees import previous_siblings
from reference.enumerate_trees import all_trees
from torch_backend.emulated_gpu import COMPILER, EmulatedGpu
from torch_backend.sibling_enumeration import EnumerationSiblings

LENGTHS = [5, 0, 3, 1, 4, 2, 5]
LAUNCHERS = {
    "in shared memory": EmulatedGpu(),
    "in the workspace": EmulatedGpu(shared_limit=600, multiprocessors=1),
    "three threads": EmulatedGpu(threads=3),
    "a warp": EmulatedGpu(threads=32, lanes=32),
}


def read_pairs(n: int, size: int) -> Tensor:
    """Which (h, s, m) a tree over n words can use."""
    h, s, m = np.ogrid[:size, :size, :size]
    between = ((h < s) & (s < m)) | ((m < s) & (s < h))
    inside = (h <= n) & (s <= n) & (m <= n) & (m > 0) & (h != m)
    return torch.from_numpy((between | (s == h)) & inside)


def random_batch(
    lengths: list[int],
    *,
    seed: int = 1,
    single_root: bool = True,
    deviation: float = 1.0,
    forbidden: float = 0.0,
    padding: int = 2,
    dtype: torch.dtype = torch.float64,
) -> PaddedSiblings:
    """Random scores; nan wherever nothing may be read."""
    rng = np.random.default_rng(seed)
    size = max(lengths, default=0) + 1 + padding
    scores = torch.full((len(lengths), size, size), torch.nan, dtype=dtype)
    siblings = torch.full((len(lengths), size, size, size), torch.nan, dtype=dtype)
    for s, n in enumerate(lengths):
        for values, read in ((scores[s], read_pairs(n, size).any(1)), (siblings[s], read_pairs(n, size))):
            draws = rng.normal(0, deviation, values.shape)
            draws[rng.random(values.shape) < forbidden] = -np.inf
            values[read] = torch.from_numpy(draws).to(dtype)[read]
    return PaddedSiblings(scores, siblings, torch.tensor(lengths, dtype=torch.int32), single_root)


def on(device: torch.device, batch: PaddedSiblings) -> PaddedSiblings:
    return PaddedSiblings(
        batch.scores.to(device), batch.siblings.to(device), batch.lengths.to(device), batch.single_root
    )


def check_equal(results: Any, expected: Any, tolerance: float = 1e-11) -> None:
    for one, other in zip(results, expected, strict=True):
        torch.testing.assert_close(
            one.cpu(), other.to(one.dtype), rtol=tolerance, atol=tolerance, equal_nan=True
        )


def factored(batch: PaddedSiblings, sentence: int) -> FactoredTreeDistribution:
    side = int(batch.lengths[sentence]) + 1
    scores = np.nan_to_num(batch.scores[sentence, :side, :side].numpy(), nan=0.0, neginf=-np.inf)
    siblings = batch.siblings[sentence, :side, :side, :side].numpy()
    return FactoredTreeDistribution(
        scores, factors=[Siblings(siblings)], projective=True, single_root=batch.single_root
    )


def layer(batch: PaddedSiblings, **options: Any) -> SiblingTreeCRF:
    return SiblingTreeCRF(
        batch.scores,
        batch.siblings,
        batch.lengths,
        projective=True,
        single_root=batch.single_root,
        **options,
    )


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("forbidden", [0.0, 0.15])
@pytest.mark.parametrize("deviation", [1.0, 60.0, 2000.0])
def test_sums_are_those_of_all_trees(
    device: torch.device, single_root: bool, forbidden: float, deviation: float
) -> None:
    batch = random_batch(LENGTHS, single_root=single_root, forbidden=forbidden, deviation=deviation)
    expected = EnumerationSiblings().sibling_marginals(batch)
    ready = on(device, batch)
    check_equal(sibling_operators.marginals(ready), expected)
    check_equal([sibling_operators.log_partition(ready)], expected[:1])


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("forbidden", [0.0, 0.15])
def test_the_best_tree_is_that_of_all_trees(
    device: torch.device, single_root: bool, forbidden: float
) -> None:
    for seed in range(5):
        batch = random_batch(LENGTHS, seed=seed, single_root=single_root, forbidden=forbidden)
        check_equal(sibling_operators.decode(on(device, batch)), EnumerationSiblings().sibling_decode(batch))


def test_derivatives_are_those_of_all_trees(device: torch.device) -> None:
    for single_root in (True, False):
        batch = random_batch(LENGTHS, single_root=single_root, forbidden=0.1)
        draws = [random_batch(LENGTHS, seed=seed, padding=2) for seed in (5, 6)]
        directions = [part for each in draws for part in (each.scores, each.siblings)]
        directions = [direction.nan_to_num(0.0) for direction in directions]
        there = [direction.to(device) for direction in directions]
        ready = on(device, batch)
        operators = torch.ops.arcwise
        parts = ready.scores, ready.siblings, ready.lengths, single_root
        twin = EnumerationSiblings()
        check_equal(
            operators.sibling_marginals_jvp(*parts, *there[:2]),
            twin.sibling_marginals_jvp(batch, *directions[:2]),
        )
        check_equal(
            operators.sibling_marginals_second_derivative(*parts, *there),
            twin.sibling_marginals_second_derivative(batch, *directions),
        )


def test_float32_is_computed_in_double(device: torch.device) -> None:
    batch = random_batch(LENGTHS, dtype=torch.float32)
    log_z, arcs, pairs = sibling_operators.marginals(on(device, batch))
    assert (log_z.dtype, arcs.dtype, pairs.dtype) == (torch.float64, torch.float32, torch.float32)
    expected = EnumerationSiblings().sibling_marginals(batch)
    check_equal([log_z], expected[:1])
    check_equal([arcs, pairs], expected[1:], 1e-6)


@pytest.mark.parametrize("place", [("scores", (2, 3)), ("siblings", (1, 1, 3)), ("siblings", (1, 2, 3))])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_no_score_makes_its_sentence_nan(device: torch.device, place: Any, value: float) -> None:
    batch = random_batch([3, 3])
    getattr(batch, place[0])[(0, *place[1])] = value
    ready = on(device, batch)
    log_z, arcs, pairs = (part.cpu() for part in sibling_operators.marginals(ready))
    assert log_z.isnan().tolist() == [True, False]
    assert (
        arcs.isnan().flatten(1).any(1).tolist() == pairs.isnan().flatten(1).any(1).tolist() == [True, False]
    )
    heads, values = sibling_operators.decode(ready)
    assert (heads[0] == -1).all()
    assert values.isnan().tolist() == [True, False]


@pytest.mark.parametrize("name", ["cpu", "emulated", "cuda"])
@pytest.mark.parametrize("deviation", [1.0, 30.0, 300.0, 2000.0])
@pytest.mark.parametrize("single_root", [True, False])
def test_longer_sentences_agree_with_the_factored_distribution(
    name: str, deviation: float, single_root: bool
) -> None:
    from torch_backend.devices import using

    batch = random_batch([14, 9, 17], deviation=deviation, single_root=single_root, forbidden=0.05)
    with using(name) as device:
        ready = on(device, batch)
        log_z, arcs, pairs = (part.cpu() for part in sibling_operators.marginals(ready))
        heads, values = (part.cpu() for part in sibling_operators.decode(ready))
    for s in range(3):
        side, twin = int(batch.lengths[s]) + 1, factored(batch, s)
        assert log_z[s].item() == pytest.approx(twin.log_partition, rel=1e-12, abs=1e-9)
        check_equal([arcs[s, :side, :side]], [torch.from_numpy(twin.marginals)], 1e-9)
        check_equal([pairs[s, :side, :side, :side]], [torch.from_numpy(twin.factor_marginals[0])], 1e-9)
        assert not pairs[s, side:].any()
        assert twin.score(Tree(heads[s, :side].numpy().astype(np.int32))) == pytest.approx(values[s].item())
        assert values[s].item() == pytest.approx(twin.score(twin.best()), abs=1e-9)


@pytest.mark.slow
def test_500_words() -> None:
    n = 500
    scores = torch.from_numpy(np.random.default_rng(1).normal(size=(1, n + 1, n + 1))).float()
    lengths = torch.tensor([n], dtype=torch.int32)
    zero = PaddedSiblings(scores, torch.zeros((1,) + (n + 1,) * 3), lengths, True)
    first_order = TreeCRF(scores, projective=True, single_root=True)
    torch.testing.assert_close(sibling_operators.log_partition(zero).float(), first_order.log_partition)
    assert torch.equal(sibling_operators.decode(zero)[0], first_order.best())


@pytest.mark.slow
def test_marginals_of_320_words() -> None:
    n = 320
    scores = torch.from_numpy(np.random.default_rng(1).normal(size=(1, n + 1, n + 1))).float()
    lengths = torch.tensor([n], dtype=torch.int32)
    zero = PaddedSiblings(scores, torch.zeros((1,) + (n + 1,) * 3), lengths, True)
    log_z, arcs, _ = sibling_operators.marginals(zero)
    first_order = TreeCRF(scores, projective=True, single_root=True)
    torch.testing.assert_close(log_z.float(), first_order.log_partition)
    torch.testing.assert_close(arcs, first_order.marginals, rtol=1e-4, atol=1e-6)


@pytest.mark.skipif(not COMPILER, reason="needs a C++ compiler")
@pytest.mark.parametrize("launcher", LAUNCHERS.values(), ids=LAUNCHERS.keys())
@pytest.mark.parametrize("deviation", [1.0, 2000.0])
def test_every_way_to_launch_gives_the_same(launcher: EmulatedGpu, deviation: float) -> None:
    batch = random_batch([7, 5, 0, 9, 2], deviation=deviation, forbidden=0.1)
    directions = batch.scores.nan_to_num(0.0), batch.siblings.nan_to_num(0.0)
    for direction in directions:
        direction[direction == -torch.inf] = 0
    gpu, cpu = CudaBackend(launcher, CpuBackend()), CpuBackend()
    check_equal(gpu.sibling_marginals(batch), cpu.sibling_marginals(batch))
    check_equal([gpu.sibling_log_partition(batch)], [cpu.sibling_log_partition(batch)])
    check_equal(gpu.sibling_decode(batch), cpu.sibling_decode(batch))
    check_equal(gpu.sibling_marginals_jvp(batch, *directions), cpu.sibling_marginals_jvp(batch, *directions))


def test_without_sibling_scores_it_is_the_first_order(device: torch.device) -> None:
    batch = on(device, random_batch(LENGTHS, single_root=False))
    zero = PaddedSiblings(batch.scores, torch.zeros_like(batch.siblings), batch.lengths, False)
    first = TreeCRF(batch.scores, batch.lengths, projective=True, single_root=False)
    trees = layer(zero)
    torch.testing.assert_close(trees.log_partition, first.log_partition)
    torch.testing.assert_close(trees.marginals, first.marginals)
    torch.testing.assert_close(trees.entropy(), first.entropy())
    assert torch.equal(trees.best(), first.best())
    assert torch.equal(trees.minimum_risk(), first.minimum_risk())
    torch.testing.assert_close(trees.sibling_marginals.sum(2), first.marginals)


def test_gradients_are_finite_differences(device: torch.device) -> None:
    batch = on(device, random_batch([4, 0, 3], padding=0))
    heads = layer(batch).best()
    partial = heads.clone()
    partial[0, 2] = -1
    scores, siblings = (part.nan_to_num(0.0).requires_grad_() for part in (batch.scores, batch.siblings))
    of_arcs, of_pairs = scores.detach().cos(), siblings.detach().sin()

    def results(scores: Tensor, siblings: Tensor) -> tuple[Tensor, ...]:
        trees = layer(PaddedSiblings(scores, siblings, batch.lengths, True))
        marginals = (trees.marginals * of_arcs).sum()
        pairs = (trees.sibling_marginals * of_pairs).sum()
        return trees.log_prob(heads), trees.log_prob(partial), trees.entropy(), marginals, pairs

    assert gradcheck(results, (scores, siblings), fast_mode=True)
    assert gradgradcheck(results, (scores, siblings), fast_mode=True)


def test_forbidden_scores_have_no_gradient() -> None:
    batch = random_batch([4, 3], padding=1, forbidden=0.1)
    scores, siblings = batch.scores.requires_grad_(), batch.siblings.requires_grad_()
    trees = layer(batch)
    (trees.entropy().sum() - trees.log_prob(trees.best()).sum()).backward()
    assert scores.grad is not None
    assert siblings.grad is not None
    for gradient, values in ((scores.grad, scores), (siblings.grad, siblings)):
        assert gradient.isfinite().all()
        assert not gradient[(values == -torch.inf) | values.isnan()].any()


@pytest.mark.parametrize("single_root", [True, False])
def test_probabilities_of_trees_and_of_parts_of_them(device: torch.device, single_root: bool) -> None:
    batch = on(device, random_batch([4], single_root=single_root, padding=1))
    trees = layer(batch)
    heads = torch.full((2, 6), -1)
    everything = all_trees(4, projective=True, single_root=single_root)
    heads = torch.full((len(everything), 1, 6), -1, device=device)
    heads[:, 0, :5] = torch.from_numpy(everything.astype(np.int64))
    log_p = trees.log_prob(heads)
    assert log_p.shape == (len(everything), 1)
    torch.testing.assert_close(log_p.exp().sum(), torch.ones((), dtype=torch.float64, device=device))
    entropy = -(log_p.exp() * log_p).sum(0)
    torch.testing.assert_close(trees.entropy(), entropy)
    known = torch.tensor([[-1, -1, 1, -1, -1, -1]], device=device)
    torch.testing.assert_close(trees.log_prob(known).exp(), trees.marginals[:, 1, 2])
    crossing = torch.tensor([[-1, 3, 4, 0, 3, -1]], device=device)
    assert trees.log_prob(crossing).item() == -torch.inf


def test_previous_siblings() -> None:
    for n in range(1, 6):
        for heads in all_trees(n, projective=True, single_root=False):
            (before,) = previous_siblings(torch.from_numpy(heads.astype(np.int64))[None]).tolist()
            for head, dependents in _sides(heads):
                assert [before[m] for m in dependents] == [head, *dependents][:-1]


def _sides(heads: np.ndarray) -> list[tuple[int, list[int]]]:
    from arcwise.factors.siblings import sides

    return sides(Tree(heads.astype(np.int32)))


def test_batch_shapes() -> None:
    batch = random_batch([3, 3, 3, 3, 3, 3], padding=0)
    scores = batch.scores.nan_to_num(0.0)
    shaped = SiblingTreeCRF(
        scores.view(2, 3, 4, 4), batch.siblings.view(2, 3, 4, 4, 4), projective=True, single_root=True
    )
    assert shaped.log_partition.shape == (2, 3)
    assert shaped.marginals.shape == (2, 3, 4, 4)
    assert shaped.sibling_marginals.shape == (2, 3, 4, 4, 4)
    assert shaped.best().shape == shaped.minimum_risk().shape == (2, 3, 4)
    assert shaped.log_prob(shaped.best()).shape == shaped.entropy().shape == (2, 3)
    one = SiblingTreeCRF(scores[0], batch.siblings[0], projective=True, single_root=True)
    assert one.log_partition.shape == ()
    torch.testing.assert_close(one.log_partition, shaped.log_partition[0, 0])
    half = SiblingTreeCRF(
        scores.half(), batch.siblings.half(), projective=True, single_root=True
    ).log_partition
    assert half.dtype is torch.float32
    assert "up to 3 words" in repr(shaped)


def test_bad_arguments() -> None:
    scores, siblings = torch.zeros(4, 4), torch.zeros(4, 4, 4)
    options = {"projective": True, "single_root": True}
    with pytest.raises(InputError, match="projective: found False"):
        SiblingTreeCRF(scores, siblings, projective=False, single_root=True)
    with pytest.raises(InputError, match=r"siblings: found shape \(4, 4\)"):
        SiblingTreeCRF(scores, scores, **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"siblings: found torch.float64 on cpu, expected torch.float32"):
        SiblingTreeCRF(scores, siblings.double(), **options)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="heads: found shape"):
        SiblingTreeCRF(scores, siblings, **options).log_prob(torch.zeros(3, dtype=torch.int64))  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"siblings: found nan at \[1, 2, 3\] of sentence 0"):
        broken = siblings.clone()
        broken[1, 2, 3] = torch.nan
        SiblingTreeCRF(scores, broken, validate_args=True, **options)  # type: ignore[arg-type]
    with pytest.raises(NoTreeError, match="no projective tree exists over the 3 words of sentence 0"):
        trees = SiblingTreeCRF(scores, siblings - torch.inf, validate_args=True, **options)  # type: ignore[arg-type]
        trees.best()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch, about itself
def test_compiles() -> None:
    batch = random_batch([4, 3], padding=0)

    @torch.compile(backend="eager", fullgraph=True)
    def loss(scores: Tensor, siblings: Tensor) -> Tensor:
        parts = PaddedSiblings(scores, siblings, batch.lengths, True)
        return sibling_operators.marginals(parts)[0].sum()

    scores, siblings = batch.scores.requires_grad_(), batch.siblings.requires_grad_()
    loss(scores, siblings).backward()
    expected = CpuBackend().sibling_marginals(batch)
    check_equal([scores.grad, siblings.grad], expected[1:])
