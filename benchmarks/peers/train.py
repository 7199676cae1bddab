"""Train a peer with its documented command, and parse with it. Needs the peer, not arcwise.

    python -m benchmarks.peers.train udpipe|spacy DATA --language tr --out FOLDER [--sentences N --draw D]

DATA contains train.conllu, test.conllu and dev.conllu. --sentences draws that many sentences from
train.conllu and ignores dev.conllu, to simulate a project with N annotated sentences: spaCy then trains on
four fifths and selects on the rest; UDPipe trains on all. --raw-text also trains UDPipe's tokenizer and
tagger.
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("peer", choices=("udpipe", "spacy"))
    parser.add_argument("data", type=Path)
    parser.add_argument("--language", required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument(
        "--sentences",
        type=int,
        default=0,
        help="number of training sentences (0: all, with dev.conllu for model selection)",
    )
    parser.add_argument("--draw", type=int, default=0)
    parser.add_argument(
        "--raw-text", action="store_true", help="train UDPipe's whole pipeline, not only its parser"
    )
    parser.add_argument("--without-upos", action="store_true", help="train spaCy on forms only")
    parser.add_argument(
        "--feats", action="store_true", help="give spaCy FEATS, too (UDPipe always gets them)"
    )
    parser.add_argument(
        "--optimize",
        default="accuracy",
        choices=("accuracy", "efficiency"),
        help="spaCy's preset",
    )
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument(
        "--most-seconds",
        type=float,
        help="stop spaCy's training after this time and take its best model so far",
    )
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    train = sentences(options.data / "train.conllu")
    if options.sentences:
        train, dev = draw(train, options.sentences, options.draw), []
        if options.peer == "spacy":
            train, dev = split(train)
    else:
        dev = sentences(options.data / "dev.conllu")
    started, clock, ended, steps = time.process_time(), time.perf_counter(), True, {}
    if options.peer == "udpipe":
        udpipe_parser.train(train, dev, options.language, options.out, raw_text=options.raw_text)
        parse = udpipe_parser.load(options.out)
    else:
        ended = spacy_parser.train(
            *(train, dev, options.language, options.out),
            feats=options.feats,
            upos=not options.without_upos,
            optimize=options.optimize,
            gpu=options.gpu,
            most_seconds=options.most_seconds,
        )
        steps = spacy_parser.steps(options.out)
        parse = spacy_parser.load(options.out)
    process, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    figures = {
        "training_seconds": time.process_time() - started + children.ru_utime + children.ru_stime,
        "wall_seconds": time.perf_counter() - clock,
        "peak_mb": max(process.ru_maxrss, children.ru_maxrss) / 1024,
        "gpu": options.gpu,
        "ended": ended,
        **steps,
    }
    (options.out / PARSED).write_text(parse(join(sentences(options.data / "test.conllu"))), encoding="utf-8")
    (options.out / FIGURES).write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
