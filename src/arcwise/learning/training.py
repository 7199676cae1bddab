"""The training loop of all models: epochs, development scores, early stopping, checkpoints."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from arcwise.evaluation.attachment import UasLas
from arcwise.learning.folds import Folds, data_name
from arcwise.learning.progress import Progress
from arcwise.treebanks import Treebank

Weights = npt.NDArray[Any]
Advance = Callable[[int], None]


DevScore = UasLas
"""The score of an epoch on development data, as ``GoldTrees`` counts."""

COUNTING = "punctuation counted, label subtypes cut"
"""Scoring options of development scores in training, the defaults of ``arcwise evaluate``."""


class EpochTrainer(Protocol):
    """The interface of a trainer."""

    def epoch(self, number: int, order: npt.NDArray[np.int64], advance: Advance) -> dict[str, float]:
        """One pass over the sentences in this order; returns metrics to log (``loss`` first)."""
        ...

    @property
    def weights(self) -> Weights:
        """The current weights for parsing (averaged, if the trainer averages)."""
        ...

    @property
    def finished(self) -> bool:
        """Whether training has converged."""
        ...


class Checkpoint(Protocol):
    """Storage for the state of a resumable training."""

    def load(self) -> tuple[int, Best] | None:
        """Restore the trainer; returns the last epoch and the best so far, None if there is nothing."""
        ...

    def save(self, epoch: int, best: Best) -> None:
        """Store both, and the state of the trainer."""
        ...


@dataclass
class Best:
    """The best weights so far, and the history of training."""

    weights: Weights | None = None
    epoch: int = 0
    score: DevScore | None = None
    history: list[dict[str, float]] = field(default_factory=list)
    interrupted: bool = False


def training_report(
    train: Treebank, dev: Treebank | Folds | None, notes: Sequence[str], best: Best
) -> dict[str, Any]:
    """The report in a model file; independent of machine and time, so files are reproducible."""
    return {
        "train": data_name(train),
        "train_sentences": len(train),
        "train_words": train.word_count,
        "dev": data_name(dev) if isinstance(dev, Treebank) else None if dev is None else str(dev),
        "dev_uas": None if best.score is None else best.score.uas,
        "dev_las": None if best.score is None else best.score.las,
        "dev_counting": None if best.score is None else COUNTING,
        "epoch": best.epoch,
        "interrupted": best.interrupted,
        "history": best.history,
        "notes": list(notes),
    }


def fit(
    trainer: EpochTrainer,
    sentences: int,
    *,
    epochs: int,
    patience: int,
    seed: int,
    evaluate: Callable[[Weights], DevScore] | None,
    progress: Progress,
    last_only: bool = False,
    checkpoint: Checkpoint | None = None,
) -> Best:
    """Train, evaluate the weights after each epoch, and return the best ones.

    Without ``evaluate`` the last weights are the best. Ctrl-C stops training and keeps the best so far;
    before the end of the first epoch there is nothing to keep, and ``KeyboardInterrupt`` propagates. The
    order of sentences depends only on ``seed``. ``last_only``: read the weights only once, at the end;
    Ctrl-C then keeps nothing. ``checkpoint``: written after each epoch; training resumes from it, with the
    same result.
    """
    done, best = (None if checkpoint is None else checkpoint.load()) or (0, Best())
    if done:
        progress.say(f"resuming after epoch {done}")
    if evaluate is not None:
        progress.say(f"scores on the development data: {COUNTING}, as in 'arcwise evaluate'")
    random = np.random.default_rng(seed)
    try:
        for number in range(1, epochs + 1):
            # Drawn for skipped epochs as well, so that a resumed training sees the same orders.
            order = random.permutation(sentences).astype(np.int64)
            if number <= done:
                continue
            # A checkpoint may have been written just before patience ended the training.
            if patience and done - best.epoch >= patience:
                break
            started = time.monotonic()
            with progress.epoch(number, epochs, sentences) as advance:
                metrics = trainer.epoch(number, order, advance)
            seconds = time.monotonic() - started
            _keep(best, trainer, number, metrics, evaluate, last_only=last_only)
            progress.say(_line(number, epochs, metrics, best, sentences / max(seconds, 1e-9)))
            # After the best weights are kept: a resumed training must know them.
            if checkpoint is not None:
                checkpoint.save(number, best)
            if trainer.finished or (patience and number - best.epoch >= patience):
                break
    except KeyboardInterrupt:
        if best.weights is None:
            progress.say("stopped before the end of the first epoch: there is nothing to keep")
            raise
        best.interrupted = True
        progress.say(f"stopped; keeping the weights of epoch {best.epoch}")
    if best.weights is None:
        best.weights = trainer.weights
    return best


def starts_by_likelihood(epoch: int, epochs: int) -> bool:
    """Return whether this epoch of minimum-risk training maximises the likelihood: the first half does.

    The risk is not convex, and flat where the model is certain: from random weights training gets stuck.
    """
    return 2 * epoch <= epochs


@contextmanager
def interruptible(best: Best, progress: Progress) -> Iterator[None]:
    """Optional work after training, which Ctrl-C skips without losing the weights."""
    try:
        yield
    except KeyboardInterrupt:
        best.interrupted = True
        progress.say("stopped after the last epoch; the trained weights are kept")


def _keep(
    best: Best,
    trainer: EpochTrainer,
    number: int,
    metrics: dict[str, float],
    evaluate: Callable[[Weights], DevScore] | None,
    *,
    last_only: bool,
) -> None:
    weights = None if last_only else trainer.weights
    score = evaluate(weights) if evaluate and weights is not None else None
    best.history.append(
        {"epoch": number, **metrics, **({"dev_uas": score.uas, "dev_las": score.las} if score else {})}
    )
    # Strictly better: of equal epochs the earlier one is kept.
    if score is None or best.score is None or score.las > best.score.las:
        best.weights, best.epoch, best.score = weights, number, score


def _line(number: int, epochs: int, metrics: dict[str, float], best: Best, speed: float) -> str:
    values = "  ".join(f"{name} {value:,.5g}" for name, value in metrics.items())
    last = best.history[-1]
    dev = (
        f"  dev UAS {100 * last['dev_uas']:.2f} LAS {100 * last['dev_las']:.2f}" if "dev_las" in last else ""
    )
    mark = " *" if dev and best.epoch == number else ""
    return f"epoch {number}/{epochs}  {values}{dev}{mark}  {speed:,.0f} sentences/s"
