"""Keyboards of other scripts type labels, tags and heads; and every label can be picked by mouse."""

from __future__ import annotations

from typing import Any

import pytest

from web.browser.driver import BIRDS, GARDEN, OpenPage, Tab

ARABIC = {
    "c": "ؤ",
    "s": "س",
    "e": "ث",
    "a": "ش",
    "n": "ى",
    "o": "خ",
    "u": "ع",
    "p": "ح",
    "j": "ت",
    "b": "لا",  # one key that types two letters
    ":": ":",
}
RUSSIAN = {
    "c": "с",
    "s": "ы",
    "e": "у",
    "a": "ф",
    "n": "т",
    "o": "щ",
    "u": "г",
    "p": "з",
    "b": "и",
    "j": "о",
    ":": "Ж",
}
GREEK = {"s": "σ", "e": "ε", "a": "α", "n": "ν", "o": "ο", "u": "θ", "p": "π", "b": "β", "j": "ξ", ":": ":"}
HEBREW = {"g": "ע", "o": "ם", "e": "ק", "s": "ד", "w": "'", "i": "ן", "t": "א", "h": "י"}


DISPATCH = """(event) => document.activeElement.dispatchEvent(
  new KeyboardEvent('keydown', { ...event, bubbles: true, cancelable: true }))"""
"""A key that types several letters, which the protocol of the browser cannot send."""


class Keyboard:
    """Keys as a keyboard of another layout sends them."""

    def __init__(self, tab: Tab, layout: dict[str, str]) -> None:
        self.tab, self.layout, self.session = tab, layout, tab.page.context.new_cdp_session(tab.page)

    def type(self, letters: str) -> None:
        for letter in letters:
            shifted, code = letter == ":", f"Key{letter.upper()}"
            if letter == ":":
                code = "KeyQ" if self.layout is GREEK else "Semicolon"
            typed = self.layout[letter]
            event: dict[str, Any] = {"key": typed, "code": code, "modifiers": 8 if shifted else 0}
            if len(typed) > 1:
                self.tab.page.evaluate(DISPATCH, event)
                continue
            self.session.send("Input.dispatchKeyEvent", {"type": "keyDown", "text": typed, **event})
            self.session.send("Input.dispatchKeyEvent", {"type": "keyUp", **event})


@pytest.mark.parametrize(
    ("layout", "letters", "label"),
    [
        (ARABIC, "cc", "cc"),
        (ARABIC, "case", "case"),
        (RUSSIAN, "nsu", "nsubj"),
        (RUSSIAN, "ccoc", "ccoc"),
        (HEBREW, "goeswith", "goeswith"),
        (ARABIC, "nsubj:pass", "nsubj:pass"),
        (RUSSIAN, "nsubj:pass", "nsubj:pass"),
        (GREEK, "nsubj:pass", "nsubj:pass"),
    ],
)
def test_labels_are_typed_on_any_keyboard(
    open_page: OpenPage, layout: dict[str, str], letters: str, label: str
) -> None:
    tab = open_page(GARDEN)
    tab.page.keyboard.press("3")
    tab.settled()
    Keyboard(tab, layout).type(letters)
    assert tab.page.locator(".picker input").input_value() == letters
    tab.press("Enter")
    assert tab.row("1", "head", "deprel") == ["3", label]


def test_a_subtype_is_typed_on_a_russian_keyboard(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    Keyboard(tab, RUSSIAN).type("acc:pass")
    assert tab.page.locator(".picker input").input_value() == "acc:pass"


def test_tags_are_typed_on_any_keyboard_in_the_picker_and_in_the_table(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.page.keyboard.press("Shift+T")
    Keyboard(tab, RUSSIAN).type("noun")
    assert tab.page.locator(".picker input").input_value() == "noun"
    tab.press("Escape", "Shift+E")
    cell = tab.page.locator('#table tr[data-id="3"] [data-column="deprel"]')
    cell.click()
    Keyboard(tab, ARABIC).type("cc")
    tab.press("Enter")
    assert tab.row("3", "deprel") == "cc"


def test_labels_in_another_script_are_typed_as_they_are(open_page: OpenPage) -> None:
    tab = open_page(BIRDS.replace("\tobj\t", "\tсус\t"))
    tab.select("1")
    tab.page.keyboard.press("x")  # opens the list of labels
    tab.page.locator(".picker input").fill("")
    Keyboard(tab, {"c": "с", "e": "у"}).type("cec")
    assert tab.page.locator(".picker input").input_value() == "сус"
    tab.press("Enter")
    assert tab.row("1", "deprel") == "сус"


def test_digits_of_another_script_set_the_head(open_page: OpenPage) -> None:
    tab = open_page(GARDEN)
    event = {"key": "۳", "code": "Digit3", "text": "۳"}
    session = tab.page.context.new_cdp_session(tab.page)
    session.send("Input.dispatchKeyEvent", {"type": "keyDown", **event})
    tab.settled()
    assert tab.row("1", "head") == "3"


@pytest.mark.parametrize(("key", "column", "last"), [("Shift+T", "upos", "X"), (None, "deprel", "clf")])
def test_every_value_can_be_picked_by_mouse(
    open_page: OpenPage, key: str | None, column: str, last: str
) -> None:
    tab = open_page(BIRDS)
    tab.word("3").locator(".form").click()
    tab.page.get_by_role("button", name="UPOS" if key else "Label", exact=True).click()
    options = tab.page.locator("#picks li span")
    assert options.count() >= (17 if key else 37)
    option = tab.page.get_by_role("option", name=last, exact=True)
    option.scroll_into_view_if_needed()
    option.click()
    tab.settled()
    assert tab.row("3", column) == last


MANY = 40
"""More values than fit into a list without scrolling."""


@pytest.mark.parametrize(
    ("entry", "column", "last"),
    [
        ("Choose the label", "deprel", "dep:l39"),
        ("Treebank-specific tag (XPOS)", "xpos", "X39"),
        ("Lemma", "lemma", "song39"),
        ("Features (FEATS)", "feats", "Case=C39"),
    ],
)
def test_every_value_of_the_file_can_be_picked_by_mouse(
    open_page: OpenPage, entry: str, column: str, last: str
) -> None:
    seen = "1\tsongs\tsong{0}\tNOUN\tX{0}\tCase=C{0}\t2\tdep:l{0}\t_\t_\n"
    seen += "2\tgo\tgo\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    tab = open_page(BIRDS + "".join(seen.format(f"{n:02}") for n in range(MANY)))
    tab.page.wait_for_function("() => own.state.document.inventory.ready")
    tab.word("3").click(button="right")
    tab.page.get_by_role("menuitem", name=entry).click()
    option = tab.page.get_by_role("option", name=last.rpartition("=")[2])
    option.wait_for()
    assert tab.page.locator(".popup [role=option]").count() >= MANY
    option.scroll_into_view_if_needed()
    option.click()
    if column == "feats":
        tab.page.get_by_role("button", name="Save").click()
    tab.settled()
    assert tab.row("3", column) == last
