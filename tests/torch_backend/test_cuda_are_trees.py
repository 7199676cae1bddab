"""Which heads are those of trees, by the kernel for a GPU: against all trees, and against the CPU on long
sentences."""

from __future__ import annotations

import pytest
import torch

from arcwise.torch.cpu import CpuBackend
from arcwise.torch.cuda.are_trees import are_trees
from reference.enumerate_trees import TREE_CLASSES, all_trees
from torch_backend.emulated_gpu import COMPILER, EmulatedGpu

pytestmark = pytest.mark.skipif(COMPILER is None, reason="no C++ compiler")
Classes = pytest.mark.parametrize("projective, single_root", TREE_CLASSES)


@Classes
@pytest.mark.parametrize("words", range(5))
def test_every_list_of_heads(projective: bool, single_root: bool, words: int) -> None:
    """Those out of range, too; the padding is not read."""
    each = torch.arange(-1, words + 2)
    lists = (
        torch.cartesian_prod(*[each] * words).reshape(len(each) ** words, words)
        if words
        else each[:1, None][:, :0]
    )
    rows = torch.nn.functional.pad(torch.nn.functional.pad(lists, (1, 0), value=-1), (0, 2), value=7)
    right = all_trees(words, projective=projective, single_root=single_root).tolist() if words else [[-1]]
    wanted = [own in right for own in rows[:, : words + 1].tolist()]
    found = are_trees(
        EmulatedGpu(), rows[None], torch.tensor([words], dtype=torch.int32), projective, single_root
    )
    assert found.dtype == torch.bool
    assert found[0].tolist() == wanted


@Classes
@pytest.mark.parametrize("threads", [1, 4])
def test_long_sentences(projective: bool, single_root: bool, threads: int) -> None:
    """Trees, trees with one head changed, lists of heads; more rows than blocks, several of a sentence."""
    generator = torch.Generator().manual_seed(threads)
    sentences, count, side = 7, 12, 40
    lengths = torch.randint(0, side, (sentences,), generator=generator, dtype=torch.int32)
    lengths[0], lengths[1] = side - 1, 0
    heads = torch.zeros((sentences, count, side), dtype=torch.int64)
    for s in range(sentences):
        for row in range(count):
            heads[s, row] = _heads(int(lengths[s]), side, row % 3, generator)
            if row % 4 == 3 and lengths[s]:
                word = int(torch.randint(1, int(lengths[s]) + 1, (), generator=generator))
                heads[s, row, word] = torch.randint(0, int(lengths[s]) + 1, (), generator=generator)
    wanted = CpuBackend().are_trees(heads, lengths, projective, single_root)
    assert wanted.any()
    assert not wanted.all()
    gpu = EmulatedGpu(threads=threads, multiprocessors=2)
    assert torch.equal(are_trees(gpu, heads, lengths, projective, single_root), wanted)


def _heads(words: int, side: int, kind: int, generator: torch.Generator) -> torch.Tensor:
    """A chain, a tree whose words hang from earlier ones, or any heads."""
    heads = torch.full((side,), -1)
    for m in range(1, words + 1):
        drawn = int(torch.randint(0, 1 << 30, (), generator=generator))
        heads[m] = (
            m - 1 if kind == 0 else drawn % (words + 1) if kind == 2 else 0 if m == 1 else 1 + drawn % (m - 1)
        )
    return heads


def test_no_rows() -> None:
    lengths = torch.zeros(0, dtype=torch.int32)
    assert are_trees(EmulatedGpu(), torch.zeros((0, 2, 3), dtype=torch.int64), lengths, True, True).shape == (
        0,
        2,
    )
