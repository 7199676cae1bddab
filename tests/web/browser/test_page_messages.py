"""Messages: they leave with their cause, keep the focus where it was, and lose nothing that was typed."""

from __future__ import annotations

from pathlib import Path

import pytest

from web.browser.driver import BIRDS, GARDEN, OpenPage, rows


def test_a_message_leaves_with_its_cause(open_page: OpenPage) -> None:
    tab = open_page(GARDEN + BIRDS)
    message = tab.page.locator("#message")
    tab.press("9")  # there is no such word
    assert "no word 9" in tab.said()
    tab.press("3")
    assert message.is_hidden()
    tab.press("9")
    assert message.is_visible()
    tab.press("Shift+N")
    assert message.is_hidden()


@pytest.mark.parametrize("by", ["menu", "table"])
def test_a_rejected_value_can_be_corrected(open_page: OpenPage, by: str) -> None:
    tab = open_page(BIRDS)
    if by == "menu":
        tab.page.keyboard.press("Shift+D")
        tab.type("2:nsubj|9:conj")
        field = tab.page.locator(".asker input")
    else:
        tab.press("Shift+E")
        tab.page.locator('#table tr[data-id="1"] [data-column="deps"]').click()
        tab.type("2:nsubj|9:conj")
        field = tab.page.locator("#table td input")
    tab.page.keyboard.press("Enter")
    tab.page.get_by_text("found the head '9' in DEPS").first.wait_for()
    field.wait_for()
    assert field.input_value() == "2:nsubj|9:conj"
    assert tab.row("1", "deps") == "_"
    field.fill("2:nsubj|3:conj")
    tab.press("Enter")
    assert tab.row("1", "deps") == "2:nsubj|3:conj"


def test_merging_changes_returns_the_focus_to_the_tree(open_page: OpenPage, tmp_path: Path) -> None:
    tab = open_page(BIRDS)
    path, message = tmp_path / "a.conllu", tab.page.locator("#message")
    path.write_text(BIRDS.replace("Birds\t_", "Birds\tbird"), "utf-8")
    tab.page.get_by_role("button", name="Merge changes").click()
    tab.page.wait_for_function("() => own.state.row('1').lemma === 'bird'")
    assert tab.page.evaluate("document.activeElement.id") == "tree"
    message.get_by_text("Changes merged without conflicts.").wait_for()
    path.write_text(BIRDS, "utf-8")
    tab.page.get_by_role("button", name="Merge changes").wait_for()
    path.write_text(BIRDS.replace("Birds\t_", "Birds\tbird"), "utf-8")  # as it was: nothing to merge
    message.wait_for(state="hidden")


def test_a_search_without_hits_has_a_hint(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.page.get_by_role("tab", name="Search").click()
    tab.page.locator("#search-query").fill("upos=Verb")
    tab.page.get_by_role("button", name="Find", exact=True).click()
    tab.page.get_by_text("0 hits; upos=Verb does not occur, VERB does").wait_for()


def test_the_name_of_a_word_has_its_upos(open_page: OpenPage) -> None:
    tab = open_page(rows("The/_/_/_", "gardener/NOUN/_/_", "sleeps/VERB/0/root"), model=True)
    names = [str(tab.word(row).get_attribute("aria-label")) for row in ("1", "2", "3")]
    assert names[0].startswith("1 The, DET suggested, head 2 gardener, det")
    assert names[1].startswith("2 gardener, NOUN, head 3 sleeps, nsubj")
    assert names[2].startswith("3 sleeps, VERB, head 0 root, root")


def test_a_mass_edit_of_this_window_is_not_said_to_come_from_another(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.press("/")
    tab.page.locator("#search-query").fill("upos=NOUN")
    tab.page.get_by_text("Mass edit").click()
    tab.page.locator("#search-changes").fill("xpos=N")
    tab.page.get_by_role("button", name="Preview").click()
    tab.page.get_by_role("button", name="Apply").click()
    tab.page.locator("#side-search", has_text="Done.").wait_for()  # the sentence has been reloaded
    assert tab.page.evaluate("own.state.row('1').xpos") == "N"
    assert "1 sentence changed" in tab.said()


def test_a_closing_dialog_leaves_the_focus_to_a_prompt_that_has_opened(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.press("?")
    tab.page.locator("#help").wait_for()
    tab.page.evaluate("() => { document.getElementById('help').close(); own.commands(); }")
    tab.page.locator("#help").wait_for(state="detached")
    assert tab.page.evaluate("document.activeElement.closest('.picker') !== null")
