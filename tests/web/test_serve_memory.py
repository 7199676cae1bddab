"""Memory of a service: large pieces have pages of their own, whatever was freed before, and empty pages go back to the system."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence

import pytest

pytest.importorskip("uvicorn", reason="needs uvicorn")

from arcwise.cli import main
from arcwise.errors import InputError
from arcwise.treebanks import Treebank
from arcwise.web import serve_batches, serve_memory
from arcwise.web.serve_batches import Batcher
from arcwise.web.serve_input import Source
from arcwise.web.serve_limits import Limits
from arcwise.web.serve_memory import LARGE, Returner
from arcwise.web.serve_metrics import Meter
from arcwise.web.serve_models import Models, ServedModel
from arcwise.web.serve_tasks import Done, Task
from web.serving import english

pytestmark = pytest.mark.skipif(
    serve_memory._of_c_library("mallopt") is None or serve_memory._of_c_library("malloc_trim") is None,
    reason="needs glibc",
)

PIECES = """
import ctypes
from arcwise.web.serve_memory import keep_large_pieces_apart
{begin}
c = ctypes.CDLL(None)
c.malloc.restype, c.malloc.argtypes, c.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
class Info(ctypes.Structure):
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]
c.mallinfo2.restype = Info
c.free(c.malloc(8 << 20))  # from now on glibc, left to itself, keeps pieces of this size in the heap
before = c.mallinfo2().hblks
kept = [c.malloc({size}) for _ in range(5)]
print(c.mallinfo2().hblks - before)
"""


def pieces_apart(begin: str, size: int, **variables: str) -> int:
    """How many of five pieces have pages of their own, in a new process that freed a larger one before."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("MALLOC_", "GLIBC_"))}
    line = [sys.executable, "-c", PIECES.format(begin=begin, size=size)]
    found = subprocess.run(line, env=environment | variables, capture_output=True, text=True, check=True)
    return int(found.stdout)


@pytest.mark.skipif(serve_memory._of_c_library("mallinfo2") is None, reason="needs glibc 2.33")
def test_large_pieces_have_pages_of_their_own() -> None:
    apart = "assert keep_large_pieces_apart()"
    assert pieces_apart("", 4 << 20) == 0  # why it is needed
    assert pieces_apart(apart, 4 << 20) == 5
    assert pieces_apart(apart, 8 * LARGE) == 5
    assert pieces_apart(apart, LARGE // 2) == 0


@pytest.mark.skipif(serve_memory._of_c_library("mallinfo2") is None, reason="needs glibc 2.33")
def test_the_user_may_choose_otherwise() -> None:
    chosen = "assert not keep_large_pieces_apart()"
    assert pieces_apart(chosen, 4 << 20, MALLOC_MMAP_THRESHOLD_=str(16 << 20)) == 0
    assert pieces_apart(chosen, 4 << 20, GLIBC_TUNABLES=f"glibc.malloc.mmap_threshold={16 << 20}") == 0


def test_empty_pages_are_given_back() -> None:
    """Of many small pieces every hundredth is kept: the pages between them are empty, and stay the process's own until they are given back."""
    code = """
import ctypes, re
from pathlib import Path
from arcwise.web.serve_memory import Returner
c = ctypes.CDLL(None)
c.malloc.restype, c.malloc.argtypes, c.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
def resident(): return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
pieces = [c.malloc(2000) for _ in range(20000)]
for piece in pieces: ctypes.memset(piece, 1, 2000)
for i, piece in enumerate(pieces):
    if i % 100: c.free(piece)
before = resident()
assert Returner(0).now_and_then()
print(before - resident())
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(found.stdout) > 20_000  # of about 39,000 kB


def test_empty_pages_are_given_back_now_and_then() -> None:
    assert not Returner(60).now_and_then()
    often = Returner(0)
    assert often.now_and_then()
    assert often.now_and_then()


def test_batches_give_back_after_they_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    class Noted(Returner):
        def now_and_then(self) -> bool:
            done.append("given back")
            return True

    def work(tasks: Sequence[Task]) -> list[Done]:
        done.append("worked")
        return [Treebank(b"") for _ in tasks]

    async def ask() -> None:
        line = Batcher(Limits(), Meter(), work=work)
        await line.do(Task(ServedModel("english", english()), Source("text", "Birds sing.")))
        await asyncio.to_thread(line.stop)

    monkeypatch.setattr(serve_batches, "Returner", Noted)
    asyncio.run(ask())
    assert done == ["worked", "given back"]


def test_the_command_begins_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before models are read: what they leave behind is given back, too."""
    done: list[str] = []

    def opened(given: Sequence[str]) -> Models:
        done.append("models")
        raise InputError("enough")

    monkeypatch.setattr(serve_memory, "keep_large_pieces_apart", lambda: done.append("apart"))
    monkeypatch.setattr(Models, "open", opened)
    assert main.run(["serve", "--port", "0"]) == 2
    assert done == ["apart", "models"]
