"""Plain text pasted into the editor, as unannotated sentences: one per line, cut by a model's tokenizer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import TYPE_CHECKING

from arcwise.errors import InputError
from arcwise.treebanks import Treebank

if TYPE_CHECKING:
    from arcwise.text.tokenizer import Tokenizer

_NUMBERED_ID = re.compile(rb"^#\s*sent_id\s*=\s*s(\d{1,9})\s*$", re.MULTILINE)
_INSIDE_WORDS = "'’.-"
"""Characters that belong to a word if it continues after them, without a tokenizer."""
_WORD_CATEGORIES = "LMN"
"""Letters, combining marks and numbers: the first letters of their Unicode categories."""
_BLANK = "_\t_\t_\t_\t_\t_\t_"


def sentences_from_text(text: str, tokenizer: Tokenizer | None, existing: bytes) -> bytes:
    """Convert text with one sentence per line to CoNLL-U without annotation.

    tokenizer: cuts the lines into words and multiword tokens, as ``arcwise parse --format lines`` does.
        Without one, a word is a run of letters and digits with punctuation inside; any other character is a
        word.
    existing: the file, whose ``sent_id``s are not used again.
    """
    lines = [line for line in (" ".join(line.split()) for line in text.splitlines()) if line]
    if not lines:
        raise InputError("text: has no words; expected one sentence per line")
    first = 1 + max((int(match[1]) for match in _NUMBERED_ID.finditer(existing)), default=0)
    blocks = []
    for number, line in enumerate(lines, first):
        rows = simple_rows(line) if tokenizer is None else line_rows(line, tokenizer)
        blocks.append(f"# sent_id = s{number}\n# text = {line}\n{''.join(rows)}\n")
    return "".join(blocks).encode("utf-8", "surrogateescape")


def line_rows(line: str, tokenizer: Tokenizer) -> Iterator[str]:
    """The rows of a line, which is one sentence, cut by a tokenizer."""
    from arcwise.pipeline.pretokenized import line_tokenizer

    rows = Treebank.from_string(line_tokenizer(tokenizer)(line, 0, 1))[0].rows
    last = rows[-1][0]
    for row in rows:
        # Positions in the pasted text mean nothing in the file, and a sentence ends its line.
        at_end = row[0] == last or row[0].endswith(f"-{last}")
        dropped = ("TokenRange", "SpaceAfter", "SpacesAfter") if at_end else ("TokenRange",)
        kept = [part for part in row[9].split("|") if part.partition("=")[0] not in dropped]
        yield "\t".join([*row[:9], "|".join(kept) or "_"]) + "\n"


def simple_rows(line: str) -> Iterator[str]:
    """The rows of a line, cut by simple rules.

    >>> [row.split("\\t")[1] for row in simple_rows("It's 3.5 km, he said.")]
    ["It's", '3.5', 'km', ',', 'he', 'said', '.']
    """
    ends = list(_word_ends(line))
    for number, (start, end) in enumerate(ends, 1):
        glued = end < len(line) and line[end] != " "
        yield f"{number}\t{line[start:end]}\t{_BLANK}\t{'SpaceAfter=No' if glued else '_'}\n"


def _word_ends(line: str) -> Iterator[tuple[int, int]]:
    """Start and end of each word."""
    at = 0
    while at < len(line):
        if line[at] == " ":
            at += 1
            continue
        end = at + 1
        if _in_word(line[at]):
            while end < len(line) and (
                _in_word(line[end])
                or (line[end] in _INSIDE_WORDS and end + 1 < len(line) and _in_word(line[end + 1]))
            ):
                end += 1
        yield at, end
        at = end


def _in_word(character: str) -> bool:
    return unicodedata.category(character)[0] in _WORD_CATEGORIES
