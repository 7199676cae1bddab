"""Engines: the same results in order on every engine, errors that name the item, nothing left running."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import MagicMock

import pytest

from arcwise.engine import Engine, Processes, ThisProcess, engine_of, local_engine
from arcwise.engine.ray_engine import _RayWorkers
from arcwise.errors import InputError, MissingExtraError, OptionError, WorkerError
from arcwise.graph import GraphConfig, GraphParser
from arcwise.induction import DMV, induce_globally
from arcwise.induction.global_search import CountOptions
from arcwise.text.jackknife import jackknife_tags
from arcwise.text.tagger import TaggerConfig
from contracts.small_treebank import small_treebank
from text.toy import toy_treebank

ENGINES: list[Engine] = [ThisProcess(), Processes(1), Processes(2), Processes(8)]


def _slow_first(number: int) -> tuple[int, int]:
    time.sleep(0.3 if number == 0 else 0)
    return number, number**2


class _Secretive(Exception):
    """An error that pickle cannot make again."""

    def __init__(self, one: str, other: str) -> None:
        super().__init__(one)


def _fails(kind: str) -> str:
    match kind:
        case "input":
            raise InputError("value: found nothing")
        case "extra":
            raise MissingExtraError("scipy", "pip install scipy")
        case "bug":
            raise KeyError("bug")
        case "secretive":
            raise _Secretive("a", "b")
        case "death":
            os._exit(3)
    return kind


def _note_and_sleep(folder: Path, number: int) -> int:
    (folder / f"{os.getpid()}").touch()
    time.sleep(0 if number == 0 else 60)
    return number


@pytest.mark.slow
@pytest.mark.parametrize("engine", ENGINES, ids=str)
def test_results_come_in_order(engine: Engine) -> None:
    assert list(engine.map(_slow_first, iter(range(5)))) == [(n, n**2) for n in range(5)]
    assert list(engine.map(_slow_first, [])) == []


@pytest.mark.slow
def test_results_come_as_they_are_done_if_the_order_does_not_matter() -> None:
    found = list(Processes(2).map(_slow_first, range(4), ordered=False))
    assert sorted(found) == [(n, n**2) for n in range(4)]
    assert list(ThisProcess().map(_slow_first, range(4), ordered=False)) == sorted(found)


@pytest.mark.slow
def test_work_is_done_elsewhere() -> None:
    pids = set(Processes(2).map(_pid, range(4)))
    assert os.getpid() not in pids
    assert set(ThisProcess().map(_pid, range(4))) == {os.getpid()}


def _pid(_: int) -> int:
    return os.getpid()


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind, error, told",
    [
        ("input", InputError, r"item 2 of 3 \('input'\): value: found nothing"),
        ("extra", MissingExtraError, r"item 2 of 3 \('extra'\): this needs scipy"),
        ("bug", RuntimeError, r"item 2 of 3 \('bug'\): KeyError: 'bug'"),
        ("secretive", RuntimeError, r"item 2 of 3 \('secretive'\): RuntimeError: _Secretive: a"),
        (
            "death",
            WorkerError,
            r"item 2 of 3 \('death'\): its worker died 3 times, the last time with exit status 3",
        ),
    ],
)
def test_an_error_is_raised_at_the_caller_and_names_the_item(
    kind: str, error: type[Exception], told: str
) -> None:
    results = Processes(1).map(_fails, ["fine", kind, "too late"])
    assert next(results) == "fine"
    with pytest.raises(error, match=told):
        list(results)


def test_work_that_cannot_be_pickled_is_an_error_and_no_wait() -> None:
    with pytest.raises(Exception, match="pickle"):
        list(Processes(1).map(lambda number: number, [1]))
    with pytest.raises(RuntimeError, match=r"item 2 of 2 .*pickle"):
        list(Processes(1).map(_pid, [1, lambda: 2]))  # type: ignore[list-item]


def _is_alive(pid: int) -> bool:
    """Whether a process is running (one that has ended but was not asked for is not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def _wait_until(what: Callable[[], bool]) -> bool:
    until = time.monotonic() + 30
    while not what() and time.monotonic() < until:
        time.sleep(0.05)
    return what()


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks processes up in /proc")
def test_who_stops_asking_ends_the_workers(tmp_path: Path) -> None:
    results = Processes(2).map(partial(_note_and_sleep, tmp_path), range(3))
    assert next(results) == 0
    results.close()  # type: ignore[attr-defined]
    assert _wait_until(lambda: not any(_is_alive(int(p.name)) for p in tmp_path.iterdir()))


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="looks processes up in /proc")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_ctrl_c_ends_the_workers(tmp_path: Path, sent: signal.Signals) -> None:
    code = (
        "import signal, sys; sys.path.insert(0, sys.argv[2])\n"
        # SIGINT is ignored where the tests run in the background.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from engine.test_engine import _note_and_sleep\n"
        "from arcwise.engine import Processes\n"
        "from functools import partial\nfrom pathlib import Path\n"
        "if __name__ == '__main__':\n"
        "    list(Processes(2).map(partial(_note_and_sleep, Path(sys.argv[1])), [1, 2]))\n"
    )
    script, notes = tmp_path / "script.py", tmp_path / "notes"
    script.write_text(code)
    notes.mkdir()
    command = [sys.executable, str(script), str(notes), str(Path(__file__).parents[1])]
    process = subprocess.Popen(command, start_new_session=True, stderr=subprocess.PIPE, text=True)
    assert _wait_until(lambda: len(list(notes.iterdir())) == 2)
    if sent == signal.SIGINT:
        os.killpg(process.pid, sent)  # as a terminal does: to all of them
    else:
        process.send_signal(sent)
    _, told = process.communicate(timeout=30)
    assert _wait_until(lambda: not any(_is_alive(int(p.name)) for p in notes.iterdir()))
    assert told.count("Traceback") == (sent == signal.SIGINT)


def test_how_many_workers_is_checked() -> None:
    with pytest.raises(InputError, match="workers: found 0, expected at least 1"):
        Processes(0)
    assert local_engine(1) == ThisProcess()
    assert local_engine(3) == Processes(3)


def test_a_jackknife_is_the_same_in_processes() -> None:
    treebank, config = toy_treebank()[:60], TaggerConfig(epochs=2)
    said: list[str] = []
    one, other = (
        jackknife_tags(treebank, folds=3, config=config, engine=engine, say=said.append)
        for engine in (ThisProcess(), Processes(2))
    )
    assert one.data == other.data
    assert said[:3] == said[3:]


@pytest.mark.slow
def test_the_choice_of_C_is_the_same_in_processes(tmp_path: Path) -> None:
    treebank = small_treebank()
    config = GraphConfig(epochs=2, arc_bits=12, row_bits=12, try_C=(0.001, 0.1, 1.0))
    for name, engine in {"one": ThisProcess(), "two": Processes(2)}.items():
        GraphParser.train(treebank, treebank, config=config, engine=engine).save(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


@pytest.mark.slow
def test_bounds_by_blocks_are_the_same_in_processes() -> None:
    corpus = DMV.random(("A", "B"), seed=1).sample(4, seed=1, min_length=2, max_length=4)[0]
    options = CountOptions(first_restarts=20)
    one, other = (
        induce_globally(corpus, block_size=2, time_limit=4.0, processes=2, engine=engine, options=options)
        for engine in (ThisProcess(), Processes(2))
    )
    assert one.certificate is not None
    assert other.certificate is not None
    assert one.certificate["blocks"] == other.certificate["blocks"]


def test_a_search_that_is_stopped_keeps_the_blocks_that_are_done() -> None:
    corpus = DMV.random(("A", "B"), seed=1).sample(3, seed=1, min_length=2, max_length=4)[0]
    found = induce_globally(
        corpus, block_size=1, time_limit=2.0, engine=ThisProcess(), should_stop=lambda: True
    )
    assert found.certificate is not None
    assert [block is not None for block in found.certificate["blocks"]] == [True, False, False]


def test_an_engine_by_its_name() -> None:
    assert engine_of() == engine_of("local", workers=1) == ThisProcess()
    assert engine_of("local", workers=3) == Processes(3)
    with pytest.raises(OptionError, match="engine: found 'spark', expected local or ray"):
        engine_of("spark")
    with pytest.raises(OptionError, match="workers: found 0, expected at least 1"):
        engine_of("local", workers=0)
    with pytest.raises(OptionError, match="address: found 'auto', but only the engine ray takes an address"):
        engine_of("local", workers=2, address="auto")


def test_without_ray_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"this needs ray, which is not installed: .*install ray"):
        engine_of("ray", workers=2)


def test_ray_finds_room_for_the_threads_of_each_worker() -> None:
    asked: list[dict[str, int]] = []

    class PretendedRay:
        def remote(self, **options: int) -> MagicMock:
            asked.append(options)
            return MagicMock()

    _RayWorkers(PretendedRay(), b"", threads=3).start(0)
    assert [options["num_cpus"] for options in asked] == [3]
