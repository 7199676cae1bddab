"""The trainers of the graph-based parser, each for all four tree classes; ``trainer_table`` lists them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Protocol

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.learning.batch_solvers import BatchSolver
from arcwise.learning.training import starts_by_likelihood

if TYPE_CHECKING:
    from arcwise.graph.config import GraphConfig
    from arcwise.learning.training import Advance

CHUNK = 500
"""Sentences per native call: between progress updates, and between applications of the log-linear prior."""

# Breaks the symmetry between latent clusters, which would otherwise learn the same weights.
_NOISE = 0.01


def _chunks(
    order: npt.NDArray[np.int64], advance: Advance, batch: int = 1
) -> Iterator[npt.NDArray[np.int64]]:
    """Chunks of the order; with batches, whole windows of sentences that are sorted by length together."""
    window = 1 if batch == 1 else native.BATCH_WINDOW * batch
    size = max(CHUNK // window, 1) * window
    for start in range(0, len(order), size):
        chunk = order[start : start + size]
        yield chunk
        advance(len(chunk))


def _left_out(sentences: int) -> dict[str, float]:
    """The number of skipped sentences, whose known heads fit no tree of the class."""
    return {"left out": float(sentences)} if sentences else {}


class _OnlineTrainer:
    """Base of trainers with an update per sentence, whose state can be exchanged (``MixableTrainer``)."""

    # Online updates have no convergence test: epochs or patience end the training.
    finished = False
    _native: native.MarginTrainer | native.LossTrainer

    @property
    def tables(self) -> list[npt.NDArray[np.float32]]:
        """Views of the weights, their running sums, and with AdaGrad the squared-gradient sums."""
        # Without AdaGrad the table of squared gradients is empty.
        return [table for table in self._native.tables if len(table)]

    @property
    def steps(self) -> float:
        """The number of the next step."""
        return self._native.steps

    @steps.setter
    def steps(self, steps: float) -> None:
        self._native.steps = steps


class MarginTrainer(_OnlineTrainer):
    """Averaged perceptron, k-best MIRA and factored MIRA."""

    _native: native.MarginTrainer

    def __init__(
        self,
        config: GraphConfig,
        table: native.ArcTable,
        data: native.ArcData,
        threads: int = 1,
        *,
        update: native.MarginUpdate,
    ) -> None:
        self._average, self._batch, self._threads = config.average, config.batch, threads
        self._native = native.MarginTrainer(
            table,
            data,
            update=update,
            projective=config.projective,
            single_root=config.single_root,
            k=config.k,
            C=config.effective_C,
            loss_augmented=config.loss_augmented,
            minimum_risk=config.minimum_risk,
            risk_augmented=config.risk_scores == "loss-augmented",
            dropout=config.effective_dropout,
            seed=config.seed,
        )

    def epoch(self, number: int, order: npt.NDArray[np.int64], advance: Advance) -> dict[str, float]:
        """One update per sentence; those of a batch are applied together."""
        reports = [
            self._native.run(chunk, number, self._batch, self._threads)
            for chunk in _chunks(order, advance, self._batch)
        ]
        metrics = {"loss": sum(r.loss for r in reports), "updates": float(sum(r.updates for r in reports))}
        return metrics | _left_out(sum(r.skipped for r in reports))

    @property
    def weights(self) -> npt.NDArray[np.float32]:
        """The averaged weights."""
        return self._native.averaged if self._average else self._native.weights


class LossTrainer(_OnlineTrainer):
    """A differentiable loss, by SGD or AdaGrad, with or without latent clusters."""

    _native: native.LossTrainer

    def __init__(
        self,
        config: GraphConfig,
        table: native.ArcTable,
        data: native.ArcData,
        *,
        loss: native.TreeLoss,
        noise: float = _NOISE,
    ) -> None:
        self._config, self._loss = config, loss
        self._native = native.LossTrainer(
            table,
            data,
            loss=loss,
            projective=config.projective,
            single_root=config.single_root,
            adagrad=config.optimizer == "adagrad",
            prior=config.prior,
            floor=1e-4,
            noise=noise if config.effective_clusters > 1 else 0.0,
            dropout=config.effective_dropout,
            seed=config.seed,
        )

    def epoch(self, number: int, order: npt.NDArray[np.int64], advance: Advance) -> dict[str, float]:
        """One step per sentence."""
        is_start = self._loss == native.TreeLoss.risk and starts_by_likelihood(number, self._config.epochs)
        self._native.loss = native.TreeLoss.likelihood if is_start else self._loss
        reports = [self._native.run(chunk, number, self.rate) for chunk in _chunks(order, advance)]
        return {"loss": sum(r.loss for r in reports)} | _left_out(sum(r.skipped for r in reports))

    @property
    def rate(self) -> float:
        """The learning rate of the next steps."""
        return self._config.effective_rate

    @property
    def weights(self) -> npt.NDArray[np.float32]:
        """The averaged weights."""
        return self._native.averaged if self._config.average else self._native.weights


class Objective(Protocol):
    """The loss of all sentences as a function of the weights of the features that occur in them."""

    @property
    def places(self) -> npt.NDArray[np.uint32]:
        """The cells of these features in the table."""
        ...

    @property
    def skipped(self) -> int:
        """Number of sentences skipped in the last evaluation."""
        ...

    def __call__(self, x: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        """The loss and its gradient at the weights ``x`` of the cells in ``places``."""
        ...


def likelihood_objective(
    config: GraphConfig,
    table: native.ArcTable,
    data: native.ArcData,
    *,
    threads: int,
    first: int = 0,
    last: int | None = None,
) -> native.LossObjective:
    """-Σ log P(y|x; w) over the sentences first..last-1 (default: all)."""
    return native.LossObjective(
        table,
        data,
        loss=native.TreeLoss.likelihood,
        projective=config.projective,
        single_root=config.single_root,
        threads=threads,
        first=first,
        last=last,
    )


class BatchTrainer:
    """Minimise C Σ -log P(y|x; w) + |w|²/2 by L-BFGS or CG (Koo et al. 2007, equation 6).

    An epoch is a few iterations of the solver, which continues where the last one ended. The solver sees only
    the weights of features that occur in the training data; all others stay 0.
    """

    ITERATIONS = 10

    def __init__(self, config: GraphConfig, cells: int, objective: Objective) -> None:
        self._C, self._cells, self._objective = config.effective_C, cells, objective
        # Kept: the native objective returns a copy each time.
        self.places = objective.places
        """The cells of the features that occur."""
        self._solver = BatchSolver(self.objective, len(self.places), config.solver)

    @property
    def finished(self) -> bool:
        """Whether the solver has converged."""
        return self._solver.finished

    @property
    def objective_value(self) -> float:
        """L(w) at the current weights."""
        return self._solver.value

    def objective(self, x: npt.NDArray[np.float64]) -> tuple[float, npt.NDArray[np.float64]]:
        """L(w) and its gradient for the weights of the features that occur (``places``)."""
        loss, gradient = self._objective(x)
        # In place: these vectors decide the memory of the training.
        gradient *= self._C
        gradient += x
        return self._C * loss + 0.5 * float(x @ x), gradient

    def epoch(self, number: int, order: npt.NDArray[np.int64], advance: Advance) -> dict[str, float]:
        """A few iterations of the solver."""
        self._solver.iterate(self.ITERATIONS)
        advance(len(order))
        metrics = {"L(w)": self.objective_value, "|gradient|": float(np.abs(self._solver.gradient).max())}
        return metrics | _left_out(self._objective.skipped)

    @property
    def weights(self) -> npt.NDArray[np.float32]:
        """The current weights, as float32."""
        weights = np.zeros(self._cells, np.float32)
        weights[self.places] = self._solver.x
        return weights


class ExponentiatedGradientTrainer:
    """Max-margin by exponentiated gradient (Koo et al. 2007, figure 2), or log-linear (Collins et al. 2008).

    Each sentence has its own step size η, initially 1/C, chosen so that the dual increases. Single trees
    mixed into the paper's distribution close the duality gap of max-margin training
    (``exponentiated_gradient.hpp``).
    """

    def __init__(
        self, config: GraphConfig, table: native.ArcTable, data: native.ArcData, *, log_linear: bool = False
    ) -> None:
        self._data = data
        self._tolerance = config.gap
        self._native = native.ExponentiatedGradientTrainer(
            table,
            data,
            projective=config.projective,
            single_root=config.single_root,
            C=config.effective_C,
            beta=config.beta,
            violators=0 if log_linear else config.violators,
            log_linear=log_linear,
        )
        self.gap = np.inf

    @property
    def finished(self) -> bool:
        """Whether the duality gap is below the tolerance."""
        return bool(self.gap <= self._tolerance)

    def epoch(self, number: int, order: npt.NDArray[np.int64], advance: Advance) -> dict[str, float]:
        """One step per sentence; reports primal, dual and their gap as a fraction of the primal."""
        for chunk in _chunks(order, advance):
            self._native.run(chunk)
        dual, primal = self._native.dual, self._native.primal()
        self.gap = (primal - dual) / max(primal, 1e-12)
        metrics = {"primal": primal, "dual": dual, "gap": self.gap, "eta": self._native.mean_step}
        return metrics | _left_out(self._native.skipped)

    @property
    def weights(self) -> npt.NDArray[np.float32]:
        """The current weights, as float32."""
        # The solver keeps doubles, since w must stay consistent with the duals; parsing needs only float32.
        return self._native.weights.astype(np.float32)
