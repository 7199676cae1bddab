"""Rows below the words: which are shown, and editing one by a click."""

from __future__ import annotations

from web.browser.driver import BIRDS, OpenPage

GLOSSED = BIRDS.replace("nsubj\t_\t_", "nsubj\t_\tSpaceAfter=No|Gloss=fowl|Translit=berdz").replace(
    "Birds\t_\tNOUN\t_\t_", "Birds\tbird\tNOUN\tNNS\tNumber=Plur|Case=Nom"
)


def test_rows_are_chosen_and_remembered(open_page: OpenPage) -> None:
    tab = open_page(GLOSSED)
    assert tab.word("1").locator(".tag").all_text_contents() == ["NOUN"]
    tab.command("Rows below the words")
    for name in ("XPOS", "FEATS", "LEMMA", "Gloss", "Transliteration"):
        tab.page.get_by_role("checkbox", name=name).check()
    tab.page.keyboard.press("Escape")
    shown = ["NOUN", "NNS", "Number=Plur", "Case=Nom", "bird", "fowl", "berdz"]
    assert tab.word("1").locator(".tag").all_text_contents() == shown
    tab.page.reload()
    tab.ready()
    assert tab.word("1").locator(".tag").all_text_contents() == shown
    places = [box["y"] for line in tab.word("1").locator(".tag").all() if (box := line.bounding_box())]
    assert places == sorted(set(places))  # one below the other


def test_a_click_on_a_tag_edits_it(open_page: OpenPage) -> None:
    tab = open_page(GLOSSED)
    tab.page.evaluate("own.state.look({ rows: ['upos', 'lemma', 'gloss'] })")
    tab.word("1").locator(".tag.upos").click()
    tab.page.get_by_role("dialog", name="UPOS of 1 Birds").wait_for()
    tab.type("PROPN")
    tab.press("Enter")
    assert tab.row("1", "upos") == "PROPN"
    tab.word("1").locator(".tag.lemma").click()
    tab.page.get_by_role("combobox", name="LEMMA of 1 Birds").fill("Bird")
    tab.press("Enter")
    assert tab.row("1", "lemma") == "Bird"
    tab.word("1").locator(".tag.gloss").click()
    tab.page.get_by_role("textbox", name="Gloss of 1 Birds").fill("avian")
    tab.press("Enter")
    assert tab.row("1", "misc") == "SpaceAfter=No|Gloss=avian|Translit=berdz"
    tab.word("1").locator(".tag.gloss").click()
    tab.page.get_by_role("textbox", name="Gloss of 1 Birds").fill("")
    tab.press("Enter")
    assert tab.row("1", "misc") == "SpaceAfter=No|Translit=berdz"


def test_every_row_is_edited_by_a_click(open_page: OpenPage) -> None:
    tab = open_page(GLOSSED)
    tab.page.evaluate("own.state.look({ rows: ['xpos', 'feats', 'translit'] })")
    tab.word("1").locator(".tag.xpos").click()
    tab.page.get_by_role("combobox", name="XPOS of 1 Birds").fill("NNPS")
    tab.press("Enter")
    tab.word("1").locator(".tag.feats").first.click()
    tab.page.locator("#features .feature").first.wait_for()
    tab.type("Gender=Fem")
    tab.press("Enter")
    tab.word("1").locator(".tag.translit").click()
    tab.page.get_by_role("textbox", name="Transliteration of 1 Birds").fill("bœdz")
    tab.press("Enter")
    assert tab.row("1", "xpos", "feats", "misc") == [
        "NNPS",
        "Number=Plur|Case=Nom|Gender=Fem",
        "SpaceAfter=No|Gloss=fowl|Translit=bœdz",
    ]
