"""Batches of texts: grouping them, parsing them together and splitting the result."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError, OptionError
from arcwise.parsing.parses import Analysis
from arcwise.treebanks import Treebank

BATCH_BYTES = 1 << 18
"""Texts are parsed together up to this size; longer ones are parsed in chunks."""


def checked_text(text: Any, name: str = "text") -> str:
    """Return ``text``; raises ``InputError`` with a hint for values of other types."""
    if isinstance(text, str):
        return text
    hint = ""
    if isinstance(text, list | tuple):
        hint = "; nlp.pipe(texts) parses several texts, nlp.parse([['Birds', 'sing']]) tokenized sentences"
    elif hasattr(text, "read"):
        hint = "; nlp.stream(file) parses an open file"
    elif isinstance(text, bytes):
        hint = "; text.decode() decodes UTF-8"
    raise InputError(f"{name}: found {type(text).__name__}, expected a string{hint}")


def encoded(text: str) -> bytes:
    """Encode a text for the tokenizer: UTF-8 without NUL; a lone surrogate becomes a question mark."""
    return text.encode("utf-8", "replace").replace(b"\x00", b"\xef\xbf\xbd")


def batch_by_bytes(texts: Iterable[bytes], limit: int = BATCH_BYTES) -> Iterator[list[bytes]]:
    """Group texts in order into batches of at most ``limit`` bytes; a longer text is a separate batch.

    >>> list(batch_by_bytes([b"aaa", b"b", b"cc", b"dddddd", b""], limit=4))
    [[b'aaa', b'b'], [b'cc'], [b'dddddd'], [b'']]
    """
    batch: list[bytes] = []
    size = 0
    for text in texts:
        if batch and size + len(text) > limit:
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch


def batch_items(texts: Iterable[Any], batch_size: int, *, as_tuples: bool) -> Iterator[list[tuple[str, Any]]]:
    """Group texts into batches of pairs (text, context) of at most ``batch_size``, or fewer long ones.

    Without ``as_tuples``, contexts are None. Items before an invalid one, or before an error of the iterable,
    are yielded first.
    """
    if isinstance(texts, str | bytes):
        raise InputError(
            f"texts: found one {type(texts).__name__}, expected several texts; nlp(text) parses one"
        )
    if isinstance(batch_size, bool) or not isinstance(batch_size, int) or batch_size < 1:
        raise OptionError("batch_size", f"found {batch_size!r}, expected a number of texts, at least 1")
    batch: list[tuple[str, Any]] = []
    size = 0
    try:
        for number, item in enumerate(texts):
            batch.append(_pair(item, number) if as_tuples else (checked_text(item, f"texts[{number}]"), None))
            size += len(batch[-1][0])
            if len(batch) == batch_size or size >= BATCH_BYTES:
                full, batch, size = batch, [], 0
                yield full
    except Exception:
        if batch:
            yield batch
        raise
    if batch:
        yield batch


def _pair(item: Any, number: int) -> tuple[str, Any]:
    if not isinstance(item, list | tuple) or len(item) != 2:
        raise InputError(f"texts[{number}]: found {type(item).__name__}, expected a pair of text and context")
    return checked_text(item[0], f"texts[{number}][0]"), item[1]


def parse_together(
    treebanks: Sequence[Treebank], parse: Callable[[Treebank], Analysis], *, source: str
) -> list[Analysis]:
    """Parse several treebanks in one call of ``parse``, one tree per sentence, and split the result."""
    joined = Treebank(b"".join(treebank.data for treebank in treebanks), source=source)
    return split_analysis(parse(joined), [len(treebank) for treebank in treebanks])


def split_analysis(analysis: Analysis, counts: Sequence[int] | npt.NDArray[np.uint32]) -> list[Analysis]:
    """Split the parse of a batch into parts of ``counts`` sentences each."""
    treebank, parses = analysis.treebank, analysis.parses
    if not len(treebank):
        return [Analysis(treebank) for _ in counts]
    if len(counts) == 1:
        return [analysis]
    ends = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    sentence_ranges = pairwise(ends.tolist())
    byte_ranges = pairwise(treebank.sentence_bytes[ends].tolist())
    word_ranges = pairwise(treebank.sentence_words[ends].tolist())
    parts: list[Analysis] = []
    for (first, last), (start, stop), words in zip(sentence_ranges, byte_ranges, word_ranges, strict=True):
        part_parses = None
        if parses is not None and last > first:
            part_parses = parses.part(slice(first, last), slice(*words))
        notes = tuple(note.numbered_from(-first) for note in analysis.notes if first <= note.sentence < last)
        # Not strict: the joined treebank was checked, and a second check would cost as much as the first.
        part = Treebank(treebank.data[start:stop], source=treebank.source, strict=False)
        parts.append(Analysis(part, part_parses, notes))
    return parts
