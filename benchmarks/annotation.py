"""A simulated annotator who answers from the gold treebank: how many words need looking at while the parser thinks along.

    python -m benchmarks.annotation [--quick] [--on dev|test] [--rows correcting learning] [--report]

**Correcting**: English-EWT parsed by the model ``en`` from its gold words (tags by the model). The annotator looks at one word after the
other, in the order of a worklist over all sentences, and says its head; the sentence is parsed anew under all answers. Until 97 % of all heads
are right: the share of words looked at, and how many errors were repaired for each decisive answer, one that
was another head than the one proposed.

**Learning**: from nothing. The annotator takes 50 sentences at a time: at random until there are 200, then those of a random 800
that have most to be settled (sentence entropy, up to 30 words). In each the annotator answers words, the one of the highest expected gain
first, until the parser is fairly sure of all others; then a parser is trained on the answers (partial trees) and thinks along with the
next 50. Compared with whole sentences, all words answered, of the same treebank in a random order: how many words have to be
answered for the accuracy that ``--sentences`` whole sentences give. The graph-based parser, trainer log-linear, gold words and tags;
accuracy: UAS on the test data. All choices were made on the development data of English-EWT and Turkish-IMST. What else was tried, one run each
with 250 sentences on the development data of Basque-BDT (some of it of Danish-CDT), needed as many words or more: sentences chosen from the
start instead of after 200, or by entropy a word; at most a third of the words of a sentence; surer or less sure thresholds; words whose surroundings
are frequent and not answered yet; training again on trees completed by what the parser is sure of, with and without sentences nobody looked
at. Whole sentences by entropy, and random words of random sentences, were clearly worse.

Treebanks by ARCWISE_TREEBANKS; tables go to RESULTS.md with ``--report``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
from measuring.cells import Cells
from measuring.tables import table
from measuring.trainings import read_whole

from arcwise.annotation.assistant import Assistant
from arcwise.evaluation import evaluate
from arcwise.graph import GraphConfig, GraphParser
from arcwise.models import load
from arcwise.parsing import ParseOptions
from arcwise.treebanks import Treebank
from benchmarks.report import write_section
from benchmarks.simulated_annotator import ORDERS, Session, Walk, quick_gain, until_sure, walk

RIGHT = 0.97
"""The share of right heads at which correcting ends."""
TREEBANKS = ("English-EWT", "Turkish-IMST", "Slovenian-SSJ-rs")
BATCH = 50
"""Sentences between two trainings."""
FIRST = 20
"""Sentences that are annotated whole before there is a parser."""
RANDOM = 200
"""So many sentences are annotated before sentences are chosen: a parser of fewer does not know what it does not know."""
CANDIDATES, LONGEST = 800, 30
"""Sentences among which the next 50 are chosen, and how many words these have at most."""
SURE = 0.6
"""The annotator looks at words until the parser is so sure of all others."""
CONFIG = GraphConfig(trainer="log-linear", epochs=5, arc_bits=20, row_bits=22)


# ---- correcting


def correcting(treebank: Treebank) -> dict[str, Walk]:
    """By the name of a worklist, what it took."""
    blank = ["_"] * treebank.word_count
    assistant = Assistant(load("en"))
    untagged = treebank.annotate(lemma=blank, upos=blank, xpos=blank, feats=blank)
    found = {}
    for name, order in ORDERS.items():
        started = time.monotonic()
        found[name] = walk([Session.of(assistant, own) for own in untagged], order, RIGHT)
        print(f"{name}: {found[name]}, {time.monotonic() - started:.0f} s", flush=True)
    return found


def correcting_table(found: dict[str, Walk], on: str) -> str:
    """The table of rows 1 and 2."""
    rows = [
        (
            name,
            f"{100 * (1 - own.errors_before / own.words):.2f}",
            f"{own.looked:,} of {own.words:,}",
            f"{100 * own.share:.1f} %",
            f"{own.decisive:,}",
            f"{own.repaired:.2f}",
        )
        for name, own in found.items()
    ]
    header = (
        "worklist",
        "UAS before",
        "words looked at",
        f"until {100 * RIGHT:.0f} % right",
        "decisive answers",
        "errors repaired for each",
    )
    return f"English-EWT {on}, model `en`:\n\n{table(header, rows)}"


# ---- learning


@dataclass(frozen=True)
class Point:
    """How far an annotator is, and how good the parser is by then."""

    sentences: int
    answered: int
    uas: float
    las: float


@dataclass(frozen=True)
class Race:
    """Whole sentences and thinking along, on one treebank."""

    treebank: str
    whole: Point
    """All words of all sentences answered."""
    along: Point
    """The first point that is as good; the last, if none is."""

    @property
    def reached(self) -> bool:
        return self.along.uas >= self.whole.uas

    @property
    def share(self) -> float:
        """Of the words that whole sentences need."""
        return self.along.answered / self.whole.answered


def score(parser: GraphParser, measured: Treebank) -> tuple[float, float]:
    """UAS and LAS."""
    found = evaluate(measured, parser.parse(measured)).attachment
    return found.uas, found.las


def thinking_along(sentences: Treebank, measured: Treebank) -> Iterator[Point]:
    """Point after point, a training between them. ``sentences`` are in a random order."""
    waiting = list(range(len(sentences)))
    taken, waiting = waiting[:FIRST], waiting[FIRST:]
    known = [sentences[s].conllu_bytes for s in taken]
    answered = sum(len(sentences[s]) for s in taken)
    while True:
        parser = GraphParser.train(Treebank(b"".join(known)), config=CONFIG)
        yield Point(len(known), answered, *score(parser, measured))
        if not waiting:
            return
        taken = waiting[:BATCH] if len(known) < RANDOM else chosen(parser, sentences, waiting[:CANDIDATES])
        waiting = [s for s in waiting if s not in taken]
        assistant = Assistant(parser)
        for s in taken:
            session = Session.of(assistant, sentences[s])
            until_sure(session, quick_gain, SURE)
            answered += len(session.looked)
            known.append(session.answers.in_bytes(sentences[s].conllu_bytes))


def chosen(parser: GraphParser, sentences: Treebank, candidates: list[int]) -> list[int]:
    """The sentences whose trees the parser is least sure of."""
    short = [s for s in candidates if len(sentences[s]) <= LONGEST]
    some = Treebank.from_sentences(sentences[s] for s in short)
    found = parser.parses(some, options=ParseOptions(confidence=True)).probabilities
    assert found is not None
    order = np.argsort(-np.asarray(found.head_entropy), kind="stable")
    return [short[int(i)] for i in order[:BATCH]]


def race(name: str, parts: dict[str, Treebank], on: str, sentences: int) -> Race:
    """Both annotators on one treebank; who thinks along has all its sentences to choose from."""
    order = np.random.default_rng(7).permutation(len(parts["train"]))
    corpus = Treebank.from_sentences((parts["train"][int(i)] for i in order), source=name)
    measured = parts[on]
    reference = corpus[:sentences]
    whole = Point(
        len(reference),
        reference.word_count,
        *score(GraphParser.train(reference, config=CONFIG), measured),
    )
    print(f"{name}, whole: {whole}", flush=True)
    along = whole
    for along in thinking_along(corpus, measured):
        print(f"{name}, along: {along} ({along.answered / whole.answered:.3f})", flush=True)
        if along.uas >= whole.uas or along.answered > whole.answered:
            break
    return Race(name, whole, along)


def kept_race(name: str, on: str, sentences: int) -> Race:
    """The same, done once and kept (delete ``annotation`` under ~/.cache/arcwise after a change), so that treebanks can be done one by one."""
    found = Cells("annotation").cell(
        f"{name}-{on}-{sentences}", lambda: asdict(race(name, read(name, False), on, sentences))
    )
    return Race(name, Point(**found["whole"]), Point(**found["along"]))


def learning_table(races: list[Race], on: str) -> str:
    """The table of row 3."""
    rows = [
        (
            own.treebank,
            f"{own.whole.sentences:,}",
            f"{own.whole.answered:,}",
            f"{100 * own.whole.uas:.2f}",
            f"{own.along.sentences:,}",
            f"{own.along.answered:,}",
            f"{100 * own.along.uas:.2f}",
            f"{100 * own.share:.1f} %{'' if own.reached else ' (not reached)'}",
        )
        for own in races
    ]
    header = (
        "treebank",
        "whole sentences",
        "words answered",
        f"UAS {on}",
        "thinking along: sentences",
        "words answered",
        f"UAS {on}",
        "words, against whole sentences",
    )
    return table(header, rows)


def read(name: str, quick: bool) -> dict[str, Treebank]:
    """The parts of a treebank."""
    parts = {part: read_whole(name, part) for part in ("train", "dev", "test")}
    return {part: own.spread(60) for part, own in parts.items()} if quick else parts


def main() -> None:
    """The tables, on standard output or in RESULTS.md."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="few sentences: to see that it runs; the figures mean nothing"
    )
    parser.add_argument("--on", choices=("dev", "test"), default="test")
    parser.add_argument(
        "--rows", nargs="+", choices=("correcting", "learning"), default=("correcting", "learning")
    )
    parser.add_argument("--treebanks", nargs="+", default=TREEBANKS)
    parser.add_argument("--sentences", type=int, default=1000, help="whole sentences to compare with")
    parser.add_argument("--report", action="store_true", help="into RESULTS.md")
    options = parser.parse_args()
    sentences = 30 if options.quick else options.sentences
    told = []
    if "correcting" in options.rows:
        treebank = read("English-EWT", options.quick)[options.on]
        told.append(correcting_table(correcting(treebank), options.on))
    if "learning" in options.rows:
        if options.quick:
            races = [race(options.treebanks[0], read(options.treebanks[0], True), options.on, sentences)]
        else:
            races = [kept_race(name, options.on, sentences) for name in options.treebanks]
        told.append(learning_table(races, options.on))
    print("\n\n".join(told))
    if options.report and not options.quick:
        for rows, text in zip(options.rows, told, strict=True):
            title = "Annotating: correcting a parse" if rows == "correcting" else "Annotating: from nothing"
            write_section(f"annotation-{rows}", title, text, module="annotation")


if __name__ == "__main__":
    main()
