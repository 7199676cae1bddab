"""A corpus from packed text to packed trees, by one worker, by two, by as many as asked for; what each costs in memory; and the costs
that grow with the corpus and with the workers.

    python -m benchmarks.scale                       # 1 and 2 workers
    python -m benchmarks.scale --workers 1 4 16 --models en --words 4000000 --repeat 1
    python -m benchmarks.scale --all                 # then benchmarks.scale_training and benchmarks.scale_search, with as many workers

The words are those of the run with the most workers; the others get words in proportion, so that all take about as long.

The text is that of English-EWT (ARCWISE_TREEBANKS), over and over in another order; or of ``--text FILE``.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from measuring.tables import table

from arcwise.distributed import CorpusOptions, parse_corpus
from arcwise.distributed.inputs import find_inputs
from arcwise.distributed.shards import PlanFile
from arcwise.engine import Forks, engine_of
from arcwise.optional import is_installed
from arcwise.text.plain_text import plain_text
from arcwise.treebanks import Treebank
from benchmarks.report import write_section

TREEBANK = "English-EWT"
FILES = 8
"""Files of a corpus."""
SHARD_MB = 0.1
"""So small that no worker waits long for the last one in a corpus that is parsed within a minute."""
EMPTY_SHARDS = 400
NO_WORK = 4000
ASKED = 1000
"""Workers of a cluster that are waited for at the same time."""
ONE_MACHINE = 16
"""Cores; more are a cluster of Ray."""
PAPER_WORDS, PAPER_FILE = 10**9, 10**8
OTHERS = {
    "scale_training": ("--parsers", "graph, MIRA, batches", "--batch", "32", "--epochs", "5"),
    "scale_search": ("--begin", "20", "--seconds", "10"),
}


@dataclass(frozen=True)
class Run:
    """One run of the command."""

    workers: int
    words: int
    seconds: float
    memory: float
    """Megabytes of all its processes together (shared pages once) at most."""
    own: float
    """Megabytes that a worker has for itself at most."""

    @property
    def speed(self) -> float:
        return self.words / self.seconds


# ---- the corpus


def documents(text: str | None) -> list[str]:
    """Texts to make a corpus of."""
    if text is not None:
        whole = Path(text).read_text("utf-8")
    else:
        folder = Path(os.environ["ARCWISE_TREEBANKS"])
        whole = plain_text(Treebank.read(folder / TREEBANK / "train.conllu.xz")).text
    return [part for part in whole.split("\n\n") if part.strip()]


def write_corpus(folder: Path, texts: Sequence[str], words: int) -> int:
    """About so many words in ``FILES`` packed files of JSON lines; the bytes of text."""
    folder.mkdir(parents=True)
    draw = random.Random(1)
    size = 0
    for number in range(FILES):
        left = words // FILES
        with gzip.open(folder / f"{number}.jsonl.gz", "wt", compresslevel=5) as stream:
            while left > 0:
                text = draw.choice(texts)
                left -= round(
                    1.17 * len(text.split())
                )  # words of the tree are more than those between blanks
                size += len(text.encode())
                stream.write(json.dumps({"text": text}) + "\n")
    return size


# ---- the command


def run(corpus: Path, out: Path, workers: int, model: str) -> Run:
    """The command as a user starts it, from start to end, and the memory of its processes, looked at once a second."""
    given = [
        "--in",
        str(corpus),
        "--out",
        str(out),
        "--model",
        model,
        "--workers",
        str(workers),
        "--compress",
        "gz",
        "--shard-size",
        str(SHARD_MB),
    ]
    started = time.perf_counter()
    job = subprocess.Popen(
        [sys.executable, "-m", "arcwise", "parse", *given], stderr=subprocess.PIPE, text=True
    )
    memory = own = 0.0
    while not ended(job, within=1):
        found = memory_of(job.pid)
        memory = max(memory, sum(shared for _, shared, _ in found))
        own = max([own, *(mb for depth, _, mb in found if depth == 2 or workers == 1)])
    seconds = time.perf_counter() - started
    told = job.communicate()[1]
    if job.returncode != 0:
        raise SystemExit(told)
    words = int(told.strip().splitlines()[-1].split(" words")[0].replace(",", ""))
    return Run(workers, words, seconds, memory, own)


def ended(job: subprocess.Popen[str], *, within: float) -> bool:
    """Whether it has ended, now or within some seconds."""
    try:
        job.wait(within)
    except subprocess.TimeoutExpired:
        return False
    return True


def memory_of(pid: int) -> list[tuple[int, float, float]]:
    """Of a process and all below it: how far below, its share of all memory (PSS), what it has for itself; in megabytes."""
    found: list[tuple[int, float, float]] = []
    waiting = [(pid, 0)]
    while waiting:
        process, depth = waiting.pop()
        place = Path(f"/proc/{process}")
        try:
            sizes = dict(re.findall(r"^(\w+): +(\d+) kB", (place / "smaps_rollup").read_text(), re.MULTILINE))
            below = (place / f"task/{process}/children").read_text().split()
        except (OSError, ProcessLookupError):
            continue
        own = int(sizes["Private_Clean"]) + int(sizes["Private_Dirty"])
        found.append((depth, int(sizes["Pss"]) / 1024, own / 1024))
        waiting += [(int(child), depth + 1) for child in below]
    return found


def measured(
    folder: Path, workers: Sequence[int], model: str, repeat: int, rounds: dict[tuple[str, int], list[str]]
) -> list[Run]:
    """The best of several rounds in which all numbers of workers take their turn, each with its corpus."""
    best: dict[int, Run] = {}
    for turn in range(repeat):
        for count in workers:
            found = run(folder / f"corpus-{count}", folder / f"{model}-{count}-{turn}", count, model)
            print(f"{model}, {count} workers: {found.speed:,.0f} words/s", flush=True)
            rounds.setdefault((model, count), []).append(f"{found.speed:,.0f}")
            if count not in best or found.speed > best[count].speed:
                best[count] = found
    return [best[count] for count in workers]


# ---- what grows


def _nothing(item: int) -> int:
    return item


def _sleep() -> None:
    time.sleep(1)


@dataclass(frozen=True)
class RayCosts:
    """The coordinator of a cluster of Ray."""

    handing: float
    """Seconds an item."""
    asking: float
    """Seconds to ask which of ``ASKED`` workers are done."""


def ray_costs() -> RayCosts | None:
    """With two workers of this machine; None without Ray."""
    if not is_installed("ray"):
        return None
    count = NO_WORK // 4
    with engine_of("ray", workers=2).pool(_nothing) as pool:
        for _ in pool.map(range(20), ordered=False):
            pass  # they have started
        started = time.perf_counter()
        for _ in pool.map(range(count), ordered=False):
            pass
        handing = (time.perf_counter() - started) / count
    import ray

    waiting = [ray.remote(_sleep).remote() for _ in range(ASKED)]
    started = time.perf_counter()
    for _ in range(10):
        ray.wait(waiting, num_returns=ASKED, timeout=0)
    asking = (time.perf_counter() - started) / 10
    ray.shutdown()
    return RayCosts(handing, asking)


@dataclass(frozen=True)
class Costs:
    """What is done beside parsing."""

    bytes_a_word: float
    looking: float
    """Bytes a second that are unpacked, hashed and cut, on one core."""
    shard: float
    """Seconds a shard for files, names and markers."""
    handing: float
    """Seconds a shard of the coordinator."""
    again: float
    """Seconds a shard of a run that finds everything done."""
    ray: RayCosts | None = None

    def rows(self) -> list[list[object]]:
        return [
            ["looking through packed input before the work", f"{self.looking / 1e6:,.0f} MB/s a worker"],
            ["files, names and markers, all on the disk", f"{1000 * self.shard:.1f} ms a shard"],
            ["the coordinator hands out a shard and hears of it", f"{1000 * self.handing:.2f} ms a shard"],
            ["the same command again, all done", f"{1000 * self.again:.2f} ms a shard"],
            *self._ray_rows(),
        ]

    def _ray_rows(self) -> list[list[object]]:
        if self.ray is None:
            return []
        return [
            [
                "with --engine ray: hands out a shard and hears of it",
                f"{1000 * self.ray.handing:.2f} ms a shard",
            ],
            [f"with --engine ray: asks {ASKED:,} workers which are done", f"{1000 * self.ray.asking:.2f} ms"],
        ]

    def busy(self, shards: float, cores: int) -> float:
        """Seconds of the coordinator for so many shards; on a cluster it asks a worker after a shard, all others at the same time."""
        if self.ray is None or cores <= ONE_MACHINE:
            return shards * self.handing
        return shards * (self.ray.handing + self.ray.asking * cores / ASKED)


def costs(corpus: Path, folder: Path, bytes_a_word: float, words: int) -> Costs:
    """Measured on this machine."""
    started = time.perf_counter()
    for file in find_inputs([str(corpus)]):
        PlanFile(folder / "plans")(file)
    looking = time.perf_counter() - started
    started = time.perf_counter()
    for _ in Forks(2).map(_nothing, range(NO_WORK), ordered=False):
        pass
    handing = (time.perf_counter() - started) / NO_WORK
    (folder / "empty").mkdir()
    (folder / "empty/a.jsonl").write_text("".join('{"text": ""}\n' for _ in range(EMPTY_SHARDS)))
    options = CorpusOptions(model="en-fast", shard_bytes=12)
    times = []
    for _ in range(2):  # the second time all is done
        started = time.perf_counter()
        parse_corpus(str(folder / "empty"), folder / "nothing", options=options)
        times.append(time.perf_counter() - started)
    first, again = (seconds / EMPTY_SHARDS for seconds in times)
    return Costs(bytes_a_word, bytes_a_word * words / looking, first - again, handing, again, ray_costs())


def on_paper(spent: Costs, speed: float) -> list[list[object]]:
    """A billion words at ``speed`` words per second and core, in files of ``PAPER_FILE`` bytes, on more and more cores."""
    size = PAPER_WORDS * spent.bytes_a_word
    rows: list[list[object]] = []
    for cores, shard in ((1, 1), (16, 1), (128, 1), (1000, 1), (1000, 0.25)):
        shards = size / (shard * 2**20)
        parsing = PAPER_WORDS / speed / cores
        looking = size / spent.looking / min(cores, size / PAPER_FILE)
        skipped = shards * min(cores - 1, PAPER_FILE / 2**20 / shard) / max(1, PAPER_FILE / 2**20 / shard)
        skipping = skipped * PAPER_FILE / 2 / spent.looking / cores
        writing = shards * spent.shard / cores
        last = (
            shard * 2**20 / spent.bytes_a_word / speed
        )  # a worker may begin its last shard when the others are done
        total = parsing + looking + skipping + writing + last
        busy = spent.busy(shards, cores) / total
        told = [f"{seconds:,.0f}" for seconds in (parsing, looking, skipping, writing, last, total)]
        rows.append(
            [
                f"{cores:,}",
                f"{shard} MB",
                f"{shards:,.0f}",
                *told,
                f"{parsing / total:.2f}",
                f"{100 * busy:.1f} %",
            ]
        )
    return rows


def report(
    runs: dict[str, list[Run]], rounds: dict[tuple[str, int], list[str]], spent: Costs, words: int
) -> str:
    rows: list[list[object]] = []
    for model, found in runs.items():
        alone = found[0].speed / found[0].workers
        for one in found:
            told = [
                f"{one.words:,}",
                f"{one.seconds:.1f}",
                f"{one.speed:,.0f}",
                f"{one.speed / one.workers / alone:.2f}",
            ]
            rows.append(
                [model, one.workers, *told, f"{one.memory:.0f}", "" if one.workers == 1 else f"{one.own:.0f}"]
            )
    header = [
        "model",
        "workers",
        "words",
        "seconds",
        "words/s",
        "efficiency",
        "memory, MB",
        "own memory of a worker, MB",
    ]
    model, found = next(iter(runs.items()))
    speed = found[-1].speed / found[-1].workers
    paper = [
        "cores",
        "shard",
        "shards",
        "parsing, s",
        "looking, s",
        "skipping, s",
        "writing, s",
        "last shard, s",
        "all, s",
        "efficiency",
        "coordinator busy",
    ]
    return (
        "`arcwise parse --in corpus --out parsed`, from packed JSON lines (gz) to packed CoNLL-U (gz), the whole command with its start. "
        f"{FILES} files, together of about {words // max(one.workers for one in found):,} words a worker, in shards of {SHARD_MB} MB of text. "
        "Efficiency: words per second and worker against the first row. Memory: of all processes, shared pages once; own: what the largest "
        "worker has for itself. Best of the rounds; words/s of each round: "
        + "; ".join(f"{model}, {count}: {', '.join(speeds)}" for (model, count), speeds in rounds.items())
        + ".\n\n"
        + table(header, rows)
        + "\nWhat is done beside parsing:\n\n"
        + table(["what", "cost"], spent.rows())
        + f"\nOn paper, from these figures: a billion words with the model {model} ({speed:,.0f} words/s a core), in files of "
        f"{PAPER_FILE / 1e6:.0f} MB when unpacked. Looking: cutting the files before the work; skipping: unpacking what lies before a shard; "
        "last shard: waiting for the last worker.\n\n" + table(paper, on_paper(spent, speed))
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--words", type=int, default=2_000_000)
    parser.add_argument("--models", nargs="+", default=["en", "en-fast"])
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--text", help="a file of text instead of the treebank's")
    parser.add_argument("--all", action="store_true", help="the other parts, too")
    arguments = parser.parse_args()
    if arguments.text is None and not os.environ.get("ARCWISE_TREEBANKS"):
        print(
            "benchmarks.scale: needs real text, set ARCWISE_TREEBANKS to the folder of treebanks, or give --text FILE"
        )
        return
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        texts, most = documents(arguments.text), max(arguments.workers)
        sizes = [
            write_corpus(folder / f"corpus-{count}", texts, arguments.words * count // most)
            for count in arguments.workers
        ]
        rounds: dict[tuple[str, int], list[str]] = {}
        runs = {
            model: measured(folder, arguments.workers, model, arguments.repeat, rounds)
            for model in arguments.models
        }
        words = next(iter(runs.values()))[0].words
        spent = costs(folder / f"corpus-{arguments.workers[0]}", folder, sizes[0] / words, words)
        body = report(runs, rounds, spent, arguments.words)
    cores = max(arguments.workers)
    write_section(
        "scale" if cores <= 2 else f"scale-{cores}",
        f"A corpus by many workers: up to {cores}",
        body,
        module="scale",
    )
    print(body)
    for name, given in OTHERS.items() if arguments.all else ():
        workers = map(str, arguments.workers)
        subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}", "--workers", *workers, *given], check=True
        )


if __name__ == "__main__":
    main()
