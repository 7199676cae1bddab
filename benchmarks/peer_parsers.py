"""The peers of benchmarks.parsers: ufal.udpipe (its default settings) and spaCy (its default network, trained until dev stops rising).

    python -m benchmarks.peer_parsers NAME TREEBANK     trains one and keeps it in ~/.cache/arcwise/NAME (or ARCWISE_CACHE)

UDPipe's model is the whole pipeline where benchmarks.pipeline uses it too, its parser alone elsewhere. All of it may take hours.
"""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from measuring.memory import peak_mb
from measuring.trainings import cache_folder, read, treebank_folder

from arcwise.treebanks import Treebank

PEERS = ("udpipe", "spacy", "spacy with UPOS")
FROM_RAW_TEXT = ("English-EWT", "Turkish-IMST")
"""Treebanks on which UDPipe's tokenizer and tagger are trained too."""
PATIENCE = 5
MOST_PASSES = 40
"""spaCy is trained until its score on the development data has not risen for PATIENCE passes, or for so many."""
UD_TAGS = {
    *("ADJ", "ADP", "ADV", "AUX", "CCONJ", "DET", "INTJ", "NOUN", "NUM"),
    *("PART", "PRON", "PROPN", "PUNCT", "SCONJ", "SYM", "VERB", "X"),
}
_MODEL = """
[model]
@architectures = "spacy.TransitionBasedParser.v2"
state_type = "parser"
extra_state_tokens = false
hidden_width = 64
maxout_pieces = 2
use_upper = true

[model.tok2vec]
@architectures = "spacy.Tok2Vec.v2"

[model.tok2vec.embed]
@architectures = "spacy.MultiHashEmbed.v2"
width = 96
attrs = {attributes}
rows = {rows}
include_static_vectors = false

[model.tok2vec.encode]
@architectures = "spacy.MaxoutWindowEncoder.v2"
width = 96
window_size = 1
maxout_pieces = 3
depth = 4
"""


@dataclass(frozen=True)
class PeerParser:
    """A trained peer: CoNLL-U in, CoNLL-U with its trees out."""

    parse: Callable[[bytes], bytes]
    training_seconds: float
    peak_mb: float
    size_mb: float


def peer_parser(name: str, treebank: str) -> PeerParser | str:
    """The trained peer, or why there is none."""
    try:
        load = {"udpipe": _load_udpipe}.get(name, _load_spacy)
        __import__("ufal.udpipe" if name == "udpipe" else "spacy")
    except ImportError:
        return "not installed"
    folder = _folder(name)
    if not (folder / f"{treebank}.json").exists():
        return f"not trained (python -m benchmarks.peer_parsers {name!r} {treebank})"
    return load(folder, treebank)


def train(name: str, treebank: str) -> None:
    """Train a peer and keep it."""
    folder = _folder(name)
    folder.mkdir(parents=True, exist_ok=True)
    started = time.process_time()
    if name == "udpipe":
        _train_udpipe(treebank)
    else:
        _train_spacy(folder, treebank, upos=name.endswith("UPOS"))
    figures = {
        "training_seconds": time.process_time() - started,
        "peak_mb": peak_mb(),
    }
    (folder / f"{treebank}.json").write_text(json.dumps(figures))


def _folder(name: str) -> Path:
    return cache_folder() / name.replace(" ", "-")


def _figures(folder: Path, treebank: str) -> dict[str, float]:
    return dict(json.loads((folder / f"{treebank}.json").read_text()))


# ---- roots: treebanks and peers name them differently


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


# ---- UDPipe


def _train_udpipe(treebank: str) -> None:
    from ufal.udpipe import InputFormat, ProcessingError, Sentence, Sentences, Trainer

    def sentences(part: str) -> Any:
        # A single root named root is UDPipe's default, and the only one that it trains on all treebanks without a crash.
        whole = Treebank.read(treebank_folder() / treebank / f"{part}.conllu.xz")
        reader, found = InputFormat.newConlluInputFormat(), Sentences()
        reader.setText(roots_labelled(single_roots(whole), "root").data.decode())
        error, sentence = ProcessingError(), Sentence()
        while reader.nextSentence(sentence, error):
            found.append(sentence)
            sentence = Sentence()
        if error.occurred():
            raise SystemExit(error.message)
        return found

    error = ProcessingError()
    others = "" if treebank in FROM_RAW_TEXT else "none"
    model = Trainer.train(
        "morphodita_parsito", sentences("train"), sentences("dev"), others, others, "", error
    )
    if error.occurred():
        raise SystemExit(error.message)
    udpipe_path(treebank).write_bytes(model)


def udpipe_path(treebank: str) -> Path:
    """Where UDPipe's model of a treebank is kept."""
    return _folder("udpipe") / f"{treebank}.udpipe"


def udpipe(path: Path, *, raw_text: bool) -> Callable[[str], str]:
    """A model of UDPipe: raw text cut, tagged and parsed, or CoNLL-U parsed; CoNLL-U comes out."""
    from ufal.udpipe import Model, Pipeline, ProcessingError

    model = Model.load(str(path))
    source, tagging = ("tokenize", Pipeline.DEFAULT) if raw_text else ("conllu", Pipeline.NONE)
    pipeline = Pipeline(model, source, tagging, Pipeline.DEFAULT, "conllu")

    def process(text: str) -> str:
        assert model is not None  # UDPipe's pipeline does not keep its model alive; this function does
        return str(pipeline.process(text, ProcessingError()))

    return process


def _load_udpipe(folder: Path, treebank: str) -> PeerParser:
    path = udpipe_path(treebank)
    process = udpipe(path, raw_text=False)
    figures = _figures(folder, treebank)
    root = root_label(read(treebank, "train"))

    def parse(data: bytes) -> bytes:
        parsed = process(data.decode()).encode()
        return parsed if root == "root" else roots_labelled(Treebank(parsed), root).data

    return PeerParser(parse, figures["training_seconds"], figures["peak_mb"], path.stat().st_size / 1e6)


# ---- spaCy


def _docs(nlp: Any, treebank: Treebank) -> list[Any]:
    from spacy.tokens import Doc

    docs = []
    for sentence in treebank:
        heads = [place if head == 0 else int(head) - 1 for place, head in enumerate(sentence.tree.heads[1:])]
        labels = [label or "dep" for label in sentence.deprels]
        docs.append(
            Doc(nlp.vocab, words=list(sentence.forms), heads=heads, deps=labels, **_tags(sentence.upos))
        )
    return docs


def _tags(tags: Sequence[str]) -> dict[str, list[str]]:
    """Tags as spaCy takes them: all of them as its "tag", those of UD as its "pos" too."""
    return {"tags": list(tags), "pos": [tag if tag in UD_TAGS else "X" for tag in tags]}


def _train_spacy(folder: Path, treebank: str, *, upos: bool) -> None:
    import random

    import spacy
    from spacy.training import Example
    from spacy.util import fix_random_seed, load_config_from_str, minibatch

    fix_random_seed(1)
    nlp = spacy.blank("xx")
    treebanks = [read(treebank, part) for part in ("train", "dev")]
    tag = "POS" if set(treebanks[0].column("upos")) <= UD_TAGS else "TAG"
    attributes = ["NORM", "PREFIX", "SUFFIX", "SHAPE", *([tag] if upos else [])]
    rows = [5000, 1000, 2500, 2500, *([100] if upos else [])]
    config = load_config_from_str(
        _MODEL.format(attributes=json.dumps(attributes), rows=rows), interpolate=False
    )
    parser = nlp.add_pipe("parser", config={"model": config["model"]})
    train, dev = (_docs(nlp, each) for each in treebanks)

    def examples(docs: list[Any]) -> list[Any]:
        return [Example(_unparsed(nlp, doc), doc) for doc in docs]

    shuffled, held_out = examples(train), examples(dev)
    optimizer = nlp.initialize(lambda: shuffled[:2000])
    for example in shuffled:
        for label in {token.dep_ for token in example.reference}:
            parser.add_label(label)
    best, since = -1.0, 0
    for _ in range(MOST_PASSES):
        random.shuffle(shuffled)
        for batch in minibatch(shuffled, size=32):
            nlp.update(batch, sgd=optimizer, drop=0.1)
        predicted = [Example(parser(_unparsed(nlp, e.reference)), e.reference) for e in held_out]
        las = parser.score(predicted)["dep_las"] or 0.0
        print(f"{treebank}: dev LAS {100 * las:.2f}", file=sys.stderr, flush=True)
        best, since = (las, 0) if las > best else (best, since + 1)
        if since == 0:
            nlp.to_disk(folder / treebank)
        if since == PATIENCE:
            break


def _unparsed(nlp: Any, doc: Any) -> Any:
    from spacy.tokens import Doc

    return Doc(nlp.vocab, words=[t.text for t in doc], **_tags([t.tag_ for t in doc]))


def _load_spacy(folder: Path, treebank: str) -> PeerParser:
    import spacy
    from spacy.tokens import Doc

    nlp = spacy.load(folder / treebank)
    parser = nlp.get_pipe("parser")
    root = root_label(read(treebank, "train"))  # spaCy has a name of its own for it, ROOT

    def parse(data: bytes) -> bytes:
        whole = Treebank(data)
        docs = [
            Doc(
                nlp.vocab,
                words=list(s.forms),
                sent_starts=[True] + [False] * (len(s) - 1),
                **_tags(s.upos),
            )
            for s in whole
        ]
        parsed = list(parser.pipe(docs, batch_size=64))
        heads = np.array([0 if t.head.i == t.i else t.head.i + 1 for doc in parsed for t in doc], np.int32)
        labels = [t.dep_ for doc in parsed for t in doc]
        return roots_labelled(whole.annotate(heads=heads, deprel=labels), root).data

    figures = _figures(folder, treebank)
    size = sum(path.stat().st_size for path in (folder / treebank).rglob("*") if path.is_file()) / 1e6
    return PeerParser(parse, figures["training_seconds"], figures["peak_mb"], size)


if __name__ == "__main__":
    train(sys.argv[1], sys.argv[2])
