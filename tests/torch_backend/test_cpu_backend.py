"""``CpuBackend``: padded tensors against numpy's ``TreeDistribution`` and the enumeration of all trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import pytest
from tests.reference.enumerate_trees import TREE_CLASSES, Enumeration, is_subtree, random_scores

from arcwise.inference import Constraints, TreeDistribution, TreeDistributionBatch

torch = pytest.importorskip("torch", reason="torch is not installed: arcwise.torch is an extra")

from arcwise.torch.cpu import CpuBackend  # noqa: E402
from arcwise.torch.padded import Padded  # noqa: E402

Floats = npt.NDArray[np.float64]

BACKEND = CpuBackend()
CLASSES = pytest.mark.parametrize(("projective", "single_root"), TREE_CLASSES)


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def batch_of(
    sentences: Sequence[Floats],
    projective: bool,
    single_root: bool,
    *,
    words: int | None = None,
    dtype: torch.dtype = torch.float64,
    spans: Sequence[Sequence[tuple[int, int]]] = (),
) -> Padded:
    """The sentences padded, with nan wherever nothing is to be read."""
    lengths = [len(own) - 1 for own in sentences]
    starts = np.cumsum([0, *map(len, spans)]) if spans else np.zeros(0)
    ends = [span for own in spans for span in own]
    return Padded(
        scores=torch.tensor(padded(sentences, max(lengths) if words is None else words, np.nan), dtype=dtype),
        lengths=torch.tensor(lengths, dtype=torch.int32),
        projective=projective,
        single_root=single_root,
        span_ends=torch.tensor(ends, dtype=torch.int32).reshape(-1, 2),
        span_starts=torch.tensor(starts, dtype=torch.int64),
    )


def padded(matrices: Sequence[Floats], words: int, filling: float) -> Floats:
    """(B, N+1, N+1), with ``filling`` in the padding, in column 0 and on the diagonal."""
    result = np.full((len(matrices), words + 1, words + 1), float(filling))
    for own, to in zip(matrices, result, strict=True):
        n = len(own) - 1
        to[: n + 1, : n + 1] = own
        to[:, 0] = filling
        np.fill_diagonal(to, filling)
    return result


def some_sentences(seed: int, *, spread: float, holes: float, longest: int = 5) -> list[Floats]:
    """Sentences of 0 to ``longest`` words, in no order."""
    rng = np.random.default_rng(seed)
    lengths = rng.permutation([n for n in range(longest + 1) for _ in range(3)])
    return [random_scores(rng, n, spread=spread, holes=holes) for n in lengths]


def has_tree(scores: Floats, projective: bool, single_root: bool) -> bool:
    return len(scores) == 1 or len(Enumeration(scores, projective, single_root).values) > 0


def arc_sums(trees: Enumeration, direction: Floats) -> Floats:
    """The sum of the direction over the arcs of each tree, less its mean over trees."""
    sums = direction[trees.trees[:, 1:], np.arange(1, len(direction))].sum(axis=1)
    return np.asarray(sums - probabilities(trees) @ sums)


def probabilities(trees: Enumeration) -> Floats:
    weights = np.exp(trees.values - trees.values[0])
    return np.asarray(weights / weights.sum())


def mean_by_arc(trees: Enumeration, of_tree: Floats) -> Floats:
    """Σ over trees of probability · ``of_tree``, at each arc of the tree."""
    result = np.zeros_like(trees.scores)
    for heads, weight in zip(trees.trees, probabilities(trees) * of_tree, strict=True):
        result[heads[1:], np.arange(1, len(heads))] += weight
    return result


@CLASSES
@pytest.mark.parametrize("spread", [1, 60, 200, 2000])
@pytest.mark.parametrize("holes", [0.0, 0.4])
def test_sums_are_those_of_the_numpy_class(
    projective: bool, single_root: bool, spread: float, holes: float
) -> None:
    sentences = some_sentences(1, spread=spread, holes=holes)
    batch = batch_of(sentences, projective, single_root, words=6)
    log_partition, (beside, marginals) = BACKEND.log_partition(batch), BACKEND.marginals(batch)
    np.testing.assert_allclose(beside, log_partition, rtol=1e-15)
    for own, log_z, found in zip(sentences, log_partition.tolist(), marginals.numpy(), strict=True):
        side = len(own)
        assert not found[side:].any()
        assert not found[:, side:].any()
        if side == 1:
            assert log_z == 0
            assert not found.any()
        elif not has_tree(own, projective, single_root):
            assert log_z == -np.inf
            assert not found.any()
        else:
            expected = TreeDistribution(own, projective=projective, single_root=single_root)
            assert log_z == expected.log_partition
            assert (found[:side, :side] == expected.marginals).all()


@CLASSES
@pytest.mark.parametrize("spread", [1, 20, 200])
@pytest.mark.parametrize("holes", [0.0, 0.3, 0.5])
def test_derivatives_are_cumulants_of_the_enumeration(
    projective: bool, single_root: bool, spread: float, holes: float
) -> None:
    """∂ p(arc) along f is the covariance of arc and f; ∂∂ along f and g the third joint cumulant."""
    sentences = some_sentences(2, spread=spread, holes=holes, longest=4)
    rng = np.random.default_rng(3)
    first = [rng.normal(size=own.shape) for own in sentences]
    second = [rng.normal(size=own.shape) for own in sentences]
    batch = batch_of(sentences, projective, single_root)
    d, e = (torch.tensor(padded(direction, 4, np.nan)) for direction in (first, second))
    slopes, bends = BACKEND.marginals_jvp(batch, d), BACKEND.marginals_second_derivative(batch, d, e)
    for b, own in enumerate(sentences):
        slope, bend = np.zeros_like(own), np.zeros_like(own)
        if len(own) > 1 and has_tree(own, projective, single_root):
            trees = Enumeration(own, projective, single_root)
            f, g = arc_sums(trees, first[b]), arc_sums(trees, second[b])
            slope = mean_by_arc(trees, f)
            bend = mean_by_arc(trees, f * g - probabilities(trees) @ (f * g))
        np.testing.assert_allclose(slopes[b], padded([slope], 4, 0)[0], rtol=0, atol=1e-13)
        np.testing.assert_allclose(bends[b], padded([bend], 4, 0)[0], rtol=0, atol=1e-13)


@CLASSES
@pytest.mark.parametrize("mask", [-3e3, -1e6, -(2.0**45)])
def test_derivatives_where_every_tree_needs_arcs_far_below_zero(
    projective: bool, single_root: bool, mask: float
) -> None:
    """Each word has a cheap head for itself alone, never two at once: all trees have masked arcs, some as
    many as others."""
    rng = np.random.default_rng(4)
    for _ in range(10):
        scores = rng.integers(-8, 8, size=(5, 5)) / 4 + mask * (rng.random((5, 5)) < 0.7)
        scores[0, 1:] += mask
        d, e = rng.normal(size=(2, 5, 5))
        trees = Enumeration(scores, projective, single_root)
        f, g = arc_sums(trees, d), arc_sums(trees, e)
        batch = batch_of([scores], projective, single_root)
        slope = BACKEND.marginals_jvp(batch, torch.tensor(d[None]))[0]
        bend = BACKEND.marginals_second_derivative(batch, torch.tensor(d[None]), torch.tensor(e[None]))[0]
        np.testing.assert_allclose(slope, mean_by_arc(trees, f), rtol=0, atol=1e-12)
        third = f * g - probabilities(trees) @ (f * g)
        np.testing.assert_allclose(bend, mean_by_arc(trees, third), rtol=0, atol=1e-12)


@CLASSES
@pytest.mark.parametrize(("n", "spread"), [(9, 1), (40, 1), (40, 8), (17, 100)])
def test_derivatives_of_long_sentences_are_differences(
    projective: bool, single_root: bool, n: int, spread: float
) -> None:
    """Central differences of the marginals, of fourth order; those of the slopes are the bends."""
    rng = np.random.default_rng(n)
    scores = random_scores(rng, n, spread=spread, holes=0.1)
    d, e = (torch.tensor(rng.normal(size=(1, n + 1, n + 1))) for _ in range(2))

    def at(shift: torch.Tensor) -> Padded:
        return batch_of([scores + shift.numpy()[0]], projective, single_root)

    def difference(values: list[torch.Tensor], step: float) -> torch.Tensor:
        low, lower, higher, high = values
        return (low - high + 8 * (higher - lower)) / (12 * step)

    step = 2e-3
    steps = [-2 * step, -step, step, 2 * step]
    slope, bend = BACKEND.marginals_jvp(at(0 * d), d), BACKEND.marginals_second_derivative(at(0 * d), d, e)
    assert slope.abs().max() > 1e-3
    expected = difference([BACKEND.marginals(at(x * d))[1] for x in steps], step)
    np.testing.assert_allclose(slope, expected, rtol=0, atol=1e-8)
    expected = difference([BACKEND.marginals_jvp(at(x * e), d) for x in steps], step)
    np.testing.assert_allclose(bend, expected, rtol=0, atol=1e-8)


@CLASSES
def test_derivatives_are_linear_whatever_the_size_of_the_direction(
    projective: bool, single_root: bool
) -> None:
    rng = np.random.default_rng(5)
    batch = batch_of([random_scores(rng, 6)], projective, single_root)
    d = torch.tensor(rng.normal(size=(1, 7, 7)))
    slope = BACKEND.marginals_jvp(batch, d)
    for size in (2.0**-900, 2.0**900):
        assert torch.equal(BACKEND.marginals_jvp(batch, d * size), slope * size)
    assert not BACKEND.marginals_jvp(batch, 0 * d).any()
    column = torch.ones(1, 7, 7, dtype=torch.float64) * torch.arange(7)  # the same for all heads of a word
    assert not BACKEND.marginals_jvp(batch, column).any()


@CLASSES
@pytest.mark.parametrize("spread", [1, 60, 200, 2000])
def test_float32_is_as_good_as_its_scores(projective: bool, single_root: bool, spread: float) -> None:
    rng = np.random.default_rng(6)
    sentences = [
        random_scores(rng, n, spread=spread).astype(np.float32).astype(np.float64) for n in (25, 0, 7, 1, 25)
    ]
    single = batch_of(sentences, projective, single_root, dtype=torch.float32)
    double = batch_of(sentences, projective, single_root)
    for found, expected in zip(BACKEND.marginals(single), BACKEND.marginals(double), strict=True):
        assert found.dtype == torch.float32
        assert torch.equal(found, expected.float())
    assert (BACKEND.marginals(single)[1] - BACKEND.marginals(double)[1]).abs().max() <= 1e-6
    direction = torch.randn(single.scores.shape, generator=torch.Generator().manual_seed(1))
    slope = BACKEND.marginals_jvp(single, direction)
    assert torch.equal(slope, BACKEND.marginals_jvp(double, direction.double()).float())
    assert torch.equal(BACKEND.decode(single)[0], BACKEND.decode(double)[0])


@CLASSES
@pytest.mark.parametrize("spread", [1, 200, 2000])
@pytest.mark.parametrize("holes", [0.0, 0.4])
def test_best_trees_are_those_of_the_enumeration(
    projective: bool, single_root: bool, spread: float, holes: float
) -> None:
    k = 130  # more than any has
    sentences = some_sentences(7, spread=spread, holes=holes, longest=4)
    batch = batch_of(sentences, projective, single_root)
    heads, values = BACKEND.decode(batch)
    all_heads, all_values = BACKEND.k_best(batch, k)
    assert heads.dtype == all_heads.dtype == torch.int64
    assert torch.equal(all_heads[:, 0], heads)
    assert torch.equal(all_values[:, 0], values)
    for b, own in enumerate(sentences):
        side = len(own)
        expected, ranked = np.full((k, 5), -1), np.full(k, -np.inf)
        if side == 1:
            ranked[0] = 0
        else:
            trees = Enumeration(own, projective, single_root)
            expected[: len(trees.trees), :side] = trees.trees
            ranked[: len(trees.trees)] = trees.values
        assert (all_heads[b].numpy() == expected).all()
        np.testing.assert_allclose(all_values[b], ranked, rtol=1e-12, atol=1e-12)


@CLASSES
def test_samples_are_those_of_the_numpy_class(projective: bool, single_root: bool) -> None:
    sentences = [own for own in some_sentences(8, spread=2, holes=0.0) if len(own) > 1]
    draws = BACKEND.sample(batch_of(sentences, projective, single_root), 4, seed=11)
    expected = TreeDistributionBatch(sentences, projective=projective, single_root=single_root)
    for b, trees in enumerate(expected.sample(4, seed=11)):
        side = len(sentences[b])
        assert (draws[:, b, side:] == -1).all()
        assert [own.heads.tolist() for own in trees] == draws[:, b, :side].tolist()


@CLASSES
def test_samples_follow_the_marginals(projective: bool, single_root: bool) -> None:
    rng = np.random.default_rng(9)
    count = 20_000
    batch = batch_of([random_scores(rng, 0), random_scores(rng, 6, holes=0.2)], projective, single_root)
    draws = BACKEND.sample(batch, count, seed=1)
    assert (draws[:, 0] == -1).all()
    assert (draws[:, 1, 0] == -1).all()
    frequencies = np.stack([(draws[:, 1] == h).double().mean(0).numpy() for h in range(7)])
    expected = BACKEND.marginals(batch)[1][1].numpy()
    error = np.sqrt(expected * (1 - expected) / count)
    assert (abs(frequencies[:, 1:] - expected[:, 1:]) <= 5 * error[:, 1:] + 1e-12).all()


@CLASSES
def test_nothing_depends_on_threads(projective: bool, single_root: bool) -> None:
    rng = np.random.default_rng(10)
    sentences = [random_scores(rng, n, spread=4, holes=0.1) for n in rng.integers(0, 30, size=120)]
    batch = batch_of(sentences, projective, single_root)
    d, e = torch.tensor(rng.normal(size=(2, *batch.scores.shape)))

    def everything(threads: int, seed: int = 5) -> list[torch.Tensor]:
        torch.set_num_threads(threads)
        return [
            *BACKEND.marginals(batch),
            BACKEND.marginals_jvp(batch, d),
            BACKEND.marginals_second_derivative(batch, d, e),
            *BACKEND.decode(batch),
            *BACKEND.k_best(batch, 3),
            BACKEND.sample(batch, 2, seed),
        ]

    alone = everything(1)
    for threads in (1, 2, 5):
        assert all(torch.equal(a, b) for a, b in zip(alone, everything(threads), strict=True))
    assert not torch.equal(alone[-1], everything(1, seed=6)[-1])


@pytest.mark.parametrize("single_root", [False, True])
def test_spans_are_subtrees(single_root: bool) -> None:
    rng = np.random.default_rng(12)
    spans = [[(2, 4)], [], [(1, 2), (4, 5)], []]
    sentences = [random_scores(rng, n) for n in (5, 4, 5, 0)]
    masked = [
        Constraints(subtrees=own).masked(
            scores,
            TreeDistribution(np.zeros((2, 2)), projective=True, single_root=single_root).tree_class,
            None,
        )
        if own
        else scores
        for own, scores in zip(spans, sentences, strict=True)
    ]
    batch = batch_of(masked, True, single_root, spans=spans)
    d = torch.tensor(rng.normal(size=tuple(batch.scores.shape)))
    log_partition, marginals = BACKEND.marginals(batch)
    slope, (best, values) = BACKEND.marginals_jvp(batch, d), BACKEND.decode(batch)
    ranked, draws = BACKEND.k_best(batch, 20)[0], BACKEND.sample(batch, 50, 1)
    for b, (scores, own) in enumerate(zip(sentences[:3], spans, strict=False)):
        trees = Enumeration(
            scores, True, single_root, allowed=lambda heads, own=own: all(is_subtree(heads, *s) for s in own)
        )
        side = len(scores)
        known = {tuple(heads) for heads in trees.trees.tolist()}
        assert log_partition[b].item() == pytest.approx(trees.log_partition, abs=1e-12)
        np.testing.assert_allclose(marginals[b, :side, :side], trees.marginals, atol=1e-13)
        f = arc_sums(trees, d[b, :side, :side].numpy())
        np.testing.assert_allclose(slope[b, :side, :side], mean_by_arc(trees, f), atol=1e-13)
        assert best[b, :side].tolist() == trees.trees[0].tolist()
        assert values[b].item() == pytest.approx(trees.values[0])
        assert ranked[b, : len(trees.trees), :side].tolist() == trees.trees[:20].tolist()
        assert {tuple(heads) for heads in draws[:, b, :side].tolist()} <= known


@CLASSES
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_unreadable_scores_are_told_by_nan(
    projective: bool, single_root: bool, dtype: torch.dtype, wrong: float
) -> None:
    rng = np.random.default_rng(13)
    sentences = [random_scores(rng, n) for n in (3, 4, 3)]
    sentences[1][2, 3] = wrong
    batch = batch_of(sentences, projective, single_root, dtype=dtype)
    arcs = torch.tensor(padded([np.ones((5, 5))], 4, 0)[0] > 0)
    log_partition, marginals = BACKEND.marginals(batch)
    direction = torch.ones_like(batch.scores)
    derivatives = [
        BACKEND.marginals_jvp(batch, direction),
        BACKEND.marginals_second_derivative(batch, direction, direction),
    ]
    for found in (marginals, *derivatives):
        assert torch.equal(found[1].isnan(), arcs)
        assert found[1][~arcs].eq(0).all()
        assert not found[[0, 2]].isnan().any()
    heads, values = BACKEND.decode(batch)
    ranked_heads, ranked_values = BACKEND.k_best(batch, 2)
    for numbers in (log_partition, BACKEND.log_partition(batch), values, ranked_values):
        assert numbers[1].isnan().all()
        assert not numbers[[0, 2]].isnan().any()
    for found in (heads, ranked_heads, BACKEND.sample(batch, 2, 1).transpose(0, 1)):
        assert (found[1] == -1).all()
        assert (found[[0, 2], ..., 1] >= 0).all()


def test_a_direction_that_is_not_finite_makes_its_sentence_nan() -> None:
    rng = np.random.default_rng(14)
    batch = batch_of([random_scores(rng, 3), random_scores(rng, 3)], True, True)
    direction = torch.ones_like(batch.scores)
    direction[0, 1, 2] = np.nan
    slope = BACKEND.marginals_jvp(batch, direction)
    assert slope[0, 0, 1].isnan()
    assert not slope[1].isnan().any()


def test_empty_batches() -> None:
    for words in (0, 3):
        batch = batch_of([np.zeros((1, 1))], True, True, words=words)
        assert BACKEND.log_partition(batch).tolist() == [0]
        assert BACKEND.decode(batch)[0].tolist() == [[-1] * (words + 1)]
    none = Padded(batch.scores[:0], batch.lengths[:0], False, True, batch.span_ends, batch.span_starts)
    assert BACKEND.log_partition(none).shape == (0,)
    assert BACKEND.sample(none, 2, 1).shape == (2, 0, 4)
    assert BACKEND.sample(batch, 0, 1).shape == (0, 1, 4)


def test_what_kernels_cannot_read_is_refused() -> None:
    batch = batch_of([np.zeros((4, 4))], True, True)
    changed = {
        "scores": [batch.scores.half(), batch.scores.transpose(1, 2).expand(1, 4, 4), batch.scores[:, :3]],
        "lengths": [batch.lengths.long(), torch.tensor([1, 2], dtype=torch.int32)],
    }
    fields = ("scores", "lengths", "projective", "single_root", "span_ends", "span_starts")
    for name, values in changed.items():
        for value in values:
            wrong = Padded(**{f: value if f == name else getattr(batch, f) for f in fields})
            with pytest.raises(ValueError, match="expected float32 or float64"):
                BACKEND.log_partition(wrong)
    for length in (-1, 4):
        wrong = Padded(
            batch.scores, torch.tensor([length], dtype=torch.int32), True, True, *2 * [batch.span_ends]
        )
        with pytest.raises(ValueError, match="lengths must be from 0 to N"):
            BACKEND.log_partition(wrong)
