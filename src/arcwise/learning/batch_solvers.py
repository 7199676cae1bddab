"""Minimise a smooth convex function: L-BFGS and nonlinear conjugate gradient.

Written here for memory and passes, not for novelty: a solver is resumed between epochs with what it has
learned of the curvature, and L-BFGS keeps its corrections as float32, which is what decides the memory of a
training with millions of features (they only shape the direction; values, gradients and points are float64).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Function = Callable[[Floats], tuple[float, Floats]]
"""x → (value, gradient)."""

CORRECTIONS = 6
"""Pairs of differences that L-BFGS keeps (Nocedal & Wright, *Numerical Optimization*, suggest 3 to 20)."""
SMALL_GRADIENT, SMALL_CHANGE = 1e-5, 2.2e-9
"""The end: no component of the gradient is larger; or the value changed by less, relatively."""
_DECREASE = 1e-4
_TRIALS = 30


class BatchSolver:
    """A minimisation that can be resumed: ``iterate`` takes further iterations from the current ``x``."""

    def __init__(self, function: Function, size: int, method: Literal["l-bfgs", "cg"]) -> None:
        self._function = function
        # A step of conjugate gradient relies on an almost exact line search, one of L-BFGS does not.
        self._method, self._flatness = method, 0.9 if method == "l-bfgs" else 0.1
        self.x: Floats = np.zeros(size)
        self.value = np.inf
        self.gradient: Floats = np.zeros(0)
        self.evaluations = 0
        self.finished = False
        corrections = CORRECTIONS if method == "l-bfgs" else 0
        self._moves = np.zeros((corrections, size), np.float32)
        self._turns = np.zeros((corrections, size), np.float32)
        self._curvature = [0.0] * corrections
        """move · turn of each."""
        self._scale = 1.0
        """That of the last one over its turn · turn: the length of a first guess at the Newton step."""
        self._forget()

    def _forget(self) -> None:
        """Make the next direction that of steepest descent."""
        self._order: list[int] = []
        """Rows of the corrections in use, oldest first (L-BFGS)."""
        self._direction: Floats | None = None
        """The last direction, its slope at its start and the step taken along it (conjugate gradient)."""
        self._slope = self._step = self._share = 0.0

    def iterate(self, iterations: int) -> None:
        """Take at most ``iterations`` iterations; fewer if it converges."""
        if not len(self.gradient):
            self.value, self.gradient = self._evaluate(self.x)
        for _ in range(iterations):
            if not self.finished:
                self._iteration()

    def _evaluate(self, x: Floats) -> tuple[float, Floats]:
        self.evaluations += 1
        return self._function(x)

    def _iteration(self) -> None:
        if np.abs(self.gradient).max(initial=0.0) <= SMALL_GRADIENT:
            self.finished = True
            return
        fresh = not self._order and self._direction is None
        direction, step = self._conjugate() if self._method == "cg" else self._quasi_newton()
        before = self.value
        if not self._line_search(direction, step):
            # Rounding hides the descent; unless it was the steepest, another direction may still have one.
            self._forget()
            self.finished = fresh
            return
        change = before - self.value
        self.finished = change <= SMALL_CHANGE * max(abs(before), abs(self.value), 1.0)

    # ---- directions, each with the step to try first

    def _steepest(self) -> tuple[Floats, float]:
        return -self.gradient, 1 / float(np.linalg.norm(self.gradient))

    def _quasi_newton(self) -> tuple[Floats, float]:
        """The two-loop recursion (Nocedal & Wright, algorithm 7.4)."""
        if not self._order:
            return self._steepest()
        d = np.negative(self.gradient, dtype=np.float32, casting="same_kind")
        buffer = np.empty_like(d)
        shares: dict[int, float] = {}
        for row in reversed(self._order):
            shares[row] = float(self._moves[row] @ d) / self._curvature[row]
            d -= np.multiply(self._turns[row], np.float32(shares[row]), out=buffer)
        d *= np.float32(self._scale)
        for row in self._order:
            share = shares[row] - float(self._turns[row] @ d) / self._curvature[row]
            d += np.multiply(self._moves[row], np.float32(share), out=buffer)
        return d.astype(np.float64), 1.0

    def _conjugate(self) -> tuple[Floats, float]:
        """Polak & Ribière's direction, never with a negative share of the last one."""
        if self._direction is None:
            return self._steepest()
        d = self._share * self._direction - self.gradient
        slope = float(d @ self.gradient)
        if slope >= 0:
            return self._steepest()
        return d, self._step * self._slope / slope

    # ---- the line search

    def _line_search(self, direction: Floats, step: float) -> bool:
        """Move to a point with enough descent and a flat enough slope (the strong Wolfe conditions).

        False if there is none along the direction. In a convex function the minimum lies between the farthest
        point that still descends and the nearest that is too far.
        """
        slope = float(direction @ self.gradient)
        near, far = (0.0, self.value, slope), None
        for _ in range(_TRIALS if slope < 0 else 0):
            x = self.x + step * direction
            value, gradient = self._evaluate(x)
            trial = (step, value, float(gradient @ direction))
            too_high = not value <= self.value + _DECREASE * step * slope
            if not too_high and abs(trial[2]) <= -self._flatness * slope:
                self._accept(x, value, gradient)
                if self._method == "cg":
                    self._direction, self._slope, self._step = direction, slope, step
                return True
            if too_high or trial[2] > 0:
                far = trial
            else:
                near = trial
            step = 4 * step if far is None else _between(near, far)
        return False

    def _accept(self, x: Floats, value: float, gradient: Floats) -> None:
        if self._method == "cg":
            last = float(self.gradient @ self.gradient)
            self._share = max(float(gradient @ gradient - gradient @ self.gradient) / last, 0.0)
        else:
            self._add_correction(x, gradient)
        self.x, self.value, self.gradient = x, value, gradient

    def _add_correction(self, x: Floats, gradient: Floats) -> None:
        row = len(self._order) if len(self._order) < CORRECTIONS else self._order.pop(0)
        np.subtract(x, self.x, out=self._moves[row], casting="same_kind")
        np.subtract(gradient, self.gradient, out=self._turns[row], casting="same_kind")
        squared = float(self._turns[row] @ self._turns[row])
        self._curvature[row] = float(self._moves[row] @ self._turns[row])
        if self._curvature[row] > 1e-10 * squared:
            self._order.append(row)
            self._scale = self._curvature[row] / squared
        else:  # rounding: with it the next direction might not descend
            self._forget()


def _between(near: tuple[float, float, float], far: tuple[float, float, float]) -> float:
    """The minimum of the cubic through two points with their slopes, kept well inside them."""
    (a, fa, sa), (b, fb, sb) = near, far
    width = b - a
    t = a + width / 2
    if np.isfinite(fb) and np.isfinite(sb):
        d1 = sa + sb - 3 * (fb - fa) / width
        square = d1 * d1 - sa * sb
        if square >= 0:
            d2 = np.sqrt(square)
            bottom = sb - sa + 2 * d2
            if bottom != 0:
                t = float(b - width * (sb + d2 - d1) / bottom)
    return min(max(t, a + 0.1 * width), b - 0.1 * width)
