"""Forked workers: like other engines, with shared memory; killed workers and fork servers are replaced."""

import os
import platform
import re
import signal
import time
from functools import partial
from pathlib import Path

import pytest

from arcwise.engine import Forks
from arcwise.errors import InputError, WorkerError


class Prepared:
    """Work that holds much memory, made where it is prepared."""

    held: bytes = b""

    def prepare(self) -> None:
        self.held = os.urandom(1) * 60_000_000

    def __call__(self, number: int) -> tuple[int, int, float]:
        memory = Path("/proc/self/smaps_rollup").read_text()
        own = sum(int(kb) for kb in re.findall(r"Private_\w+: +(\d+)", memory)) / 1024
        return number, len(self.held), own


def test_what_is_prepared_is_shared() -> None:
    found = list(Forks(2).map(Prepared(), range(6)))
    assert [number for number, _, _ in found] == list(range(6))
    assert {held for _, held, _ in found} == {60_000_000}
    assert max(own for _, _, own in found) < 30


class Unprepared:
    def prepare(self) -> None:
        raise InputError("model: found none")

    def __call__(self, number: int) -> int:
        return number


def test_an_error_of_preparing_is_that_of_an_item() -> None:
    with pytest.raises(InputError, match="model: found none"):
        list(Forks(2).map(Unprepared(), range(3)))


def _dies(where: Path, number: int) -> int:
    if number == 2 and not (where / "died").exists():
        (where / "died").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 4 and not (where / "server").exists():
        (where / "server").touch()
        os.kill(os.getppid(), signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@pytest.mark.slow
def test_workers_and_their_nursery_are_replaced(tmp_path: Path) -> None:
    assert list(Forks(2).map(partial(_dies, tmp_path), range(8))) == list(range(8))
    assert (tmp_path / "server").exists()


def _deadly(number: int) -> int:
    if number == 1:
        os._exit(3)
    return number


def test_an_item_that_kills_every_worker_is_told() -> None:
    with pytest.raises(WorkerError, match=r"item 2 of 3 .*died 3 times"):
        list(Forks(2).map(_deadly, range(3)))


def _note(where: Path, number: int) -> int:
    (where / str(os.getpid())).touch()
    time.sleep(0 if number == 0 else 60)
    return number


def test_nothing_is_left_running(tmp_path: Path) -> None:
    for _ in Forks(2).map(partial(_note, tmp_path), range(4), ordered=False):
        break
    until = time.monotonic() + 10
    pids = [int(path.name) for path in tmp_path.iterdir()]
    while any(Path(f"/proc/{pid}").exists() for pid in pids) and time.monotonic() < until:
        time.sleep(0.02)
    assert not any(Path(f"/proc/{pid}").exists() for pid in pids)


def _threads(_: int) -> tuple[str | None, int]:
    import numpy as np

    np.ones((300, 300)) @ np.ones((300, 300))
    return os.environ.get("OPENBLAS_NUM_THREADS"), len(list(Path("/proc/self/task").iterdir()))


def test_a_worker_has_one_thread() -> None:
    before = dict(os.environ)
    assert set(Forks(2).map(_threads, range(4))) == {("1", 1)}
    assert dict(os.environ) == before


def _own_memory_after_work(number: int) -> float:
    large = bytearray(20_000_000)  # freed, it makes glibc keep everything smaller for later
    del large
    parts = [bytearray(b"x") * 1_000_000 for _ in range(40)]
    last = bytearray(200_000)  # above all of it
    parts.clear()
    memory = Path("/proc/self/smaps_rollup").read_text()
    assert last
    return sum(int(kb) for kb in re.findall(r"Private_\w+: +(\d+)", memory)) / 1024


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="about glibc")
def test_what_a_worker_frees_goes_back_to_the_system() -> None:
    assert max(Forks(1).map(_own_memory_after_work, range(2))) < 30
