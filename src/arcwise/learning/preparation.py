"""Make training trees fit the tree class of training, and report what was changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError
from arcwise.inference.eisner import eisner_decode_batch
from arcwise.inference.projectivise import projectivise_heads
from arcwise.treebanks import Treebank

Heads = npt.NDArray[np.int32]


@dataclass(frozen=True)
class PreparedTrees:
    """The heads and labels to train on, flat over all words, and counts of the changes."""

    heads: Heads
    labels: list[str]
    """``_`` where unknown."""
    projectivised: int = 0
    """Sentences that had crossing arcs."""
    changed_heads: int = 0
    """Words whose head changed to avoid crossing arcs."""
    extra_roots: int = 0
    """Further roots of sentences, whose head and label now count as unknown."""
    partial: int = 0
    """Sentences with unknown heads."""
    unlabelled: int = 0
    """Words with a known head and an unknown label."""

    @property
    def notes(self) -> list[str]:
        """One line per kind of change."""
        lines = []
        if self.projectivised:
            lines.append(
                f"{self.projectivised} sentences with crossing arcs were projectivised "
                f"({self.changed_heads} heads changed)"
            )
        if self.extra_roots:
            lines.append(f"{self.extra_roots} additional roots count as unknown heads (single_root)")
        if self.partial:
            lines.append(f"{self.partial} sentences have unknown heads")
        if self.unlabelled:
            lines.append(f"{self.unlabelled} words have a head but no label")
        return lines


def prepare_trees(treebank: Treebank, *, projective: bool, single_root: bool) -> PreparedTrees:
    """Prepare the trees of a treebank for training: projectivise them, allow one root each.

    Where an arc from the root became an arc from a word, or the reverse, or a root arc was dropped, its label
    becomes unknown: labels of root arcs and of other arcs are not comparable.
    """
    original = np.asarray(treebank.heads, np.int32)
    heads = original.copy()
    if not (heads >= 0).any():
        raise InputError(f"{treebank.source}: has no heads, expected trees to learn from")
    starts = treebank.sentence_words
    # Before projectivising, which then keeps the one root that is left.
    extra_roots = _drop_extra_roots(heads, starts) if single_root else 0
    changed = np.zeros(0, np.int64)
    if projective:
        changed = _projectivise(heads, starts, single_root=single_root)
    labels = list(treebank.column("deprel"))
    # The label of a root arc is no evidence about other arcs, and vice versa.
    for word in np.flatnonzero((original == 0) != (heads == 0)):
        labels[word] = "_"
    unknown = np.add.reduceat(heads < 0, starts[:-1].astype(np.int64))
    return PreparedTrees(
        heads,
        labels,
        projectivised=int((changed > 0).sum()),
        changed_heads=int(changed.sum()),
        extra_roots=extra_roots,
        partial=int((unknown > 0).sum()),
        unlabelled=sum(label == "_" and head >= 0 for label, head in zip(labels, heads, strict=True)),
    )


def _drop_extra_roots(heads: Heads, starts: npt.NDArray[np.uint32]) -> int:
    """Turn all roots of a sentence but the first into unknown heads; returns their number."""
    roots = np.flatnonzero(heads == 0)
    sentence = np.searchsorted(starts, roots, "right")
    extra = roots[1:][sentence[1:] == sentence[:-1]]
    heads[extra] = -1
    return len(extra)


def _projectivise(
    heads: Heads, starts: npt.NDArray[np.uint32], *, single_root: bool
) -> npt.NDArray[np.int64]:
    """Projectivise trees in place with the fewest changed heads (Koo et al. 2007, footnote 4).

    Unknown heads stay unknown. Returns the number of changed heads per sentence.
    """
    before = heads.copy()
    lengths = np.diff(starts).astype(np.int64)
    complete = np.add.reduceat(heads < 0, starts[:-1].astype(np.int64)) == 0
    words = np.repeat(complete, lengths)
    complete_starts = np.concatenate([[0], np.cumsum(lengths[complete])]).astype(np.uint32)
    # Complete trees have an exact routine that prefers lifting; it needs every head.
    heads[words] = projectivise_heads(heads[words], complete_starts)
    partial = [heads[starts[s] : starts[s + 1]] for s in np.flatnonzero(~complete)]
    if partial:
        trees, _ = eisner_decode_batch(
            [_agreement(known_heads) for known_heads in partial], single_root=single_root
        )
        for known_heads, tree in zip(partial, trees, strict=True):
            known_heads[known_heads >= 0] = tree[1:][known_heads >= 0]
    return np.add.reduceat(heads != before, starts[:-1].astype(np.int64)).astype(np.int64)


def _agreement(known_heads: Heads) -> npt.NDArray[np.float64]:
    """Arc scores whose best tree keeps most known heads: +1 for known arcs, -1 for others."""
    n = len(known_heads)
    scores = np.full((n + 1, n + 1), -1.0)
    for m, h in enumerate(known_heads, start=1):
        # Unknown heads are free: they cost nothing and win nothing.
        scores[:, m] = -1.0 if h >= 0 else 0.0
        if h >= 0:
            scores[h, m] = 1.0
    return scores
