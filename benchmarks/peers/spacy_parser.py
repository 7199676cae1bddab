"""spaCy's parser, trained with ``spacy init config --optimize accuracy`` and ``spacy train`` (no arcwise
needed).

Differences from spaCy's configuration: gold tags (and FEATS on request) are among the embedded attributes
unless it is to see forms only, and there are no pretrained vectors, because no parser here has any. On a
small treebank, rare labels are kept (``min_action_freq`` 1 instead of 30), which improves its accuracy.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from benchmarks.peers.conllu_files import words

SMALL = 1000
"""Treebank size in sentences up to which labels seen less than 30 times are kept."""
ROWS = {"TAG": 100, "MORPH": 1000}
"""Rows of the hash tables of tags and of morphology."""
LOG = "train.log"
"""Log file of ``spacy train``."""
_STEP = re.compile(r"^ *\d+ +(?P<step>\d+) +[\d.]+ +[\d.]+ +(?P<uas>[\d.]+) +(?P<las>[\d.]+) ", re.MULTILINE)
"""A line of the log: epoch, step, two losses, UAS, LAS on dev."""


def train(
    train: Sequence[str],
    dev: Sequence[str],
    language: str,
    folder: Path,
    *,
    feats: bool,
    upos: bool = True,
    optimize: str = "accuracy",
    gpu: bool = False,
    most_seconds: float | None = None,
) -> bool:
    """Train until spaCy's early stopping; ``folder / "model-best"`` gets the best model on dev.

    Returns whether training finished before ``most_seconds``.
    """
    _write(train, folder / "train.spacy", language)
    _write(dev, folder / "dev.spacy", language)
    config = folder / "config.cfg"
    _spacy(
        "init",
        "config",
        str(config),
        "--lang",
        language,
        "--pipeline",
        "parser",
        "--optimize",
        optimize,
        "--force",
    )
    settings: dict[str, object] = {
        "components.tok2vec.model.embed.include_static_vectors": False,
        "components.parser.min_action_freq": 1 if len(train) <= SMALL else 30,
        "paths.vectors": None,
    }
    seen = (["TAG"] if upos else []) + (["MORPH"] if feats else [])
    _set(config, settings, seen, {"train": folder / "train.spacy", "dev": folder / "dev.spacy"})
    code = Path(__file__).with_name("spacy_reader.py")
    command = ["train", str(config), "--output", str(folder), "--code", str(code)]
    with (folder / LOG).open("w", encoding="utf-8") as log:
        try:
            _spacy(*command, *(("--gpu-id", "0") if gpu else ()), most_seconds=most_seconds, log=log)
        except subprocess.TimeoutExpired:
            return False
    return True


def steps(folder: Path) -> dict[str, int]:
    """Last logged step of the training in ``folder``, and the step of the best model (by mean of UAS and
    LAS).

    Empty if nothing was logged.
    """
    log_lines = [
        (int(line["step"]), float(line["uas"]) + float(line["las"]))
        for line in _STEP.finditer((folder / LOG).read_text(encoding="utf-8"))
    ]
    if not log_lines:
        return {}
    return {"steps": log_lines[-1][0], "best_step": max(log_lines, key=lambda one: one[1])[0]}


def load(folder: Path) -> Callable[[str], str]:
    """Load the parser: CoNLL-U in, CoNLL-U with trees out."""
    import spacy

    from benchmarks.peers.spacy_reader import sentence

    nlp = spacy.load(folder / "model-best")

    def run(text: str) -> str:
        blocks = [
            [line for line in block.splitlines() if line] for block in text.split("\n\n") if block.strip()
        ]
        rows = [words("\n".join(block)) for block in blocks]
        docs = (
            sentence(nlp.vocab, [r[1] for r in one], [r[3] for r in one], [_morph(r[5]) for r in one])
            for one in rows
        )
        parsed = []
        for block, doc in zip(blocks, nlp.pipe(docs), strict=True):
            tokens, lines = iter(doc), []
            for line in block:
                if line[0] != "#" and (row := line.split("\t"))[0].isdigit():
                    token = next(tokens)
                    row[6] = "0" if token.head is token or token.head.i == token.i else str(token.head.i + 1)
                    row[7] = "root" if row[6] == "0" else token.dep_
                    line = "\t".join(row)
                lines.append(line)
            parsed.append("\n".join(lines) + "\n\n")
        return "".join(parsed)

    return run


def _write(parts: Sequence[str], path: Path, language: str) -> None:
    """Write a .spacy file with one sentence per document, like ``spacy convert -n 1``."""
    import spacy
    from spacy.tokens import Doc, DocBin

    vocab, documents = (
        spacy.blank(language).vocab,
        DocBin(attrs=["TAG", "MORPH", "HEAD", "DEP", "SENT_START"]),
    )
    for part in parts:
        rows = words(part)
        heads = [place if row[6] == "0" else int(row[6]) - 1 for place, row in enumerate(rows)]
        labels = ["ROOT" if row[6] == "0" else row[7] for row in rows]
        forms, tags, morphs = [r[1] for r in rows], [r[3] for r in rows], [_morph(r[5]) for r in rows]
        documents.add(Doc(vocab, words=forms, tags=tags, morphs=morphs, heads=heads, deps=labels))
    documents.to_disk(path)


def _morph(feats: str) -> str:
    return "" if feats == "_" else feats


def _set(path: Path, settings: dict[str, object], seen: Sequence[str], corpora: dict[str, Path]) -> None:
    """Change a configuration file; ``seen``: attributes to embed in addition to spaCy's."""
    from spacy import util

    config = util.load_config(path, interpolate=False)
    for key, value in settings.items():
        section = config
        *names, last = key.split(".")
        for name in names:
            section = section[name]
        section[last] = value
    embed = config["components"]["tok2vec"]["model"]["embed"]
    embed["attrs"] += seen
    embed["rows"] += [ROWS[name] for name in seen]
    for name, file in corpora.items():
        config["corpora"][name] = {"@readers": "gold_tags.v1", "path": str(file)}
    config.to_disk(path, interpolate=False)


def _spacy(*arguments: str, most_seconds: float | None = None, log: IO[str] | None = None) -> None:
    command = [sys.executable, "-m", "spacy", *arguments]
    subprocess.run(command, check=True, timeout=most_seconds, stdout=log)
