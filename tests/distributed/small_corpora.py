"""Small corpora in every format, and what a job should make of them."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

from arcwise.models import load
from arcwise.pipeline.pipeline import Pipeline
from arcwise.treebanks import Treebank

MODEL = "en-fast"
_SUBJECTS = ["The old man", "A bird", "Nobody in the village", "She", "My neighbour's dog", "They"]
_VERBS = ["saw", "did not hear", "bought", "sings about", "will remember"]
_OBJECTS = ["the sea", "two red boats", "a letter from Rome", "it", "the story of the sea"]


def texts(count: int, *, sentences: int = 3) -> list[str]:
    """So many texts, all different."""
    return [
        " ".join(_sentence(5 * number + k) for k in range(1 + number % sentences)) for number in range(count)
    ]


def _sentence(number: int) -> str:
    subject, verb, thing = (
        words[number // step % len(words)] for words, step in ((_SUBJECTS, 1), (_VERBS, 6), (_OBJECTS, 30))
    )
    return f"{subject} {verb} {thing}{'.!?'[number % 3]}"


@cache
def pipeline() -> Pipeline:
    return load(MODEL)


def write_jsonl(path: Path, lines: Sequence[str | dict[str, object]]) -> Path:
    """Lines as they are, objects as JSON."""
    data = "".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines)
    return write_packed(path, data.encode())


def write_packed(path: Path, data: bytes) -> Path:
    """Packed as the name says."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".zst":
        import zstandard

        data = zstandard.ZstdCompressor().compress(data)
    path.write_bytes({".gz": gzip.compress, ".xz": lzma.compress}.get(path.suffix, bytes)(data))
    return path


def outputs(folder: Path) -> dict[str, bytes]:
    """All that a job wrote for others: the shards and errors.jsonl."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and "_job" not in path.parts
    }


def shards(folder: Path, pattern: str) -> Iterator[Path]:
    """The parsed shards, in order."""
    return iter(sorted(path for path in folder.rglob(pattern) if "_job" not in path.parts))


def errors(folder: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / "errors.jsonl").read_text("utf-8").splitlines()]


def sentences_of(folder: Path) -> list[str]:
    """The rows of all sentences of a folder of CoNLL-U, without their comments."""
    found = [Treebank.read(path) for path in shards(folder, "*.conllu*")]
    return [rows_of(sentence.to_conllu()) for treebank in found for sentence in treebank]


def rows_of(conllu: str) -> str:
    return "\n".join(line for line in conllu.splitlines() if not line.startswith("#"))
