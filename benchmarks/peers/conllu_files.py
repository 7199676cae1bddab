"""Sentences of CoNLL-U files as text, for scripts that train peers without arcwise installed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path


def sentences(path: Path) -> list[str]:
    """Sentences of a file, comments included."""
    return [block + "\n" for block in path.read_text(encoding="utf-8").split("\n\n") if block.strip()]


def words(sentence: str) -> list[list[str]]:
    """The ten columns of each word, without multiword tokens and empty nodes."""
    rows = [line.split("\t") for line in sentence.splitlines() if line and line[0] != "#"]
    return [row for row in rows if row[0].isdigit()]


def join(parts: Sequence[str]) -> str:
    """Write sentences to a file."""
    return "".join(part + "\n" for part in parts)


def draw(parts: Sequence[str], count: int, number: int) -> list[str]:
    """Draw ``count`` sentences; draws with the same ``number`` are nested."""
    order = list(range(len(parts)))
    random.Random(number).shuffle(order)
    return [parts[place] for place in order[:count]]


def split(parts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split off every fifth sentence for model selection."""
    chosen = [part for place, part in enumerate(parts) if place % 5 == 4]
    return [part for place, part in enumerate(parts) if place % 5 != 4], chosen
