"""``arcwise annotate`` in a real browser: latency from key press to screen, and key presses per arc.

    python -m benchmarks.annotation_page [--write]

Needs Chromium (ARCWISE_CHROMIUM, or on the PATH), playwright, and ARCWISE_TREEBANKS. Sentences of
English-EWT without heads and labels, the model shipped with arcwise, the server in a separate process.

Latency: words of sentences of about 50 words are decided one after the other; the clock runs from the
browser's time stamp of the key until the frame with the change is painted (``requestAnimationFrame``, then a
message). *Own*: the annotator's decision is painted. *Suggestions*: so are the parser's new suggestions.
Eight keys per second, with Enter or with an alternative (arrow down, Enter): between two keys the page
prefetches the suggestions that follow the next Enter and paints them with the decision. Also with Enter as
soon as the server has answered, while the browser still paints: the page has no time to prefetch, and
suggestions arrive with the response, after the change is on disk. *All suggestions*: the sentences have no
tags either, and the rows below the words show the suggested UPOS, XPOS, FEATS and LEMMA with their
confidences. The first sentence is not counted: the browser compiles the page's code during it.

Keys per arc: an annotator who knows the gold tree goes through the sentences word by word and takes the
shortest path the page offers (Enter, an alternative with arrow keys, the number of the head, first letters
of the label); every key is really pressed and counted, and the server must have the gold arc afterwards.
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
"""Seconds between two keys of a fast annotator."""
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
    const guess = state.guess(row.id, ofHead);
    const weights = guess ? new Map([[guess, 1]]) : labelWeights(state.thought(), ofHead);
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


def without_trees(sentences: Sequence[Sentence], *, tags: bool = True) -> Treebank:
    """Remove all heads and labels; with ``tags=False``, also lemmas, tags and features."""
    gold = Treebank.from_sentences(iter(sentences), source="gold")
    n = len(gold.heads)
    blank = ["_"] * n
    if not tags:
        gold = gold.annotate(lemma=blank, upos=blank, xpos=blank, feats=blank)
    return gold.annotate(heads=np.full(n, -1, np.int32), deprel=blank, strict=False)


@contextlib.contextmanager
def served(sentences: Sequence[Sentence], *arguments: str, tags: bool = True) -> Iterator[str]:
    """Serve the sentences without their trees; yields the address of the page."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "open.conllu"
        without_trees(sentences, tags=tags).write(path)
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
    """Open the page and expose its parts as ``own``."""
    page = browser.new_page(viewport={"width": 1400, "height": 900})
    page.goto(address)
    page.wait_for_selector("html[data-ready]")
    page.evaluate("async () => { window.own = await window.arcwise; }")
    return page


def settled(page: Any) -> None:
    page.wait_for_function("() => !own.state.waiting.length && !own.state.busy", polling=2)


def key_times(
    browser: Any, sentences: Sequence[Sentence], pause: float, *keys: str, tags: bool = True
) -> dict[str, np.ndarray]:
    """Milliseconds from the last of ``keys`` to the screen, once per word, without the first sentence.

    ``own``: the decision; ``known`` and ``thoughts``: the suggestions of words with and without prefetched
    suggestions. ``pause``: seconds after a key during which the browser is left alone. ``tags``: false to
    have lemmas, tags and features suggested, too, and shown below the words.
    """
    with served(sentences, "--model", "en", tags=tags) as address:
        page = opened(browser, address)
        if not tags:
            page.evaluate("own.state.look({ rows: ['upos', 'xpos', 'feats', 'lemma'] })")
            page.wait_for_selector("#tree .tag.lemma.proposed")
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
        return {name: np.array(milliseconds) for name, milliseconds in page.evaluate("times").items()}


def keys_of(page: Any, head: str, label: str) -> int:
    """Press keys until the selected word has its gold arc; returns their number."""
    pressed = 0
    row = page.evaluate("own.state.selected")
    done = (
        "([row, head, label]) => { const r = own.state.row(row); return r.head === head && r.deprel === "
        "label && r.state === 'decided'; }"
    )
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
    """Number of keys for each labelled arc."""
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
    return (
        name,
        f"{len(counts):,}",
        f"{np.median(counts):.0f}",
        f"{counts.mean():.2f}",
        f"{np.percentile(counts, 90):.0f}",
        f"{100 * (counts <= 3).mean():.1f}",
    )


def time_row(name: str, times: np.ndarray) -> tuple[object, ...]:
    return (
        name,
        f"{len(times):,}",
        *(f"{np.percentile(times, p):.0f}" for p in (50, 95, 99)),
        f"{times.max():.0f}",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sentences", type=int, default=40, help="sentences for counting keys")
    parser.add_argument("--long", type=int, default=4, help="sentences of about 50 words for timing keys")
    parser.add_argument("--write", action="store_true", help="write the tables to RESULTS.md")
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
        alternatives = key_times(browser, long[: 1 + options.long // 2], PAUSE, "ArrowDown", "Enter")
        at_once = key_times(browser, long, 0.0, "Enter")
        untagged = key_times(browser, long, PAUSE, "Enter", tags=False)
        counted = key_counts(browser, some, "--model", "en")
        alone = key_counts(browser, some[: max(1, options.sentences // 4)])
        browser.close()
    words = f"{np.mean([len(s) for s in long[1:]]):.0f}"
    body = f"Latency from key to screen in milliseconds, sentences of {words} words on average:\n\n" + table(
        ("drawn", "keys", "median", "95 %", "99 %", "most"),
        [
            time_row("own decision, with Enter", times["own"]),
            time_row("suggestions after it", np.concatenate([times["known"], times["thoughts"]])),
            time_row("own decision, other than the suggested arc", alternatives["own"]),
            time_row(
                "suggestions after it", np.concatenate([alternatives["known"], alternatives["thoughts"]])
            ),
            time_row("own decision, with Enter without a pause", at_once["own"]),
            time_row("suggestions after it", np.concatenate([at_once["known"], at_once["thoughts"]])),
            time_row("own decision, with Enter, all suggestions shown", untagged["own"]),
            time_row("suggestions after it", np.concatenate([untagged["known"], untagged["thoughts"]])),
        ],
    )
    body += "\nKeys per labelled arc, every word decided separately:\n\n" + table(
        ("English-EWT test", "arcs", "median", "mean", "90 %", "at most 3 keys, %"),
        [
            count_row("with the model en", counted),
            count_row("of these, where the suggestion was wrong", counted[counted > 1]),
            count_row("without a model", alone),
        ],
    )
    print(body)
    if options.write:
        write_section("annotation_page", "The annotation page", body)


if __name__ == "__main__":
    main()
