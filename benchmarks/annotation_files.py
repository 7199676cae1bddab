"""How long ``arcwise annotate`` takes until a large treebank can be edited, and its memory. ``python -m benchmarks.annotation_files [--write]``.

English-EWT (ARCWISE_TREEBANKS), its first 5,000 sentences, and its training data again and again until the file has 77 MB. The command runs in
a process of its own, without a model; the time runs from its start until its server has answered with the whole document and the sentence in
the middle, and then for one edit in the middle. *AnnotationDocument* is the same without command and server: the file opened, the sentence in the middle read.
Memory is the largest that the process ever had, after the edit was written to the file.
"""

from __future__ import annotations

import argparse
import http.client
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

from measuring.tables import table
from measuring.trainings import read_whole

from arcwise.annotation.document import AnnotationDocument
from arcwise.treebanks import Treebank
from benchmarks.report import write_section

LARGE = 77_000_000
SENTENCES = 5000


class AnnotateRequest:
    """A server that is asked."""

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
    """Seconds until a document is there with a sentence of its middle."""
    start = time.perf_counter()
    document = AnnotationDocument.open(path)
    document.sentence(len(document) // 2)
    taken = time.perf_counter() - start
    document.close()
    return taken


def served(path: Path) -> tuple[float, float, float, float]:
    """Seconds until the page has what it shows first, of one edit, and of writing the file; megabytes."""
    line = [sys.executable, "-m", "arcwise", "annotate", str(path), "--no-browser"]
    start = time.perf_counter()
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            told = next(text for text in server.stdout if "http://" in text)
            own = AnnotateRequest(told[told.index("http://") :].split()[0])
            middle = own.ask("GET", "document")["sentences"] // 2
            sentence = own.ask("GET", f"sentence/{middle}")
            ready = time.perf_counter() - start
            edit = {"kind": "set-field", "row": "1", "column": "misc", "value": "Checked=Yes"}
            start = time.perf_counter()
            own.ask("POST", f"sentence/{middle}/edits", {"version": sentence["version"], "edits": [edit]})
            edited = time.perf_counter() - start
            start = time.perf_counter()
            own.ask("POST", "save", {})
            saved = time.perf_counter() - start
            status = Path(f"/proc/{server.pid}/status").read_text().splitlines()
            memory = next(float(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024
        finally:
            server.terminate()
    return ready, edited, saved, memory


def main() -> None:
    """The table, on standard output or in RESULTS.md."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the table into RESULTS.md")
    parser.add_argument("--rounds", type=int, default=3, help="the quickest of so many is told")
    options = parser.parse_args()
    train = read_whole("English-EWT", "train")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        again = (train.data * (LARGE // len(train.data) + 1))[:LARGE]
        for data in (train[:SENTENCES].data, again[: again.rindex(b"\n\n") + 2]):
            path = Path(folder) / "treebank.conllu"
            path.write_bytes(data)
            alone = min(opened(path) for _ in range(options.rounds))
            ready, edited, saved, memory = (
                min(values) for values in zip(*(served(path) for _ in range(options.rounds)), strict=True)
            )
            count = len(Treebank(data))
            rows.append((f"{count:,}", f"{len(data) / 1e6:.1f}", f"{alone:.2f}", f"{ready:.2f}", f"{1000 * edited:.0f}", f"{saved:.2f}", f"{memory:.0f}"))  # fmt: skip
            print(rows[-1], flush=True)
    header = ("sentences", "MB", "document, s", "command until the page is there, s", "an edit, ms", "writing the file, s", "memory, MB")  # fmt: skip
    body = table(header, rows)
    print(body)
    if options.write:
        write_section("annotation_files", "Opening large treebanks in arcwise annotate", body)


if __name__ == "__main__":
    main()
