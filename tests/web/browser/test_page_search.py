"""The Search panel: clusters of hits, single hits left out of a mass edit, Grew requests."""

from __future__ import annotations

from web.browser.driver import BIRDS, OpenPage, rows

FISH = rows("Fish/NOUN/2/nsubj", "swim/VERB/0/root", "./PUNCT/2/punct", sent_id="fish")


def test_a_table_of_relations_and_tags_leads_to_its_hits(open_page: OpenPage) -> None:
    tab = open_page(BIRDS + FISH)
    tab.press("/")
    tab.page.get_by_text("Clusters of hits").click()
    tab.page.get_by_role("button", name="Count").click()
    table = tab.page.locator(".cross")
    table.wait_for()
    assert table.locator("caption").inner_text() == "1.deprel × 1.upos"
    table.get_by_role("button", name="2 hits with nsubj, NOUN").click()
    tab.page.get_by_text("2 hits with nsubj, NOUN").wait_for()
    assert tab.page.locator("#side-search .items li").count() == 2
    tab.page.locator("#search-query").fill("upos=VERB > []")
    tab.page.locator("#search-table").fill("2.deprel")
    tab.page.locator("#search-table").press("Enter")
    table.get_by_text("2.deprel: 3 clusters").wait_for()


def test_single_hits_are_deselected_before_a_mass_edit(open_page: OpenPage) -> None:
    tab = open_page(BIRDS + FISH)
    tab.press("/")
    tab.page.locator("#search-query").fill("upos=NOUN")
    tab.page.get_by_text("Mass edit").click()
    tab.page.locator("#search-changes").fill("xpos=N")
    tab.page.get_by_role("button", name="Preview").click()
    tab.page.get_by_label("Change word 3 of sentence 1").uncheck()
    tab.page.get_by_text("1 hit deselected").wait_for()
    tab.page.get_by_role("button", name="Apply").click()
    tab.page.locator("#message", has_text="2 sentences changed").wait_for()
    assert [tab.row(word, "xpos", sentence=0) for word in ("1", "3")] == ["N", "_"]
    assert tab.row("1", "xpos", sentence=1) == "N"


def test_every_hit_of_a_large_mass_edit_can_be_seen_and_deselected(open_page: OpenPage) -> None:
    tab = open_page("".join(BIRDS.replace("= birds", f"= s{n}") for n in range(250)))
    tab.press("/")
    tab.page.locator("#search-query").fill("upos=VERB")
    tab.page.get_by_text("Mass edit").click()
    tab.page.locator("#search-changes").fill("xpos=V")
    tab.page.get_by_role("button", name="Preview").click()
    tab.page.get_by_text("250 sentences would change").wait_for()
    for shown in (100, 200):
        tab.page.wait_for_function(f"() => document.querySelectorAll('.change').length === {shown}")
        tab.page.locator("#side-search").get_by_role("button", name="Show more").click()
    tab.page.get_by_label("Change word 2 of sentence 250").uncheck()
    tab.page.get_by_role("button", name="Apply").click()
    tab.page.locator("#message", has_text="249 sentences changed").wait_for()
    assert [tab.row("2", "xpos", sentence=n) for n in (248, 249)] == ["V", "_"]


def test_hits_beyond_the_listed_ones_are_stepped_through(open_page: OpenPage) -> None:
    tab = open_page("".join(BIRDS.replace("= birds", f"= s{n}") for n in range(120)))
    tab.press("/")
    tab.page.locator("#search-query").fill("upos=VERB")
    tab.page.get_by_role("button", name="Find", exact=True).click()
    tab.page.get_by_text("120 hits").wait_for()
    tab.page.get_by_role("button", name="Step through hits").click()
    tab.page.evaluate("own.open(99)")
    tab.page.wait_for_function("() => own.state.number === 99 && !own.state.moving")
    tab.press("Shift+N")
    tab.page.wait_for_function("() => own.state.number === 100")


def test_a_mass_edit_changes_nothing_that_its_preview_lacks(open_page: OpenPage) -> None:
    tab = open_page(BIRDS + FISH)
    tab.press("/")
    tab.page.locator("#search-query").fill("upos=NOUN")
    tab.page.get_by_text("Mass edit").click()
    tab.page.locator("#search-changes").fill("xpos=N")
    tab.page.get_by_role("button", name="Preview").click()
    tab.page.get_by_text("2 sentences would change").wait_for()
    tab.process.set(1, "2", upos="NOUN")  # in another window
    tab.page.get_by_role("button", name="Apply").click()
    tab.page.get_by_text("the file has changed since the preview").wait_for()
    assert [tab.row("2", "xpos", sentence=n) for n in (0, 1)] == ["_", "_"]


def test_a_grew_request_becomes_its_translation(open_page: OpenPage) -> None:
    tab = open_page(BIRDS + FISH)
    tab.press("/")
    query = tab.page.locator("#search-query")
    query.fill("pattern { V [upos=VERB]; V -[obj]-> O }")
    query.press("Enter")
    tab.page.get_by_text("1 hit; translated from Grew").wait_for()
    assert query.input_value() == "@V[upos=VERB] > obj @O"
    query.fill("pattern { V [] } with { V -> O }")
    query.press("Enter")
    tab.page.get_by_text("has no counterpart in the query language").wait_for()


def test_words_of_all_hits_are_split_after_a_preview(open_page: OpenPage) -> None:
    cannot = rows("They/PRON/2/nsubj", "cannot/VERB/0/root", "swim/VERB/2/xcomp", sent_id="cannot")
    tab = open_page(cannot + cannot.replace("= cannot", "= again"))
    tab.press("/")
    tab.page.locator("#search-query").fill("form=cannot")
    tab.page.get_by_text("Mass edit").click()
    tab.page.locator("#search-changes").fill('split "can" "not"')
    tab.page.get_by_role("button", name="Preview").click()
    tab.page.get_by_text("2 sentences would change").wait_for()
    assert "split into can + not" in tab.page.locator("#side-search .change").first.inner_text()
    tab.page.get_by_role("button", name="Apply").click()
    tab.page.wait_for_function("() => own.state.sentence.rows.length === 4")
    assert [row["form"] for row in tab.process.sentence(1)["rows"]] == ["They", "can", "not", "swim"]


def test_words_of_all_hits_are_joined_after_a_preview(open_page: OpenPage) -> None:
    apart = rows("They/PRON/3/nsubj", "can/AUX/3/aux", "not/PART/0/root", sent_id="apart", text="They cannot")
    apart = apart.replace("aux\t_\t_", "aux\t_\tSpaceAfter=No")
    tab = open_page(apart + BIRDS + apart.replace("= apart", "= again"))
    tab.press("/")
    tab.page.locator("#search-query").fill("form=can . form=not")
    tab.page.get_by_text("Mass edit").click()
    tab.page.locator("#search-changes").fill("join")
    tab.page.get_by_role("button", name="Preview").click()
    tab.page.get_by_text("2 sentences would change").wait_for()
    assert "joined" in tab.page.locator("#side-search .change").first.inner_text()
    assert len(tab.process.sentence(0)["rows"]) == 3  # a preview changes nothing
    tab.page.get_by_role("button", name="Apply").click()
    tab.page.wait_for_function("() => own.state.sentence.rows.length === 2")
    assert [row["form"] for row in tab.process.sentence(2)["rows"]] == ["They", "cannot"]
    tab.page.locator("[data-action=undo]").click()  # one step
    tab.page.wait_for_function("() => own.state.sentence.rows.length === 3")
    assert len(tab.process.sentence(2)["rows"]) == 3
