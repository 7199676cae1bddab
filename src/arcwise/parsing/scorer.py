"""``Scorer``: what turns a treebank into scores. Everything after that is the same for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError, ModelError
from arcwise.inference import Scores, TreeClass
from arcwise.inference.arc_matrices import Span, span_arrays
from arcwise.learning.model_file import Packed, Precision
from arcwise.parsing.parses import Codes
from arcwise.treebanks import Sentence, Treebank


@runtime_checkable
class Scorer(Protocol):
    """Scores every arc of every sentence. A parser is a scorer and a way to decode."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that arcs may have; empty for a parser without labels."""
        ...

    def scores(
        self, treebank: Treebank, *, trees: TreeClass, required: Codes | None = None, threads: int = 1
    ) -> Scores:
        """The scores of every sentence. A scorer may leave arcs out, but not so many that a sentence has no tree of the class
        ``trees`` around the ``required`` heads (flat over all words, -1 where free)."""
        ...

    def pack(self, precision: Precision = "float32") -> Packed:
        """Everything that the scorer consists of."""
        ...


@runtime_checkable
class FusedScorer(Scorer, Protocol):
    """A scorer that also decodes, sentence by sentence, so that scores need not be kept: the same trees, faster."""

    def decoded(
        self,
        treebank: Treebank,
        settings: native.DecodeSettings,
        *,
        required: Codes | None,
        gold: bool,
        threads: int,
    ) -> native.ParseResult:
        """``scores(…).batch.decode(…)``; ``gold``: also the probabilities of the treebank's own heads and labels."""
        ...

    def k_best_decoded(
        self,
        treebank: Treebank,
        settings: native.DecodeSettings,
        *,
        k: int,
        required: Codes | None,
        threads: int,
    ) -> native.KBestResult:
        """``scores(…).batch.k_best(…)``."""
        ...


@dataclass(frozen=True)
class FunctionScorer:
    """A plain function as a scorer: from a sentence to an array (n+1, n+1), or with L labels (L, n+1, n+1).

    >>> def near(sentence):
    ...     words = np.arange(len(sentence) + 1)
    ...     return -np.abs(words[:, None] - words).astype(float)
    >>> FunctionScorer(near).labels
    ()
    """

    function: Callable[[Sentence], npt.ArrayLike]
    labels: tuple[str, ...] = ()

    def scores(
        self, treebank: Treebank, *, trees: TreeClass, required: Codes | None = None, threads: int = 1
    ) -> Scores:
        """The function of every sentence."""
        matrices = [np.asarray(self.function(sentence), np.float64) for sentence in treebank]
        for sentence, matrix in zip(treebank, matrices, strict=True):
            if matrix.shape[-1:] != (len(sentence) + 1,):
                raise InputError(
                    f"scores of a sentence of {len(sentence)} words: found shape {matrix.shape}, "
                    f"expected (…, {len(sentence) + 1}, {len(sentence) + 1})"
                )
        return Scores.dense(matrices, self.labels)

    def pack(self, precision: Precision = "float32") -> Packed:
        """A function is code, and model files hold none."""
        raise ModelError("a parser whose scorer is a Python function cannot be saved as a model file")


def label_codes(treebank: Treebank, labels: Sequence[str]) -> Codes:
    """The number of each word's label (DEPREL) among ``labels``, -1 where it is none of them."""
    known = {label: code for code, label in enumerate(labels)}
    return np.array([known.get(label, -1) for label in treebank.column("deprel")], np.int32)


def decode_scores(
    scores: Scores,
    settings: native.DecodeSettings,
    *,
    gold: tuple[Codes, Codes] | None = None,
    spans: Sequence[Sequence[Span]] = (),
    threads: int = 1,
) -> native.ParseResult:
    """The trees of a batch of scores, by the one decoder; ``gold``: heads and labels whose probabilities are wanted too;
    ``spans``: those of each sentence that must be subtrees."""
    heads, labels = gold if gold is not None else (None, None)
    ends, starts = span_arrays(spans)
    found: Any = scores.batch.decode(
        settings, asked_heads=heads, asked_labels=labels, span_ends=ends, span_starts=starts, threads=threads
    )
    return found  # type: ignore[no-any-return]
