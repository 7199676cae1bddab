"""Read a corpus of any size as a series of treebanks of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

import numpy as np

from arcwise import native
from arcwise.errors import InputError
from arcwise.treebanks.files import PathLike, open_input, refuse_other_format
from arcwise.treebanks.problems import Problem, ProblemKind
from arcwise.treebanks.treebank import Treebank

_BATCH = 1 << 20


class Readable(Protocol):
    """A binary stream, or anything with the same ``read`` (``PausingReader``)."""

    def read(self, size: int, /) -> bytes:
        """Return at most ``size`` bytes; none at the end."""
        ...


def stream(path: PathLike, *, batch_bytes: int = _BATCH, strict: bool = True) -> Iterator[Treebank]:
    """Read ``path`` as a series of treebanks of about ``batch_bytes`` each, never splitting a sentence.

    Their ``data``, concatenated, are the bytes of the file. Memory is bounded by the batch, or by the longest
    sentence.
    """
    with open_input(path) as source:
        yield from stream_opened(source, path, batch_bytes=batch_bytes, strict=strict)


def stream_opened(
    source: Readable, path: PathLike, *, batch_bytes: int = _BATCH, strict: bool = True
) -> Iterator[Treebank]:
    """``stream`` for an open file, named ``path`` in messages; one batch per ``read`` if possible."""
    line = 1
    sentences = 0
    rest = b""
    # At least as much as is pending: a file without sentence ends would otherwise take quadratic time.
    while piece := source.read(max(batch_bytes, len(rest))):
        if line == 1 and not rest:
            refuse_other_format(piece, path)
        rest += piece
        cut = native.treebank_last_boundary(rest)
        if cut:
            batch = Treebank(rest[:cut], source=str(path), strict=strict, first_line=line)
            sentences += len(batch)
            yield batch
            line += rest.count(b"\n", 0, cut)
            rest = rest[cut:]
    if rest:
        batch = Treebank(rest, source=str(path), strict=strict, first_line=line)
        sentences += len(batch)
        yield batch
    if not sentences and strict:
        raise InputError(f"{path}: found no sentence, expected CoNLL-U")


def stream_problems(paths: Iterable[PathLike], *, single_root: bool = False) -> Iterator[Problem]:
    """Yield everything that keeps files from being read as trees, in order; files of any size are streamed.

    ``arcwise.treebanks.validation`` checks the guidelines as well.
    """
    for path in paths:
        sentences = 0
        for batch in stream(path, strict=False):
            sentences += len(batch)
            problems = batch.problems
            if single_root:
                problems = sorted(problems + list(_extra_roots(batch)), key=lambda p: p.line)
            yield from problems
        if not sentences:
            yield Problem(ProblemKind.NO_WORDS, str(path), 1, None, 0, "found no sentence, expected CoNLL-U")


def _extra_roots(batch: Treebank) -> Iterator[Problem]:
    for sentence in batch:
        roots = np.flatnonzero(sentence.heads == 0)
        if len(roots) > 1:
            line = batch.line_at(int(batch.layout.sentence_bytes[sentence.number]))
            yield Problem(
                ProblemKind.MULTIPLE_ROOTS,
                batch.source,
                line + len(sentence.comment_lines),
                sentence.sent_id,
                sentence.number,
                f"found {len(roots)} roots (words {', '.join(map(str, roots))}), expected one",
            )
