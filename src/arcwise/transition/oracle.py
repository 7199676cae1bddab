"""Oracles: derivations of a given tree, and the cost of a wrong move.

``State`` is native and immutable: ``state.after(move)`` is a new state.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError
from arcwise.transition.system import TransitionSystem
from arcwise.trees import Tree

State = native.TransitionState


class Move(NamedTuple):
    """A move: an arc connects ``left`` and ``right``, a reduce removes ``left``, a shift has neither (-1)."""

    transition: int
    left: int = -1
    right: int = -1
    label: int = 0

    def words(self, system: TransitionSystem) -> str:
        """A readable form, such as ``left-arc 2 ← 3``."""
        kind = system.transitions[self.transition].kind
        match kind:
            case "left-arc":
                return f"{kind} {self.left} ← {self.right}"
            case "right-arc":
                return f"{kind} {self.left} → {self.right}"
            case "reduce":
                return f"{kind} {self.left}"
        return kind


def start(system: TransitionSystem, words: int, *, single_root: bool) -> State:
    """The initial state of a sentence of n ``words``.

    >>> from arcwise.transition import system
    >>> start(system("arc-standard"), 3, single_root=True).operative
    [0, 1]
    """
    if words < 1:
        raise InputError(f"words: found {words}, expected at least 1")
    return native.TransitionState(system.native, words, single_root)


def derivation(system: TransitionSystem, heads: Tree | Sequence[int]) -> list[Move] | None:
    """A derivation of the tree, or None if the system has none. Exact; O(n K D) for bottom-up systems.

    >>> from arcwise.transition import system
    >>> [m.words(system("arc-eager")) for m in derivation(system("arc-eager"), [2, 0])]
    ['left-arc 1 ← 2', 'shift', 'left-arc 2 ← 0']
    """
    tree = gold_heads(heads)
    # The given tree decides how many roots there are.
    moves = start(system, len(tree) - 1, single_root=False).derivation(tree)
    return None if moves is None else [Move(*m) for m in moves]


def gold_heads(heads: Tree | Sequence[int]) -> npt.NDArray[np.int32]:
    """The heads of a complete tree for native code, shape (n+1,)."""
    tree = heads if isinstance(heads, Tree) else Tree.from_heads(list(heads))
    if not tree.is_complete:
        raise InputError("heads: found a word without a head, expected a complete tree")
    return np.array(tree.heads, np.int32)
