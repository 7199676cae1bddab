"""Time and memory until ``arcwise annotate`` can edit a large treebank.

    python -m benchmarks.annotation_files [--write]

Files: English-EWT (ARCWISE_TREEBANKS), its first 5,000 sentences, its training data repeated up to 77 MB, and
a folder of 20 files with 5,000 sentences each. The command runs in a separate process, without a model; the
clock runs from its start until the server has returned the document and the sentence in the middle, then for
one edit in the middle. *Document* is the same without command and server: opening the file and reading the
sentence in the middle. Memory is the peak of the process, after it saved the edit to the file.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
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


def served(path: Path) -> tuple[float, float, float, float]:
    """Seconds to the first page view, of one edit and of saving; peak memory in megabytes."""
    line = [sys.executable, "-m", "arcwise", "annotate", str(path), "--no-browser"]
    start = time.perf_counter()
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            banner = next(text for text in server.stdout if "http://" in text)
            client = AnnotateRequest(banner[banner.index("http://") :].split()[0])
            middle = client.ask("GET", "document")["sentences"] // 2
            sentence = client.ask("GET", f"sentence/{middle}")
            ready = time.perf_counter() - start
            edit = {"kind": "set-field", "row": "1", "column": "misc", "value": "Checked=Yes"}
            start = time.perf_counter()
            client.ask("POST", f"sentence/{middle}/edits", {"version": sentence["version"], "edits": [edit]})
            edited = time.perf_counter() - start
            start = time.perf_counter()
            client.ask("POST", "save", {})
            saved = time.perf_counter() - start
            status = Path(f"/proc/{server.pid}/status").read_text().splitlines()
            memory = next(float(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
        finally:
            server.terminate()
    return ready, edited, saved, memory


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
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the table to RESULTS.md")
    parser.add_argument("--rounds", type=int, default=3, help="rounds; the table shows the fastest")
    options = parser.parse_args()
    train = read_whole("English-EWT", "train")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for path in written(Path(folder), train):
            alone = min(opened(path) for _ in range(options.rounds))
            ready, edited, saved, memory = (
                min(values) for values in zip(*(served(path) for _ in range(options.rounds)), strict=True)
            )
            files = sorted(path.iterdir()) if path.is_dir() else [path]
            files = [file for file in files if file.suffix == ".conllu"]
            data = [file.read_bytes() for file in files]
            rows.append(
                (
                    len(files),
                    f"{sum(len(Treebank(one)) for one in data):,}",
                    f"{sum(map(len, data)) / 1e6:.1f}",
                    f"{alone:.2f}",
                    f"{ready:.2f}",
                    f"{1000 * edited:.0f}",
                    f"{saved:.2f}",
                    f"{memory:.0f}",
                )
            )
            print(rows[-1], flush=True)
    header = (
        "files",
        "sentences",
        "MB",
        "document, s",
        "command until the page is ready, s",
        "edit, ms",
        "saving the file, s",
        "memory, MB",
    )
    body = table(header, rows)
    print(body)
    if options.write:
        write_section("annotation_files", "Opening large treebanks in arcwise annotate", body)


if __name__ == "__main__":
    main()
