"""Workers that are killed, at any moment: another one does what they held, and the results are the same."""

import os
import signal
import time
from collections import Counter
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from arcwise.engine import Processes, ThisProcess
from arcwise.errors import WorkerError

pytestmark = pytest.mark.process


def _kills_itself_once(folder: Path, number: int) -> int:
    """Notes each time that it is done; some of the items kill their worker the first time."""
    note = folder / f"{number}-{os.getpid()}"
    first = not list(folder.glob(f"{number}-*"))
    note.touch()
    if first and number % 3 == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return number**2


@pytest.mark.parametrize("ordered", [True, False])
def test_what_a_killed_worker_held_is_done_again_and_nothing_else(tmp_path: Path, ordered: bool) -> None:
    found = list(Processes(2).map(partial(_kills_itself_once, tmp_path), range(8), ordered=ordered))
    assert sorted(found) == [n**2 for n in range(8)]
    times = Counter(int(note.name.partition("-")[0]) for note in tmp_path.iterdir())
    assert times == {number: 2 if number % 3 == 1 else 1 for number in range(8)}


def _note_and_wait(folder: Path, number: int) -> tuple[int, int]:
    (folder / str(os.getpid())).touch()
    time.sleep(0.05)
    return number, os.getpid()


def test_killed_from_outside_at_any_moment(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    killed: set[int] = set()
    numbers = []
    for number, _ in Processes(2).map(partial(_note_and_wait, tmp_path), range(60)):
        numbers.append(number)
        fresh = [pid for pid in (int(note.name) for note in tmp_path.iterdir()) if pid not in killed]
        if number % 10 == 9 and fresh:
            # one of those that work now, or have nothing to do, or are at the end of an item
            time.sleep(0.05 * rng.random())
            victim = int(rng.choice(fresh))
            os.kill(victim, signal.SIGKILL)
            killed.add(victim)
    assert numbers == list(range(60))
    assert len(killed) >= 4


def _large(folder: Path, number: int) -> np.ndarray:
    """A result that does not fit into a pipe, so that its worker is killed while it sends it."""
    (folder / f"{number}-{os.getpid()}").touch()
    return np.full(4_000_000, number)


def test_killed_while_a_result_is_on_its_way(tmp_path: Path) -> None:
    results = Processes(1).map(partial(_large, tmp_path), range(4))
    assert next(results)[0] == 0
    while not (notes := list(tmp_path.glob("1-*"))):
        time.sleep(0.01)
    time.sleep(0.3)  # it is sending, and nobody takes it
    os.kill(int(notes[0].name.partition("-")[2]), signal.SIGKILL)
    assert [(len(result), result[0]) for result in results] == [(4_000_000, n) for n in (1, 2, 3)]


class _Keeps:
    """Work that keeps something a worker: how many items it has done."""

    def __init__(self) -> None:
        self.done = 0

    def __call__(self, kill: bool) -> tuple[int, int]:
        if kill:
            os._exit(7)
        self.done += 1
        return os.getpid(), self.done


def test_a_crew_keeps_its_workers_and_what_they_have() -> None:
    with Processes(2).pool(_Keeps()) as pool:
        list(pool.map([False] * 20))
        first, second, third = (list(pool.map([False] * 2)) for _ in range(3))
        with pytest.raises(
            WorkerError, match=r"item 1 of 1 \(True\): its worker died 3 times, .* exit status 7"
        ):
            list(pool.map([True]))
        after = list(pool.map([False] * 2))
    assert [pid for pid, _ in first] == [pid for pid, _ in second] == [pid for pid, _ in third]
    assert [done for _, done in third] == [done + 2 for _, done in first]
    assert len({pid for pid, _ in first}) == 2
    assert len({pid for pid, _ in after}) == 2


class _CannotBeMade:
    def __reduce__(self) -> tuple[object, ...]:
        return _refuse, ()


def _refuse() -> None:
    raise ValueError("cannot be made again")


def _give(kind: str) -> object:
    return (lambda: 1) if kind == "no pickle" else _CannotBeMade()


def test_results_and_items_that_cannot_travel_are_errors_and_cost_no_worker() -> None:
    engine = Processes(1)
    with pytest.raises(RuntimeError, match=r"item 1 of 1 \('no pickle'\): RuntimeError: .*pickle"):
        list(engine.map(_give, ["no pickle"]))
    with pytest.raises(RuntimeError, match=r"item 1 of 1 .*ValueError: cannot be made again"):
        list(engine.map(_give, ["not made again"]))
    with pytest.raises(RuntimeError, match=r"item 1 of 1 .*ValueError: cannot be made again"):
        list(engine.map(str, [_CannotBeMade()]))
    with pytest.raises(RuntimeError, match=r"item 1 of 1 .*ValueError: cannot be made again"):
        list(engine.map(_CannotBeMade(), [1]))  # type: ignore[arg-type]


class _Sums:
    """Work with a common value; records which process ran an item, and dies on request."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, given: tuple[np.ndarray, int]) -> float:
        common, number = given
        note = self.folder / f"{common[0]}-{number}"
        if number == 1 and not note.exists():
            note.touch()
            os._exit(1)
        return float(common.sum()) + number


def test_what_items_have_in_common_is_written_anew_for_each_map(tmp_path: Path) -> None:
    expected = [[common * 1000 + number for number in range(4)] for common in range(5)]
    for engine in (ThisProcess(), Processes(2)):
        (tmp_path / "0-1").touch()
        if isinstance(engine, ThisProcess):
            for common in range(5):
                (tmp_path / f"{common}-1").touch()
        with engine.pool(_Sums(tmp_path)) as pool:
            found = [list(pool.map_with(np.full(1000, common), range(4))) for common in range(5)]
        assert found == expected
        for note in tmp_path.iterdir():
            note.unlink()
