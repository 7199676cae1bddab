"""Parallel search: the same optimum, valid proofs, killed workers and coordinators."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from arcwise.cli.main import run
from arcwise.engine import Engine, Processes, ThisProcess
from arcwise.errors import InputError
from arcwise.induction import DMV, TagSentences, induce_globally
from arcwise.induction.global_search import CountOptions, CountSearch, InductionTask, coordinator
from arcwise.induction.global_search.certificate import Proof
from arcwise.induction.global_search.checkpoint import load_checkpoint, save_checkpoint
from arcwise.induction.global_search.coordinator import Coordinator
from arcwise.induction.global_search.fragment import Assignment, Fragment, Worker
from arcwise.induction.verifier import verify
from induction.instances import tiny
from reference.dmv import brute_force

CORPUS = DMV.random(("A", "B", "C"), seed=4).sample(8, seed=4, min_length=4, max_length=6)[0]
OPTIONS = CountOptions(first_restarts=50, sweeps=2)  # few, so that the tree is large
EPSILON = 1e-4


@pytest.fixture
def many_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Workers give their nodes back after each one."""
    for name in ("_RACE_SECONDS", "_LEAST_SECONDS", "_MOST_SECONDS"):
        monkeypatch.setattr(coordinator, name, 0.0)


@pytest.fixture(scope="module")
def alone() -> float:
    return induce_globally(CORPUS, epsilon=EPSILON, options=OPTIONS).lower


def accepted(certificate: Any, corpus: TagSentences) -> float:
    """The upper bound that the verifier accepts."""
    return verify(json.loads(json.dumps(certificate)), corpus.strings).upper


@pytest.mark.usefixtures("many_rounds")
@pytest.mark.parametrize("seed", range(12))
def test_small_corpora_by_enumeration(seed: int) -> None:
    corpus = tiny(seed, sentences=3)
    search = CountSearch(InductionTask(corpus), options=CountOptions(first_restarts=3))
    Coordinator(search, ThisProcess(), workers=3, epsilon=1e-3).run()
    best = brute_force(corpus)
    assert search.is_done
    assert search.best.value <= best + 1e-9 <= accepted(search.certificate(), corpus) + 2e-9


@pytest.mark.usefixtures("many_rounds")
@pytest.mark.parametrize("engine", [ThisProcess(), Processes(2)], ids=["this process", "processes"])
def test_workers_prove_what_one_process_proves(engine: Engine, alone: float) -> None:
    told: list[int] = []
    found = induce_globally(
        CORPUS,
        epsilon=EPSILON,
        options=OPTIONS,
        processes=2,
        engine=engine,
        progress=lambda p: told.append(p.nodes),
    )
    assert found.lower == pytest.approx(alone, abs=EPSILON * abs(alone))
    assert found.gap <= EPSILON * 1.01
    assert accepted(found.certificate, CORPUS) == pytest.approx(found.upper)
    assert len(told) > 5
    assert told == sorted(told)
    assert [p.upper for p in found.trace] == sorted((p.upper for p in found.trace), reverse=True)


class DyingOnce(Worker):
    """The first to get a node dies with it."""

    def __call__(self, given: Assignment) -> Fragment:
        flag = Path(os.environ["ARCWISE_TEST_FLAG"])
        if given.heads is not None and not flag.exists():
            flag.write_text(str(given.node.number))
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(given)


@pytest.mark.slow
@pytest.mark.usefixtures("many_rounds")
def test_the_node_of_a_killed_worker_is_done_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, alone: float
) -> None:
    monkeypatch.setenv("ARCWISE_TEST_FLAG", str(tmp_path / "flag"))
    monkeypatch.setattr(coordinator, "Worker", DyingOnce)
    found = induce_globally(CORPUS, epsilon=EPSILON, options=OPTIONS, processes=2)
    assert (tmp_path / "flag").exists()
    assert found.gap <= EPSILON * 1.01
    assert found.lower == pytest.approx(alone, abs=EPSILON * abs(alone))
    accepted(found.certificate, CORPUS)


@pytest.mark.slow
@pytest.mark.usefixtures("many_rounds")
def test_a_search_that_was_stopped_proves_what_it_has_and_goes_on(tmp_path: Path, alone: float) -> None:
    state = tmp_path / "state.json"
    stop = iter([False] * 8 + [True] * 10_000)
    first = induce_globally(
        CORPUS,
        epsilon=EPSILON,
        options=OPTIONS,
        engine=ThisProcess(),
        checkpoint=state,
        should_stop=lambda: next(stop),
    )
    assert first.gap > EPSILON
    assert accepted(first.certificate, CORPUS) == pytest.approx(first.upper)
    held = load_checkpoint(InductionTask(CORPUS), state)
    assert held.upper == round(first.upper * 2**30)
    for processes in (1, 2):  # from workers to one process, and to workers
        rest = induce_globally(CORPUS, epsilon=EPSILON, resume=state, processes=processes)
        assert rest.gap <= EPSILON * 1.01
        assert rest.lower == pytest.approx(alone, abs=EPSILON * abs(alone))
        accepted(rest.certificate, CORPUS)


def test_nodes_that_workers_hold_are_open_in_a_checkpoint(tmp_path: Path) -> None:
    search = CountSearch(InductionTask(CORPUS), options=OPTIONS)
    search.run(epsilon=EPSILON, node_limit=6)
    held = Coordinator(search, ThisProcess(), workers=2, epsilon=EPSILON)
    before, upper = sorted(n.number for n in search.open), search.upper
    given = held.assignment()
    assert given is not None
    save_checkpoint(search, tmp_path / "state.json")
    kept = load_checkpoint(InductionTask(CORPUS), tmp_path / "state.json")
    assert sorted(n.number for n in kept.open) == before
    assert kept.upper == search.upper == upper  # it is the bound of the node that was given
    assert search.point().open_nodes == len(before)
    assert given.node.number in before
    second = held.assignment()
    assert second is not None
    assert second.node.number != given.node.number


def test_what_a_search_threw_away_stays_in_its_bound(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    induce_globally(CORPUS, epsilon=0.2, options=OPTIONS, checkpoint=state)
    with pytest.raises(InputError, match=r"epsilon: found 0\.01, expected at least 0\.2"):
        induce_globally(CORPUS, epsilon=0.01, resume=state)
    kept = load_checkpoint(InductionTask(CORPUS), state)
    kept.run(epsilon=0.01)  # cannot be told to forget it
    assert kept.upper >= kept.cut > kept.threshold
    assert accepted(kept.certificate(), CORPUS) == kept.upper / 2**30
    with_more = induce_globally(CORPUS, epsilon=0.3, resume=state)
    assert with_more.gap <= 0.3


def test_a_tree_takes_the_place_of_a_leaf() -> None:
    proof = Proof()
    proof.add_node([])
    children: list[int | None] = [proof.add_node([]), proof.add_node([])]
    proof.split(0, [-1, 0, 3], children)
    own = [{"use": [0], "split": [-1, 1, 2], "children": [1, None]}, {"use": [1]}]
    numbers = proof.graft(2, own, [0, 1])  # type: ignore[list-item]
    assert numbers == {0: 2, 1: 3}
    assert proof.nodes[2] == {"use": [0], "split": [-1, 1, 2], "children": [3, None]}
    assert proof.nodes[3] == {"use": [1]}
    assert proof.graft(1, [{"use": [0]}], [7]) == {0: 1}  # type: ignore[list-item]
    assert proof.nodes[1] == {"use": [2]}


# ---- from the command line


def treebank(folder: Path, corpus: TagSentences) -> Path:
    path = folder / "corpus.conllu"
    rows = [
        "".join(f"{i}\tw\t_\t{t}\t_\t_\t_\t_\t_\t_\n" for i, t in enumerate(s, 1)) for s in corpus.strings
    ]
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.slow
def test_kill_9_of_the_coordinator_and_resume(tmp_path: Path) -> None:
    corpus = DMV.random(("A", "B", "C"), seed=7).sample(10, seed=7, min_length=5, max_length=7)[0]
    path = treebank(tmp_path, corpus)
    state, proof = tmp_path / "state.json", tmp_path / "proof.json"
    search = ["induce", str(path), "--learner", "global", "--workers", "2", "--epsilon", "1e-7"]
    running = subprocess.Popen(
        [sys.executable, "-m", "arcwise", *search, "--checkpoint", str(state)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 120
    while not state.exists() and running.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    running.kill()
    running.wait()
    assert state.exists()
    goes_on = [*search[:-1], "0.05", "--resume", str(state), "--certificate", str(proof)]
    assert run([*goes_on, "--time-limit", "60"]) == 0
    assert run(["verify", str(proof), str(path), "--threads", "2"]) == 0


def test_workers_are_for_the_global_search(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(treebank(tmp_path, CORPUS))
    assert run(["induce", path, "--workers", "2"]) == 2
    assert "--learner global" in capsys.readouterr().err
    assert run(["induce", path, "--learner", "global", "--engine", "magic"]) == 2
    assert "found 'magic', expected local or ray" in capsys.readouterr().err
    assert run(["induce", path, "--learner", "global", "--address", "here:1"]) == 2
    assert "only the engine ray takes an address" in capsys.readouterr().err
