"""``Scores``: the scores of a batch of sentences, as scorers give them and everything after scoring takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError
from arcwise.inference.arc_matrices import Floats, Heads, Span, require_trees, span_arrays
from arcwise.inference.arguments import a_tree, thread_count, tree_count
from arcwise.inference.sentence_scores import check_arc_scores
from arcwise.trees import Tree

LOSSES: dict[str, native.TreeLoss] = {loss.name.replace("_", "-"): loss for loss in native.TreeLoss}
"""Losses on scores; ``native/kernels/inference/tree_loss.hpp`` says what each is."""

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Scores:
    """Scores of every arc of every sentence, in each of its states: a label, a latent cluster, or both.

    An arc may be missing, and have only some of the labels. ``labels`` is empty where arcs have none.

    >>> scores = Scores.dense([np.zeros((2, 3, 3))], labels=("nsubj", "obj"))
    >>> len(scores), scores.lengths.tolist(), scores.dense_arrays()[0].shape
    (1, [2], (2, 3, 3))
    """

    batch: native.ScoreBatch
    labels: tuple[str, ...] = ()

    @classmethod
    def dense(cls, matrices: Sequence[npt.ArrayLike], labels: Sequence[str] = ()) -> Scores:
        """From one array a sentence: (n+1, n+1), or with L labels (L, n+1, n+1); -inf forbids."""
        checked = [
            check_arc_scores(matrix, labels or None, f"scores[{s}]") for s, matrix in enumerate(matrices)
        ]
        return cls.of_checked(checked, tuple(labels))

    @classmethod
    def of_checked(
        cls, matrices: Sequence[Floats], labels: tuple[str, ...], *, highest: Floats | None = None
    ) -> Scores:
        """``dense`` of arrays that need no check. ``highest``: of the scores before constraints took arcs away."""
        return cls(native.ScoreBatch.dense(list(matrices), len(labels), highest), labels)

    @classmethod
    def mean(cls, several: Sequence[Scores]) -> Scores:
        """Scores of the same sentences by several scorers made into one: P(tree) is the geometric mean of theirs, normalised.

        Means are taken of the logs of the weights of arcs, and of P(label | arc); the latter are then normalised.

        >>> one, other = (Scores.dense([np.full((2, 2), value)]) for value in (1.0, 3.0))
        >>> Scores.mean([one, other]).dense_arrays()[0][0, 1].item()
        2.0
        """
        if not several:
            raise InputError("several: found none, expected at least one")
        if any(one.labels != several[0].labels for one in several):
            raise InputError("several: found scores with other labels, expected the same for all")
        try:
            return cls(native.ScoreBatch.mean([one.batch for one in several]), several[0].labels)
        except ValueError as error:
            raise InputError(f"several: {error}") from error

    def tempered(self, heads: float, labels: float) -> Scores:
        """The logs of the weights of arcs divided by ``heads``, those of P(label | arc) by ``labels`` and normalised again.

        >>> Scores.dense([np.full((2, 2), 3.0)]).tempered(2.0, 1.0).dense_arrays()[0][0, 1].item()
        1.5
        """
        return Scores(native.ScoreBatch.mean([self.batch], heads, labels), self.labels)

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self.batch)

    def __repr__(self) -> str:
        return (
            f"<Scores of {len(self)} sentences, {int(self.lengths.sum())} words, {len(self.labels)} labels>"
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return _of_parts, (self.batch.parts(), self.labels)

    @cached_property
    def lengths(self) -> npt.NDArray[np.int32]:
        """Shape (B,): words of each sentence."""
        return np.asarray(self.batch.lengths)

    def constrained(
        self,
        *,
        heads: Codes | None = None,
        labels: Codes | None = None,
        forbidden: npt.NDArray[np.bool_] | None = None,
        highest: Floats | None = None,
    ) -> Scores:
        """Without what is ruled out: ``heads`` and ``labels`` (numbers) flat over all words, -1 where free;
        ``forbidden`` flat over the (n+1)² arcs of all sentences. ``highest``: of these scores, for smoothing, which then is that of
        the scores as they are here."""
        mask = None if forbidden is None else np.ascontiguousarray(forbidden, np.uint8)
        return Scores(self.batch.constrained(heads, labels, mask, highest), self.labels)

    def highest(self, temperature: float, *, threads: int = 1) -> Floats:
        """Flat over words: the logarithm of the highest weight of an arc into each, before constraints took arcs away."""
        found: dict[float, Floats] = self.__dict__.setdefault("_highest", {})
        if temperature not in found:
            found[temperature] = np.asarray(self.batch.highest(temperature, threads))
        return found[temperature]

    def dense_arrays(self, *, temperature: float = 1.0) -> list[Floats]:
        """One array a sentence, (n+1, n+1) or (L, n+1, n+1), latent clusters summed out; -inf where there is no such arc."""
        return self.split(self.batch.by_label(temperature))

    def split(self, flat: Floats) -> list[Floats]:
        """Numbers flat over sentences, labels, heads and words, as one array a sentence: (n+1, n+1), or (L, n+1, n+1)."""
        labels = (len(self.labels),) if self.labels else ()
        sides = self.lengths.astype(np.int64) + 1
        sizes = sides * sides * max(len(self.labels), 1)
        ends = np.cumsum(sizes)
        return [
            flat[end - size : end].reshape(*labels, side, side)
            for end, size, side in zip(ends.tolist(), sizes.tolist(), sides.tolist(), strict=True)
        ]

    # ---- the decoder

    def decode(
        self, settings: native.DecodeSettings, *, spans: Sequence[Sequence[Span]] = (), threads: int = 1
    ) -> tuple[list[Heads], list[Heads]]:
        """Of each sentence the heads of the tree asked for, shape (n+1,), and the numbers of its labels, -1 for the root.

        ``spans``: those of each sentence that must be subtrees (projective trees alone).
        """
        ends, starts = span_arrays(spans)
        threads = thread_count(threads)
        found = self.batch.decode(settings, span_ends=ends, span_starts=starts, threads=threads)
        require_trees(np.where(np.asarray(found.parsed) > 0, 0.0, -np.inf), self.lengths)
        return _by_sentence(found.heads, self.lengths), _by_sentence(found.labels, self.lengths)

    def k_best(
        self,
        settings: native.DecodeSettings,
        k: int,
        *,
        spans: Sequence[Sequence[Span]] = (),
        threads: int = 1,
    ) -> list[tuple[Heads, Heads, Floats]]:
        """Of each sentence the heads of the k best trees, shape (K, n+1), K <= k, the numbers of their labels, and their scores."""
        ends, starts = span_arrays(spans)
        k = tree_count("k", k, int(self.lengths.sum()) + len(self), 1)
        threads = thread_count(threads)
        found = self.batch.k_best(settings, k, span_ends=ends, span_starts=starts, threads=threads)
        counts = np.asarray(found.counts, np.int64)
        require_trees(np.where(counts > 0, 0.0, -np.inf), self.lengths)
        lengths = np.repeat(self.lengths, counts)
        heads, labels = _by_sentence(found.heads, lengths), _by_sentence(found.labels, lengths)
        last = np.cumsum(counts).tolist()
        return [
            (
                np.stack(heads[end - count : end]),
                np.stack(labels[end - count : end]),
                found.scores[end - count : end],
            )
            for end, count in zip(last, counts.tolist(), strict=True)
        ]

    # ---- losses

    def loss(
        self,
        loss: str,
        trees: Sequence[Tree],
        *,
        projective: bool,
        single_root: bool,
        threads: int = 1,
    ) -> tuple[Floats, list[Floats]]:
        """The loss of each sentence against its right tree, shape (B,), and the gradient by its scores, one array a sentence.

        Trees may be partial (heads -1, labels ``""`` or ``_``). A sentence without a tree that agrees has the loss inf, and
        the gradient 0.

        >>> scores = Scores.dense([np.zeros((3, 3))])
        >>> values, (gradient,) = scores.loss("likelihood", [Tree.from_heads([2, 0])], projective=True, single_root=True)
        >>> values.round(3).tolist(), gradient[2, 1].item()
        ([0.693], -0.5)
        """
        threads = thread_count(threads)
        if loss not in LOSSES:
            raise InputError(f"loss: found {loss!r}, expected one of {', '.join(LOSSES)}")
        if len(trees) != len(self):
            raise InputError(f"trees: found {len(trees)}, expected one for each sentence ({len(self)})")
        trees = [a_tree(tree, n) for tree, n in zip(trees, self.lengths.tolist(), strict=True)]
        heads = np.concatenate([tree.heads[1:] for tree in trees]).astype(np.int32)
        values, gradient = self.batch.loss(
            LOSSES[loss],
            heads=heads,
            labels=np.concatenate([self._codes(tree) for tree in trees]),
            projective=projective,
            single_root=single_root,
            threads=threads,
        )
        return values, self.split(gradient)

    def _codes(self, tree: Tree) -> Codes:
        known = {label: code for code, label in enumerate(self.labels)}
        names = tree.labels[1:] if tree.labels is not None and self.labels else [""] * len(tree)
        for name in names:
            if name not in known and name not in ("", "_"):
                raise InputError(f"trees: found the label {name!r}, expected one of {', '.join(self.labels)}")
        return np.array([known.get(name, -1) for name in names], np.int32)


def _by_sentence(flat: Any, lengths: npt.NDArray[np.int32]) -> list[Heads]:
    """Numbers flat over words as one array (n+1,) a sentence, -1 for the root."""
    ends = np.cumsum(lengths.astype(np.int64) + 1)
    starts = ends - lengths - 1
    with_roots = np.full(int(ends[-1]) if len(ends) else 0, -1, np.int32)
    words = np.ones(len(with_roots), np.bool_)
    words[starts] = False
    with_roots[words] = flat
    return [with_roots[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def _of_parts(parts: tuple[Any, ...], labels: tuple[str, ...]) -> Scores:
    return Scores(native.ScoreBatch.of_parts(*parts), labels)
