"""A corpus larger than memory, as treebanks of bounded size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from arcwise import native
from arcwise.errors import InputError
from arcwise.treebanks.files import PathLike, open_input, refuse_other_encoding
from arcwise.treebanks.treebank import Treebank

_BATCH = 1 << 20


class Readable(Protocol):
    """An open file of bytes, or what reads like one (``PausingReader``)."""

    def read(self, size: int, /) -> bytes:
        """At most ``size`` bytes; none at the end."""
        ...


def stream(path: PathLike, *, batch_bytes: int = _BATCH, strict: bool = True) -> Iterator[Treebank]:
    """Read ``path`` as a series of treebanks of about ``batch_bytes`` each, whole sentences always.

    Joined, their ``data`` is the file. Memory stays bounded by the batch, or by the longest sentence.
    """
    with open_input(path) as source:
        yield from stream_opened(source, path, batch_bytes=batch_bytes, strict=strict)


def stream_opened(
    source: Readable, path: PathLike, *, batch_bytes: int = _BATCH, strict: bool = True
) -> Iterator[Treebank]:
    """``stream`` of a file that is open; ``path`` is what messages call it. Each ``read`` is one batch, or a part of a sentence."""
    line = 1
    sentences = 0
    rest = b""
    for number, piece in enumerate(iter(lambda: source.read(batch_bytes), b"")):
        if not number:
            refuse_other_encoding(piece[:4], path)
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
