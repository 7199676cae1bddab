"""Sentences as tensors: network inputs and training targets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from arcwise.distillation.tensor_targets import TensorTargets
from arcwise.neural.batch import Batch
from arcwise.neural.inputs import ROOT
from arcwise.treebanks import Treebank

Ints = npt.NDArray[np.int64]
Codes = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float32]
_BUCKET_BATCHES = 100
"""Batches sorted by length together, so that sentences of a batch have similar lengths."""
_MAX_SCORES = 40_000_000
"""Maximum number of label scores of all arcs in a batch, to bound memory."""


class RowEncoder(Protocol):
    """Encodes words as rows: ``Inputs`` (rows of embedding tables) or ``WordPieces`` (piece IDs)."""

    rows_on_cpu: ClassVar[bool]
    """Whether the network reads the rows on the CPU, where it arranges them."""

    def rows(self, treebank: Treebank) -> Codes:
        """Return the rows, shape (words, ·)."""
        ...


@dataclass(frozen=True)
class Data:
    """Sentences with a root before their words: rows (P, ·), heads, labels and tags (P,), -1 if unknown."""

    rows: Tensor
    heads: Tensor
    labels: Tensor
    tags: tuple[Tensor, ...]
    starts: Ints
    lengths: Ints
    complete: bool
    """Whether every word has a head."""
    heads_with_labels: bool
    """Whether every labelled word has a head."""
    soft_targets: TensorTargets | None = None
    """A teacher's trees."""
    soft_tags: tuple[tuple[Tensor, Tensor], ...] = ()
    """A teacher's tags: of each tag the values (P, k), -1 for none, and their weights in the loss (P, k)."""

    @classmethod
    def of(
        cls,
        treebank: Treebank,
        inputs: RowEncoder,
        heads: Codes,
        labels: Codes,
        tags: Sequence[Codes],
        device: str,
        soft_targets: TensorTargets | None = None,
        soft_tags: Sequence[tuple[Codes, Floats]] = (),
    ) -> Data:
        """Encode a treebank; ``heads``, ``labels``, ``tags`` and ``soft_tags`` are flat over its words."""
        lengths = treebank.sentence_lengths.astype(np.int64)
        starts = np.concatenate([[0], np.cumsum(lengths + 1)])
        is_word = np.ones(int(starts[-1]), np.bool_)
        is_word[starts[:-1]] = False
        word_rows = inputs.rows(treebank)
        rows = np.full((len(is_word), word_rows.shape[1]), ROOT, np.int64)  # torch indexes with int64
        rows[is_word] = word_rows

        def with_roots(values: Codes | Floats, kind: type = np.int64) -> Tensor:
            out = np.full((len(is_word), *values.shape[1:]), -1, kind)
            out[is_word] = values
            return torch.from_numpy(out).to(device)

        return cls(
            torch.from_numpy(rows).to("cpu" if inputs.rows_on_cpu else device),
            with_roots(heads),
            with_roots(labels),
            tuple(with_roots(codes) for codes in tags),
            starts,
            lengths,
            bool((heads >= 0).all()),
            bool((heads[labels >= 0] >= 0).all()),
            soft_targets,
            tuple(
                # Half the memory of int64 and float32: a million words have twenty tags.
                (with_roots(codes, np.int32), with_roots(weights, np.float32).clamp(min=0).half())
                for codes, weights in soft_tags
            ),
        )

    @property
    def device(self) -> torch.device:
        """Device of the tensors."""
        return self.heads.device

    def batch(self, sentences: Ints) -> Batch:
        """Pack some sentences into a batch."""
        return Batch.of(sentences, self.starts, self.lengths, self.device)

    @cached_property
    def joint_tags(self) -> Tensor:
        """The tags of all positions, (P, tags)."""
        return torch.stack(self.tags, 1)

    @cached_property
    def joint_soft_tags(self) -> tuple[Tensor, Tensor, Tensor] | None:
        """The teacher's tags in a row: values (P, K), weights (P, K) and the tag of each column, (K,)."""
        if not self.soft_tags:
            return None
        widths = torch.tensor([codes.shape[1] for codes, _ in self.soft_tags])
        return (
            torch.cat([codes for codes, _ in self.soft_tags], 1),
            torch.cat([weights for _, weights in self.soft_tags], 1),
            torch.arange(len(widths)).repeat_interleave(widths).to(self.device),
        )

    def rows_of(self, batch: Batch) -> Tensor:
        """The rows of the batch's positions, (N, ·)."""
        if self.rows.is_cuda:
            return self.rows[batch.positions]
        return self.rows[torch.from_numpy(batch.positions_on_cpu)]

    def batches(self, words: int, order: Ints | None = None, *, states: int = 1) -> Iterator[Ints]:
        """Group sentences of similar length into batches of about ``words`` words.

        ``order``: shuffled order of the sentences; by default they are sorted by length. ``states``: label
        scores per arc, to bound the memory of long sentences.
        """
        if order is None:
            yield from self._cut(np.argsort(self.lengths, kind="stable"), words, states)
            return
        mean = max(int(self.lengths.mean()), 1) if len(self.lengths) else 1
        stretch = max(words // mean, 1) * _BUCKET_BATCHES
        batches = []
        for first in range(0, len(order), stretch):
            bucket = order[first : first + stretch]
            by_length = bucket[np.argsort(self.lengths[bucket], kind="stable")]
            batches += list(self._cut(by_length, words, states))
        # Seeded by the shuffled order, so that resuming an epoch needs no further random state.
        random = np.random.default_rng(order[:1])
        for place in random.permutation(len(batches)):
            yield batches[place]

    def _cut(self, sentences: Ints, words: int, states: int) -> Iterator[Ints]:
        sentences = sentences[self.lengths[sentences] > 0]
        first = 0
        while first < len(sentences):
            lengths = self.lengths[sentences[first:]]
            widest = np.maximum.accumulate(lengths + 1)
            count = np.arange(1, len(lengths) + 1)
            fits = (np.cumsum(lengths) <= words) & (count * widest * widest * states <= _MAX_SCORES)
            # A sentence that exceeds the limits alone still gets a batch.
            taken = max(int(np.argmin(fits)) if not fits.all() else len(lengths), 1)
            yield sentences[first : first + taken]
            first += taken
