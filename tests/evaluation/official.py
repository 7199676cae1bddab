"""The official scorer of the CoNLL 2018 shared task, as an oracle."""

from __future__ import annotations

import io

from udtools import udeval

from arcwise import Treebank
from arcwise.evaluation import evaluate

Figures = dict[str, tuple[float, float, float, float | None]]


def accepts(treebank: Treebank) -> bool:
    """Whether the official scorer reads this treebank at all."""
    try:
        udeval.load_conllu(io.StringIO(treebank.text), treebank.source, {})
    except (udeval.UDError, ValueError):
        return False
    return True


def official_figures(gold: Treebank, system: Treebank) -> Figures:
    """Precision, recall, F1 and aligned accuracy by metric."""
    sides = [udeval.load_conllu(io.StringIO(t.text), t.source, {}) for t in (gold, system)]
    scores = udeval.evaluate(*sides)
    return {
        name: (s.precision, s.recall, s.f1, s.aligned_accuracy)
        for name, s in scores.items()
        if name not in ("ELAS", "EULAS") or s.gold_total
    }


def our_figures(gold: Treebank, system: Treebank) -> Figures:
    """The same figures from arcwise."""
    scores = evaluate(gold, system).conll18.scores
    return {name: (s.precision, s.recall, s.f1, s.aligned_accuracy) for name, s in scores.items()}
