"""ufal.udpipe and spaCy beside arcwise's parsers on three treebanks, each trained by its own documented command.

    python -m benchmarks.peer_parsers --prepare     writes what the peers train on, and says by which commands
    python -m benchmarks.peer_parsers [--treebanks NAME …]  trains arcwise's parsers, measures all, writes a section a treebank
    python -m benchmarks.peer_parsers --only PEER   scores of one peer on the treebanks that it was trained on, in a section of its own

Treebanks can be measured one at a time; the picture is drawn from the tables that stand in RESULTS.md then.

The peers are trained by benchmarks.peers.train, which needs no arcwise: in an environment of its own, on any machine. UDPipe sees
forms, UPOS and FEATS with the options that its authors publish for the language, spaCy sees forms and UPOS with the
configuration that it recommends for accuracy. What was not trained is said to be so.
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
from benchmarks.report import RESULTS, table_rows, write_section

PEERS = {
    "udpipe": "",
    "spacy": "",
    "spacy-forms": " --without-upos",
    "spacy-efficiency": " --optimize efficiency",
    "spacy-efficiency-forms": " --optimize efficiency --without-upos",
}
"""Peers, and what each adds to the command that trains it."""
SECTION = "peer_parsers"
PLOT = Path(__file__).parent / "las-against-speed.png"
HEADER = ("parser", "sees", "UAS", "LAS", "training, CPU s", "words/s", "model MB")
OWN = (
    "graph, MIRA, projective",
    "transition, arc-eager, greedy",
    "transition, arc-eager, beam 16",
    ALL_COLUMNS,
)
"""The kinds of benchmarks.parsers that stand beside them."""
NEURAL = {f"neural, {size}": size for size in ("small", "base")}
"""Neural parsers that stand beside them, if benchmarks.neural_parsers has trained them: 8-bit weights, the first seed."""
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
    """What a parser that was trained elsewhere made of the test part, and the parser itself where its model and library are here."""

    scores: Attachment
    figures: Mapping[str, float]
    parse: Callable[[str], object] | None
    model_mb: float | None

    @property
    def training(self) -> str:
        """How long it was trained."""
        if self.figures.get("gpu"):
            seconds = f"{self.figures['wall_seconds']:.0f} on a GPU"
        else:
            seconds = f"{self.figures['training_seconds']:.0f}"
        if self.figures.get("ended", True):
            return seconds
        if "steps" not in self.figures:
            return seconds + ", stopped then"
        steps, best = self.figures["steps"], self.figures["best_step"]
        return f"{seconds}, stopped then at step {steps:,.0f}, the best at {best:,.0f}"


# ---- what the peers train on


def folder(treebank: str) -> Path:
    """Where the peers' data and models of a treebank lie."""
    return cache_folder() / "peers" / treebank


def prepare(treebank: str) -> Path:
    """Write train.conllu, dev.conllu and test.conllu: forms, UPOS, FEATS and trees, subtypes of labels cut, every root ``root``.

    Sentences of several roots are left out of train and dev: UDPipe does not train on them.
    """
    place = folder(treebank)
    place.mkdir(parents=True, exist_ok=True)
    for part in ("train", "dev", "test"):
        (place / f"{part}.conllu").write_bytes(for_peers(read(treebank, part), test=part == "test").data)
    return place


def for_peers(treebank: Treebank, *, test: bool) -> Treebank:
    """A part as the peers see it."""
    kept = roots_labelled(treebank if test else single_roots(treebank), "root")
    nothing = ["_"] * kept.word_count
    return kept.annotate(lemma=nothing, xpos=nothing)


def root_label(treebank: Treebank) -> str:
    """The label that most roots have."""
    labels = Counter(
        label for head, label in zip(treebank.heads, treebank.column("deprel"), strict=True) if head == 0
    )
    return labels.most_common(1)[0][0]


def roots_labelled(treebank: Treebank, label: str) -> Treebank:
    """All roots with that label."""
    labels = [
        label if head == 0 else other
        for head, other in zip(treebank.heads, treebank.column("deprel"), strict=True)
    ]
    return treebank.annotate(deprel=labels)


def single_roots(treebank: Treebank) -> Treebank:
    """Without the sentences of several roots."""
    return Treebank.from_sentences([s for s in treebank if np.count_nonzero(s.heads == 0) == 1])


# ---- what they made of it


def scores_of(parsed: Path, treebank: str) -> Attachment:
    """The scores of a peer's parses of the test part; roots carry the label that the treebank gives them."""
    gold = read(treebank, "test")
    system = Treebank(parsed.read_bytes(), strict=False)
    return attachment(verdicts(gold, roots_labelled(system, root_label(read(treebank, "train")))))


def peer_parser(name: str, treebank: str) -> PeerParser | str:
    """A trained peer, or why there is none."""
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
    """A neural parser of ``benchmarks.neural_parsers`` in 8 bits, or why there is none."""
    cell = Cell(treebank, NEURAL[name], 1)
    if not cell.path.exists():
        return "not trained"
    told = json.loads(cell.path.read_bytes())
    found = told["int8"]["test"]
    words = read(treebank, "test").word_count
    right = (round(words * found[key]) for key in ("uas", "las_cut"))
    scores = Attachment(words, *right, 0, 0, 0, 0, 0)
    figures = {"gpu": told["device"] == "cuda", "wall_seconds": told["seconds"], "training_seconds": 0.0}
    if not cell.model.exists():
        return PeerParser(scores, figures, None, None)
    parser = NeuralParser.load(cell.model)

    def parse(text: str) -> object:
        return parser.parse(Treebank(text.encode()), threads=1).data

    return PeerParser(scores, figures, parse, cell.model.stat().st_size / 1e6)


def command(name: str, treebank: str) -> str:
    """How a peer is trained."""
    place = folder(treebank)
    peer = name.partition("-")[0]
    return f"python -m benchmarks.peers.train {peer} {place} --language {LANGUAGES[treebank]} --out {place / name}{PEERS[name]}"


def section(treebank: str) -> str:
    """The table of one treebank."""
    found = {name: neural_parser(name, treebank) for name in NEURAL}
    found |= {name: peer_parser(name, treebank) for name in PEERS}
    peers = {name: peer for name, peer in found.items() if not isinstance(peer, str)}
    own = {name: training for name, training in cells(treebank).items() if name in OWN}
    rates = speeds(treebank, own, peers)
    rows = [
        _row(name, training.scores(), f"{training.run().seconds:.0f}", rates, training.run().model_mb)
        for name, training in own.items()
    ]
    rows += [_row(name, peer.scores, peer.training, rates, peer.model_mb) for name, peer in peers.items()]
    missing = " ".join(f"{name}: not trained here." for name, peer in found.items() if isinstance(peer, str))
    return table(HEADER, rows) + (f"\n{missing}\n" if missing else "")


def one_peer(name: str) -> str:
    """The scores of a peer on the treebanks that it was trained on."""
    found = {treebank: peer_parser(name, treebank) for treebank in LANGUAGES}
    rows = [
        [treebank, *_row(name, peer.scores, peer.training, {}, peer.model_mb)[1:5]]
        for treebank, peer in found.items()
        if not isinstance(peer, str)
    ]
    return table(("treebank", "sees", "UAS", "LAS", "training, CPU s"), rows)


def speeds(treebank: str, own: Mapping[str, Training], peers: Mapping[str, PeerParser]) -> dict[str, float]:
    """Words a second of reading, parsing and writing the test part on one core, all taking turns."""
    contenders: dict[str, Callable[[], object]] = {}
    for name, training in own.items():
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
    """Words a second and LAS of each parser in the treebank's section of RESULTS.md; those whose speed was not measured are left out."""
    found = {}
    for row in table_rows(f"{SECTION}-{treebank}", HEADER, results):
        if (speed := row[HEADER.index("words/s")])[0].isdigit():
            found[row[0]] = float(speed.replace(",", "")), float(row[HEADER.index("LAS")])
    return found


def plot(results: str) -> None:
    """LAS against words a second, a panel for each treebank, as the tables have them."""
    from matplotlib import pyplot

    points = {treebank: points_of(results, treebank) for treebank in LANGUAGES}
    names = dict.fromkeys(name for places in points.values() for name in places)
    figure, axes = pyplot.subplots(1, len(LANGUAGES), figsize=(14, 4))
    handles = {}
    for axis, (treebank, places) in zip(axes, points.items(), strict=True):
        for number, name in enumerate(names):
            if name in places:
                mark = "^" if name in PEERS else "o"
                handles[name] = axis.scatter(*places[name], marker=mark, color=f"C{number}")
        axis.set(xscale="log", xlabel="words a second, one core", ylabel="LAS", title=treebank)
        axis.grid(alpha=0.3)
    figure.legend(
        list(handles.values()), list(handles), loc="lower center", ncols=3, bbox_to_anchor=(0.5, -0.2)
    )
    figure.savefig(PLOT, dpi=120, bbox_inches="tight")
    pyplot.close(figure)


ABOUT = (
    "Gold tokens and tags, test data, punctuation counted, label subtypes cut. udpipe: ufal.udpipe with the options of its models of "
    "UD 2.0 (training/models-ud-2.0/params_parser in its repository) and vectors of forms learned on the training data as there. "
    "spacy: `spacy init config --optimize accuracy` and `spacy train` until its own patience ends, or stopped where that is said; "
    "spacy-efficiency: `--optimize efficiency`, its default and its advice for CPUs; "
    "UPOS is among the embedded attributes and handed over by a reader; no vectors learned on other text. Words/s: one core, "
    "reading and writing included, all of a table taking turns, the best of three; a dash where the peer's model was not at hand.\n\n"
)


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("--prepare", action="store_true", help="write what the peers train on")
    arguments.add_argument("--only", choices=PEERS, help="scores of this peer alone")
    arguments.add_argument("--treebanks", nargs="+", choices=LANGUAGES, default=tuple(LANGUAGES))
    given = arguments.parse_args()
    if given.prepare:
        for treebank in LANGUAGES:
            prepare(treebank)
            print(*(command(name, treebank) for name in PEERS), sep="\n")
        return
    if given.only:
        body = ABOUT + one_peer(given.only)
        write_section(f"{SECTION}-{given.only}", f"A peer: {given.only}", body, module=SECTION)
        print(body)
        return
    for treebank in given.treebanks:
        body = section(treebank)
        write_section(f"{SECTION}-{treebank}", f"Peers on {treebank}", body, module=SECTION)
        print(treebank, body, sep="\n\n", flush=True)
    plot(RESULTS.read_text())
    picture = f"![LAS against words a second]({PLOT.name})"
    write_section(SECTION, "Peers, trained by their own commands", ABOUT + picture)


if __name__ == "__main__":
    main()
