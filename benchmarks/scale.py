"""Parsing a corpus with one, two or more workers: throughput, memory and overhead.

    python -m benchmarks.scale                       # 1 and 2 workers
    python -m benchmarks.scale --workers 1 4 16 --models en --words 4000000 --repeat 1
    python -m benchmarks.scale --all                 # also benchmarks.scale_training and
    benchmarks.scale_search

``--words`` is for the run with the most workers; the others get words in proportion, so that all take about
as long.

The text is that of English-EWT (ARCWISE_TREEBANKS), repeated in shuffled order, or that of ``--text FILE``.
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
"""Small enough that no worker waits long for the last shard of a corpus parsed within a minute."""
EMPTY_SHARDS = 400
NO_WORK = 4000
ASKED = 1000
"""Workers of a cluster to poll at the same time."""
ONE_MACHINE = 16
"""Numbers of cores to extrapolate to; the larger ones are a Ray cluster."""
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
    """Peak megabytes of all processes together (PSS: shared pages counted once)."""
    own: float
    """Peak private megabytes of a worker."""

    @property
    def speed(self) -> float:
        return self.words / self.seconds


def documents(text: str | None) -> list[str]:
    """Texts that make up the corpus."""
    if text is not None:
        whole = Path(text).read_text("utf-8")
    else:
        folder = Path(os.environ["ARCWISE_TREEBANKS"])
        whole = plain_text(Treebank.read(folder / TREEBANK / "train.conllu.xz")).text
    return [part for part in whole.split("\n\n") if part.strip()]


def write_corpus(folder: Path, texts: Sequence[str], words: int) -> int:
    """Write about ``words`` words to ``FILES`` gzipped JSON Lines files; returns the bytes of text."""
    folder.mkdir(parents=True)
    draw = random.Random(1)
    size = 0
    for number in range(FILES):
        left = words // FILES
        with gzip.open(folder / f"{number}.jsonl.gz", "wt", compresslevel=5) as stream:
            while left > 0:
                text = draw.choice(texts)
                left -= round(1.17 * len(text.split()))  # tokenization yields more words than blanks
                size += len(text.encode())
                stream.write(json.dumps({"text": text}) + "\n")
    return size


def run(corpus: Path, out: Path, workers: int, model: str) -> Run:
    """Run the command as a user would, sampling the memory of its processes once a second."""
    command = [
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
        [sys.executable, "-m", "arcwise", "parse", *command], stderr=subprocess.PIPE, text=True
    )
    memory = private = 0.0
    while not ended(job, within=1):
        processes = memory_of(job.pid)
        memory = max(memory, sum(shared for _, shared, _ in processes))
        private = max([private, *(mb for depth, _, mb in processes if depth == 2 or workers == 1)])
    seconds = time.perf_counter() - started
    log = job.communicate()[1]
    if job.returncode != 0:
        raise SystemExit(log)
    words = int(log.strip().splitlines()[-1].split(" words")[0].replace(",", ""))
    return Run(workers, words, seconds, memory, private)


def ended(job: subprocess.Popen[str], *, within: float) -> bool:
    """Whether the process ends within some seconds."""
    try:
        job.wait(within)
    except subprocess.TimeoutExpired:
        return False
    return True


def memory_of(pid: int) -> list[tuple[int, float, float]]:
    """Depth, PSS and private memory of a process and all its descendants, in megabytes."""
    processes: list[tuple[int, float, float]] = []
    waiting = [(pid, 0)]
    while waiting:
        process, depth = waiting.pop()
        place = Path(f"/proc/{process}")
        try:
            sizes = dict(re.findall(r"^(\w+): +(\d+) kB", (place / "smaps_rollup").read_text(), re.MULTILINE))
            below = (place / f"task/{process}/children").read_text().split()
        except (OSError, ProcessLookupError):
            continue
        private = int(sizes["Private_Clean"]) + int(sizes["Private_Dirty"])
        processes.append((depth, int(sizes["Pss"]) / 1024, private / 1024))
        waiting += [(int(child), depth + 1) for child in below]
    return processes


def measured(
    folder: Path, workers: Sequence[int], model: str, repeat: int, rounds: dict[tuple[str, int], list[str]]
) -> list[Run]:
    """Best of several rounds in which all numbers of workers take turns, each with its corpus."""
    best: dict[int, Run] = {}
    for turn in range(repeat):
        for count in workers:
            outcome = run(folder / f"corpus-{count}", folder / f"{model}-{count}-{turn}", count, model)
            print(f"{model}, {count} workers: {outcome.speed:,.0f} words/s", flush=True)
            rounds.setdefault((model, count), []).append(f"{outcome.speed:,.0f}")
            if count not in best or outcome.speed > best[count].speed:
                best[count] = outcome
    return [best[count] for count in workers]


def _nothing(item: int) -> int:
    return item


def _sleep() -> None:
    time.sleep(1)


@dataclass(frozen=True)
class RayCosts:
    """Overhead of the coordinator of a Ray cluster."""

    handing: float
    """Seconds per item."""
    asking: float
    """Seconds to poll ``ASKED`` workers."""


def ray_costs() -> RayCosts | None:
    """Measure with two local workers; None without Ray."""
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
    """Overhead in addition to parsing."""

    bytes_a_word: float
    looking: float
    """Bytes per second decompressed, hashed and split into shards, on one core."""
    shard: float
    """Seconds per shard for files, names and markers."""
    handing: float
    """Seconds per shard of the coordinator."""
    again: float
    """Seconds per shard of a run that finds everything done."""
    ray: RayCosts | None = None

    def rows(self) -> list[list[object]]:
        return [
            ["scanning compressed input before parsing", f"{self.looking / 1e6:,.0f} MB/s per worker"],
            ["files, names and markers, flushed to disk", f"{1000 * self.shard:.1f} ms per shard"],
            ["coordinator: assign a shard and collect its result", f"{1000 * self.handing:.2f} ms per shard"],
            ["rerunning the command with everything done", f"{1000 * self.again:.2f} ms per shard"],
            *self._ray_rows(),
        ]

    def _ray_rows(self) -> list[list[object]]:
        if self.ray is None:
            return []
        return [
            [
                "with --engine ray: assign a shard and collect its result",
                f"{1000 * self.ray.handing:.2f} ms per shard",
            ],
            [f"with --engine ray: poll {ASKED:,} workers", f"{1000 * self.ray.asking:.2f} ms"],
        ]

    def busy(self, shards: float, cores: int) -> float:
        """Coordinator seconds for a number of shards; on a cluster it polls all workers after each shard."""
        if self.ray is None or cores <= ONE_MACHINE:
            return shards * self.handing
        return shards * (self.ray.handing + self.ray.asking * cores / ASKED)


def costs(corpus: Path, folder: Path, bytes_a_word: float, words: int) -> Costs:
    """Measure on this machine."""
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
    for _ in range(2):  # the second run finds everything done
        started = time.perf_counter()
        parse_corpus(str(folder / "empty"), folder / "nothing", options=options)
        times.append(time.perf_counter() - started)
    first, again = (seconds / EMPTY_SHARDS for seconds in times)
    return Costs(bytes_a_word, bytes_a_word * words / looking, first - again, handing, again, ray_costs())


def on_paper(spent: Costs, speed: float) -> list[list[object]]:
    """Extrapolate to a billion words at ``speed`` words per second and core, in files of ``PAPER_FILE``
    bytes.
    """
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
        )  # a worker may start its last shard when the others are done
        total = parsing + looking + skipping + writing + last
        busy = spent.busy(shards, cores) / total
        cells = [f"{seconds:,.0f}" for seconds in (parsing, looking, skipping, writing, last, total)]
        rows.append(
            [
                f"{cores:,}",
                f"{shard} MB",
                f"{shards:,.0f}",
                *cells,
                f"{parsing / total:.2f}",
                f"{100 * busy:.1f} %",
            ]
        )
    return rows


def report(
    runs: dict[str, list[Run]], rounds: dict[tuple[str, int], list[str]], spent: Costs, words: int
) -> str:
    rows: list[list[object]] = []
    for model, measurements in runs.items():
        alone = measurements[0].speed / measurements[0].workers
        for measurement in measurements:
            body = [
                f"{measurement.words:,}",
                f"{measurement.seconds:.1f}",
                f"{measurement.speed:,.0f}",
                f"{measurement.speed / measurement.workers / alone:.2f}",
            ]
            rows.append(
                [
                    model,
                    measurement.workers,
                    *body,
                    f"{measurement.memory:.0f}",
                    "" if measurement.workers == 1 else f"{measurement.own:.0f}",
                ]
            )
    header = [
        "model",
        "workers",
        "words",
        "seconds",
        "words/s",
        "efficiency",
        "memory, MB",
        "private memory of a worker, MB",
    ]
    model, measurements = next(iter(runs.items()))
    speed = measurements[-1].speed / measurements[-1].workers
    paper = [
        "cores",
        "shard",
        "shards",
        "parsing, s",
        "scanning, s",
        "skipping, s",
        "writing, s",
        "last shard, s",
        "total, s",
        "efficiency",
        "coordinator busy",
    ]
    return (
        f"`arcwise parse --in corpus --out parsed`, from gzipped JSON Lines to gzipped CoNLL-U, the whole "
        f"command including start-up. {FILES} files, together about "
        f"{words // max(measurement.workers for measurement in measurements):,} words per worker, in "
        f"shards of {SHARD_MB} MB of text. Efficiency: words per second and worker, relative to "
        f"the first row. Memory: all processes, shared pages counted once (PSS); private: "
        f"the largest worker's own pages. Best of the rounds; words/s of each round: "
        + "; ".join(f"{model}, {count}: {', '.join(speeds)}" for (model, count), speeds in rounds.items())
        + ".\n\n"
        + table(header, rows)
        + "\nOverhead in addition to parsing:\n\n"
        + table(["what", "cost"], spent.rows())
        + f"\nExtrapolated from these figures: a billion words with the model {model} ({speed:,.0f} words/s "
        f"per core), in files of {PAPER_FILE / 1e6:.0f} MB uncompressed. Scanning: splitting the files "
        f"into shards beforehand; skipping: decompressing the data before a shard; last shard: "
        f"waiting for the last worker.\n\n" + table(paper, on_paper(spent, speed))
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--words", type=int, default=2_000_000)
    parser.add_argument("--models", nargs="+", default=["en", "en-fast"])
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--text", help="text file to use instead of the treebank's text")
    parser.add_argument(
        "--all", action="store_true", help="also run benchmarks.scale_training and benchmarks.scale_search"
    )
    options = parser.parse_args()
    if options.text is None and not os.environ.get("ARCWISE_TREEBANKS"):
        print("benchmarks.scale: set ARCWISE_TREEBANKS to a folder of treebanks, or pass --text FILE")
        return
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        texts, most = documents(options.text), max(options.workers)
        sizes = [
            write_corpus(folder / f"corpus-{count}", texts, options.words * count // most)
            for count in options.workers
        ]
        rounds: dict[tuple[str, int], list[str]] = {}
        runs = {
            model: measured(folder, options.workers, model, options.repeat, rounds)
            for model in options.models
        }
        words = next(iter(runs.values()))[0].words
        spent = costs(folder / f"corpus-{options.workers[0]}", folder, sizes[0] / words, words)
        body = report(runs, rounds, spent, options.words)
    cores = max(options.workers)
    write_section(
        "scale" if cores <= 2 else f"scale-{cores}",
        f"Parsing a corpus with up to {cores} workers",
        body,
        module="scale",
    )
    print(body)
    for name, extra in OTHERS.items() if options.all else ():
        workers = map(str, options.workers)
        subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}", "--workers", *workers, *extra], check=True
        )


if __name__ == "__main__":
    main()
