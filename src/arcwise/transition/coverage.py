"""How much of a treebank a transition system can build (Bohnet et al. 2016, table 2: NPS)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError
from arcwise.transition.system import TransitionSystem
from arcwise.treebanks import Treebank


@dataclass(frozen=True)
class Coverage:
    """What a system can build of a treebank.

    ``derivable``: shape (S,), whether each sentence's tree can be built, exactly. ``nearest``: flat heads of a tree near each gold
    tree that can be built (the gold tree itself where derivable); ``found``: shape (S,), whether there is such a tree.
    """

    system: TransitionSystem
    derivable: npt.NDArray[np.bool_]
    found: npt.NDArray[np.bool_]
    nearest: npt.NDArray[np.int32]
    broken: npt.NDArray[np.int64]
    """Flat numbers of the words whose gold arc is not in the nearest tree (all words of a sentence without one)."""

    @property
    def sentences(self) -> float:
        """The share of sentences whose tree can be built."""
        return float(self.derivable.mean())

    @property
    def arcs(self) -> float:
        """The share of arcs that are in the nearest tree that can be built."""
        return 1 - len(self.broken) / len(self.nearest)


def coverage(
    system: TransitionSystem, treebank: Treebank, *, single_root: bool = False, threads: int = 1
) -> Coverage:
    """The share of the treebank that the system derives. Linear in the sentence for bottom-up systems of bounded K.

    >>> from arcwise.transition import system
    >>> crossing = Treebank.from_string("".join(f"{m}\\tw\\t_\\t_\\t_\\t_\\t{h}\\tx\\t_\\t_\\n" for m, h in enumerate([3, 4, 0, 3], 1)))
    >>> coverage(system("arc-standard"), crossing).sentences, coverage(system("attardi(N=2)"), crossing).sentences
    (0.0, 1.0)
    """
    if system.many_heads:
        raise InputError(f"system: {system} builds graphs from DEPS, expected a system that builds trees")
    _require_heads(treebank)
    covered = native.transition_coverage_batch(
        system.native,
        single_root=single_root,
        heads=treebank.heads,
        sentence_words=treebank.sentence_words,
        threads=threads,
    )
    nearest, found = covered.nearest, covered.found > 0
    lost = np.repeat(~found, treebank.sentence_lengths)
    changed = np.flatnonzero((nearest != treebank.heads) | lost)
    return Coverage(system, covered.derivable > 0, found, nearest, changed)


def _require_heads(treebank: Treebank) -> None:
    if not len(treebank):
        raise InputError(f"{treebank.source}: found no sentence, expected at least one")
    unknown = np.flatnonzero(treebank.heads < 0)
    if len(unknown):
        sentence = int(np.searchsorted(treebank.sentence_words, unknown[0], "right")) - 1
        number = int(unknown[0]) - int(treebank.sentence_words[sentence]) + 1
        name = treebank[sentence].sent_id or f"sentence {sentence + 1}"
        raise InputError(f"{treebank.source}: word {number} of {name} has no head, expected complete trees")


def grid(capacities: Sequence[int | None], distances: Sequence[int | None]) -> list[TransitionSystem]:
    """Bounded (or, for K = None, unbounded) easy-first systems with every K and D; a D that K cannot use is left out."""
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
    """The first arcs that cannot be built, one line each, with the sentence they stand in."""
    starts = treebank.sentence_words
    lines = []
    for word in result.broken[:at_most].tolist():
        number = int(np.searchsorted(starts, word, "right")) - 1
        sentence, m = treebank[number], word - int(starts[number]) + 1
        head = int(treebank.heads[word])
        forms = ["(root)", *sentence.forms]
        lines.append(
            f"{sentence.sent_id or number + 1}: {forms[head]} ({head}) → {forms[m]} ({m}), {sentence.deprels[m - 1]}"
        )
    return lines
