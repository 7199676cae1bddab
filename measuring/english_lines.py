"""Informal English: lines of text with their correct words (tests/pipeline/english_lines.txt)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

FILE = Path(__file__).parents[1] / "tests" / "pipeline" / "english_lines.txt"
SENTENCE_END = "‖"


@dataclass(frozen=True)
class Line:
    """A text, its category and its words; ``SENTENCE_END`` among them marks sentence boundaries."""

    kind: str
    text: str
    words: tuple[str, ...]

    def agrees(self, sentences: list[list[str]]) -> bool:
        """Whether a segmentation has these words, and these sentences where they are marked."""
        end = [SENTENCE_END] if SENTENCE_END in self.words else []
        return [word for sentence in sentences for word in [*sentence, *end]] == list(self.words)


def read_lines() -> list[Line]:
    """Read all lines, in order."""
    lines: list[Line] = []
    kind = ""
    for text, words in pairwise(FILE.read_text(encoding="utf-8").split("\n")):
        if words.startswith("\t"):
            lines.append(Line(kind, text.replace("\\n", "\n"), tuple(words.split())))
        elif text.startswith("# "):
            kind = text.removeprefix("# ")
    return lines
