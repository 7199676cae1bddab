"""Time and memory until ``arcwise annotate`` can edit a large treebank.

    python -m benchmarks.annotation_files [--write]

Files: English-EWT (ARCWISE_TREEBANKS), its first 5,000 sentences, its training data repeated up to 77 MB, and
a folder of 20 files with 5,000 sentences each. The command runs in a separate process, with the model ``en``
if a row says so; the clock runs from its start until the server has returned the document and the sentence in
the middle, then for one edit in the middle. *Processor*: what the process had used by then, which other work
on the machine hardly changes. *First tree*: from the start of the command until a running
Chromium has drawn the first tree (ARCWISE_CHROMIUM, or on the PATH; left out without it). *Document* is the
same without command and server: opening the file and reading the sentence in the middle. Memory is the peak
of the process after it saved the edit to the file; with a model, after ten more seconds, in which the page
orders the worklist.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

from measuring.tables import table
from measuring.trainings import read_whole

from arcwise.annotation.document import AnnotationDocument
from arcwise.annotation.project import AnnotationProject
from arcwise.treebanks import Treebank
from benchmarks.report import write_section

LARGE = 77_000_000
SENTENCES = 5000
FILES = 20
RANKING = 10.0
"""Seconds during which a server with a model orders its worklist before its memory is read."""
CHROMIUM = os.environ.get("ARCWISE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


class AnnotateRequest:
    """HTTP client of the server."""

    def __init__(self, address: str) -> None:
        place = urlparse(address)
        self.connection = http.client.HTTPConnection(place.netloc)
        self.headers = {
            "X-Arcwise-Token": parse_qs(place.query)["token"][0],
            "Origin": f"http://{place.netloc}",
            "Content-Type": "application/json",
        }

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        sent = None if body is None else json.dumps(body)
        self.connection.request(method, f"/api/{path}", sent, self.headers)
        answer = self.connection.getresponse()
        read = answer.read()
        assert answer.status == 200, read
        return json.loads(read)


def opened(path: Path) -> float:
    """Seconds to open a document, or a project, and read the sentence in its middle."""
    start = time.perf_counter()
    document = (AnnotationProject if path.is_dir() else AnnotationDocument).open(path)
    document.sentence(len(document) // 2)
    taken = time.perf_counter() - start
    document.close()
    return taken


@dataclass(frozen=True)
class Figures:
    """One run of the command; times in seconds, memory in megabytes."""

    ready: float
    processor: float
    """Until it is ready."""
    edited: float
    saved: float
    tree: float
    """Infinite without a browser."""
    memory: float


@contextlib.contextmanager
def command(path: Path, model: str | None) -> Iterator[tuple[float, str, int]]:
    """Run the command; yields when it started, the address of the page and the process."""
    line = [sys.executable, "-m", "arcwise", "annotate", str(path), "--no-browser"]
    line += ["--model", model] if model else []
    start = time.perf_counter()
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            banner = next(text for text in server.stdout if "http://" in text)
            yield start, banner[banner.index("http://") :].split()[0], server.pid
        finally:
            server.terminate()


def first_tree(path: Path, model: str | None, browser: Any) -> float:
    """Seconds from the start of the command until the browser has drawn a tree."""
    if browser is None:
        return math.inf
    with command(path, model) as (start, address, _):
        page = browser.new_page()
        page.goto(address)
        page.wait_for_selector("#tree .word")
        page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))")
        taken = time.perf_counter() - start
        page.close()
    return taken


def served(path: Path, model: str | None, browser: Any) -> Figures:
    """Run the command twice: for the browser, and for requests."""
    tree = first_tree(path, model, browser)
    with command(path, model) as (start, address, process):
        client = AnnotateRequest(address)
        middle = client.ask("GET", "document")["sentences"] // 2
        sentence = client.ask("GET", f"sentence/{middle}")
        ready, processor = time.perf_counter() - start, processor_seconds(process)
        edit = {"kind": "set-field", "row": "1", "column": "misc", "value": "Checked=Yes"}
        start = time.perf_counter()
        client.ask("POST", f"sentence/{middle}/edits", {"version": sentence["version"], "edits": [edit]})
        edited = time.perf_counter() - start
        start = time.perf_counter()
        client.ask("POST", "save", {})
        saved = time.perf_counter() - start
        if model:
            client.ask("GET", "sentences?worklist=gain")
            time.sleep(RANKING)
        status = Path(f"/proc/{process}/status").read_text().splitlines()
        memory = next(float(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
    return Figures(ready, processor, edited, saved, tree, memory)


def processor_seconds(process: int) -> float:
    """Processor time of a running process and its threads."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def written(folder: Path, train: Treebank) -> Iterator[Path]:
    """The files, and the folder of a project."""
    again = (train.data * (LARGE // len(train.data) + 1))[:LARGE]
    for data in (train[:SENTENCES].data, again[: again.rindex(b"\n\n") + 2]):
        path = folder / "treebank.conllu"
        path.write_bytes(data)
        yield path
    project = folder / "project"
    project.mkdir()
    numbers = [n % len(train) for n in range(FILES * SENTENCES)]
    for file in range(FILES):
        some = numbers[file * SENTENCES : (file + 1) * SENTENCES]
        data = b"".join(train[n].source_bytes for n in some)
        (project / f"part-{file + 1:02}.conllu").write_bytes(data)
    yield project


def main() -> None:
    """Print the table, and write it to RESULTS.md on request."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write the table to RESULTS.md")
    parser.add_argument("--rounds", type=int, default=3, help="rounds; the table shows the fastest")
    options = parser.parse_args()
    train = read_whole("English-EWT", "train")
    rows = []
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        for path in written(Path(folder), train):
            for model in (None, "en") if path.is_dir() else (None,):
                rows.append(row(path, model, options.rounds, browser))
                print(rows[-1], flush=True)
    header = (
        "files",
        "sentences",
        "MB",
        "model",
        "document, s",
        "command until the page is ready, s",
        "processor, s",
        "first tree, s",
        "edit, ms",
        "saving the file, s",
        "memory, MB",
    )
    load = f"Load average of the last five minutes: {os.getloadavg()[1]:.1f}, on {os.cpu_count()} cores."
    body = f"{load}\n\n{table(header, rows)}"
    print(body)
    if options.write:
        write_section("annotation_files", "Opening large treebanks in arcwise annotate", body)


@contextlib.contextmanager
def chromium() -> Iterator[Any]:
    """A running browser; None without Chromium or playwright."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        yield None
        return
    if CHROMIUM is None:
        yield None
        return
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def row(path: Path, model: str | None, rounds: int, browser: Any) -> tuple[object, ...]:
    """The fastest of some rounds."""
    alone = min(opened(path) for _ in range(rounds))
    runs = [served(path, model, browser) for _ in range(rounds)]
    best = Figures(*(min(values) for values in zip(*map(astuple, runs), strict=True)))
    files = sorted(path.glob("*.conllu")) if path.is_dir() else [path]
    data = [file.read_bytes() for file in files]
    return (
        len(files),
        f"{sum(len(Treebank(one)) for one in data):,}",
        f"{sum(map(len, data)) / 1e6:.1f}",
        model or "",
        f"{alone:.2f}",
        f"{best.ready:.2f}",
        f"{best.processor:.2f}",
        f"{best.tree:.2f}" if math.isfinite(best.tree) else "no browser",
        f"{1000 * best.edited:.0f}",
        f"{best.saved:.2f}",
        f"{best.memory:.0f}",
    )


if __name__ == "__main__":
    main()
