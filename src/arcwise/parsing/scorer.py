"""``Scorer``: computes the arc scores of a treebank; decoding is shared by all scorers."""

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
from arcwise.inference.labels import codes_of
from arcwise.learning.model_file import Packed, Precision
from arcwise.parsing.parses import Codes
from arcwise.treebanks import Sentence, Treebank


@runtime_checkable
class Scorer(Protocol):
    """Scores every arc of every sentence."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of arcs; empty for an unlabelled parser."""
        ...

    def scores(
        self, treebank: Treebank, *, trees: TreeClass, required: Codes | None = None, threads: int = 1
    ) -> Scores:
        """The scores of every sentence.

        A scorer may prune arcs, but must leave every sentence a tree of the class ``trees`` that has the
        ``required`` heads (flat over all words, -1 where free).
        """
        ...

    def pack(self, precision: Precision = "float32") -> Packed:
        """The scorer as plain values."""
        ...


@runtime_checkable
class FusedScorer(Scorer, Protocol):
    """A scorer that also decodes, sentence by sentence, without storing scores: the same trees, faster."""

    def decoded(
        self,
        treebank: Treebank,
        settings: native.DecodeSettings,
        *,
        required: Codes | None,
        gold: bool,
        legal: native.LegalSettings | None = None,
        threads: int,
    ) -> native.ParseResult:
        """Same as ``scores(…).batch.decode(…)``, and ``native.legal_parses`` if there are rules.

        ``gold``: also score the treebank's own arcs.
        """
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
        """Same as ``scores(…).batch.k_best(…)``."""
        ...


@dataclass(frozen=True)
class FunctionScorer:
    """A function as a scorer: from a sentence to an array (n+1, n+1), or with L labels (L, n+1, n+1).

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
        """The scores of every sentence."""
        # float64, as the kernels read it; a float32 network's scores convert exactly.
        matrices = [np.asarray(self.function(sentence), np.float64) for sentence in treebank]
        for sentence, matrix in zip(treebank, matrices, strict=True):
            if matrix.shape[-1:] != (len(sentence) + 1,):
                raise InputError(
                    f"scores of a sentence of {len(sentence)} words: found shape {matrix.shape}, "
                    f"expected (…, {len(sentence) + 1}, {len(sentence) + 1})"
                )
        return Scores.dense(matrices, self.labels)

    def pack(self, precision: Precision = "float32") -> Packed:
        """Raise ``ModelError``: model files contain no code."""
        raise ModelError("a parser whose scorer is a Python function cannot be saved as a model file")


def label_codes(treebank: Treebank, labels: Sequence[str]) -> Codes:
    """The index of each word's label (DEPREL) in ``labels``, -1 if it is not among them."""
    return codes_of(treebank.column("deprel"), labels)


def decode_scores(
    scores: Scores,
    settings: native.DecodeSettings,
    *,
    gold: tuple[Codes, Codes] | None = None,
    spans: Sequence[Sequence[Span]] = (),
    threads: int = 1,
) -> native.ParseResult:
    """Decode a batch of scores.

    ``gold``: heads and labels whose probabilities to compute, too. ``spans``: spans of each sentence that
    must be subtrees.
    """
    heads, labels = gold if gold is not None else (None, None)
    ends, starts = span_arrays(spans)
    result: Any = scores.batch.decode(
        settings, asked_heads=heads, asked_labels=labels, span_ends=ends, span_starts=starts, threads=threads
    )
    return result  # type: ignore[no-any-return]
