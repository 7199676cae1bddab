"""docs/tutorials/a-treebank-from-nothing.md with its keys, in a real browser."""

from __future__ import annotations

from pathlib import Path

from docs.tavi import ALL_BUT_LATER, BY_HAND, GOLD, annotate, asked, blocks, pressed, said, sentences
from docs.tavi import surface_tokens as tokens_of
from web.browser.driver import OpenPage, Tab


def paste(tab: Tab, text: str, sentences: int) -> None:
    """Add sentences as plain text."""
    if tab.process.get("/api/document").json()["sentences"]:
        tab.command(said(r"`:`, type \*(.+?)\*"))
    else:
        tab.page.get_by_role("button", name="Add sentences").click()
    tab.page.locator("dialog textarea").fill(text)
    tab.page.get_by_role("button", name="Insert").click()
    tab.page.wait_for_function(f"() => own.state.document.sentences === {sentences}")
    tab.page.wait_for_function("() => own.state.words.length > 0 && !document.querySelector('dialog[open]')")
    tab.settled()


def pasted(open_page: OpenPage) -> Tab:
    """A new treebank with the first text of the tutorial."""
    tab: Tab = open_page("")
    paste(tab, blocks("text")[0], ALL_BUT_LATER)
    return tab


def arcs(tab: Tab, number: int) -> list[list[str]]:
    rows = [row for row in tab.process.sentence(number)["rows"] if row["kind"] == "word"]
    return [[row[c] for c in ("upos", "head", "deprel")] for row in rows]


def test_text_and_keys_make_the_first_sentences(open_page: OpenPage, tmp_path: Path) -> None:
    tab = pasted(open_page)
    tab.process.post("/api/save")
    rows = (tmp_path / "a.conllu").read_text("utf-8").split("\n\n")[0].splitlines()[2:]
    assert "\n".join(rows) == tokens_of(sentences(GOLD)[0])
    tags, decided = pressed()
    tab.press(*tags)
    tab.press(*decided)
    assert arcs(tab, 0) == [
        ["DET", "2", "det"],
        ["NOUN", "3", "nsubj"],
        ["VERB", "0", "root"],
        ["NOUN", "3", "obj"],
        ["PUNCT", "3", "punct"],
    ]

    tab.press("/")
    tab.type(said("search `(.+?)`"))
    tab.page.get_by_text("Mass edit").click()
    tab.page.locator("#search-changes").fill(said(r"\*Mass edit\*, change to `(.+?)`"))
    tab.page.get_by_role("button", name="Preview").click()
    tab.page.get_by_role("button", name="Apply").click()
    tab.page.wait_for_function("() => own.state.row('5').upos === 'PUNCT'")
    tab.press("Escape", "Shift+N")
    tab.page.wait_for_function("() => own.state.number === 1 && own.state.row('5').upos === 'PUNCT'")
    tab.select("3")
    tab.press("Shift+S")
    tab.page.locator("dialog input, .prompt input, input:focus").first.fill(said(r"type `(.+?)` and press"))
    tab.press("Enter")
    tab.page.wait_for_function("() => own.state.words.length === 6")
    gold = [tuple(row[:2]) for row in sentences(GOLD)[1].rows]
    assert [(row["id"], row["form"]) for row in tab.process.sentence(1)["rows"]] == gold


def test_training_worklist_answers_and_more_text(open_page: OpenPage) -> None:
    tab, gold = pasted(open_page), sentences(GOLD)
    for number in range(BY_HAND):
        annotate(tab.process, number, gold[number])
    tab.press("Shift+A", "Enter")
    tab.page.wait_for_function("() => own.state.document.model", timeout=120000)
    tab.press("Escape", "Shift+O")
    tab.page.locator("#worklist-by").select_option("gain")
    tab.page.wait_for_function("() => document.querySelectorAll('#side-worklist li').length === 4")
    tab.page.locator("#side-worklist li button").first.click()
    tab.page.wait_for_function("() => own.state.number === 23")
    tab.page.locator("#tree").focus()
    assert tab.selected == "2"
    tab.press(*asked())
    assert arcs(tab, 23)[1:3] == [["_", "3", "cc"], ["_", "1", "conj"]]
    tab.press("Shift+Y", "Control+Enter")
    assert arcs(tab, 23) == [
        [u, str(h), d] for u, h, d in zip(gold[23].upos, gold[23].heads[1:], gold[23].deprels, strict=True)
    ]

    paste(tab, blocks("text")[1], len(gold))
    rows = tab.process.sentence(ALL_BUT_LATER)["rows"]
    assert [(row["id"], row["form"]) for row in rows] == [tuple(r[:2]) for r in gold[ALL_BUT_LATER].rows]
