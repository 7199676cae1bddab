"""``Tree``: the heads of one sentence, with or without labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError

Heads = npt.NDArray[np.int32]

UNKNOWN = -1
"""The head of the root, and of a word whose head is unknown (``_`` in CoNLL-U)."""


@dataclass(frozen=True, eq=False)
class Tree:
    """A dependency tree over words 1..n with the artificial root 0.

    heads: shape (n+1,): ``heads[0] = -1``; ``heads[m]`` is the head of word m, or -1 if unknown (a partial
    tree).
    labels: None, or n+1 strings with ``labels[0] = ""``.

    >>> tree = Tree.from_heads([2, 0, 2], ["nsubj", "root", "obj"])
    >>> tree.roots, tree.children(2), tree.labels[3]
    ((2,), (1, 3), 'obj')
    """

    heads: Heads
    labels: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        heads = np.array(self.heads, dtype=np.int32)
        if heads.ndim != 1 or len(heads) < 1 or heads[0] != UNKNOWN:
            raise InputError(f"heads: found shape {heads.shape}, expected (n+1,) with heads[0] = -1")
        _check_heads(heads)
        heads.setflags(write=False)
        object.__setattr__(self, "heads", heads)
        if self.labels is not None:
            if len(self.labels) != len(heads):
                raise InputError(
                    f"labels: found {len(self.labels)}, expected {len(heads)} (one for the root)"
                )
            object.__setattr__(self, "labels", tuple(self.labels))

    @classmethod
    def from_heads(cls, heads: Sequence[int] | npt.NDArray[Any], labels: Sequence[str] | None = None) -> Tree:
        """Create the tree in which word m (from 1) has head ``heads[m-1]`` and label ``labels[m-1]``."""
        return cls(
            np.concatenate([[UNKNOWN], np.asarray(heads, dtype=np.int32)]),
            None if labels is None else ("", *labels),
        )

    @classmethod
    def of_decoded(cls, heads: Heads, labels: tuple[str, ...] | None = None) -> Tree:
        """Wrap what a decoder built, without checking it again; ``heads`` is not copied and becomes
        read-only.
        """
        # The checks of __post_init__ loop over words in Python: several times the cost of a short decode.
        tree = object.__new__(cls)
        heads.setflags(write=False)
        object.__setattr__(tree, "heads", heads)
        object.__setattr__(tree, "labels", labels)
        return tree

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.heads, self.labels)

    def __len__(self) -> int:
        """The number of words."""
        return len(self.heads) - 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Tree):
            return NotImplemented
        return self.labels == other.labels and np.array_equal(self.heads, other.heads)

    def __hash__(self) -> int:
        return hash((self.heads.tobytes(), self.labels))

    def __repr__(self) -> str:
        labels = "" if self.labels is None else f", {list(self.labels[1:])}"
        return f"Tree.from_heads({self.heads[1:].tolist()}{labels})"

    @property
    def is_complete(self) -> bool:
        """Whether every word has a head."""
        return bool((self.heads[1:] >= 0).all())

    @property
    def roots(self) -> tuple[int, ...]:
        """The words whose head is the root."""
        return tuple(int(m) for m in np.flatnonzero(self.heads == 0))

    @property
    def arcs(self) -> list[tuple[int, int]]:
        """The arcs as (head, modifier), in order of the modifier; unknown heads have none."""
        return [(int(h), m) for m, h in enumerate(self.heads) if h >= 0]

    @property
    def is_projective(self) -> bool:
        """Whether every head dominates all words between itself and its modifiers
        (``arcwise.trees.is_projective``).
        """
        from arcwise.trees.properties import is_projective

        return is_projective(self)

    @property
    def is_single_root(self) -> bool:
        """Whether exactly one word has the root as its head."""
        return len(self.roots) == 1

    def children(self, head: int) -> tuple[int, ...]:
        """The modifiers of ``head`` (0 for the root), from left to right."""
        return tuple(int(m) for m in np.flatnonzero(self.heads == head))


def _check_heads(heads: Heads) -> None:
    n = len(heads) - 1
    for m in range(1, n + 1):
        h = int(heads[m])
        if h > n or h < UNKNOWN:
            raise InputError(f"heads: found head {h} of word {m}, expected 0..{n}, or -1 for unknown")
        if h == m:
            raise InputError(f"heads: word {m} is its own head")
    cycle = find_cycle(heads)
    if cycle:
        raise InputError(f"heads: words {' -> '.join(map(str, [*cycle, cycle[0]]))} form a cycle")


def find_cycle(heads: Heads | Sequence[int]) -> list[int]:
    """Return the words of one cycle, each followed by its head; empty if there is none. O(n)."""
    path_of = [0] * len(heads)
    for start in range(1, len(heads)):
        at = start
        while at > 0 and path_of[at] == 0:
            path_of[at] = start
            at = int(heads[at])
        if at > 0 and path_of[at] == start:
            cycle = [at]
            while (after := int(heads[cycle[-1]])) != at:
                cycle.append(after)
            return cycle
    return []
