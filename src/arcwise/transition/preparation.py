"""Make training trees derivable by a transition system, and report what was changed or skipped."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError
from arcwise.inference.projectivise import projectivise_heads
from arcwise.transition.config import Unreachable
from arcwise.transition.system import TransitionSystem
from arcwise.treebanks import Treebank

Heads = npt.NDArray[np.int32]


@dataclass(frozen=True)
class DerivableTrees:
    """The heads and sentences to train on, and one line per kind of change."""

    heads: Heads
    sentences: npt.NDArray[np.int64]
    notes: list[str]


def derivable_trees(
    treebank: Treebank, system: TransitionSystem, *, single_root: bool, unreachable: Unreachable, threads: int
) -> DerivableTrees:
    """Make trees derivable as ``unreachable`` says; skips sentences with unknown heads."""
    starts = treebank.sentence_words.astype(np.int64)
    lengths = treebank.sentence_lengths
    complete = np.add.reduceat(treebank.heads < 0, starts[:-1]) == 0
    notes = _note(int((~complete).sum()), "sentences have words without heads and were skipped")
    if not complete.any():
        raise InputError(
            f"{treebank.source}: has no sentence whose words all have heads, expected trees to learn from"
        )
    words = np.repeat(complete, lengths)
    complete_starts = np.concatenate([[0], np.cumsum(lengths[complete])]).astype(np.uint32)
    heads = np.ascontiguousarray(treebank.heads[words], np.int32)
    covered = native.transition_coverage_batch(
        system.native, single_root=single_root, heads=heads, sentence_words=complete_starts, threads=threads
    )
    derivable = covered.derivable
    missed = f"sentences ({1 - derivable.mean():.2%}) have trees that {system} cannot derive"
    usable = derivable > 0
    changed = heads
    if unreachable == "closest":
        usable, changed = covered.found > 0, covered.nearest
    elif unreachable == "projectivise":
        changed, usable = _projectivised(heads, complete_starts, system, derivable > 0, single_root, threads)
    kept = np.repeat(usable, lengths[complete])
    moved = int((changed != heads)[kept].sum())
    notes += _note(
        int((derivable == 0).sum()), f"{missed} (unreachable: {unreachable}, {moved} heads changed)"
    )
    notes += _note(int((~usable).sum()), "sentences were skipped")
    if not usable.any():
        raise InputError(
            f"{treebank.source}: {system} can derive none of its trees, expected some to learn from"
        )
    # Skipped sentences keep their heads, so that word indices stay those of the treebank.
    all_heads = np.array(treebank.heads, np.int32)
    all_heads[words] = changed
    return DerivableTrees(all_heads, np.flatnonzero(complete)[usable], notes)


def _projectivised(
    heads: Heads,
    starts: npt.NDArray[np.uint32],
    system: TransitionSystem,
    derivable: npt.NDArray[np.bool_],
    single_root: bool,
    threads: int,
) -> tuple[Heads, npt.NDArray[np.bool_]]:
    """Projectivise underivable trees with the fewest changed heads; also returns which are derivable now."""
    # Derivable trees stay as they are, though some of them may be non-projective.
    projective = np.where(
        np.repeat(derivable, np.diff(starts)), heads, projectivise_heads(heads, starts)
    ).astype(np.int32)
    # Asked again: a projective tree can still be out of the system's reach.
    now = native.transition_coverage_batch(
        system.native, single_root=single_root, heads=projective, sentence_words=starts, threads=threads
    )
    return projective, now.derivable > 0


def _note(count: int, text: str) -> list[str]:
    return [f"{count} {text}"] if count else []
