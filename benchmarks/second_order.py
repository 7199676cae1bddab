"""Second-order inference and parsing: arcwise and SuPar, orders 1 and 2, certificates of the best trees.

    python -m benchmarks.second_order --speed | --table | --train TREEBANK [--kind linear] [--order 2]

``--speed`` compares Eisner with siblings with SuPar's CRF2o (``pip install --no-deps supar`` after
torch==2.13.0) on one core and writes a section of RESULTS.md. ``--table`` writes the section of the parsers
from the cells of ``experiments.second_order``. ``--train`` trains one parser with other options and prints
its figures as JSON; it needs ARCWISE_TREEBANKS.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from measuring.cell_file import Cell, CellFile
from measuring.second_order import PARSERS, data_of, measured, processor_seconds
from measuring.tables import table

from arcwise.factors import (
    FactoredTreeDistribution,
    Siblings,
    eisner_siblings_decode,
    eisner_siblings_marginals,
)
from arcwise.learning.config import from_dict, to_dict
from benchmarks.peers.gpu_trees import supar_siblings
from benchmarks.report import write_section

Floats = npt.NDArray[np.float64]

LENGTHS = (25, 100)
CELLS = Path(__file__).parents[1] / "experiments" / "results" / "cells" / "second_order.jsonl"


# ---- speed of inference


def inputs(n: int, count: int) -> list[tuple[Floats, Floats]]:
    """Random scores of arcs and siblings of ``count`` sentences."""
    rng = np.random.default_rng(n)
    return [(rng.normal(size=(n + 1, n + 1)), rng.normal(size=(n + 1,) * 3)) for _ in range(count)]


def distribution(arcs: Floats, siblings: Floats) -> FactoredTreeDistribution:
    """Scores as a distribution takes them: checked, those of arcs copied."""
    return FactoredTreeDistribution(arcs, factors=[Siblings(siblings)], projective=True, single_root=True)


def supar_operations(n: int, count: int) -> dict[str, Callable[[], object]]:
    """The operations of SuPar's CRF2o on a batch of random scores."""
    import torch

    distribution = supar_siblings()
    torch.set_num_threads(1)
    arcs, siblings = (torch.tensor(np.stack(part)).float() for part in zip(*inputs(n, count), strict=True))
    lengths = torch.full((count,), n)

    def crf() -> Any:
        return distribution((arcs.clone(), siblings.clone()), lengths)

    return {"best tree": lambda: crf().argmax, "marginals of arcs": lambda: crf().marginals}


def arcwise_operations(n: int, count: int) -> dict[str, tuple[Callable[[], object], Callable[[], object]]]:
    """The same operations of arcwise, from arrays, checks included: functions, and distributions."""
    sentences = inputs(n, count)

    def each(compute: Callable[[Floats, Floats], object]) -> Callable[[], object]:
        return lambda: [compute(*sentence) for sentence in sentences]

    return {
        "best tree": (
            each(lambda arcs, siblings: eisner_siblings_decode(arcs, siblings, single_root=True)),
            each(lambda arcs, siblings: distribution(arcs, siblings).best()),
        ),
        "marginals of arcs": (
            each(lambda arcs, siblings: eisner_siblings_marginals(arcs, siblings, single_root=True)),
            each(lambda arcs, siblings: distribution(arcs, siblings).marginals),
        ),
    }


def speed_rows(lengths: Sequence[int] = LENGTHS, repeat: int = 15) -> list[list[object]]:
    """Microseconds per sentence; the peer in the batch size that is faster for it."""
    rows: list[list[object]] = []
    for n in lengths:
        count = 32 if n <= 25 else 8
        ours, theirs = arcwise_operations(n, 4), supar_operations(n, count)
        for name, (function, method) in ours.items():
            contenders = {"function": function, "method": method, "SuPar": theirs[name]}
            seconds = processor_seconds(contenders, repeat)
            other = seconds.pop("SuPar") / count
            own = [seconds[kind] / 4 for kind in seconds]
            times = [f"{1e6 * value:,.3g}" if value < 1e-4 else f"{1e6 * value:,.0f}" for value in own]
            rows.append(
                [n, name, *times, f"{1e6 * other:,.0f}", *(f"{other / value:,.0f} ×" for value in own)]
            )
    return rows


def speed() -> None:
    """Measure and write the section of inference."""
    rows = speed_rows()
    body = (
        "Projective trees with sibling scores, random, one core, µs of processor time per sentence: best "
        "tree, and marginals of arcs. arcwise sentence by sentence from numpy arrays in double precision: "
        "`eisner_siblings_decode` and `eisner_siblings_marginals` (arrays), and `FactoredTreeDistribution` "
        "(distribution); SuPar's `Dependency2oCRF` in batches of 32 and 8, `.argmax` and `.marginals`, in "
        "single precision.\n\n"
    ) + table(
        ["n", "operation", "arrays", "distribution", "SuPar", "arrays: faster by", "distribution: faster by"],
        rows,
    )
    write_section("second-order-speed", "Second-order inference", body, module="second_order")
    print(body)


# ---- parsers


def trained(treebank: str, kind: str, order: int, changes: dict[str, Any]) -> dict[str, Any]:
    """Train one parser with other options and measure it."""
    parser_type, config = PARSERS[kind, order]
    config = from_dict(type(config), to_dict(config) | changes, where="--set")
    data = data_of(treebank)
    result = measured(parser_type.train(data["train"], data["dev"], config=config), data)
    del result["arcs right"], result["sentence lengths"]
    return {"treebank": treebank, "kind": kind, "order": order, **changes, **result}


def parsed_settings(pairs: Sequence[str]) -> dict[str, Any]:
    """NAME=VALUE, values as JSON where they are."""
    values: dict[str, Any] = {}
    for pair in pairs:
        name, _, text = pair.partition("=")
        try:
            values[name] = json.loads(text)
        except json.JSONDecodeError:
            values[name] = text
    return values


def parser_rows(cells: Sequence[Cell]) -> list[list[object]]:
    """Accuracy, speed and certificates of each cell, in the order of treebanks and parsers."""
    kinds = list(PARSERS)

    def place(cell: Cell) -> tuple[str, int, int]:
        treebank, kind, order, seed, _ = cell.spec["arguments"]
        return treebank, kinds.index((kind, order)), seed

    rows: list[list[object]] = []
    for cell in sorted(cells, key=place):
        treebank, kind, order, seed, _ = cell.spec["arguments"]
        result = cell.figures["result"]
        scores = [result["dev"]["LAS"], *(result["test"][name] for name in ("UAS", "LAS", "exact"))]
        proofs = result.get("proofs")
        rows.append(
            [
                treebank,
                kind,
                order,
                seed,
                *(f"{100 * score:.2f}" for score in scores),
                f"{cell.resources['words/s']:,.0f}",
                f"{100 * proofs['before branching']:.1f} / {100 * proofs['optimal']:.1f}" if proofs else "–",
                f"{cell.resources['slowest proof']:.2f}" if proofs else "–",
            ]
        )
    return rows


def write_table() -> None:
    """Write the section of the parsers from recorded cells."""
    cells = CellFile(CELLS, read_only=True)
    current = [cell for cell in cells if cells.is_current(cell)]
    if not current:
        raise SystemExit(f"{CELLS} has no cells of the present code: python -m experiments.second_order")
    header = ["treebank", "parser", "order", "seed", "dev LAS", "UAS", "LAS", "exact", "words/s"]
    body = (
        "Forms and gold UPOS, default options of each order; `crossing`: linear, trained with crossing arcs. "
        "Test scores in per cent, exact: sentences whose heads are all right; words per second of processor "
        "time on one core. Proven: share of 400 development sentences whose best tree, crossing arcs "
        "allowed, 200 rounds of dual decomposition prove, and share proven after branching; s: processor "
        "seconds of the slowest.\n\n"
    ) + table([*header, "proven, %", "s"], parser_rows(current))
    write_section("second-order-parsers", "Second-order parsers", body, module="second_order")
    print(body)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--speed", action="store_true")
    action.add_argument("--table", action="store_true")
    action.add_argument("--train", metavar="TREEBANK")
    parser.add_argument("--kind", default="linear", choices=sorted({kind for kind, _ in PARSERS}))
    parser.add_argument("--order", type=int, default=2, choices=(1, 2))
    parser.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="options of the parser")
    options = parser.parse_args()
    if options.speed:
        speed()
    elif options.table:
        write_table()
    else:
        changes = parsed_settings(options.set)
        print(json.dumps(trained(options.train, options.kind, options.order, changes)), flush=True)


if __name__ == "__main__":
    main()
