"""A folder of files in the page: one list of sentences, progress of each file, undo across files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from web.browser.driver import BIRDS, GARDEN, Tab, written


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "treebank"
    (made / "more").mkdir(parents=True)
    (made / "a.conllu").write_text(BIRDS + GARDEN, "utf-8")
    (made / "more" / "b.conllu").write_text(GARDEN, "utf-8")
    return made


@pytest.fixture
def tab(browser: Any, folder: Path) -> Iterator[Tab]:
    from web.browser.here import served_here

    with served_here(folder) as own:
        context = browser.new_context(viewport={"width": 1300, "height": 850})
        made = Tab(context, own)
        yield made
        assert made.errors == []
        context.close()


def files(tab: Tab) -> list[str]:
    tab.page.click("#tab-files")
    tab.page.wait_for_function(
        "() => document.querySelector('#side-files .item') && "
        "!document.querySelector('#side-files').textContent.includes('…')"
    )
    texts = (
        "(items) => items.map((item) => [...item.children].map((part) => part.textContent).join(' ').trim())"
    )
    return list(tab.page.locator("#side-files .item").evaluate_all(texts))


def test_files_with_their_progress(tab: Tab) -> None:
    assert tab.page.locator("#name").inner_text() == "treebank"
    assert "a.conllu" in tab.page.locator("#sent-id").inner_text()
    assert files(tab) == ["a.conllu 1/2", "more/b.conllu 0/1"]
    assert (
        tab.page.locator("#side-files .line").inner_text().startswith("2 files, 1 of 3 sentences annotated")
    )
    tab.page.locator("#side-files .item").nth(1).click()
    tab.page.wait_for_function("() => own.state.number === 2")
    assert tab.page.locator("#sent-id").inner_text() == "more/b.conllu · garden"
    assert tab.page.locator("#side-files [aria-current]").inner_text().split()[0] == "more/b.conllu"
    tab.page.locator("#side-files .item").first.click()  # to the first unfinished sentence
    tab.page.wait_for_function("() => own.state.number === 1")


def test_an_edit_goes_to_its_file_and_undo_through_all(tab: Tab, folder: Path) -> None:
    tab.page.evaluate("own.open(2)")
    tab.page.wait_for_function("() => own.state.number === 2")
    tab.page.focus("#tree")
    tab.press("3")
    tab.page.evaluate("own.open(1)")
    tab.page.wait_for_function("() => own.state.number === 1")
    tab.page.focus("#tree")
    tab.press("3")
    tab.press("Control+s")
    tab.page.wait_for_function("() => document.getElementById('saved').textContent.includes('Saved to file')")
    assert written(folder / "more" / "b.conllu")[0][6] == "3"
    tab.press("Shift+U", "Shift+U")
    tab.page.wait_for_function("() => own.state.number === 2 && own.state.row('1').head === '_'")


def test_sentences_are_added_to_a_file(tab: Tab, folder: Path) -> None:
    files(tab)
    tab.page.locator("#side-files .add").first.click()
    tab.page.fill("dialog textarea", "A new sentence .")
    tab.page.get_by_role("button", name="Insert").click()
    tab.page.wait_for_function("() => own.state.number === 2 && own.state.document.sentences === 4")
    assert tab.page.locator("#sent-id").inner_text().startswith("a.conllu")
    tab.page.wait_for_function("() => document.querySelector('#side-files').textContent.includes('1/3')")
    assert files(tab) == ["a.conllu 1/3", "more/b.conllu 0/1"]


def test_search_covers_all_files(tab: Tab) -> None:
    answer = tab.page.evaluate("own.state.api.post('search', {query: 'upos=VERB', from: 0, count: 10})")
    assert answer["total"] == 3
