"""How time and memory grow: with the length of a sentence, for every kernel and parser; with the size of the corpus, for training;
with the width of the beam.

    python -m benchmarks.scaling

Writes a table of log-log slopes and benchmarks/scaling.png. Needs ARCWISE_TREEBANKS (English-EWT).
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from experiments.trainings import read

from arcwise.graph import GraphConfig, GraphParser
from arcwise.inference.eisner import eisner_decode, eisner_k_best, eisner_marginals
from arcwise.inference.matrix_tree import matrix_tree_marginals
from arcwise.inference.spanning_tree import spanning_tree_decode, spanning_tree_k_best
from arcwise.inference.wilson import wilson_sample
from arcwise.learning.parser import ParseOptions
from arcwise.transition import TransitionConfig, TransitionParser
from arcwise.treebanks import Sentence, Treebank
from benchmarks.report import table, write_section
from benchmarks.timing import interleaved

TREEBANK = "English-EWT"
KERNEL_LENGTHS = (25, 50, 100, 200, 400)
PARSER_LENGTHS = (10, 20, 50, 100, 200)
SIZES = (1000, 2000, 4000, 8000)
BEAMS = (1, 2, 4, 8, 16, 32, 64)
PLOT = Path(__file__).parent / "scaling.png"
Curve = dict[float, float]

TRAINERS = {
    "graph, MIRA": "GraphParser.train(data, config=GraphConfig(epochs=1))",
    "graph, log-linear": "GraphParser.train(data, config=GraphConfig(epochs=1, trainer='log-linear'))",
    "transition, greedy": "TransitionParser.train(data, config=TransitionConfig(epochs=1))",
    "transition, beam 8": "TransitionParser.train(data, config=TransitionConfig(epochs=1, beam=8, warm_epochs=0))",
}
_TRAIN = """
import time
from arcwise.graph import GraphConfig, GraphParser
from arcwise.transition import TransitionConfig, TransitionParser
from experiments.trainings import peak_mb, read
data = read({treebank!r}, "train")[:{size}]
started = time.process_time()
{train}
print(time.process_time() - started, peak_mb())
"""


def kernels() -> dict[str, Curve]:
    """Seconds of one call on random scores, by n."""
    random = np.random.default_rng(1)
    curves: dict[str, Curve] = {}
    for n in KERNEL_LENGTHS:
        s = random.normal(size=(n + 1, n + 1))
        calls: dict[str, Callable[[], object]] = {
            "eisner_decode": lambda s=s: eisner_decode(s, single_root=True),
            "eisner_marginals": lambda s=s: eisner_marginals(s, single_root=True),
            "eisner_k_best, k = 5": lambda s=s: eisner_k_best(s, k=5, single_root=True),
            "spanning_tree_decode": lambda s=s: spanning_tree_decode(s, single_root=True),
            "spanning_tree_k_best, k = 5": lambda s=s: spanning_tree_k_best(s, k=5, single_root=True),
            "matrix_tree_marginals": lambda s=s: matrix_tree_marginals(s, single_root=True),
            "wilson_sample": lambda s=s: wilson_sample(s, count=1, single_root=True, seed=1),
        }
        for name, seconds in interleaved(calls, repeat=3).items():
            curves.setdefault(name, {})[n] = seconds
    return curves


def sentences_of(n: int, words: int) -> Treebank:
    """Sentences of n words each, made of the words of the test set one after the other."""
    rows = [r for s in read(TREEBANK, "test") for r in zip(s.forms, s.upos, strict=True)][:words]
    pieces = [rows[first : first + n] for first in range(0, len(rows) - n + 1, n)]
    return Treebank.from_sentences(
        [Sentence.from_words([f for f, _ in p], upos=[t for _, t in p]) for p in pieces]
    )


def parsers() -> tuple[dict[str, Curve], Curve]:
    """Seconds a sentence of every parser, by n; and words a second of the transition parser, by beam."""
    train = read(TREEBANK, "train")[:2000]
    graph = GraphParser.train(train, config=GraphConfig(epochs=1))
    greedy = TransitionParser.train(train, config=TransitionConfig(epochs=1))
    easy = TransitionParser.train(train, config=TransitionConfig(epochs=1, system="easy-first"))
    curves: dict[str, Curve] = {}
    for n in PARSER_LENGTHS:
        data = sentences_of(n, 4000)
        calls: dict[str, Callable[[], object]] = {
            "graph, non-projective": lambda d=data: graph.parse(d, options=ParseOptions(projective=False)),
            "graph, projective": lambda d=data: graph.parse(d, options=ParseOptions(projective=True)),
            "graph, with confidences": lambda d=data: graph.parse(
                d, options=ParseOptions(projective=False, confidence=True)
            ),
            "transition, greedy": lambda d=data: greedy.parse(d),
            "transition, beam 8": lambda d=data: greedy.parse(d, options=ParseOptions(beam=8)),
            "transition, easy-first": lambda d=data: easy.parse(d),
        }
        for name, seconds in interleaved(calls, repeat=3).items():
            curves.setdefault(name, {})[n] = seconds / len(data)
    data = sentences_of(20, 4000)
    calls = {str(b): lambda b=b: greedy.parse(data, options=ParseOptions(beam=b)) for b in BEAMS}
    speeds = {float(b): data.word_count / s for b, s in interleaved(calls, repeat=3).items()}
    return curves, speeds


def trainings() -> tuple[dict[str, Curve], dict[str, Curve]]:
    """CPU seconds and peak megabytes of one epoch, by the number of sentences, each in a process of its own."""
    seconds: dict[str, Curve] = {}
    memory: dict[str, Curve] = {}
    for name, train in TRAINERS.items():
        for size in SIZES:
            code = _TRAIN.format(treebank=TREEBANK, size=size, train=train)
            run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
            spent, peak = map(float, run.stdout.split())
            seconds.setdefault(name, {})[size] = spent
            memory.setdefault(name, {})[size] = peak
    return seconds, memory


def slope(curve: Curve) -> float:
    """Of log y over log x."""
    return float(np.polyfit(np.log(list(curve)), np.log(list(curve.values())), 1)[0])


def draw(panels: list[tuple[str, str, str, dict[str, Curve]]]) -> None:
    """One panel each: title, names of both axes, curves."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 3, figsize=(16, 9))
    for axis, (title, x, y, curves) in zip(axes.flat, panels, strict=False):
        for name, curve in curves.items():
            axis.plot(list(curve), list(curve.values()), marker="o", label=name)
        axis.set(xscale="log", yscale="log", xlabel=x, ylabel=y, title=title)
        axis.grid(alpha=0.3)
        axis.legend(fontsize=8)
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    figure.tight_layout()
    figure.savefig(PLOT, dpi=110)
    pyplot.close(figure)


def _rows(what: str, curves: dict[str, Curve], unit: float, digits: int) -> list[list[object]]:
    return [
        [
            what,
            name,
            f"{first:g}",
            f"{unit * curve[first]:.{digits}f}",
            f"{last:g}",
            f"{unit * curve[last]:.{digits}f}",
            f"{slope(curve):.2f}",
        ]
        for name, curve in curves.items()
        for first, last in [(min(curve), max(curve))]
    ]


def main() -> None:
    started = time.perf_counter()
    of_kernels = kernels()
    of_parsers, of_beam = parsers()
    seconds, memory = trainings()
    draw(
        [
            ("Kernels: one sentence", "n", "seconds", of_kernels),
            ("Parsers: one sentence", "n", "seconds", of_parsers),
            ("Transition parser, sentences of 20 words", "beam", "words a second", {"arc-eager": of_beam}),
            ("Training: one epoch", "sentences", "CPU seconds", seconds),
            ("Training: memory", "sentences", "peak MB", memory),
        ]
    )
    rows = [
        *_rows("kernel, µs over n", of_kernels, 1e6, 0),
        *_rows("parser, µs over n", of_parsers, 1e6, 0),
        *_rows("words/s over beam", {"transition, arc-eager": of_beam}, 1, 0),
        *_rows("training, CPU s over sentences", seconds, 1, 1),
        *_rows("training, peak MB over sentences", memory, 1, 0),
    ]
    body = f"![curves]({PLOT.name})\n\n" + table(
        ["what", "", "from", "value", "to", "value", "log-log slope"], rows
    )
    write_section("scaling", "How time and memory grow", body, command="python -m benchmarks.scaling")
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
