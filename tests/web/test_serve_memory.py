"""Memory of a service: large pieces have pages of their own, whatever was freed before, and empty pages go
back to the system."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Sequence

import pytest

pytest.importorskip("uvicorn", reason="needs uvicorn")

from arcwise import memory
from arcwise.cli import main
from arcwise.errors import InputError
from arcwise.memory import HeapTrimmer
from arcwise.treebanks import Treebank
from arcwise.web import serve_batches
from arcwise.web.serve_batches import Batcher
from arcwise.web.serve_input import Source
from arcwise.web.serve_limits import Limits
from arcwise.web.serve_metrics import ServiceMetrics
from arcwise.web.serve_models import Models, ServedModel
from arcwise.web.serve_tasks import ParseTask, TaskResult
from web.serving import english

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        memory._libc_function("mallopt") is None or memory._libc_function("malloc_trim") is None,
        reason="needs glibc",
    ),
]


def test_empty_pages_are_given_back() -> None:
    """Of many small pieces every hundredth is kept: the pages between them are empty, and stay the process's
    own until they are given back."""
    code = """
import ctypes, re
from pathlib import Path
from arcwise.memory import HeapTrimmer
c = ctypes.CDLL(None)
c.malloc.restype, c.malloc.argtypes, c.free.argtypes = ctypes.c_void_p, [ctypes.c_size_t], [ctypes.c_void_p]
def resident(): return int(re.search(r"VmRSS:\\s+(\\d+)", Path("/proc/self/status").read_text())[1])
pieces = [c.malloc(2000) for _ in range(20000)]
for piece in pieces: ctypes.memset(piece, 1, 2000)
for i, piece in enumerate(pieces):
    if i % 100: c.free(piece)
before = resident()
assert HeapTrimmer(0).trim_if_due()
print(before - resident())
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(found.stdout) > 20_000  # of about 39,000 kB


def test_empty_pages_are_given_back_now_and_then() -> None:
    assert not HeapTrimmer(60).trim_if_due()
    often = HeapTrimmer(0)
    assert often.trim_if_due()
    assert often.trim_if_due()


def test_batches_give_back_after_they_are_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    class Noted(HeapTrimmer):
        def trim_if_due(self) -> bool:
            done.append("given back")
            return True

    def work(tasks: Sequence[ParseTask]) -> list[TaskResult]:
        done.append("worked")
        return [Treebank(b"") for _ in tasks]

    async def ask() -> None:
        line = Batcher(Limits(), ServiceMetrics(), work=work)
        await line.do(ParseTask(ServedModel("english", english()), Source("text", "Birds sing.")))
        await asyncio.to_thread(line.stop)

    monkeypatch.setattr(serve_batches, "HeapTrimmer", Noted)
    asyncio.run(ask())
    assert done == ["worked", "given back"]


def test_the_command_begins_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before models are read: what they leave behind is given back, too."""
    done: list[str] = []

    def opened(given: Sequence[str]) -> Models:
        done.append("models")
        raise InputError("enough")

    monkeypatch.setattr(memory, "mmap_large_allocations", lambda: done.append("apart"))
    monkeypatch.setattr(Models, "open", opened)
    assert main.run(["serve", "--port", "0"]) == 2
    assert done == ["apart", "models"]
