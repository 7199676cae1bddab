"""Fit the temperature of confidences, which are shares of the beam's probability mass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from arcwise.parsing.calibration import head_calibration_error
from arcwise.parsing.parser import ParseOptions
from arcwise.parsing.parses import Parses
from arcwise.transition.model import TransitionModel
from arcwise.treebanks import Treebank

GRID = np.geomspace(0.05, 500.0, 13)
"""Coarse grid of temperatures; a finer one between the neighbours of the best follows."""
FINER = 5
# A wrong head of confidence 1 would cost an infinite loss.
_LEAST = 1e-3


def fit_beam_temperature(
    held_out: Sequence[tuple[TransitionModel, Treebank]], threads: int
) -> tuple[float, float]:
    """Fit the temperature; returns it and the remaining calibration error of heads.

    A gold head may be in no derivation of the beam, so unlike for the graph-based parser the objective is the
    binary log-likelihood of the predicted heads: log P(head) for correct ones, log (1 - P(head)) for wrong
    ones.
    """

    def at(temperature: float) -> list[tuple[Parses, Treebank]]:
        return [(_parsed(model, bank, temperature, threads), bank) for model, bank in held_out]

    losses = [_loss(at(float(t))) for t in GRID]
    best = int(np.argmin(losses))
    low, high = GRID[max(best - 1, 0)], GRID[min(best + 1, len(GRID) - 1)]
    finer = np.geomspace(low, high, FINER + 2)
    chosen = float(finer[np.argmin([_loss(at(float(t))) for t in finer])])
    return chosen, head_calibration_error(at(chosen))


def _parsed(model: TransitionModel, bank: Treebank, temperature: float, threads: int) -> Parses:
    from arcwise.transition.parser import TransitionParser

    parser = TransitionParser(replace(model, temperature=temperature))
    return parser.parses(bank, options=ParseOptions(confidence=True), threads=threads)


def _loss(parsed: Sequence[tuple[Parses, Treebank]]) -> float:
    losses: list[npt.NDArray[np.float64]] = []
    for parses, bank in parsed:
        assert parses.probabilities is not None
        has_head = np.asarray(bank.heads) >= 0
        confidence = np.asarray(parses.probabilities.head, np.float64)[has_head]
        confidence = np.clip(confidence, _LEAST, 1 - _LEAST)
        correct = (parses.heads == bank.heads)[has_head]
        losses.append(-np.log(np.where(correct, confidence, 1 - confidence)))
    return float(np.concatenate(losses).mean())
