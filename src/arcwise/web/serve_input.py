"""The sentences of a request: from text to tokenize, from CoNLL-U, or from words."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

from arcwise.errors import InputError
from arcwise.pipeline.pretokenized import merge_sentences
from arcwise.text.tokenizer import Tokenizer
from arcwise.treebanks import Treebank
from arcwise.web.serve_models import ServedModel

Form = Literal["text", "lines", "conllu", "horizontal", "vertical"]
"""``lines``: text with one sentence per line; ``horizontal``: one sentence per line, words separated by
spaces; ``vertical``: one word per line, a blank line after each sentence."""


@dataclass(frozen=True)
class Source:
    """Input data and its form. ``ranges``: add the character offsets of words. ``spaces``: record white space
    other than single spaces in MISC. ``paragraphs``: mark the start of the document and of paragraphs in
    comments."""

    form: Form
    data: str
    ranges: bool = True
    spaces: bool = True
    paragraphs: bool = False

    @property
    def size(self) -> int:
        """The approximate size in bytes."""
        return len(self.data)


def sentences_of(
    source: Source,
    model: ServedModel,
    *,
    check: Callable[[], None] = lambda: None,
    check_size: Callable[[int], None] = lambda size: None,
) -> Treebank:
    """The sentences of the input; ``InputError`` if it does not have its form. ``check`` is called now and
    then, and ``check_size`` with the number of sentences and words so far; both may raise an error to end the
    work."""
    # Lone surrogates of JSON escapes cannot be encoded; they become '?' instead of an error 500.
    text = source.data.encode("utf-8", "replace").decode()
    if source.form == "conllu":
        return Treebank(_whole(text).encode(), source="data")
    if source.form in ("horizontal", "vertical"):
        blocks: list[tuple[list[str], bool]] = []
        size = 0
        for block in _horizontal(text) if source.form == "horizontal" else _vertical(text):
            blocks.append(block)
            size += 1 + len(block[0])
            check_size(size)
        treebank = from_words([words for words, _ in blocks])
        return _marked(treebank, [new for _, new in blocks]) if source.paragraphs else treebank
    tokenizer = model.needs("tokenizer").tokenizer
    text = text.replace("\x00", "\ufffd")
    if source.form == "lines":
        treebank = _presegmented(tokenizer, text, ranges=source.ranges, check=check, check_size=check_size)
    else:
        treebank = tokenizer.tokenize(text, ranges=source.ranges).treebank
        check_size(len(treebank) + treebank.word_count)
    if source.paragraphs:
        treebank = _marked(treebank, _paragraphs(treebank))
    return treebank if source.spaces else _without_spaces(treebank)


def _whole(text: str) -> str:
    """CoNLL-U that can be concatenated: without a byte order mark, one blank line at the end."""
    text = text.removeprefix("\ufeff")
    # Carriage returns stay as they are: such input is never joined with others.
    return f"{kept}\n\n" if "\r" not in text and (kept := text.rstrip("\n")) else text


def _horizontal(text: str) -> Iterator[tuple[list[str], bool]]:
    """The words of each line, and whether a blank line precedes it.

    >>> list(_horizontal("Birds sing\\n\\nGo !\\n"))
    [(['Birds', 'sing'], True), (['Go', '!'], True)]
    """
    new = True
    for line in io.StringIO(text, newline="\n"):  # not split: a list of all lines takes much memory
        words = re.findall(r"[^ \t\r\n]+", line)
        if words:
            yield words, new
        new = not words


def _vertical(text: str) -> Iterator[tuple[list[str], bool]]:
    """The words of each sentence, without anything after a tab, and whether two blank lines precede it.

    >>> list(_vertical("Birds\\tx\\nsing\\n\\nGo\\n"))
    [(['Birds', 'sing'], True), (['Go'], False)]
    """
    words: list[str] = []
    blank_lines = 2
    for line in chain(io.StringIO(text, newline="\n"), [""]):
        word = line.split("\t")[0].strip(" \r\n")
        if word:
            words.append(word)
            continue
        if words:
            yield words, blank_lines >= 2
            words, blank_lines = [], 0
        blank_lines += 1


def _marked(treebank: Treebank, paragraphs: Sequence[bool]) -> Treebank:
    """The treebank with comments at the start of the document and of paragraphs, like UDPipe's."""
    starts = treebank.layout.sentence_bytes
    parts = [b"# newdoc\n"] if len(treebank) else []
    for number, new in enumerate(paragraphs):
        parts += [b"# newpar\n"] if new else []
        parts.append(treebank.data[int(starts[number]) : int(starts[number + 1])])
    return Treebank(b"".join(parts), source="data")


def _paragraphs(treebank: Treebank) -> list[bool]:
    """For each sentence, whether two or more line breaks precede it in the text."""
    # Cheap for the usual text without line breaks, which is one paragraph.
    if b"\\n" not in treebank.data:
        return [number == 0 for number in range(len(treebank))]
    ended = [True]
    for sentence in treebank:
        after = _AFTER.search(sentence.token_rows[-1].fields[9])
        ended.append(after is not None and after[0].count("\\n") >= 2)
    return ended[: len(treebank)]


_AFTER = re.compile(r"SpacesAfter=[^|]*")
_SPACES = re.compile(r"(?:^|\|)Spaces(?:Before|After|InToken)=[^|]*")


def _without_spaces(treebank: Treebank) -> Treebank:
    """The treebank with single spaces in texts and without white space in MISC, except SpaceAfter=No."""
    return Treebank("\n".join(map(_without, treebank.text.split("\n"))).encode(), source="data")


def _without(line: str) -> str:
    """
    >>> lines = "1\\tx\\tSpacesAfter=\\\\n|A=b", "1\\tx\\tSpacesAfter=\\\\n", "# SpacesAfter=x"
    >>> tuple(map(_without, lines))
    ('1\\tx\\tA=b', '1\\tx\\t_', '# SpacesAfter=x')
    """
    fields, tab, misc = line.rpartition("\t")
    if line.startswith("# text ="):
        return " ".join(line.split())
    if line.startswith("#") or "Spaces" not in misc:
        return line
    return f"{fields}{tab}{_SPACES.sub('', misc).removeprefix('|') or '_'}"


def from_words(sentences: list[list[str]]) -> Treebank:
    """Unannotated sentences; empty ones are dropped. A no-break space in a word stands for a space.

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
                    f"sentence {number}: found the word {form!r}, expected one without tabs and line breaks"
                )
        lines += [f"# sent_id = {number}", f"# text = {' '.join(forms)}"]
        lines += [f"{at}\t{form}" + 8 * "\t_" for at, form in enumerate(forms, 1)]
        lines.append("")
    return Treebank(("\n".join(lines) + "\n" * bool(lines)).encode(), source="data")


def _presegmented(
    tokenizer: Tokenizer,
    text: str,
    *,
    ranges: bool,
    check: Callable[[], None],
    check_size: Callable[[int], None],
) -> Treebank:
    """Each line that is not blank as one sentence, wherever the tokenizer would split it."""
    parts: list[str] = []
    place = 0
    for line in _lines(text):
        check()
        if line.strip():
            number = len(parts) + 1
            check_size(2 * number)  # at least a word each
            treebank = tokenizer.tokenize(line, first_place=place, ranges=ranges).treebank
            parts.append(merge_sentences(treebank, number, line.strip()))
        place += len(line)
    return Treebank("".join(parts).encode(), source="data")


def _lines(text: str) -> Iterator[str]:
    """The lines, each with its line break and the blank lines after it; the first also with those before it.

    >>> list(_lines("\\na\\n \\nb"))
    ['\\na\\n \\n', 'b']
    """
    gathered: list[str] = []
    full = False
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        if full and line.strip():
            yield "".join(gathered)
            gathered, full = [], False
        gathered.append(line)
        full = full or bool(line.strip())
    yield "".join(gathered)
