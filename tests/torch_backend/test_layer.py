"""The layer as PyTorch sees it: shapes, types, padding, seeds, compilation, validation, memory."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch
from torch.distributions import Distribution, kl_divergence

import arcwise.torch
from arcwise import Constraints, Tree
from arcwise.errors import ConstraintError, InputError, MissingExtraError, NoTreeError
from arcwise.inference.tree_class import TreeClass
from arcwise.torch import TreeCRF, Trees, backends, from_trees, log_likelihood, operators, to_trees
from arcwise.torch.tree_tensors import tensors_are_trees
from reference.enumerate_trees import TREE_CLASSES, all_trees

ONE = {"projective": True, "single_root": True}
Classes = pytest.mark.parametrize("projective, single_root", TREE_CLASSES)


def scores_of(device: torch.device, *shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(device)


# ---- shapes


def test_it_is_a_distribution_of_torch(device) -> None:
    trees = TreeCRF(scores_of(device, 2, 5, 5), **ONE)
    assert isinstance(trees, Distribution)
    assert trees.batch_shape == (2,)
    assert trees.event_shape == (5,)
    assert not trees.has_rsample
    drawn = trees.sample((3, 4))
    assert drawn.shape == (3, 4, 2, 5)
    assert drawn.dtype == torch.int64
    assert drawn.device.type == device.type
    assert trees.log_prob(drawn).shape == (3, 4, 2)
    assert trees.support.check(drawn).all()
    assert not trees.support.check(torch.zeros_like(drawn)).any()  # four roots
    assert trees.sample().shape == trees.best().shape == trees.mode.shape == (2, 5)
    assert trees.k_best(3).shape == (3, 2, 5)
    assert trees.marginals.shape == (2, 5, 5)
    assert trees.entropy().shape == trees.log_partition.shape == (2,)
    assert torch.equal(kl_divergence(trees, trees), trees.kl(trees))
    assert repr(trees) == "<TreeCRF (2,) over trees of up to 4 words: projective, one root>"


def test_any_leading_dimensions(device) -> None:
    """One sentence, and a batch of two dimensions: the same as one batch."""
    scores = scores_of(device, 2, 3, 2, 4, 4)
    lengths = torch.tensor([[3, 2, 0], [1, 3, 3]])
    grid = TreeCRF(scores, lengths, labels=2, **ONE)
    flat = TreeCRF(scores.flatten(0, 1), lengths.flatten(), labels=2, **ONE)
    assert grid.batch_shape == (2, 3)
    for name in ("log_partition", "marginals", "label_marginals"):
        assert torch.equal(getattr(grid, name).flatten(0, 1), getattr(flat, name))
    for name in ("entropy", "head_entropy"):
        assert torch.equal(getattr(grid, name)().flatten(), getattr(flat, name)())
    best = grid.best()
    assert torch.equal(best.heads.flatten(0, 1), flat.best().heads)
    drawn = grid.sample((5,), generator=torch.Generator().manual_seed(1))
    assert torch.equal(
        drawn.labels.flatten(1, 2), flat.sample((5,), generator=torch.Generator().manual_seed(1)).labels
    )
    torch.testing.assert_close(
        grid.log_prob(drawn)[2, 1, 2], flat.log_prob(Trees(*(v.flatten(1, 2) for v in drawn)))[2, 5]
    )
    one = TreeCRF(scores[1, 2], labels=2, **ONE)
    assert one.batch_shape == ()
    assert one.log_partition == grid.log_partition[1, 2]
    assert one.to_trees(one.best()) == grid.to_trees(best)[1][2]


def test_expand(device) -> None:
    known = [Constraints(subtrees=[(1, 2)]), None]
    trees = TreeCRF(scores_of(device, 2, 4, 4), [3, 2], constraints=known, **ONE)
    wide = trees.expand((3, 2))
    assert wide.batch_shape == (3, 2)
    assert torch.equal(wide.log_partition, trees.log_partition.expand(3, 2))
    assert wide.sample((4,)).shape == (4, 3, 2, 4)
    with pytest.raises(InputError, match=r"batch_shape: found \(3,\), expected one that ends with \(2,\)"):
        trees.expand((3,))


def test_sentences_of_all_lengths_and_garbage_in_the_padding(device) -> None:
    """nan, inf or huge numbers in the padding, in column 0 and on the diagonal change nothing."""
    lengths = [4, 0, 1, 3]
    clean = scores_of(device, 4, 5, 5)
    for garbage in (torch.nan, torch.inf, -torch.inf, 1e300):
        dirty = torch.full_like(clean, garbage)
        for s, n in enumerate(lengths):
            read = ~torch.eye(n + 1, dtype=torch.bool, device=device)
            read[:, 0] = False
            dirty[s, : n + 1, : n + 1] = torch.where(read, clean[s, : n + 1, : n + 1], garbage)
        for projective, single_root in TREE_CLASSES:
            options = {"projective": projective, "single_root": single_root}
            one, other = (TreeCRF(s, lengths, **options) for s in (clean, dirty))
            assert torch.equal(one.log_partition, other.log_partition)
            assert torch.equal(one.marginals, other.marginals)
            assert torch.equal(one.entropy(), other.entropy())
            assert torch.equal(one.best(), other.best())
            assert torch.equal(one.minimum_risk(), other.minimum_risk())
            assert torch.equal(one.log_prob(one.best()), other.log_prob(one.best()))
            assert torch.equal(one.kl(other), torch.zeros_like(one.kl(other)))
        assert one.log_partition[1] == 0
        assert one.best()[1].tolist() == [-1] * 5
        assert one.log_prob(one.best())[1] == 0


# ---- numbers


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_other_types(device, dtype) -> None:
    """Computed in float32 at least: the same as float64 of the same numbers; gradients come back in the type
    of the scores."""
    scores = (3 * scores_of(device, 2, 2, 5, 5)).to(dtype).requires_grad_()
    trees = TreeCRF(scores, [4, 3], labels=2, **ONE)
    exact = TreeCRF(scores.detach().double(), [4, 3], labels=2, **ONE)
    for name in ("log_partition", "marginals", "label_marginals"):
        found = getattr(trees, name)
        assert found.dtype == torch.float32
        torch.testing.assert_close(found.double(), getattr(exact, name), rtol=1e-6, atol=1e-6)
    for found, wanted in (
        (trees.entropy(), exact.entropy()),
        (trees.log_prob(exact.best()), exact.log_prob(exact.best())),
    ):
        assert found.dtype == torch.float32
        torch.testing.assert_close(found.double(), wanted, rtol=1e-6, atol=2e-6)
    trees.log_partition.sum().backward()
    assert scores.grad is not None
    assert scores.grad.dtype == dtype


def test_autocast(device) -> None:
    """A layer that computes in bfloat16 gives scores of bfloat16; sums over trees are made in float32."""
    layer = torch.nn.Linear(8, 5).to(device)
    words = torch.randn(2, 5, 8, device=device)
    with torch.autocast(device.type, dtype=torch.bfloat16):
        scores = layer(words)
        assert scores.dtype == torch.bfloat16
        loss = log_likelihood(scores, torch.tensor([[-1, 0, 1, 2, 3]] * 2, device=device), **ONE).sum()
        trees = TreeCRF(scores, **ONE)
        assert trees.log_partition.dtype == trees.marginals.dtype == loss.dtype == torch.float32
        torch.testing.assert_close(
            trees.log_partition.double(), TreeCRF(scores.double(), **ONE).log_partition
        )
    loss.backward()
    assert layer.weight.grad is not None
    assert layer.weight.grad.isfinite().all()


def test_a_small_probability_beside_a_large_sum(device) -> None:
    """log Z is 3,000: a difference of two such float32 would be off by 1e-4."""
    scores = scores_of(device, 1, 5, 5).float()
    shifted = scores + 750.0
    a, b = (TreeCRF(s.requires_grad_(), **ONE) for s in (shifted - 750.0, shifted))
    heads = torch.tensor([[-1, 2, 0, 2, 3]], device=device)
    torch.testing.assert_close(a.log_prob(heads), b.log_prob(heads), rtol=0, atol=2e-6)
    torch.testing.assert_close(a.entropy(), b.entropy(), rtol=0, atol=2e-6)


def test_nan_and_infinite_scores_make_nan_and_no_tree_makes_minus_infinity(device) -> None:
    scores = scores_of(device, 4, 3, 3)
    scores[1, 0, 1] = torch.nan
    scores[2, :, 2] = -torch.inf
    trees = TreeCRF(scores, **ONE)
    assert trees.log_partition.isnan().tolist() == [False, True, False, False]
    assert trees.marginals[1].isnan().any()
    assert trees.best()[1].tolist() == trees.sample()[1].tolist() == [-1, -1, -1]
    assert trees.log_partition[2] == -torch.inf
    assert not trees.marginals[2].any()
    assert trees.best()[2].tolist() == trees.sample()[2].tolist() == [-1, -1, -1]
    assert trees.entropy()[2].isnan()
    assert trees.log_prob(torch.tensor([-1, 0, 1], device=device))[2] == -torch.inf
    assert trees.log_partition[[0, 3]].isfinite().all()


# ---- trees


@Classes
def test_whether_heads_are_trees(projective: bool, single_root: bool) -> None:
    """Every list of heads of up to four words, out of range ones too; natively and in tensor operations."""
    trees = TreeClass(projective=projective, single_root=single_root)
    for n in range(5):
        heads = (
            torch.cartesian_prod(*[torch.arange(-1, n + 2)] * n)
            if n > 1
            else torch.arange(-1, n + 2)[:, None][:, :n]
        )
        rows = torch.cat(
            [torch.full((len(heads), 1), -1), heads.reshape(len(heads), n), torch.full((len(heads), 2), 7)], 1
        )
        right = (
            {tuple(own) for own in all_trees(n, projective=projective, single_root=single_root).tolist()}
            if n
            else {(-1,)}
        )
        wanted = [tuple(own[: n + 1]) in right for own in rows.tolist()]
        lengths = torch.full((1,), n, dtype=torch.int32)
        for function in (operators.are_trees, tensors_are_trees):
            assert function(rows[None], lengths, trees)[0].tolist() == wanted


def test_seeds(device) -> None:
    trees = TreeCRF(scores_of(device, 3, 2, 5, 5), labels=2, **ONE)
    torch.manual_seed(5)
    first = trees.sample((6,))
    second = trees.sample((6,))
    torch.manual_seed(5)
    again = trees.sample((6,))
    assert all(torch.equal(a, b) for a, b in zip(first, again, strict=True))
    assert not all(torch.equal(a, b) for a, b in zip(first, second, strict=True))
    own = [trees.sample((6,), generator=torch.Generator().manual_seed(7)) for _ in range(2)]
    assert all(torch.equal(a, b) for a, b in zip(*own, strict=True))


def test_labels_of_samples(device) -> None:
    """One word, three labels: 6,000 draws are no further from the probabilities than five standard
    deviations."""
    scores = torch.tensor([2.0, 0.0, -1.0], device=device)[:, None, None].expand(3, 2, 2)
    drawn = TreeCRF(scores, labels=3, **ONE).sample((6000,), torch.Generator().manual_seed(1))
    shares = torch.bincount(drawn.labels[:, 1], minlength=3) / 6000
    p = scores[:, 0, 1].softmax(0)
    assert ((shares - p).abs() < 5 * (p * (1 - p) / 6000).sqrt()).all()


def test_trees_and_back() -> None:
    trees = [Tree.from_heads([2, 0, 2], ["a", "b", "a"]), Tree.from_heads([0, -1], ["b", "_"])]
    tensors = from_trees(trees, ["a", "b"], size=5)
    assert isinstance(tensors, Trees)
    assert tensors.heads.tolist() == [[-1, 2, 0, 2, -1], [-1, 0, -1, -1, -1]]
    assert tensors.labels.tolist() == [[-1, 0, 1, 0, -1], [-1, 1, -1, -1, -1]]
    assert to_trees(tensors, [3, 2], ["a", "b"]) == trees
    with pytest.raises(InputError, match="found the label 'a', expected one of b, c"):
        from_trees(trees, ["b", "c"])
    with pytest.raises(InputError, match="size: found 2, expected at least 4"):
        from_trees(trees, size=2)
    with pytest.raises(InputError, match="labels: found none"):
        to_trees(tensors)


# ---- constraints


def test_masks(device) -> None:
    """A bool tensor of arcs, or of labelled arcs, wherever the labels are; the same as Constraints."""
    scores = scores_of(device, 2, 3, 4, 4)
    known = Constraints(forbidden=[(1, 2)], labels={3: "b"})
    names = ["a", "b", "c"]
    arcs = torch.ones(4, 4, dtype=torch.bool, device=device)
    arcs[1, 2] = False
    every = arcs.expand(2, 3, 4, 4).clone()
    every[:, 0, :, 3] = every[:, 2, :, 3] = False
    told = TreeCRF(scores, labels=names, constraints=known, **ONE)
    masked = TreeCRF(scores, labels=names, constraints=every, **ONE)
    last = TreeCRF(
        scores.permute(0, 2, 3, 1), labels=names, label_dim=-1, constraints=every.permute(0, 2, 3, 1), **ONE
    )
    torch.testing.assert_close(told.label_marginals, masked.label_marginals)
    torch.testing.assert_close(told.label_marginals, last.label_marginals.permute(0, 3, 1, 2))
    told_last = TreeCRF(scores.permute(0, 2, 3, 1), labels=names, label_dim=-1, constraints=known, **ONE)
    torch.testing.assert_close(told.label_marginals, told_last.label_marginals.permute(0, 3, 1, 2))
    half = TreeCRF(scores, labels=names, constraints=arcs, **ONE)
    torch.testing.assert_close(half.log_partition, told.given(Constraints(forbidden=[(1, 2)])).log_partition)
    with pytest.raises(InputError, match=r"constraints: found a mask of shape \(3,\)"):
        TreeCRF(scores, labels=names, constraints=arcs[0, :3], **ONE)
    with pytest.raises(InputError, match="expected bool"):
        TreeCRF(scores, labels=names, constraints=arcs.long(), **ONE)
    with pytest.raises(ConstraintError, match="has both 1 and 3 as head"):
        TreeCRF(scores, labels=names, constraints=Constraints(required=[(1, 2), (3, 2)]), **ONE)
    with pytest.raises(InputError, match="constraints: found 1, expected one for each of 2 sentences"):
        told.given([None])


def test_the_probability_of_constraints(device) -> None:
    trees = TreeCRF(scores_of(device, 4, 4), **ONE)
    known = trees.given(Constraints(required=[(0, 2)]))
    torch.testing.assert_close((known.log_partition - trees.log_partition).exp(), trees.marginals[0, 2])
    torch.testing.assert_close(
        trees.log_prob(torch.tensor([-1, -1, 0, -1], device=device)).exp(), trees.marginals[0, 2]
    )
    assert known.given(None).log_partition == trees.log_partition


# ---- torch.compile


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch, about itself
@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_in_one_graph(device, backend: str) -> None:
    heads = torch.tensor([[-1, 2, 0, 2], [-1, -1, 1, -1]], device=device)
    lengths = torch.tensor([3, 2], device=device)

    def ask(scores: torch.Tensor) -> torch.Tensor:
        trees = TreeCRF(scores, lengths, projective=False, single_root=True, labels=2)
        loss = log_likelihood(scores, heads, None, lengths, label_dim=-3, **ONE)
        values = (trees.log_partition, trees.entropy(), trees.log_prob(heads), loss)
        return sum(value.sum() for value in values) + trees.label_marginals.square().sum()

    def trees_of(scores: torch.Tensor) -> Any:
        trees = TreeCRF(scores, lengths, projective=False, single_root=True, labels=2)
        return trees.best(), trees.k_best(2), trees.minimum_risk(), trees.sample((3,))

    torch._dynamo.reset()
    scores = scores_of(device, 2, 2, 4, 4).requires_grad_()
    compiled = torch.compile(ask, fullgraph=True, backend=backend)
    plain, found = ask(scores), compiled(scores)
    assert plain == found
    assert torch.equal(*(torch.autograd.grad(value, scores)[0] for value in (plain, found)))
    best, k_best, _, drawn = torch.compile(trees_of, fullgraph=True, backend=backend)(scores.detach())
    assert torch.equal(best.heads, trees_of(scores)[0].heads)
    assert k_best.labels.shape == (2, 2, 4)
    assert drawn.heads.shape == (3, 2, 4)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_operators_are_as_torch_wants_them(device) -> None:
    """Schema, shapes without data, and what they do under tracing."""
    trees = TreeCRF(scores_of(device, 2, 4, 4), [3, 2], **ONE)
    parts = operators._parts(trees._scores.padded(trees._scores.arcs))
    ops = torch.ops.arcwise
    step = torch.ones_like(parts[0])
    checks = ("test_schema", "test_faketensor")
    for operator, arguments in (
        (ops.log_partition, parts),
        (ops.marginals, parts),
        (ops.marginals_jvp, (*parts, step)),
        (ops.marginals_second_derivative, (*parts, step, step)),
        (ops.decode, parts),
        (ops.k_best, (*parts, 2)),
        (ops.sample, (*parts, 3, torch.tensor(1))),
        (ops.are_trees, (trees.sample((3,)).transpose(0, 1), parts[1], True, True)),
    ):
        torch.library.opcheck(operator.default, arguments, test_utils=checks)


# ---- what is wrong


def test_shapes_that_are_wrong_are_named(device) -> None:
    scores = scores_of(device, 2, 3, 3)
    for wrong, options, what in (
        (scores[:, :2], {}, r"scores: found shape \(2, 2, 3\), expected \(…, N\+1, N\+1\)"),
        (scores.long(), {}, "scores: found a tensor of torch.int64"),
        (scores.tolist(), {}, "scores: found list"),
        (scores, {"labels": 3}, "found 2 labels in dimension 1, expected 3"),
        (scores, {"labels": ["a", "a"]}, "all different"),
        (scores[None], {"labels": 2, "label_dim": 0}, "label_dim: found 0 for scores of shape"),
        (scores, {"lengths": [2, 3]}, r"lengths: found \[2, 3\], expected numbers from 0 to 2"),
        (scores, {"lengths": [2]}, r"lengths: found shape \(1,\)"),
        (scores, {"lengths": torch.tensor([1.0, 2.0])}, "expected whole numbers"),
    ):
        with pytest.raises(InputError, match=what):
            TreeCRF(wrong, **options, **ONE)
    trees = TreeCRF(scores, **ONE)
    for ask, what in (
        (lambda: trees.log_prob(torch.zeros(2, 4, dtype=torch.int64)), r"heads: found shape \(2, 4\)"),
        (lambda: trees.log_prob([0, 1]), "heads: found list"),
        (
            lambda: trees.log_prob(Trees(trees.best(), trees.best())),
            "found labels, but the distribution has none",
        ),
        (lambda: trees.label_marginals, "has no labels"),
        (lambda: trees.k_best(0), "k: found 0"),
        (lambda: trees.kl(3), "other: found 3"),
        (lambda: trees.kl(TreeCRF(scores[:1], **ONE)), r"other: has scores of shape \(1, 3, 3\)"),
    ):
        with pytest.raises(InputError, match=what):
            ask()


def test_validation_when_asked_for(device) -> None:
    scores = scores_of(device, 2, 3, 3)
    scores[1, 0, 2] = torch.nan
    TreeCRF(scores, **ONE)
    with pytest.raises(InputError, match="found nan for the arc 0 → 2 of sentence 1"):
        TreeCRF(scores, validate_args=True, **ONE)
    TreeCRF(scores, [2, 1], validate_args=True, **ONE)
    with pytest.raises(InputError, match=r"lengths: found \[2, 3\]"):
        TreeCRF(scores, torch.tensor([2, 3]), validate_args=True, **ONE)
    scores[0, :, 1] = -torch.inf
    trees = TreeCRF(scores, [2, 1], validate_args=True, **ONE)
    for ask in (
        lambda: trees.log_partition,
        trees.best,
        trees.sample,
        trees.entropy,
        lambda: trees.marginals,
    ):
        with pytest.raises(NoTreeError, match="over the 2 words of sentence 0"):
            ask()


# ---- memory, imports


@pytest.mark.slow
def test_memory_does_not_grow_with_calls(device) -> None:
    """No tensor is left behind, with gradients of gradients neither."""

    def step() -> None:
        scores = scores_of(device, 4, 5, 5).requires_grad_()
        trees = TreeCRF(scores, **ONE)
        (gradient,) = torch.autograd.grad(
            trees.entropy().sum() + trees.marginals.square().sum(), scores, create_graph=True
        )
        gradient.square().sum().backward()
        trees.sample((2,))

    def tensors() -> int:
        gc.collect()
        return sum(issubclass(type(one), torch.Tensor) for one in gc.get_objects())

    for _ in range(2):
        step()
    before = tensors()
    for _ in range(5):
        step()
    assert tensors() <= before


def test_what_is_kept_for_a_gradient_is_a_small_multiple_of_the_scores(device) -> None:
    kept: dict[int, int] = {}

    def keep(tensor: torch.Tensor) -> torch.Tensor:
        kept[tensor.data_ptr()] = tensor.numel()
        return tensor

    scores = scores_of(device, 16, 5, 5).requires_grad_()
    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        TreeCRF(scores, **ONE).log_partition.sum().backward()
    assert sum(kept.values()) < 2.5 * scores.numel()


def test_importing_arcwise_imports_no_torch() -> None:
    script = (
        "import sys, arcwise, arcwise.inference; arcwise.TreeDistribution; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_without_torch_one_sentence_says_what_to_install() -> None:
    script = """
import sys
sys.modules["torch"] = None
try:
    import arcwise.torch
except ImportError as error:
    print(type(error).__name__, error)
"""
    told = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout
    assert told.startswith("MissingExtraError this needs torch, which is not installed: ")
    assert "pip install torch" in told
    assert issubclass(MissingExtraError, ImportError)


def test_a_device_without_kernels_computes_on_the_cpu_after_one_warning() -> None:
    backends._backend_of.cache_clear()
    with pytest.warns(UserWarning, match="trees are computed on the CPU, not on mps"):
        found = backends.backend_of(torch.device("mps", 0))
    assert found is backends.backend_of(torch.device("mps", 0))
    twin = backends.backend_of(torch.device("cpu"))
    batch = TreeCRF(scores_of(torch.device("cpu"), 2, 4, 4), **ONE)._scores
    padded = batch.padded(batch.arcs)
    step = torch.ones_like(batch.arcs).cumsum(1)
    assert torch.equal(found.log_partition(padded), twin.log_partition(padded))
    assert torch.equal(found.marginals(padded)[1], twin.marginals(padded)[1])
    assert torch.equal(found.marginals_jvp(padded, step), twin.marginals_jvp(padded, step))
    assert torch.equal(
        found.marginals_second_derivative(padded, step, step),
        twin.marginals_second_derivative(padded, step, step),
    )
    assert torch.equal(found.decode(padded)[0], twin.decode(padded)[0])
    assert torch.equal(found.k_best(padded, 2)[0], twin.k_best(padded, 2)[0])
    assert torch.equal(found.sample(padded, 3, 1), twin.sample(padded, 3, 1))


def test_a_batch_of_no_sentences(device) -> None:
    trees = TreeCRF(torch.empty(0, 4, 4, device=device), **ONE)
    assert trees.log_partition.shape == (0,)
    assert trees.marginals.shape == (0, 4, 4)
    assert np.shape(trees.to_trees(trees.best())) == (0,)


def test_the_former_name_of_the_layer_warns() -> None:
    with pytest.warns(DeprecationWarning, match=r"use arcwise\.torch\.TreeCRF"):
        assert arcwise.torch.TreeDistribution is TreeCRF
