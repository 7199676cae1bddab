"""Sentences of CoNLL-U files as text, for the scripts that train peers: they need no arcwise, so they run on any machine."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path


def sentences(path: Path) -> list[str]:
    """The sentences of a file, comments included."""
    return [block + "\n" for block in path.read_text(encoding="utf-8").split("\n\n") if block.strip()]


def words(sentence: str) -> list[list[str]]:
    """The ten columns of each word; multiword tokens and empty nodes are left out."""
    rows = [line.split("\t") for line in sentence.splitlines() if line and line[0] != "#"]
    return [row for row in rows if row[0].isdigit()]


def join(parts: Sequence[str]) -> str:
    """A file of these sentences."""
    return "".join(part + "\n" for part in parts)


def draw(parts: Sequence[str], count: int, number: int) -> list[str]:
    """``count`` sentences; the draws of one ``number`` grow, each holds the smaller ones."""
    order = list(range(len(parts)))
    random.Random(number).shuffle(order)
    return [parts[place] for place in order[:count]]


def split(parts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Four of five sentences to train on, the fifth to choose by."""
    chosen = [part for place, part in enumerate(parts) if place % 5 == 4]
    return [part for place, part in enumerate(parts) if place % 5 != 4], chosen
