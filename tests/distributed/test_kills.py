"""kill -9 of any process at any time: byte-identical output, and at most one shard of work lost per kill.

Three kills in ``make test-all``, twenty in ``make test-long``.
"""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.distributed.small_corpora import MODEL, errors, outputs, pipeline, texts, write_jsonl, write_packed

from arcwise.distributed import CorpusOptions, parse_corpus
from arcwise.distributed.parse_shard import ParseShard
from arcwise.engine import Forks
from arcwise.parsing.parser import ParseOptions
from arcwise.treebanks import Treebank

LONG = bool(os.environ.get("ARCWISE_LONG_TESTS"))
KILLS = 20 if LONG else 3
RECORDS = 2500 if LONG else 700

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds processes in /proc"),
]


def start(folder: Path, out: str, *, pause: float = 0) -> "subprocess.Popen[bytes]":
    """Start the command with two workers; it records shards in OUT.noted as they start, then pauses."""
    given = ["--in", str(folder / "in"), "--out", str(folder / out), "--model", MODEL]
    size = ["--shard-size", "0.004", "--compress", "gz", "--workers", "2"]
    path = os.pathsep.join([str(Path(__file__).parents[2]), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-m", "tests.distributed.recording_cli", "parse", *given, *size],
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": path, "NOTED": str(folder / f"{out}.noted"), "PAUSE": str(pause)},
    )


def finish(job: "subprocess.Popen[bytes]") -> int:
    """Its exit status; what it said is shown where a test fails."""
    print(job.communicate()[1].decode())
    return job.returncode


def family(pid: int) -> dict[int, int]:
    """A process and all below it, as /proc has them now → how far below."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if fields[0] != "Z":
                parents[int(entry.name)] = int(fields[1])
    found = {pid: 0} if pid in parents else {}
    while more := {
        child: found[parent] + 1
        for child, parent in parents.items()
        if parent in found and child not in found
    }:
        found |= more
    return found


def gone(pids: Iterable[int], *, seconds: float = 60) -> bool:
    """Whether processes end by themselves."""
    until = time.monotonic() + seconds
    while (left := [pid for pid in pids if family(pid)]) and time.monotonic() < until:
        time.sleep(0.05)
    return not left


def kill_some(job: "subprocess.Popen[bytes]", draw: random.Random, kills: list[int], notes: Path) -> None:
    """Kill processes of a job until it ends or is killed: a worker, the fork server, the job, then any.

    Some are killed as they start, most as they work.
    """
    while len(kills) < KILLS and job.poll() is None:
        wanted = [2, 1, 0][len(kills)] if len(kills) < 3 else draw.choice([None, None, 2])
        if len(kills) < 3 or draw.random() < 0.8:
            wait_for_work(job, notes)
        time.sleep(draw.uniform(0, 0.5))
        living = family(job.pid)
        victims = [pid for pid, depth in living.items() if wanted in (None, depth)]
        if victims and job.poll() is None:
            victim = draw.choice(victims)
            os.kill(victim, signal.SIGKILL)
            kills.append(living[victim])
            if victim == job.pid:
                assert gone(living)  # workers end the shard that they have, and then themselves
                return


def wait_for_work(job: "subprocess.Popen[bytes]", notes: Path) -> None:
    """Until some more shards are begun."""
    before = notes.stat().st_size if notes.exists() else 0
    while job.poll() is None and (not notes.exists() or notes.stat().st_size == before):
        time.sleep(0.01)


@pytest.mark.slow
def test_killed_again_and_again(tmp_path: Path) -> None:
    lines = [{"text": text} for text in texts(RECORDS)]
    write_jsonl(tmp_path / "in/a.jsonl.gz", [*lines[::2], "broken"])
    write_jsonl(tmp_path / "in/b.jsonl", ["broken", *lines[1::2]])
    assert finish(start(tmp_path, "whole")) == 1
    draw = random.Random(1)
    kills: list[int] = []
    status = -1
    while status < 0:
        job = start(tmp_path, "out", pause=0.3)
        kill_some(job, draw, kills, tmp_path / "out.noted")
        status = finish(job)
    assert status == 1
    assert len(kills) == KILLS
    assert outputs(tmp_path / "out") == outputs(tmp_path / "whole")
    shards = (tmp_path / "whole.noted").read_text().split()
    begun = (tmp_path / "out.noted").read_text().split()
    assert set(begun) == set(shards)
    print(f"{len(kills)} kills ({kills}), {len(begun) - len(shards)} of {len(shards)} shards begun again")
    assert len(begun) - len(shards) <= len(kills)


@pytest.mark.slow
def test_nothing_is_left_running_or_half_written(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "in/a.jsonl", [{"text": text} for text in texts(120)])
    job = start(tmp_path, "out")
    living: dict[int, int] = {}
    until = time.monotonic() + 60
    while len(living) < 4 and time.monotonic() < until:  # itself, a fork server and two workers
        living = family(job.pid)
        time.sleep(0.02)
    assert len(living) >= 4
    job.kill()
    assert finish(job) == -signal.SIGKILL
    assert gone(living)
    assert finish(start(tmp_path, "out")) == 0
    assert not list((tmp_path / "out").rglob(".*.part"))
    assert not (tmp_path / "out/_job/begun").exists()


# ---- records that take their worker down


class Fragile(ParseShard):
    """Dies of texts with a certain word, as native code might."""

    def _text_trees(self, texts: list[str]) -> Any:
        if any("Deadly" in text for text in texts):
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._text_trees(texts)

    def _parse(self, treebank: Treebank) -> Treebank:
        if b"Deadly" in treebank.data:
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._parse(treebank)


@pytest.mark.slow
def test_a_record_that_kills_its_worker_is_found_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = texts(12)
    lines = [*given[:4], "Deadly words.", *given[4:9], "More Deadly words.", *given[9:]]
    write_jsonl(tmp_path / "in/a.jsonl", [{"text": text} for text in lines])
    write_jsonl(tmp_path / "without/a.jsonl", [{"text": text} for text in given])
    options = CorpusOptions(model=MODEL, packing="none", shard_bytes=400)
    monkeypatch.setattr("arcwise.distributed.job.ParseShard", Fragile)
    summary = parse_corpus(str(tmp_path / "in"), tmp_path / "out", options=options, engine=Forks(2))
    assert [e["line"] for e in errors(tmp_path / "out")] == [5, 11]
    assert "crashed the process that parsed it" in str(errors(tmp_path / "out")[0]["reason"])
    assert summary.records == 12
    assert summary.undone == 0


@pytest.mark.slow
def test_a_sentence_that_kills_its_worker_is_found_and_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = pipeline().analyse_texts(
        ["A cat sleeps.", "Deadly words.", "Dogs bark."], options=ParseOptions()
    )
    write_packed(tmp_path / "in/a.conllu", b"".join(document.treebank.data for document in documents))
    options = CorpusOptions(model=MODEL, packing="none")
    monkeypatch.setattr("arcwise.distributed.job.ParseShard", Fragile)
    summary = parse_corpus(str(tmp_path / "in"), tmp_path / "out", options=replace(options), engine=Forks(2))
    assert (summary.sentences, summary.errors) == (2, 1)
