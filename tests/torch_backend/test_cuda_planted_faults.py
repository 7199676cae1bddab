"""Faults planted in the kernels of a GPU: each makes the comparison with the CPU's kernels fail."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from arcwise.torch.cpu import CpuBackend
from arcwise.torch.cuda.backend import CudaBackend
from arcwise.torch.padded import Padded, TreeBackend
from torch_backend.emulated_gpu import COMPILER, ROOT, EmulatedGpu

pytestmark = pytest.mark.skipif(not COMPILER, reason="needs a C++ compiler")


def batch(*, projective: bool, single_root: bool = True) -> Padded:
    """Six sentences of up to six words, in padding full of nan."""
    scores = torch.full((6, 7, 7), float("nan"), dtype=torch.float64)
    lengths = [6, 5, 1, 2, 6, 4]
    rng = np.random.default_rng(5)
    for own, n in zip(scores, lengths, strict=True):
        own[: n + 1, : n + 1] = torch.from_numpy(rng.normal(0, 2, (n + 1, n + 1)))
    return Padded(
        scores,
        torch.tensor(lengths, dtype=torch.int32),
        projective,
        single_root,
        torch.empty((0, 2), dtype=torch.int32),
        torch.empty(0, dtype=torch.int64),
    )


def check_sums(found: TreeBackend, projective: bool) -> None:
    for single_root in (True, False):
        own = batch(projective=projective, single_root=single_root)
        for one, other in zip(found.marginals(own), CpuBackend().marginals(own), strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def check_slope(found: TreeBackend, projective: bool) -> None:
    own = batch(projective=projective)
    direction = torch.ones_like(own.scores).cumsum(1).cumsum(2) % 3
    expected = CpuBackend().marginals_jvp(own, direction)
    torch.testing.assert_close(found.marginals_jvp(own, direction), expected, rtol=0, atol=1e-12)


def check_best(found: TreeBackend, projective: bool) -> None:
    for single_root in (True, False):
        own = batch(projective=projective, single_root=single_root)
        for one, other in zip(found.k_best(own, 7), CpuBackend().k_best(own, 7), strict=True):
            torch.testing.assert_close(one, other)
        for one, other in zip(found.decode(own), CpuBackend().decode(own), strict=True):
            torch.testing.assert_close(one, other)


def check_draws(found: TreeBackend, projective: bool) -> None:
    own = batch(projective=projective)
    draws = found.sample(own, 3000, 1)
    _, marginals = CpuBackend().marginals(own)
    for s, n in enumerate(own.lengths.tolist()):
        heads = torch.nn.functional.one_hot(draws[:, s, 1 : n + 1], 7).double().mean(0)
        torch.testing.assert_close(heads[:, : n + 1], marginals[s, : n + 1, 1 : n + 1].T, rtol=0, atol=0.05)


Check = Callable[[TreeBackend, bool], None]
FAULTS: list[tuple[str, str, str, Check, bool]] = [
    ("eisner_chart.cuh", "span += C(i, j - 1);", "", check_sums, True),
    ("eisner_chart.cuh", "right += dC(x, j) * I(x, i);", "right += dC(x, j) * I(x, j);", check_sums, True),
    ("eisner_chart.cuh", "if (i > 0) left_arc += left;", "if (i > 1) left_arc += left;", check_sums, True),
    ("eisner_k_best.cu", "(p + 1) * (q + 1) <= k_", "(p + 1) * (q + 1) <= k_ / 2", check_best, True),
    ("eisner_best.cuh", "a.value > b.value ? a.value", "a.value > 0 ? a.value", check_best, True),
    (
        "eisner_sample.cu",
        "return uniform * whole < part;",
        "return uniform * uniform * whole < part;",
        check_draws,
        True,
    ),
]
"""File, what stands there, what is planted, the check that must fail, projective trees or not."""


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("check", [check_sums, check_slope, check_best, check_draws])
def test_without_a_fault_every_check_passes(check: Check, projective: bool) -> None:
    check(CudaBackend(EmulatedGpu(), CpuBackend()), projective)


@pytest.mark.parametrize("file, found, planted, check, projective", FAULTS)
def test_the_fault_is_noticed(
    file: str, found: str, planted: str, check: Check, projective: bool, tmp_path: Path
) -> None:
    native = tmp_path / "native"
    shutil.copytree(ROOT / "native", native, ignore=shutil.ignore_patterns("*.cpp", "bindings", "tests"))
    source = native / "kernels" / "inference" / file
    text = source.read_text()
    assert text.count(found) == 1
    source.write_text(text.replace(found, planted))
    with pytest.raises(AssertionError):
        check(CudaBackend(EmulatedGpu(native=native), CpuBackend()), projective)
