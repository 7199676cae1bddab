"""Search on a Ray cluster of two nodes, a worker and a node killed: a complete proof, which is accepted."""

from __future__ import annotations

import json
import os
import signal
import threading
from pathlib import Path

import pytest

from arcwise.cli.main import run
from arcwise.engine import engine_of
from arcwise.induction import DMV, TagSentences, induce_globally
from arcwise.induction.global_search import CountOptions, coordinator
from arcwise.induction.global_search.problem import Result
from arcwise.induction.verifier import verify
from engine.ray_cluster import TwoNodes, wait_until
from engine.ray_cluster import cluster_of_two_nodes as cluster_of_two_nodes
from induction.recording_worker import FOLDER, RecordingWorker, noted

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(300)]
CORPUS = DMV.random(("A", "B", "C"), seed=4).sample(8, seed=4, min_length=4, max_length=6)[0]
OPTIONS = CountOptions(first_restarts=50, sweeps=0)  # prices alone, so that the tree is large
EPSILON = 0.07


def test_a_worker_and_a_node_are_killed(
    cluster: TwoNodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_RACE_SECONDS", "_LEAST_SECONDS", "_MOST_SECONDS"):
        monkeypatch.setattr(coordinator, name, 0.0)  # workers give their nodes back after each one
    monkeypatch.setattr(coordinator, "Worker", RecordingWorker)
    monkeypatch.setenv(FOLDER, str(tmp_path))
    alone = induce_globally(CORPUS, epsilon=EPSILON, options=OPTIONS).lower
    found: list[Result] = []
    engine = engine_of("ray", workers=2, address=cluster.address)

    def search() -> None:
        found.append(induce_globally(CORPUS, epsilon=EPSILON, options=OPTIONS, processes=2, engine=engine))

    def processes() -> set[int]:
        return {pid for _, pid in noted(tmp_path)}

    job = threading.Thread(target=search)
    job.start()
    wait_until(lambda: len(processes()) == 2 and len(noted(tmp_path)) > 4, 120)
    os.kill(noted(tmp_path)[-1][1], signal.SIGKILL)
    wait_until(lambda: len(processes()) == 3, 120)
    cluster.kill_second()
    job.join()
    (result,) = found
    assert len(processes()) >= 3
    assert result.gap <= EPSILON * 1.01
    assert result.lower == pytest.approx(alone, abs=EPSILON * abs(alone))
    proved = verify(json.loads(json.dumps(result.certificate)), CORPUS.strings)
    assert proved.upper == pytest.approx(result.upper)
    begun = [node for node, _ in noted(tmp_path)][2:]  # after the race
    assert len(begun) - len(set(begun)) <= 2  # what the dead had


def conllu(corpus: TagSentences) -> str:
    rows = [
        "".join(f"{i}\tw\t_\t{t}\t_\t_\t_\t_\t_\t_\n" for i, t in enumerate(s, 1)) for s in corpus.strings
    ]
    return "\n".join(rows) + "\n"


def test_the_commands_of_the_page(cluster: TwoNodes, tmp_path: Path) -> None:
    cluster.repair()
    corpus, proof = tmp_path / "corpus.conllu", tmp_path / "proof.json"
    corpus.write_text(conllu(CORPUS))
    given = f"induce {corpus} --learner global --epsilon 0.01 --workers 2 "
    given += f"--engine ray --address {cluster.address}"
    assert run([*given.split(), "--certificate", str(proof)]) == 0
    assert run(["verify", str(proof), str(corpus), "--threads", "2"]) == 0
