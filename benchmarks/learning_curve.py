"""Accuracy against the number of annotated sentences: arcwise beside UDPipe and spaCy, from 20 sentences to 1,000.

    python -m benchmarks.learning_curve [--draws 10] [--sizes N …] [--jobs N] [--report]
    python -m benchmarks.learning_curve --peers-with PYTHON [--peers NAME …] [--draws N] [--sizes N …] [--jobs N]    trains the peers, where PYTHON has them

Whoever has annotated N sentences has no others: each parser gets the same N sentences drawn from the training part (forms, UPOS,
FEATS, trees) and nothing else, by its own documented command. arcwise: ``arcwise train --train F --model M``. UDPipe: the options
that its authors publish for the language, on all N. spaCy: ``spacy init config`` (``--optimize efficiency``, its default) and
``spacy train``, which needs dev data: four fifths to train on, one to choose by. Test data, gold columns, subtypes of labels cut.
"""

from __future__ import annotations

import argparse
import json
import math
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from measuring.tables import table
from measuring.where import add_engine_options, engine_from

from benchmarks.peer_parsers import folder, prepare, scores_of
from benchmarks.peers.conllu_files import draw, join, sentences
from benchmarks.peers.train import FIGURES, PARSED
from benchmarks.report import RESULTS, table_rows, write_section

LANGUAGES = {"English-EWT": "en", "Slovenian-SSJ-rs": "sl", "Turkish-IMST": "tr"}
SIZES = (20, 50, 100, 200, 500, 1000)
PARSERS = ("arcwise", "udpipe", "spacy")
PLOT = Path(__file__).parent / "learning-curve.png"
SECTION = "learning_curve"
NOTHING = "–"
HEADER = ("treebank", "sentences", *(f"{parser}, {what}" for parser in PARSERS for what in ("LAS", "CPU s")))
NOTES = """
Mean LAS over draws ± standard deviation (number of draws; a peer has fewer where a training takes many minutes), and the mean time
of a training. A place whose trainings are not kept any more stays as an earlier run wrote it, unless a later one has as many draws. Times of arcwise are of this machine; of peers, of the machine that
trained them, all cores busy."""


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
    def seconds(self) -> float | None:
        """CPU time of the training, if it was measured."""
        seconds = json.loads((self.place / FIGURES).read_text()).get("training_seconds")
        return None if seconds is None else float(seconds)

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


@dataclass(frozen=True)
class Point:
    """One place of the table: LAS over draws, and how long a training took in the mean."""

    las: float = math.nan
    deviation: float = math.nan
    """nan: of a single draw, or none."""
    draws: int = 0
    seconds: str = NOTHING

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> Point:
        """What trainings show."""
        if not cells:
            return cls()
        scores, times = [cell.las for cell in cells], [t for cell in cells if (t := cell.seconds) is not None]
        deviation = statistics.stdev(scores) if len(scores) > 1 else math.nan
        seconds = f"{statistics.fmean(times):.0f}" if times else NOTHING
        return cls(statistics.fmean(scores), deviation, len(scores), seconds)

    @classmethod
    def read(cls, las: str, seconds: str) -> Point:
        """What a table says."""
        told = re.fullmatch(r"([\d.]+)(?: ± ([\d.]+))? \((\d+)\)", las)
        return cls(float(told[1]), float(told[2] or "nan"), int(told[3]), seconds) if told else cls()

    def or_rather(self, other: Point) -> Point:
        """The one with more draws, this one if both have as many; a time that was not measured is the other's."""
        if other.draws > self.draws:
            return other
        return replace(self, seconds=other.seconds) if self.seconds == NOTHING else self

    def __str__(self) -> str:
        if not self.draws:
            return NOTHING
        deviation = "" if math.isnan(self.deviation) else f" ± {self.deviation:.1f}"
        return f"{self.las:.1f}{deviation} ({self.draws})"


Points = Mapping[tuple[str, int, str], Point]
"""By treebank, number of sentences and parser."""


def written(results: str) -> dict[tuple[str, int, str], Point]:
    """What the section in RESULTS.md says."""
    return {
        (treebank, int(size), parser): Point.read(*cells[2 * place : 2 * place + 2])
        for treebank, size, *cells in table_rows(SECTION, HEADER, results)
        for place, parser in enumerate(PARSERS)
    }


def trained(draws: int) -> dict[tuple[str, int, str], Point]:
    """What the trainings show that are kept."""
    return {
        (treebank, size, parser): Point.of(
            [c for n in range(draws) if (c := Cell(parser, treebank, size, n)).done]
        )
        for treebank in LANGUAGES
        for size in SIZES
        for parser in PARSERS
    }


def report(draws: int, note: str = "") -> None:
    """The section of RESULTS.md and the plot; ``note``: what else is to be known of the trainings."""
    before = written(RESULTS.read_text())
    points = {place: point.or_rather(before.get(place, Point())) for place, point in trained(draws).items()}
    rows: list[list[object]] = []
    for treebank in LANGUAGES:
        for size in SIZES:
            row = [points[treebank, size, parser] for parser in PARSERS]
            rows.append([treebank, size, *(said for point in row for said in (point, point.seconds))])
    _plot(points)
    about = (__doc__ or "").split("\n\n", 2)[2].strip()
    picture = f"![LAS against the number of annotated sentences]({PLOT.name})"
    told = "\n\n".join((f"{about}\n{NOTES} {note}".strip(), picture, table(HEADER, rows)))
    write_section(SECTION, "Accuracy from few annotated sentences", told)


def _plot(points: Points) -> None:
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(LANGUAGES), figsize=(13, 4), sharey=True)
    for axis, treebank in zip(axes, LANGUAGES, strict=True):
        for number, parser in enumerate(PARSERS):
            # A size that was not measured has no mark; a single draw has no band.
            own = {size: point for size in SIZES if (point := points[treebank, size, parser]).draws}
            means = [point.las for point in own.values()]
            around = [0 if math.isnan(point.deviation) else point.deviation for point in own.values()]
            axis.plot(list(own), means, marker="o", color=f"C{number}", label=parser)
            ends = ([m + sign * d for m, d in zip(means, around, strict=True)] for sign in (-1, 1))
            axis.fill_between(list(own), *ends, color=f"C{number}", alpha=0.15)
        axis.set(xscale="log", title=treebank, xlabel="annotated sentences", xticks=SIZES, xticklabels=SIZES)
        axis.minorticks_off()
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("LAS on test data (mean ± deviation)")
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
    arguments.add_argument("--peers", nargs="+", choices=PARSERS[1:], default=PARSERS[1:], help="which peers")
    arguments.add_argument("--sizes", nargs="+", type=int, choices=SIZES, default=SIZES, metavar="N")
    arguments.add_argument(
        "--note", default="", help="what a reader must know of how the peers were trained here"
    )
    given = arguments.parse_args()
    for treebank in LANGUAGES:
        if not (folder(treebank) / "test.conllu").exists():
            prepare(treebank)
    if not given.report:
        wanted = given.peers if given.peers_with else PARSERS[:1]
        cells = [
            Cell(parser, treebank, size, number)
            for number in range(given.draws)
            for size in given.sizes
            for treebank in LANGUAGES
            for parser in wanted
        ]
        missing = [cell for cell in cells if not cell.done]
        work = partial(train, python=given.peers_with or sys.executable)
        done = engine_from(arguments, given).map(work, missing, ordered=False)
        for place, _ in enumerate(done, 1):
            print(f"{place} of {len(missing)} trained", file=sys.stderr, flush=True)
    report(given.draws, given.note)


if __name__ == "__main__":
    main()
