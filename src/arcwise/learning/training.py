"""The training loop that all trained models share: epochs, scores on the development data, the best weights kept."""

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
"""What an epoch is judged by: heads and labels as ``GoldTrees`` counts them."""

COUNTING = "punctuation counted, label subtypes cut"
"""How scores on development data are counted while training, and by ``arcwise evaluate`` unless told otherwise."""


class EpochTrainer(Protocol):
    """What the loop asks of a trainer."""

    def epoch(self, number: int, order: npt.NDArray[np.int64], advance: Advance) -> dict[str, float]:
        """One pass over the sentences in this order; numbers worth telling (``loss`` first), by name."""
        ...

    @property
    def weights(self) -> Weights:
        """The weights as they would be used for parsing now."""
        ...

    @property
    def finished(self) -> bool:
        """Whether more epochs would change nothing."""
        ...


class Checkpoint(Protocol):
    """Where a training that may be killed keeps how far it is."""

    def load(self) -> tuple[int, Best] | None:
        """The last epoch that was finished, and the best so far, the trainer being what it was then; None: there is nothing to go on from."""
        ...

    def save(self, epoch: int, best: Best) -> None:
        """Keep both, and the state of the trainer."""
        ...


@dataclass
class Best:
    """The best weights so far, and how they came about."""

    weights: Weights | None = None
    epoch: int = 0
    score: DevScore | None = None
    history: list[dict[str, float]] = field(default_factory=list)
    interrupted: bool = False


def training_report(
    train: Treebank, dev: Treebank | Folds | None, notes: Sequence[str], best: Best
) -> dict[str, Any]:
    """What the model file tells of its training; nothing in it depends on the machine or the hour."""
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
    """Train, after each epoch score the weights on development data, and return the best ones.

    Without ``evaluate`` the last weights are the best. Ctrl-C ends training and keeps the best so far; before the first epoch is over
    there is nothing to keep, and ``KeyboardInterrupt`` goes on to the caller. The order of sentences is drawn from ``seed`` alone. ``last_only``: weights are asked for once, at the end, and Ctrl-C keeps nothing.
    ``checkpoint``: written after each epoch; training goes on from it if there is one, to the same result.
    """
    done, best = (None if checkpoint is None else checkpoint.load()) or (0, Best())
    if done:
        progress.say(f"going on after epoch {done}")
    if evaluate is not None:
        progress.say(f"scores on the development data: {COUNTING}, as in 'arcwise evaluate'")
    random = np.random.default_rng(seed)
    try:
        for number in range(1, epochs + 1):
            order = random.permutation(sentences).astype(np.int64)
            if number <= done:
                continue
            if patience and done - best.epoch >= patience:
                break
            started = time.monotonic()
            with progress.epoch(number, epochs, sentences) as advance:
                numbers = trainer.epoch(number, order, advance)
            seconds = time.monotonic() - started
            _keep(best, trainer, number, numbers, evaluate, last_only=last_only)
            progress.say(_line(number, epochs, numbers, best, sentences / max(seconds, 1e-9)))
            if checkpoint is not None:
                checkpoint.save(number, best)
            if trainer.finished or (patience and number - best.epoch >= patience):
                break
    except KeyboardInterrupt:
        if best.weights is None:
            progress.say("stopped before the first epoch was over: nothing is learned yet, nothing is kept")
            raise
        best.interrupted = True
        progress.say(f"stopped; keeping the weights of epoch {best.epoch}")
    if best.weights is None:
        best.weights = trainer.weights
    return best


@contextmanager
def interruptible(best: Best, progress: Progress) -> Iterator[None]:
    """Work on trained weights that may be left out (choosing a decoder, fitting temperatures): Ctrl-C ends it and loses nothing."""
    try:
        yield
    except KeyboardInterrupt:
        best.interrupted = True
        progress.say("stopped after the last epoch; what was trained is kept")


def _keep(
    best: Best,
    trainer: EpochTrainer,
    number: int,
    numbers: dict[str, float],
    evaluate: Callable[[Weights], DevScore] | None,
    *,
    last_only: bool,
) -> None:
    weights = None if last_only else trainer.weights
    score = evaluate(weights) if evaluate and weights is not None else None
    best.history.append(
        {"epoch": number, **numbers, **({"dev_uas": score.uas, "dev_las": score.las} if score else {})}
    )
    if score is None or best.score is None or score.las > best.score.las:
        best.weights, best.epoch, best.score = weights, number, score


def _line(number: int, epochs: int, numbers: dict[str, float], best: Best, speed: float) -> str:
    told = "  ".join(f"{name} {value:,.5g}" for name, value in numbers.items())
    last = best.history[-1]
    dev = (
        f"  dev UAS {100 * last['dev_uas']:.2f} LAS {100 * last['dev_las']:.2f}" if "dev_las" in last else ""
    )
    mark = " *" if dev and best.epoch == number else ""
    return f"epoch {number}/{epochs}  {told}{dev}{mark}  {speed:,.0f} sentences/s"
