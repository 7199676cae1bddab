"""Input with one sentence per line: text (``lines``) or words separated by blanks (``tokens``)."""

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
"""Maps a line, the offset of its first character and its sentence number to CoNLL-U."""


def line_batches(stream: Readable, *, piece: int = _PIECE) -> Iterator[list[bytes]]:
    """Yield the lines of a stream with their line ends, one batch per ``read``.

    The last line may lack its end.

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
    """Decode a line of a file; raises ``InputError`` for invalid UTF-8 if ``errors`` is strict."""
    if number == 1:
        refuse_other_encoding(line[:4], source)
        line = line.removeprefix(b"\xef\xbb\xbf")
    try:
        return line.decode("utf-8", errors).replace("\x00", "\ufffd")
    except UnicodeDecodeError as error:
        raise InputError(
            f"{source}:{number}: found byte 0x{line[error.start]:02x}, expected UTF-8 "
            '(errors="replace" inserts U+FFFD)'
        ) from error


def stream_lines(
    stream: Readable, cut: CutLine, *, source: str = "<text>", errors: Errors = "strict"
) -> Iterator[Treebank]:
    """Read a stream with one sentence per line; blank lines are skipped."""
    place, sentence, number = 0, 1, 1
    for batch in line_batches(stream):
        sentences: list[str] = []
        for line in batch:
            text = decoded(line, number, source, errors)
            if conllu := cut(text, place, sentence):
                sentences.append(conllu)
                sentence += 1
            place += len(text)
            number += 1
        if sentences:
            yield Treebank("".join(sentences).encode(), source=source)


def words_to_conllu(line: str, place: int, number: int) -> str:
    """Convert a line of words separated by blanks.

    A no-break space in a word stands for a blank, as in UDPipe's horizontal format.

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
    """Return a function that tokenizes a line as one sentence, ignoring sentence boundaries inside it."""

    def cut(line: str, place: int, number: int) -> str:
        treebank = tokenizer.tokenize(line, first_place=place, first_sentence=number).treebank
        return treebank.text if len(treebank) < 2 else merge_sentences(treebank, number, line)

    return cut


def merge_sentences(treebank: Treebank, number: int, text: str) -> str:
    """Merge all sentences into one with consecutive IDs, as CoNLL-U; ``number`` is its ``sent_id``."""
    lines = [f"# sent_id = {number}", f"# text = {' '.join(text.split())}"]
    before = 0
    for sentence in treebank:
        for identifier, *fields in sentence.rows:
            shifted = "-".join(str(int(part) + before) for part in identifier.split("-"))
            lines.append("\t".join((shifted, *fields)))
        before += len(sentence)
    return "\n".join(lines) + "\n\n"
