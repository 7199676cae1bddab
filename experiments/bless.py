"""Bless a page after a change of the sources that cannot move its figures, such as a renamed function.

Computes a sample of the page's cells again, at least one for each kind of cell, and compares every figure to
the last digit. If all are the same, the page's cells count as computed by the present code, and the page says
so. Otherwise nothing changes, and the differences are listed: the page has to be recomputed.

    python -m experiments.bless mcdonald2005 --cells 3
"""

from __future__ import annotations

import argparse
import importlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from typing import Any

import numpy as np
from measuring.cell_file import Blessing, Cell, CellFile, differences
from measuring.cells import recompute
from measuring.inputs import treebank_hash
from measuring.sources import code_hash, require_built
from measuring.tables import machine
from measuring.trainings import Training

from experiments.page import PAGES, cell_file, settings

Computations = Mapping[str, Callable[[], Any]]
CELLS = 2
TIMED = re.compile(r"-\d[\d.]*s(-|$)")
"""Cells that a time limit ends, by name: what they reach differs from run to run."""


@dataclass(frozen=True)
class Group:
    """The cells of a kind that the same older sources computed."""

    kind: str
    code: str
    cells: tuple[Cell, ...]


def old_groups(records: CellFile) -> Iterator[Group]:
    """The cells that are not current."""
    old = [cell for cell in records if not records.is_current(cell)]
    for kind, code in sorted({(cell.kind, cell.code) for cell in old}):
        yield Group(kind, code, tuple(cell for cell in old if (cell.kind, cell.code) == (kind, code)))


def sample(group: Group, count: int, seed: int) -> list[Cell]:
    """Draw cells, cheap ones more often; of two or more, one is not among the cheaper half."""
    cells = sorted((cell for cell in group.cells if _comparable(cell)), key=_seconds)
    if not cells:
        return []
    random = np.random.default_rng(seed)
    weights = np.array([1 / (1 + _seconds(cell)) for cell in cells])
    count = min(count, len(cells))
    places = random.choice(len(cells), count, replace=False, p=weights / weights.sum()).tolist()
    if count > 1 and max(places) < len(cells) // 2:
        places[-1] = int(random.integers(len(cells) // 2, len(cells)))
    return [cells[place] for place in places]


def _seconds(cell: Cell) -> float:
    return cell.resources.get("seconds", 0.0)


def _comparable(cell: Cell) -> bool:
    return not TIMED.search(str(cell.spec.get("name", "")))


def computed_again(cell: Cell, computations: Computations) -> Cell:
    """The same computation with the present sources."""
    if "config" not in cell.spec:
        return recompute(cell, computations)
    training = replace(Training.from_json(cell.spec), measures=tuple(cell.figures.keys() - {"dev", "test"}))
    if treebank_hash(training.treebank) != cell.data:
        raise SystemExit(f"{training.treebank} is missing, or is not the treebank of the page's cells")
    training.run()
    again = training.cell
    assert again is not None
    return again


def bless(
    records: CellFile, computations: Computations, *, count: int = CELLS, seed: int = 1
) -> list[Blessing]:
    """Compare samples of all old cells; add and return the blessings, or end with the differences."""
    blessings, problems = [], []
    samples = [(group, sample(group, count, seed)) for group in old_groups(records)]
    compared: set[str] = set()
    for group, drawn in samples:
        if not drawn:
            # Other code of the same kind, before or after, stands for a group that only time limits ended.
            drawn = next((cells for other, cells in samples if other.kind == group.kind and cells), [])
        if not drawn:
            problems.append(f"{group.kind}: no cell can be compared, since time limits end all of them")
        for cell in drawn:
            if cell.key in compared:
                continue
            compared.add(cell.key)
            print(f"… {_title(cell)}", flush=True)
            again = computed_again(cell, computations)
            figures = {name: value for name, value in again.figures.items() if name in cell.figures}
            problems += [f"{_title(cell)}: {line}" for line in differences(cell.figures, figures)]
        date = datetime.now(timezone.utc).date().isoformat()
        keys = tuple(cell.key for cell in drawn)
        blessings.append(
            Blessing(group.kind, group.code, code_hash(group.kind), keys, len(group.cells), date, machine())
        )
    if problems:
        raise SystemExit("\n".join(["not blessed: figures have moved; compute the page again", *problems]))
    records.bless(blessings)
    return blessings


def _title(cell: Cell) -> str:
    return f"{cell.kind} {cell.key} ({cell.spec.get('treebank') or cell.spec.get('name')})"


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m experiments.bless",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("page", choices=PAGES)
    parser.add_argument("--cells", type=int, default=CELLS, help=f"cells of each kind (default {CELLS})")
    parser.add_argument("--seed", type=int, default=1, help="seed of the sample (default 1)")
    options = parser.parse_args(argv)
    if options.cells < 1:
        parser.error("--cells: found less than one, expected at least one cell of each kind")
    records = cell_file(options.page)
    if not list(records):
        raise SystemExit(f"{records.path} has no cells: python -m experiments.{options.page}")
    module = importlib.import_module(f"experiments.{options.page}")
    computations: Computations = {}
    if hasattr(module, "computations"):
        computations = module.computations(settings(options.page, None, ["--report"]))
    require_built(group.kind for group in old_groups(records))
    for blessing in bless(records, computations, count=options.cells, seed=options.seed):
        print(f"{blessing.kind}: {len(blessing.sample)} of {blessing.cells} cells, all figures the same")
    module.main(["--report"])


if __name__ == "__main__":
    main()
