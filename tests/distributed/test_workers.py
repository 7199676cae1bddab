"""What a worker takes: little memory of its own, and no more threads than there are cores for."""

import re
from pathlib import Path

import pytest
from tests.distributed.small_corpora import texts, write_jsonl

from arcwise.distributed import CorpusOptions, parse_corpus
from arcwise.distributed.parse_shard import Outcome, ParseShard
from arcwise.distributed.shards import Shard
from arcwise.engine import Forks
from arcwise.engine.processes import cores, threads_of_each

MOST_MB = 30


class Weighed(ParseShard):
    """Notes how much memory its process has for itself after each shard, and how many threads."""

    def __call__(self, shard: Shard) -> Outcome:
        found = super().__call__(shard)
        sizes = re.findall(r"Private_\w+: +(\d+)", Path("/proc/self/smaps_rollup").read_text())
        threads = len(list(Path("/proc/self/task").iterdir()))
        note = Path(self.folder) / "_job" / f"weighed-{shard.number}"
        note.write_text(f"{sum(map(int, sizes)) / 1024} {threads}")
        return found


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="needs /proc/self/smaps_rollup")
def test_workers_share_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = [" ".join(texts(500)[start : start + 100]) for start in range(0, 500, 5)]
    write_jsonl(tmp_path / "in/a.jsonl", [{"text": text} for text in long[:12]])
    monkeypatch.setattr("arcwise.distributed.job.ParseShard", Weighed)
    parse_corpus(
        str(tmp_path / "in"), tmp_path / "out", options=CorpusOptions(shard_bytes=30_000), engine=Forks(2)
    )
    notes = [path.read_text().split() for path in (tmp_path / "out/_job").glob("weighed-*")]
    assert len(notes) >= 3
    assert max(float(memory) for memory, _ in notes) < MOST_MB
    assert {threads for _, threads in notes} == {"1"}


def test_threads_and_workers_together_are_no_more_than_the_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    assert cores() >= 1
    monkeypatch.setattr("arcwise.engine.processes.cores", lambda: 16)
    assert [threads_of_each(workers, 8) for workers in (1, 2, 4, 5, 16, 40)] == [8, 8, 4, 3, 1, 1]
    assert threads_of_each(2, 3) == 3
