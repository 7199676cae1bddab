"""Raw text of any length, cut into sentences piece by piece, in bounded memory."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any, BinaryIO, Literal, TextIO

from arcwise.errors import InputError
from arcwise.text.tokenizer import Tokenizer
from arcwise.treebanks import Treebank

Errors = Literal["strict", "replace"]

_PIECE = 1 << 18
_LONGEST = 1 << 22
"""A sentence this long (in bytes) is cut wherever it is."""


def stream_text(
    tokenizer: Tokenizer,
    stream: BinaryIO | TextIO,
    *,
    source: str = "<text>",
    errors: Errors = "strict",
    piece: int = _PIECE,
) -> Iterator[Treebank]:
    """The sentences of a stream of text, or of bytes in UTF-8, about ``piece`` bytes at a time.

    Sentences at the end of a piece, which what follows may change, are read again with the next one. ``errors="strict"``: text that is no
    UTF-8 is an ``InputError`` that says where; ``"replace"`` puts U+FFFD in its place.
    """
    if not hasattr(stream, "read"):
        raise InputError(f"stream: found {type(stream).__name__}, expected an open file: open(path)")
    decoder = codecs.getincrementaldecoder("utf-8")(errors)
    rest = ""
    place, number, offset, last = 0, 1, 0, False
    while not last:
        # As much again as is left over, so that a text in which no sentence ends is not read over and over.
        data: Any = stream.read(max(piece, len(rest)))
        last = not data
        try:
            rest += _sound(data) if isinstance(data, str) else decoder.decode(data, final=last)
        except UnicodeDecodeError as error:
            at = offset - (len(error.object) - len(data)) + error.start
            raise InputError(
                f"{source}: found byte 0x{error.object[error.start]:02x} at offset {at}, expected UTF-8 "
                '(errors="replace" goes on)'
            ) from error
        offset += len(data)
        rest = rest.replace("\x00", "\ufffd")
        found = tokenizer.tokenize(
            rest, first_place=place, first_sentence=number, complete=last or len(rest) > _LONGEST
        )
        if len(found.treebank):
            yield found.treebank
        rest = rest[found.places :]
        place += found.places
        number += len(found.treebank)


def _sound(text: str) -> str:
    """Text with a question mark for each half of a surrogate pair, which UTF-8 does not have."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()
