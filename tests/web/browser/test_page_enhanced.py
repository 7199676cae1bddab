"""Suggested enhanced dependencies: drawn dashed with their rules, accepted by word or by sentence."""

from __future__ import annotations

from typing import Any

from web.browser.driver import BIRDS, OpenPage, rows

SINGS = rows("Ann/PROPN/2/nsubj", "sings/VERB/0/root", "and/CCONJ/4/cc", "dances/VERB/2/conj")


def deps(tab: Any) -> list[str]:
    """DEPS of all words, as the server has them."""
    return [row["deps"] for row in tab.process.sentence(tab.number)["rows"]]


def shown(tab: Any) -> list[str]:
    """The list of suggestions below the tree."""
    return [" ".join(li.inner_text().split()) for li in tab.page.locator("#word [data-generated]").all()]


ALL = [
    "✓ 1 Ann 2:nsubj basic 4:nsubj conj-dependent",
    "✓ 2 sings 0:root basic",
    "✓ 3 and 4:cc basic",
    "✓ 4 dances 2:conj:and case",
]


def test_suggested_arcs_are_dashed_name_their_rule_and_are_accepted_together(open_page: OpenPage) -> None:
    tab = open_page(SINGS + BIRDS)
    tab.press("Control+Shift+Enter")  # nothing is on the screen yet
    assert "Show the enhanced graph first" in tab.said()
    assert deps(tab) == ["_"] * 4
    tab.press("Shift+H")
    tab.page.wait_for_function("() => document.querySelectorAll('.deps.proposed').length === 4")
    dashes = "(el) => getComputedStyle(el.querySelector('.line')).strokeDasharray"
    assert tab.page.locator(".deps.proposed").first.evaluate(dashes) != "none"
    shared = tab.page.locator(".deps.proposed", has_text="suggested by the rule conj-dependent")
    assert shared.count() == 1
    assert shared.get_attribute("aria-label").endswith("nsubj, suggested by the rule conj-dependent")
    tab.page.wait_for_function("() => document.querySelectorAll('#word [data-generated]').length === 4")
    assert shown(tab) == ALL
    tab.press("Control+Shift+Enter")
    assert deps(tab) == ["2:nsubj|4:nsubj", "0:root", "4:cc", "2:conj:and"]
    tab.page.wait_for_function("() => !document.querySelector('#word [data-generated], .deps.proposed')")
    tab.press("Shift+U")  # one step
    assert deps(tab) == ["_"] * 4


def test_suggested_arcs_are_accepted_word_by_word(open_page: OpenPage) -> None:
    tab = open_page(SINGS)
    tab.press("Shift+H")
    tab.page.get_by_role("button", name="Accept DEPS of 4 dances").click()
    tab.settled()
    assert deps(tab) == ["_", "_", "_", "2:conj:and"]
    tab.page.wait_for_function("() => document.querySelectorAll('#word [data-generated]').length === 3")
    assert shown(tab) == ALL[:3]
    tab.select("1")
    tab.press("Alt+Shift+Enter")
    assert deps(tab) == ["2:nsubj|4:nsubj", "_", "_", "2:conj:and"]
    tab.press("Alt+Shift+Enter")
    assert "No enhanced dependencies are suggested for this word" in tab.said()
    assert tab.page.locator(".deps.proposed").count() == 1  # the root has no arc below the words


def test_suggestions_follow_the_tree_and_need_a_finished_one(open_page: OpenPage) -> None:
    tab = open_page(SINGS)
    tab.press("Shift+H")
    tab.page.wait_for_function("() => document.querySelectorAll('#word [data-generated]').length === 4")
    tab.select("4")
    tab.press("Backspace")
    tab.page.get_by_text("No enhanced dependencies are suggested: the sentence has words").wait_for()
    assert tab.page.locator(".deps.proposed").count() == 0
    tab.press("Shift+U")
    tab.page.wait_for_function("() => document.querySelectorAll('#word [data-generated]').length === 4")
    tab.process.set(0, "4", deprel="parataxis")  # in another window
    tab.page.wait_for_function("() => own.state.row('4').deprel === 'parataxis'")
    tab.page.locator("#word [data-generated='4']", has_text="2:parataxis").wait_for()
    assert shown(tab)[0] == "✓ 1 Ann 2:nsubj basic"


def test_deps_that_somebody_else_wrote_meanwhile_are_not_overwritten_unasked(open_page: OpenPage) -> None:
    tab = open_page(SINGS)
    tab.press("Shift+H")
    tab.page.wait_for_function("() => document.querySelectorAll('#word [data-generated]').length === 4")
    tab.page.evaluate("own.heard = () => {}")  # as if the change came in the same moment
    theirs = {"kind": "set-deps", "row": "1", "deps": [["4", "nsubj"]]}
    tab.process.post("/api/sentence/0/edits", {"edits": [theirs]})
    tab.page.keyboard.press("Control+Shift+Enter")
    dialog = tab.page.locator("#conflict")
    dialog.wait_for()
    assert "DEPS" in dialog.inner_text()
    dialog.get_by_role("button", name="Take theirs").click()
    tab.settled()
    assert deps(tab) == ["4:nsubj", "_", "_", "_"]
