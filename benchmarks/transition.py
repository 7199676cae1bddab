"""The transition-based parser: accuracy of its systems, speed, and the paper's tables over K and D.

    python -m benchmarks.transition [accuracy|grid|speed] [--only TEXT] [--cached]

Accuracy is measured with forms and gold UPOS alone, all words counted (punctuation too), label subtypes cut in training and in
scoring. Every cell (one treebank, one configuration) is kept in a cache folder outside the repository (~/.cache/arcwise/transition, or
ARCWISE_CACHE), so a run goes on where the last one stopped. Needs ARCWISE_TREEBANKS.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from arcwise.learning.parser import ParseOptions
from arcwise.learning.progress import Progress
from arcwise.transition import TransitionConfig, TransitionParser, coverage, system
from arcwise.treebanks import Sentence, Treebank
from arcwise.trees import Tree
from benchmarks.report import table, write_section

CACHE = Path(os.environ.get("ARCWISE_CACHE", Path.home() / ".cache" / "arcwise")) / "transition"
COMMAND = "python -m benchmarks.transition"


@dataclass(frozen=True)
class Cell:
    """One figure of a table: a parser trained on one treebank."""

    treebank: str
    system: str
    beam: int = 1
    epochs: int = 10
    single_root: bool = True
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        digest = hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:8]
        plain = "".join(c if c.isalnum() else "-" for c in f"{self.treebank}-{self.system}-{self.beam}")
        return f"{plain}-{digest}"

    @property
    def path(self) -> Path:
        return CACHE / f"{self.name}.json"


def folder() -> Path:
    found = os.environ.get("ARCWISE_TREEBANKS")
    if not found:
        raise SystemExit("benchmarks.transition: set ARCWISE_TREEBANKS to the folder of treebanks")
    return Path(found)


@cache
def read(name: str, part: str) -> Treebank:
    """A part of a treebank with the subtypes of its labels cut."""
    whole = Treebank.read(folder() / name / f"{part}.conllu.xz")
    return whole.annotate(deprel=[label.split(":")[0] for label in whole.column("deprel")])


@cache
def crossing(name: str, part: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which words of a treebank have an arc that crosses another one."""
    return np.concatenate([_crossing_words(s.tree) for s in read(name, part)])


def _crossing_words(tree: Tree) -> np.ndarray[Any, np.dtype[np.bool_]]:
    spans = [(min(h, m), max(h, m)) for h, m in tree.arcs]
    marks = [any(a < c < b < d or c < a < d < b for c, d in spans) for a, b in spans]
    return np.array(marks, bool)


def scores(gold: Treebank, parsed: Treebank) -> dict[str, float]:
    """UAS and LAS over all words."""
    right = parsed.heads == gold.heads
    labels = np.array(parsed.column("deprel")) == np.array(gold.column("deprel"))
    return {"uas": 100 * float(right.mean()), "las": 100 * float((right & labels).mean())}


def result(cell: Cell) -> dict[str, Any]:
    """Train and score, or take what an earlier run found."""
    path = cell.path
    if path.exists():
        return dict(json.loads(path.read_text()))
    train, dev, test = (read(cell.treebank, part) for part in ("train", "dev", "test"))
    config = TransitionConfig(
        system=cell.system, beam=cell.beam, epochs=cell.epochs, single_root=cell.single_root, **cell.options
    )
    print(f"… {cell.name}", flush=True)
    started = time.process_time()
    with Progress() as progress:
        parser = TransitionParser.train(train, dev, config=config, progress=progress)
    seconds = time.process_time() - started
    found: dict[str, Any] = {
        "cell": asdict(cell),
        "train_seconds": seconds,
        "dev": scores(dev, parser.parse(dev)),
    }
    parsed = parser.parse(test)
    found["test"] = scores(test, parsed)
    crossed = crossing(cell.treebank, "test")
    found["crossing_recall"] = (
        100 * float((parsed.heads == test.heads)[crossed].mean()) if crossed.any() else None
    )
    found["coverage"] = 100 * coverage(system(cell.system), train).sentences
    CACHE.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found))
    print(f"  {found['test']}", flush=True)
    return found


# ---- accuracy

EWT, TURKISH = "English-EWT", "Turkish-IMST"
MIRA = {"trainer": "mira", "C": 0.01}
ACCURACY = [
    Cell(EWT, "arc-eager"),
    Cell(EWT, "arc-eager", beam=16),
    Cell(EWT, "arc-standard"),
    Cell(EWT, "bounded(K=4)"),
    Cell(EWT, "hybrid"),
    Cell(EWT, "easy-first"),
    Cell(TURKISH, "arc-eager"),
    Cell(TURKISH, "arc-eager", beam=16),
    Cell(TURKISH, "arc-standard"),
    Cell(TURKISH, "bounded(K=4)"),
    Cell(TURKISH, "easy-first"),
    Cell(TURKISH, "easy-first", options=MIRA),
    Cell(TURKISH, "bounded(K=4,D=2)", beam=16),
]
PEERS = [
    (EWT, "MaltParser, arc-eager", "85.2", "82.6"),
    (EWT, "Yara, beam 16", "87.9", "86.4"),
    (TURKISH, "Yara, beam 64", "67.2", "56.2"),
]


def accuracy(chosen: Callable[[Cell], bool]) -> None:
    rows = [
        (treebank, f"{name} (reference figure, not measured by this command)", "", "", uas, las, "")
        for treebank, name, uas, las in PEERS
    ]
    for cell in filter(chosen, ACCURACY):
        r = result(cell)
        mira = ", mira" if cell.options else ""
        dev = [f"{r['dev'][key]:.2f}" for key in ("uas", "las")]
        test = [f"{r['test'][key]:.2f}" for key in ("uas", "las")]
        rows.append(
            (
                cell.treebank,
                f"arcwise {cell.system}, beam {cell.beam}{mira}",
                *dev,
                *test,
                f"{r['train_seconds']:.0f}",
            )
        )
    header = ("treebank", "parser", "dev UAS", "dev LAS", "test UAS", "test LAS", "training, CPU s")
    body = "Forms and gold UPOS alone; all words counted; label subtypes cut.\n\n" + table(header, rows)
    write_section(
        "transition-accuracy", "Transition-based parser: accuracy", body, command=f"{COMMAND} accuracy"
    )


# ---- the grid over K and D (Bohnet et al. 2016, table 2)

GRID = [
    *(Cell(name, f"non-projective(D={d})", epochs=6, single_root=False, options={"unreachable": "skip"})
      for name in ("Danish-CDT", "Dutch-Alpino-cdbl") for d in range(1, 8)),
    *(Cell(name, f"bounded(K={k},D={d})", epochs=6, single_root=False, options={"unreachable": "skip"})
      for name in ("Danish-CDT", "Dutch-Alpino-cdbl") for k, d in ((5, 4), (6, 5))),
]  # fmt: skip


def grid(chosen: Callable[[Cell], bool]) -> None:
    rows = []
    for cell in filter(chosen, GRID):
        r, s = result(cell), system(cell.system)
        figures = [r["test"]["uas"], r["test"]["las"], r["crossing_recall"], r["coverage"]]
        rows.append((cell.treebank, s.max_distance, s.capacity or "∞", *(f"{x:.2f}" for x in figures)))
    header = ("treebank", "D", "K", "UAS", "LAS", "crossing arcs found", "sentences covered")
    body = (
        "Greedy easy-first, 6 epochs, trained on the sentences that the system can derive; test data; percentages.\n\n"
        + table(header, rows)
    )
    write_section(
        "transition-grid",
        "Transition-based parser: arc distance and capacity",
        body,
        command=f"{COMMAND} grid",
    )


# ---- speed


def speed(chosen: Callable[[Cell], bool]) -> None:
    rows, train = [], read(EWT, "train")
    data = Treebank.read(folder() / EWT / "test.conllu.xz").data
    for name, beam in (
        ("arc-eager", 1),
        ("arc-eager", 8),
        ("arc-standard", 1),
        ("bounded(K=4)", 1),
        ("easy-first", 1),
    ):
        if not chosen(Cell(EWT, name, beam)):
            continue
        config = TransitionConfig(system=name, epochs=1, word_dropout=0.0)
        parser = TransitionParser.train(train[:4000], config=config)
        options = ParseOptions(beam=beam)
        seconds = min(_timed(parse_whole, parser, data, options) for _ in range(5))
        words = Treebank(data).word_count
        rows.append((name, beam, f"{words / seconds:,.0f}", f"{_slope(parser, options):.2f}"))
    header = (
        "system",
        "beam",
        "words/s, one core, reading and writing included",
        "slope of time over n = 10…200",
    )
    body = (
        f"Test file of {EWT} ({words:,} words). Words/s of peers on one core (reference figures, not measured by this command): "
        "MaltParser 14,000–22,500, spaCy 20,000, Yara greedy 10,600, UDPipe 8,000, Yara beam 64 720.\n\n"
        + table(header, rows)
        + f"\nTraining of ten greedy epochs (arc-eager) on {EWT}: {_training_seconds(train):.0f} s of one core."
    )
    write_section("transition-speed", "Transition-based parser: speed", body, command=f"{COMMAND} speed")


def _training_seconds(train: Treebank) -> float:
    """CPU time of ten greedy epochs, the preparation of the treebank included."""
    started = time.process_time()
    TransitionParser.train(train, config=TransitionConfig(epochs=10))
    return time.process_time() - started


def parse_whole(parser: TransitionParser, data: bytes, options: ParseOptions) -> bytes:
    """What ``arcwise parse`` does with one file, the disk left out."""
    return parser.parse(Treebank(data), options=options).data


def _timed(run: Callable[..., object], *arguments: object) -> float:
    started = time.perf_counter()
    run(*arguments)
    return time.perf_counter() - started


def _slope(parser: TransitionParser, options: ParseOptions) -> float:
    """The slope of log time over log n, for sentences made of the test words one after the other."""
    rows = [row for sentence in read(EWT, "test") for row in zip(sentence.forms, sentence.upos, strict=True)]
    lengths, seconds = (10, 20, 50, 100, 200), []
    for n in lengths:
        pieces = [rows[first : first + n] for first in range(0, 10_000, n)]
        sentences = [Sentence.from_words([r[0] for r in p], upos=[r[1] for r in p]) for p in pieces]
        treebank = Treebank.from_sentences(sentences)
        seconds.append(
            min(_timed(parse_whole, parser, treebank.data, options) for _ in range(3)) / len(pieces)
        )
    return float(np.polyfit(np.log(lengths), np.log(seconds), 1)[0])


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("parts", nargs="*", default=["accuracy", "grid", "speed"])
    arguments.add_argument("--cached", action="store_true", help="only cells that an earlier run has made")
    arguments.add_argument("--only", default="", help="only cells whose name contains this")
    given = arguments.parse_args()
    parts: dict[str, Callable[[Callable[[Cell], bool]], None]] = {
        "accuracy": accuracy,
        "grid": grid,
        "speed": speed,
    }
    for part in given.parts:
        parts[part](lambda cell: given.only in cell.name and (not given.cached or cell.path.exists()))


if __name__ == "__main__":
    main()
