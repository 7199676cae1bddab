"""Compare two systems on the same gold data: score differences, significance, sentences that differ."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from arcwise.errors import InputError
from arcwise.evaluation.attachment import per_sentence
from arcwise.evaluation.significance import (
    Interval,
    WinLoss,
    mcnemar,
    paired_bootstrap,
    permutation_test,
    sign_test,
)
from arcwise.evaluation.soundness import Soundness, soundness
from arcwise.evaluation.verdicts import Options, Punctuation, Subtypes, Verdicts
from arcwise.evaluation.words import Codebook, Flags, WordColumns
from arcwise.treebanks import Treebank


@dataclass(frozen=True)
class ScoreDifference:
    """A score of both systems, the difference B - A with its 95 % bootstrap interval, and three tests."""

    metric: str
    a: float
    b: float
    interval: Interval
    permutation_p: float
    sign: WinLoss
    """Over sentences."""
    mcnemar: WinLoss
    """Over words."""

    @property
    def difference(self) -> float:
        """B - A."""
        return self.b - self.a

    def to_json(self) -> dict[str, Any]:
        """All fields."""
        return {**asdict(self), "difference": self.difference}


@dataclass(frozen=True)
class DifferingSentence:
    """A sentence that one system parses better, with the numbers of correct heads and arcs."""

    number: int
    """From 1."""
    sent_id: str | None
    text: str
    words: int
    a_heads: int
    b_heads: int
    a_arcs: int
    b_arcs: int

    def to_json(self) -> dict[str, Any]:
        """All fields."""
        return asdict(self)


@dataclass(frozen=True)
class Comparison:
    """The result of ``compare``. ``to_json()`` is the output of ``arcwise compare --json``."""

    files: tuple[Soundness, Soundness, Soundness]
    """Gold, A, B."""
    options: Options
    samples: int
    seed: int
    sentences: int
    words: int
    differences: tuple[ScoreDifference, ...]
    worst: tuple[DifferingSentence, ...]

    def to_json(self) -> dict[str, Any]:
        """All fields."""
        gold, a, b = self.files
        return {
            "gold": gold.to_json(),
            "a": a.to_json(),
            "b": b.to_json(),
            "options": self.options.to_json(),
            "samples": self.samples,
            "seed": self.seed,
            "sentences": self.sentences,
            "words": self.words,
            "differences": {row.metric: row.to_json() for row in self.differences},
            "worst": [row.to_json() for row in self.worst],
        }


def compare(
    gold: Treebank,
    a: Treebank,
    b: Treebank,
    *,
    punctuation: Punctuation = "count",
    subtypes: Subtypes = "cut",
    samples: int = 10_000,
    seed: int = 0,
    worst: int = 10,
) -> Comparison:
    """Compare systems ``a`` and ``b`` on the scored words of ``gold``; words missing in a system are errors.

    ``worst``: the number of sentences to list, those whose numbers of correct arcs differ most.

    >>> row = "{}\\t{}\\t_\\t_\\t_\\t_\\t{}\\t{}\\t_\\t_\\n"
    >>> gold = row.format(1, "Birds", 2, "nsubj") + row.format(2, "sing", 0, "root") + "\\n"
    >>> a = Treebank.from_string(gold.replace("nsubj", "obj"))
    >>> result = compare(Treebank.from_string(gold), a, Treebank.from_string(gold))
    >>> [(row.metric, row.difference, row.permutation_p) for row in result.differences]
    [('UAS', 0.0, 1.0), ('LAS', 0.5, 1.0), ('label accuracy', 0.5, 1.0)]
    """
    if samples < 1:
        raise InputError(f"samples: found {samples}, expected at least 1")
    if worst < 0:
        raise InputError(f"worst: found {worst}, expected 0 or more")
    options = Options(punctuation, subtypes)
    words = WordColumns(gold, Codebook())
    verdicts_a, verdicts_b = Verdicts.of(words, a, options), Verdicts.of(words, b, options)
    scored = verdicts_a.scored
    if not scored.any():
        raise InputError(f"{gold.source}: there is no word to score")
    pairs = {
        "UAS": (verdicts_a.head_right, verdicts_b.head_right),
        "LAS": (verdicts_a.arc_right, verdicts_b.arc_right),
        "label accuracy": (verdicts_a.label_right, verdicts_b.label_right),
    }
    return Comparison(
        files=(soundness(gold), soundness(a), soundness(b)),
        options=options,
        samples=samples,
        seed=seed,
        sentences=len(gold),
        words=int(scored.sum()),
        differences=tuple(
            _difference(metric, words, scored, *pair, samples=samples, seed=seed)
            for metric, pair in pairs.items()
        ),
        worst=_worst(words, scored, pairs, worst),
    )


def _difference(
    metric: str, gold: WordColumns, scored: Flags, a_right: Flags, b_right: Flags, *, samples: int, seed: int
) -> ScoreDifference:
    count = len(gold.treebank)
    words = per_sentence(scored, gold.sentence, count)
    a, b = (per_sentence(scored & right, gold.sentence, count) for right in (a_right, b_right))
    return ScoreDifference(
        metric,
        a=int(a.sum()) / int(words.sum()),
        b=int(b.sum()) / int(words.sum()),
        interval=paired_bootstrap(a, b, words, samples=samples, seed=seed),
        permutation_p=permutation_test(a, b),
        sign=sign_test(a, b),
        mcnemar=mcnemar(a_right[scored], b_right[scored]),
    )


def _worst(
    gold: WordColumns, scored: Flags, pairs: dict[str, tuple[Flags, Flags]], count: int
) -> tuple[DifferingSentence, ...]:
    sentences = len(gold.treebank)
    words = per_sentence(scored, gold.sentence, sentences)
    heads = [per_sentence(scored & right, gold.sentence, sentences) for right in pairs["UAS"]]
    arcs = [per_sentence(scored & right, gold.sentence, sentences) for right in pairs["LAS"]]
    by_heads, by_arcs = np.abs(heads[0] - heads[1]), np.abs(arcs[0] - arcs[1])
    # The last key is the primary one: by arcs, then by heads, then in order of the file.
    order = np.lexsort([np.arange(sentences), -by_heads, -by_arcs])
    return tuple(
        DifferingSentence(
            number=s + 1,
            sent_id=gold.treebank[s].sent_id,
            text=gold.treebank[s].text,
            words=int(words[s]),
            a_heads=int(heads[0][s]),
            b_heads=int(heads[1][s]),
            a_arcs=int(arcs[0][s]),
            b_arcs=int(arcs[1][s]),
        )
        for s in order[:count].tolist()
        if by_arcs[s] or by_heads[s]
    )
