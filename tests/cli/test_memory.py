"""What becomes of memory that was freed: large pieces apart in a service, all of it kept in a training."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from arcwise import memory
from arcwise.cli.main import run
from arcwise.memory import LARGE

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(memory._libc_function("mallinfo2") is None, reason="needs glibc 2.33"),
]

PIECES = """
import ctypes
from arcwise.memory import mmap_large_allocations, disable_malloc_trim
{begin}
c = ctypes.CDLL(None)
c.malloc.restype, c.malloc.argtypes, c.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
class Info(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]
c.mallinfo2.restype = Info
c.free(c.malloc(8 << 20))  # from now on glibc, left to itself, keeps pieces of this size in the heap
before = c.mallinfo2().hblks
kept = [c.malloc({size}) for _ in range(5)]
print(c.mallinfo2().hblks - before)
"""


def printed(code: str, **variables: str) -> int:
    """The number that a new process prints, for which nobody has chosen anything but by ``variables``."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_"))}
    line = [sys.executable, "-c", code]
    found = subprocess.run(line, env=environment | variables, capture_output=True, text=True, check=True)
    return int(found.stdout)


def pieces_apart(begin: str, size: int, **variables: str) -> int:
    """How many of five pieces have pages of their own, in a new process that freed a larger one before."""
    return printed(PIECES.format(begin=begin, size=size), **variables)


def test_large_pieces_have_pages_of_their_own() -> None:
    apart = "assert mmap_large_allocations()"
    assert pieces_apart("", 4 << 20) == 0  # why it is needed
    assert pieces_apart(apart, 4 << 20) == 5
    assert pieces_apart(apart, 8 * LARGE) == 5
    assert pieces_apart(apart, LARGE // 2) == 0


def test_the_user_may_choose_otherwise() -> None:
    chosen = "assert not mmap_large_allocations()"
    assert pieces_apart(chosen, 4 << 20, MALLOC_MMAP_THRESHOLD_=str(16 << 20)) == 0
    assert pieces_apart(chosen, 4 << 20, GLIBC_TUNABLES=f"glibc.malloc.mmap_threshold={16 << 20}") == 0
    assert (
        pieces_apart("assert mmap_large_allocations()", 4 << 20, MALLOC_ARENA_MAX="2") == 5
    )  # another matter


def test_in_a_training_no_piece_has_pages_of_its_own() -> None:
    kept = "assert disable_malloc_trim()"
    assert pieces_apart("", 64 << 20) == 5  # why it is needed
    assert pieces_apart(kept, 64 << 20) == 0
    assert pieces_apart("assert not disable_malloc_trim()", 64 << 20, MALLOC_TRIM_THRESHOLD_="100000") == 5


def test_in_a_training_what_is_freed_is_not_emptied() -> None:
    """Its pages are there when the next piece is taken: no page fault for each."""
    code = """
import ctypes, resource
from arcwise.memory import disable_malloc_trim
{begin}
c = ctypes.CDLL(None)
c.malloc.restype, c.malloc.argtypes, c.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
faults = []
for _ in range(4):
    piece = c.malloc(64 << 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    ctypes.memset(piece, 1, 64 << 20)
    faults.append(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
    c.free(piece)
print(faults[-1])
"""
    assert printed(code.format(begin="")) > 10
    assert printed(code.format(begin="disable_malloc_trim()")) == 0


def test_training_a_network_begins_with_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="needs torch")
    done: list[str] = []
    monkeypatch.setattr("arcwise.cli.train.disable_malloc_trim", lambda: done.append("kept"))
    broken = tmp_path / "broken.conllu"
    broken.write_text("no treebank\n")
    common = ["train", "--train", str(broken), "--model", str(tmp_path / "m")]
    for parser, found in (("neural", ["kept"]), ("graph", [])):
        done.clear()
        assert run([*common, "--parser", parser]) == 2
        assert done == found
