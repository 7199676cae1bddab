"""The engine on a real Ray cluster of two nodes: the same results, even if a worker or a node is killed."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import pytest

from arcwise.engine import Engine, engine_of
from arcwise.errors import InputError, WorkerError
from engine.ray_cluster import TwoNodes, node_of_this_worker, wait_until
from engine.ray_cluster import cluster_of_two_nodes as cluster_of_two_nodes

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(240)]


@pytest.fixture
def engine(cluster: TwoNodes) -> Engine:
    cluster.repair()
    return engine_of("ray", workers=2, address=cluster.address)


class Noting:
    """Work that records in a folder when a worker loads it and which items it runs, and takes some time."""

    def __init__(self, folder: Path, seconds: float = 0.1, lethal: int = -1) -> None:
        self.folder, self.seconds, self.lethal = folder, seconds, lethal

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        (self.folder / f"brought-{os.getpid()}-{time.monotonic_ns()}").touch()

    def __call__(self, number: int) -> int:
        (self.folder / f"item-{number}-{os.getpid()}-{node_of_this_worker()}-{time.monotonic_ns()}").touch()
        if number == self.lethal:
            os._exit(3)
        time.sleep(self.seconds)
        return number**2

    def done(self) -> list[tuple[int, int, str]]:
        """(item, process, node), as often as each was begun."""
        parts = [note.name.split("-") for note in self.folder.glob("item-*")]
        return [(int(number), int(pid), node) for _, number, pid, node, _ in parts]


def _complain(kind: str) -> str:
    if kind == "input":
        raise InputError("value: found nothing")
    return kind


def until(happened: Callable[[], bool], least: int) -> Iterator[int]:
    """Items, as many as it takes: how long a worker takes to start decides nothing."""
    number = 0
    while number < least or not happened():
        yield number
        number += 1


@pytest.mark.parametrize("ordered", [True, False])
def test_both_nodes_work_and_get_the_work_once(engine: Engine, tmp_path: Path, ordered: bool) -> None:
    work = Noting(tmp_path)
    items = until(lambda: len({node for _, _, node in work.done()}) == 2, 12)
    found = list(engine.map(work, items, ordered=ordered))
    assert (found if ordered else sorted(found)) == [n**2 for n in range(len(found))]
    done = work.done()
    assert sorted(number for number, _, _ in done) == list(range(len(found)))
    assert len(list(tmp_path.glob("brought-*"))) == len({pid for _, pid, _ in done}) == 2


def test_an_error_names_the_item(engine: Engine) -> None:
    with pytest.raises(InputError, match=r"item 2 of 3 \('input'\): value: found nothing"):
        list(engine.map(_complain, ["fine", "input", "fine"]))


def test_a_killed_worker_costs_what_it_held(engine: Engine, tmp_path: Path) -> None:
    work = Noting(tmp_path, seconds=0.5)
    results = engine.map(work, until(lambda: len({pid for _, pid, _ in work.done()}) == 3, 8))
    assert next(results) == 0
    wait_until(lambda: len({pid for _, pid, _ in work.done()}) == 2)
    victim = work.done()[-1][1]
    os.kill(victim, signal.SIGKILL)
    found = list(results)
    assert found == [n**2 for n in range(1, len(found) + 1)]
    assert len(work.done()) - (len(found) + 1) <= 1


def test_a_killed_node_costs_what_it_held(engine: Engine, cluster: TwoNodes, tmp_path: Path) -> None:
    work = Noting(tmp_path, seconds=0.5)
    found: list[int] = []
    reader = threading.Thread(target=lambda: found.extend(engine.map(work, range(8))))
    reader.start()
    wait_until(lambda: any(node == cluster.second for _, _, node in work.done()))
    cluster.kill_second()
    reader.join()
    assert found == [n**2 for n in range(8)]
    assert len(work.done()) - 8 <= 1


def test_an_item_that_kills_its_workers_is_given_up(engine: Engine, tmp_path: Path) -> None:
    work = Noting(tmp_path, seconds=0, lethal=2)
    results = engine.map(work, range(4))
    with pytest.raises(WorkerError, match=r"item 3 of 4 \(2\): its worker died 3 times"):
        list(results)
    assert [number for number, _, _ in work.done()].count(2) == 3


def test_a_crew_keeps_its_workers(engine: Engine, tmp_path: Path) -> None:
    work = Noting(tmp_path, seconds=0)
    with engine.pool(work) as pool:
        for _ in range(3):
            assert list(pool.map([1, 2, 3])) == [1, 4, 9]
    assert len(list(tmp_path.glob("brought-*"))) <= 2


def test_what_is_found_can_be_written_to(engine: Engine) -> None:
    import numpy as np

    (found,) = engine.map(partial(np.add, np.zeros(1_000_000)), [np.ones(1_000_000)])
    found += 1
    assert found.sum() == 2_000_000
