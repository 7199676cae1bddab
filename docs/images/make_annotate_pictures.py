"""Screenshots of the annotation page for docs/tutorials/a-treebank-from-nothing.md and README.

``python docs/images/make_annotate_pictures.py [FOLDER]`` writes them beside this file, or to FOLDER. It needs
Chromium (ARCWISE_CHROMIUM, or on the PATH) and ``pip install 'arcwise[web,test-browser]'``.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SAMPLE = ROOT / "src" / "arcwise" / "data" / "sample-gold.conllu"
SIZE = {"width": 1280, "height": 600}
KNOWN = [3, 5, 5, 99, 99, 99]
"""Of each sentence of the sample, the words whose arcs are decided in the picture."""


def main(folder: Path) -> None:
    """Make all of them."""
    sys.path[:0] = [str(ROOT / "tests")]
    from playwright.sync_api import sync_playwright

    from web.browser.driver import CHROMIUM

    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as made:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        context = browser.new_context(viewport=SIZE, color_scheme="light")
        file = Path(made) / "tavi.conllu"
        alone(context, file, folder)
        with_another(context, file, folder)
        context = browser.new_context(viewport={"width": 1280, "height": 590}, device_scale_factor=1.5)
        overview(context, file.with_name("sample.conllu"), folder)
        browser.close()


def alone(context: Any, file: Path, folder: Path) -> None:
    """From nothing to a checked treebank."""
    from docs.tavi import ALL_BUT_LATER, BY_HAND, GOLD, annotate, blocks, pressed, said, sentences
    from web.browser.driver import Tab
    from web.browser.test_page_tutorial import paste
    from web.served import process

    gold = sentences(GOLD)
    with process(file, "--new") as server:
        tab = Tab(context, server)
        paste(tab, blocks("text")[0], ALL_BUT_LATER)
        tags, arcs = pressed()
        tab.press(*tags)
        tab.press(*arcs[:8])  # the label of the fourth word is being typed
        picture(tab, folder / "nothing-arcs.png")

        annotate(server, 0, gold[0])
        tab.page.reload()
        tab.ready()
        tab.press("Shift+N")
        tab.page.wait_for_function("() => own.state.number === 1")
        tab.select("3")
        tab.press("Shift+S")
        tab.page.locator("input:focus").fill(said(r"type `(.+?)` and press"))
        picture(tab, folder / "nothing-token.png")
        tab.press("Enter")

        for number in range(1, BY_HAND):
            annotate(server, number, gold[number])
        tab.page.reload()
        tab.ready()
        tab.press("Shift+A")
        tab.press("Enter")
        tab.page.wait_for_function("() => own.state.document.model", timeout=120000)
        tab.press("Escape", "Shift+O")
        tab.page.locator("#worklist-by").select_option("gain")
        tab.page.wait_for_function("() => document.querySelectorAll('#side-worklist li').length === 4")
        tab.page.locator("#side-worklist li button").first.click()
        tab.page.wait_for_function("() => own.state.number >= 20")
        tab.page.locator("#tree").focus()
        picture(tab, folder / "nothing-worklist.png")

        for number in range(BY_HAND, ALL_BUT_LATER):
            annotate(server, number, gold[number])
        tab.page.reload()
        tab.ready()
        paste(tab, blocks("text")[1], len(gold))
        tab.page.wait_for_function(f"() => own.state.number === {ALL_BUT_LATER}")
        tab.page.wait_for_function("() => own.state.sentence.thoughts !== null")
        tab.select("4")
        picture(tab, folder / "nothing-more.png")

        for number in range(ALL_BUT_LATER, len(gold)):
            annotate(server, number, gold[number])
        server.set(20, "2", deprel="nsbj")
        tab.page.reload()
        tab.ready()
        tab.press("Shift+K")
        tab.page.locator("#side-checks .item").first.click()
        tab.page.wait_for_function("() => own.state.number === 20 && own.state.selected === '2'")
        picture(tab, folder / "nothing-check.png")
        tab.press(".")
        tab.page.close()
        server.end(2)


def with_another(context: Any, file: Path, folder: Path) -> None:
    """The file of a second person beside it."""
    from docs.tavi import SECOND
    from web.browser.driver import Tab
    from web.served import process

    second = file.with_name(SECOND.name)
    shutil.copy(SECOND, second)
    with process(file, "--beside", str(second)) as server:
        tab = Tab(context, server)
        tab.press("Shift+B")
        tab.page.locator("#side-compare section button.link").first.click()
        tab.page.wait_for_function("() => own.state.number === 6")
        picture(tab, folder / "nothing-beside.png")
        tab.page.close()
        server.end(2)


def overview(context: Any, file: Path, folder: Path) -> None:
    """The sample of arcwise, some of its words open, with the model that comes along."""
    from web.browser.driver import Tab
    from web.served import process

    rows = [line.split("\t") for line in SAMPLE.read_text("utf-8").splitlines()]
    sentence = 0
    for row in rows:
        sentence += row == [""]
        if len(row) == 10 and row[0].isdigit() and int(row[0]) > KNOWN[sentence]:
            row[6:8] = "_", "_"
    file.write_text("\n".join(map("\t".join, rows)) + "\n", "utf-8")
    with process(file, "--model", "en") as server:
        tab = Tab(context, server)
        tab.page.wait_for_function("() => own.state.sentence.thoughts !== null")
        tab.select("10")
        picture(tab, folder / "annotate.png")
        tab.page.close()
        server.end(2)


def picture(tab: Any, path: Path) -> None:
    """What the page shows once it is at rest, without the line at its foot that comes and goes."""
    tab.settled()
    tab.page.wait_for_function("() => own.views.worklist.ready || own.state.view.side !== 'worklist'")
    tab.page.wait_for_function("() => own.views.checks.bar.hidden", timeout=120_000)
    tab.page.evaluate("document.getElementById('message').hidden = true")
    tab.page.wait_for_timeout(600)
    tab.page.screenshot(path=str(path), animations="disabled")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE)
