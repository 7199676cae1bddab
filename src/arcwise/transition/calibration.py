"""The temperature of a transition-based parser: what makes shares of the beam's mass agree with how often heads are right."""

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
"""Temperatures tried first; then some between the neighbours of the best one."""
FINER = 5
_LEAST = 1e-3


def fit_beam_temperature(
    held_out: Sequence[tuple[TransitionModel, Treebank]], threads: int
) -> tuple[float, float]:
    """The temperature at which the heads found, right or wrong, are most probable as right or wrong ones, over all treebanks together;
    and the calibration error of heads that is left.

    A gold head may be in no derivation of the beam: so, other than for the graph-based parser, what counts is whether the
    head that was found is right, Σ log P(head) over right ones and log (1 - P(head)) over wrong ones.
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
        known = np.asarray(bank.heads) >= 0
        said = np.clip(np.asarray(parses.probabilities.head, np.float64)[known], _LEAST, 1 - _LEAST)
        right = (parses.heads == bank.heads)[known]
        losses.append(-np.log(np.where(right, said, 1 - said)))
    return float(np.concatenate(losses).mean())
