"""What all experiments share: their options, and the page of tables and plots that each writes."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from measuring.tables import machine, table
from measuring.trainings import Config, Training, run_all
from measuring.where import add_engine_options, engine_from

from arcwise.engine import Engine
from arcwise.graph import GraphConfig
from arcwise.neural import NeuralConfig
from arcwise.transition import TransitionConfig

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RESULTS = Path(__file__).parent / "results"


@dataclass(frozen=True)
class Settings:
    """How an experiment is run."""

    quick: bool
    """A tiny version, in seconds: does everything run? Its figures mean nothing."""
    engine: Engine
    """Where trainings are done, and how many at a time."""
    report_only: bool
    """Train nothing: write the page from the cells that are there."""
    results: Path

    def training(
        self,
        treebank: str,
        config: Config,
        *,
        all_columns: bool = False,
        sentences: int = 0,
        votes: TransitionConfig | None = None,
    ) -> Training:
        """A cell; in the quick version a tiny one."""
        if not self.quick:
            return Training(treebank, config, all_columns, sentences, votes)
        return Training(treebank, _tiny(config), all_columns, 40, _tiny(votes) if votes else None)

    def run(self, trainings: Iterable[Training]) -> None:
        """Do the trainings, those that are done left out."""
        wanted = list(trainings)
        if not self.report_only:
            run_all(wanted, engine=self.engine)
        missing = [t.treebank for t in wanted if t.trained is None]
        if missing:
            raise SystemExit(
                f"{len(missing)} trainings are not done, the first on {missing[0]}: run without --report"
            )


ConfigT = TypeVar("ConfigT", GraphConfig, TransitionConfig, NeuralConfig)


def _tiny(config: ConfigT) -> ConfigT:
    if isinstance(config, GraphConfig):
        return replace(config, epochs=min(config.epochs, 2), arc_bits=14, row_bits=14)
    if isinstance(config, NeuralConfig):
        return replace(config, epochs=2, layers=1, hidden=16, arc_size=16, label_size=8, device="cpu")
    return replace(config, epochs=min(config.epochs, 2), move_bits=14, label_bits=12)


def settings(name: str, about: str | None, arguments: Sequence[str] | None) -> Settings:
    """The options of a script, from its command line."""
    parser = argparse.ArgumentParser(
        prog=f"python -m experiments.{name}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--quick", action="store_true", help="a tiny version, in seconds, whose figures mean nothing"
    )
    add_engine_options(parser)
    parser.add_argument(
        "--report", action="store_true", help="train nothing: write the page from the cells that are there"
    )
    parser.add_argument("--output", type=Path, help="folder of the page (default experiments/results)")
    given = parser.parse_args(arguments)
    if given.quick and given.output is None:
        parser.error("--quick writes no page of results: name a folder with --output")
    return Settings(given.quick, engine_from(parser, given), given.report, given.output or RESULTS)


class Page:
    """A page of results, written as Markdown with its pictures beside it."""

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
        """Save the figure of ``axes`` as PNG and show it here."""
        from matplotlib import pyplot

        figure = axes.figure
        self.options.results.mkdir(parents=True, exist_ok=True)
        figure.savefig(self.options.results / f"{self.name}-{name}.png", dpi=120, bbox_inches="tight")  # type: ignore[union-attr]
        pyplot.close(figure)  # type: ignore[arg-type]
        self._parts.append(f"![{about}]({self.name}-{name}.png)\n")

    def close(
        self,
        differences: str,
        findings: str,
        commits: Iterable[str],
        *,
        about: str = "the paper",
        machines: Iterable[str] = (),
    ) -> Path:
        """End with what differs from the paper and which of its findings hold, and write the page.

        In the quick version, whose figures mean nothing, nothing is said to hold. ``machines``: where cells were computed, if they say so.
        """
        self.heading(f"What differs from {about}")
        self.text(differences)
        self.heading("Which findings hold")
        self.text("Nothing can be said from the quick version." if self.options.quick else findings)
        return self._write(commits, machines)

    def _write(self, commits: Iterable[str], machines: Iterable[str]) -> Path:
        """With command, date, machine and the code that made the cells."""
        date = datetime.now(timezone.utc).date().isoformat()
        made = ", ".join(sorted(set(commits)))
        head = f"# {self.title}\n\n`python -m experiments.{self.name}` · {date} · {machine()}"
        elsewhere = sorted(set(machines) - {"", machine()})
        head += f" · cells of {'; '.join(elsewhere)}" if elsewhere else ""
        head += f" · code at {made}\n" if made else "\n"
        self.options.results.mkdir(parents=True, exist_ok=True)
        path = self.options.results / f"{self.name}.md"
        path.write_text("\n".join([head, *self._parts]))
        return path


def percent(share: float) -> str:
    """A share in percent, two digits."""
    return f"{100 * share:.2f}"


def p_value(p: float) -> str:
    """A p-value as one reads it."""
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"
