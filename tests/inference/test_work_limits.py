"""Native work ends at the limit of its thread, inside one long sentence too."""

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from arcwise import native
from arcwise.inference import TreeDistribution, TreeDistributionBatch

LONG, LABELS = 150, ["a", "b"]
"""Longer than the words after which a kernel checks its limit."""

QUESTIONS: dict[str, Callable[[TreeDistribution], Any]] = {
    "best": lambda trees: trees.best(),
    "log_partition": lambda trees: trees.log_partition,
    "marginals": lambda trees: trees.marginals,
    "minimum_risk": lambda trees: trees.minimum_risk(),
}


def distribution(words: int, *, projective: bool, labels: list[str] | None = None) -> TreeDistribution:
    shape = (words + 1, words + 1) if labels is None else (len(labels), words + 1, words + 1)
    scores = np.random.default_rng(1).normal(size=shape)
    return TreeDistribution(scores, projective=projective, single_root=True, labels=labels)


def limit(*, reached: bool) -> native.WorkLimit:
    return native.WorkLimit(0.0 if reached else 1e9)


@pytest.mark.parametrize("projective", [False, True])
@pytest.mark.parametrize("question", QUESTIONS)
def test_a_question_about_a_long_sentence_ends_at_the_limit(question: str, projective: bool) -> None:
    if question == "best" and not projective:
        pytest.skip("the best spanning tree takes milliseconds and is not interrupted")
    ask = QUESTIONS[question]
    with limit(reached=True), pytest.raises(native.WorkInterrupted):
        ask(distribution(LONG, projective=projective))
    expected = ask(distribution(LONG, projective=projective))
    with limit(reached=False):
        again = ask(distribution(LONG, projective=projective))
    assert np.array_equal(np.asarray(getattr(again, "heads", again)), getattr(expected, "heads", expected))


@pytest.mark.parametrize("projective", [False, True])
def test_labels_of_a_long_sentence_end_at_the_limit(projective: bool) -> None:
    trees = distribution(LONG, projective=projective, labels=LABELS)
    assert trees.marginals is not None
    with limit(reached=True), pytest.raises(native.WorkInterrupted):
        _ = trees.label_marginals
    assert trees.label_marginals.shape == (2, LONG + 1, LONG + 1)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_batch_ends_at_the_limit_in_every_thread(threads: int) -> None:
    scores = [np.zeros((30, 30))] * 400
    batch = TreeDistributionBatch(scores, projective=False, single_root=True, threads=threads)
    with limit(reached=True), pytest.raises(native.WorkInterrupted):
        _ = batch.marginals
    assert len(batch.marginals) == 400


def test_another_thread_cancels() -> None:
    cancelled = native.WorkLimit(1e9)
    trees = distribution(LONG, projective=False)
    with cancelled:
        _ = trees.log_partition
        thread = threading.Thread(target=cancelled.cancel)
        thread.start()
        thread.join()
        assert cancelled.is_reached
        with pytest.raises(native.WorkInterrupted):
            _ = trees.marginals


def test_the_limit_of_a_thread_is_its_own_and_ends_with_its_scope() -> None:
    answers: list[float] = []

    def ask() -> None:
        answers.append(distribution(LONG, projective=True).log_partition)

    with limit(reached=True):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join()
        with limit(reached=False):
            ask()
        with pytest.raises(native.WorkInterrupted):
            ask()
    ask()
    assert len(answers) == 3
    assert len(set(answers)) == 1


@pytest.mark.parametrize("seconds", [float("inf"), -1.0, 0.0])
def test_any_number_of_seconds(seconds: float) -> None:
    assert native.WorkLimit(seconds).is_reached is (seconds <= 0)


def test_nan_seconds() -> None:
    with pytest.raises(ValueError, match="seconds"):
        native.WorkLimit(float("nan"))
