"""The editor of FEATS, and completion of lemmas from earlier words."""

from __future__ import annotations

from web.browser.driver import OpenPage

NOUNS = """\
1\tDogs\tdog\tNOUN\t_\tCase=Nom|Number=Plur\t2\tnsubj\t_\t_
2\tsaw\tsee\tVERB\t_\tTense=Past\t0\troot\t_\t_
3\tcats\tcat\tNOUN\t_\tNumber=Plur|Animacy=Anim\t2\tobj\t_\t_

1\tcat\t_\tNOUN\t_\t_\t2\tnsubj\t_\t_
2\tsaw\t_\tVERB\t_\t_\t0\troot\t_\t_
3\tdogs\t_\tNOUN\t_\tNumber=Plur\t2\tobj\t_\t_

"""
OFFERED = (
    "[...document.querySelectorAll('.feature')].map((line) => [...line.children].map((c) => c.textContent))"
)


def test_features_seen_with_the_upos_are_offered_and_completed(open_page: OpenPage) -> None:
    tab = open_page(NOUNS, at=2)
    tab.select("1")
    tab.page.keyboard.press("Shift+F")
    tab.page.locator(".feature").first.wait_for()
    assert tab.page.evaluate(OFFERED) == [["Number", "Plur"], ["Case", "Nom"], ["Animacy", "Anim"]]
    tab.type("plu|nom")
    tab.press("Enter")
    assert tab.row("1", "feats") == "Case=Nom|Number=Plur"  # a new attribute goes to its place
    tab.select("2")
    tab.page.keyboard.press("Shift+F")
    tab.page.locator(".feature").first.wait_for()
    assert tab.page.evaluate(OFFERED) == [["Tense", "Past"]]  # of verbs only
    tab.type("Mood=Ind")
    tab.press("Enter")
    assert tab.row("2", "feats") == "Mood=Ind"


def test_the_order_of_features_stays_and_one_is_replaced_or_removed(open_page: OpenPage) -> None:
    tab = open_page(NOUNS)
    tab.select("3")
    tab.press("Shift+F")
    tab.type("Number=Sing")
    tab.press("Enter")
    assert tab.row("3", "feats") == "Number=Sing|Animacy=Anim"
    tab.press("Shift+F")
    tab.page.get_by_role("button", name="Remove Number=Sing").click()
    tab.page.get_by_role("option", name="Nom").click()
    tab.page.get_by_role("button", name="Save").click()
    tab.settled()
    assert tab.row("3", "feats") == "Animacy=Anim|Case=Nom"
    tab.press("Shift+F", "Backspace", "Escape")  # nothing is written
    assert tab.row("3", "feats") == "Animacy=Anim|Case=Nom"
    tab.press("Shift+F")
    tab.type("sing")
    tab.page.keyboard.press("Enter")
    tab.page.get_by_text("sing: type Name=Value.").wait_for()  # no noun has it any more


def test_lemmas_of_earlier_words_are_offered_and_free_text_comes_first(open_page: OpenPage) -> None:
    tab = open_page(NOUNS, at=2)
    tab.select("3")
    tab.page.keyboard.press("Shift+L")
    tab.page.locator(".picker li", has_text="1 ×").wait_for()
    assert tab.page.locator(".picker li span").all_text_contents() == ["dog", "dogs"]
    tab.press("Enter")
    assert tab.row("3", "lemma") == "dog"
    tab.select("2")
    tab.page.keyboard.press("Shift+L")
    tab.page.locator(".picker li", has_text="see").wait_for()
    tab.type("sa")
    tab.press("Enter")  # not completed to the form
    assert tab.row("2", "lemma") == "sa"
