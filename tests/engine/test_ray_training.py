"""Training on a Ray cluster of two nodes: a byte-identical model, even if a worker and a node are killed."""

import lzma
import os
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from measuring.trainings import Training, run_all

from arcwise.engine import Engine, ThisProcess, engine_of
from arcwise.graph import GraphConfig, GraphParser
from arcwise.mining import mine
from arcwise.text.jackknife import jackknife_tags
from arcwise.transition import TransitionConfig, TransitionParser
from contracts.small_treebank import small_treebank
from engine.ray_cluster import TwoNodes, two_nodes, wait_until
from engine.slow_parts import SlowObjective, SlowTraining

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(300)]
SMALL = GraphConfig(epochs=8, arc_bits=12, row_bits=12)
TREEBANK = "Small"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of treebanks and one for what is trained, which all nodes know."""
    folder = tmp_path_factory.mktemp("world")
    (folder / TREEBANK).mkdir()
    for part in ("train", "dev", "test"):
        (folder / TREEBANK / f"{part}.conllu.xz").write_bytes(lzma.compress(small_treebank().data))
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("ARCWISE_TREEBANKS", str(folder))
        patched.setenv("ARCWISE_CACHE", str(folder / "cache"))
        yield folder


@pytest.fixture(scope="module")
def cluster(world: Path) -> Iterator[TwoNodes]:
    with two_nodes() as found:
        yield found


@pytest.fixture
def engine(cluster: TwoNodes) -> Engine:
    cluster.repair()
    return engine_of("ray", workers=2, address=cluster.address)


def trained(config: GraphConfig, engine: Engine, path: Path) -> bytes:
    treebank = small_treebank()
    GraphParser.train(treebank, treebank, config=config, engine=engine).save(path)
    return path.read_bytes()


@pytest.mark.parametrize("trainer", ["mira", "log-linear-batch"])
def test_a_worker_and_a_node_are_killed(
    trainer: str, cluster: TwoNodes, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """During parameter mixing, and during batch training, whose gradients are sums over workers."""
    config = SMALL.for_trainer(trainer, parts=3)
    whole = trained(config, ThisProcess(), tmp_path / "one")
    notes = tmp_path / "notes"
    notes.mkdir()
    seconds = 0.3 if trainer == "mira" else 0.1
    monkeypatch.setattr("arcwise.graph.parts.PartTraining", partial(SlowTraining, notes, seconds))
    monkeypatch.setattr("arcwise.graph.parts.PartObjective", partial(SlowObjective, notes, seconds))
    found: list[bytes] = []

    def begun() -> list[tuple[str, int]]:
        """Node and process of each part that was begun."""
        parts = [note.name.split("-") for note in notes.iterdir()]
        return [(node, int(pid)) for node, pid, _ in parts]

    job = threading.Thread(target=lambda: found.append(trained(config, engine, tmp_path / "two")))
    job.start()
    wait_until(lambda: len(set(begun())) == 2, 120)
    victim = next(pid for node, pid in begun() if node != cluster.second)
    os.kill(victim, signal.SIGKILL)
    wait_until(lambda: len(set(begun())) == 3, 120)
    before = sum(node == cluster.second for node, _ in begun())
    wait_until(lambda: sum(node == cluster.second for node, _ in begun()) > before)
    assert job.is_alive()
    cluster.kill_second()
    job.join()
    assert found == [whole]


def _with_C(engine: Engine, path: Path) -> bytes:
    return trained(replace(SMALL, epochs=2, try_C=(0.01, 0.1)), engine, path)


def _with_folds(engine: Engine, path: Path) -> bytes:
    config = TransitionConfig(epochs=2, move_bits=12, label_bits=12)
    TransitionParser.train(small_treebank(), "2fold", config=config, engine=engine).save(path)
    return path.read_bytes()


def _jackknifed(engine: Engine, path: Path) -> bytes:
    return jackknife_tags(small_treebank(), folds=2, engine=engine).data


def _mined(engine: Engine, path: Path) -> bytes:
    found = mine(small_treebank(), engine=engine).suspects(20)
    assert found
    return repr(found).encode()


@pytest.mark.parametrize("task", [_with_C, _with_folds, _jackknifed, _mined])
def test_choices_folds_and_taggers_are_tasks(
    task: Callable[[Engine, Path], bytes], engine: Engine, tmp_path: Path
) -> None:
    assert task(engine, tmp_path / "ray") == task(ThisProcess(), tmp_path / "alone")


def test_experiments_are_tasks(engine: Engine, world: Path) -> None:
    wanted = [
        Training(TREEBANK, TransitionConfig(epochs=1, move_bits=12, label_bits=10, seed=seed))
        for seed in (1, 2)
    ]
    run_all(wanted, engine=engine)
    assert all(training.trained is not None for training in wanted)
