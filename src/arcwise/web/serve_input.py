"""The input of a request as sentences: text that a model cuts, CoNLL-U, or words that are cut already."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from arcwise.errors import InputError
from arcwise.text.tokenizer import Tokenizer
from arcwise.treebanks import Treebank
from arcwise.web.serve_models import ServedModel

Form = Literal["text", "lines", "conllu", "horizontal", "vertical"]
"""``lines``: text with one sentence a line; ``horizontal``: one sentence a line, blanks between words; ``vertical``: one word a line, a
blank line after each sentence."""


@dataclass(frozen=True)
class Source:
    """Input and what it is. ``ranges``: say for each word where it stands in the text."""

    form: Form
    data: str
    ranges: bool = True

    @property
    def size(self) -> int:
        """About how many bytes of text there are."""
        return len(self.data)


def sentences_of(source: Source, model: ServedModel) -> Treebank:
    """The sentences of the input. ``InputError`` if it has not the form that it should have."""
    text = source.data.encode("utf-8", "replace").decode()
    if source.form == "conllu":
        return Treebank(_whole(text).encode(), source="data")
    if source.form == "horizontal":
        return from_words([re.findall(r"[^ \t\r]+", line) for line in text.split("\n")])
    if source.form == "vertical":
        return from_words([block.split("\n") for block in _blocks(text)])
    tokenizer = model.needs("tokenizer").tokenizer
    text = text.replace("\x00", "\ufffd")
    if source.form == "lines":
        return _presegmented(tokenizer, text, ranges=source.ranges)
    return tokenizer.tokenize(text, ranges=source.ranges).treebank


def _whole(text: str) -> str:
    """CoNLL-U that can stand before more of it: without a byte order mark, one blank line at the end."""
    text = text.removeprefix("\ufeff")
    return f"{kept}\n\n" if "\r" not in text and (kept := text.rstrip("\n")) else text


def _blocks(text: str) -> list[str]:
    """The lines of each sentence: what stands before a tab, blank lines between sentences.

    >>> _blocks("Birds\\tx\\nsing\\n\\n\\nGo\\n")
    ['Birds\\nsing', 'Go']
    """
    words = "\n".join(line.split("\t")[0].strip(" \r") for line in text.split("\n"))
    return [block.strip("\n") for block in words.split("\n\n") if block.strip("\n")]


def from_words(sentences: list[list[str]]) -> Treebank:
    """Blank sentences of these words; sentences without words are left out. A no-break space in a word stands for a blank.

    >>> from_words([["New\\xa0York", "sleeps"], []])[0].forms
    ['New York', 'sleeps']
    """
    lines: list[str] = []
    kept = [words for words in sentences if words]
    for number, words in enumerate(kept, 1):
        forms = [word.replace("\xa0", " ") for word in words]
        for form in forms:
            if not form.strip() or any(c in form for c in "\t\n\r"):
                raise InputError(
                    f"sentence {number}: found the word {form!r}, expected one without tabs and line ends"
                )
        lines += [f"# sent_id = {number}", f"# text = {' '.join(forms)}"]
        lines += [f"{at}\t{form}" + 8 * "\t_" for at, form in enumerate(forms, 1)]
        lines.append("")
    return Treebank(("\n".join(lines) + "\n" * bool(lines)).encode(), source="data")


def _presegmented(tokenizer: Tokenizer, text: str, *, ranges: bool) -> Treebank:
    """Each line that is not blank as one sentence, whatever ends the tokenizer would see in it."""
    parts: list[str] = []
    place = 0
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        if line.strip():
            number = len(parts) + 1
            found = tokenizer.tokenize(line, first_place=place, ranges=ranges).treebank
            parts.append(_as_one(found, number, line.strip()))
        place += len(line)
    return Treebank("".join(parts).encode(), source="data")


def _as_one(treebank: Treebank, number: int, text: str) -> str:
    """The sentences as one, their rows numbered on."""
    lines = [f"# sent_id = {number}", f"# text = {' '.join(text.split())}"]
    before = 0
    for sentence in treebank:
        for identifier, *fields in sentence.rows:
            own = "-".join(str(int(part) + before) for part in identifier.split("-"))
            lines.append("\t".join((own, *fields)))
        before += len(sentence)
    return "\n".join(lines) + "\n\n"
