"""Throughput of the transition-based parser, and how its time grows: ``python -m benchmarks.transition``.

benchmarks.parsers and experiments.bohnet2016 measure accuracy; this benchmark reuses their trained parsers
(and trains missing ones). Needs ARCWISE_TREEBANKS (English-EWT).
"""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
from measuring.tables import table
from measuring.timing import interleaved
from measuring.trainings import Training, read, run_all

from arcwise.parsing.parser import ParseOptions
from arcwise.transition import TransitionConfig, TransitionParser
from arcwise.treebanks import Sentence, Treebank
from benchmarks.report import write_section

EWT = "English-EWT"
CONTENDERS = (("arc-eager", 1), ("arc-eager", 8), ("arc-standard", 1), ("bounded(K=4)", 1), ("easy-first", 1))
HEADER = (
    "system",
    "beam",
    "words/s, one core, reading and writing included",
    "slope of time over n = 10…200",
    "training of 10 epochs, CPU s",
    "test UAS",
    "test LAS",
)


def main() -> None:
    trainings = {name: Training(EWT, TransitionConfig(system=name)) for name, _ in CONTENDERS}
    run_all(trainings.values())
    parsers = {name: training.parser() for name, training in trainings.items()}
    data = trainings["arc-eager"].data("test").data
    words = Treebank(data).word_count
    calls = {
        f"{name} {beam}": lambda p=parsers[name], o=ParseOptions(beam=beam): parse_whole(p, data, o)
        for name, beam in CONTENDERS
    }
    seconds = interleaved(calls, repeat=5)
    rows = [
        [
            name,
            beam,
            f"{words / seconds[f'{name} {beam}']:,.0f}",
            f"{_slope(parsers[name], ParseOptions(beam=beam)):.2f}",
            f"{trainings[name].run().seconds:.0f}" if beam == 1 else "",
            *(_accuracy(trainings[name]) if beam == 1 else ("", "")),
        ]
        for name, beam in CONTENDERS
    ]
    body = f"Test file of {EWT} ({words:,} words).\n\n" + table(HEADER, rows)
    write_section("transition", "Transition-based parser: speed", body)


def _accuracy(training: Training) -> tuple[str, str]:
    scores = training.scores()
    return f"{100 * scores.uas:.2f}", f"{100 * scores.las:.2f}"


def parse_whole(parser: TransitionParser, data: bytes, options: ParseOptions) -> bytes:
    """Do the work of ``arcwise parse`` on one file in memory."""
    return parser.parse(Treebank(data), options=options).data


def _timed(run: Callable[..., object], *arguments: object) -> float:
    started = time.perf_counter()
    run(*arguments)
    return time.perf_counter() - started


def _slope(parser: TransitionParser, options: ParseOptions) -> float:
    """Log-log slope of time over n, for sentences cut from the concatenated test data."""
    rows = [row for sentence in read(EWT, "test") for row in zip(sentence.forms, sentence.upos, strict=True)]
    lengths, seconds = (10, 20, 50, 100, 200), []
    for n in lengths:
        pieces = [rows[first : first + n] for first in range(0, 10_000, n)]
        sentences = [Sentence.from_words([r[0] for r in p], upos=[r[1] for r in p]) for p in pieces]
        treebank = Treebank.from_sentences(sentences)
        seconds.append(
            min(_timed(parse_whole, parser, treebank.data, options) for _ in range(3)) / len(pieces)
        )
    return float(np.polyfit(np.log(lengths), np.log(seconds), 1)[0])


if __name__ == "__main__":
    main()
