"""Free English prose for distillation, from the unpacked Debian packages that the shipped models use.

    apt-get download anarchism debian-handbook fortunes fortunes-min
    for package in *.deb; do dpkg -x "$package" unpacked; done
    python recipes/debian_text.py unpacked --words 1100000 > text.txt

Prints paragraphs in a fixed random order, each followed by a blank line. All packages are in Debian main:
anarchism (GPL 2 or later), debian-handbook (GPL 2 or later, or CC BY-SA 3.0), fortunes (BSD), as their
copyright files say.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

_UNREAD = {"script", "style", "pre", "table", "head"}
_BLOCKS = {"p", "li", "blockquote", "h1", "h2", "h3", "div", "dd"}
_LEAST_WORDS = 6
_LEAST_LETTERS = 0.85
"""Share of letters and spaces in a paragraph; commands and tables have fewer."""


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


def paragraphs(folder: Path) -> Iterator[str]:
    """Yield the paragraphs of all pages and the quotations, in the order of their files."""
    pages = [*sorted((folder / "usr/share/doc/anarchism/html").rglob("*.html"))]
    pages += sorted((folder / "usr/share/doc/debian-handbook/html/en-US").rglob("*.html"))
    for page in pages:
        parser = Paragraphs()
        parser.feed(page.read_text(errors="replace"))
        parser.close()
        yield from parser.found
    for file in sorted((folder / "usr/share/games/fortunes").iterdir()):
        if file.suffix or file.name == "ascii-art":  # indexes, links and pictures
            continue
        for quotation in file.read_text(errors="replace").split("\n%\n"):
            lines = (line.strip() for line in quotation.split("\n"))
            yield " ".join(line for line in lines if not line.startswith("--"))


def is_prose(text: str) -> bool:
    """Return whether a paragraph looks like sentences rather than a heading, a list or code."""
    letters = sum(character.isalpha() or character == " " for character in text)
    ends = bool(text) and text[-1] in ".?!\"'”’)"
    return ends and len(text.split()) >= _LEAST_WORDS and letters > _LEAST_LETTERS * len(text)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("folder", type=Path, help="where the packages were unpacked")
    parser.add_argument("--words", type=int, help="stop after so many words")
    options = parser.parse_args()
    cleaned = (re.sub(r"\s+", " ", text).strip() for text in paragraphs(options.folder))
    kept = sorted({text for text in cleaned if is_prose(text)})
    # The distribution of genres must not depend on how much of the text is read.
    random.Random(1).shuffle(kept)
    words = 0
    for text in kept:
        print(text, end="\n\n")
        words += len(text.split())
        if options.words is not None and words > options.words:
            break


if __name__ == "__main__":
    main()
