"""Side panels: worklists and their figures, search and mass edit, checks."""

from __future__ import annotations

from typing import Any

from web.browser.driver import BIRDS, GARDEN, OpenPage, Tab, rows


def test_worklist_search_and_mass_edit(open_page: OpenPage) -> None:
    tab = open_page(BIRDS + GARDEN, model=True)
    tab.page.locator("#worklist-by").select_option("entropy")
    tab.page.wait_for_function(
        "() => own.state.order && own.state.order.numbers.length && own.views.worklist.ready"
    )
    tab.page.locator("#side-worklist .item").first.click()
    tab.page.wait_for_function("() => own.state.number === 1")  # the one with open words
    tab.page.get_by_role("tab", name="Search").click()
    tab.page.locator("#search-query").fill("upos=VERB >")
    tab.page.get_by_role("button", name="Find").click()
    tab.page.wait_for_selector("#side-search .bad")  # an error, with its place
    tab.page.locator("#search-query").fill("deprel=obj")
    tab.page.get_by_role("button", name="Find").click()
    tab.page.locator("#side-search .item").first.click()
    tab.page.wait_for_function("() => own.state.number === 0 && own.state.selected === '3'")
    tab.page.get_by_text("Mass edit").click()
    tab.page.locator("#search-changes").fill("deprel=obl")
    tab.page.get_by_role("button", name="Preview").click()
    tab.page.wait_for_selector("#side-search .item b")
    assert tab.row("3", "deprel", sentence=0) == "obj"  # a preview changes nothing
    tab.page.get_by_role("button", name="Apply").click()
    tab.page.wait_for_function("() => own.state.row('3').deprel === 'obl'")
    tab.page.locator("[data-action=undo]").click()
    tab.page.wait_for_function("() => own.state.row('3').deprel === 'obj'")


def test_checks_of_the_whole_file(open_page: OpenPage) -> None:
    tab = open_page(BIRDS + BIRDS.replace("songs/NOUN", "songs/NOUN"))  # sent_id twice
    tab.page.get_by_role("tab", name="Checks").click()
    tab.page.wait_for_selector("#side-checks .item")
    assert "sent" in tab.page.locator("#side-checks").inner_text().lower()
    tab.page.locator("#side-checks .item").last.click()
    tab.page.wait_for_function("() => document.activeElement.id === 'tree'")


def figures(tab: Tab) -> dict[int, str]:
    """The figures of the worklist, by sentence number from 1."""
    tab.page.wait_for_function("() => own.views.worklist.ready && own.views.worklist.items.length")
    items = tab.page.locator("#side-worklist li").all()
    return {int(item.get_attribute("data-number")) + 1: item.locator(".value").inner_text() for item in items}


def test_the_figures_of_a_worklist_mean_what_its_heading_says(open_page: OpenPage) -> None:
    odd = rows("Birds/NOUN/3/obj", "sing/VERB/0/root", "songs/NOUN/2/obj", sent_id="odd")
    tab = open_page(GARDEN + odd, model=True)
    percent: Any = lambda p: tab.page.evaluate(  # noqa: E731
        "async (p) => (await import('/static/annotate/dom.js')).percent(p)", p
    )
    order, heading = tab.page.locator("#worklist-by"), tab.page.locator("#side-worklist .line")
    order.select_option("least-sure")
    tab.page.wait_for_function("() => own.state.order?.name === 'least-sure'")
    thoughts = tab.process.sentence(0)["thoughts"]["words"].values()
    least = min(word["probability"] for word in thoughts if not word["decided_head"])
    assert figures(tab) == {1: percent(least)}
    assert "numbers: probability of the least certain head" in heading.inner_text()
    order.select_option("disagreement")
    tab.page.wait_for_function("() => own.state.order?.name === 'disagreement'")
    shown = figures(tab)
    items = tab.process.get("/api/sentences?worklist=disagreement").json()["items"]
    assert shown == {item["number"] + 1: percent(1 - item["value"]) for item in items}
    assert list(shown) == [2, 1]  # the odd one first, however improbable
    assert "numbers: probability of the least probable annotated arc" in heading.inner_text()


def test_a_sentence_is_done_when_head_label_and_upos_are_and_undo_takes_it_back(open_page: OpenPage) -> None:
    tab = open_page(BIRDS + BIRDS.replace("songs\t_\tNOUN", "songs\t_\t_"))
    assert figures(tab) == {1: "✓", 2: "2/3"}
    line = tab.page.locator("#side-worklist .line")
    assert "annotated words (head, label and UPOS)" in line.inner_text()
    tab.page.locator("#side-worklist .item").nth(1).click()
    tab.page.wait_for_function("() => own.state.number === 1 && own.state.selected === '3'")
    panel = tab.page.locator("#word")
    panel.get_by_text("2 of 3 words annotated · 1 without UPOS").wait_for()
    assert panel.locator(".state").inner_text() == "no UPOS"
    tab.page.locator("#tree").focus()
    tab.press("Shift+T", "N", "O", "U", "N", "Enter")
    assert figures(tab) == {1: "✓", 2: "✓"}
    assert panel.locator(".state").inner_text() == "annotated"
    tab.press("Shift+U")
    tab.page.wait_for_function(
        "() => document.querySelectorAll('#side-worklist .value')[1].textContent === '2/3'"
    )
    tab.select("3")
    tab.press("Backspace", "2")  # a head alone is not done either
    tab.page.wait_for_function(
        "() => document.querySelectorAll('#side-worklist .value')[1].textContent === '2/3'"
    )
    panel.get_by_text("2 of 3 words annotated").wait_for()


def test_undoing_a_mass_edit_updates_every_count(open_page: OpenPage) -> None:
    tab = open_page(BIRDS + BIRDS.replace("= birds", "= again"))
    query = {"query": "upos=NOUN", "changes": "deprel=_", "apply": True}
    assert tab.process.post("/api/mass-edit", query).status == 200
    shown = "[...document.querySelectorAll('#side-worklist .value')].map((v) => v.textContent).join()"
    tab.page.wait_for_function(f"(values) => {shown} === values", arg="1/3,1/3")
    tab.page.wait_for_function("() => !document.querySelector('[data-action=undo]').disabled")
    tab.page.locator("[data-action=undo]").click()
    tab.page.wait_for_function(f"(values) => {shown} === values", arg="✓,✓")


def test_errors_are_listed_before_warnings_and_all_are_reachable(open_page: OpenPage) -> None:
    many = "".join(
        rows("who/PRON/2/nsubj", "goes/VERB/0/root", sent_id=f"s{n}").replace(
            "VERB\t_\t_", "VERB\t_\tMood=Ind"
        )
        for n in range(250)
    )
    tab = open_page(many + rows("Go/VRB/0/root", sent_id="wrong"))
    tab.page.get_by_role("tab", name="Checks").click()
    panel = tab.page.locator("#side-checks")
    panel.locator("details.error .item").first.wait_for()
    assert "1 error, 250 warnings." in panel.inner_text()
    assert panel.locator("summary").all_inner_texts() == [
        "error unknown-upos (1)",
        "warning pron-det-without-prontype (250)",
    ]
    warnings = panel.locator("details.warning")
    for shown in (100, 200):
        tab.page.wait_for_function(f"() => document.querySelectorAll('.warning .item').length === {shown}")
        warnings.get_by_role("button", name="Show more").click()
    tab.page.wait_for_function("() => document.querySelectorAll('.warning .item').length === 250")
    assert warnings.get_by_role("button", name="Show more").is_hidden()


def test_a_merge_conflict_is_marked_and_settled(open_page: OpenPage) -> None:
    tab = open_page(BIRDS.replace("# text", "# conflict = 3 deprel theirs=obl\n# text"))
    tab.word("3").locator(".form").click()
    assert "⇄" in tab.text("3")
    line = tab.page.locator("#word .finding", has_text="unresolved merge conflict; theirs: 'obl'")
    line.get_by_role("button", name="take theirs").click()
    tab.settled()
    assert tab.row("3", "deprel") == "obl"
    assert not any("conflict" in comment for comment in tab.process.sentence(0)["comments"])
