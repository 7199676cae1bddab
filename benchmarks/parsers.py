"""Every kind of parser on six treebanks, beside ufal.udpipe and spaCy on three: accuracy, time, memory, size.

    python -m benchmarks.parsers [--jobs N] [--report]

Each training is done once and kept outside the repository (``measuring.trainings``; the peers' in benchmarks/peer_parsers.py).
Needs ARCWISE_TREEBANKS. Peers that are not installed, or not trained yet, are said to be so.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from measuring.tables import table
from measuring.timing import interleaved
from measuring.trainings import Config, Training, cache_folder, read, run_all

from arcwise.engine import local_engine
from arcwise.evaluation.attachment import Attachment, attachment
from arcwise.evaluation.verdicts import verdicts
from arcwise.graph import GraphConfig
from arcwise.transition import TransitionConfig
from arcwise.treebanks import Treebank
from benchmarks.peer_parsers import PEERS, PeerParser, peer_parser
from benchmarks.report import write_section

TREEBANKS = (
    "English-EWT",
    "Turkish-IMST",
    "Danish-CDT",
    "Basque-BDT",
    "Dutch-Alpino-cdbl",
    "Portuguese-Bosque",
)
WITH_PEERS = TREEBANKS[:3]
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
PLOT = Path(__file__).parent / "las-against-speed.png"


def cells(treebank: str) -> dict[str, Training]:
    """The trainings of a treebank by the parser's name; forms and gold UPOS, and once all columns."""
    own = {name: Training(treebank, config) for name, config in KINDS.items()}
    return own | {ALL_COLUMNS: Training(treebank, KINDS["graph, MIRA, projective"], all_columns=True)}


def speeds(
    treebank: str, trainings: Mapping[str, Training], peers: Mapping[str, PeerParser]
) -> dict[str, float]:
    """Words a second of reading, parsing and writing the test set, all taking turns; ``NAME, 2`` with two threads."""
    contenders: dict[str, Callable[[], object]] = {}
    for name, training in trainings.items():
        data, parser = training.data("test").data, training.parser()
        for threads in (1, 2):
            contenders[f"{name}, {threads}"] = lambda d=data, p=parser, t=threads: (
                p.parse(Treebank(d), threads=t).data
            )
    for name, peer in peers.items():
        contenders[f"{name}, 1"] = lambda d=read(treebank, "test").data, p=peer: p.parse(d)
    words = read(treebank, "test").word_count
    return {name: words / seconds for name, seconds in interleaved(contenders, repeat=3).items()}


def kept_speeds(
    treebank: str, trainings: Mapping[str, Training], peers: Mapping[str, PeerParser], *, measure: bool
) -> dict[str, float]:
    """The speeds measured last, or now."""
    path = cache_folder() / "trainings" / f"speeds-{treebank}.json"
    if measure or not path.exists():
        path.write_text(json.dumps(speeds(treebank, trainings, peers)))
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


def treebank_part(treebank: str, points: dict[str, dict[str, tuple[float, float]]], *, measure: bool) -> str:
    """The table of one treebank; its points for the plot go to ``points``."""
    done = {name: training for name, training in cells(treebank).items() if training.trained}
    peers, notes = {}, []
    for name in PEERS if treebank in WITH_PEERS else ():
        found = peer_parser(name, treebank)
        if isinstance(found, str):
            notes.append(f"{name}: {found}.")
        else:
            peers[name] = found
    rates = kept_speeds(treebank, done, peers, measure=measure)
    rows, gold = [], read(treebank, "test")
    for name, training in done.items():
        trained, scores = training.run(), training.scores()
        rows.append(row(name, scores, trained.seconds, rates, trained.peak_mb, trained.model_mb))
        points.setdefault(name, {})[treebank] = (rates[f"{name}, 1"], 100 * scores.las)
    for name, peer in peers.items():
        scores = attachment(verdicts(gold, Treebank(peer.parse(gold.data), strict=False)))
        rows.append(row(name, scores, peer.training_seconds, rates, peer.peak_mb, peer.size_mb))
        points.setdefault(name, {})[treebank] = (rates[f"{name}, 1"], 100 * scores.las)
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
    return f"### {treebank}\n\n{table(header, rows)}" + ("\n" + " ".join(notes) + "\n" if notes else "")


def plot(points: Mapping[str, Mapping[str, tuple[float, float]]]) -> None:
    """LAS against words a second, a panel for each treebank that peers ran on."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(WITH_PEERS), figsize=(14, 4))
    handles = {}
    for axis, treebank in zip(axes, WITH_PEERS, strict=True):
        for number, (name, places) in enumerate(points.items()):
            if treebank in places:
                mark = "^" if name in PEERS else "o"
                handles[name] = axis.scatter(*places[treebank], marker=mark, color=f"C{number}")
        axis.set(xscale="log", xlabel="words a second, one thread", ylabel="LAS", title=treebank)
        axis.set_xlim(3e3, 3e5)
        axis.grid(alpha=0.3)
    figure.legend(
        list(handles.values()), list(handles), loc="lower center", ncols=3, bbox_to_anchor=(0.5, -0.24)
    )
    figure.savefig(PLOT, dpi=120, bbox_inches="tight")
    pyplot.close(figure)


def report(*, measure: bool) -> None:
    points: dict[str, dict[str, tuple[float, float]]] = {}
    parts = [treebank_part(treebank, points, measure=measure) for treebank in TREEBANKS]
    plot(points)
    about = (
        "Gold tokens; forms and gold UPOS alone unless all columns are named; test data, punctuation counted, label subtypes cut. Words/s: "
        "reading and writing included, all parsers of a treebank taking turns, the best of three. ufal.udpipe sees all columns (its "
        "default settings). Kinds that have no row on a treebank were not trained there yet. Training times of peers were taken when they were trained, on the same machine; ufal.udpipe's include its tokenizer and tagger but on Danish-CDT. spaCy was trained until its LAS on dev had not risen for five passes, or for 40.\n\n"
        f"![LAS against words a second]({PLOT.name})\n\n"
    )
    write_section("parsers", "Parsers on six treebanks", about + "\n".join(parts))


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--jobs", type=int, default=1, help="trainings at a time")
    arguments.add_argument(
        "--report", action="store_true", help="train and measure nothing that is there already"
    )
    given = arguments.parse_args()
    if not given.report:
        run_all(
            [training for name in TREEBANKS for training in cells(name).values()],
            engine=local_engine(given.jobs),
        )
    report(measure=not given.report)


if __name__ == "__main__":
    main()
