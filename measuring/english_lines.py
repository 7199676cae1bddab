"""English as people write it: lines of text, and the words that they have (tests/pipeline/english_lines.txt)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

FILE = Path(__file__).parents[1] / "tests" / "pipeline" / "english_lines.txt"
SENTENCE_END = "‖"


@dataclass(frozen=True)
class Line:
    """A text of some kind, and its words; with ``SENTENCE_END`` among them, its sentences too."""

    kind: str
    text: str
    words: tuple[str, ...]

    def agrees(self, sentences: list[list[str]]) -> bool:
        """Whether these are its words, and its sentences where they count."""
        end = [SENTENCE_END] if SENTENCE_END in self.words else []
        return [word for sentence in sentences for word in [*sentence, *end]] == list(self.words)


def read_lines() -> list[Line]:
    """All of them, in order."""
    found: list[Line] = []
    kind = ""
    for text, words in pairwise(FILE.read_text(encoding="utf-8").split("\n")):
        if words.startswith("\t"):
            found.append(Line(kind, text.replace("\\n", "\n"), tuple(words.split())))
        elif text.startswith("# "):
            kind = text.removeprefix("# ")
    return found
