"""Trees as tensors of heads and labels: checks, and conversion from and to ``arcwise.Tree``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, overload

import torch
from torch import Tensor

from arcwise.errors import InputError
from arcwise.inference.tree_class import TreeClass
from arcwise.trees import Tree


class Trees(NamedTuple):
    """Labelled trees: two int64 tensors (…, N+1).

    -1 marks the root, the padding and, in trees that a caller passes, unknown heads and labels.
    """

    heads: Tensor
    labels: Tensor


def describe(value: Any) -> str:
    """Describe a value of the wrong type or shape, for an error message."""
    return (
        f"shape {tuple(value.shape)} of {value.dtype}" if isinstance(value, Tensor) else type(value).__name__
    )


def word_mask(lengths: Tensor, size: int) -> Tensor:
    """Return (B, size), True for the words 1..n of each sentence."""
    places = torch.arange(size, device=lengths.device)
    return (places > 0) & (places <= lengths[:, None])


def tensors_are_trees(heads: Tensor, lengths: Tensor, trees: TreeClass) -> Tensor:
    """Return (B, S): whether the heads (B, S, N+1) of the words 1..n form a tree of the class.

    Uses tensor operations only, so that nothing synchronises with the device.
    """
    size = heads.shape[-1]
    words = word_mask(lengths, size)[:, None]
    in_range = (heads >= 0) & (heads <= lengths[:, None, None])
    above = torch.where(words & in_range, heads, 0)
    good = (in_range | ~words).all(-1) & _reach_root(above)
    if trees.single_root:
        roots = (words & (above == 0)).sum(-1)
        good &= (roots == 1) | (lengths == 0)[:, None]
    if trees.projective:
        good &= ~_cross(above, words)
    return good


def _reach_root(above: Tensor) -> Tensor:
    """Return whether every word leads to the root: k doublings make ``above`` the ancestor 2ᵏ steps up."""
    steps = 1
    while steps < above.shape[-1]:
        above, steps = above.gather(-1, above), 2 * steps
    return (above == 0).all(-1)


def _cross(heads: Tensor, words: Tensor) -> Tensor:
    """Return whether two arcs cross; with the root at the left, a tree is projective iff none do."""
    places = torch.arange(heads.shape[-1], device=heads.device)
    left = torch.where(words, torch.minimum(heads, places), 0)
    right = torch.where(words, torch.maximum(heads, places), 0)
    starts_inside = (left[..., :, None] < left[..., None, :]) & (left[..., None, :] < right[..., :, None])
    return (starts_inside & (right[..., :, None] < right[..., None, :])).flatten(-2).any(-1)


def to_trees(
    trees: Tensor | Trees, lengths: Tensor | Sequence[int] | int | None = None, labels: Sequence[str] = ()
) -> Any:
    """Convert heads (…, N+1), or ``Trees``, to ``arcwise.Tree``, in lists nested as the leading dimensions.

    lengths: the number of words of each sentence, broadcast to the leading dimensions (default: all N).
    labels: the names of the labels.
    Where there is no tree (all heads -1), all heads of the ``Tree`` are unknown.

    >>> to_trees(torch.tensor([[-1, 2, 0], [-1, 0, -1]]), lengths=[2, 1])
    [Tree.from_heads([2, 0]), Tree.from_heads([0])]
    """
    heads, codes = trees if isinstance(trees, Trees) else (trees, None)
    if codes is not None and not labels:
        raise InputError("labels: found none, expected the names of the labels that the trees have")
    size = heads.shape[-1]
    words = torch.as_tensor(size - 1 if lengths is None else lengths).expand(heads.shape[:-1])
    return _nested(heads.tolist(), None if codes is None else codes.tolist(), words.tolist(), labels)


def _nested(heads: Any, codes: Any, words: Any, labels: Sequence[str]) -> Any:
    if isinstance(words, list):
        return [
            _nested(rows, None if codes is None else codes[i], words[i], labels)
            for i, rows in enumerate(heads)
        ]
    names = None if codes is None else [labels[code] if code >= 0 else "_" for code in codes[1 : words + 1]]
    return Tree.from_heads(heads[1 : words + 1], names)


@overload
def from_trees(
    trees: Sequence[Tree],
    labels: None = None,
    *,
    size: int | None = None,
    device: torch.device | str | None = None,
) -> Tensor: ...
@overload
def from_trees(
    trees: Sequence[Tree],
    labels: Sequence[str],
    *,
    size: int | None = None,
    device: torch.device | str | None = None,
) -> Trees: ...
def from_trees(
    trees: Sequence[Tree],
    labels: Sequence[str] | None = None,
    *,
    size: int | None = None,
    device: torch.device | str | None = None,
) -> Tensor | Trees:
    """Convert trees to heads (B, N+1), or with the names of ``labels`` to ``Trees``.

    Padded to the longest tree, or to N+1 = ``size``.

    >>> from_trees([Tree.from_heads([2, 0]), Tree.from_heads([0])])
    tensor([[-1,  2,  0],
            [-1,  0, -1]])
    """
    longest = max((len(tree) for tree in trees), default=0) + 1
    size = longest if size is None else size
    if size < longest:
        raise InputError(
            f"size: found {size}, expected at least {longest}: the words of the longest tree, plus 1"
        )
    heads = [[*tree.heads.tolist(), *[-1] * (size - 1 - len(tree))] for tree in trees]
    head_tensor = torch.tensor(heads, dtype=torch.int64, device=device).reshape(len(trees), size)
    if labels is None:
        return head_tensor
    code_of = {name: code for code, name in enumerate(labels)}
    codes = [[*_codes(tree, code_of), *[-1] * (size - 1 - len(tree))] for tree in trees]
    return Trees(head_tensor, torch.tensor(codes, dtype=torch.int64, device=device).reshape(len(trees), size))


def _codes(tree: Tree, code_of: dict[str, int]) -> list[int]:
    if tree.labels is None:
        return [-1] * (len(tree) + 1)
    for name in tree.labels[1:]:
        if name not in code_of and name not in ("", "_"):
            raise InputError(f"trees: found the label {name!r}, expected one of {', '.join(code_of)}")
    return [-1, *(code_of.get(name, -1) for name in tree.labels[1:])]
