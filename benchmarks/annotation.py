"""Simulated annotation: how many words a gold-standard annotator has to answer with a parser's suggestions.

    python -m benchmarks.annotation [--quick] [--on dev|test] [--rows correcting learning attempts] [--report]

**Correcting**: the model ``en`` parses English-EWT from gold words (with predicted tags). The annotator
takes one word at a time from a worklist over all sentences and gives its gold head; the sentence is parsed
again under all answers so far. The run stops when 97 % of all heads are right and reports the share of words
inspected and the number of errors repaired per decisive answer (one that differs from the suggested head).

@LEARNING@
Set ARCWISE_TREEBANKS to the treebanks; ``--report`` writes the tables to RESULTS.md.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import asdict, dataclass

import numpy as np
from measuring.cells import Cells
from measuring.tables import table
from measuring.trainings import read_whole

from arcwise.annotation.assistant import Assistant
from arcwise.graph import GraphParser
from arcwise.models import load
from arcwise.treebanks import Treebank
from benchmarks.annotation_learning import ATTEMPTS, DEFAULT, Point, Strategy, learning, score, visible
from benchmarks.report import write_section
from benchmarks.simulated_annotator import ORDERS, Session, Walk, walk

RIGHT = 0.97
"""Share of correct heads at which correcting stops."""
TREEBANKS = ("English-EWT", "Turkish-IMST", "Slovenian-SSJ-rs")
MOST = 1.0
"""Share of the answers of full annotation at which learning stops without having reached its accuracy."""
SHARES = (0.04, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7)
"""Points of the learning curve."""


def correcting(treebank: Treebank) -> dict[str, Walk]:
    """Effort by name of the worklist."""
    blank = ["_"] * treebank.word_count
    assistant = Assistant(load("en"))
    untagged = treebank.annotate(lemma=blank, upos=blank, xpos=blank, feats=blank)
    efforts = {}
    for name, order in ORDERS.items():
        started = time.monotonic()
        efforts[name] = walk([Session.of(assistant, sentence) for sentence in untagged], order, RIGHT)
        print(f"{name}: {efforts[name]}, {time.monotonic() - started:.0f} s", flush=True)
    return efforts


def correcting_table(efforts: dict[str, Walk], on: str) -> str:
    """Table of rows 1 and 2."""
    rows = [
        (
            name,
            f"{100 * (1 - effort.errors_before / effort.words):.2f}",
            f"{effort.looked:,} of {effort.words:,}",
            f"{100 * effort.share:.1f} %",
            f"{effort.decisive:,}",
            f"{effort.repaired:.2f}",
        )
        for name, effort in efforts.items()
    ]
    header = (
        "worklist",
        "UAS before",
        "words inspected",
        f"until {100 * RIGHT:.0f} % correct",
        "decisive answers",
        "errors repaired per answer",
    )
    return f"English-EWT {on}, model `en`:\n\n{table(header, rows)}"


@dataclass(frozen=True)
class Race:
    """Full annotation and annotation with suggestions, on one treebank."""

    treebank: str
    whole: Point
    """All words of all sentences answered."""
    points: tuple[Point, ...]
    """After each training, until the accuracy is that of full annotation."""

    @property
    def along(self) -> Point:
        """The first point of equal accuracy, or the last one if none reaches it."""
        return self.points[-1]

    @property
    def reached(self) -> bool:
        return self.along.uas >= self.whole.uas

    @property
    def share(self) -> float:
        """Share of the words that full annotation needs."""
        return self.along.answered / self.whole.answered

    def uas_at(self, share: float) -> float | None:
        """UAS after this share of the answers of full annotation, interpolated; None outside the curve."""
        shares = [point.answered / self.whole.answered for point in self.points]
        if not shares[0] - 0.01 <= share <= shares[-1]:
            return None
        return float(np.interp(share, shares, [point.uas for point in self.points]))


def race(
    name: str,
    parts: dict[str, Treebank],
    on: str,
    sentences: int,
    *,
    strategy: Strategy = DEFAULT,
    order: int = 7,
) -> Race:
    """Run both annotators on one treebank; the second may use all of its sentences.

    order: seed of the random order of the sentences.
    """
    numbers = np.random.default_rng(order).permutation(len(parts["train"]))
    corpus = Treebank.from_sentences((parts["train"][int(i)] for i in numbers), source=name)
    corpus, measured = visible(corpus, strategy), visible(parts[on], strategy)
    reference = corpus[:sentences]
    whole = Point(
        len(reference),
        reference.word_count,
        *score(GraphParser.train(reference, config=strategy.config), measured),
    )
    print(f"{name}, {strategy}, whole: {whole}", flush=True)
    points = []
    for point in learning(corpus, measured, strategy):
        points.append(point)
        print(f"{name}, {strategy}, along: {point} ({point.answered / whole.answered:.3f})", flush=True)
        if point.uas >= whole.uas or point.answered > MOST * whole.answered:
            break
    return Race(name, whole, tuple(points))


def kept_race(name: str, on: str, sentences: int, strategy: Strategy = DEFAULT, order: int = 7) -> Race:
    """Run ``race`` once per treebank and cache the result, so that treebanks can run separately.

    Delete ``annotation`` in ~/.cache/arcwise after a change.
    """
    cached = Cells("annotation").cell(
        f"{name}-{on}-{sentences}-{order}-{strategy}",
        lambda: asdict(race(name, read(name, False), on, sentences, strategy=strategy, order=order)),
    )
    return Race(name, Point(**cached["whole"]), tuple(Point(**point) for point in cached["points"]))


def learning_table(races: list[Race], on: str) -> str:
    """Table of row 3."""
    rows = [
        (
            race.treebank,
            f"{race.whole.sentences:,}",
            f"{race.whole.answered:,}",
            f"{100 * race.whole.uas:.2f}",
            f"{race.along.sentences:,}",
            f"{race.along.answered:,}",
            f"{100 * race.along.uas:.2f}",
            f"{100 * race.share:.1f} %{'' if race.reached else ' (not reached)'}",
        )
        for race in races
    ]
    header = (
        "treebank",
        "whole sentences",
        "words answered",
        f"UAS {on}",
        "with suggestions: sentences",
        "words answered",
        f"UAS {on}",
        "words, relative to whole sentences",
    )
    return table(header, rows)


def curve_table(races: list[Race], on: str) -> str:
    """UAS by share of the answers of full annotation."""
    rows = []
    for one in races:
        curve = [one.uas_at(share) for share in SHARES]
        rows.append(
            (
                one.treebank,
                *("" if uas is None else f"{100 * uas:.1f}" for uas in curve),
                f"{100 * one.whole.uas:.1f}",
            )
        )
    header = (f"UAS {on}", *(f"{100 * share:.0f} %" for share in SHARES), "whole sentences")
    return table(header, rows)


def attempts_table(treebanks: list[str], on: str, sentences: int, orders: int) -> str:
    """Share of the words that each strategy needs: the mean over random orders of the sentences."""
    rows = []
    for name, strategy in ATTEMPTS.items():
        cells = []
        for treebank in treebanks:
            races = [kept_race(treebank, on, sentences, strategy, 7 + order) for order in range(orders)]
            share = float(np.mean([one.share for one in races]))
            cells.append(f"{'' if all(one.reached for one in races) else '> '}{100 * share:.0f}")
        rows.append((name, *cells))
        print(rows[-1], flush=True)
    return table((f"strategy ({sentences} sentences, {on}; % of the words)", *treebanks), rows)


def read(name: str, quick: bool) -> dict[str, Treebank]:
    """Read the parts of a treebank."""
    parts = {part: read_whole(name, part) for part in ("train", "dev", "test")}
    return {part: treebank.spread(60) for part, treebank in parts.items()} if quick else parts


def main() -> None:
    """Print the tables, and write them to RESULTS.md on request."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="smoke test with few sentences; the figures are meaningless"
    )
    parser.add_argument("--on", choices=("dev", "test"), default="test")
    parser.add_argument(
        "--rows",
        nargs="+",
        choices=("correcting", "learning", "attempts"),
        default=("correcting", "learning"),
    )
    parser.add_argument("--treebanks", nargs="+", default=TREEBANKS)
    parser.add_argument(
        "--sentences", type=int, default=500, help="number of whole sentences to compare with"
    )
    parser.add_argument(
        "--orders", type=int, default=1, help="random orders of the sentences that attempts are tried on"
    )
    parser.add_argument("--report", action="store_true", help="write the tables to RESULTS.md")
    options = parser.parse_args()
    sentences = 30 if options.quick else options.sentences
    body = {}
    if "correcting" in options.rows:
        treebank = read("English-EWT", options.quick)[options.on]
        body["correcting"] = correcting_table(correcting(treebank), options.on)
    if "learning" in options.rows:
        if options.quick:
            races = [race(options.treebanks[0], read(options.treebanks[0], True), options.on, sentences)]
        else:
            races = [kept_race(name, options.on, sentences) for name in options.treebanks]
        body["learning"] = learning_table(races, options.on) + "\n" + curve_table(races, options.on)
    if "attempts" in options.rows and not options.quick:
        body["attempts"] = attempts_table(options.treebanks, options.on, sentences, options.orders)
    print("\n\n".join(body.values()))
    if options.report and not options.quick:
        for rows, text in body.items():
            write_section(f"annotation-{rows}", TITLES[rows], text, module="annotation")


TITLES = {
    "correcting": "Annotating: correcting a parse",
    "learning": "Annotating: from scratch",
    "attempts": "Annotating: from scratch, other strategies",
}


if __name__ == "__main__":
    main()
