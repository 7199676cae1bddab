"""A simulated annotator who answers from the gold treebank: how many words need looking at while the parser thinks along.

    python -m benchmarks.annotation [--quick] [--on dev|test] [--rows correcting learning] [--report]

**Correcting**: English-EWT parsed by the model ``en`` from its gold words (tags by the model). The annotator looks at one word after the
other, in the order of a worklist over all sentences, and says its head; the sentence is parsed anew under all answers. Until 97 % of all heads
are right: the share of words looked at, and how many errors were repaired for each decisive answer, one that
was another head than the one proposed.

**Learning**: from nothing. Sentences come in a random order, 50 at a time; in each the annotator answers words, most telling first,
until the parser is fairly sure of all others; then a parser is trained on the answers and on what the last one is very sure of around them, and
thinks along with the next 50. Compared with whole sentences, all words answered, of the same treebank
in the same random order: how many words have to be answered for the accuracy that ``--sentences`` whole sentences give. The graph-based
parser, trainer log-linear, gold words and tags; accuracy: UAS on the test data. All choices were made on development data.

Treebanks by ARCWISE_TREEBANKS; tables go to RESULTS.md with ``--report``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from measuring.tables import table
from measuring.trainings import read_whole

from arcwise.annotation.assistant import Assistant
from arcwise.annotation.states import Decisions
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
SURE = 0.75
"""The annotator looks at words until the parser is so sure of all others."""
ACCEPTED = 0.95
"""Heads, and labels, that the parser is so sure of around the answers are learned from as if they were answers."""
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
    wrong: int = 0
    """Accepted heads that are wrong."""


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
    """Point after point, a training between them."""
    gold = [Decisions.of(own) for own in sentences]
    looked: list[set[int]] = [set(range(1, len(own) + 1)) for own in gold[:FIRST]]
    decided = gold[:FIRST]
    while True:
        rows = zip(decided, sentences, strict=False)
        known = Treebank(b"".join(own.in_bytes(sentence.whole_bytes) for own, sentence in rows))
        parser = GraphParser.train(known, config=CONFIG)
        yield Point(
            len(decided), sum(map(len, looked)), *score(parser, measured), wrong=_wrong(decided, gold)
        )
        if len(decided) == len(sentences):
            return
        assistant = Assistant(parser)
        for s in range(len(decided), min(len(decided) + BATCH, len(sentences))):
            session = Session.of(assistant, sentences[s])
            until_sure(session, quick_gain, SURE)
            looked.append(session.looked)
        decided = _completed(parser, sentences, gold, looked)


def _completed(
    parser: GraphParser, sentences: Treebank, gold: list[Decisions], looked: list[set[int]]
) -> list[Decisions]:
    """The answers of each sentence, and what a parser is sure of around them."""
    answers = [
        own.without([m for m in range(1, len(own) + 1) if m not in answered])
        for own, answered in zip(gold, looked, strict=False)
    ]
    rows = zip(answers, sentences, strict=False)
    known = Treebank(b"".join(own.in_bytes(sentence.whole_bytes) for own, sentence in rows))
    parses = parser.parses(known, options=ParseOptions(keep=("head", "deprel"), confidence=True))
    assert parses.probabilities is not None
    heads = np.where(parses.probabilities.head >= ACCEPTED, parses.heads, -1).tolist()
    labels = np.where(parses.probabilities.label >= ACCEPTED, parses.label_strings, "_").tolist()
    bounds = pairwise(known.sentence_words.astype(int).tolist())
    return [Decisions(tuple(heads[a:b]), tuple(labels[a:b])) for a, b in bounds]


def _wrong(decided: list[Decisions], gold: list[Decisions]) -> int:
    pairs = ((own.heads, right.heads) for own, right in zip(decided, gold, strict=False))
    return sum(head not in (-1, right) for a, b in pairs for head, right in zip(a, b, strict=True))


def race(name: str, parts: dict[str, Treebank], on: str, sentences: int) -> Race:
    """Both annotators on one treebank; who thinks along may go on to twice as many sentences."""
    order = np.random.default_rng(7).permutation(len(parts["train"]))[: 2 * sentences]
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
        names = options.treebanks[:1] if options.quick else options.treebanks
        races = [race(name, read(name, options.quick), options.on, sentences) for name in names]
        told.append(learning_table(races, options.on))
    print("\n\n".join(told))
    if options.report and not options.quick:
        for rows, text in zip(options.rows, told, strict=True):
            title = "Annotating: correcting a parse" if rows == "correcting" else "Annotating: from nothing"
            write_section(f"annotation-{rows}", title, text, module="annotation")


if __name__ == "__main__":
    main()
