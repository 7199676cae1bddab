"""``arcwise annotate`` in a real browser: from a key to the screen, and keys an arc. ``python -m benchmarks.annotation_page [--write]``.

Needs Chromium (ARCWISE_CHROMIUM, or on the PATH), playwright, and ARCWISE_TREEBANKS. Sentences of English-EWT with every head and label
taken away, the model that comes with arcwise, the server in a process of its own.

Key to screen: words are decided one after the other in sentences of about 50 words; the time runs from the browser's time stamp of the key
until the frame with the drawn change is done (``requestAnimationFrame``, then a message). *Own*: what the key decided is drawn. *SentenceSuggestions*:
so is what the parser thinks after it. Eight keys a second, by Enter or by an alternative (arrow down, Enter): between two keys the page asks
what there is to see after the next Enter, and draws it with the decision. And by Enter as soon as the server has answered, while the browser
still draws: the page has no time to ask, and what the parser thinks comes with the answer, after the change is on the disk. The first
sentence is not counted: a browser compiles the code of a page while it is used.

Keys an arc: an annotator who knows the gold tree goes through the sentences word by word and takes the shortest way that the page offers
(Enter, an alternative by arrow keys, the number of the head, first letters of the label); every key is really pressed and counted, and
what the server has afterwards must be the gold arc.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from measuring.tables import table
from measuring.trainings import read_whole

from arcwise.treebanks import Sentence, Treebank
from benchmarks.report import write_section

PAUSE = 0.125
"""Seconds between two keys of somebody who is quick."""
CHROMIUM = os.environ.get("ARCWISE_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")

MEASURE = """() => {
  window.times = {own: [], known: [], thoughts: []};
  let key = 0, fresh = false;
  document.addEventListener('keydown', (event) => { key = event.timeStamp; fresh = true; }, true);
  const painted = (from, ...lists) => requestAnimationFrame(() => {
    const channel = new MessageChannel();
    channel.port1.onmessage = () => lists.forEach((list) => list.push(performance.now() - from));
    channel.port2.postMessage(0);
  });
  own.state.on('sentence', () => {
    if (!fresh || !own.state.waiting.length) return;
    fresh = false;
    painted(key, times.own, ...(own.state.waiting.at(-1).known ? [times.known] : []));
  });
  own.state.on('changed', (step) => step.known || painted(key, times.thoughts));
}"""

PLAN = """async ([head, label]) => {
  const { completions, inventory, labelWeights } = await import('/static/annotate/completion.js');
  const { state, editor } = own, row = state.row(), arc = editor.arc(), n = state.words.length;
  const values = inventory(state.document, 'deprel');
  const naming = (ofHead) => {
    const guess = state.guess(row.id, ofHead), weights = guess ? new Map([[guess, 1]]) : labelWeights(state.thought(), ofHead);
    let best = [...label.toLowerCase(), 'Enter'];
    for (let k = 1; k <= label.length; k++) {
      const typed = label.slice(0, k).toLowerCase(), at = completions(typed, values, weights).indexOf(label);
      if (/[^a-z]/.test(typed[0]) || at < 0) continue;
      const keys = [...typed, ...Array(at).fill('ArrowDown'), 'Enter'];
      if (keys.length < best.length) best = keys;
    }
    return best;
  };
  if (arc.head === head && arc.label === label) return ['Enter'];
  const ways = [];
  const at = editor.others().findIndex(([h, l]) => String(h) === head && l === label);
  if (at >= 0) ways.push([...Array(at + 1).fill('ArrowDown'), 'Enter']);
  if (arc.head === head) ways.push(naming(head));
  else {
    const digits = [...head], complete = head === '0' || Number(head) * 10 > n;
    if (complete) ways.push(digits); // then it is seen what label the page proposes
    else ways.push([...digits, ...naming(head)]);
  }
  if (!/^[a-z]/i.test(label)) throw new Error(`a label that no letter begins: ${label}`);
  return ways.reduce((a, b) => (b.length < a.length ? b : a));
}"""


def without_trees(sentences: Sequence[Sentence]) -> Treebank:
    """The sentences with all heads and labels open."""
    gold = Treebank.from_sentences(iter(sentences), source="gold")
    n = len(gold.heads)
    return gold.annotate(heads=np.full(n, -1, np.int32), deprel=["_"] * n, strict=False)


@contextlib.contextmanager
def served(sentences: Sequence[Sentence], *arguments: str) -> Iterator[str]:
    """The address of a page over these sentences, without their trees."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "open.conllu"
        without_trees(sentences).write(path)
        line = [sys.executable, "-m", "arcwise", "annotate", str(path), "--no-browser", *arguments]
        with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout is not None
            try:
                yield next(
                    text[text.index("http://") :].split()[0] for text in server.stdout if "http://" in text
                )
            finally:
                server.terminate()


def opened(browser: Any, address: str) -> Any:
    """The page, with its parts as ``own``."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    page.evaluate("async () => { window.own = await window.arcwise; }")
    return page


def settled(page: Any) -> None:
    page.wait_for_function("() => !own.state.waiting.length && !own.state.busy", polling=2)


def key_times(browser: Any, sentences: Sequence[Sentence], pause: float, *keys: str) -> dict[str, np.ndarray]:
    """Milliseconds from the last of the ``keys``, once a word, but for the first sentence: ``own``; ``known`` and ``thoughts``, for words of which
    the page knew and did not know what follows. ``pause``: seconds after a key in which nothing is asked of the browser."""
    with served(sentences, "--model", "en") as address:
        page = opened(browser, address)
        page.evaluate(MEASURE)
        for number, sentence in enumerate(sentences):
            page.evaluate("(n) => own.open(n)", number)
            page.wait_for_function("(n) => own.state.number === n", arg=number)
            if number == 1:
                page.evaluate("Object.values(times).forEach((list) => { list.length = 0; })")
            for _ in range(len(sentence)):
                for key in keys:
                    page.keyboard.press(key)
                    time.sleep(pause)
                settled(page)
        page.wait_for_timeout(100)
        return {name: np.array(found) for name, found in page.evaluate("times").items()}


def keys_of(page: Any, head: str, label: str) -> int:
    """Keys pressed until the selected word has its gold arc."""
    pressed = 0
    row = page.evaluate("own.state.selected")
    done = "([row, head, label]) => { const r = own.state.row(row); return r.head === head && r.deprel === label && r.state === 'decided'; }"
    while not page.evaluate(done, [row, head, label]):
        page.evaluate("(row) => { if (own.state.selected !== row) own.editor.select(row); }", row)
        for key in page.evaluate(PLAN, [head, label]):
            page.keyboard.press(key)
            pressed += 1
        settled(page)
        if pressed > 60:
            raise SystemExit(f"word {row}: {head} {label} cannot be reached")
    return pressed


def key_counts(browser: Any, sentences: Sequence[Sentence], *arguments: str) -> np.ndarray:
    """Keys of each arc with its label."""
    counts = []
    with served(sentences, *arguments) as address:
        page = opened(browser, address)
        for number, sentence in enumerate(sentences):
            page.evaluate("(n) => own.open(n)", number)
            page.wait_for_function("(n) => own.state.number === n", arg=number)
            for word in range(1, len(sentence) + 1):
                page.evaluate("(row) => own.editor.select(row)", str(word))
                counts.append(keys_of(page, str(sentence.heads[word]), sentence.deprels[word - 1]))
    return np.array(counts)


def count_row(name: str, counts: np.ndarray) -> tuple[object, ...]:
    return name, f"{len(counts):,}", f"{np.median(counts):.0f}", f"{counts.mean():.2f}", f"{np.percentile(counts, 90):.0f}", f"{100 * (counts <= 3).mean():.1f}"  # fmt: skip


def time_row(name: str, times: np.ndarray) -> tuple[object, ...]:
    return (
        name,
        f"{len(times):,}",
        *(f"{np.percentile(times, p):.0f}" for p in (50, 95, 99)),
        f"{times.max():.0f}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=40, help="sentences in which keys are counted")
    parser.add_argument(
        "--long", type=int, default=4, help="sentences of about 50 words in which keys are timed"
    )
    parser.add_argument("--write", action="store_true", help="put the tables into RESULTS.md")
    options = parser.parse_args()
    test = read_whole("English-EWT", "test")
    if CHROMIUM is None:
        sys.exit("needs Chromium (ARCWISE_CHROMIUM)")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sys.exit("needs playwright: pip install 'arcwise[test-browser]'")
    long = [s for s in test if 45 <= len(s) <= 55][: options.long + 1]
    some = [s for s in test if len(s) >= 5][: options.sentences]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        times = key_times(browser, long, PAUSE, "Enter")
        others = key_times(browser, long[: 1 + options.long // 2], PAUSE, "ArrowDown", "Enter")
        at_once = key_times(browser, long, 0.0, "Enter")
        counted = key_counts(browser, some, "--model", "en")
        alone = key_counts(browser, some[: max(1, options.sentences // 4)])
        browser.close()
    words = f"{np.mean([len(s) for s in long[1:]]):.0f}"
    body = f"From a key to the screen, in milliseconds, sentences of {words} words on average:\n\n" + table(
        ("drawn", "keys", "median", "95 %", "99 %", "most"),
        [
            time_row("own decision, by Enter", times["own"]),
            time_row("thoughts after it", np.concatenate([times["known"], times["thoughts"]])),
            time_row("own decision, another arc than the proposed one", others["own"]),
            time_row("thoughts after it", np.concatenate([others["known"], others["thoughts"]])),
            time_row("own decision, by Enter without a pause", at_once["own"]),
            time_row("thoughts after it", np.concatenate([at_once["known"], at_once["thoughts"]])),
        ],
    )
    body += "\nKeys an arc with label, every word by itself:\n\n" + table(
        ("English-EWT test", "arcs", "median", "mean", "90 %", "of at most 3 keys, %"),
        [
            count_row("with the model en", counted),
            count_row("of these, where the proposal was wrong", counted[counted > 1]),
            count_row("without a model", alone),
        ],
    )
    print(body)
    if options.write:
        write_section("annotation_page", "The page of arcwise annotate", body)


if __name__ == "__main__":
    main()
