"""``arcwise serve`` under load, beside the library called directly.

``python -m benchmarks.server [--seconds 60] [--connections 64] [--workers N] [--model en] [--udpipe SERVER MODEL]``. Paragraphs of 60 words and a little more, of the test part of
English-EWT (ARCWISE_TREEBANKS), are asked for on so many connections of this machine, by wrk (Debian: ``apt-get install wrk``) or, without it, by a client of
asyncio, which takes more of the cores that the service has. The library gets the same paragraphs in as many processes as the service has workers, before and after;
the better of the two counts. Server, library and client share the cores. ``--udpipe``: UDPipe's own server (``udpipe_server``, built from its sources) and
a model of it, which get the same forms with as many threads.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import multiprocessing
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from measuring.tables import table

from arcwise.models import load
from arcwise.parsing.parser import ParseOptions
from arcwise.treebanks import Treebank
from benchmarks.report import write_section

WORDS = 60
BATCH = 32
"""Paragraphs that the library gets in one call."""
Service = contextlib.AbstractContextManager[tuple[str, "Memory"]]
FORM = "application/x-www-form-urlencoded"
_SCRIPT = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "%(kind)s"
local bodies, at = {}, 0
for line in io.lines("%(bodies)s") do bodies[#bodies + 1] = line end
request = function()
  at = at %% #bodies + 1
  return wrk.format(nil, "%(path)s", nil, bodies[at])
end
done = function(summary, latency, requests)
  local e = summary.errors
  print(string.format("FOUND %%d %%f %%f %%f %%d", summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3,
    latency:percentile(99) / 1e3, e.connect + e.read + e.write + e.status + e.timeout))
end
"""


@dataclass(frozen=True)
class Load:
    """What came of a minute of requests."""

    requests: int
    seconds: float
    median_ms: float
    p99_ms: float
    errors: int
    cpu_ms: float = 0.0
    """Processor time of the service for a request."""

    @property
    def rate(self) -> float:
        """Requests a second."""
        return self.requests / self.seconds

    def row(self, name: str, best: Library, memory: str) -> list[str]:
        """A row of the table, beside the library that does the same."""
        times = [f"{self.median_ms:.0f}", f"{self.p99_ms:.0f}", str(self.errors), memory]
        return [name, f"{self.rate:,.0f}", f"{self.rate / best.rate:.0%}", *_cpu_fields(self, best), *times]


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


def _cpu_fields(own: Load | Library, best: Library) -> list[str]:
    return [f"{own.cpu_ms:.2f}", f"{best.cpu_ms / own.cpu_ms:.0%}"]


@dataclass
class Memory:
    """The memory of a service in MB (shared parts counted once), each second."""

    pid: int
    mb: list[float] = field(default_factory=list)

    def cpu(self) -> float:
        """Seconds of processor time of its processes until now."""
        return sum(map(_cpu, _processes(self.pid)))

    def told(self) -> str:
        """After the first tenth of the time, and at the end."""
        early = self.mb[len(self.mb) // 10] if self.mb else 0.0
        return f"{early:.0f} → {self.mb[-1]:.0f}" if self.mb else ""


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
            memory.mb.append(_memory(running.pid))

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


# ---- the clients


def ask(
    address: str, path: str, kind: str, bodies: Sequence[str], *, connections: int, seconds: float
) -> Load:
    """Requests on so many connections, by wrk if it is there."""
    if shutil.which("wrk") is None:
        return asyncio.run(_ask(address, path, kind, bodies, connections, seconds))
    with tempfile.TemporaryDirectory() as folder:
        script, data = Path(folder) / "ask.lua", Path(folder) / "bodies.txt"
        data.write_text("\n".join(bodies))
        script.write_text(_SCRIPT % {"kind": kind, "bodies": data, "path": path})
        command = [
            "wrk",
            "-t1",
            f"-c{connections}",
            f"-d{seconds:g}s",
            "--timeout",
            "30s",
            "-s",
            str(script),
            address,
        ]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found = next(line for line in said.splitlines() if line.startswith("FOUND ")).split()[1:]
    return Load(int(found[0]), float(found[1]), float(found[2]), float(found[3]), int(found[4]))


async def _ask(
    address: str, path: str, kind: str, bodies: Sequence[str], connections: int, seconds: float
) -> Load:
    place = urlsplit(address)
    end = time.perf_counter() + seconds
    times: list[float] = []
    errors = 0

    async def client(number: int) -> None:
        nonlocal errors
        reader, writer = await asyncio.open_connection(place.hostname, place.port)
        at = number
        while time.perf_counter() < end:
            body = bodies[at % len(bodies)].encode()
            at += connections
            began = time.perf_counter()
            writer.write(
                f"POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n\r\n".encode()
                + body
            )
            head = (await reader.readuntil(b"\r\n\r\n")).lower()
            length = head.split(b"content-length: ")[1].split(b"\r\n")[0]
            await reader.readexactly(int(length))
            times.append(time.perf_counter() - began)
            errors += b" 200 " not in head.split(b"\r\n")[0]
        writer.close()

    await asyncio.gather(*(client(number) for number in range(connections)))
    times.sort()
    return Load(
        len(times), seconds, 1e3 * times[len(times) // 2], 1e3 * times[int(0.99 * len(times))], errors
    )


# ---- the table


def loaded(
    service: Service, asked: tuple[str, str, Sequence[str]], given: argparse.Namespace
) -> tuple[Load, str]:
    """What comes of asking a service, and its memory."""
    with service as (address, memory):
        ask(address, *asked, connections=given.connections, seconds=2)
        memory.mb.clear()
        cpu = memory.cpu()
        found = ask(address, *asked, connections=given.connections, seconds=given.seconds)
        cpu = memory.cpu() - cpu
    return replace(found, cpu_ms=1e3 * cpu / found.requests), memory.told()


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--seconds", type=float, default=60.0)
    options.add_argument("--connections", type=int, default=64)
    options.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    options.add_argument("--model", default="en")
    options.add_argument("--udpipe", nargs=2, metavar=("SERVER", "MODEL"))
    given = options.parse_args()
    if "ARCWISE_TREEBANKS" not in os.environ:
        sys.exit("ARCWISE_TREEBANKS: is not set, expected a folder with English-EWT/test.conllu.xz")
    texts = paragraphs(Path(os.environ["ARCWISE_TREEBANKS"]))
    body = told(texts, measured(texts, given), given)
    print(body)
    write_section("server", "A service under load", body)


def measured(texts: Sequence[str], given: argparse.Namespace) -> list[list[str]]:
    """The rows of the table."""

    def directly(batch: int, *, as_json: bool = False) -> Library:
        seconds = max(5.0, given.seconds / 6)
        return library(
            texts, given.model, workers=given.workers, seconds=seconds, batch=batch, as_json=as_json
        )

    def asked(path: str, kind: str, bodies: Sequence[str]) -> tuple[Load, str]:
        return loaded(arcwise_service(given.model, given.workers), (path, kind, bodies), given)

    forms = [f"tokenizer=&tagger=&parser=&data={quote(text)}" for text in texts]
    one, first, first_json = directly(1), directly(BATCH), directly(BATCH, as_json=True)
    process, memory = asked("/process", FORM, forms)
    parse, parse_memory = asked(
        "/v1/parse", "application/json", [json.dumps({"text": text}) for text in texts]
    )
    best = max(first, directly(BATCH), key=lambda own: own.rate)
    best_json = max(first_json, directly(BATCH, as_json=True), key=lambda own: own.rate)
    rows = [
        one.row("the library, a paragraph a call", best),
        best.row(f"the library, {BATCH} paragraphs a call", best),
        process.row("arcwise serve, `/process`", best, memory),
        best_json.row(f"the library, {BATCH} paragraphs a call, confidences, JSON", best_json),
        parse.row("arcwise serve, `/v1/parse`", best_json, parse_memory),
    ]
    if not given.udpipe:
        return [*rows, ["UDPipe's server", "not at hand", *[""] * 7]]
    peer, peer_memory = loaded(udpipe_service(*given.udpipe, given.workers), ("/process", FORM, forms), given)
    return [*rows, peer.row("UDPipe's server, `/process`", best, peer_memory)]


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
    client = "wrk, one thread" if shutil.which("wrk") else "a client of asyncio"
    words = sum(len(text.split()) for text in texts) / len(texts)
    return (
        f"Requests of one paragraph ({words:.0f} words between blanks), {given.connections} connections, {given.seconds:g} s, {given.workers} workers, model "
        f"{given.model}; {client}, on the same cores. `/v1/parse` gives JSON with confidences and stands beside the library that does the same. CPU: processor time of the "
        f"service, or of the library, for a paragraph. Memory: of all processes, shared parts once. Load of the machine in the five minutes before the end: "
        f"{os.getloadavg()[1]:.1f}; this alone is about {given.workers + 1}.\n\n"
        f"{table([*header, 'memory MB, early → late'], rows)}"
    )


if __name__ == "__main__":
    main()
