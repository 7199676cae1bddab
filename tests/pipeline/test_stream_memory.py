"""The memory of a stream does not depend on its length."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import pytest

import arcwise
from arcwise.parsing.parser import ParseOptions
from contracts.english import random_english

PIECE = 1 << 16
"""Bytes of text that may be in work at a time."""


_RUN = """
import sys
from pathlib import Path
from arcwise.cli.main import run
assert run(sys.argv[1:]) == 0
(peak,) = (line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
print(peak.split()[1])
"""


def test_a_long_text_is_parsed_in_small_pieces() -> None:
    text = random_english(5 * PIECE)
    pieces = list(arcwise.load("en-fast").analyses(io.BytesIO(text.encode()), options=ParseOptions()))
    sizes = [len(piece.treebank.surface.text.encode()) for piece in pieces]
    assert len(pieces) >= 5
    assert max(sizes) <= 1.5 * PIECE


@pytest.mark.slow
@pytest.mark.process
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc, as on Linux")
def test_the_peak_memory_of_the_command_is_that_of_a_piece(tmp_path: Path) -> None:
    peaks = []
    for size in (3 * PIECE, 20 * PIECE):
        source = tmp_path / f"{size}.txt"
        source.write_text(random_english(size))
        arguments = ["parse", "--model", "en", str(source), "--output", f"{source}.conllu"]
        # The process itself says how much it took: what a parent sees includes the parent's own memory.
        done = subprocess.run(
            [sys.executable, "-c", _RUN, *arguments], check=True, capture_output=True, text=True
        )
        peaks.append(int(done.stdout.split()[-1]) * 1024 / 1e6)
    assert peaks[1] - peaks[0] < 15
    assert peaks[1] <= 120
