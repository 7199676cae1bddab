"""``Scores``: the scores of a batch of sentences, the output of scorers and the input of inference."""

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
"""Losses on scores, defined in ``native/kernels/inference/tree_loss.hpp``."""

Codes = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Scores:
    """Scores of every arc of every sentence, one for each of its states: a label, a latent cluster, or both.

    Arcs may be missing, or have only some of the labels. ``labels`` is empty if arcs are unlabelled.

    >>> scores = Scores.dense([np.zeros((2, 3, 3))], labels=("nsubj", "obj"))
    >>> len(scores), scores.lengths.tolist(), scores.dense_arrays()[0].shape
    (1, [2], (2, 3, 3))
    """

    batch: native.ScoreBatch
    labels: tuple[str, ...] = ()

    @classmethod
    def dense(cls, matrices: Sequence[npt.ArrayLike], labels: Sequence[str] = ()) -> Scores:
        """Build from one array per sentence: (n+1, n+1), or with L labels (L, n+1, n+1); -inf forbids."""
        checked = [
            check_arc_scores(matrix, labels or None, f"scores[{s}]") for s, matrix in enumerate(matrices)
        ]
        return cls.of_checked(checked, tuple(labels))

    @classmethod
    def of_checked(
        cls, matrices: Sequence[Floats], labels: tuple[str, ...], *, highest: Floats | None = None
    ) -> Scores:
        """Build from checked arrays. ``highest``: that of the scores before constraints."""
        return cls(native.ScoreBatch.dense(list(matrices), len(labels), highest), labels)

    @classmethod
    def mean(cls, several: Sequence[Scores]) -> Scores:
        """Average several scorers' scores of the same sentences: P(tree) is their normalised geometric mean.

        Averages the log weights of arcs and log P(label | arc); the latter are then normalised again.

        >>> pair = [Scores.dense([np.full((2, 2), value)]) for value in (1.0, 3.0)]
        >>> Scores.mean(pair).dense_arrays()[0][0, 1].item()
        2.0
        """
        if not several:
            raise InputError("several: found none, expected at least one")
        if any(scores.labels != several[0].labels for scores in several):
            raise InputError("several: found scores with different labels, expected the same for all")
        try:
            return cls(native.ScoreBatch.mean([scores.batch for scores in several]), several[0].labels)
        except ValueError as error:
            raise InputError(f"several: {error}") from error

    def tempered(self, heads: float, labels: float) -> Scores:
        """Divide log weights of arcs by ``heads``, and log P(label | arc) by ``labels``, normalised again.

        >>> Scores.dense([np.full((2, 2), 3.0)]).tempered(2.0, 1.0).dense_arrays()[0][0, 1].item()
        1.5
        """
        return Scores(native.ScoreBatch.mean([self.batch], heads, labels), self.labels)

    def without_labels(self) -> Scores:
        """Return the unlabelled scores with the same distribution over heads: labels are summed out.

        >>> scores = Scores.dense([np.zeros((4, 2, 2))], labels=tuple("abcd"))
        >>> float(scores.without_labels().dense_arrays()[0][0, 1])
        1.386...
        """
        arrays = [
            matrix if not self.labels else np.logaddexp.reduce(matrix, axis=0)
            for matrix in self.dense_arrays()
        ]
        return Scores.of_checked(arrays, ())

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self.batch)

    def __repr__(self) -> str:
        return (
            f"<Scores of {len(self)} sentences, {int(self.lengths.sum())} words, {len(self.labels)} labels>"
        )

    # Native objects do not pickle; they travel as arrays and are rebuilt.
    def __reduce__(self) -> tuple[Any, ...]:
        return _of_parts, (self.batch.parts(), self.labels)

    @cached_property
    def lengths(self) -> npt.NDArray[np.int32]:
        """The number of words of each sentence, shape (B,)."""
        return np.asarray(self.batch.lengths)

    def constrained(
        self,
        *,
        heads: Codes | None = None,
        labels: Codes | None = None,
        forbidden: npt.NDArray[np.bool_] | None = None,
        highest: Floats | None = None,
    ) -> Scores:
        """Return the scores without arcs and labels that are ruled out.

        heads, labels: required heads and label codes, flat over all words; -1 where free.
        forbidden: flat over the (n+1)² arcs of all sentences.
        highest: ``highest()`` of the unconstrained scores, so that smoothing stays relative to them.
        """
        # uint8, because the binding takes no array of numpy bools.
        mask = None if forbidden is None else np.ascontiguousarray(forbidden, np.uint8)
        return Scores(self.batch.constrained(heads, labels, mask, highest), self.labels)

    def highest(self, temperature: float, *, threads: int = 1) -> Floats:
        """Return the log weight of each word's best arc before constraints, flat over words; cached."""
        # In __dict__, since the dataclass is frozen; scores never change, so nothing invalidates it.
        cache: dict[float, Floats] = self.__dict__.setdefault("_highest", {})
        if temperature not in cache:
            cache[temperature] = np.asarray(self.batch.highest(temperature, threads))
        return cache[temperature]

    def dense_arrays(self, *, temperature: float = 1.0) -> list[Floats]:
        """Return one array per sentence, (n+1, n+1) or (L, n+1, n+1), clusters summed out.

        -inf for missing arcs.
        """
        return self.split(self.batch.by_label(temperature))

    def split(self, flat: Floats) -> list[Floats]:
        """Split a flat array over sentences, labels, heads and words into one array per sentence."""
        labels = (len(self.labels),) if self.labels else ()
        sides = self.lengths.astype(np.int64) + 1
        sizes = sides * sides * max(len(self.labels), 1)
        ends = np.cumsum(sizes)
        return [
            flat[end - size : end].reshape(*labels, side, side)
            for end, size, side in zip(ends.tolist(), sizes.tolist(), sides.tolist(), strict=True)
        ]

    def decode(
        self, settings: native.DecodeSettings, *, spans: Sequence[Sequence[Span]] = (), threads: int = 1
    ) -> tuple[list[Heads], list[Heads]]:
        """Decode each sentence to heads, shape (n+1,), and label codes, -1 for the root.

        ``spans``: for each sentence the spans that must be subtrees (projective trees only).
        """
        ends, starts = span_arrays(spans)
        threads = thread_count(threads)
        decoded = self.batch.decode(settings, span_ends=ends, span_starts=starts, threads=threads)
        parsed = np.asarray(decoded.parsed)
        if not parsed.all():
            require_trees(np.where(parsed > 0, 0.0, -np.inf), self.lengths)
        return _by_sentence(decoded.heads, self.lengths), _by_sentence(decoded.labels, self.lengths)

    def k_best(
        self,
        settings: native.DecodeSettings,
        k: int,
        *,
        spans: Sequence[Sequence[Span]] = (),
        threads: int = 1,
    ) -> list[tuple[Heads, Heads, Floats]]:
        """Return the k best trees of each sentence: heads, shape (K, n+1), label codes, and scores."""
        ends, starts = span_arrays(spans)
        k = tree_count("k", k, int(self.lengths.sum()) + len(self), 1)
        threads = thread_count(threads)
        decoded = self.batch.k_best(settings, k, span_ends=ends, span_starts=starts, threads=threads)
        counts = np.asarray(decoded.counts, np.int64)
        require_trees(np.where(counts > 0, 0.0, -np.inf), self.lengths)
        lengths = np.repeat(self.lengths, counts)
        heads, labels = _by_sentence(decoded.heads, lengths), _by_sentence(decoded.labels, lengths)
        last = np.cumsum(counts).tolist()
        return [
            (
                np.stack(heads[end - count : end]),
                np.stack(labels[end - count : end]),
                decoded.scores[end - count : end],
            )
            for end, count in zip(last, counts.tolist(), strict=True)
        ]

    def loss(
        self,
        loss: str,
        trees: Sequence[Tree],
        *,
        projective: bool,
        single_root: bool,
        threads: int = 1,
    ) -> tuple[Floats, list[Floats]]:
        """Return the loss of each sentence against its gold tree, shape (B,), and the gradients.

        Trees may be partial (heads -1, labels ``""`` or ``_``). If no tree agrees with the known part, the
        loss is inf and the gradient 0.

        >>> scores = Scores.dense([np.zeros((3, 3))])
        >>> gold = [Tree.from_heads([2, 0])]
        >>> values, (gradient,) = scores.loss("likelihood", gold, projective=True, single_root=True)
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
        codes = {label: code for code, label in enumerate(self.labels)}
        names = tree.labels[1:] if tree.labels is not None and self.labels else [""] * len(tree)
        for name in names:
            if name not in codes and name not in ("", "_"):
                raise InputError(f"trees: found the label {name!r}, expected one of {', '.join(self.labels)}")
        return np.array([codes.get(name, -1) for name in names], np.int32)


def _by_sentence(flat: Any, lengths: npt.NDArray[np.int32]) -> list[Heads]:
    """Split an array flat over words into one array (n+1,) per sentence, -1 for the root."""
    if len(lengths) == 1:
        # One sentence needs no offsets, which cost more than a short decode.
        only = np.empty(len(flat) + 1, np.int32)
        only[0] = -1
        only[1:] = flat
        return [only]
    ends = np.cumsum(lengths.astype(np.int64) + 1)
    starts = ends - lengths - 1
    # -1 for the root, as Tree has it; the kernels write words only.
    with_roots = np.full(int(ends[-1]) if len(ends) else 0, -1, np.int32)
    words = np.ones(len(with_roots), np.bool_)
    words[starts] = False
    with_roots[words] = flat
    return [with_roots[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def _of_parts(parts: tuple[Any, ...], labels: tuple[str, ...]) -> Scores:
    return Scores(native.ScoreBatch.of_parts(*parts), labels)
