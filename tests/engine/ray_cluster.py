"""A Ray cluster of two single-core nodes in processes of this machine; tests skip without Ray."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ray = pytest.importorskip("ray", reason="needs ray: make test-ray installs it")

_SMALL = {"num_cpus": 1, "object_store_memory": 80_000_000}


class TwoNodes:
    """A head, which stays, and a second node, which tests kill."""

    def __init__(self) -> None:
        from ray.cluster_utils import Cluster

        self._path = os.environ.get("PYTHONPATH", "")
        tests = Path(__file__).parents[1]
        # Workers unpickle classes of the tests, some by "engine.…", some by "tests.distributed.…".
        os.environ["PYTHONPATH"] = os.pathsep.join([str(tests), str(tests.parent)])
        self._cluster = Cluster(initialize_head=True, head_node_args=_SMALL | {"include_dashboard": False})
        self.address: str = self._cluster.address
        self._second: Any = None
        self.repair()

    def repair(self) -> None:
        """The second node, if it is not there."""
        if self._second is None:
            self._second = self._cluster.add_node(**_SMALL)

    @property
    def second(self) -> str:
        """The name of the second node, as ``node_of_this_worker`` tells it."""
        return str(self._second.node_id)

    def kill_second(self) -> None:
        """As if its machine went away."""
        self._cluster.remove_node(self._second, allow_graceful=False)
        self._second = None

    def shutdown(self) -> None:
        ray.shutdown()
        self._cluster.shutdown()
        os.environ["PYTHONPATH"] = self._path


@contextmanager
def two_nodes() -> Iterator[TwoNodes]:
    cluster = TwoNodes()
    try:
        yield cluster
    finally:
        cluster.shutdown()


@pytest.fixture(name="cluster", scope="module")
def cluster_of_two_nodes() -> Iterator[TwoNodes]:
    """For all tests of a file, which imports it."""
    with two_nodes() as found:
        yield found


def node_of_this_worker() -> str:
    return str(ray.get_runtime_context().get_node_id())


def wait_until(what: Callable[[], bool], seconds: float = 60) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.02)
