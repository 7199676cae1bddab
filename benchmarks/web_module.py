"""The WebAssembly module in Chromium: words per second in one tab, time to the first parse, sizes.

    python -m benchmarks.web_module [--write]

Needs Chromium (ARCWISE_CHROMIUM, or on the PATH), playwright, the module (``make web-module``) and
ARCWISE_TREEBANKS. The text is that of the development data of English-EWT, parsed paragraph by paragraph and
as a whole. The machine may be busy: the best of several rounds counts, and the processor time of the tab's
process stands beside the time on the clock. Every load is that of a new tab without a cache, over HTTP from
the same machine.
"""

from __future__ import annotations

import argparse
import gzip
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measuring.tables import table
from measuring.trainings import read_whole
from tests.web.browser.web_module import LOAD, ROOT, build_module, missing_part, script, served

from arcwise.text.plain_text import plain_text
from benchmarks.report import write_section

CHROMIUM = os.environ.get("ARCWISE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
MODEL = "en-web.arcwise.gz"
FIRST = "I saw the man with a telescope."
PARSE = """([texts]) => {
  const start = performance.now();
  let words = 0;
  for (const text of texts) {
    for (const sentence of parser.parse(text).sentences) words += sentence.words.length;
  }
  return [words, performance.now() - start];
}"""
TIMED_LOAD = f"""async ([address, model, text]) => {{
  const start = performance.now();
  await ({LOAD})([address, model]);
  const loaded = performance.now();
  parser.parse(text);
  return [loaded - start, performance.now() - loaded];
}}"""


@dataclass(frozen=True)
class Cost:
    """Milliseconds on the clock and of the processor."""

    clock: float
    processor: float


class Browser:
    """Chromium, whose tabs load the module from a server of this machine."""

    def __init__(self, chromium: Any, address: str) -> None:
        self.chromium = chromium
        self.address = address
        self.processes = chromium.new_browser_cdp_session()

    def tab(self) -> Any:
        """A new tab in a context of its own."""
        page = self.chromium.new_context().new_page()
        page.goto(f"{self.address}/index.html")
        return page

    def processor_time(self) -> float:
        """Seconds of processor time of all tabs so far."""
        information = self.processes.send("SystemInfo.getProcessInfo")["processInfo"]
        return float(sum(process["cpuTime"] for process in information if process["type"] == "renderer"))

    def loads(self, rounds: int) -> tuple[Cost, float]:
        """The best load and the best first parse (milliseconds) of new tabs."""
        loads, firsts = [], []
        for _ in range(rounds):
            page = self.tab()
            before = self.processor_time()
            load, first = page.evaluate(TIMED_LOAD, [self.address, MODEL, FIRST])
            loads.append(Cost(load, 1000 * (self.processor_time() - before)))
            firsts.append(first)
            page.context.close()
        return Cost(min(cost.clock for cost in loads), min(cost.processor for cost in loads)), min(firsts)

    def speed(self, texts: Sequence[str], rounds: int) -> tuple[int, Cost]:
        """Words of the texts, and the best cost of parsing them one by one."""
        page = self.tab()
        page.evaluate(LOAD, [self.address, MODEL])
        page.evaluate(PARSE, [texts[:20]])
        costs, words = [], 0
        for _ in range(rounds):
            before = self.processor_time()
            words, clock = page.evaluate(PARSE, [list(texts)])
            costs.append(Cost(clock, 1000 * (self.processor_time() - before)))
        page.context.close()
        return words, Cost(min(cost.clock for cost in costs), min(cost.processor for cost in costs))


def sizes(folder: Path) -> dict[str, float]:
    """Megabytes of page, module and model, packed by gzip."""

    def packed(*paths: Path) -> float:
        return sum(len(gzip.compress(path.read_bytes(), 9)) for path in paths) / 1e6

    static = ROOT / "docs" / "site" / "static"
    page = [static / name for name in ("demo.js", "demo.css", "demo-problem.js")]
    return {
        "page": packed(*page, *script("docs/site/build.py").drawing_files(), folder / "arcwise.js"),
        "module": packed(folder / "arcwise.wasm"),
        "model": (folder / MODEL).stat().st_size / 1e6,
    }


def measure(folder: Path, rounds: int) -> str:
    """The section of RESULTS.md."""
    from playwright.sync_api import sync_playwright

    paragraphs = [
        text for text in plain_text(read_whole("English-EWT", "dev")).text.split("\n") if text.strip()
    ]
    whole = "\n".join(paragraphs)[:60_000]
    with tempfile.TemporaryDirectory() as site, sync_playwright() as playwright:
        for name in ("arcwise.js", "arcwise.wasm", MODEL):
            shutil.copy2(folder / name, Path(site) / name)
        (Path(site) / "index.html").write_text("<!doctype html><title>Empty</title>")
        with served(Path(site)) as address:
            chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
            browser = Browser(chromium, address)
            load, first = browser.loads(rounds)
            by_paragraph = browser.speed(paragraphs[:150], rounds)
            at_once = browser.speed([whole], rounds)
            version = chromium.version
            chromium.close()
    size = sizes(folder)
    rows = [
        ["page, module and model, packed", f"{sum(size.values()):.2f} MB", "", "≤ 8 MB"],
        [
            "load: fetch, unpack, compile, read the model",
            f"{load.clock:.0f} ms",
            f"{load.processor:.0f} ms",
            "",
        ],
        ["first parse after load", f"{first:.0f} ms", "", "≤ 1,000 ms"],
    ]
    for name, (words, cost) in (("paragraph by paragraph", by_paragraph), ("one long text", at_once)):
        rows.append(
            [
                f"words/s, {name} ({words:,} words)",
                f"{1000 * words / cost.clock:,.0f}",
                f"{1000 * words / cost.processor:,.0f}",
                "≥ 3,000",
            ]
        )
    busy = f"Other programs ran: a load of {os.getloadavg()[1]:.0f} on {os.cpu_count()} cores."
    parts = ", ".join(f"{name} {megabytes:.2f} MB" for name, megabytes in size.items())
    return (
        f"The WebAssembly module in one tab of Chromium {version}, with the model `en-web` "
        f"(`recipes/web_model.py`); the best of {rounds} rounds.\n\n"
        + table(["", "on the clock", "processor", "target"], rows)
        + f"\nPacked by gzip: {parts}. {busy}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write the section of RESULTS.md")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    if missing := missing_part() or ("" if CHROMIUM else "needs Chromium"):
        sys.exit(f"benchmarks.web_module: {missing}")
    section = measure(build_module(), options.rounds)
    print(section)
    if options.write:
        write_section("web_module", "In the browser", section)


if __name__ == "__main__":
    main()
