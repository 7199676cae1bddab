"""A corpus on a Ray cluster of two nodes: with a worker and a node killed, the output is byte-identical."""

import os
import signal
import threading
from pathlib import Path

import pytest
from tests.distributed.slow_shards import Slow
from tests.distributed.small_corpora import MODEL, outputs, texts, write_jsonl

from arcwise.distributed import CorpusOptions, Summary, parse_corpus
from arcwise.engine import engine_of
from engine.ray_cluster import TwoNodes, wait_until
from engine.ray_cluster import cluster_of_two_nodes as cluster_of_two_nodes

pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.timeout(300)]
OPTIONS = CorpusOptions(model=MODEL, packing="none", shard_bytes=500)


def test_a_worker_and_a_node_are_killed(
    cluster: TwoNodes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_jsonl(tmp_path / "in/a.jsonl", [*({"text": text} for text in texts(120)), "broken"])
    parse_corpus(str(tmp_path / "in"), tmp_path / "whole", options=OPTIONS)
    monkeypatch.setattr("arcwise.distributed.job.ParseShard", Slow)
    found: list[Summary] = []
    engine = engine_of("ray", workers=2, address=cluster.address)

    def work() -> None:
        found.append(parse_corpus(str(tmp_path / "in"), tmp_path / "out", options=OPTIONS, engine=engine))

    def notes() -> list[list[str]]:
        return [path.name.split("-") for path in (tmp_path / "out").glob("_job/slow-*")]

    job = threading.Thread(target=work)
    job.start()
    wait_until(lambda: len({pid for _, _, pid, _ in notes()}) == 2, 120)
    os.kill(int(notes()[-1][2]), signal.SIGKILL)
    wait_until(lambda: len({pid for _, _, pid, _ in notes()}) >= 3, 120)
    cluster.kill_second()
    job.join()
    assert found[0].errors == 1
    assert found[0].undone == 0
    assert outputs(tmp_path / "out") == outputs(tmp_path / "whole")
    assert len(notes()) <= found[0].shards + 2
