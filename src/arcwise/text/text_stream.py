"""Raw text of any length, cut into sentences piece by piece, in bounded memory."""

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

_PIECE = 1 << 18
_LONGEST = 1 << 22
"""A sentence this long (in bytes) is cut wherever it is."""
_LOOK_BACK = 2_200
"""How much of what is cut already the next piece is read with, in code points: a little more than the longest address, which decisions look at as a whole."""
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
    """The sentences of a stream of text, or of bytes in UTF-8, about ``piece`` bytes at a time.

    Sentences at the end of a piece, which what follows may change, are read again with the next one. ``errors="strict"``: text that is no
    UTF-8 is an ``InputError`` that says where; ``"replace"`` puts U+FFFD in its place. ``paragraphs``: what stands before a blank line is cut as
    if it were a text of its own, without a look at what follows. The same is done where the stream is one that pauses (``PausingReader``).
    """
    if not hasattr(stream, "read"):
        raise InputError(f"stream: found {type(stream).__name__}, expected an open file: open(path)")
    decoder = _Decoder(source, errors)
    before = rest = ""
    searched = left = 0
    place, number, last = 0, 1, False

    def cut(text: str, *, complete: bool) -> tuple[Treebank, int]:
        found = tokenizer.tokenize(
            text, first_place=place, first_sentence=number, complete=complete, before=before
        )
        return found.treebank, found.places

    while not last:
        # As much again as is left over, so that a text in which no sentence ends is not read over and over.
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
            searched = len(rest.rstrip(" \t\r\n"))  # a blank line may have begun there
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
    """Where the first paragraph ends, behind its blank line; or the last one, if they are read as a ``whole``. 0: none has ended.

    No blank line that ends one begins before ``start``.

    >>> _paragraph_end("\\n\\nA b.\\n \\nC\\n\\nD", 0, whole=False), _paragraph_end("A\\n\\nC\\n\\nD", 0, whole=True)
    (9, 6)
    """
    first = len(text) - len(text.lstrip())
    if first == len(text):
        return 0
    end = 0
    for found in _BLANK_LINE.finditer(text, max(first, start)):
        end = found.end()
        if not whole:
            break
    return end


class _Decoder:
    """Pieces of text, or of bytes in UTF-8, as text; knows where in the stream a piece stands."""

    def __init__(self, source: str, errors: Errors) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)
        self._source = source
        self._offset = 0

    def decoded(self, data: str | bytes) -> str:
        """The text of one more piece; of an empty one, what is left."""
        try:
            text = _sound(data) if isinstance(data, str) else self._decoder.decode(data, final=not data)
        except UnicodeDecodeError as error:
            at = self._offset - (len(error.object) - len(data)) + error.start
            raise InputError(
                f"{self._source}: found byte 0x{error.object[error.start]:02x} at offset {at}, expected UTF-8 "
                '(errors="replace" goes on)'
            ) from error
        self._offset += len(data)
        return text.replace("\x00", "\ufffd")


def _sound(text: str) -> str:
    """Text with a question mark for each half of a surrogate pair, which UTF-8 does not have."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
