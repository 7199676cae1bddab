"""Shared by all experiments: command-line options, and the results page with tables and plots.

The results of a page's cells lie in ``results/cells/NAME.jsonl``; the page is written from them alone.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from measuring.cell_file import Blessing, Cell, CellFile
from measuring.cells import RecordedCells
from measuring.inputs import treebank_hash
from measuring.measures import parse_name
from measuring.sources import code_hash, require_built
from measuring.tables import table
from measuring.trainings import Config, Training, run_all
from measuring.where import add_engine_options, engine_from

from arcwise.engine import Engine
from arcwise.graph import GraphConfig
from arcwise.neural import NeuralConfig
from arcwise.parsing.parser import ParseOptions
from arcwise.transition import TransitionConfig

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RESULTS = Path(__file__).parent / "results"
STALE = RESULTS / "stale.json"
"""Pages whose figures older code computed: their commits, and the hash of the page under its banner."""
PAGES = (
    "mcdonald2005",
    "koo2007",
    "smith2007",
    "bohnet2016",
    "gormley2013",
    "neural_objectives",
    "second_order",
)


@dataclass(frozen=True)
class Settings:
    """Settings of a run."""

    quick: bool
    """Run a tiny version within seconds, as a smoke test; its figures are meaningless."""
    engine: Engine
    """Engine that runs the trainings, and their number at a time."""
    report_only: bool
    """Write the page from recorded cells without computing any."""
    results: Path
    records: CellFile
    """The results of the cells."""
    deadline: float | None = None
    """Time after which no further cell starts."""

    def training(
        self,
        treebank: str,
        config: Config,
        *,
        all_columns: bool = False,
        sentences: int = 0,
        votes: TransitionConfig | None = None,
        measures: Iterable[str | ParseOptions] = (),
    ) -> Training:
        """A cell, reduced to a tiny one in the quick version.

        ``measures``: figures beside those of the parser's own parse of dev and test: names of
        ``measuring.measures``, or options of a parse of test.
        """
        training = Training(
            treebank,
            config,
            all_columns,
            sentences,
            votes,
            measures=tuple(parse_name(m) if isinstance(m, ParseOptions) else m for m in measures),
            records=self.records,
        )
        if not self.quick:
            return training
        return replace(training, config=_tiny(config), sentences=40, votes=_tiny(votes) if votes else None)

    def run(self, trainings: Iterable[Training]) -> None:
        """Run all trainings that are not recorded."""
        wanted = list(trainings)
        if not self.report_only:
            self._require_built(t.kind for t in wanted)
            run_all(wanted, engine=self.engine, deadline=self.deadline)
        self.require(t.treebank for t in wanted if not t.finished)

    def fill(self, cells: RecordedCells, wanted: Mapping[str, Callable[[], Any]]) -> None:
        """Compute all cells that are not recorded."""
        self._require_built([cells.kind])
        cells.fill(wanted, self.engine)
        self.require(cells.missing(wanted))

    def _require_built(self, kinds: Iterable[str]) -> None:
        if not (self.quick or self.report_only):
            require_built(kinds)

    def require(self, missing: Iterable[str]) -> None:
        """End the program if cells are missing."""
        names = list(missing)
        if not names:
            return
        if self.deadline is not None and not self.report_only:
            raise SystemExit(f"stopped by --budget with {len(names)} cells left: run again to continue")
        raise SystemExit(
            f"{len(names)} cells are missing or were computed by older code, the first on {names[0]}: "
            "run without --report, or see python -m experiments.bless"
        )

    def fact(self, function: Callable[..., Any], treebank: str, *arguments: object) -> Any:
        """A figure of a treebank (``measuring.inputs``), recorded like a cell."""
        name = f"{function.__name__} {treebank}"
        return _Facts("data", self.records).cell(name, partial(function, treebank, *arguments))


class _Facts(RecordedCells):
    """Figures of treebanks: the last word of a name is the treebank."""

    def data_hash(self, name: str) -> str | None:
        return treebank_hash(name.split()[-1])


ConfigT = TypeVar("ConfigT", GraphConfig, TransitionConfig, NeuralConfig)


def _tiny(config: ConfigT) -> ConfigT:
    if isinstance(config, GraphConfig):
        return replace(config, epochs=min(config.epochs, 2), arc_bits=14, row_bits=14)
    if isinstance(config, NeuralConfig):
        return replace(config, epochs=2, layers=1, hidden=16, arc_size=16, label_size=8, device="cpu")
    return replace(config, epochs=min(config.epochs, 2), move_bits=14, label_bits=12)


def add_page_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of every page."""
    parser.add_argument(
        "--quick", action="store_true", help="run a tiny version within seconds; its figures are meaningless"
    )
    add_engine_options(parser)
    parser.add_argument(
        "--report", action="store_true", help="write the page from recorded cells without computing any"
    )
    parser.add_argument(
        "--budget", type=float, metavar="MINUTES", help="start no further cell after this time"
    )
    parser.add_argument(
        "--output", type=Path, help="output folder of the page (default: experiments/results)"
    )


def settings(name: str, about: str | None, argv: Sequence[str] | None) -> Settings:
    """Parse the command line of an experiment."""
    parser = argparse.ArgumentParser(
        prog=f"python -m experiments.{name}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_page_options(parser)
    options = parser.parse_args(argv)
    if options.quick and options.output is None:
        parser.error("--quick does not replace the results page: pass a folder with --output")
    results = options.output or RESULTS
    records = cell_file(name, results if options.quick else RESULTS, read_only=options.report)
    deadline = None if options.budget is None else time.time() + 60 * options.budget
    return Settings(options.quick, engine_from(parser, options), options.report, results, records, deadline)


def cell_file(name: str, results: Path = RESULTS, *, read_only: bool = False) -> CellFile:
    """The recorded cells of a page."""
    return CellFile(results / "cells" / f"{name}.jsonl", read_only)


class Page:
    """A results page in Markdown, with its plots next to it."""

    def __init__(self, name: str, title: str, options: Settings) -> None:
        self.name, self.title, self.options = name, title, options
        self._parts: list[str] = []

    def heading(self, text: str) -> None:
        self._parts.append(f"## {text}\n")

    def text(self, text: str) -> None:
        self._parts.append(text.strip() + "\n")

    def table(self, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        self._parts.append(table(header, rows))

    def picture(self, name: str, axes: Axes, about: str) -> None:
        """Save the figure of ``axes`` as PNG and link it here."""
        from matplotlib import pyplot

        figure = axes.figure
        self.options.results.mkdir(parents=True, exist_ok=True)
        path = self.options.results / f"{self.name}-{name}.png"
        figure.savefig(path, dpi=120, bbox_inches="tight")  # type: ignore[union-attr]
        pyplot.close(figure)  # type: ignore[arg-type]
        self._parts.append(f"![{about}]({self.name}-{name}.png)\n")

    def close(self, differences: str, findings: str, *, about: str = "the paper") -> Path:
        """Add the differences from the paper and the findings, and write the page.

        The quick version reports no findings, since its figures are meaningless.
        """
        self.heading(f"Differences from {about}")
        self.text(differences)
        self.heading("Findings")
        self.text("The quick version supports no findings." if self.options.quick else findings)
        return self._write()

    def _write(self) -> Path:
        records = self.options.records
        head = f"# {self.title}\n\n`python -m experiments.{self.name}` · {origin(records)}\n"
        self.options.results.mkdir(parents=True, exist_ok=True)
        path = self.options.results / f"{self.name}.md"
        path.write_text("\n".join([head, *self._parts]))
        if self.options.results == RESULTS:
            records.keep_used()
            no_longer_stale(self.name)
        return path


def origin(records: CellFile) -> str:
    """Where the figures of a page come from: dates, machines, commits, the hash of the sources of each kind
    of cell, and blessings.
    """
    cells = list(records.used.values())
    dates = sorted({cell.date for cell in cells}) or ["no cells"]
    parts = [dates[0] if dates[0] == dates[-1] else f"{dates[0]} to {dates[-1]}"]
    parts.append("; ".join(sorted({cell.machine for cell in cells})))
    parts.append("commits " + ", ".join(sorted({cell.commit for cell in cells})))
    kinds = sorted({cell.kind for cell in cells})
    parts.append("sources " + ", ".join(f"{kind} `{code_hash(kind)}`" for kind in kinds))
    blessings = [b for b in records.blessings if _counts(b, cells, records)]
    if not blessings:
        return " · ".join(parts)
    return " · ".join(parts) + "\n\n" + "\n".join(_blessing_line(b) for b in blessings)


def _counts(blessing: Blessing, cells: Iterable[Cell], records: CellFile) -> bool:
    """Whether a cell of the page is current because of a blessing."""
    return any(
        cell.kind == blessing.kind
        and cell.code != code_hash(cell.kind)
        and blessing.before in records.blessed(cell)
        for cell in cells
    )


def _blessing_line(blessing: Blessing) -> str:
    return (
        f"- Sources of {blessing.kind} changed from `{blessing.before}` to `{blessing.after}`: "
        f"{len(blessing.sample)} of {blessing.cells} cells computed again on {blessing.date} "
        f"({blessing.machine}) have the same figures to the digit."
    )


def stale_pages() -> dict[str, dict[str, str]]:
    """Pages whose figures older code computed."""
    pages: dict[str, dict[str, str]] = json.loads(STALE.read_text())
    return pages


def no_longer_stale(name: str) -> None:
    """Take a page that was written from current cells off the list."""
    pages = stale_pages()
    if pages.pop(name, None) is not None:
        STALE.write_text(json.dumps(pages, indent=2) + "\n")


def banner(commits: str) -> str:
    """The first lines of a page with figures of older code."""
    return (
        f"> **These figures were computed by older code (commits {commits}) and are being recomputed:** "
        "since then training and inference have changed.\n"
        "> Findings are withheld until then.\n\n"
    )


def page_hash(text: str) -> str:
    """The hash of a page's text, to notice edits by hand."""
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def percent(share: float) -> str:
    """A fraction in per cent, two digits."""
    return f"{100 * share:.2f}"


def p_value(p: float) -> str:
    """A p-value, formatted for reading."""
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"
