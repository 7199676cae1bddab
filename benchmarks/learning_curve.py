"""Accuracy against the number of annotated sentences (20 to 1,000): arcwise, UDPipe and spaCy.

    python -m benchmarks.learning_curve [--draws 10] [--sizes N …] [--jobs N] [--report]
    python -m benchmarks.learning_curve --peers-with PYTHON [--peers NAME …] [--draws N] [--sizes N …] [--jobs
    N]
        trains the peers, with an interpreter that has them installed

Simulates a project with N annotated sentences and no other data: each parser gets the same N sentences drawn
from the training data (forms, UPOS, FEATS, trees) and is trained with its documented command. arcwise:
``arcwise train --train F --model M``. UDPipe: the options its authors publish for the language, on all N
sentences. spaCy: ``spacy init config`` (``--optimize efficiency``, its default) and ``spacy train``, which
needs development data: four fifths for training, one fifth for model selection. Test data, gold columns,
label subtypes cut.
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
Mean LAS over draws ± standard deviation (number of draws; fewer for a peer whose training takes many
minutes), and mean training time. Cells whose trainings are no longer cached keep the figures of an
earlier run, unless a later run has as many draws. Times of arcwise are from this machine; times of
peers are from the machine that trained them, with all cores busy."""


@dataclass(frozen=True)
class Cell:
    """One parser trained on one draw."""

    parser: str
    treebank: str
    size: int
    draw: int

    @property
    def place(self) -> Path:
        """Cache file of the result."""
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
    """Train and parse, caching the result."""
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
    """Run ``arcwise train`` on the sentences alone, then ``arcwise parse``."""
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
    """One cell of the table: LAS over draws and mean training time."""

    las: float = math.nan
    deviation: float = math.nan
    """Standard deviation; nan with fewer than two draws."""
    draws: int = 0
    seconds: str = NOTHING

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> Point:
        """Summarise trainings."""
        if not cells:
            return cls()
        scores, times = [cell.las for cell in cells], [t for cell in cells if (t := cell.seconds) is not None]
        deviation = statistics.stdev(scores) if len(scores) > 1 else math.nan
        seconds = f"{statistics.fmean(times):.0f}" if times else NOTHING
        return cls(statistics.fmean(scores), deviation, len(scores), seconds)

    @classmethod
    def read(cls, las: str, seconds: str) -> Point:
        """Parse the two cells of a table row."""
        match = re.fullmatch(r"([\d.]+)(?: ± ([\d.]+))? \((\d+)\)", las)
        return cls(float(match[1]), float(match[2] or "nan"), int(match[3]), seconds) if match else cls()

    def merged_with(self, earlier: Point) -> Point:
        """Return the point with more draws (this one if equal), taking a missing time from the other."""
        if earlier.draws > self.draws:
            return earlier
        return replace(self, seconds=earlier.seconds) if self.seconds == NOTHING else self

    def __str__(self) -> str:
        if not self.draws:
            return NOTHING
        deviation = "" if math.isnan(self.deviation) else f" ± {self.deviation:.1f}"
        return f"{self.las:.1f}{deviation} ({self.draws})"


Points = Mapping[tuple[str, int, str], Point]
"""By treebank, number of sentences and parser."""


def written(results: str) -> dict[tuple[str, int, str], Point]:
    """Read the points in RESULTS.md."""
    return {
        (treebank, int(size), parser): Point.read(*cells[2 * place : 2 * place + 2])
        for treebank, size, *cells in table_rows(SECTION, HEADER, results)
        for place, parser in enumerate(PARSERS)
    }


def trained(draws: int) -> dict[tuple[str, int, str], Point]:
    """Collect the points of cached trainings."""
    return {
        (treebank, size, parser): Point.of(
            [c for n in range(draws) if (c := Cell(parser, treebank, size, n)).done]
        )
        for treebank in LANGUAGES
        for size in SIZES
        for parser in PARSERS
    }


def report(draws: int, note: str = "") -> None:
    """Write the section of RESULTS.md; ``note`` is appended to the description."""
    before = written(RESULTS.read_text())
    points = {place: point.merged_with(before.get(place, Point())) for place, point in trained(draws).items()}
    rows: list[list[object]] = []
    for treebank in LANGUAGES:
        for size in SIZES:
            row = [points[treebank, size, parser] for parser in PARSERS]
            rows.append([treebank, size, *(cell for point in row for cell in (point, point.seconds))])
    about = (__doc__ or "").split("\n\n", 2)[2].strip()
    picture = f"![LAS against the number of annotated sentences]({PLOT.name})"
    body = "\n\n".join((f"{about}\n{NOTES} {note}".strip(), picture, table(HEADER, rows)))
    write_section(SECTION, "Accuracy from few annotated sentences", body)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--draws", type=int, default=10)
    add_engine_options(parser)
    parser.add_argument("--report", action="store_true", help="report cached results without training")
    parser.add_argument(
        "--peers-with",
        metavar="PYTHON",
        help="train the peers instead of arcwise, with this Python interpreter",
    )
    parser.add_argument("--peers", nargs="+", choices=PARSERS[1:], default=PARSERS[1:], help="peers to train")
    parser.add_argument("--sizes", nargs="+", type=int, choices=SIZES, default=SIZES, metavar="N")
    parser.add_argument(
        "--note", default="", help="note on how the peers were trained, appended to the section"
    )
    options = parser.parse_args()
    for treebank in LANGUAGES:
        if not (folder(treebank) / "test.conllu").exists():
            prepare(treebank)
    if not options.report:
        wanted = options.peers if options.peers_with else PARSERS[:1]
        cells = [
            Cell(name, treebank, size, number)
            for number in range(options.draws)
            for size in options.sizes
            for treebank in LANGUAGES
            for name in wanted
        ]
        missing = [cell for cell in cells if not cell.done]
        work = partial(train, python=options.peers_with or sys.executable)
        done = engine_from(parser, options).map(work, missing, ordered=False)
        for place, _ in enumerate(done, 1):
            print(f"{place} of {len(missing)} trained", file=sys.stderr, flush=True)
    report(options.draws, options.note)


if __name__ == "__main__":
    main()
