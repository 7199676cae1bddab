"""The trainers of the graph-based parser, each over any of the four tree classes.

| name | what it does | paper |
|---|---|---|
| perceptron | averaged perceptron | Collins 2002 |
| mira | margins against the k best trees, Hildreth's algorithm, averaged | McDonald et al. 2005, 2.3 |
| mira-factored | one margin per wrong head of each word | McDonald et al. 2005, 2.3 |
| log-linear | conditional likelihood, SGD or AdaGrad | Koo et al. 2007, 4 |
| log-linear-batch | conditional likelihood with constant C, L-BFGS or conjugate gradient | Koo et al. 2007, 4.1 |
| eg | max-margin by exponentiated gradient | Koo et al. 2007, figure 2 |
| latent | conditional likelihood with clusters of arcs summed out | Smith & Smith 2007, 5 |
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import MissingExtraError
from arcwise.graph.config import GraphConfig
from arcwise.learning.training import Advance, EpochTrainer

CHUNK = 500
"""Sentences between two signs of life; the prior of log-linear models is applied as often."""

_UPDATES = {"perceptron": 0, "mira": 1, "mira-factored": 2}
_NOISE = 0.01


def make_trainer(
    config: GraphConfig, space: native.ArcSpace, data: native.ArcData, *, threads: int
) -> EpochTrainer:
    """The trainer that the configuration names."""
    if config.trainer in _UPDATES:
        return MarginTrainer(config, space, data)
    if config.trainer == "log-linear-batch":
        return BatchTrainer(config, space, data, threads=threads)
    if config.trainer == "eg":
        return ExponentiatedGradientTrainer(config, space, data)
    return LikelihoodTrainer(config, space, data)


def _chunks(order: npt.NDArray[np.int64], advance: Advance) -> Iterator[npt.NDArray[np.int64]]:
    for start in range(0, len(order), CHUNK):
        chunk = order[start : start + CHUNK]
        yield chunk
        advance(len(chunk))


class MarginTrainer:
    """Averaged perceptron, k-best MIRA and factored MIRA."""

    finished = False

    def __init__(self, config: GraphConfig, space: native.ArcSpace, data: native.ArcData) -> None:
        self._data = data
        self._average = config.average
        self._native = native.MarginTrainer(
            space,
            data,
            update=_UPDATES[config.trainer],
            projective=config.projective,
            single_root=config.single_root,
            k=config.k,
            C=config.effective_C,
            loss_augmented=config.loss_augmented,
            minimum_risk=config.minimum_risk,
            dropout=config.effective_dropout,
            seed=config.seed,
        )

    def epoch(self, number: int, order: npt.NDArray[np.int64], advance: Advance) -> dict[str, float]:
        """One update per sentence."""
        reports = [self._native.run(self._data, chunk, number) for chunk in _chunks(order, advance)]
        loss, updates, skipped = np.sum(reports, axis=0)
        return {"loss": loss, "updates": updates} | ({"left out": skipped} if skipped else {})

    @property
    def weights(self) -> npt.NDArray[np.float32]:
        """The averaged weights."""
        return self._native.averaged if self._average else self._native.weights


class LikelihoodTrainer:
    """Log-linear models by SGD or AdaGrad, with or without latent clusters."""

    finished = False

    def __init__(self, config: GraphConfig, space: native.ArcSpace, data: native.ArcData) -> None:
        self._data = data
        self._config = config
        self._native = native.LikelihoodTrainer(
            space,
            data,
            projective=config.projective,
            single_root=config.single_root,
            adagrad=config.optimizer == "adagrad",
            prior=config.prior,
            floor=1e-4,
            noise=_NOISE if config.trainer == "latent" and config.clusters > 1 else 0.0,
            dropout=config.effective_dropout,
            seed=config.seed,
        )

    def epoch(self, number: int, order: npt.NDArray[np.int64], advance: Advance) -> dict[str, float]:
        """One step per sentence."""
        rate = self._config.effective_rate
        reports = [self._native.run(self._data, chunk, number, rate) for chunk in _chunks(order, advance)]
        likelihood, skipped = np.sum(reports, axis=0)
        return {"loss": -likelihood} | ({"left out": skipped} if skipped else {})

    @property
    def weights(self) -> npt.NDArray[np.float32]:
        """The averaged weights."""
        return self._native.averaged if self._config.average else self._native.weights


class BatchTrainer:
    """Koo et al. 2007, equation 6: minimises L(w) = C Σ -log P(y|x; w) + |w|²/2 by L-BFGS or conjugate gradient.

    An epoch is a few iterations of the solver, started again from where the last one ended.
    """

    ITERATIONS = 10

    def __init__(
        self, config: GraphConfig, space: native.ArcSpace, data: native.ArcData, *, threads: int = 1
    ) -> None:
        self._config, self._space, self._data, self._threads = config, space, data, threads
        self._x = np.zeros(space.cells)
        self._finished = False
        self.objective_value = np.inf

    @property
    def finished(self) -> bool:
        """Whether the solver has converged."""
        return self._finished

    def objective(self, x: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        """L(w) and its gradient."""
        C = self._config.effective_C
        loss, gradient = native.likelihood_objective(
            self._space,
            self._data,
            projective=self._config.projective,
            single_root=self._config.single_root,
            weights=x,
            threads=self._threads,
        )
        return C * loss + 0.5 * float(x @ x), C * gradient + x

    def epoch(self, number: int, order: npt.NDArray[np.int64], advance: Advance) -> dict[str, float]:
        """Some iterations of the solver."""
        try:
            from scipy import optimize
        except ImportError as error:
            raise MissingExtraError("scipy", "train") from error
        options = {"maxiter": self.ITERATIONS} | ({"maxcor": 6} if self._config.solver == "l-bfgs" else {})
        method = {"l-bfgs": "L-BFGS-B", "cg": "CG"}[self._config.solver]
        minimize: Any = optimize.minimize
        result = minimize(self.objective, self._x, jac=True, method=method, options=options)
        advance(len(order))
        self._finished = bool(result.success)
        self._x = result.x
        self.objective_value = float(result.fun)
        return {"L(w)": self.objective_value, "|gradient|": float(np.abs(result.jac).max())}

    @property
    def weights(self) -> npt.NDArray[np.float32]:
        """The present point, as float32."""
        return self._x.astype(np.float32)


class ExponentiatedGradientTrainer:
    """Koo et al. 2007, figure 2. Each sentence has a step η of its own, 1/C at the start, that makes the dual rise."""

    def __init__(self, config: GraphConfig, space: native.ArcSpace, data: native.ArcData) -> None:
        self._data = data
        self._native = native.DualTrainer(
            space,
            data,
            projective=config.projective,
            single_root=config.single_root,
            C=config.effective_C,
            beta=config.beta,
        )
        self.gap = np.inf

    @property
    def finished(self) -> bool:
        """Whether primal and dual have met."""
        return bool(self.gap < 1e-4)

    def epoch(self, number: int, order: npt.NDArray[np.int64], advance: Advance) -> dict[str, float]:
        """One pass of updates; primal, dual and the gap between them (a share of the primal)."""
        costs = sum(self._native.run(self._data, chunk) for chunk in _chunks(order, advance))
        dual, primal = self._native.dual(costs), self._native.primal()
        self.gap = (primal - dual) / max(abs(primal), 1e-12)
        return {"primal": primal, "dual": dual, "gap": self.gap, "eta": self._native.mean_step}

    @property
    def weights(self) -> npt.NDArray[np.float32]:
        """The present point, as float32."""
        return self._native.weights.astype(np.float32)
