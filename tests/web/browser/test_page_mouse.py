"""Mouse: dragging, clicking, menus, side panels."""

from __future__ import annotations

from typing import Any

import pytest

from web.browser.driver import BIRDS, GARDEN, OpenPage, Tab, rows


def middle(tab: Tab, row: str) -> tuple[float, float]:
    box = tab.word(row).bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def drag(tab: Tab, row: str, to: tuple[float, float]) -> None:
    mouse = tab.page.mouse
    mouse.move(*middle(tab, row))
    mouse.down()
    mouse.move(*to, steps=5)
    mouse.up()
    tab.settled()


def test_dragging_sets_the_head(open_page: OpenPage) -> None:
    tab = open_page(GARDEN)
    drag(tab, "1", middle(tab, "3"))
    assert tab.row("1", "head") == "3"
    drag(tab, "3", middle(tab, "3"))  # to itself: nothing
    assert tab.row("3", "head") == "_"
    tree = tab.page.locator("#tree").bounding_box()
    drag(tab, "6", (middle(tab, "6")[0], tree["y"] + 12))  # to the top: the root
    assert tab.row("6", "head", "deprel") == ["0", "root"]


def test_clicking_words_only_selects_them(open_page: OpenPage) -> None:
    tab = open_page(GARDEN)
    for row in ("2", "2", "3", "3", "2"):
        tab.word(row).locator(".form").click()
        assert tab.selected == row
        assert tab.page.locator("#mode").is_hidden()
    tab.settled()
    assert [tab.row(row, "head") for row in ("2", "3")] == ["_", "_"]


def test_a_head_is_chosen_by_mouse_in_a_visible_mode(open_page: OpenPage) -> None:
    tab = open_page(GARDEN)
    choose, mode = tab.page.get_by_role("button", name="Choose head"), tab.page.locator("#mode")
    tab.word("2").locator(".form").click()
    choose.click()
    assert mode.inner_text().startswith("Choose the head of 2 old")
    tab.word("3").locator(".form").click()
    tab.settled()
    assert mode.is_hidden()
    assert tab.row("2", "head") == "3"
    tab.word("6").locator(".form").click()
    choose.click()
    mode.get_by_role("button", name="Make root").click()
    tab.settled()
    assert tab.row("6", "head", "deprel") == ["0", "root"]


@pytest.mark.parametrize("leave", ["Escape", "tree", "panel", "same word", "Cancel"])
def test_choosing_a_head_is_left_without_a_trace(open_page: OpenPage, leave: str) -> None:
    tab = open_page(GARDEN)
    tab.word("2").locator(".form").click()
    tab.page.get_by_role("button", name="Choose head").click()
    match leave:
        case "Escape":
            tab.page.keyboard.press("Escape")
        case "tree":
            tab.page.locator("#tree").click(position={"x": 4, "y": 4})
        case "panel":
            tab.page.get_by_role("tab", name="Notes").click()
        case "same word":
            tab.word("2").locator(".form").click()
        case "Cancel":
            tab.page.get_by_role("button", name="Cancel").click()
    assert tab.page.locator("#mode").is_hidden()
    tab.word("3").locator(".form").click()
    tab.settled()
    assert tab.selected == "3"
    assert tab.row("2", "head") == "_"


def test_a_label_is_clicked_and_chosen(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.arc("3").locator(".label").click()
    tab.type("iob")
    tab.page.get_by_role("option", name="iobj").click()
    tab.settled()
    assert tab.row("3", "deprel") == "iobj"


def test_an_alternative_is_clicked(open_page: OpenPage) -> None:
    tab = open_page(GARDEN, model=True)
    tab.select("6")
    head, label, _ = tab.page.evaluate("own.editor.others()[0]")
    tab.page.locator("#word .choice").nth(1).click()
    tab.settled()
    assert tab.row("6", "head", "deprel") == [str(head), label]


def test_the_menu_of_a_word(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.word("3").click(button="right")
    tab.page.get_by_role("menuitem", name="Clear annotation").click()
    tab.settled()
    assert tab.row("3", "head") == "_"


def chosen(tab: Tab, row: str, name: str) -> None:
    """An entry of the menu of a word."""
    tab.word(row).click(button="right")
    tab.page.get_by_role("menuitem", name=name).click()


def answered(tab: Tab, text: str, button: str = "OK") -> None:
    """One line that the page asked for, confirmed by mouse."""
    tab.page.keyboard.press("Control+A")
    tab.type(text)
    tab.page.get_by_role("button", name=button, exact=True).click()
    tab.settled()


@pytest.mark.parametrize(
    ("entry", "typed", "column", "value"),
    [
        ("Features (FEATS)", "Number=Plur", "feats", "Number=Plur"),
        ("Lemma", "bird", "lemma", "bird"),
        ("Word form", "Bees", "form", "Bees"),
        ("MISC", "Gloss=x", "misc", "Gloss=x"),
        ("Enhanced dependencies (DEPS)", "2:nsubj|3:dep", "deps", "2:nsubj|3:dep"),
    ],
)
def test_fields_from_the_menu(open_page: OpenPage, entry: str, typed: str, column: str, value: str) -> None:
    tab = open_page(BIRDS)
    chosen(tab, "1", entry)
    if column == "lemma":  # picked from a list that has what was typed
        tab.type(typed)
        tab.page.locator("#picks li", has_text="new").click()
        tab.settled()
    else:
        answered(tab, typed, "Save" if column == "feats" else "OK")
    assert tab.row("1", column) == value


@pytest.mark.parametrize(("entry", "column"), [("Tag (UPOS)", "upos"), ("Choose the label", "deprel")])
def test_values_are_clicked(open_page: OpenPage, entry: str, column: str) -> None:
    tab = open_page(BIRDS)
    chosen(tab, "3", entry)
    option = tab.page.locator("#picks li").nth(1)
    wanted = option.locator("span").inner_text()
    option.click()
    tab.settled()
    assert tab.row("3", column) == wanted


def test_words_are_split_joined_and_put_together_by_mouse(open_page: OpenPage) -> None:
    tab = open_page(rows("vámonos/VERB/0/root", "al/ADP/1/obl", "mar/NOUN/1/obl"))
    forms: Any = lambda: [r["form"] for r in tab.process.sentence(0)["rows"]]  # noqa: E731
    chosen(tab, "1", "Split word")
    answered(tab, "vámo nos")
    assert forms() == ["vámo", "nos", "al", "mar"]
    assert tab.selected == "1"
    tab.word("3").click(modifiers=["Shift"])  # three words
    chosen(tab, "2", "Multiword token")
    answered(tab, "vámonosal")
    assert forms() == ["vámonosal", "vámo", "nos", "al", "mar"]
    chosen(tab, "4", "Add empty node after")
    answered(tab, "y")
    assert tab.row("4.1", "form") == "y"
    chosen(tab, "4.1", "Remove this empty node")
    tab.settled()
    chosen(tab, "3", "Split sentence before this word")  # in the middle of a token: told, and nothing is done
    tab.page.locator("#message.bad").wait_for()
    chosen(tab, "4", "Split sentence before this word")
    tab.page.wait_for_function("() => own.state.document.sentences === 2")
    assert forms() == ["vámonosal", "vámo", "nos", "al"]


def test_every_command_by_mouse(open_page: OpenPage) -> None:
    tab = open_page(BIRDS + GARDEN)
    tab.page.locator("[data-action=more]").click()
    tab.page.get_by_role("menuitem", name="All commands").click()
    tab.page.get_by_role("option", name="Join sentence").click()
    tab.page.wait_for_function("() => own.state.document.sentences === 1")
    assert len(tab.process.sentence(0)["rows"]) == 10


def test_a_finding_is_repaired_by_mouse(open_page: OpenPage) -> None:
    tab = open_page(BIRDS.replace("0\troot", "0\tdep"))
    tab.word("2").locator(".form").click()
    tab.page.locator("#word .finding .repair").first.click()
    tab.settled()
    assert tab.row("2", "deprel") == "root"


def test_a_note_on_an_arc_by_mouse(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    chosen(tab, "3", "Note on the word")
    tab.page.get_by_role("button", name="On its arc").click()
    answered(tab, "sure?")
    assert {"on": "2>3", "text": "sure?"} in tab.process.sentence(0)["notes"]


def test_the_wheel_zooms(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    before = tab.word("1").bounding_box()["width"]
    tab.page.mouse.move(*middle(tab, "2"))
    tab.page.keyboard.down("Control")
    tab.page.mouse.wheel(0, -100)
    tab.page.keyboard.up("Control")
    tab.page.wait_for_function("() => own.state.view.zoom > 1")
    assert tab.word("1").bounding_box()["width"] > before


def test_tools(open_page: OpenPage) -> None:
    tab = open_page(GARDEN, model=True)
    assert tab.page.locator("[data-action=undo]").is_disabled()
    tab.page.locator("#threshold").fill("1")
    tab.page.locator("#threshold").press("Enter")
    tab.page.locator("[data-action=accept-sure]").click()
    tab.settled()
    assert all(r["state"] == "decided" for r in tab.process.sentence(0)["rows"])
    tab.page.locator("[data-action=undo]").click()
    tab.page.wait_for_function("() => own.state.row('1').state === 'open'")
    tab.page.locator("[data-action=more]").click()
    tab.page.get_by_role("menuitem", name="Second-best tree").click()
    tab.page.locator("#word", has_text="second-best tree").wait_for()


def test_the_table_by_mouse(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.page.locator("[data-action=table]").click()
    cell = tab.page.locator('#table tr[data-id="3"] [data-column="deprel"]')
    cell.click()
    cell.click()
    tab.type("obl")
    tab.press("Enter")
    assert tab.row("3", "deprel") == "obl"


def test_notes_and_comments(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.page.get_by_role("tab", name="Notes").click()
    tab.page.get_by_role("button", name="Add a comment").click()
    tab.type("genre = fable")
    tab.press("Enter")
    assert any("genre = fable" in line for line in tab.process.sentence(0)["comments"])
    tab.page.get_by_role("button", name="Note on the sentence").click()
    tab.type("ask Anna")
    tab.press("Enter")
    assert {"on": "", "text": "ask Anna"} in tab.process.sentence(0)["notes"]
    tab.page.locator("#side-notes .item", has_text="genre").click()
    tab.page.get_by_role("button", name="Remove").click()
    tab.settled()
    assert not any("genre" in line for line in tab.process.sentence(0)["comments"])


def test_every_sentence_that_differs_is_listed(open_page: OpenPage) -> None:
    text = "".join(BIRDS.replace("= birds", f"= s{n}") for n in range(120))
    tab = open_page(text, beside=text.replace("\tobj\t", "\tobl\t"))
    tab.page.get_by_role("tab", name="Compare").click()
    tab.page.get_by_text("120 sentences differ").wait_for()
    tab.page.locator("#side-compare").get_by_role("button", name="Show more").click()
    tab.page.wait_for_function("() => document.querySelectorAll('.differences section').length === 120")
    assert tab.page.evaluate("own.state.order.numbers.length") == 120


def test_two_people(open_page: OpenPage) -> None:
    tab = open_page(BIRDS + GARDEN, beside=BIRDS.replace("2\tobj", "1\tnmod") + GARDEN)
    tab.page.get_by_role("tab", name="Compare").click()
    tab.page.wait_for_selector("#side-compare table")
    told = tab.page.locator("#side-compare").inner_text()
    assert "κ of heads" in told
    assert "nmod" in told
    assert "≠" in tab.text("3")
    tab.page.locator("#side-compare").get_by_role("button", name="head of songs: 1").click()
    tab.page.wait_for_selector("#side-compare .side.chosen")
    assert tab.row("3", "head") == "1"
