"""Several sentences at the same time: what a batch learns is put together as it is defined, by any number of
threads."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from arcwise import native
from arcwise.errors import OptionError
from arcwise.graph import GraphConfig, GraphParser
from arcwise.graph import trainers as graph_trainers
from arcwise.graph.trainers import MarginTrainer
from contracts.small_treebank import small_treebank
from graph.small_space import UPDATES, Small, margin_trainer, small, trainer_of, weights_of

EVERY = sorted(UPDATES)
ORDER = np.tile(np.array([3, 0, 5, 1, 7, 2, 6, 4, 4, 0, 6], np.int64), 4)
"""More than a window of batches of two."""
Floats = npt.NDArray[np.float64]


def change_of_one(case: Small, update: str, weights: Floats, sentence: int) -> Floats | None:
    """What a sentence alone changes in these weights; None if it has nothing to learn from."""
    trainer = margin_trainer(case, update=update, C=0.01)
    trainer.tables[0][:] = weights
    report = trainer.run(np.array([sentence], np.int64), 1)
    if report.skipped:
        return None
    change = weights_of(trainer) - np.float32(weights)
    return np.where(np.abs(change) > 1e-5 * np.abs(change).max(), change, 0)


def arranged(case: Small, order: npt.NDArray[np.int64], batch: int) -> list[npt.NDArray[np.int64]]:
    """The batches of an order: in each window the longest sentences together, and so on; the one with the
    earliest sentence first."""
    lengths = np.diff(case.treebank.sentence_words.astype(np.int64))
    found: list[npt.NDArray[np.int64]] = []
    size = native.BATCH_WINDOW * batch
    for start in range(0, len(order), size):
        window = order[start : start + size]
        places = sorted(range(len(window)), key=lambda i: -lengths[window[i]])
        batches = [places[i : i + batch] for i in range(0, len(places), batch)]
        batches.sort(key=lambda own: (len(own) < batch, min(own)))
        found += [window[own] for own in batches]
    return found


def slow(case: Small, update: str, batch: int) -> tuple[Floats, Floats]:
    """The weights after ``ORDER``, and their average over all steps: each change alone, their sum by the root
    of how many there are."""
    weights = np.zeros(case.table.cells)
    path = [weights]
    for sentences in arranged(case, ORDER, batch):
        found = [change_of_one(case, update, weights, s) for s in sentences]
        changes = np.array([change for change in found if change is not None])
        path += [weights] * (len(changes) - 1)
        weights = weights + changes.sum(axis=0) / np.sqrt(np.maximum(np.count_nonzero(changes, axis=0), 1))
        path.append(weights)
    return weights, np.mean(path, axis=0)


@pytest.mark.parametrize("update", EVERY)
@pytest.mark.parametrize("batch", [2, 4, 20])
def test_a_batch_changes_a_cell_by_the_sum_of_the_changes_over_the_root_of_their_number(
    update: str, batch: int
) -> None:
    case = small("whole")
    weights, average = slow(case, update, batch)
    trainer = margin_trainer(case, update=update, C=0.01)
    trainer.run(ORDER, 1, batch, 1)
    assert np.count_nonzero(weights) > 100
    assert weights_of(trainer) == pytest.approx(weights, rel=1e-6, abs=1e-6)
    assert np.asarray(trainer.averaged) == pytest.approx(average, rel=1e-6, abs=1e-6)
    assert trainer.steps == 1 + len(ORDER)


def test_a_sentence_that_fits_no_tree_makes_no_step_in_a_batch() -> None:
    case = small("partial", projective=True)
    plain, batched = margin_trainer(case), margin_trainer(case)
    order = np.arange(len(case.treebank), dtype=np.int64)
    alone, together = plain.run(order, 1), batched.run(order, 1, 4, 2)
    assert alone.skipped == together.skipped
    assert plain.steps == batched.steps == 1 + len(order) - alone.skipped


@pytest.mark.parametrize("update", EVERY)
def test_any_number_of_threads_gives_the_same_bits(update: str) -> None:
    case = small("whole")
    found = []
    for threads in (1, 2, 3, 16):
        trainer = margin_trainer(case, update=update, C=0.01)
        reports = [trainer.run(ORDER, epoch, 5, threads) for epoch in (1, 2, 3)]
        numbers = [(report.loss, report.updates, report.skipped) for report in reports]
        found.append((numbers, trainer.steps, *(table.tobytes() for table in trainer.tables)))
    assert all(one == found[0] for one in found)


def test_batches_of_one_are_plain_training() -> None:
    case = small("whole")
    plain, batched = margin_trainer(case), margin_trainer(case)
    plain.run(ORDER, 1)
    for sentence in ORDER:
        batched.run(np.array([sentence], np.int64), 1, 7, 2)
    assert weights_of(batched) == pytest.approx(weights_of(plain), abs=1e-7)


def test_an_epoch_is_cut_between_windows_of_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_trainers, "CHUNK", 5)
    case = small("whole", batch=3)
    whole = margin_trainer(case, C=case.config.effective_C)
    order = np.tile(ORDER, 3)
    whole.run(order, 1, 3, 1)
    cut = trainer_of(MarginTrainer, case)
    advanced: list[int] = []
    cut.epoch(1, order, advanced.append)
    assert advanced == [48, 48, 36]
    assert all((a == b).all() for a, b in zip(cut.tables, whole.tables, strict=True))


def test_a_parser_trained_in_batches_does_not_depend_on_threads() -> None:
    config = GraphConfig(epochs=2, arc_bits=12, row_bits=12, batch=4)
    one, three = (GraphParser.train(small_treebank(), config=config, threads=n) for n in (1, 3))
    assert (one.model.weights == three.model.weights).all()
    plain = GraphParser.train(small_treebank(), config=GraphConfig(epochs=2, arc_bits=12, row_bits=12))
    assert not np.array_equal(one.model.weights, plain.model.weights)


def test_a_trainer_without_batches_refuses_them() -> None:
    with pytest.raises(OptionError, match="log-linear ignores it"):
        GraphParser.train(small_treebank(), config=GraphConfig(trainer="log-linear", batch=4))
