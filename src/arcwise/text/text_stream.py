"""Tokenize a stream of raw text of any length in bounded memory."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Any, Literal, TextIO

from arcwise.errors import InputError
from arcwise.text.tokenizer import Tokenizer
from arcwise.treebanks import Treebank
from arcwise.treebanks.streaming import Readable

Errors = Literal["strict", "replace"]

_PIECE = 1 << 16
"""Bytes of text parsed at a time: memory grows with it, and smaller pieces cost speed."""
_LONGEST = 1 << 22
"""Longest pending text, in code points; beyond it, the sentence is ended by force."""
_LOOK_BACK = 2_200
"""Code points of context before a chunk: a little more than the longest URL, which features see whole."""
_BLANK_LINE = re.compile(r"\n[ \t\r]*\n")


def stream_text(
    tokenizer: Tokenizer,
    stream: Readable | TextIO,
    *,
    source: str = "<text>",
    errors: Errors = "strict",
    piece: int = _PIECE,
    paragraphs: bool = False,
) -> Iterator[Treebank]:
    """Tokenize a stream of text, or of UTF-8 bytes, about ``piece`` bytes at a time.

    Sentences at the end of a chunk, which the following text may change, are tokenized again with the next
    chunk. ``errors="strict"``: invalid UTF-8 raises an ``InputError`` with its position; ``"replace"``
    inserts U+FFFD. ``paragraphs``: tokenize up to each blank line as a separate text, without looking at
    the following text. A stream that pauses (``PausingReader``) is treated the same way.
    """
    if not hasattr(stream, "read"):
        raise InputError(f"stream: found {type(stream).__name__}, expected an open file: open(path)")
    decoder = _Decoder(source, errors)
    before = rest = ""
    searched = left = 0
    place, number, last = 0, 1, False

    def cut(text: str, *, complete: bool) -> tuple[Treebank, int]:
        tokenized = tokenizer.tokenize(
            text, first_place=place, first_sentence=number, complete=complete, before=before
        )
        return tokenized.treebank, tokenized.places

    while not last:
        # At least as much as is pending: a text without sentence ends would otherwise take quadratic time.
        data: Any = stream.read(max(piece, len(rest)))
        last = not data
        rest += decoder.decoded(data)
        paused = not last and getattr(stream, "paused", False)
        if paragraphs or paused:
            ended: list[bytes] = []
            while end := _paragraph_end(rest, searched, whole=not paragraphs):
                treebank, _ = cut(rest[:end], complete=True)
                ended.append(treebank.data)
                before, rest, searched, left = "", rest[end:], 0, 0
                place, number = place + end, number + len(treebank)
            if ended:
                yield Treebank(b"".join(ended), source="<text>")
            searched = len(rest.rstrip(" \t\r\n"))  # a blank line may start there
            if paused and len(rest) < max(piece, 2 * left):
                continue
        treebank, places = cut(rest, complete=last or len(rest) > _LONGEST)
        if len(treebank):
            yield treebank
        before, rest = (before + rest[:places])[-_LOOK_BACK:], rest[places:]
        searched = max(0, searched - places)
        left = len(rest)
        place, number = place + places, number + len(treebank)


def _paragraph_end(text: str, start: int, *, whole: bool) -> int:
    """Return the end of the first complete paragraph, or of the last one if ``whole``; 0 if none is complete.

    ``start``: no blank line begins before it, so the search can skip that part.

    >>> _paragraph_end("\\n\\nA b.\\n \\nC\\n\\nD", 0, whole=False)
    9
    >>> _paragraph_end("A\\n\\nC\\n\\nD", 0, whole=True)
    6
    """
    first = len(text) - len(text.lstrip())
    if first == len(text):
        return 0
    end = 0
    for match in _BLANK_LINE.finditer(text, max(first, start)):
        end = match.end()
        if not whole:
            break
    return end


class _Decoder:
    """Decodes chunks of text or UTF-8 bytes, and tracks the offset for error messages."""

    def __init__(self, source: str, errors: Errors) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)
        self._source = source
        self._offset = 0

    def decoded(self, data: str | bytes) -> str:
        """Decode the next chunk; an empty one flushes the decoder."""
        try:
            text = (
                _replace_surrogates(data)
                if isinstance(data, str)
                else self._decoder.decode(data, final=not data)
            )
        except UnicodeDecodeError as error:
            at = self._offset - (len(error.object) - len(data)) + error.start
            raise InputError(
                f"{self._source}: found byte 0x{error.object[error.start]:02x} at offset {at}, "
                'expected UTF-8 (errors="replace" inserts U+FFFD)'
            ) from error
        self._offset += len(data)
        return text.replace("\x00", "\ufffd")


def _replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, by question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
