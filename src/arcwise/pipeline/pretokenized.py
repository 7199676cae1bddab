"""Input that is cut already: one sentence a line, as text (``lines``) or as words with blanks between (``tokens``)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from arcwise.errors import InputError
from arcwise.text.text_stream import Errors
from arcwise.text.tokenizer import Tokenizer
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import refuse_other_encoding
from arcwise.treebanks.streaming import Readable

_PIECE = 1 << 16
_LINE = re.compile(rb"[^\n]*\n")
_BETWEEN_WORDS = re.compile(r"[ \t\r]+")
_BLANK_COLUMNS = 8 * "\t_"

CutLine = Callable[[str, int, int], str]
"""A line, the place of its first character and the number of its sentence → CoNLL-U."""


def line_batches(stream: Readable, *, piece: int = _PIECE) -> Iterator[list[bytes]]:
    """The lines of a stream with their ends, as many at a time as come with one ``read``; the last may have no end.

    >>> import io
    >>> list(line_batches(io.BytesIO(b"one\\ntwo\\nthree"), piece=5))
    [[b'one\\n'], [b'two\\n'], [b'three']]
    """
    rest: list[bytes] = []
    for data in iter(lambda: stream.read(piece), b""):
        before, end, after = data.rpartition(b"\n")
        if end:
            yield _LINE.findall(b"".join([*rest, before, end]))
            rest = []
        rest.append(after)
    if last := b"".join(rest):
        yield [last]


def decoded(line: bytes, number: int, source: str, errors: Errors) -> str:
    """A line of a file as text; ``InputError`` if it is no UTF-8 and ``errors`` is strict."""
    if number == 1:
        refuse_other_encoding(line[:4], source)
        line = line.removeprefix(b"\xef\xbb\xbf")
    try:
        return line.decode("utf-8", errors).replace("\x00", "\ufffd")
    except UnicodeDecodeError as error:
        raise InputError(
            f'{source}:{number}: found byte 0x{line[error.start]:02x}, expected UTF-8 (errors="replace" goes on)'
        ) from error


def stream_lines(
    stream: Readable, cut: CutLine, *, source: str = "<text>", errors: Errors = "strict"
) -> Iterator[Treebank]:
    """The sentences of a stream that has one a line; blank lines are passed over."""
    place, sentence, number = 0, 1, 1
    for batch in line_batches(stream):
        found: list[str] = []
        for line in batch:
            text = decoded(line, number, source, errors)
            if conllu := cut(text, place, sentence):
                found.append(conllu)
                sentence += 1
            place += len(text)
            number += 1
        if found:
            yield Treebank("".join(found).encode(), source=source)


def words_to_conllu(line: str, place: int, number: int) -> str:
    """A line of words with blanks between. A no-break space in a word stands for a blank, as in UDPipe's horizontal format.

    >>> print(words_to_conllu("New\\xa0York sleeps .", 0, 3).rstrip().replace("\\t_", ""))
    # sent_id = 3
    # text = New York sleeps .
    1	New York
    2	sleeps
    3	.
    """
    words = [word.replace("\xa0", " ") for word in _BETWEEN_WORDS.split(line.strip("\n \t\r")) if word]
    words = [word for word in words if word.strip()]
    if not words:
        return ""
    rows = [f"{at}\t{word}{_BLANK_COLUMNS}\n" for at, word in enumerate(words, 1)]
    return f"# sent_id = {number}\n# text = {' '.join(words)}\n{''.join(rows)}\n"


def line_tokenizer(tokenizer: Tokenizer) -> CutLine:
    """A line of text as one sentence, whatever ends the tokenizer sees in it."""

    def cut(line: str, place: int, number: int) -> str:
        found = tokenizer.tokenize(line, first_place=place, first_sentence=number).treebank
        return found.text if len(found) < 2 else merge_sentences(found, number, line)

    return cut


def merge_sentences(treebank: Treebank, number: int, text: str) -> str:
    """CoNLL-U of one sentence that has the rows of all of these, numbered on; ``number`` is its ``sent_id``."""
    lines = [f"# sent_id = {number}", f"# text = {' '.join(text.split())}"]
    before = 0
    for sentence in treebank:
        for identifier, *fields in sentence.rows:
            own = "-".join(str(int(part) + before) for part in identifier.split("-"))
            lines.append("\t".join((own, *fields)))
        before += len(sentence)
    return "\n".join(lines) + "\n\n"
