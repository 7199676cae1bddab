"""The memory of a stream does not depend on its length."""

from __future__ import annotations

import io
import os
import random
import sys
from pathlib import Path

import pytest

import arcwise
from arcwise.parsing.parser import ParseOptions
from contracts.english import TEXT

PIECE = 1 << 16
"""Bytes of text that may be in work at a time."""


def english(size: int) -> str:
    """Sentences in random order, so that no two pieces have the same lengths."""
    sentences, rng = [line for line in TEXT.split(". ") if line], random.Random(1)
    parts: list[str] = []
    length = 0
    while length < size:
        parts.append(" ".join(rng.choice(sentences) + "." for _ in range(rng.randint(1, 9))) + "\n\n")
        length += len(parts[-1])
    return "".join(parts)


def test_a_long_text_is_parsed_in_small_pieces() -> None:
    text = english(5 * PIECE)
    pieces = list(arcwise.load("en-fast").analyses(io.BytesIO(text.encode()), options=ParseOptions()))
    sizes = [len(piece.treebank.surface.text.encode()) for piece in pieces]
    assert len(pieces) >= 5
    assert max(sizes) <= 1.5 * PIECE


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads ru_maxrss in kilobytes, as on Linux")
def test_the_peak_memory_of_the_command_is_that_of_a_piece(tmp_path: Path) -> None:
    peaks = []
    for size in (3 * PIECE, 20 * PIECE):
        source = tmp_path / f"{size}.txt"
        source.write_text(english(size))
        command = [sys.executable, "-m", "arcwise", "parse", "--model", "en", str(source)]
        process = os.posix_spawn(command[0], [*command, "--output", f"{source}.conllu"], os.environ)
        _, status, usage = os.wait4(process, 0)
        assert status == 0
        peaks.append(usage.ru_maxrss / 1024)
    assert peaks[1] - peaks[0] < 15
    assert peaks[1] < 180
