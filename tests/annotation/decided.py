"""Helpers of the annotation tests: partly annotated sentences, scorers made of numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from arcwise.parsing.scored import Decoding, ScoredParser, Temperatures
from arcwise.parsing.scorer import FunctionScorer
from arcwise.treebanks import Sentence, Treebank

LABELS = ("nsubj", "obj", "root")


def sentence_of(
    heads: Sequence[int], labels: Sequence[str] | None = None, misc: Mapping[int, str] | None = None
) -> Sentence:
    """A sentence of words w1, w2, …; head -1 is open."""
    labels = labels or ["_"] * len(heads)
    rows = [
        f"{m}\tw{m}\t_\tX\t_\t_\t{'_' if head < 0 else head}\t{label}\t_\t{(misc or {}).get(m, '_')}\n"
        for m, (head, label) in enumerate(zip(heads, labels, strict=True), 1)
    ]
    return Treebank("".join(rows).encode() + b"\n", strict=False)[0]


def open_sentence(n: int) -> Sentence:
    """Nothing is decided."""
    return sentence_of([-1] * n)


def scored_parser(
    n: int,
    *,
    seed: int = 0,
    labelled: bool = True,
    projective: bool = True,
    single_root: bool = True,
    temperatures: Temperatures = Temperatures(),
    decode: str = "map",
) -> ScoredParser:
    """A parser with the same random scores for every sentence of n words."""
    shape = (len(LABELS), n + 1, n + 1) if labelled else (n + 1, n + 1)
    scores = np.random.default_rng(seed).normal(size=shape) * 1.5
    scorer = FunctionScorer(lambda sentence: scores, LABELS if labelled else ())
    return ScoredParser(scorer, decoding=Decoding(decode, projective, single_root), temperatures=temperatures)


def scores_of(parser: ScoredParser) -> np.ndarray:
    """The scores of such a parser, in which its temperatures are not."""
    return np.asarray(parser.scorer.function(None))  # type: ignore[attr-defined]
