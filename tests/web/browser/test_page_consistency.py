"""Inconsistencies in the Checks panel: groups with analyses and places, one key, stale lists."""

from __future__ import annotations

from typing import Any

from web.browser.driver import OpenPage, rows


def york(label: str, sent_id: str) -> str:
    return rows("New/PROPN/2/" + label, "York/PROPN/0/root", sent_id=sent_id)


LABELS = ("compound", "amod", "compound", "compound", "flat")
VARIED = "".join(york(label, f"s{n}") for n, label in enumerate(LABELS))


def places(tab: Any) -> list[str]:
    """The text of each analysis with its places."""
    return [" ".join(v.inner_text().split()) for v in tab.page.locator("#consistency .variant").all()]


def test_inconsistencies_are_listed_with_analyses_and_places_to_click(open_page: OpenPage) -> None:
    tab = open_page(VARIED)
    tab.press("Shift+K")
    tab.page.get_by_role("button", name="Find inconsistencies").click()
    tab.page.get_by_text("1 inconsistency.").wait_for()
    assert places(tab) == ["3 × York > compound New 1 3 4", "1 × York > amod New 2", "1 × York > flat New 5"]
    tab.page.get_by_role("button", name="2", exact=True).click()
    tab.page.wait_for_function("() => own.state.number === 1")
    assert tab.page.evaluate("own.state.range.map((row) => row.id)") == ["1", "2"]
    assert tab.page.locator("#consistency [aria-current]").inner_text() == "2"
    assert tab.page.evaluate("document.activeElement.id") == "tree"


def test_a_form_and_upos_with_several_lemmas_is_listed_with_its_places(open_page: OpenPage) -> None:
    left = rows("They/PRON/2/nsubj", "left/VERB/0/root", sent_id="s{}")
    lemmas = ("leave", "leave", "left")
    text = "".join(
        left.format(n).replace("left\t_\tVERB", f"left\t{lemma}\tVERB") for n, lemma in enumerate(lemmas)
    )
    tab = open_page(text)
    tab.press("Shift+K")
    tab.page.get_by_role("button", name="Find inconsistencies").click()
    tab.page.get_by_text("1 inconsistency.").wait_for()
    assert places(tab) == ["2 × leave 1 2", "1 × left 3"]
    assert "left VERB" in " ".join(tab.page.locator("#consistency").inner_text().split())
    tab.page.get_by_role("button", name="3", exact=True).click()
    tab.page.wait_for_function("() => own.state.number === 2 && own.state.selected === '2'")


def test_one_key_goes_through_the_places_and_an_edit_makes_them_stale(open_page: OpenPage) -> None:
    tab = open_page(VARIED)
    visited = []
    for _ in range(3):
        tab.press(";")  # the first one compares the file
        tab.page.wait_for_function("() => document.querySelector('#consistency [aria-current]')")
        tab.page.wait_for_function(
            "(visited) => !visited.includes(own.state.number) && !own.state.moving", arg=visited
        )
        visited.append(tab.number)
    assert visited == [4, 1, 0]  # the rarer analyses, then one to compare with
    tab.press(";")
    tab.page.locator("#message", has_text="That was the last inconsistency").wait_for()
    tab.press("Shift+K")
    line = tab.page.locator("#consistency [role=status]")
    assert line.inner_text() == "1 inconsistency."
    for number, row in ((1, "1"), (4, "1")):
        tab.process.set(number, row, deprel="compound")
    tab.page.get_by_text("The file has changed since.").wait_for()
    tab.page.get_by_role("button", name="Find inconsistencies").click()
    tab.page.get_by_text("No inconsistencies found.").wait_for()
    assert places(tab) == []
