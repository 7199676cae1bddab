"""Several Python threads share one parser, distribution or treebank and get what one thread gets.

On a Python without the GIL (3.14t) nothing else keeps the threads apart.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
import pytest

import arcwise
from arcwise.factors import FactoredTreeDistribution, HeadAutomaton
from arcwise.graph import GraphConfig
from arcwise.transition import TransitionConfig
from contracts.small_treebank import small_treebank

THREADS = 6
TEXT = "I saw the man with a telescope. Birds sing, don't they? The letter arrived yesterday."


def together(work: Callable[[], Any], rounds: int = 3) -> list[Any]:
    """The results of ``rounds`` calls in each of several threads that start at the same time."""
    start = threading.Barrier(THREADS)

    def run() -> list[Any]:
        start.wait()
        return [work() for _ in range(rounds)]

    with ThreadPoolExecutor(THREADS) as pool:
        futures = [pool.submit(run) for _ in range(THREADS)]
        return [result for future in futures for result in future.result()]


def distribution(projective: bool) -> arcwise.TreeDistribution:
    scores = np.random.default_rng(5).normal(size=(2, 13, 13))
    return arcwise.TreeDistribution(scores, projective=projective, single_root=True, labels=["a", "b"])


def factored() -> FactoredTreeDistribution:
    rule = HeadAutomaton.at_most_one(["a"], labels=["a", "b"], both_sides=True)
    scores = np.random.default_rng(6).normal(size=(2, 9, 9))
    labels = ["a", "b"]
    return FactoredTreeDistribution(scores, factors=[rule], labels=labels, projective=True, single_root=True)


def answers(trees: Any) -> tuple[Any, ...]:
    """Answers of a distribution, some of which it keeps once they are computed."""
    samples = [tree.heads.tolist() for tree in trees.sample(3, seed=2)]
    best = [tree.heads.tolist() for tree in trees.k_best_labelled(3)]
    return best, samples, trees.log_partition, trees.entropy(), trees.marginals.tolist()


@pytest.mark.parametrize(
    "new",
    [partial(distribution, True), partial(distribution, False), factored],
    ids=["eisner", "mtt", "factors"],
)
def test_threads_share_a_distribution(new: Callable[[], Any]) -> None:
    alone, shared = answers(new()), new()
    assert all(result == alone for result in together(lambda: answers(shared)))


def test_threads_share_a_pipeline() -> None:
    alone = arcwise.load("en")(TEXT).to_conllu()
    shared = arcwise.load("en")
    assert set(together(lambda: shared(TEXT).to_conllu())) == {alone}


def test_threads_load_pipelines() -> None:
    alone = arcwise.load("en-fast")(TEXT).to_conllu()
    assert set(together(lambda: arcwise.load("en-fast")(TEXT).to_conllu(), rounds=1)) == {alone}


@pytest.mark.parametrize(
    "train",
    [
        lambda treebank: arcwise.GraphParser.train(treebank, config=GraphConfig(epochs=1)),
        lambda treebank: arcwise.TransitionParser.train(treebank, config=TransitionConfig(epochs=1, beam=4)),
    ],
    ids=["graph", "transition"],
)
def test_threads_train_and_share_parsers(train: Callable[[arcwise.Treebank], Any]) -> None:
    treebank = small_treebank()
    alone = [tree.heads.tolist() for tree in train(treebank).parse(treebank)]
    shared = train(treebank)
    parsed = together(lambda: [tree.heads.tolist() for tree in shared.parse(treebank)])
    trained = together(lambda: [tree.heads.tolist() for tree in train(treebank).parse(treebank)], rounds=1)
    assert all(result == alone for result in (*parsed, *trained))


def test_threads_share_a_treebank() -> None:
    def read(treebank: arcwise.Treebank) -> list[Any]:
        return [(s.forms, s.upos, s.tree.heads.tolist(), s.tree.labels) for s in treebank]

    text = small_treebank().text
    alone, shared = read(arcwise.Treebank.from_string(text)), arcwise.Treebank.from_string(text)
    assert all(result == alone for result in together(lambda: read(shared)))


@pytest.mark.skipif(not sysconfig.get_config_var("Py_GIL_DISABLED"), reason="needs a Python without the GIL")
def test_the_native_module_does_not_turn_the_gil_on() -> None:
    program = "import arcwise.native, sys; print(sys._is_gil_enabled())"
    assert subprocess.check_output([sys.executable, "-W", "error", "-c", program], text=True) == "False\n"
