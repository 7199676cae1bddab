"""Input that comes piece by piece: what is complete is handed on when the writer pauses, and how it is cut
does not change the result."""

from __future__ import annotations

import io
import itertools
import os
import threading
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise.models import load
from arcwise.pipeline.pausing_reader import PausingReader
from arcwise.text.text_stream import stream_text
from arcwise.text.tokenizer import Tokenizer
from arcwise.treebanks import Treebank
from arcwise.treebanks.streaming import stream_opened

PARAGRAPHS = ["Birds sing. Fish\nswim.", "Mr. Smith came at 5 p.m.", "no end", "Thé cat — 🙂."]
GAPS = ["\n\n", "\n \t\n", "\n\n\n\n", "\r\n\r\n"]


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return load("en-fast").tokenizer


class Pieces:
    """A stream that pauses after each piece."""

    def __init__(self, pieces: list[bytes]) -> None:
        self._pieces = [*filter(None, pieces)]
        self.paused = False

    def read(self, size: int) -> bytes:
        self.paused = bool(self._pieces)
        return self._pieces.pop(0) if self._pieces else b""


def cut_at(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({*(place % (len(data) + 1) for place in places), 0, len(data)})
    return [data[a:b] for a, b in itertools.pairwise(ends)]


@settings(deadline=None, max_examples=40)
@given(
    parts=st.lists(st.tuples(st.sampled_from(PARAGRAPHS), st.sampled_from(GAPS)), min_size=1, max_size=6),
    places=st.lists(st.integers(0, 400), max_size=12),
    piece=st.sampled_from([1, 20, 1 << 18]),
)
def test_paragraphs_do_not_depend_on_how_they_come(
    tokenizer: Tokenizer, parts: list[tuple[str, str]], places: list[int], piece: int
) -> None:
    data = "".join(text + gap for text, gap in parts).encode()
    whole = b"".join(t.data for t in stream_text(tokenizer, io.BytesIO(data), paragraphs=True))
    came: Any = Pieces(cut_at(data, places))
    found = b"".join(t.data for t in stream_text(tokenizer, came, paragraphs=True, piece=1 << 18))
    assert found == whole
    assert Treebank(found).surface.text.rstrip() == data.decode().rstrip()
    paused: Any = Pieces(cut_at(data, places))
    treebank = Treebank(b"".join(t.data for t in stream_text(tokenizer, paused, piece=piece)))
    assert treebank.surface.text.rstrip() == data.decode().rstrip()
    assert [s.sent_id for s in treebank] == [str(n) for n in range(1, len(treebank) + 1)]


def test_a_paragraph_comes_with_its_blank_line(tokenizer: Tokenizer) -> None:
    pieces: Any = Pieces([b"Birds sing.\n", b"Fish swim.\n\nDogs", b" bark.\n", b"\n", b"Cats"])
    taken = stream_text(tokenizer, pieces)
    assert [s.text for s in next(taken)] == ["Birds sing.", "Fish swim."]
    assert len(pieces._pieces) == 3
    assert [s.text for s in next(taken)] == ["Dogs bark."]
    assert [s.text for s in next(taken)] == ["Cats"]
    assert next(taken, None) is None


def test_a_text_that_comes_letter_by_letter_is_not_cut_over_and_over(
    tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []
    tokenize = Tokenizer.tokenize

    def counting(self: Tokenizer, text: str, **options: Any) -> Any:
        given.append(len(text))
        return tokenize(self, text, **options)

    monkeypatch.setattr(Tokenizer, "tokenize", counting)
    pieces: Any = Pieces([b"a"] * 20_000)
    found = list(stream_text(tokenizer, pieces, piece=100))
    assert [s.forms for t in found for s in t] == [["a" * 20_000]]
    assert sum(given) < 4 * 20_000


def test_pipes_pause_and_files_do_not() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream:
        source = PausingReader(stream, pause=0.05)
        os.write(writing, b"1\tBir")
        threading.Timer(0.3, lambda: (os.write(writing, b"ds\n\n2"), os.close(writing))).start()
        assert source.peek(100) == b"1\tBirds\n\n2"  # a whole line, however it comes
        assert source.read(3) == b"1\tB"
        assert not source.paused
        assert source.read(100) == b"irds\n\n2"
        assert (source.read(100), source.paused) == (b"", False)
    plain = PausingReader(io.BytesIO(b"abc"))
    assert (plain.read(2), plain.read(2), plain.paused, plain.read(2)) == (b"ab", b"c", False, b"")


def test_what_is_there_is_given_when_the_writer_pauses() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as stream:
        source = PausingReader(stream, pause=0.02)
        os.write(writing, b"first")
        began = time.monotonic()
        assert (source.read(100), source.paused) == (b"first", True)
        assert time.monotonic() - began >= 0.02
        os.write(writing, b"second")
        os.close(writing)
        assert (source.read(100), source.paused) == (b"second", False)
        assert source.read(100) == b""


def test_sentences_of_conllu_come_one_by_one() -> None:
    row = b"1\tHi\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    pieces: Any = Pieces([row[:9], row[9:], row + row[:4], row[4:-1], b"\n"])
    found = stream_opened(pieces, "-")
    assert [len(t) for t in found] == [1, 1, 1]
