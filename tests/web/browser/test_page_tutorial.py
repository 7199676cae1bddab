"""docs/tutorials/a-treebank-from-nothing.md with its keys, in a real browser."""

from __future__ import annotations

from pathlib import Path

from docs.latin import TUTORIALS, annotate, asked, bare, blocks, pressed, said, sentences
from web.browser.driver import OpenPage, Tab

LATIN = TUTORIALS / "latin" / "latin.conllu"
BY_HAND = 20


def pasted(open_page: OpenPage) -> Tab:
    """A new treebank with the text of the tutorial."""
    tab: Tab = open_page("")
    tab.page.get_by_role("button", name="Add sentences").click()
    tab.page.locator("dialog textarea").fill(blocks("text")[0])
    tab.page.get_by_role("button", name="Insert").click()
    tab.page.wait_for_function("() => own.state.document.sentences === 30 && own.state.words.length === 4")
    return tab


def arcs(tab: Tab, number: int) -> list[list[str]]:
    return [[row[c] for c in ("upos", "head", "deprel")] for row in tab.process.sentence(number)["rows"]]


def test_text_and_keys_make_the_first_sentence(open_page: OpenPage, tmp_path: Path) -> None:
    tab = pasted(open_page)
    tab.process.post("/api/save")
    assert (tmp_path / "a.conllu").read_text("utf-8") == bare(LATIN)
    tags, decided = pressed()
    tab.press(*tags)
    tab.press(*decided)
    assert arcs(tab, 0) == [
        ["NOUN", "3", "nsubj"],
        ["NOUN", "3", "obj"],
        ["VERB", "0", "root"],
        ["PUNCT", "3", "punct"],
    ]

    tab.press("/")
    tab.type(said("search `(.+?)`"))
    tab.page.get_by_text("Mass edit").click()
    tab.page.locator("#search-changes").fill(said(r"\*Mass edit\*, change to `(.+?)`"))
    tab.page.get_by_role("button", name="Preview").click()
    tab.page.get_by_role("button", name="Apply").click()
    tab.page.wait_for_function("() => own.state.row('4').upos === 'PUNCT'")
    tab.press("Escape", "Shift+N")
    tab.page.wait_for_function("() => own.state.number === 1 && own.state.row('4').upos === 'PUNCT'")
    tab.press(*tags[:-4], "Home")
    tab.press(*decided)  # the same guesses are right, and the same one wrong
    assert arcs(tab, 1) == arcs(tab, 0)


def test_training_worklist_and_answers(open_page: OpenPage) -> None:
    tab, gold = pasted(open_page), sentences(LATIN)
    for number in range(BY_HAND):
        annotate(tab.process, number, gold[number])
    tab.press("Shift+A", "Enter")
    tab.page.wait_for_function("() => own.state.document.model", timeout=60000)
    tab.press("Escape", "Shift+O")
    tab.page.locator("#worklist-by").select_option("gain")
    tab.page.wait_for_function("() => document.querySelectorAll('#side-worklist li').length === 10")
    tab.page.locator("#side-worklist li button").first.click()
    tab.page.wait_for_function("() => own.state.number === 26")
    tab.page.locator("#tree").focus()
    assert tab.selected == "2"
    tab.press(*asked())
    assert arcs(tab, 26)[1:3] == [["_", "3", "cc"], ["_", "1", "conj"]]
    tab.press("Shift+Y", "Control+Enter")
    assert arcs(tab, 26) == [
        [u, str(h), d] for u, h, d in zip(gold[26].upos, gold[26].heads[1:], gold[26].deprels, strict=True)
    ]
