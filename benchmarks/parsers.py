"""Every kind of parser on six treebanks: accuracy, time, memory, size. For peers see
benchmarks.peer_parsers.

    python -m benchmarks.parsers [--jobs N] [--engine ray] [--report]

Each training runs once and is cached outside the repository (``measuring.trainings``). Needs
ARCWISE_TREEBANKS.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping

from measuring.tables import table
from measuring.timing import interleaved
from measuring.trainings import Config, Training, cache_folder, read, run_all
from measuring.where import add_engine_options, engine_from

from arcwise.evaluation.attachment import Attachment
from arcwise.graph import GraphConfig
from arcwise.transition import TransitionConfig
from arcwise.treebanks import Treebank
from benchmarks.report import write_section

TREEBANKS = (
    "English-EWT",
    "Turkish-IMST",
    "Danish-CDT",
    "Basque-BDT",
    "Dutch-Alpino-cdbl",
    "Portuguese-Bosque",
)
LANGUAGES = {"English-EWT": "en", "Turkish-IMST": "tr", "Danish-CDT": "da"}
"""Treebanks for the comparison with peers, with the peers' language codes."""
KINDS: Mapping[str, Config] = {
    "graph, MIRA, non-projective": GraphConfig(),
    "graph, MIRA, projective": GraphConfig(projective=True, epochs=12),
    "graph, log-linear, non-projective": GraphConfig(trainer="log-linear"),
    "transition, arc-eager, greedy": TransitionConfig(),
    "transition, arc-eager, beam 16": TransitionConfig(beam=16),
    "transition, easy-first, greedy": TransitionConfig(system="easy-first"),
    "transition, crossing arcs (D = 4), greedy": TransitionConfig(system="non-projective(D=4)"),
}
ALL_COLUMNS = "graph, MIRA, projective; all columns"


def cells(treebank: str) -> dict[str, Training]:
    """Trainings of a treebank by name of the parser: forms and gold UPOS, and one with all columns."""
    trainings = {name: Training(treebank, config) for name, config in KINDS.items()}
    return trainings | {ALL_COLUMNS: Training(treebank, KINDS["graph, MIRA, projective"], all_columns=True)}


def speeds(treebank: str, trainings: Mapping[str, Training]) -> dict[str, float]:
    """Words per second of reading, parsing and writing the test data, taking turns; ``NAME, 2`` with two
    threads.
    """
    contenders: dict[str, Callable[[], object]] = {}
    for name, training in trainings.items():
        data, parser = training.data("test").data, training.parser()
        for threads in (1, 2):
            contenders[f"{name}, {threads}"] = lambda d=data, p=parser, t=threads: (
                p.parse(Treebank(d), threads=t).data
            )
    words = read(treebank, "test").word_count
    return {name: words / seconds for name, seconds in interleaved(contenders, repeat=3).items()}


def kept_speeds(treebank: str, trainings: Mapping[str, Training], *, measure: bool) -> dict[str, float]:
    """Cached speeds, measured now if there are none."""
    path = cache_folder() / "trainings" / f"speeds-{treebank}.json"
    if measure or not path.exists():
        path.write_text(json.dumps(speeds(treebank, trainings)))
    return dict(json.loads(path.read_text()))


def row(
    name: str, scores: Attachment, seconds: float, rates: Mapping[str, float], peak: float, size: float
) -> list[object]:
    fast = [f"{rates[key]:,.0f}" if key in rates else "–" for key in (f"{name}, 1", f"{name}, 2")]
    return [
        name,
        f"{100 * scores.uas:.2f}",
        f"{100 * scores.las:.2f}",
        f"{seconds:.0f}",
        *fast,
        f"{peak:.0f}" if peak else "–",
        f"{size:.1f}",
    ]


def treebank_part(treebank: str, *, measure: bool) -> str:
    """Table of one treebank."""
    done = {name: training for name, training in cells(treebank).items() if training.trained}
    rates = kept_speeds(treebank, done, measure=measure)
    rows = []
    for name, training in done.items():
        trained, scores = training.run(), training.scores()
        rows.append(row(name, scores, trained.seconds, rates, trained.peak_mb, trained.model_mb))
    header = (
        "parser",
        "UAS",
        "LAS",
        "training, CPU s",
        "words/s",
        "words/s, 2 threads",
        "peak MB in training",
        "model MB",
    )
    return f"### {treebank}\n\n{table(header, rows)}"


def report(*, measure: bool) -> None:
    parts = [treebank_part(treebank, measure=measure) for treebank in TREEBANKS]
    about = (
        "Gold tokens; forms and gold UPOS only, unless all columns are named; test data, punctuation "
        "counted, label subtypes cut. Words/s: reading and writing included, all parsers of a treebank "
        "taking turns, the best of three. Parsers without a row were not trained on that treebank. "
        "Peers: see below.\n\n"
    )
    write_section("parsers", "Parsers on six treebanks", about + "\n".join(parts))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_engine_options(parser)
    parser.add_argument("--report", action="store_true", help="use cached trainings and speeds only")
    options = parser.parse_args()
    if not options.report:
        run_all(
            [training for name in TREEBANKS for training in cells(name).values()],
            engine=engine_from(parser, options),
        )
    report(measure=not options.report)


if __name__ == "__main__":
    main()
