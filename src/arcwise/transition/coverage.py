"""Coverage of a treebank by a transition system (Bohnet et al. 2016, table 2: NPS)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError
from arcwise.inference.projectivise import require_heads
from arcwise.transition.system import TransitionSystem
from arcwise.treebanks import Treebank


@dataclass(frozen=True)
class Coverage:
    """The coverage of a treebank by a transition system.

    ``derivable``: shape (S,), whether the tree of each sentence can be derived (exact). ``nearest``: flat
    heads of a derivable tree close to each gold tree (the gold tree itself if derivable). ``found``: shape
    (S,), whether there is one.
    """

    system: TransitionSystem
    derivable: npt.NDArray[np.bool_]
    found: npt.NDArray[np.bool_]
    nearest: npt.NDArray[np.int32]
    broken: npt.NDArray[np.int64]
    """Flat indices of words whose gold arc is not in the nearest tree."""

    @property
    def sentences(self) -> float:
        """The fraction of sentences whose tree can be derived."""
        return float(self.derivable.mean())

    @property
    def arcs(self) -> float:
        """The fraction of gold arcs in the nearest derivable tree."""
        return 1 - len(self.broken) / len(self.nearest)


def coverage(
    system: TransitionSystem, treebank: Treebank, *, single_root: bool = False, threads: int = 1
) -> Coverage:
    """Compute the coverage of a treebank, in linear time for bottom-up systems with bounded K.

    >>> from arcwise.transition import system
    >>> row = "{}\\tw\\t_\\t_\\t_\\t_\\t{}\\tx\\t_\\t_\\n"
    >>> crossing = Treebank.from_string("".join(row.format(m, h) for m, h in enumerate([3, 4, 0, 3], 1)))
    >>> [coverage(system(name), crossing).sentences for name in ("arc-standard", "attardi(N=2)")]
    [0.0, 1.0]
    """
    if system.many_heads:
        raise InputError(f"system: {system} builds graphs from DEPS, expected a system that builds trees")
    if not len(treebank):
        raise InputError(f"{treebank.source}: found no sentence, expected at least one")
    require_heads(treebank)
    covered = native.transition_coverage_batch(
        system.native,
        single_root=single_root,
        heads=treebank.heads,
        sentence_words=treebank.sentence_words,
        threads=threads,
    )
    nearest, has_nearest = covered.nearest, covered.found > 0
    # A sentence without any derivable tree loses all its arcs.
    lost = np.repeat(~has_nearest, treebank.sentence_lengths)
    changed = np.flatnonzero((nearest != treebank.heads) | lost)
    return Coverage(system, covered.derivable > 0, has_nearest, nearest, changed)


def grid(capacities: Sequence[int | None], distances: Sequence[int | None]) -> list[TransitionSystem]:
    """Easy-first systems for every K (None: unbounded) and D; skips values of D that K cannot use."""
    from arcwise.transition.named_systems import system

    def shown(bound: int | None) -> str:
        return "inf" if bound is None else str(bound)

    return [
        system(f"non-projective(D={shown(d)})" if k is None else f"bounded(K={k},D={shown(d)})")
        for k in capacities
        for d in distances
        if k is None or d is None or d < k
    ]


def broken_arcs(result: Coverage, treebank: Treebank, *, at_most: int) -> list[str]:
    """Describe the first arcs that cannot be derived, one line each, with their sentence."""
    starts = treebank.sentence_words
    lines = []
    for word in result.broken[:at_most].tolist():
        number = int(np.searchsorted(starts, word, "right")) - 1
        sentence, m = treebank[number], word - int(starts[number]) + 1
        head = int(treebank.heads[word])
        forms = ["(root)", *sentence.forms]
        lines.append(
            f"{sentence.sent_id or number + 1}: "
            f"{forms[head]} ({head}) → {forms[m]} ({m}), {sentence.deprels[m - 1]}"
        )
    return lines
