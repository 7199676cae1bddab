"""This checkout beside another one: the same work by both, in turn, and how much faster or slower this one is.

``python -m benchmarks.regression OTHER/.venv/bin/python [--only WORD] [--repeat N] [--starts M]``. Each operation runs in a process of either interpreter
that stays alive; they take turns, and the fastest of N turns counts, of M starts of both processes (where memory lies differs from start to start, and with it speed). Ratios above 1 mean that this checkout is faster. Treebanks by ARCWISE_TREEBANKS.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPEAT = 5
TURN = 0.05
"""Seconds that a turn takes at least: a fast operation is called several times."""


def operations(folder: Path, only: str) -> dict[str, Callable[[], Any]]:
    """Name → what is timed; made in the worker, by the public functions that both checkouts have."""
    import numpy as np

    import arcwise
    from arcwise import inference
    from arcwise.graph import GraphConfig, GraphParser
    from arcwise.transition import TransitionConfig, TransitionParser

    try:
        from arcwise.parsing import ParseOptions
    except ImportError:
        from arcwise.learning import ParseOptions  # type: ignore[attr-defined, no-redef]

    made: dict[str, Callable[[], Any]] = {}
    rng = np.random.default_rng(0)
    for n, count in ((10, 300), (25, 200), (100, 20)):
        scores = [rng.normal(0, 2, (n + 1, n + 1)) for _ in range(count)]
        for name in ("eisner_decode", "eisner_marginals", "spanning_tree_decode", "matrix_tree_marginals"):
            function = getattr(inference, name)
            made[f"inference: {name}, {n} words"] = lambda f=function, s=scores: [
                f(one, single_root=True) for one in s
            ]
        for name, options in (
            ("eisner_k_best_batch", {"k": 10}),
            ("spanning_tree_k_best_batch", {"k": 10}),
            ("eisner_sample_batch", {"count": 10, "seed": 1}),
            ("wilson_sample_batch", {"count": 10, "seed": 1}),
        ):
            function = getattr(inference, name)
            made[f"inference: {name}, {n} words"] = lambda f=function, s=scores, o=options: f(
                s, single_root=True, **o
            )
    plain = [rng.normal(0, 2, (26, 26)) for _ in range(100)]
    labelled = [rng.normal(0, 2, (40, 26, 26)) for _ in range(40)]
    labels = [f"label{i}" for i in range(40)]
    for method in ("best", "marginals", "minimum_risk"):
        made[f"inference: TreeDistribution.{method}"] = lambda m=method: _ask(
            inference.TreeDistribution(plain, projective=False, single_root=True), m
        )
        made[f"inference: TreeDistribution.{method}, 40 labels"] = lambda m=method: _ask(
            inference.TreeDistribution(labelled, projective=False, single_root=True, labels=labels), m
        )

    if only.startswith("inference"):
        return made
    bank = arcwise.Treebank.read(next(folder.glob("*train*")))
    train, dev = bank[:1500], arcwise.Treebank.read(next(folder.glob("*dev*")))[:1000]
    for trainer in ("mira", "perceptron", "log-linear", "latent", "eg", "log-linear-batch"):
        few = train[:300] if trainer in ("eg", "log-linear-batch", "latent") else train
        config = GraphConfig(trainer=trainer, epochs=1 if trainer == "log-linear-batch" else 2)
        made[f"training: {trainer}"] = lambda c=config, t=few: GraphParser.train(t, config=c)
    made["training: mira with development data"] = lambda: GraphParser.train(
        train[:800], dev[:300], config=GraphConfig(epochs=2)
    )
    moves = {
        "greedy": TransitionConfig(epochs=3),
        "beam 8": TransitionConfig(epochs=4, beam=8, warm_epochs=3),
    }
    for name, config in moves.items():
        made[f"training: transition, {name}"] = lambda c=config: TransitionParser.train(train, config=c)

    graph = GraphParser.train(train, dev[:200], config=GraphConfig(epochs=3))
    projective = GraphParser.train(train, config=GraphConfig(epochs=2, projective=True))
    latent = GraphParser.train(train[:300], config=GraphConfig(trainer="latent", epochs=1))
    for name, parser, options in (
        ("", graph, ParseOptions()),
        (" --confidence", graph, ParseOptions(confidence=True)),
        (" --decode mbr", graph, ParseOptions(decode="mbr")),
        (" --k-best 5", graph, ParseOptions(k_best=5)),
        (", projective", projective, ParseOptions()),
        (", latent, --confidence", latent, ParseOptions(confidence=True)),
    ):
        made[f"parsing: graph{name}"] = lambda p=parser, o=options: p.parse(dev, options=o)
    made["parsing: graph, distributions"] = lambda: [
        *(t.shape for t in graph.distributions(dev[:300]).label_marginals)
    ]
    transition = TransitionParser.train(train, config=TransitionConfig(epochs=2))
    for beam in (1, 8):
        made[f"parsing: transition, beam {beam}"] = lambda b=beam: transition.parse(
            dev, options=ParseOptions(beam=b)
        )
    nlp = arcwise.load("en")
    text = " ".join(sentence.text for sentence in dev)
    made["pipeline: one text"] = lambda: nlp(text)
    made["pipeline: 300 texts"] = lambda: [nlp(sentence.text) for sentence in dev[:300]]
    made["pipeline: parse words"] = lambda: nlp.parse(dev)
    model = Path(arcwise.__file__).parent
    (shipped,) = model.rglob("en.arcwise")
    made["pipeline: load"] = lambda: arcwise.load(str(shipped))
    return made


def _ask(trees: Any, method: str) -> Any:
    found = getattr(trees, method)
    return found() if callable(found) else found


def work(folder: Path, only: str) -> None:
    """The worker: reads names of operations, and answers with their seconds."""
    made = operations(folder, only)
    print(json.dumps(list(made)), flush=True)
    for line in sys.stdin:
        operation = made[json.loads(line)]
        started, calls = time.perf_counter(), 0
        while not calls or time.perf_counter() - started < TURN:
            operation()
            calls += 1
        print(json.dumps((time.perf_counter() - started) / calls), flush=True)


class Worker:
    """A process of one of the two checkouts."""

    def __init__(self, python: str, folder: Path, only: str) -> None:
        self._process = subprocess.Popen(
            [python, __file__, "--work", str(folder), "--only", only],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": ""},
        )
        self.names: list[str] = self._answer()

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise SystemExit("a worker has died")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()

    def seconds(self, name: str) -> float:
        """How long the operation takes now."""
        assert self._process.stdin is not None
        print(json.dumps(name), file=self._process.stdin, flush=True)
        return float(self._answer())


def main() -> None:
    """Compare, and print a line for each operation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "other", help="the Python of the other checkout's environment, or with --work a folder"
    )
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help="operations whose name has this in it")
    parser.add_argument("--repeat", type=int, default=REPEAT)
    parser.add_argument("--starts", type=int, default=1)
    given = parser.parse_args()
    if given.work:
        return work(Path(given.other), given.only)
    if "ARCWISE_TREEBANKS" not in os.environ:
        raise SystemExit("ARCWISE_TREEBANKS: not set, expected a folder of treebanks")
    folder = Path(os.environ["ARCWISE_TREEBANKS"]) / "English-EWT"
    before: dict[str, float] = {}
    now: dict[str, float] = {}
    for _ in range(given.starts):
        ours, other = (Worker(python, folder, given.only) for python in (sys.executable, given.other))
        for name in (n for n in ours.names if given.only in n):
            for _ in range(given.repeat):
                before[name] = min(before.get(name, float("inf")), other.seconds(name))
                now[name] = min(now.get(name, float("inf")), ours.seconds(name))
        ours.close()
        other.close()
    print(f"{'operation':58} {'other':>10} {'this':>10} {'ratio':>7}")
    for name in now:
        ratio = before[name] / now[name]
        print(f"{name:58} {before[name] * 1e3:9.2f}ms {now[name] * 1e3:9.2f}ms {ratio:7.2f}", flush=True)


if __name__ == "__main__":
    main()
