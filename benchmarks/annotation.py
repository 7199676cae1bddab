"""Simulated annotation: how many words a gold-standard annotator has to answer with a parser's suggestions.

    python -m benchmarks.annotation [--quick] [--on dev|test] [--rows correcting learning] [--report]

**Correcting**: the model ``en`` parses English-EWT from gold words (with predicted tags). The annotator
takes one word at a time from a worklist over all sentences and gives its gold head; the sentence is parsed
again under all answers so far. The run stops when 97 % of all heads are right and reports the share of words
inspected and the number of errors repaired per decisive answer (one that differs from the suggested head).

**Learning**: from scratch. The annotator takes 50 sentences at a time: random ones up to 200, then those
with the highest sentence entropy among a random 800 (up to 30 words), or with ``--choose random`` random ones
throughout, or with ``--choose half`` half of each. In each sentence the annotator answers words by highest
expected gain until the parser is confident about the rest (``--sure``); a parser is then trained on the
partial trees and makes suggestions for the next 50. The baseline answers all words of randomly ordered
sentences: how many answers does it take to reach the accuracy of ``--sentences`` fully annotated sentences?
Graph-based parser, trainer log-linear, gold words and tags; accuracy is UAS on the test data. All choices
were made on the development data of English-EWT and Turkish-IMST.

Alternatives that needed as many words or more, in one run each with 250 sentences on the development data of
Basque-BDT (some also on Danish-CDT): choosing sentences from the start instead of after 200, or by entropy
per word; at most a third of a sentence's words; higher or lower confidence thresholds; words in frequent
contexts that were not answered yet; retraining on trees completed with the parser's confident arcs, with and
without unannotated sentences. Whole sentences by entropy, and random words of random sentences, were clearly
worse. So were, with 400 sentences on the development data of Turkish-IMST, entropy per answered word (90 %
of the answers; 59 % with random sentences) and uncertainty weighted by the novelty of forms divided by the
root of the length (78 %; 73 % with entropy).

Set ARCWISE_TREEBANKS to the treebanks; ``--report`` writes the tables to RESULTS.md.
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
from arcwise.annotation.worklist import TRAINING_SURE
from arcwise.evaluation import evaluate
from arcwise.graph import GraphConfig, GraphParser
from arcwise.models import load
from arcwise.parsing import ParseOptions
from arcwise.treebanks import Treebank
from benchmarks.report import write_section
from benchmarks.simulated_annotator import ORDERS, Session, Walk, until_sure, walk

RIGHT = 0.97
"""Share of correct heads at which correcting stops."""
TREEBANKS = ("English-EWT", "Turkish-IMST", "Slovenian-SSJ-rs")
BATCH = 50
"""Sentences between two trainings."""
FIRST = 20
"""Sentences annotated in full before the first training."""
RANDOM = 200
"""Sentences annotated before active selection starts: confidences of a parser trained on fewer are
unreliable.
"""
CANDIDATES, LONGEST = 800, 30
"""Size of the random pool the next 50 sentences are selected from, and their maximum length in words."""
SURE = TRAINING_SURE
"""Confidence of all remaining words at which the annotator leaves a sentence."""
CONFIG = GraphConfig(trainer="log-linear", epochs=5, arc_bits=20, row_bits=22)


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
class Point:
    """Progress of an annotator, and the accuracy of the parser trained so far."""

    sentences: int
    answered: int
    uas: float
    las: float


@dataclass(frozen=True)
class Race:
    """Full annotation and annotation with suggestions, on one treebank."""

    treebank: str
    whole: Point
    """All words of all sentences answered."""
    along: Point
    """The first point of equal accuracy, or the last one if none reaches it."""

    @property
    def reached(self) -> bool:
        return self.along.uas >= self.whole.uas

    @property
    def share(self) -> float:
        """Share of the words that full annotation needs."""
        return self.along.answered / self.whole.answered


def score(parser: GraphParser, measured: Treebank) -> tuple[float, float]:
    """UAS and LAS."""
    scores = evaluate(measured, parser.parse(measured)).attachment
    return scores.uas, scores.las


def thinking_along(
    sentences: Treebank, measured: Treebank, *, choose: str = "entropy", sure: float = SURE
) -> Iterator[Point]:
    """Yield a point after each training. ``sentences`` are in random order."""
    waiting = list(range(len(sentences)))
    taken, waiting = waiting[:FIRST], waiting[FIRST:]
    answers = [sentences[s].conllu_bytes for s in taken]
    answered = sum(len(sentences[s]) for s in taken)
    while True:
        parser = GraphParser.train(Treebank(b"".join(answers)), config=CONFIG)
        yield Point(len(answers), answered, *score(parser, measured))
        if not waiting:
            return
        share = {"entropy": BATCH, "half": BATCH // 2, "random": 0}[choose] if len(answers) >= RANDOM else 0
        taken = chosen(parser, sentences, waiting[:CANDIDATES], share) if share else []
        taken += [s for s in waiting if s not in taken][: BATCH - len(taken)]
        waiting = [s for s in waiting if s not in taken]
        assistant = Assistant(parser)
        for s in taken:
            session = Session.of(assistant, sentences[s])
            until_sure(session, sure)
            answered += len(session.looked)
            answers.append(session.answers.in_bytes(sentences[s].conllu_bytes))


def chosen(parser: GraphParser, sentences: Treebank, candidates: list[int], count: int) -> list[int]:
    """Select the sentences with the highest entropy."""
    short = [s for s in candidates if len(sentences[s]) <= LONGEST]
    some = Treebank.from_sentences(sentences[s] for s in short)
    entropies = parser.parses(some, options=ParseOptions(confidence=True)).probabilities
    assert entropies is not None
    order = np.argsort(-np.asarray(entropies.head_entropy), kind="stable")
    return [short[int(i)] for i in order[:count]]


def race(
    name: str,
    parts: dict[str, Treebank],
    on: str,
    sentences: int,
    *,
    choose: str = "entropy",
    sure: float = SURE,
) -> Race:
    """Run both annotators on one treebank; active selection may use all of its sentences."""
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
    for along in thinking_along(corpus, measured, choose=choose, sure=sure):
        print(f"{name}, along: {along} ({along.answered / whole.answered:.3f})", flush=True)
        if along.uas >= whole.uas or along.answered > whole.answered:
            break
    return Race(name, whole, along)


def kept_race(name: str, on: str, sentences: int, choose: str, sure: float) -> Race:
    """Run ``race`` once per treebank and cache the result, so that treebanks can run separately.

    Delete ``annotation`` in ~/.cache/arcwise after a change.
    """
    cached = Cells("annotation").cell(
        f"{name}-{on}-{sentences}-{choose}-{sure}",
        lambda: asdict(race(name, read(name, False), on, sentences, choose=choose, sure=sure)),
    )
    return Race(name, Point(**cached["whole"]), Point(**cached["along"]))


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
        "--rows", nargs="+", choices=("correcting", "learning"), default=("correcting", "learning")
    )
    parser.add_argument("--treebanks", nargs="+", default=TREEBANKS)
    parser.add_argument(
        "--sentences", type=int, default=1000, help="number of whole sentences to compare with"
    )
    parser.add_argument(
        "--choose",
        choices=("entropy", "half", "random"),
        default="entropy",
        help="how sentences are chosen after the first 200",
    )
    parser.add_argument(
        "--sure", type=float, default=SURE, help="confidence at which words are left unanswered"
    )
    parser.add_argument("--report", action="store_true", help="write the tables to RESULTS.md")
    options = parser.parse_args()
    sentences = 30 if options.quick else options.sentences
    body = []
    if "correcting" in options.rows:
        treebank = read("English-EWT", options.quick)[options.on]
        body.append(correcting_table(correcting(treebank), options.on))
    if "learning" in options.rows:
        if options.quick:
            races = [race(options.treebanks[0], read(options.treebanks[0], True), options.on, sentences)]
        else:
            races = [
                kept_race(name, options.on, sentences, options.choose, options.sure)
                for name in options.treebanks
            ]
        body.append(learning_table(races, options.on))
    print("\n\n".join(body))
    if options.report and not options.quick:
        for rows, text in zip(options.rows, body, strict=True):
            title = "Annotating: correcting a parse" if rows == "correcting" else "Annotating: from scratch"
            write_section(f"annotation-{rows}", title, text, module="annotation")


if __name__ == "__main__":
    main()
