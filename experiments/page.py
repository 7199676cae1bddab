"""Shared by all experiments: command-line options, and the results page with tables and plots."""

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
    """Settings of a run."""

    quick: bool
    """Run a tiny version within seconds, as a smoke test; its figures are meaningless."""
    engine: Engine
    """Engine that runs the trainings, and their number at a time."""
    report_only: bool
    """Write the page from cached cells without training."""
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
        """A cell, reduced to a tiny one in the quick version."""
        if not self.quick:
            return Training(treebank, config, all_columns, sentences, votes)
        return Training(treebank, _tiny(config), all_columns, 40, _tiny(votes) if votes else None)

    def run(self, trainings: Iterable[Training]) -> None:
        """Run all trainings that are not cached."""
        wanted = list(trainings)
        if not self.report_only:
            run_all(wanted, engine=self.engine)
        missing = [t.treebank for t in wanted if t.trained is None]
        if missing:
            raise SystemExit(
                f"{len(missing)} trainings are missing, the first on {missing[0]}: run without --report"
            )


ConfigT = TypeVar("ConfigT", GraphConfig, TransitionConfig, NeuralConfig)


def _tiny(config: ConfigT) -> ConfigT:
    if isinstance(config, GraphConfig):
        return replace(config, epochs=min(config.epochs, 2), arc_bits=14, row_bits=14)
    if isinstance(config, NeuralConfig):
        return replace(config, epochs=2, layers=1, hidden=16, arc_size=16, label_size=8, device="cpu")
    return replace(config, epochs=min(config.epochs, 2), move_bits=14, label_bits=12)


def settings(name: str, about: str | None, argv: Sequence[str] | None) -> Settings:
    """Parse the command line of an experiment."""
    parser = argparse.ArgumentParser(
        prog=f"python -m experiments.{name}",
        description=about,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "--quick", action="store_true", help="run a tiny version within seconds; its figures are meaningless"
    )
    add_engine_options(parser)
    parser.add_argument(
        "--report", action="store_true", help="write the page from cached cells without training"
    )
    parser.add_argument(
        "--output", type=Path, help="output folder of the page (default: experiments/results)"
    )
    options = parser.parse_args(argv)
    if options.quick and options.output is None:
        parser.error("--quick does not replace the results page: pass a folder with --output")
    return Settings(options.quick, engine_from(parser, options), options.report, options.output or RESULTS)


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

    def close(
        self,
        differences: str,
        findings: str,
        commits: Iterable[str],
        *,
        about: str = "the paper",
        machines: Iterable[str] = (),
    ) -> Path:
        """Add the differences from the paper and the findings, and write the page.

        The quick version reports no findings, since its figures are meaningless. ``machines``: where cells
        were computed, if recorded.
        """
        self.heading(f"Differences from {about}")
        self.text(differences)
        self.heading("Findings")
        self.text("The quick version supports no findings." if self.options.quick else findings)
        return self._write(commits, machines)

    def _write(self, commits: Iterable[str], machines: Iterable[str]) -> Path:
        """Write the page with command, date, machine and the code version of the cells."""
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
    """A fraction in per cent, two digits."""
    return f"{100 * share:.2f}"


def p_value(p: float) -> str:
    """A p-value, formatted for reading."""
    return "< 0.0001" if p < 0.0001 else f"{p:.4f}"
