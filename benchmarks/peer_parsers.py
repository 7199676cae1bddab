"""Accuracy and throughput of arcwise, ufal.udpipe and spaCy on three treebanks.

    python -m benchmarks.peer_parsers --prepare             write the peers' training data, print the training
    commands python -m benchmarks.peer_parsers [--treebanks NAME …]  train arcwise's parsers, measure all, one
    section per treebank python -m benchmarks.peer_parsers --only PEER           scores of one peer on every
    treebank, in a separate section

Treebanks can be measured one at a time; benchmarks.figures draws the plot from the tables in RESULTS.md.

Each peer is trained with its documented command through benchmarks.peers.train, which does not import
arcwise and so runs in a separate environment, on any machine. UDPipe sees forms, UPOS and FEATS and uses the
options its authors publish for the language; spaCy sees forms and UPOS and uses its recommended
configuration for accuracy. Peers that were not trained are listed as such.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from measuring.tables import table
from measuring.timing import interleaved
from measuring.trainings import Training, cache_folder, read

from arcwise.evaluation.attachment import Attachment, attachment
from arcwise.evaluation.verdicts import verdicts
from arcwise.neural import NeuralParser
from arcwise.treebanks import Treebank
from benchmarks.neural_parsers import Cell
from benchmarks.parsers import ALL_COLUMNS, LANGUAGES, cells
from benchmarks.peers import spacy_parser, udpipe_parser
from benchmarks.peers.train import FIGURES, PARSED
from benchmarks.report import table_rows, write_section

PEERS = {
    "udpipe": "",
    "spacy": "",
    "spacy-forms": " --without-upos",
    "spacy-efficiency": " --optimize efficiency",
    "spacy-efficiency-forms": " --optimize efficiency --without-upos",
}
"""Peers, with the extra arguments of their training commands."""
SECTION = "peer_parsers"
PLOT = Path(__file__).parent / "las-against-speed.png"
HEADER = ("parser", "sees", "UAS", "LAS", "training, CPU s", "words/s", "model MB")
OWN = (
    "graph, MIRA, projective",
    "transition, arc-eager, greedy",
    "transition, arc-eager, beam 16",
    ALL_COLUMNS,
)
"""Linear parsers from benchmarks.parsers to compare with."""
NEURAL = {f"neural, {size}": size for size in ("small", "base")}
"""Neural parsers to compare with, if benchmarks.neural_parsers has trained them: 8-bit weights, first
seed.
"""
SEES = {
    "udpipe": "forms, UPOS, FEATS",
    "spacy": "forms, UPOS",
    "spacy-forms": "forms",
    "spacy-efficiency": "forms, UPOS",
    "spacy-efficiency-forms": "forms",
    ALL_COLUMNS: "all columns",
}


@dataclass(frozen=True)
class PeerParser:
    """Test scores of a peer trained elsewhere, and the parser itself if its model and library are
    installed.
    """

    scores: Attachment
    figures: Mapping[str, float]
    parse: Callable[[str], object] | None
    model_mb: float | None

    @property
    def training(self) -> str:
        """Training time, as shown in the table."""
        if self.figures.get("gpu"):
            seconds = f"{self.figures['wall_seconds']:.0f} on a GPU"
        else:
            seconds = f"{self.figures['training_seconds']:.0f}"
        if self.figures.get("ended", True):
            return seconds
        if "steps" not in self.figures:
            return seconds + ", stopped early"
        steps, best = self.figures["steps"], self.figures["best_step"]
        return f"{seconds}, stopped early at step {steps:,.0f}, best at {best:,.0f}"


def folder(treebank: str) -> Path:
    """Folder of the peers' data and models for a treebank."""
    return cache_folder() / "peers" / treebank


def prepare(treebank: str) -> Path:
    """Write train.conllu, dev.conllu and test.conllu: forms, UPOS, FEATS and trees, label subtypes cut,
    roots ``root``.

    Leaves sentences with several roots out of train and dev: UDPipe cannot train on them.
    """
    place = folder(treebank)
    place.mkdir(parents=True, exist_ok=True)
    for part in ("train", "dev", "test"):
        (place / f"{part}.conllu").write_bytes(for_peers(read(treebank, part), test=part == "test").data)
    return place


def for_peers(treebank: Treebank, *, test: bool) -> Treebank:
    """Reduce a treebank to the columns the peers see."""
    kept = roots_labelled(treebank if test else single_roots(treebank), "root")
    nothing = ["_"] * kept.word_count
    return kept.annotate(lemma=nothing, xpos=nothing)


def root_label(treebank: Treebank) -> str:
    """Most frequent label of a root."""
    labels = Counter(
        label for head, label in zip(treebank.heads, treebank.column("deprel"), strict=True) if head == 0
    )
    return labels.most_common(1)[0][0]


def roots_labelled(treebank: Treebank, label: str) -> Treebank:
    """Relabel every root."""
    labels = [
        label if head == 0 else deprel
        for head, deprel in zip(treebank.heads, treebank.column("deprel"), strict=True)
    ]
    return treebank.annotate(deprel=labels)


def single_roots(treebank: Treebank) -> Treebank:
    """Drop sentences with several roots."""
    return Treebank.from_sentences([s for s in treebank if np.count_nonzero(s.heads == 0) == 1])


def scores_of(parsed: Path, treebank: str) -> Attachment:
    """Score a peer's parses of the test data, with roots relabelled as in the treebank."""
    gold = read(treebank, "test")
    system = Treebank(parsed.read_bytes(), strict=False)
    return attachment(verdicts(gold, roots_labelled(system, root_label(read(treebank, "train")))))


def peer_parser(name: str, treebank: str) -> PeerParser | str:
    """Load a trained peer, or return the reason there is none."""
    place = folder(treebank) / name
    if not (place / FIGURES).exists():
        return f"not trained ({command(name, treebank)})"
    figures = dict(json.loads((place / FIGURES).read_text()))
    model = place / (udpipe_parser.MODEL if name == "udpipe" else "model-best")
    parse, size = None, None
    if model.exists():
        files = [model] if model.is_file() else [path for path in model.rglob("*") if path.is_file()]
        size = sum(path.stat().st_size for path in files) / 1e6
        try:
            parse = (udpipe_parser if name == "udpipe" else spacy_parser).load(place)
        except ImportError:
            parse = None
    return PeerParser(scores_of(place / PARSED, treebank), figures, parse, size)


def neural_parser(name: str, treebank: str) -> PeerParser | str:
    """Load an 8-bit neural parser from ``benchmarks.neural_parsers``, or return the reason there is none."""
    cell = Cell(treebank, NEURAL[name], 1)
    if not cell.path.exists():
        return "not trained"
    figures_file = json.loads(cell.path.read_bytes())
    test_scores = figures_file["int8"]["test"]
    words = read(treebank, "test").word_count
    right = (round(words * test_scores[key]) for key in ("uas", "las_cut"))
    scores = Attachment(words, *right, 0, 0, 0, 0, 0)
    figures = {
        "gpu": figures_file["device"] == "cuda",
        "wall_seconds": figures_file["seconds"],
        "training_seconds": 0.0,
    }
    if not cell.model.exists():
        return PeerParser(scores, figures, None, None)
    parser = NeuralParser.load(cell.model)

    def parse(text: str) -> object:
        return parser.parse(Treebank(text.encode()), threads=1).data

    return PeerParser(scores, figures, parse, cell.model.stat().st_size / 1e6)


def command(name: str, treebank: str) -> str:
    """Command that trains a peer."""
    place = folder(treebank)
    peer = name.partition("-")[0]
    return (
        f"python -m benchmarks.peers.train {peer} {place} --language {LANGUAGES[treebank]} --out "
        f"{place / name}{PEERS[name]}"
    )


def section(treebank: str) -> str:
    """Table of one treebank."""
    contenders = {name: neural_parser(name, treebank) for name in NEURAL}
    contenders |= {name: peer_parser(name, treebank) for name in PEERS}
    peers = {name: peer for name, peer in contenders.items() if not isinstance(peer, str)}
    linear = {name: training for name, training in cells(treebank).items() if name in OWN}
    rates = speeds(treebank, linear, peers)
    rows = [
        _row(name, training.scores(), f"{training.run().seconds:.0f}", rates, training.run().model_mb)
        for name, training in linear.items()
    ]
    rows += [_row(name, peer.scores, peer.training, rates, peer.model_mb) for name, peer in peers.items()]
    missing = " ".join(
        f"{name}: not trained here." for name, peer in contenders.items() if isinstance(peer, str)
    )
    return table(HEADER, rows) + (f"\n{missing}\n" if missing else "")


def one_peer(name: str) -> str:
    """Rows with one peer's scores on every treebank it was trained on."""
    peers = {treebank: peer_parser(name, treebank) for treebank in LANGUAGES}
    rows = [
        [treebank, *_row(name, peer.scores, peer.training, {}, peer.model_mb)[1:5]]
        for treebank, peer in peers.items()
        if not isinstance(peer, str)
    ]
    return table(("treebank", "sees", "UAS", "LAS", "training, CPU s"), rows)


def speeds(
    treebank: str, linear: Mapping[str, Training], peers: Mapping[str, PeerParser]
) -> dict[str, float]:
    """Words per second of reading, parsing and writing the test data on one core, contenders taking
    turns.
    """
    contenders: dict[str, Callable[[], object]] = {}
    for name, training in linear.items():
        data, parser = training.data("test").data, training.parser()
        contenders[name] = lambda d=data, p=parser: p.parse(Treebank(d), threads=1).data
    text = for_peers(read(treebank, "test"), test=True).data.decode()
    for name, peer in peers.items():
        if peer.parse is not None:
            contenders[name] = lambda parse=peer.parse: parse(text)
    words = read(treebank, "test").word_count
    return {name: words / seconds for name, seconds in interleaved(contenders, repeat=3).items()}


def _row(
    name: str, scores: Attachment, training: str, rates: Mapping[str, float], size: float | None
) -> list[object]:
    return [
        name,
        SEES.get(name, "forms, UPOS"),
        f"{100 * scores.uas:.2f}",
        f"{100 * scores.las:.2f}",
        training,
        f"{rates[name]:,.0f}" if name in rates else "–",
        f"{size:.1f}" if size else "–",
    ]


def points_of(results: str, treebank: str) -> dict[str, tuple[float, float]]:
    """Words per second and LAS of each parser in a treebank's table, without parsers whose speed was not
    measured.
    """
    points = {}
    for row in table_rows(f"{SECTION}-{treebank}", HEADER, results):
        if (speed := row[HEADER.index("words/s")])[0].isdigit():
            points[row[0]] = float(speed.replace(",", "")), float(row[HEADER.index("LAS")])
    return points


ABOUT = (
    "Gold tokens and tags, test data, punctuation counted, label subtypes cut. udpipe: ufal.udpipe with the "
    "options of its UD 2.0 models (training/models-ud-2.0/params_parser in its repository), including "
    "word embeddings trained on the training data. spacy: `spacy init config --optimize accuracy` "
    "and `spacy train` until early stopping, or stopped before where the table says so; "
    "spacy-efficiency: `--optimize efficiency`, the default and spaCy's recommendation for "
    "CPUs; UPOS is among the embedded attributes, supplied by a custom reader; no "
    "pretrained vectors. Words/s: one core, reading and writing included, all "
    "parsers of a table taking turns, the best of three; a dash where the peer's "
    "model was unavailable.\n\n"
)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--prepare",
        action="store_true",
        help="write the peers' training data and print their training commands",
    )
    parser.add_argument("--only", choices=PEERS, help="report the scores of this peer only")
    parser.add_argument("--treebanks", nargs="+", choices=LANGUAGES, default=tuple(LANGUAGES))
    options = parser.parse_args()
    if options.prepare:
        for treebank in LANGUAGES:
            prepare(treebank)
            print(*(command(name, treebank) for name in PEERS), sep="\n")
        return
    if options.only:
        body = ABOUT + one_peer(options.only)
        write_section(f"{SECTION}-{options.only}", f"Peer: {options.only}", body, module=SECTION)
        print(body)
        return
    for treebank in options.treebanks:
        body = section(treebank)
        write_section(f"{SECTION}-{treebank}", f"Peers on {treebank}", body, module=SECTION)
        print(treebank, body, sep="\n\n", flush=True)
    picture = f"![LAS against words per second]({PLOT.name})"
    write_section(SECTION, "Peers, trained with their documented commands", ABOUT + picture)


if __name__ == "__main__":
    main()
