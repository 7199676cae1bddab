"""Accuracy against the number of annotated sentences: arcwise beside UDPipe and spaCy, from 20 sentences to 1,000.

    python -m benchmarks.learning_curve [--draws 10] [--jobs N] [--report]
    python -m benchmarks.learning_curve --peers-with PYTHON [--draws N] [--jobs N]    trains the peers, where PYTHON has them

Whoever has annotated N sentences has no others: each parser gets the same N sentences drawn from the training part (forms, UPOS,
FEATS, trees) and nothing else, by its own documented command. arcwise: ``arcwise train --train F --model M``. UDPipe: the options
that its authors publish for the language, on all N. spaCy: ``spacy init config`` (``--optimize efficiency``, its default) and
``spacy train``, which needs dev data: four fifths to train on, one to choose by. Test data, gold columns, subtypes of labels cut.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from measuring.tables import table
from measuring.where import add_engine_options, engine_from

from benchmarks.peer_parsers import folder, prepare, scores_of
from benchmarks.peers.conllu_files import draw, join, sentences
from benchmarks.peers.train import FIGURES, PARSED
from benchmarks.report import write_section

LANGUAGES = {"English-EWT": "en", "Slovenian-SSJ-rs": "sl", "Turkish-IMST": "tr"}
SIZES = (20, 50, 100, 200, 500, 1000)
PARSERS = ("arcwise", "udpipe", "spacy")
PLOT = Path(__file__).parent / "learning-curve.png"


@dataclass(frozen=True)
class Cell:
    """One parser trained on one draw."""

    parser: str
    treebank: str
    size: int
    draw: int

    @property
    def place(self) -> Path:
        """Where it is kept."""
        return folder(self.treebank) / "curve" / f"{self.parser}-{self.size}-{self.draw}"

    @property
    def done(self) -> bool:
        return (self.place / FIGURES).exists()

    @property
    def seconds(self) -> float:
        """CPU time of the training."""
        return float(json.loads((self.place / FIGURES).read_text())["training_seconds"])

    @property
    def las(self) -> float:
        return 100 * scores_of(self.place / PARSED, self.treebank).las


def train(cell: Cell, python: str) -> None:
    """Train and parse; what was done stays."""
    cell.place.mkdir(parents=True, exist_ok=True)
    if cell.parser == "arcwise":
        _train_arcwise(cell)
        return
    command = [python, "-m", "benchmarks.peers.train", cell.parser, str(folder(cell.treebank))]
    command += ["--language", LANGUAGES[cell.treebank], "--out", str(cell.place)]
    command += [
        "--sentences",
        str(cell.size),
        "--draw",
        str(cell.draw),
        "--feats",
        "--optimize",
        "efficiency",
    ]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _train_arcwise(cell: Cell) -> None:
    """``arcwise train`` with nothing but the sentences, then ``arcwise parse``."""
    data, arcwise = folder(cell.treebank), [sys.executable, "-m", "arcwise"]
    with tempfile.TemporaryDirectory() as scratch:
        drawn, model = Path(scratch) / "annotated.conllu", Path(scratch) / "model.arcwise"
        drawn.write_text(join(draw(sentences(data / "train.conllu"), cell.size, cell.draw)), encoding="utf-8")
        before, clock = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        _quietly([*arcwise, "train", "--train", str(drawn), "--model", str(model)])
        after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - clock
        _quietly(
            [
                *arcwise,
                "parse",
                str(data / "test.conllu"),
                "--model",
                str(model),
                "-o",
                str(cell.place / PARSED),
            ]
        )
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    (cell.place / FIGURES).write_text(json.dumps({"training_seconds": seconds, "wall_seconds": wall}))


def _quietly(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr)


def report(draws: int) -> None:
    """The section of RESULTS.md and the plot."""
    curves: dict[str, dict[str, dict[int, list[float]]]] = {}
    rows = []
    for treebank in LANGUAGES:
        for size in SIZES:
            row: list[object] = [treebank, size]
            for parser in PARSERS:
                done = [
                    c for c in (Cell(parser, treebank, size, number) for number in range(draws)) if c.done
                ]
                scores = [cell.las for cell in done]
                if scores:
                    curves.setdefault(treebank, {}).setdefault(parser, {})[size] = scores
                row += [_spread(scores), f"{statistics.fmean(c.seconds for c in done):.0f}" if done else "–"]
            rows.append(row)
    _plot(curves)
    header = ["treebank", "sentences"]
    for parser in PARSERS:
        header += [f"{parser}, LAS", "training, CPU s"]
    about = (__doc__ or "").split("\n\n", 2)[2].strip() + (
        "\n\nMean LAS over draws ± standard deviation (number of draws; a peer has fewer where a training takes many minutes). "
        "Training times of arcwise are of this machine; of peers, of the machine that trained them. All cores were busy.\n\n"
        f"![LAS against the number of annotated sentences]({PLOT.name})\n\n"
    )
    write_section("learning_curve", "Accuracy from few annotated sentences", about + table(header, rows))


def _spread(scores: Sequence[float]) -> str:
    if not scores:
        return "–"
    deviation = f" ± {statistics.stdev(scores):.1f}" if len(scores) > 1 else ""
    return f"{statistics.fmean(scores):.1f}{deviation} ({len(scores)})"


def _plot(curves: dict[str, dict[str, dict[int, list[float]]]]) -> None:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(LANGUAGES), figsize=(13, 4), sharey=True)
    for axis, (treebank, parsers) in zip(axes, curves.items(), strict=True):
        for number, (parser, points) in enumerate(parsers.items()):
            # A size that was not measured breaks the line.
            scores = [points.get(size, [math.nan]) for size in SIZES]
            axis.plot(
                SIZES, [statistics.fmean(s) for s in scores], marker="o", color=f"C{number}", label=parser
            )
            low, high = ([end(s) for s in scores] for end in (min, max))
            axis.fill_between(SIZES, low, high, color=f"C{number}", alpha=0.15)
        axis.set(xscale="log", title=treebank, xlabel="annotated sentences", xticks=SIZES, xticklabels=SIZES)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("LAS on test data (mean and range of draws)")
    axes[-1].legend(loc="lower right")
    figure.savefig(PLOT, dpi=120, bbox_inches="tight")
    pyplot.close(figure)


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--draws", type=int, default=10)
    add_engine_options(arguments)
    arguments.add_argument("--report", action="store_true", help="train nothing; report what there is")
    arguments.add_argument(
        "--peers-with", metavar="PYTHON", help="train the peers in place of arcwise, by this interpreter"
    )
    given = arguments.parse_args()
    for treebank in LANGUAGES:
        if not (folder(treebank) / "test.conllu").exists():
            prepare(treebank)
    if not given.report:
        wanted = PARSERS[1:] if given.peers_with else PARSERS[:1]
        cells = [
            Cell(parser, treebank, size, number)
            for number in range(given.draws)
            for size in SIZES
            for treebank in LANGUAGES
            for parser in wanted
        ]
        missing = [cell for cell in cells if not cell.done]
        work = partial(train, python=given.peers_with or sys.executable)
        done = engine_from(arguments, given).map(work, missing, ordered=False)
        for place, _ in enumerate(done, 1):
            print(f"{place} of {len(missing)} trained", file=sys.stderr, flush=True)
    report(given.draws)


if __name__ == "__main__":
    main()
