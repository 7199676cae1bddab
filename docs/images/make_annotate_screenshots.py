"""Screenshots of every state of the annotation page, to look at after a change of its looks.

``python docs/images/make_annotate_screenshots.py FOLDER [NAME …]`` writes FOLDER/NAME.png for each state:
light and dark, wide, narrow and as narrow as a phone, right-to-left, 120 words, 5,000 sentences, each panel.
It needs Chromium (ARCWISE_CHROMIUM, or on the PATH) and ``pip install 'arcwise[web,test-browser]'``.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "src" / "arcwise" / "data" / "sample-gold.conllu"
WIDE, NARROW, PHONE = (1400, 850), (700, 900), (390, 844)


def sample(*, tags: bool = True) -> str:
    """The sample of arcwise, its words from the fifth on unannotated."""
    lines = []
    for line in SAMPLE.read_text("utf-8").splitlines():
        row = line.split("\t")
        if len(row) == 10 and row[0].isdigit() and int(row[0]) > 4:
            row[6:8] = "_", "_"
            if not tags:
                row[2:6] = ["_"] * 4
        lines.append("\t".join(row))
    return "\n".join(lines) + "\n"


def chain(forms: list[str], sent_id: str) -> str:
    """A sentence with a plausible tree and no model."""
    rows = [
        "\t".join([str(i), form, "_", "NOUN" if i % 3 else "VERB", "_", "_", *_arc(i, len(forms)), "_", "_"])
        for i, form in enumerate(forms, 1)
    ]
    return "\n".join([f"# sent_id = {sent_id}", f"# text = {' '.join(forms)}", *rows]) + "\n\n"


def _arc(word: int, words: int) -> tuple[str, str]:
    if word == 3:
        return "0", "root"
    if word % 3 == 0:
        return str(max(3, word - 3)), "conj"
    return str(min(words - words % 3, word + 3 - word % 3)), "nmod"


LONG = ["winter", "and", "the", "river", "of", "stones", "beyond", "a", "gate"]
HEBREW = ["הילדה", "הקטנה", "קראה", "ספר", "ישן", "בגינה", "ליד", "הבית"]


def finds(tab: Any) -> None:
    """Search hits."""
    tab.press("/")
    tab.type("upos=NOUN")
    tab.press("Enter")
    tab.page.locator("#side-search .item").first.wait_for()


def opens(name: str) -> Callable[[Any], None]:
    """A side panel."""
    return lambda tab: tab.page.locator(f"#tab-{name}").click()


def runs(*keys: str) -> Callable[[Any], None]:
    """Keys."""
    return lambda tab: [tab.page.keyboard.press(key) for key in keys] and tab.page.wait_for_timeout(300)


def looks(settings: str, *keys: str) -> Callable[[Any], None]:
    """View settings, then keys."""

    def act(tab: Any) -> None:
        tab.page.evaluate(f"own.state.look({settings})")
        runs(*keys)(tab)

    return act


ROWS = "{ rows: ['upos', 'xpos', 'feats', 'lemma'] }"


@dataclass(frozen=True)
class State:
    """One screenshot."""

    conllu: str
    act: Callable[[Any], Any] = lambda tab: None
    size: tuple[int, int] = WIDE
    dark: bool = False
    model: bool = True
    word: str | None = "6"


LONG_TEXT = chain([LONG[i % len(LONG)] for i in range(120)], "long")
RIGHT = chain(HEBREW, "rtl")
STATES: dict[str, State] = {
    "light": State(sample()),
    "dark": State(sample(), dark=True),
    "narrow": State(sample(), size=NARROW),
    "phone": State(sample(), size=PHONE),
    "phone-dark": State(sample(), size=PHONE, dark=True),
    "rows": State(sample(tags=False), looks(ROWS)),
    "rows-dark": State(sample(tags=False), looks(ROWS), dark=True),
    "table": State(sample(tags=False), runs("Shift+E", "Escape")),
    "threshold": State(sample(tags=False), runs("Shift+Q")),
    "features": State(sample(tags=False), runs("Shift+F")),
    "label": State(sample(), runs("n")),
    "right-to-left": State(RIGHT, model=False, word="4"),
    "right-to-left-vertical": State(RIGHT, looks("{ vertical: true }"), model=False, word="4"),
    "long": State(LONG_TEXT, model=False, word="9"),
    "long-fit": State(LONG_TEXT, runs("Shift+Z"), model=False, word="9"),
    "long-vertical": State(LONG_TEXT, looks("{ vertical: true }"), model=False, word="9"),
    "vertical": State(sample(), looks("{ vertical: true, rows: ['upos', 'feats', 'lemma'] }")),
    "vertical-phone": State(sample(), looks("{ vertical: true }"), size=PHONE),
    "help": State(sample(), runs("?")),
    "menu": State(sample(), lambda tab: tab.page.locator("#word-6").click(button="right")),
    "checks": State(sample().replace("\tnsubj\t", "\tnsbj\t"), opens("checks")),
    "search": State(sample(), finds),
    "notes": State(sample(), opens("notes")),
    "training": State(sample(), opens("training")),
    "many": State("".join(chain(LONG, f"s{i}") for i in range(5000)), model=False, word="3"),
}


def main(folder: Path, names: list[str]) -> None:
    """Make all of them, or those named."""
    sys.path[:0] = [str(ROOT / "tests")]
    from playwright.sync_api import sync_playwright

    from web.browser.driver import CHROMIUM, Tab
    from web.browser.here import served_here

    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as made:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for name in names or list(STATES):
            state = STATES[name]
            file = Path(made) / f"{name}.conllu"
            file.write_text(state.conllu, "utf-8")
            with served_here(file, model=state.model) as server:
                width, height = state.size
                scheme = "dark" if state.dark else "light"
                context = browser.new_context(
                    viewport={"width": width, "height": height}, color_scheme=scheme
                )
                tab = Tab(context, server)
                if state.word is not None:
                    tab.select(state.word)
                tab.page.wait_for_timeout(300)
                state.act(tab)
                tab.page.wait_for_timeout(500)
                tab.page.screenshot(path=str(folder / f"{name}.png"), animations="disabled")
                context.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
