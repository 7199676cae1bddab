"""Readers of paragraphs from HTML pages, plain text, dictionaries, fortunes and game files."""

from __future__ import annotations

import gzip
import html
import re
import zlib
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

Reader = Callable[[str], Iterator[str]]
"""Yields the paragraphs of the text of a file, including those that are not prose."""

_UNREAD = {"script", "style", "pre", "table", "head", "screen", "media", "info"}
_BLOCKS = {"p", "li", "blockquote", "h1", "h2", "h3", "h4", "div", "dd", "dt", "section", "note", "title"}
_LEAST_WORDS = 4
_LEAST_LETTERS = 0.85
"""Share of letters, spaces and marks of sentences in a paragraph; commands and tables have fewer."""
_MOST_WORDS = 400
_PLACEHOLDER = re.compile(r"[<>{}\\|@^~]|[$%&][A-Za-z(]|[A-Za-z]_[A-Za-z]|https?:|\w\(\)|::|\.\.\./")
"""Marks of programs and templates, which prose does not contain."""


class Paragraphs(HTMLParser):
    """Collects the text of the paragraphs of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []
        self._parts: list[str] | None = None
        self._unread = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._unread += tag in _UNREAD
        if tag in _BLOCKS:
            self._close()
            self._parts = []
        if tag == "br" and self._parts is not None:
            self._parts.append(" ")

    def handle_endtag(self, tag: str) -> None:
        self._unread -= tag in _UNREAD and self._unread > 0
        if tag in _BLOCKS:
            self._close()

    def handle_data(self, data: str) -> None:
        if self._parts is not None and not self._unread:
            self._parts.append(data)

    def close(self) -> None:
        super().close()
        self._close()

    def _close(self) -> None:
        if self._parts:
            self.found.append("".join(self._parts))
        self._parts = None


def pages(text: str) -> Iterator[str]:
    """Yield the paragraphs of a page of HTML or of a help system's XML."""
    parser = Paragraphs()
    parser.feed(text)
    parser.close()
    yield from parser.found


def quotations(text: str) -> Iterator[str]:
    """Yield the quotations of a file of fortunes without the lines that name their authors."""
    for quotation in text.split("\n%\n"):
        lines = (line.strip() for line in quotation.split("\n"))
        yield " ".join(line for line in lines if not line.startswith("--"))


def plain(text: str) -> Iterator[str]:
    """Yield the paragraphs of plain text, which blank lines separate."""
    yield from re.split(r"\n\s*\n", text)


def descriptions(text: str) -> Iterator[str]:
    """Yield the paragraphs of entries that lines of ``%`` separate, without comments and code."""
    for entry in re.split(r"^%%%%$", text, flags=re.MULTILINE):
        kept = "\n".join(line for line in entry.split("\n") if not line.startswith(("#", ":", "{{", "w:")))
        yield from plain(kept)


def pod(text: str) -> Iterator[str]:
    """Yield the paragraphs of Perl's documentation and its headings, which in lists of questions ask them."""
    for paragraph in plain(text):
        if paragraph.startswith("=head"):
            paragraph = paragraph.partition(" ")[2]
        elif paragraph[:1] in " \t=":
            continue
        while (
            simpler := re.sub(r"\b[BCFILSZ](?:<([^<>]*)>|<< (.*?) >>)", _pod_text, paragraph)
        ) != paragraph:
            paragraph = simpler
        yield paragraph


def _pod_text(match: re.Match[str]) -> str:
    return (match[1] if match[1] is not None else match[2]).partition("|")[0]


def strings(pattern: str, *, joined: bool = False) -> Reader:
    """Return a reader of the strings in a game's files that match a pattern, a group of which is the text.

    With `joined`, it yields strings of a few words that follow one another as one paragraph, for dialogues.
    """
    compiled = re.compile(pattern, re.DOTALL | re.MULTILINE)

    def read(text: str) -> Iterator[str]:
        spoken: list[str] = []
        for match in compiled.finditer(text):
            string = next((group for group in match.groups() if group is not None), "")
            string = string.replace('""', '"').replace('\\"', '"').replace("\\'", "'").replace("\\n", "\n")
            for paragraph in plain(string):
                cleaned = clean(paragraph)
                if joined and is_prose(cleaned, least_words=1) and len(cleaned.split()) < 12:
                    spoken.append(cleaned)
                    if len(spoken) < 3:
                        continue
                    cleaned, spoken = " ".join(spoken), []
                yield cleaned
        yield " ".join(spoken)

    return read


def conversations(text: str) -> Iterator[str]:
    """Yield question and answer of each conversation of a chatterbot's YAML file together."""
    question = ""
    for line in text.split("\n"):
        match = re.match(r"(- )?\s*- (.*)", line)
        if match is None:
            continue
        said = match[2].strip().strip("'\"").replace("''", "'")
        if match[1]:
            question = said
        else:
            yield f"{question} {said}" if question[-1:] in tuple(".?!") else said


def examples(text: str) -> Iterator[str]:
    """Yield the examples of WordNet's data files, which quotation marks enclose, ended like sentences."""
    for example in re.findall(r'"([A-Za-z][^"]+)"', text):
        if len(example.split()) > 5:
            yield example if example[-1] in ".?!" else example[0].upper() + example[1:] + "."


def dictionary(text: str) -> Iterator[str]:
    """Yield the paragraphs of a dictionary whose references to its entries are in braces."""
    for paragraph in plain(re.sub(r"[{}]", "", text)):
        if ":" not in paragraph.strip()[:1]:
            yield paragraph


def speech(text: str) -> Iterator[str]:
    """Yield a speech, which is a single line, in pieces of three sentences."""
    sentences = re.split(r"(?<=[a-z][.?!]) (?=[A-Z])", text.replace("\n", " "))
    for start in range(0, len(sentences), 3):
        yield " ".join(sentences[start : start + 3])


def clean(text: str) -> str:
    """Return a paragraph on one line, without the marks of emphasis."""
    text = re.sub(r"</?(?:i|b|em|strong|span|small|big|ref|header)\b[^<>]*>", "", html.unescape(text))
    text = re.sub(r"(?<!\w)[_*](\w[^_*\n]*?)[_*](?!\w)", r"\1", text)
    return re.sub(r"\s+", " ", text).strip()


def is_prose(text: str, *, least_words: int = _LEAST_WORDS) -> bool:
    """Return whether a paragraph looks like sentences rather than a heading, a list or code."""
    words = len(text.split())
    letters = sum(character.isalpha() or character in " '’,.?!" for character in text)
    ends = bool(text) and text[-1] in ".?!\"'”’)…"
    looks = ends and text[0] not in "-*#.,;:=/" and letters > _LEAST_LETTERS * len(text)
    return looks and least_words <= words <= _MOST_WORDS and _PLACEHOLDER.search(text) is None


def r_vectors(data: bytes) -> str:
    """Return the lines of all vectors of strings in a database of R's packages."""
    lines: list[str] = []
    while len(data) > 4:
        unpacker = zlib.decompressobj()
        values = unpacker.decompress(data[4:])  # The first four bytes are the length of what is packed.
        data = unpacker.unused_data
        position = 0
        # A string is its kind, 9, under bits that tell its encoding, then its length and its bytes.
        while (position := values.find(b"\x00\x09", position)) >= 0:
            length = int.from_bytes(values[position + 2 : position + 6], "big")
            if length < 200 and values[position - 2 : position - 1] == b"\x00":
                lines.append(values[position + 6 : position + 6 + length].decode(errors="replace"))
                position += 4 + length
            position += 2
    return "\n".join(lines)


def read_text(file: Path) -> str:
    """Return the text of a file: plain, packed by gzip, or a database of R."""
    data = file.read_bytes()
    if file.suffix == ".rdb":
        return r_vectors(data)
    if file.suffix in {".gz", ".dz"}:
        data = gzip.decompress(data)
    return data.decode(errors="replace").replace("\r", "")
