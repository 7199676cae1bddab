"""Train a peer in a folder, by its own command, and parse with it. Needs the peer, not arcwise.

    python -m benchmarks.peers.train udpipe|spacy DATA --language tr --out FOLDER [--sentences N --draw D]

DATA holds train.conllu, test.conllu and dev.conllu. With --sentences, so many sentences of train.conllu are drawn and dev.conllu
is not looked at: whoever annotated N sentences has no others. spaCy then trains on four fifths of them and chooses by the last;
UDPipe trains on all. With --raw-text UDPipe's tokenizer and tagger are trained too.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path

from benchmarks.peers import spacy_parser, udpipe_parser
from benchmarks.peers.conllu_files import draw, join, sentences, split

PARSED, FIGURES = "parsed.conllu", "figures.json"


def main() -> None:
    arguments = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments.add_argument("peer", choices=("udpipe", "spacy"))
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--language", required=True)
    arguments.add_argument("--out", type=Path, required=True)
    arguments.add_argument("--sentences", type=int, default=0, help="0: all, and dev.conllu to choose by")
    arguments.add_argument("--draw", type=int, default=0)
    arguments.add_argument(
        "--raw-text", action="store_true", help="UDPipe's whole pipeline, not its parser alone"
    )
    arguments.add_argument("--without-upos", action="store_true", help="spaCy sees forms alone")
    arguments.add_argument("--feats", action="store_true", help="spaCy sees FEATS too (UDPipe always does)")
    arguments.add_argument(
        "--optimize",
        default="accuracy",
        choices=("accuracy", "efficiency"),
        help="spaCy's own choice of two sizes",
    )
    arguments.add_argument("--gpu", action="store_true")
    arguments.add_argument(
        "--most-seconds", type=float, help="stop spaCy's training then, and take its best model so far"
    )
    given = arguments.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    train = sentences(given.data / "train.conllu")
    if given.sentences:
        train, dev = draw(train, given.sentences, given.draw), []
        if given.peer == "spacy":
            train, dev = split(train)
    else:
        dev = sentences(given.data / "dev.conllu")
    started, clock, ended, steps = time.process_time(), time.perf_counter(), True, {}
    if given.peer == "udpipe":
        udpipe_parser.train(train, dev, given.language, given.out, raw_text=given.raw_text)
        parse = udpipe_parser.load(given.out)
    else:
        ended = spacy_parser.train(
            *(train, dev, given.language, given.out),
            feats=given.feats,
            upos=not given.without_upos,
            optimize=given.optimize,
            gpu=given.gpu,
            most_seconds=given.most_seconds,
        )
        steps = spacy_parser.steps(given.out)
        parse = spacy_parser.load(given.out)
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    figures = {
        "training_seconds": time.process_time() - started + children.ru_utime + children.ru_stime,
        "wall_seconds": time.perf_counter() - clock,
        "peak_mb": max(own.ru_maxrss, children.ru_maxrss) / 1024,
        "gpu": given.gpu,
        "ended": ended,
        **steps,
    }
    (given.out / PARSED).write_text(parse(join(sentences(given.data / "test.conllu"))), encoding="utf-8")
    (given.out / FIGURES).write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
