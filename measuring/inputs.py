"""Data of cells: treebanks as the parsers see them, facts about them, and hashes of their content.

ARCWISE_TREEBANKS names the folder of treebanks (NAME/train.conllu.xz, dev, test).
"""

from __future__ import annotations

import hashlib
import lzma
import os
from functools import cache
from pathlib import Path

import numpy as np

from arcwise.treebanks import Treebank
from arcwise.trees import Tree
from arcwise.trees.properties import crossing_arcs

PARTS = ("train", "dev", "test")


def treebank_folder() -> Path:
    """Return the folder of treebanks."""
    folder = os.environ.get("ARCWISE_TREEBANKS")
    if not folder:
        raise SystemExit("set ARCWISE_TREEBANKS to the folder of treebanks (NAME/train.conllu.xz, dev, test)")
    return Path(folder)


def read_whole(name: str, part: str) -> Treebank:
    """Read a part of a treebank unchanged."""
    return Treebank.read(treebank_folder() / name / f"{part}.conllu.xz")


@cache
def read(name: str, part: str) -> Treebank:
    """Read a part of a treebank without label subtypes (nsubj for nsubj:pass)."""
    whole = read_whole(name, part)
    return whole.annotate(deprel=[label.split(":")[0] for label in whole.column("deprel")])


def with_columns(treebank: Treebank, *, all_columns: bool) -> Treebank:
    """Keep all columns, or forms, UPOS and trees only."""
    if all_columns:
        return treebank
    nothing = ["_"] * treebank.word_count
    return treebank.annotate(lemma=nothing, xpos=nothing, feats=nothing, misc=nothing)


def treebank_hash(name: str) -> str | None:
    """Return the hash of the content of a treebank's parts; None where the treebank is not at hand."""
    return file_hash(*(f"{name}/{part}.conllu.xz" for part in PARTS))


def file_hash(*names: str) -> str | None:
    """Return the hash of the uncompressed content of files of the folder of treebanks, if they exist."""
    folder = os.environ.get("ARCWISE_TREEBANKS")
    paths = [Path(folder) / name for name in names] if folder else []
    if not paths or not all(path.exists() for path in paths):
        return None
    return _content_hash(*((path, path.stat().st_mtime_ns) for path in paths))


@cache
def _content_hash(*files: tuple[Path, int]) -> str:
    digest = hashlib.sha256()
    for path, _ in files:
        content = lzma.decompress(path.read_bytes())
        digest.update(f"{path.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()[:12]


def crossing_words(tree: Tree) -> set[int]:
    """Return the words whose arc crosses another arc."""
    return {modifier for pair in crossing_arcs(tree) for _, modifier in pair}


def has_several_roots(treebank: str, sentences: int) -> bool:
    """Whether any of the first training sentences has several roots."""
    train = read(treebank, "train")[:sentences]
    roots = np.add.reduceat(train.heads == 0, train.sentence_words[:-1].astype(np.int64))
    return bool((roots > 1).any())


def sizes(treebank: str, sentences: int) -> dict[str, float]:
    """Share of crossing arcs in training and development data, and words of the parts."""
    parts = {part: read(treebank, part) for part in PARTS}
    trees = [sentence.tree for part in ("train", "dev") for sentence in parts[part]]
    crossing = sum(len(crossing_words(tree)) for tree in trees)
    words = {part: bank.word_count for part, bank in parts.items()}
    words["train"] = parts["train"][:sentences].word_count
    return {"crossing": crossing / sum(map(len, trees)), **words}
