"""What to do next: the worklist by gain, the last sentence, names, conflicts, checks, guidelines."""

from __future__ import annotations

from web.browser.driver import BIRDS, GARDEN, TELESCOPE, OpenPage, rows

CATS = rows("Cats/NOUN/_/_", "sleep/VERB/_/_", sent_id="cats")


def test_the_worklist_is_by_gain_as_soon_as_there_is_a_model(open_page: OpenPage) -> None:
    tab = open_page(BIRDS + CATS + GARDEN, model=True)
    tab.page.wait_for_function("() => document.querySelectorAll('#side-worklist li').length === 2")
    choice = tab.page.locator("#worklist-by")
    assert choice.input_value() == "gain"
    gains = [item["number"] for item in tab.process.get("/api/sentences?worklist=gain").json()["items"]]
    shown = [li.get_attribute("data-number") for li in tab.page.locator("#side-worklist li").all()]
    assert shown == [str(number) for number in gains]
    choice.select_option("repairs")
    tab.page.get_by_text("numbers: expected repairs").wait_for()
    tab.page.reload()
    tab.ready()
    assert choice.input_value() == "repairs"  # a choice is remembered


def test_a_long_worklist_is_stepped_through_and_shown_to_its_end(open_page: OpenPage) -> None:
    tab = open_page("".join(CATS.replace("= cats", f"= s{n}") for n in range(120)), model=True)
    tab.page.wait_for_function("() => own.views.worklist.ready && own.state.order?.numbers.length === 100")
    listed = tab.page.locator("#side-worklist li")
    tab.page.evaluate("own.open(own.state.order.numbers[0])")
    tab.page.wait_for_function("() => own.state.number === own.state.order.numbers[0] && !own.state.moving")
    tab.press("Control+Enter", "Shift+N", "Control+Enter")  # two sentences leave the list of the server
    tab.page.evaluate("own.open(own.state.order.numbers.at(-1))")
    tab.page.wait_for_function("() => own.state.number === own.state.order.numbers[99] && !own.state.moving")
    tab.press("Shift+N")
    tab.page.wait_for_function("() => own.state.number === own.state.order.numbers[100]")
    assert sorted(tab.page.evaluate("own.state.order.numbers")) == list(range(120))
    assert listed.count() == 120
    assert tab.page.locator("#side-worklist .more").is_hidden()


def test_the_order_for_training_opens_a_sentence_at_an_uncertain_word(open_page: OpenPage) -> None:
    odd = rows(
        *(
            f"{form}/_/_/_"
            for form in ["of", "gate", "a", "river", "winter", "and", "the", "stones", "beyond"]
        )
    )
    tab = open_page(CATS + TELESCOPE + odd, model=True)
    tab.page.locator("#worklist-by").select_option("training")
    tab.page.wait_for_function("() => own.state.order?.name === 'training' && own.views.worklist.ready")
    items = tab.process.get("/api/sentences?worklist=training").json()["items"]
    uncertain = [item for item in items if item["value"] is not None]
    assert uncertain
    assert items[: len(uncertain)] == uncertain
    assert len(items) == 3  # the others follow: they are unfinished, too
    shown = tab.page.locator("#side-worklist .value").all_inner_texts()
    assert shown == [f"{item['decided']}/{item['words']}" for item in items]
    tab.page.locator("#side-worklist .item").first.click()
    first = uncertain[0]
    tab.page.wait_for_function("(n) => own.state.number === n && !own.state.moving", arg=first["number"])
    assert tab.selected == str(first["word"])
    thoughts = tab.process.sentence(first["number"])["thoughts"]["words"]
    assert thoughts[tab.selected]["probability"] < 0.5


def test_without_a_model_sentences_are_in_file_order(open_page: OpenPage) -> None:
    tab = open_page(BIRDS + CATS)
    assert tab.page.locator("#worklist-by").input_value() == ""
    assert tab.page.locator("#side-worklist li").count() == 2


def test_the_page_reopens_at_the_last_sentence(open_page: OpenPage) -> None:
    tab = open_page(BIRDS + CATS + GARDEN)
    tab.press("Shift+N", "Shift+N")
    assert tab.number == 2
    tab.page.goto(tab.process.address)  # without a number
    tab.ready()
    assert tab.number == 2


def test_a_name_is_given_once_and_recorded(open_page: OpenPage) -> None:
    tab = open_page(BIRDS + CATS)
    tab.command("Annotator's name")
    tab.page.get_by_label("Your name").fill("Zoë")
    tab.page.get_by_role("checkbox").check()
    tab.page.get_by_role("button", name="OK").click()
    tab.page.reload()
    tab.ready()
    tab.press("Shift+N", "2")
    tab.press("ArrowRight", "0")
    assert tab.process.sentence(1)["comments"].count("annotator = Zoë") == 1
    assert tab.process.sentence(0)["comments"] == ["sent_id = birds", "text = Birds sing songs"]
    steps = tab.process.get("/api/history").json()["steps"]
    assert [step["by"] for step in steps] == ["Zoë", "Zoë"]
    tab.page.locator("#tab-notes").click()
    tab.page.locator("#side-notes .steps li", has_text="Zoë").first.wait_for()


def test_conflicts_of_a_merge_are_marked_and_settled_with_one_key(open_page: OpenPage) -> None:
    conflicts = ("# conflict = 1 deprel theirs=obj", "# conflict = 3 deprel theirs=nsubj")
    tab = open_page(rows("Birds/NOUN/2/nsubj", "sing/VERB/0/root", "songs/NOUN/2/obj", extra=conflicts))
    assert "⇄" in tab.text("1")
    assert "⇄" in tab.text("3")
    tab.press("Shift+K")
    listed = tab.page.locator("#side-checks details.error", has_text="merge-conflict (2)").locator(".item")
    listed.last.click()
    tab.page.wait_for_function("() => own.state.selected === '3' && document.activeElement.id === 'tree'")
    tab.press(",")
    assert tab.row("3", "deprel") == "nsubj"
    assert "⇄" not in tab.text("3")
    tab.select("1")
    tab.press(".")  # mine
    assert tab.row("1", "deprel") == "nsubj"
    assert tab.process.sentence(0)["comments"] == ["sent_id = s1", "text = Birds sing songs"]
    tab.press(",")
    assert "No merge conflict here." in tab.said()


def test_errors_and_warnings_are_told_apart_filtered_and_muted(open_page: OpenPage) -> None:
    tab = open_page(
        BIRDS.replace("nsubj", "nsbj").replace("songs\t_\tNOUN\t_\t_", "songs\t_\tPRON\t_\tNumber=Plur")
    )
    marks = (
        tab.word("1").locator(".mark").get_attribute("class"),
        tab.word("3").locator(".mark").get_attribute("class"),
    )
    assert marks == ("mark finding", "mark warning")
    colour = "(element, name) => getComputedStyle(element)[name]"
    fills = [tab.word(row).locator(".mark").evaluate(colour, "fill") for row in "13"]
    assert fills[0] != fills[1]
    tab.press("Shift+K")
    panel = tab.page.locator("#side-checks")
    panel.locator("details.error").first.wait_for()
    warnings, errors = panel.locator("details.warning"), panel.locator("details.error")
    assert warnings.count() == errors.count() == 1
    edges = [group.evaluate(colour, "borderInlineStartColor") for group in (errors, warnings)]
    assert edges == fills
    panel.locator("#checks-filter").select_option("error")
    assert errors.is_visible()
    assert not warnings.is_visible()
    panel.locator("#checks-filter").select_option("warning")
    assert not errors.is_visible()
    warnings.get_by_role("button", name="Mute this rule").click()
    panel.get_by_text("Muted:").wait_for()
    assert warnings.count() == 0
    tab.page.wait_for_function("() => !document.querySelector('#word-3 .mark')")
    panel.get_by_role("button", name="pron-det-without-prontype").click()
    warnings.first.wait_for()


def test_labels_and_tags_have_a_link_to_the_guidelines(open_page: OpenPage) -> None:
    tab = open_page(BIRDS.replace("nsubj", "nsubj:pass").replace("obj\t_", "mine\t_"))
    tab.select("1")
    links = tab.page.locator("#word .guidelines a")
    links.first.wait_for()
    base = "https://universaldependencies.org/u/"
    assert [link.get_attribute("href") for link in links.all()] == [
        f"{base}dep/nsubj-pass.html",
        f"{base}pos/NOUN.html",
    ]
    assert links.first.get_attribute("rel") == "noopener noreferrer"
    tab.select("3")
    tab.page.wait_for_function("() => document.querySelectorAll('#word .guidelines a').length === 1")
