"""Cross-validation: train without each fold, choose the epoch by held-out scores."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np

from arcwise.engine import Engine
from arcwise.evaluation.attachment import UasLas
from arcwise.learning.folds import Folds
from arcwise.learning.progress import Progress
from arcwise.treebanks import Treebank

if TYPE_CHECKING:
    from typing import Self


class FoldedData(Protocol):
    """Training data beyond the treebank (a teacher's), from which the sentences of a fold can be removed."""

    def without_fold(self, count: int, fold: int) -> Self:
        """The data without fold ``fold`` of ``count``."""
        ...


D = TypeVar("D", bound=FoldedData)
R = TypeVar("R")


@dataclass(frozen=True)
class FoldTask(Generic[D]):
    """The data that the parser of one fold is trained and scored on; can be pickled."""

    train: Treebank
    """The other folds."""
    held_out: Treebank
    distilled: D | None = None
    seen: Treebank | None = None
    """The other folds with the tags that the parser sees, if these are not the gold tags."""


def fold_tasks(
    folds: Folds, train: Treebank, distilled: D | None = None, *, seen: Treebank | None = None
) -> list[FoldTask[D]]:
    """One task per fold; ``seen`` is the training data with predicted tags."""
    gold, visible = folds.split(train), folds.split(train if seen is None else seen)
    return [
        FoldTask(
            others,
            held_out,
            None if distilled is None else distilled.without_fold(folds.count, fold),
            None if seen is None else seen_others,
        )
        # The held-out fold has the tags that the parser sees, as when it parses new text.
        for fold, ((others, _), (seen_others, held_out)) in enumerate(zip(gold, visible, strict=True))
    ]


@dataclass(frozen=True)
class FoldScores:
    """The held-out scores of one fold's training, by epoch."""

    words: int
    """Held-out words whose heads are known."""
    epochs: tuple[UasLas, ...]

    @classmethod
    def of(
        cls, held_out: Treebank, history: Sequence[Mapping[str, float]], *, interrupted: bool
    ) -> FoldScores:
        """The scores in the history of a training; raises ``KeyboardInterrupt`` if it was interrupted.

        Nothing has been trained on all the data yet, so there is nothing to keep.
        """
        if interrupted:
            raise KeyboardInterrupt
        scores = tuple(UasLas(epoch["dev_uas"], epoch["dev_las"]) for epoch in history)
        return cls(int((np.asarray(held_out.heads) >= 0).sum()), scores)


@dataclass(frozen=True)
class CrossValidation(Generic[R]):
    """The chosen epoch, the pooled scores of all epochs, and the result of each fold."""

    folds: Folds
    epoch: int
    scores: list[UasLas]
    results: list[R]

    @property
    def score(self) -> UasLas:
        """The pooled score of the chosen epoch."""
        return self.scores[self.epoch - 1]

    @property
    def report(self) -> dict[str, Any]:
        """The development scores, as the report of a training has them."""
        return {"dev": str(self.folds), "dev_uas": self.score.uas, "dev_las": self.score.las}

    @property
    def history(self) -> list[dict[str, float]]:
        """The pooled scores by epoch, as the report of a training has them."""
        return [{"epoch": e, "uas": s.uas, "las": s.las} for e, s in enumerate(self.scores, start=1)]


def cross_validate(
    folds: Folds,
    tasks: Sequence[FoldTask[D]],
    train_fold: Callable[[FoldTask[D]], tuple[R, FoldScores]],
    *,
    engine: Engine,
    progress: Progress,
) -> CrossValidation[R]:
    """Run ``train_fold`` for every fold, and choose the epoch with the best held-out LAS."""
    trained = engine.map(train_fold, tasks)
    results, scores = [], []
    for number, task in enumerate(tasks, start=1):
        sizes = f"{len(task.train)} sentences, scored on {len(task.held_out)}"
        # Said before the result is awaited, so that the line appears while the fold trains.
        progress.say(f"fold {number} of {folds.count}: {sizes}")
        result, fold_scores = next(trained)
        results.append(result)
        scores.append(fold_scores)
    epoch, by_epoch = best_epoch(scores)
    progress.say(f"held-out LAS by epoch: {'  '.join(f'{100 * score.las:.2f}' for score in by_epoch)}")
    progress.say(f"epoch {epoch} is best: {folds} {by_epoch[epoch - 1]}")
    return CrossValidation(folds, epoch, by_epoch, results)


def pooled(words: Sequence[int], scores: Sequence[UasLas]) -> UasLas:
    """The score over all folds, weighted by their words."""
    # Folds differ in length; a mean of means would give short folds too much weight.
    weights = np.asarray(words, np.float64)
    uas, las = (np.average([getattr(s, name) for s in scores], weights=weights) for name in ("uas", "las"))
    return UasLas(float(uas), float(las))


def best_epoch(folds: Sequence[FoldScores]) -> tuple[int, list[UasLas]]:
    """The epoch (from 1) with the best pooled LAS, and the pooled scores of all epochs.

    A training that stopped early counts with its last score.
    """
    words = [fold.words for fold in folds]
    last = max(len(fold.epochs) for fold in folds)
    scores = [pooled(words, [f.epochs[min(e, len(f.epochs) - 1)] for f in folds]) for e in range(last)]
    return int(np.argmax([score.las for score in scores])) + 1, scores
