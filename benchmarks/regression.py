"""Compare the speed of this checkout with another one, operation by operation.

``python -m benchmarks.regression OTHER/.venv/bin/python [--only WORD] [--repeat N] [--starts M]``

One long-lived process per checkout runs the same operations; the two take turns, and the fastest of N turns
over M process starts counts. Restarting matters because memory layout, and with it speed, differs between
processes. Ratios above 1 mean that this checkout is faster. Set ARCWISE_TREEBANKS to the folder of treebanks.
"""

from __future__ import annotations

import argparse
import atexit
import http.client
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

REPEAT = 5
MIN_TURN_SECONDS = 0.05
"""Fast operations are repeated until a turn takes this long."""

Operations = dict[str, Callable[[], Any]]


# Everything below runs in the worker of either checkout, so it uses only names that both have.
def inference_operations() -> Operations:
    """Kernels and ``TreeDistribution`` on random scores."""
    import numpy as np

    from arcwise import inference

    operations: Operations = {}
    rng = np.random.default_rng(0)
    for n, count in ((10, 300), (25, 200), (100, 20)):
        scores = [rng.normal(0, 2, (n + 1, n + 1)) for _ in range(count)]
        for name in ("eisner_decode", "eisner_marginals", "spanning_tree_decode", "matrix_tree_marginals"):
            function = getattr(inference, name)
            operations[f"inference: {name}, {n} words"] = lambda f=function, s=scores: [
                f(matrix, single_root=True) for matrix in s
            ]
        for name, options in (
            ("eisner_k_best_batch", {"k": 10}),
            ("spanning_tree_k_best_batch", {"k": 10}),
            ("eisner_sample_batch", {"count": 10, "seed": 1}),
            ("wilson_sample_batch", {"count": 10, "seed": 1}),
        ):
            function = getattr(inference, name)
            operations[f"inference: {name}, {n} words"] = lambda f=function, s=scores, o=options: f(
                s, single_root=True, **o
            )
    plain = [rng.normal(0, 2, (26, 26)) for _ in range(100)]
    labelled = [rng.normal(0, 2, (40, 26, 26)) for _ in range(40)]
    labels = [f"label{i}" for i in range(40)]
    # A batch has a type of its own since 0.3; before, TreeDistribution took both.
    batch = getattr(inference, "TreeDistributionBatch", inference.TreeDistribution)
    for method in ("best", "marginals", "minimum_risk"):
        operations[f"inference: TreeDistribution.{method}"] = lambda m=method: _call(
            inference.TreeDistribution(plain[0], projective=False, single_root=True), m
        )
        operations[f"inference: TreeDistribution.{method}, batch"] = lambda m=method: _call(
            batch(plain, projective=False, single_root=True), m
        )
        operations[f"inference: TreeDistribution.{method}, batch, 40 labels"] = lambda m=method: _call(
            batch(labelled, projective=False, single_root=True, labels=labels), m
        )
    return operations


def _call(trees: Any, name: str) -> Any:
    attribute = getattr(trees, name)
    return attribute() if callable(attribute) else attribute


def training_operations(train: Any, dev: Any) -> Operations:
    """Trainers of the graph-based and the transition-based parser."""
    from arcwise.graph import GraphConfig, GraphParser
    from arcwise.transition import TransitionConfig, TransitionParser

    operations: Operations = {}
    for trainer in ("mira", "perceptron", "log-linear", "latent", "eg", "log-linear-batch"):
        few = train[:300] if trainer in ("eg", "log-linear-batch", "latent") else train
        config = GraphConfig(trainer=trainer, epochs=1 if trainer == "log-linear-batch" else 2)
        operations[f"training: {trainer}"] = lambda c=config, t=few: GraphParser.train(t, config=c)
    operations["training: mira with development data"] = lambda: GraphParser.train(
        train[:800], dev[:300], config=GraphConfig(epochs=2)
    )
    configs = {
        "greedy": TransitionConfig(epochs=3),
        "beam 8": TransitionConfig(epochs=4, beam=8, warm_epochs=3),
    }
    for name, config in configs.items():
        operations[f"training: transition, {name}"] = lambda c=config: TransitionParser.train(train, config=c)
    return operations


def parsing_operations(train: Any, dev: Any) -> Operations:
    """Parsing of tagged words."""
    from arcwise.graph import GraphConfig, GraphParser
    from arcwise.parsing import ParseOptions
    from arcwise.transition import TransitionConfig, TransitionParser

    operations: Operations = {}
    # Without development data, on which training decides how many weights to prune: two models that happen to
    # differ in that differ in speed, too.
    graph = GraphParser.train(train, config=GraphConfig(epochs=3))
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
        operations[f"parsing: graph{name}"] = lambda p=parser, o=options: p.parse(dev, options=o)
    operations["parsing: graph, distributions"] = lambda: [
        marginals.shape for marginals in graph.distributions(dev[:300]).label_marginals
    ]
    transition = TransitionParser.train(train, config=TransitionConfig(epochs=2))
    for beam in (1, 8):
        operations[f"parsing: transition, beam {beam}"] = lambda b=beam: transition.parse(
            dev, options=ParseOptions(beam=b)
        )
    return operations


def pipeline_operations(dev: Any) -> Operations:
    """Raw text to trees, in Python and by the command."""
    import arcwise

    nlp, fast = arcwise.load("en"), arcwise.load("en-fast")
    text = " ".join(sentence.text for sentence in dev)
    file = Path(tempfile.mkdtemp()) / "text.txt"
    file.write_text(text, "utf-8")
    (shipped,) = Path(arcwise.__file__).parent.rglob("en.arcwise")
    return {
        "pipeline: one text": lambda: nlp(text),
        "pipeline: one text, en-fast": lambda: fast(text),
        "pipeline: 300 texts": lambda: [nlp(sentence.text) for sentence in dev[:300]],
        "pipeline: parse words": lambda: nlp.parse(dev),
        "pipeline: load": lambda: arcwise.load(str(shipped)),
        "pipeline: arcwise parse, raw text": lambda: _run("parse", "--model", "en-fast", str(file)),
    }


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, "-m", "arcwise", *arguments], stdout=subprocess.DEVNULL, check=True)


def service_operations(dev: Any) -> Operations:
    """Requests to ``arcwise serve``, one after another on one connection."""
    host, _ = _start("serve", "--port", "0", "--model", "en-fast")
    connection = http.client.HTTPConnection(host)
    texts = [" ".join(sentence.text for sentence in dev[i : i + 5]) for i in range(0, 250, 5)]

    def post(path: str, body: dict[str, Any]) -> None:
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status

    return {
        "service: 50 paragraphs": lambda: [post("/v1/parse", {"text": text}) for text in texts],
        "service: 50 paragraphs, confidences": lambda: [
            post("/v1/parse", {"text": text, "confidence": True}) for text in texts
        ],
    }


def annotation_operations(dev: Any) -> Operations:
    """Edits through the API of ``arcwise annotate``, each answered with new suggestions."""
    file = Path(tempfile.mkdtemp()) / "mine.conllu"
    dev[:200].write(file)
    host, token = _start("annotate", str(file), "--no-browser", "--model", "en-fast")
    connection = http.client.HTTPConnection(host)
    headers = {"X-Arcwise-Token": token, "Content-Type": "application/json"}

    def ask(method: str, path: str, body: Any = None) -> dict[str, Any]:
        connection.request(method, path, json.dumps(body or {}) if method == "POST" else None, headers)
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status == 200, content
        return json.loads(content)  # type: ignore[no-any-return]

    def edit() -> None:
        for number in range(20):
            version = ask("GET", f"/api/sentence/{number}")["version"]
            for lemma in ("a", "b"):
                edits = [{"kind": "set-field", "row": "1", "column": "lemma", "value": lemma}]
                body = {"version": version, "edits": edits}
                version = ask("POST", f"/api/sentence/{number}/edits", body)["version"]

    return {
        "annotation: read 100 sentences": lambda: [ask("GET", f"/api/sentence/{i}") for i in range(100)],
        "annotation: 40 edits": edit,
    }


def _start(*arguments: str) -> tuple[str, str]:
    """Start a server; return its host with the port, and its token if it prints one."""
    command = [sys.executable, "-m", "arcwise", *arguments]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    atexit.register(process.terminate)
    assert process.stdout is not None
    address = next(line for line in process.stdout if "http://" in line)
    host, _, token = address[address.index("http://") + 7 :].split()[0].partition("/")
    return host, token.partition("token=")[2]


def operations(folder: Path, only: str) -> Operations:
    """Operations of all groups, or of the group that ``only`` begins with."""
    import arcwise

    def wanted(group: str) -> bool:
        return not any(only.startswith(name) for name in GROUPS if name != group)

    made = inference_operations() if wanted("inference") else {}
    if only.startswith("inference"):
        return made
    train = arcwise.Treebank.read(next(folder.glob("*train*")))[:1500]
    dev = arcwise.Treebank.read(next(folder.glob("*dev*")))[:1000]
    for group in GROUPS[1:]:
        if wanted(group):
            make: Callable[..., Operations] = globals()[f"{group}_operations"]
            made |= make(train, dev) if group in ("training", "parsing") else make(dev)
    return made


GROUPS = ("inference", "training", "parsing", "pipeline", "service", "annotation")


def work(folder: Path, only: str) -> None:
    """Read names of operations from standard input, and answer with their seconds."""
    made = operations(folder, only)
    print(json.dumps(list(made)), flush=True)
    for line in sys.stdin:
        operation = made[json.loads(line)]
        started, calls = time.perf_counter(), 0
        while not calls or time.perf_counter() - started < MIN_TURN_SECONDS:
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
        """End the process; closing its input lets it stop the servers it started."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def seconds(self, name: str) -> float:
        """Run an operation and return its seconds."""
        assert self._process.stdin is not None
        print(json.dumps(name), file=self._process.stdin, flush=True)
        return float(self._answer())


def main() -> None:
    """Compare, and print a line for each operation."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("other", help="Python of the other checkout's environment, or with --work a folder")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--only", default="", help="operations whose name contains this")
    parser.add_argument("--repeat", type=int, default=REPEAT, help="turns of each operation per start")
    parser.add_argument("--starts", type=int, default=1, help="how often both processes are started")
    options = parser.parse_args()
    if options.work:
        return work(Path(options.other), options.only)
    if "ARCWISE_TREEBANKS" not in os.environ:
        raise SystemExit("set ARCWISE_TREEBANKS to the folder of treebanks")
    folder = Path(os.environ["ARCWISE_TREEBANKS"]) / "English-EWT"
    before: dict[str, float] = {}
    now: dict[str, float] = {}
    for _ in range(options.starts):
        ours, theirs = (Worker(python, folder, options.only) for python in (sys.executable, options.other))
        for name in (n for n in ours.names if options.only in n):
            for _ in range(options.repeat):
                before[name] = min(before.get(name, float("inf")), theirs.seconds(name))
                now[name] = min(now.get(name, float("inf")), ours.seconds(name))
        ours.close()
        theirs.close()
    print(f"{'operation':58} {'other':>10} {'this':>10} {'ratio':>7}")
    for name in now:
        ratio = before[name] / now[name]
        print(f"{name:58} {before[name] * 1e3:9.2f}ms {now[name] * 1e3:9.2f}ms {ratio:7.2f}", flush=True)


if __name__ == "__main__":
    main()
