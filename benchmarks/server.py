"""``arcwise serve`` under load, compared with calling the library directly.

    python -m benchmarks.server [--seconds 60] [--connections 64] [--workers N] [--model en] [--memory]
        [--udpipe SERVER MODEL NOTE]

Sends paragraphs of slightly more than 60 words from the test data of English-EWT (ARCWISE_TREEBANKS) over
local connections, with wrk (Debian: ``apt-get install wrk``) or, without it, with an asyncio client, which
takes more CPU from the service. The library parses the same paragraphs in as many processes as the service
has workers, once before and once after; the better run counts. Server, library and client share the cores.
``--udpipe``: UDPipe's server (``udpipe_server``, built from its sources), a model and a note on that model;
it gets the same forms with as many threads.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import quote

from measuring.tables import table

from arcwise.models import load
from arcwise.parsing.parser import ParseOptions
from arcwise.treebanks import Treebank
from benchmarks.http_load import Load, arrive, ask
from benchmarks.report import write_section

WORDS = 60
FEW = 8
"""Connections of the row that shows latency below saturation."""
ARRIVING = (0.5, 0.8)
"""Open-loop arrival rates, as shares of the maximum throughput."""
LIBRARY_SECONDS = 5.0
BATCH = 32
"""Paragraphs per library call."""
Service = contextlib.AbstractContextManager[tuple[str, "Memory"]]
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Library:
    """Throughput of the library in a number of processes."""

    rate: float
    """Paragraphs per second."""
    cpu_ms: float
    """CPU milliseconds per paragraph."""

    def row(self, name: str, best: Library) -> list[str]:
        """A row of the table."""
        return [
            name,
            f"{self.rate:,.0f}",
            f"{self.rate / best.rate:.0%}",
            *_cpu_fields(self, best),
            *[""] * 4,
        ]


def load_row(name: str, load: Load, best: Library, memory: str) -> list[str]:
    """A row of the table, relative to the library doing the same work."""
    times = [f"{load.median_ms:.0f}", f"{load.p99_ms:.0f}", str(load.errors), memory]
    return [name, f"{load.rate:,.0f}", f"{load.rate / best.rate:.0%}", *_cpu_fields(load, best), *times]


def _cpu_fields(contender: Load | Library, best: Library) -> list[str]:
    return [f"{contender.cpu_ms:.2f}", f"{best.cpu_ms / contender.cpu_ms:.0%}"]


@dataclass
class Memory:
    """Memory of a service in MB (PSS: shared pages counted once), sampled about once a second."""

    pid: int
    seen: list[tuple[float, float]] = field(default_factory=list)
    """Seconds since the start, and MB."""
    began: float = field(default_factory=time.monotonic)

    def begin(self) -> None:
        """Discard all samples."""
        self.seen.clear()
        self.began = time.monotonic()

    def note(self, mb: float) -> None:
        """Take a sample."""
        self.seen.append((time.monotonic() - self.began, mb))

    def cpu(self) -> float:
        """CPU seconds of the service's processes so far."""
        return sum(map(_cpu, _processes(self.pid)))

    def summary(self) -> str:
        """Memory after 10, 30, 60 and 120 seconds and so on; at the end of a shorter run."""
        last = self.seen[-1][0] if self.seen else 0.0
        samples = [
            min(self.seen, key=lambda sample: abs(sample[0] - mark))
            for mark in (10, 30, 60, 120, 240)
            if mark <= last + 2
        ]
        return ", ".join(f"{mb:.0f} ({seconds:.0f} s)" for seconds, mb in samples or self.seen[-1:])

    def windows(self, width: float = 30.0) -> list[list[str]]:
        """Table rows: median, minimum and maximum per time window; single samples include the calls in
        progress.
        """
        parts: dict[int, list[float]] = {}
        for seconds, mb in self.seen:
            parts.setdefault(int(seconds // width), []).append(mb)
        return [
            [
                f"{part * width:g}–{(part + 1) * width:g} s",
                *(f"{of(samples):.0f}" for of in (median, min, max)),
            ]
            for part, samples in sorted(parts.items())
            if len(samples) >= width / 3  # leave out the last seconds, in which the load ends
        ]


def paragraphs(folder: Path) -> list[str]:
    """Texts of slightly more than 60 words."""
    texts, sentences, words = [], [], 0
    for sentence in Treebank.read(folder / "English-EWT" / "test.conllu.xz"):
        sentences.append(sentence.text)
        words += len(sentence)
        if words >= WORDS:
            texts.append(" ".join(sentences))
            sentences, words = [], 0
    return texts


def library(
    texts: Sequence[str], model: str, *, workers: int, seconds: float, batch: int, as_json: bool
) -> Library:
    """Run the library in a number of processes that write CoNLL-U, or JSON with confidences."""
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        parts = [(texts, model, seconds, batch, as_json, start) for start in range(workers)]
        counts = pool.starmap(_library, parts, chunksize=1)
    done, took, cpu = (sum(count[i] for count in counts) for i in range(3))
    return Library(workers * done / took, 1e3 * cpu / done)


def _library(
    texts: Sequence[str], model: str, seconds: float, batch: int, as_json: bool, start: int
) -> tuple[int, float, float]:
    """Paragraphs, seconds, CPU seconds."""
    nlp = load(model)
    options = ParseOptions(confidence=as_json)

    def do(some: Sequence[str]) -> None:
        for document in nlp.analyse_texts(some, options=options):
            if as_json:
                json.dumps(document.to_json(), ensure_ascii=False)
            else:
                document.to_conllu()

    at, done = start * len(texts) // 3, 0
    do(texts[:batch])
    began, cpu = time.perf_counter(), time.process_time()
    while (took := time.perf_counter() - began) < seconds:
        do([texts[(at + i) % len(texts)] for i in range(batch)])
        at, done = at + batch, done + batch
    return done, took, time.process_time() - cpu


@contextlib.contextmanager
def arcwise_service(model: str, workers: int) -> Iterator[tuple[str, Memory]]:
    """Start ``arcwise serve``; yields its address and its memory."""
    line = ["-m", "arcwise", "serve", "--port", "0", "--model", model, "--workers", str(workers)]
    with subprocess.Popen([sys.executable, *line], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        address = running.stdout.readline().strip()
        with watched(running) as memory:
            yield address, memory


@contextlib.contextmanager
def udpipe_service(server: str, model: str, threads: int) -> Iterator[tuple[str, Memory]]:
    """Start UDPipe's server; yields its address and its memory."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = [server, f"--threads={threads}", "--log_file=", str(port), "model", "model", model, ""]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        for _ in range(600):
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        with watched(running) as memory:
            yield f"http://127.0.0.1:{port}/", memory


@contextlib.contextmanager
def watched(running: subprocess.Popen[Any]) -> Iterator[Memory]:
    """Sample a service's memory, and terminate the service at the end."""
    memory, end = Memory(running.pid), threading.Event()

    def watch() -> None:
        while not end.wait(1):
            memory.note(_memory(running.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield memory
    finally:
        end.set()
        watcher.join()
        running.terminate()


def _memory(pid: int) -> float:
    """PSS of a process and its children, in MB."""
    total = 0
    for one in _processes(pid):
        with contextlib.suppress(OSError):
            lines = Path(f"/proc/{one}/smaps_rollup").read_text().splitlines()
            total += next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def _processes(pid: int) -> list[int]:
    """A process and its children."""
    return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def loaded(
    service: Service,
    asked: tuple[str, str, Sequence[str]],
    connections: int,
    seconds: float,
    *,
    closes: bool = False,
    rate: float | None = None,
) -> tuple[Load, str]:
    """Put a service under load; returns the result and its memory.

    ``rate``: requests per second of an open-loop load, instead of a fixed number of busy connections.
    """
    with service as (address, memory):
        ask(address, *asked, connections=connections, seconds=2, closes=closes)
        memory.begin()
        cpu = memory.cpu()
        if rate is None:
            result = ask(address, *asked, connections=connections, seconds=seconds, closes=closes)
        else:
            result = arrive(address, *asked, rate=rate, seconds=seconds)
        cpu = memory.cpu() - cpu
    return replace(result, cpu_ms=1e3 * cpu / result.requests), memory.summary()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--model", default="en")
    parser.add_argument("--udpipe", nargs=3, metavar=("SERVER", "MODEL", "NOTE"))
    parser.add_argument("--memory", action="store_true", help="measure only the memory of the service")
    options = parser.parse_args()
    if "ARCWISE_TREEBANKS" not in os.environ:
        sys.exit("ARCWISE_TREEBANKS: set it to a folder that contains English-EWT/test.conllu.xz")
    texts = paragraphs(Path(os.environ["ARCWISE_TREEBANKS"]))
    if options.memory:
        return report_memory(texts, options)
    body = report(texts, measured(texts, options), options)
    print(body)
    named = options.model != "en"
    name, title = (f"server-{options.model}", f" ({options.model})") if named else ("server", "")
    write_section(name, f"Service under load{title}", body, module="server")


def report_memory(texts: Sequence[str], options: argparse.Namespace) -> None:
    """Section about memory."""
    forms = "/process", FORM, [f"tokenizer=&tagger=&parser=&data={quote(text)}" for text in texts]
    with arcwise_service(options.model, options.workers) as (address, memory):
        result, _ = loaded(
            contextlib.nullcontext((address, memory)), forms, options.connections, options.seconds
        )
    body = (
        f"`/process` on {options.connections} connections for {options.seconds:g} s, after 2 s of warm-up, "
        f"{options.workers} workers: {result.requests:,} requests, {result.errors} errors. Memory of all "
        f"processes, shared pages counted once (PSS), sampled every second; includes the working "
        f"memory of calls in progress.\n\n"
        + table(["model " + options.model, "median MB", "least", "most"], memory.windows())
    )
    print(body)
    write_section(
        f"server-memory-{options.model}",
        f"Memory of a service under load ({options.model})",
        body,
        module="server",
    )


def measured(texts: Sequence[str], options: argparse.Namespace) -> list[list[str]]:
    """Rows of the table."""
    short = options.seconds / 4

    def directly(batch: int, *, as_json: bool = False) -> Library:
        return library(
            texts,
            options.model,
            workers=options.workers,
            seconds=LIBRARY_SECONDS,
            batch=batch,
            as_json=as_json,
        )

    def asked(
        seconds: float, connections: int, *request: Any, peer: bool = False, rate: float | None = None
    ) -> tuple[Load, str]:
        made = (
            udpipe_service(*options.udpipe[:2], options.workers)
            if peer
            else arcwise_service(options.model, options.workers)
        )
        return loaded(made, request, connections, seconds, closes=peer, rate=rate)

    forms = "/process", FORM, [f"tokenizer=&tagger=&parser=&data={quote(text)}" for text in texts]
    jsons = (
        "/v1/parse",
        "application/json",
        [json.dumps({"text": text, "confidence": True}) for text in texts],
    )
    one, first, first_json = directly(1), directly(BATCH), directly(BATCH, as_json=True)
    many, few = asked(options.seconds, options.connections, *forms), asked(short, FEW, *forms)
    alone = {
        share: asked(short, options.connections, *forms, rate=share * many[0].rate) for share in ARRIVING
    }
    parse = asked(short, options.connections, *jsons)
    best = max(first, directly(BATCH), key=lambda result: result.rate)
    best_json = max(first_json, directly(BATCH, as_json=True), key=lambda result: result.rate)
    rows = [
        one.row("library, one paragraph per call", best),
        best.row(f"library, {BATCH} paragraphs per call", best),
        load_row(f"arcwise serve, `/process`, {options.seconds:g} s", many[0], best, many[1]),
        load_row(f"arcwise serve, `/process`, {FEW} connections, {short:g} s", few[0], best, few[1]),
        *(
            load_row(
                f"arcwise serve, `/process`, open loop at {share:.0%} of the maximum, {short:g} s",
                result,
                best,
                memory,
            )
            for share, (result, memory) in alone.items()
        ),
        best_json.row(f"library, {BATCH} paragraphs per call, confidences, JSON", best_json),
        load_row(f"arcwise serve, `/v1/parse`, confidences, {short:g} s", parse[0], best_json, parse[1]),
    ]
    if not options.udpipe:
        return [*rows, ["UDPipe's server", "not available", *[""] * 7]]
    peer, memory = asked(short, options.connections, *forms, peer=True)
    return [*rows, load_row(f"UDPipe's server, `/process`, {short:g} s", peer, best, memory)]


def report(texts: Sequence[str], rows: list[list[str]], options: argparse.Namespace) -> str:
    """Section of RESULTS.md."""
    header = [
        "",
        "paragraphs/s",
        "of library throughput",
        "CPU ms per paragraph",
        "of library CPU efficiency",
        "p50 ms",
        "p99 ms",
        "errors",
    ]
    note = f" UDPipe's model: {options.udpipe[2]}." if options.udpipe else ""
    client = "wrk, one thread" if shutil.which("wrk") else "an asyncio client"
    words = sum(len(text.split()) for text in texts) / len(texts)
    return (
        f"Requests of one paragraph ({words:.0f} whitespace-separated words), {options.connections} "
        f"connections unless a row says otherwise, {options.workers} workers, model {options.model}; "
        f"{client}, on the same cores. `/v1/parse` returns JSON with confidences and is compared "
        f"with the library doing the same. CPU: processor time of the service, or of the "
        f"library, per paragraph. Memory: all processes, shared pages counted once (PSS). "
        f"Load average of the last five minutes: {os.getloadavg()[1]:.1f}; this "
        f"benchmark alone is about {options.workers + 1}. With {options.connections} "
        f"busy connections the mean latency is {options.connections} / (requests "
        f"per second) by Little's law, whatever the service "
        f"does.{note}\n\n{table([*header, 'memory MB (after)'], rows)}"
    )


if __name__ == "__main__":
    main()
