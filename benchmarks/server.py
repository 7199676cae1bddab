"""``arcwise serve`` under load, beside the library called directly.

``python -m benchmarks.server [--seconds 60] [--connections 64] [--workers N] [--model en] [--memory] [--udpipe SERVER MODEL NOTE]``. Paragraphs of 60 words and a little more, of the test part of
English-EWT (ARCWISE_TREEBANKS), are asked for on so many connections of this machine, by wrk (Debian: ``apt-get install wrk``) or, without it, by a client of
asyncio, which takes more of the cores that the service has. The library gets the same paragraphs in as many processes as the service has workers, before and after;
the better of the two counts. Server, library and client share the cores. ``--udpipe``: UDPipe's own server (``udpipe_server``, built from its sources) and
a model of it, with a word on that model, which get the same forms with as many threads.
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
"""Connections of another row: what a request takes where not all cores are busy all the time."""
ARRIVING = (0.5, 0.8)
"""Requests that come by themselves, as a share of what it answers at most: what whoever runs a service wants to know."""
LIBRARY_SECONDS = 5.0
BATCH = 32
"""Paragraphs that the library gets in one call."""
Service = contextlib.AbstractContextManager[tuple[str, "Memory"]]
FORM = "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Library:
    """What the library did in so many processes."""

    rate: float
    """Paragraphs a second."""
    cpu_ms: float
    """Processor time for a paragraph."""

    def row(self, name: str, best: Library) -> list[str]:
        """A row of the table."""
        return [
            name,
            f"{self.rate:,.0f}",
            f"{self.rate / best.rate:.0%}",
            *_cpu_fields(self, best),
            *[""] * 4,
        ]


def load_row(name: str, own: Load, best: Library, memory: str) -> list[str]:
    """A row of the table, beside the library that does the same."""
    times = [f"{own.median_ms:.0f}", f"{own.p99_ms:.0f}", str(own.errors), memory]
    return [name, f"{own.rate:,.0f}", f"{own.rate / best.rate:.0%}", *_cpu_fields(own, best), *times]


def _cpu_fields(own: Load | Library, best: Library) -> list[str]:
    return [f"{own.cpu_ms:.2f}", f"{best.cpu_ms / own.cpu_ms:.0%}"]


@dataclass
class Memory:
    """The memory of a service in MB (shared parts counted once), about each second."""

    pid: int
    seen: list[tuple[float, float]] = field(default_factory=list)
    """When, in seconds from the beginning, and how much."""
    began: float = field(default_factory=time.monotonic)

    def begin(self) -> None:
        """Forget what was until now."""
        self.seen.clear()
        self.began = time.monotonic()

    def note(self, mb: float) -> None:
        """So much, now."""
        self.seen.append((time.monotonic() - self.began, mb))

    def cpu(self) -> float:
        """Seconds of processor time of its processes until now."""
        return sum(map(_cpu, _processes(self.pid)))

    def told(self) -> str:
        """After 10, 30, 60 and 120 seconds, and so on, as long as it was watched; of a shorter time: at its end."""
        last = self.seen[-1][0] if self.seen else 0.0
        found = [
            min(self.seen, key=lambda own: abs(own[0] - mark))
            for mark in (10, 30, 60, 120, 240)
            if mark <= last + 2
        ]
        return ", ".join(f"{mb:.0f} ({seconds:.0f} s)" for seconds, mb in found or self.seen[-1:])

    def windows(self, width: float = 30.0) -> list[list[str]]:
        """Rows of a table: of each so many seconds the median, the least and the most. What is computed just then is in it, so one look says little."""
        parts: dict[int, list[float]] = {}
        for seconds, mb in self.seen:
            parts.setdefault(int(seconds // width), []).append(mb)
        return [
            [f"{part * width:g}–{(part + 1) * width:g} s", *(f"{of(own):.0f}" for of in (median, min, max))]
            for part, own in sorted(parts.items())
            if len(own) >= width / 3  # not the few seconds in which it ends
        ]


# ---- what is parsed


def paragraphs(folder: Path) -> list[str]:
    """Texts of 60 words and a little more."""
    found, sentences, words = [], [], 0
    for sentence in Treebank.read(folder / "English-EWT" / "test.conllu.xz"):
        sentences.append(sentence.text)
        words += len(sentence)
        if words >= WORDS:
            found.append(" ".join(sentences))
            sentences, words = [], 0
    return found


# ---- the library


def library(
    texts: Sequence[str], model: str, *, workers: int, seconds: float, batch: int, as_json: bool
) -> Library:
    """The library in so many processes, which write CoNLL-U, or JSON with confidences."""
    with multiprocessing.get_context("spawn").Pool(workers) as pool:
        parts = [(texts, model, seconds, batch, as_json, start) for start in range(workers)]
        found = pool.starmap(_library, parts, chunksize=1)
    done, took, cpu = (sum(own[i] for own in found) for i in range(3))
    return Library(workers * done / took, 1e3 * cpu / done)


def _library(
    texts: Sequence[str], model: str, seconds: float, batch: int, as_json: bool, start: int
) -> tuple[int, float, float]:
    """Paragraphs, seconds, seconds of processor time."""
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


# ---- the service


@contextlib.contextmanager
def arcwise_service(model: str, workers: int) -> Iterator[tuple[str, Memory]]:
    """``arcwise serve``, its address and its memory."""
    line = ["-m", "arcwise", "serve", "--port", "0", "--model", model, "--workers", str(workers)]
    with subprocess.Popen([sys.executable, *line], stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        address = running.stdout.readline().strip()
        with watched(running) as memory:
            yield address, memory


@contextlib.contextmanager
def udpipe_service(server: str, model: str, threads: int) -> Iterator[tuple[str, Memory]]:
    """UDPipe's server, its address and its memory."""
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
    """The memory of a service, which is ended in the end."""
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
    """Proportional memory of a process and its children, in MB."""
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


# ---- the table


def loaded(
    service: Service,
    asked: tuple[str, str, Sequence[str]],
    connections: int,
    seconds: float,
    *,
    closes: bool = False,
    rate: float | None = None,
) -> tuple[Load, str]:
    """What comes of asking a service, and its memory. ``rate``: not on so many connections all the time, but so many requests a second, which come by themselves."""
    with service as (address, memory):
        ask(address, *asked, connections=connections, seconds=2, closes=closes)
        memory.begin()
        cpu = memory.cpu()
        if rate is None:
            found = ask(address, *asked, connections=connections, seconds=seconds, closes=closes)
        else:
            found = arrive(address, *asked, rate=rate, seconds=seconds)
        cpu = memory.cpu() - cpu
    return replace(found, cpu_ms=1e3 * cpu / found.requests), memory.told()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--connections", type=int, default=64)
    options.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    options.add_argument("--model", default="en")
    options.add_argument("--udpipe", nargs=3, metavar=("SERVER", "MODEL", "NOTE"))
    options.add_argument("--memory", action="store_true", help="the memory of the service alone")
    given = options.parse_args()
    if "ARCWISE_TREEBANKS" not in os.environ:
        sys.exit("ARCWISE_TREEBANKS: is not set, expected a folder with English-EWT/test.conllu.xz")
    texts = paragraphs(Path(os.environ["ARCWISE_TREEBANKS"]))
    if given.memory:
        return told_memory(texts, given)
    body = told(texts, measured(texts, given), given)
    print(body)
    other = given.model != "en"
    name, title = (f"server-{given.model}", f" ({given.model})") if other else ("server", "")
    write_section(name, f"A service under load{title}", body, module="server")


def told_memory(texts: Sequence[str], given: argparse.Namespace) -> None:
    """The section on memory."""
    forms = "/process", FORM, [f"tokenizer=&tagger=&parser=&data={quote(text)}" for text in texts]
    with arcwise_service(given.model, given.workers) as (address, memory):
        found, _ = loaded(contextlib.nullcontext((address, memory)), forms, given.connections, given.seconds)
    body = (
        f"`/process` on {given.connections} connections for {given.seconds:g} s, after 2 s of warming up, {given.workers} workers: {found.requests:,} requests, {found.errors} errors. "
        f"Memory of all processes, shared parts once, looked at each second; what the calls of that moment work with is in it.\n\n"
        + table(["model " + given.model, "median MB", "least", "most"], memory.windows())
    )
    print(body)
    write_section(
        f"server-memory-{given.model}",
        f"The memory of a service under load ({given.model})",
        body,
        module="server",
    )


def measured(texts: Sequence[str], given: argparse.Namespace) -> list[list[str]]:
    """The rows of the table."""
    short = given.seconds / 4

    def directly(batch: int, *, as_json: bool = False) -> Library:
        return library(
            texts, given.model, workers=given.workers, seconds=LIBRARY_SECONDS, batch=batch, as_json=as_json
        )

    def asked(
        seconds: float, connections: int, *what: Any, peer: bool = False, rate: float | None = None
    ) -> tuple[Load, str]:
        made = (
            udpipe_service(*given.udpipe[:2], given.workers)
            if peer
            else arcwise_service(given.model, given.workers)
        )
        return loaded(made, what, connections, seconds, closes=peer, rate=rate)

    forms = "/process", FORM, [f"tokenizer=&tagger=&parser=&data={quote(text)}" for text in texts]
    jsons = "/v1/parse", "application/json", [json.dumps({"text": text}) for text in texts]
    one, first, first_json = directly(1), directly(BATCH), directly(BATCH, as_json=True)
    many, few = asked(given.seconds, given.connections, *forms), asked(short, FEW, *forms)
    alone = {share: asked(short, given.connections, *forms, rate=share * many[0].rate) for share in ARRIVING}
    parse = asked(short, given.connections, *jsons)
    best = max(first, directly(BATCH), key=lambda own: own.rate)
    best_json = max(first_json, directly(BATCH, as_json=True), key=lambda own: own.rate)
    rows = [
        one.row("the library, a paragraph a call", best),
        best.row(f"the library, {BATCH} paragraphs a call", best),
        load_row(f"arcwise serve, `/process`, {given.seconds:g} s", many[0], best, many[1]),
        load_row(f"arcwise serve, `/process`, {FEW} connections, {short:g} s", few[0], best, few[1]),
        *(
            load_row(
                f"arcwise serve, `/process`, requests that come by themselves, {share:.0%} of its most, {short:g} s",
                own,
                best,
                memory,
            )
            for share, (own, memory) in alone.items()
        ),
        best_json.row(f"the library, {BATCH} paragraphs a call, confidences, JSON", best_json),
        load_row(f"arcwise serve, `/v1/parse`, {short:g} s", parse[0], best_json, parse[1]),
    ]
    if not given.udpipe:
        return [*rows, ["UDPipe's server", "not at hand", *[""] * 7]]
    peer, memory = asked(short, given.connections, *forms, peer=True)
    return [*rows, load_row(f"UDPipe's server, `/process`, {short:g} s", peer, best, memory)]


def told(texts: Sequence[str], rows: list[list[str]], given: argparse.Namespace) -> str:
    """The section of RESULTS.md."""
    header = [
        "",
        "paragraphs/s",
        "of the library",
        "CPU ms each",
        "of the library",
        "median ms",
        "p99 ms",
        "errors",
    ]
    note = f" UDPipe's model: {given.udpipe[2]}." if given.udpipe else ""
    client = "wrk, one thread" if shutil.which("wrk") else "a client of asyncio"
    words = sum(len(text.split()) for text in texts) / len(texts)
    return (
        f"Requests of one paragraph ({words:.0f} words between blanks), {given.connections} connections unless a row says otherwise, {given.workers} workers, model "
        f"{given.model}; {client}, on the same cores. `/v1/parse` gives JSON with confidences and stands beside the library that does the same. CPU: processor time of the "
        f"service, or of the library, for a paragraph. Memory: of all processes, shared parts once. Load of the machine in the five minutes before the end: "
        f"{os.getloadavg()[1]:.1f}; this alone is about {given.workers + 1}. With {given.connections} connections that always wait for an answer the mean latency is {given.connections} / (requests a second), "
        f"whatever the service does.{note}\n\n"
        f"{table([*header, 'memory MB (after)'], rows)}"
    )


if __name__ == "__main__":
    main()
