"""Parsers of first and second order, after McDonald & Pereira 2006, Koo et al. 2010 and Zhang et al. 2020.

Linear parsers with MIRA, whose second order scores adjacent siblings, trained on projective trees and with
crossing arcs; neural parsers, whose second order is a tree CRF with siblings. Four treebanks, forms and gold
UPOS. ``--small`` also trains small neural parsers (half an hour on two CPU cores), ``--neural`` those of the
default size, which takes a GPU; without these options the page shows the ones that are recorded. A report
names the parsers that are missing.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from measuring.cell_file import unpacked
from measuring.cells import RecordedCells
from measuring.inputs import treebank_hash
from measuring.second_order import PROVEN_SENTENCES, figures

from arcwise.evaluation.significance import permutation_test
from experiments.page import Page, Settings, p_value, percent, settings
from experiments.sentences import listed, points, verdict

LANGUAGES = ("English-EWT", "Turkish-IMST", "Danish-CDT", "Dutch-Alpino-cdbl")
NEURAL_LANGUAGES = ("Turkish-IMST", "Danish-CDT")
NEURAL_SEEDS = (1, 2, 3)
OPTIONS = {"small": "--small", "neural": "--neural"}
"""Kinds of neural parsers and the options that train them."""
PARSERS = {
    ("linear", 1): "linear, order 1",
    ("linear", 2): "linear, order 2",
    ("crossing", 2): "linear, order 2, crossing arcs in training",
    ("small", 1): "small neural, order 1",
    ("small", 2): "small neural, order 2",
    ("neural", 1): "neural, order 1",
    ("neural", 2): "neural, order 2",
}
SCORES = ("UAS", "LAS", "exact", "sibling precision", "sibling recall", "long arcs")
Key = tuple[str, str, int, int]
"""Treebank, kind, order, seed."""


class Cells(RecordedCells):
    """The parsers of one source of figures: linear or neural."""

    def __init__(self, options: Settings, *, neural: bool) -> None:
        kind = "neural+siblings" if neural else "graph+siblings"
        super().__init__(kind, options.records, deadline=options.deadline)
        size = "tiny" if options.quick else "full"
        keys: list[Key] = [
            (treebank, kind, order, seed)
            for kind, order in PARSERS
            if (kind in OPTIONS) == neural
            for treebank in (NEURAL_LANGUAGES if neural else LANGUAGES)
            for seed in (NEURAL_SEEDS[:1] if options.quick or not neural else NEURAL_SEEDS)
        ]
        self.computations: dict[Key, tuple[str, Callable[[], Any]]] = {
            key: (" ".join(map(str, key)), partial(figures, *key, size)) for key in keys
        }

    def data_hash(self, name: str) -> str | None:
        return treebank_hash(name.split()[0])

    @property
    def wanted(self) -> dict[str, Callable[[], Any]]:
        """Name of each cell → its computation."""
        return dict(self.computations.values())

    def of_kinds(self, kinds: Iterable[str]) -> dict[str, Callable[[], Any]]:
        """The cells of some kinds of parsers."""
        return dict(named for (_, kind, *_), named in self.computations.items() if kind in set(kinds))

    def results(self) -> dict[Key, dict[str, Any]]:
        """The figures of all recorded cells, with their resources."""
        missing = set(self.missing(self.wanted))
        return {
            key: self.cell(name, compute) | {"resources": self.resources(name, compute)}
            for key, (name, compute) in self.computations.items()
            if name not in missing
        }


Results = Mapping[Key, dict[str, Any]]


def seeds_of(results: Results, treebank: str, parser: tuple[str, int]) -> list[dict[str, Any]]:
    """The figures of a parser on a treebank, one for each seed."""
    return [result for (name, *which, _), result in results.items() if (name, *which) == (treebank, *parser)]


def mean(values: Iterable[float]) -> float:
    """The mean, of one value or more."""
    return float(np.mean(list(values)))


def each_parser(results: Results) -> list[tuple[str, tuple[str, int], list[dict[str, Any]]]]:
    """Treebanks and parsers that have figures, with these."""
    rows = [(t, parser, seeds_of(results, t, parser)) for t in LANGUAGES for parser in PARSERS]
    return [row for row in rows if row[2]]


def absent(results: Results, wanted: Iterable[Key]) -> str:
    """The parsers without figures, each with its treebanks."""
    treebanks: dict[tuple[str, int], dict[str, None]] = {}
    for treebank, kind, order, seed in wanted:
        if (treebank, kind, order, seed) not in results:
            treebanks.setdefault((kind, order), {})[treebank] = None
    return "; ".join(f"{PARSERS[parser]}: {listed([*names])}" for parser, names in treebanks.items())


def accuracy_rows(results: Results) -> list[list[object]]:
    """Scores on test, the mean over seeds, and the p-value against order 1."""
    rows: list[list[object]] = []
    for treebank, parser, runs in each_parser(results):
        scores = [percent(mean(run["test"][score] for run in runs)) for score in SCORES]
        compared = parser[1] == 2 and bool(seeds_of(results, treebank, first_order(parser)))
        p = p_value(significance(results, treebank, parser)) if compared else ""
        rows.append([treebank, PARSERS[parser], len(runs), *scores, p])
    return rows


def right_arcs(run: Mapping[str, Any]) -> np.ndarray:
    """Labelled arcs of each test sentence that are right."""
    ends = np.cumsum(unpacked(run["sentence lengths"]))
    return np.diff(np.concatenate([[0], np.cumsum(unpacked(run["arcs right"]))])[ends], prepend=0)


def first_order(parser: tuple[str, int]) -> tuple[str, int]:
    """The parser of order 1 to compare with."""
    return (parser[0] if parser[0] in OPTIONS else "linear", 1)


def significance(results: Results, treebank: str, parser: tuple[str, int]) -> float:
    """The p-value of the difference in labelled arcs from order 1, over the sentences of all seeds."""
    one, two = (seeds_of(results, treebank, which) for which in (first_order(parser), parser))
    return permutation_test(*(np.concatenate([right_arcs(run) for run in runs]) for runs in (one, two)))


def development_rows(results: Results) -> list[list[object]]:
    """LAS on dev, the class of trees chosen there, seconds of training, words per second."""
    return [
        [
            treebank,
            PARSERS[parser],
            percent(mean(run["dev"]["LAS"] for run in runs)),
            listed(sorted({"projective" if run["projective"] else "all" for run in runs})),
            f"{mean(run['resources']['seconds'] for run in runs):,.0f}",
            f"{mean(run['resources']['words/s'] for run in runs):,.0f}",
        ]
        for treebank, parser, runs in each_parser(results)
    ]


def proof_rows(results: Results) -> list[list[object]]:
    """How the best trees of linear parsers of order 2 are proven."""
    return [
        [
            treebank,
            PARSERS[parser],
            run["proofs"]["sentences"],
            *(percent(run["proofs"][name]) for name in ("crossing", "before branching", "optimal")),
            f"{run['resources']['slowest proof']:.3f}",
        ]
        for treebank, parser, (run, *_) in each_parser(results)
        if "proofs" in run
    ]


def legal_rows(results: Results) -> list[list[object]]:
    """Illegal trees, LAS and errors without and with rules; of the first seed."""
    rows: list[list[object]] = []
    for treebank, parser, (run, *_) in each_parser(results):
        legal = run["legal"]
        rows.append(
            [treebank, PARSERS[parser], *legal["illegal"], *map(percent, legal["LAS"]), *legal["errors"]]
        )
    return rows


def findings(results: Results) -> str:
    """What the tables say."""
    lines = []
    for parser in PARSERS:
        gains = {}
        for treebank in LANGUAGES:
            one, two = (seeds_of(results, treebank, which) for which in (first_order(parser), parser))
            if parser[1] == 2 and one and two:
                gain = mean(run["test"]["LAS"] for run in two) - mean(run["test"]["LAS"] for run in one)
                gains[treebank] = gain, significance(results, treebank, parser)
        if gains:
            parts = [
                f"{treebank} {points(gain)} LAS, {verdict(gain, p)} order 1"
                for treebank, (gain, p) in gains.items()
            ]
            lines.append(f"{PARSERS[parser]}: {'; '.join(parts)}.")
    proven = [run["proofs"] for *_, (run, *_) in each_parser(results) if "proofs" in run]
    if proven:
        least = min(p["optimal"] for p in proven)
        finally_proven = "all" if least == 1 else f"at least {percent(least)} %"
        lines.append(
            f"Multipliers alone prove {percent(min(p['before branching'] for p in proven))} to "
            f"{percent(max(p['before branching'] for p in proven))} % of the best trees within 200 rounds "
            f"(Koo et al. 2010: 98 %); with branching, {finally_proven}."
        )
    changes = [run["legal"] for *_, (run, *_) in each_parser(results)]
    changed = [legal["LAS"][1] - legal["LAS"][0] for legal in changes]
    lines.append(
        f"Rules that training never breaks leave {sum(legal['illegal'][1] for legal in changes)} of "
        f"{sum(legal['illegal'][0] for legal in changes)} illegal trees and change LAS by "
        f"{points(min(changed))} to {points(max(changed))}."
    )
    return "\n".join(f"- {line}" for line in lines)


def main(argv: Sequence[str] | None = None) -> None:
    arguments = list(sys.argv[1:] if argv is None else argv)
    kinds = [kind for kind, option in OPTIONS.items() if option in arguments]
    options = settings("second_order", __doc__, [word for word in arguments if word not in OPTIONS.values()])
    linear, neural = Cells(options, neural=False), Cells(options, neural=True)
    if not options.report_only:
        options.fill(linear, linear.wanted)
        options.fill(neural, neural.of_kinds(kinds))
    results = linear.results() | neural.results()
    missing = [*linear.missing(linear.wanted), *neural.missing(neural.wanted)]
    options.require([] if results else missing)
    page = Page("second_order", "Arcs and siblings: parsers of first and second order", options)
    page.heading("Accuracy on test")
    page.text(
        "All words counted, in per cent. Exact: sentences whose heads are all right. Siblings: pairs of "
        "adjacent dependents on one side of their head, precision and recall. Long arcs: recall of heads at "
        "a distance of 7 words and more. p: permutation test of right labelled arcs against order 1. Small "
        "networks: `--size small`, 40 epochs."
    )
    header = ["treebank", "parser", "seeds", "UAS", "LAS", "exact", "siblings, precision", "recall"]
    page.table([*header, "long arcs", "p"], accuracy_rows(results))
    if missing:
        page.text(
            "Not computed yet (`python -m experiments.second_order`; `--small`; `--neural` on a machine with "
            "a GPU): "
            f"{absent(results, {**linear.computations, **neural.computations})}."
        )
    page.heading("Development data, time and speed")
    page.text(
        "The epoch and the class of trees are chosen on development data. Seconds of processor time of "
        "training and measuring; words per second of processor time on one core, with reading and writing."
    )
    page.table(["treebank", "parser", "dev LAS", "trees", "seconds", "words/s"], development_rows(results))
    page.heading("Best trees with crossing arcs, proven")
    page.text(
        f"Of {PROVEN_SENTENCES} development sentences spread over the treebank: best trees that cross, trees "
        "proven within 200 rounds of dual decomposition before branching, proven in the end; processor "
        "seconds of the slowest sentence."
    )
    page.table(
        ["treebank", "parser", "sentences", "crossing", "before branching", "proven", "slowest, s"],
        proof_rows(results),
    )
    page.heading("Legal trees")
    page.text(
        "Test trees that break a rule which the training treebank never breaks, LAS, and errors of the "
        "validator (level 3): without and with these rules."
    )
    page.table(
        ["treebank", "parser", "illegal", "with rules", "LAS", "with rules", "errors", "with rules"],
        legal_rows(results),
    )
    page.close(
        """The papers' treebanks are the Penn Treebank and CoNLL-X, ours Universal Dependencies and
predecessors. McDonald & Pereira search for crossing arcs by rearranging the best projective tree, here
by dual decomposition as in Koo et al., whose automata also score grandparents. Zhang et al. score
siblings by a triaffine tensor over their vectors, here by a sum of products of three numbers.""",
        findings(results),
        about="the papers",
    )


if __name__ == "__main__":
    main()
