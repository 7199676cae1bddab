"""``ArcMatrices``: the arc scores of a batch, checked once and laid out in one array for native code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError, NoTreeError
from arcwise.inference.arguments import LARGEST_SCORE, floats

# log Z minus a score cancels leading digits, and float32 has only seven.
Floats = npt.NDArray[np.float64]
Heads = npt.NDArray[np.int32]
Span = tuple[int, int]
"""First and last word of a span that must be a subtree."""
MINUS_INFINITY = float("-inf")
"""The score of a forbidden arc, and of the best tree where there is none."""

# dtype objects are compared with `is`: cheaper than == on a path that runs once per sentence.
_FLOAT64 = np.dtype(np.float64)
_NO_ENDS = np.empty(0, np.int32)
_NO_STARTS = np.empty(0, np.int64)


@dataclass(frozen=True)
class ArcMatrices:
    """The arc scores of a batch. Matrix s has the (n+1)² entries of ``flat`` from ``offsets[s]``.

    >>> batch = ArcMatrices.of([np.zeros((3, 3)), np.zeros((2, 2))])
    >>> batch.offsets.tolist(), batch.lengths.tolist()
    ([0, 9], [2, 1])
    """

    flat: Floats
    offsets: npt.NDArray[np.int64]
    lengths: npt.NDArray[np.int32]
    span_ends: npt.NDArray[np.int32] = field(default_factory=lambda: _NO_ENDS)
    span_starts: npt.NDArray[np.int64] = field(default_factory=lambda: _NO_STARTS)
    """Spans that must be subtrees (projective trees only): sentence s has the pairs ``span_starts[s]`` to
    ``span_starts[s+1]`` of ``span_ends``. Both arrays are empty if there are none."""

    @classmethod
    def of(cls, scores: Sequence[npt.ArrayLike] | npt.NDArray[Any]) -> ArcMatrices:
        """Check the matrices and lay them out. float32 is accepted too; arithmetic is in doubles.

        Sentences of equal length may come as one array (B, n+1, n+1), which needs no loop over sentences.
        """
        if isinstance(scores, str) or not hasattr(scores, "__len__"):
            raise InputError(f"scores: found {scores!r}, expected a list of arrays, one per sentence")
        if not len(scores):
            raise InputError("scores: found no sentence, expected at least one")
        if isinstance(scores, np.ndarray) and scores.ndim == 3 and scores.shape[1] == scores.shape[2] > 1:
            cube = np.ascontiguousarray(floats(scores, "scores"))
            count, side, _ = cube.shape
            offsets = np.arange(count, dtype=np.int64) * (side * side)
            batch = cls(cube.reshape(-1), offsets, np.full(count, side - 1, np.int32))
        else:
            batch = cls.of_checked([_check_shape(matrix, "scores", s) for s, matrix in enumerate(scores)])
        # One pass over the whole batch; only a batch that fails looks for the sentence.
        if not batch.flat.max() <= LARGEST_SCORE:
            for s, matrix in enumerate(batch.matrices()):
                _check_values(matrix, f"scores[{s}]")
        return batch

    @classmethod
    def of_checked(cls, matrices: Sequence[Floats], spans: Sequence[Sequence[Span]] = ()) -> ArcMatrices:
        """Lay out checked matrices, with the spans of each sentence that must be subtrees."""
        ends, starts = span_arrays(spans)
        # One sentence needs no concatenation, which would copy its scores.
        if len(matrices) == 1:
            lengths, sizes = np.array([len(matrices[0]) - 1], np.int32), np.zeros(1, np.int64)
            return cls(matrices[0].ravel(), sizes, lengths, ends, starts)
        sizes = np.array([matrix.size for matrix in matrices], np.int64)
        lengths = np.array([len(matrix) - 1 for matrix in matrices], np.int32)
        flat = np.concatenate([matrix.ravel() for matrix in matrices])
        return cls(flat, np.cumsum(sizes) - sizes, lengths, ends, starts)

    @classmethod
    def of_flat(
        cls, flat: Floats, lengths: npt.NDArray[np.int32], spans: Sequence[Sequence[Span]] = ()
    ) -> ArcMatrices:
        """Wrap matrices that are already laid out."""
        # int64 before squaring: (n+1)² of a long sentence leaves the range of int32.
        sizes = (lengths.astype(np.int64) + 1) ** 2
        return cls(flat, np.cumsum(sizes) - sizes, lengths, *span_arrays(spans))

    def __len__(self) -> int:
        return len(self.lengths)

    @cached_property
    def head_starts(self) -> npt.NDArray[np.int64]:
        """Offsets of each sentence's n+1 heads in a flat array, shape (B+1,)."""
        starts = np.zeros(len(self.lengths) + 1, np.int64)
        np.cumsum(self.lengths.astype(np.int64) + 1, out=starts[1:])
        return starts

    def matrices(self, flat: npt.NDArray[Any] | None = None) -> Iterator[npt.NDArray[Any]]:
        """Yield the matrix of each sentence as a view into ``flat`` (default: the scores)."""
        values = self.flat if flat is None else flat
        for offset, n in zip(self.offsets.tolist(), self.lengths.tolist(), strict=True):
            side = n + 1
            yield values[offset : offset + side * side].reshape(side, side)

    def heads(self, flat: Heads, k: int = 1) -> Iterator[Heads]:
        """Yield the heads of each sentence, shape (k, n+1), as views into a flat array."""
        for start, end in zip(self.head_starts[:-1].tolist(), self.head_starts[1:].tolist(), strict=True):
            yield flat[k * start : k * end].reshape(k, end - start)

    def k_best(
        self, flat: Heads, values: Floats, counts: npt.NDArray[np.int32]
    ) -> tuple[list[Heads], list[Floats]]:
        """Split the output of a k-best kernel by sentence: heads, shape (K, n+1), and scores, (K,)."""
        self.require_trees(np.where(counts > 0, 0.0, -np.inf))
        tree_counts = counts.tolist()
        rows = self.heads(flat, values.shape[1])
        return (
            [heads[:count] for heads, count in zip(rows, tree_counts, strict=True)],
            [scores[:count] for scores, count in zip(values, tree_counts, strict=True)],
        )

    def require_trees(self, values: Floats) -> None:
        """Raise ``NoTreeError`` if a value is -inf: the sentence has no tree of the class."""
        require_trees(values, self.lengths, self.flat)


def require_trees(
    values: Floats, lengths: npt.NDArray[np.int32], scores: npt.ArrayLike = MINUS_INFINITY
) -> None:
    """Raise ``NoTreeError`` if the value of a sentence is -inf.

    ``scores`` of the batch help to explain why.
    """
    if not len(values) or values.min() > -np.inf:
        return
    sentence = int(np.argmin(values))
    where = f" (sentence {sentence} of the batch)" if len(lengths) > 1 else ""
    reason = _why(np.asarray(scores))
    raise NoTreeError(
        f"scores: no tree of this class exists over the {lengths[sentence]} words{where}: {reason}"
    )


def _why(scores: Floats) -> str:
    # A finite score of -1e308 may be meant as a mask, so the message says which mask works.
    if ((scores < -LARGEST_SCORE) & (scores > MINUS_INFINITY)).any():
        lowest = f"{-LARGEST_SCORE:g}"
        return f"scores below {lowest} add up to -inf; forbid arcs with -inf, or with scores of {lowest}"
    return "too many arcs are forbidden (-inf)"


def span_arrays(spans: Sequence[Sequence[Span]]) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Return ``span_ends`` and ``span_starts`` of ``ArcMatrices``; both are empty if there is no span."""
    if not any(spans):
        return _NO_ENDS, _NO_STARTS
    ends = np.array([end for pairs in spans for pair in pairs for end in pair], np.int32)
    return ends, np.concatenate([[0], np.cumsum([len(pairs) for pairs in spans])]).astype(np.int64)


def as_matrix(scores: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return scores for a native call on one sentence that checks them itself, and returns nan on failure."""
    # The quick way in: the kernel returns nan for a bad score, so good scores are never scanned here.
    if isinstance(scores, np.ndarray) and scores.dtype is _FLOAT64 and scores.ndim == 2:
        return scores
    return check_scores(scores, "scores")


def why_no_value(scores: npt.ArrayLike) -> Exception:
    """Return the error to raise if such a call returned nan or -inf; raises ``InputError`` for bad scores."""
    matrix = check_scores(scores, "scores")
    return NoTreeError(
        f"scores: no tree of this class exists over the {len(matrix) - 1} words: {_why(matrix)}"
    )


def check_scores(scores: npt.ArrayLike, name: str) -> Floats:
    """Return ``scores`` as float64 (n+1, n+1), n >= 1; raise if a score that is read is NaN or too large."""
    matrix = _check_shape(scores, name)
    # `not <=` rather than `>`: NaN fails every comparison and must be caught too.
    if not matrix.max() <= LARGEST_SCORE:
        _check_values(matrix, name)
    return matrix


def _check_shape(scores: npt.ArrayLike, name: str, sentence: int | None = None) -> Floats:
    if isinstance(scores, np.ndarray) and scores.dtype is _FLOAT64:
        matrix = np.ascontiguousarray(scores)
    else:
        matrix = np.ascontiguousarray(floats(scores, name if sentence is None else f"{name}[{sentence}]"))
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or len(matrix) < 2:
        where = name if sentence is None else f"{name}[{sentence}]"
        raise InputError(f"{where}: found shape {matrix.shape}, expected (n+1, n+1) for n >= 1 words")
    return matrix


def _check_values(matrix: Floats, name: str) -> None:
    """Raise if a score that is read (not in column 0 or on the diagonal) is NaN or too large."""
    wrong = ~(matrix <= LARGEST_SCORE)
    # Column 0 and the diagonal are not arcs: callers may leave anything there, NaN included.
    wrong[:, 0] = False
    np.fill_diagonal(wrong, False)
    if wrong.any():
        h, m = (int(i) for i in np.argwhere(wrong)[0])
        raise InputError(
            f"{name}: found {matrix[h, m]} for the arc {h} → {m}, "
            f"expected a number up to {LARGEST_SCORE:g}, or -inf"
        )
