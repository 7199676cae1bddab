"""Growth of time and memory with sentence length (kernels, parsers), beam width and corpus size (training).

    python -m benchmarks.scaling

Writes a table of log-log slopes, which benchmarks.figures draws. Needs ARCWISE_TREEBANKS (English-EWT).
"""

from __future__ import annotations

import ctypes
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import numpy.typing as npt
from measuring.memory import peak_mb
from measuring.tables import table
from measuring.timing import interleaved
from measuring.trainings import read

from arcwise.graph import GraphConfig, GraphParser
from arcwise.inference.eisner import eisner_decode, eisner_k_best, eisner_log_partition, eisner_marginals
from arcwise.inference.matrix_tree import matrix_tree_log_partition, matrix_tree_marginals
from arcwise.inference.spanning_tree import spanning_tree_decode, spanning_tree_k_best
from arcwise.inference.wilson import wilson_sample
from arcwise.parsing.parser import ParseOptions
from arcwise.transition import TransitionConfig, TransitionParser
from arcwise.treebanks import Sentence, Treebank
from benchmarks.report import write_section

TREEBANK = "English-EWT"
KERNEL_LENGTHS = (25, 50, 100, 200, 400)
MEMORY_LENGTHS = (100, 200, 400, 800)
"""Shortest sentences: below them times are too small to measure."""
PARSER_LENGTHS = (10, 20, 50, 100, 200)
SIZES = (1000, 2000, 4000, 8000)
BEAMS = (1, 2, 4, 8, 16, 32, 64)
PLOT = Path(__file__).parent / "scaling.png"
HEADER = ("what", "", "from", "value", "to", "value", "log-log slope")
Curve = dict[float, float]
Scores = npt.NDArray[np.float64]

TRAINERS: dict[str, GraphConfig | TransitionConfig] = {
    "graph, MIRA": GraphConfig(epochs=1),
    "graph, log-linear": GraphConfig(epochs=1, trainer="log-linear"),
    "graph, exponentiated gradient": GraphConfig(epochs=1, trainer="eg"),
    "transition, greedy": TransitionConfig(epochs=1),
    "transition, beam 8": TransitionConfig(epochs=1, beam=8, warm_epochs=0),
}
KERNELS: dict[str, Callable[[Scores], object]] = {
    "eisner_decode": partial(eisner_decode, single_root=True),
    "eisner_log_partition": partial(eisner_log_partition, single_root=True),
    "eisner_marginals": partial(eisner_marginals, single_root=True),
    "eisner_k_best, k = 5": partial(eisner_k_best, k=5, single_root=True),
    "spanning_tree_decode": partial(spanning_tree_decode, single_root=True),
    "spanning_tree_k_best, k = 5": partial(spanning_tree_k_best, k=5, single_root=True),
    "matrix_tree_log_partition": partial(matrix_tree_log_partition, single_root=True),
    "matrix_tree_marginals": partial(matrix_tree_marginals, single_root=True),
    "wilson_sample": partial(wilson_sample, count=1, single_root=True, seed=1),
}
PARSERS: dict[str, tuple[str, ParseOptions]] = {
    "graph, non-projective": ("graph", ParseOptions(projective=False)),
    "graph, projective": ("graph", ParseOptions(projective=True)),
    "graph, with confidences": ("graph", ParseOptions(projective=False, confidence=True)),
    "transition, greedy": ("arc-eager", ParseOptions()),
    "transition, beam 8": ("arc-eager", ParseOptions(beam=8)),
    "transition, easy-first": ("easy-first", ParseOptions()),
}
"""Name of the curve: the model and how it is used."""


def random_scores(n: int) -> Scores:
    return np.random.default_rng(1).normal(size=(n + 1, n + 1))


def kernels() -> dict[str, Curve]:
    """Seconds per call on random scores, by n."""
    curves: dict[str, Curve] = {}
    for n in KERNEL_LENGTHS:
        calls = {name: partial(kernel, random_scores(n)) for name, kernel in KERNELS.items()}
        for name, seconds in interleaved(calls, repeat=3).items():
            curves.setdefault(name, {})[n] = seconds
    return curves


def memory_of_kernels() -> dict[str, Curve]:
    """Peak megabytes of one call, by n."""
    return {
        name: {n: memory_of(f"partial(KERNELS[{name!r}], random_scores({n}))") for n in MEMORY_LENGTHS}
        for name in KERNELS
    }


def sentences_of(n: int, words: int) -> Treebank:
    """Sentences of n words each, cut from the concatenated test data."""
    rows = [r for s in read(TREEBANK, "test") for r in zip(s.forms, s.upos, strict=True)][:words]
    pieces = [rows[first : first + n] for first in range(0, len(rows) - n + 1, n)]
    return Treebank.from_sentences(
        [Sentence.from_words([f for f, _ in p], upos=[t for _, t in p]) for p in pieces]
    )


def train_models(folder: Path) -> None:
    """Train the models of PARSERS on a small treebank."""
    data = read(TREEBANK, "train")[:2000]
    train(GraphConfig(epochs=1), data).save(folder / "graph")
    for name in ("arc-eager", "easy-first"):
        train(TransitionConfig(epochs=1, system=name), data).save(folder / name)


def parser_of(model: Path) -> GraphParser | TransitionParser:
    return GraphParser.load(model) if model.name == "graph" else TransitionParser.load(model)


def parsers(folder: Path) -> tuple[dict[str, Curve], Curve]:
    """Seconds per sentence of every parser, by n; words per second of the transition parser, by beam."""
    models = {name: parser_of(folder / name) for name, _ in PARSERS.values()}
    curves: dict[str, Curve] = {}
    for n in PARSER_LENGTHS:
        data = sentences_of(n, 4000)
        calls = {
            name: partial(models[model].parse, data, options=options)
            for name, (model, options) in PARSERS.items()
        }
        for name, seconds in interleaved(calls, repeat=3).items():
            curves.setdefault(name, {})[n] = seconds / len(data)
    data = sentences_of(20, 4000)
    beams = {str(b): partial(models["arc-eager"].parse, data, options=ParseOptions(beam=b)) for b in BEAMS}
    speeds = {float(b): data.word_count / s for b, s in interleaved(beams, repeat=3).items()}
    return curves, speeds


def memory_of_parsers(folder: Path) -> tuple[dict[str, Curve], Curve]:
    """Megabytes of parsing beyond model and text, by sentence length; and by beam."""

    def memory(model: str, options: ParseOptions, n: int) -> float:
        parser = f"parser_of(Path({str(folder / model)!r}))"
        return memory_of(f"partial({parser}.parse, sentences_of({n}, 4000), options={options!r})")

    curves = {
        name: {float(n): memory(model, options, n) for n in MEMORY_LENGTHS}
        for name, (model, options) in PARSERS.items()
    }
    return curves, {float(b): memory("arc-eager", ParseOptions(beam=b), 20) for b in BEAMS}


def apart(code: str) -> list[float]:
    """Run code in a subprocess with this module's names; returns the numbers it prints."""
    command = [sys.executable, "-c", f"from benchmarks.scaling import *\n{code}"]
    return [
        float(number)
        for number in subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    ]


def memory_of(call: str) -> float:
    """Megabytes by which a call, passed as source code, exceeds the memory before it."""
    return apart(f"print(taken_by({call}))")[0]


def taken_by(call: Callable[[], object]) -> float:
    """Peak megabytes of a call above those before it (Linux: trims the heap and resets the peak first)."""
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")
    before = peak_mb()
    call()
    return peak_mb() - before


def train(config: GraphConfig | TransitionConfig, treebank: Treebank) -> GraphParser | TransitionParser:
    if isinstance(config, GraphConfig):
        return GraphParser.train(treebank, config=config)
    return TransitionParser.train(treebank, config=config)


def cost_of_training(name: str, size: int) -> tuple[float, float]:
    """CPU seconds and peak megabytes of one epoch on a number of sentences."""
    data = read(TREEBANK, "train")[:size]
    started = time.process_time()
    train(TRAINERS[name], data)
    return time.process_time() - started, peak_mb()


def trainings() -> tuple[dict[str, Curve], dict[str, Curve]]:
    """``cost_of_training`` by number of sentences, each in a subprocess."""
    seconds: dict[str, Curve] = {}
    memory: dict[str, Curve] = {}
    for name in TRAINERS:
        for size in SIZES:
            spent, peak = apart(f"print(*cost_of_training({name!r}, {size}))")
            seconds.setdefault(name, {})[size] = spent
            memory.setdefault(name, {})[size] = peak
    return seconds, memory


def slope(curve: Curve) -> float:
    """Slope of log y over log x."""
    return float(np.polyfit(np.log(list(curve)), np.log(list(curve.values())), 1)[0])


def _rows(measurement: str, curves: dict[str, Curve], unit: float, digits: int) -> list[list[object]]:
    return [
        [
            measurement,
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
    kernel_memory = memory_of_kernels()
    with tempfile.TemporaryDirectory() as folder:
        train_models(Path(folder))
        of_parsers, of_beam = parsers(Path(folder))
        parser_memory, beam_memory = memory_of_parsers(Path(folder))
    seconds, memory = trainings()
    rows = [
        *_rows("kernel, µs over n", of_kernels, 1e6, 0),
        *_rows("kernel, MB over n", kernel_memory, 1, 2),
        *_rows("parser, µs over n", of_parsers, 1e6, 0),
        *_rows("parser, MB over n", parser_memory, 1, 1),
        *_rows("words/s over beam", {"transition, arc-eager": of_beam}, 1, 0),
        *_rows("MB over beam", {"transition, arc-eager": beam_memory}, 1, 1),
        *_rows("training, CPU s over sentences", seconds, 1, 1),
        *_rows("training, peak MB over sentences", memory, 1, 0),
    ]
    body = f"![Time and memory at both ends of the measured sizes]({PLOT.name})\n\n" + table(HEADER, rows)
    write_section("scaling", "Growth of time and memory", body)
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
