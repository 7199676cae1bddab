"""Details of the looks: what is aligned, whole, on one line, disabled, and where menus open."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from web.browser.driver import BIRDS, GARDEN, OpenPage, Tab
from web.browser.states import COORDINATED, LONG_TEXT, NARROW, PHONE, RIGHT, STATES, TOKEN, WIDE, ZOOMED

STATES_OF_THE_LOOKS = {
    "light": lambda state: state.size == WIDE and not state.dark,
    "dark": lambda state: state.size == WIDE and state.dark,
    "700 px": lambda state: state.size[0] == 700 and state.zoom == 1,
    "390 px": lambda state: state.size[0] == 390,
    "200 % zoom": lambda state: state.zoom == 2 and state.size == ZOOMED,
    "right-to-left": lambda state: state.conllu == RIGHT,
    "120 words": lambda state: state.conllu == LONG_TEXT,
    "5,000 sentences": lambda state: isinstance(state.conllu, str) and state.conllu.count("sent_id") == 5000,
}
LEFT, RIGHT_EDGE = "left", "right"


def edges(tab: Tab, selector: str, edge: str) -> list[float]:
    """One edge of the boxes of elements."""
    return list(
        tab.page.locator(selector).evaluate_all(
            "(all, edge) => all.map((element) => element.getBoundingClientRect()[edge])", edge
        )
    )


def spread(values: list[float]) -> float:
    return max(values) - min(values)


def resize(tab: Tab, size: tuple[int, int]) -> None:
    tab.page.set_viewport_size({"width": size[0], "height": size[1]})


@pytest.mark.parametrize("wanted", STATES_OF_THE_LOOKS)
def test_the_script_of_screenshots_has_every_state_of_the_looks(wanted: str) -> None:
    assert [name for name, state in STATES.items() if STATES_OF_THE_LOOKS[wanted](state)]


def test_what_is_folded_below_one_percent_is_shown_as_less_than_one_percent(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    shown = tab.page.evaluate(
        "() => import('/static/annotate/dom.js')"
        ".then((dom) => [0.0004, 0.005, 0.0099, 0.01, 0.02].map(dom.percent))"
    )
    assert shown == ["< 1 %", "< 1 %", "< 1 %", "1 %", "2 %"]


def test_buttons_without_use_are_disabled(open_page: OpenPage) -> None:
    tab = open_page(BIRDS + GARDEN)
    accept, all_of_them = (
        tab.page.locator(f"header [data-action={name}]") for name in ("accept-sure", "accept-sentence")
    )
    assert accept.is_disabled()
    assert all_of_them.is_disabled()  # there is no model
    tab.page.reload()
    tab.ready()
    assert tab.page.locator("header [data-action=next]").is_enabled()


def test_accept_is_enabled_while_there_is_a_suggestion_and_hands_the_focus_to_the_tree(
    open_page: OpenPage,
) -> None:
    tab = open_page(GARDEN, model=True)
    all_of_them = tab.page.locator("header [data-action=accept-sentence]")
    assert all_of_them.is_enabled()
    all_of_them.focus()
    tab.press("Enter")
    tab.page.wait_for_function("() => document.querySelector('[data-action=accept-sentence]').disabled")
    assert tab.page.evaluate("document.activeElement.id") == "tree"
    assert all(row["state"] == "decided" for row in tab.process.sentence(0)["rows"])


def test_a_file_without_sentences_offers_one_thing(open_page: OpenPage) -> None:
    tab = open_page("")
    tab.page.locator("#tree .invitation").wait_for()
    assert tab.page.locator("#word").is_hidden()  # no empty box
    enabled = tab.page.locator("header button:enabled").evaluate_all(
        "(all) => all.map((b) => b.dataset.action)"
    )
    assert enabled == ["more", "help"]
    assert tab.page.locator("#side-worklist .line").inner_text() == "No sentences."


def test_the_last_sentence_has_no_primary_action(open_page: OpenPage) -> None:
    tab = open_page(BIRDS + BIRDS.replace("= birds", "= last"))
    following = tab.page.locator("header [data-action=next]")
    assert following.get_attribute("class") == "main"
    tab.press("Shift+N")
    tab.page.wait_for_function("() => !document.querySelector('header button.main')")


def test_the_line_above_the_worklist_explains_the_numbers_that_it_shows(open_page: OpenPage) -> None:
    tab = open_page(GARDEN + BIRDS.replace("songs\t_\tNOUN", "songs\t_\t_"), model=True)
    line, figures = (tab.page.locator(f"#side-worklist {name}") for name in (".line", ".value"))
    tab.page.wait_for_function("() => own.views.worklist.ready && own.views.worklist.items.length === 2")
    assert figures.nth(1).inner_text() == "2/3"  # only a tag is missing: nothing to gain
    assert line.inner_text() == (
        "2 sentences; numbers: expected information gain, in nats;"
        " 2/3: annotated words (head, label and UPOS)"
    )
    tab.process.set(1, "3", upos="NOUN")
    tab.page.locator("#worklist-by").select_option("entropy")
    tab.page.wait_for_function("() => own.state.order?.name === 'entropy' && own.views.worklist.ready")
    assert line.inner_text() == "1 sentence; numbers: entropy of the tree, in nats"


def test_the_menu_of_a_word_opens_beside_the_pointer(open_page: OpenPage) -> None:
    tab = open_page(GARDEN, model=True)
    word = tab.word("2").bounding_box()
    middle = word["x"] + word["width"] / 2
    tab.word("2").click(button="right")
    menu = tab.page.locator(".menu").bounding_box()
    assert menu["x"] >= middle  # what is to the left stays on the screen
    assert menu["x"] + menu["width"] <= 1300
    assert menu["y"] + menu["height"] <= 850


def test_the_help_card_fits_a_wide_window(browser: Any, tmp_path: Path) -> None:
    with STATES["help"].shown(browser, tmp_path) as tab:
        box = tab.page.locator("#help").evaluate("(box) => [box.scrollHeight, box.clientHeight]")
        assert box[0] <= box[1]


@pytest.mark.parametrize("sentence", [GARDEN.replace("\t_\tADJ", "\tancient\tADJ"), RIGHT])
def test_the_columns_of_the_vertical_layout_are_aligned(open_page: OpenPage, sentence: str) -> None:
    tab = open_page(sentence)
    tab.page.evaluate("own.state.look({ vertical: true, rows: ['upos', 'lemma'] })")
    tab.page.wait_for_selector("#tree svg.vertical")
    edge = RIGHT_EDGE if sentence == RIGHT else LEFT
    for column in (".form", ".tag.upos", ".number"):
        assert spread(edges(tab, f"#tree {column}", edge)) < 3, column  # glyphs have bearings


@pytest.mark.parametrize("direction", ["ltr", "rtl"])
def test_every_enhanced_arc_attaches_at_a_point_of_its_own(open_page: OpenPage, direction: str) -> None:
    forms = {"Ann": "דנה", "sings": "שרה", "and": "וגם", "dances": "רוקדת"}
    text = COORDINATED
    if direction == "rtl":
        for latin, hebrew in forms.items():
            text = text.replace(f"\t{latin}\t", f"\t{hebrew}\t")
    tab = open_page(text)
    tab.press("Shift+H")
    tab.page.wait_for_function("() => document.querySelectorAll('.deps').length === 4")
    paths = tab.page.locator(".deps .line").evaluate_all(
        "(lines) => lines.flatMap((line) =>"
        " [0, line.getTotalLength()].map((length) => line.getPointAtLength(length).x))"
    )
    ends = sorted(paths)
    assert all(after - before >= 5 for before, after in pairwise(ends))
    boxes = [tab.word(row).bounding_box() for row in "1234"]
    assert (boxes[0]["x"] > boxes[3]["x"]) == (direction == "rtl")


def test_the_brace_of_a_multiword_token_is_below_the_frames_of_its_words(open_page: OpenPage) -> None:
    tab = open_page(TOKEN)
    brace = tab.page.locator(".token .brace").bounding_box()
    frames = [tab.page.locator(f"#word-{row} .place").bounding_box() for row in "12"]
    assert all(frame["y"] + frame["height"] <= brace["y"] for frame in frames)


def test_a_tree_that_is_unreadable_when_it_fits_leads_to_the_vertical_layout(open_page: OpenPage) -> None:
    tab = open_page(LONG_TEXT)
    tab.press("Shift+Z")
    message = tab.page.locator("#message")
    message.get_by_text("of its size").wait_for()
    message.get_by_role("button", name="Vertical layout").click()
    tab.page.wait_for_selector("#tree svg.vertical")
    assert tab.page.evaluate("[own.state.view.vertical, own.state.view.zoom]") == [True, 1]
    assert message.is_hidden()


@pytest.mark.parametrize("name", ["files", "compare"])
def test_the_panels_are_on_one_line(browser: Any, name: str, tmp_path: Path) -> None:
    with STATES[name].shown(browser, tmp_path) as tab:
        resize(tab, (1280, 600))
        assert len(edges(tab, "[role=tab]:visible", "top")) == 6
        assert spread(edges(tab, "[role=tab]:visible", "top")) == 0


def test_a_suggestion_in_the_table_is_on_one_line(browser: Any, tmp_path: Path) -> None:
    with STATES["table"].shown(browser, tmp_path) as tab:
        cells = tab.page.locator("#table td.suggestion:not([data-column=feats])")
        heights = cells.evaluate_all("(all) => all.map((c) => c.firstChild && c.getClientRects().length)")
        assert cells.count() > 10
        assert set(heights) == {1}
        assert cells.evaluate_all("(all) => all.every((c) => getComputedStyle(c).whiteSpace === 'nowrap')")


def test_the_prompt_for_a_head_is_whole(browser: Any, tmp_path: Path) -> None:
    with STATES["head"].shown(browser, tmp_path) as tab:
        prompt, box = tab.page.locator("#mode").bounding_box(), tab.page.locator("#work").bounding_box()
        assert prompt["y"] >= box["y"]
        for button in tab.page.locator("#mode button").all():
            inside = button.bounding_box()
            assert inside["y"] >= prompt["y"] + 3
            assert inside["y"] + inside["height"] <= prompt["y"] + prompt["height"] - 3


def test_at_200_percent_zoom_the_tools_are_on_one_line_and_the_tree_is_whole(
    browser: Any, tmp_path: Path
) -> None:
    with STATES["zoom"].shown(browser, tmp_path) as tab:
        tools = edges(tab, "header .tools button:visible", "top")
        assert len(tools) > 8
        assert spread(tools) <= 2
        assert max(edges(tab, "header button:visible", RIGHT_EDGE)) <= ZOOMED[0]
        tree = tab.page.locator("#tree")
        assert tree.evaluate("(box) => box.scrollHeight - box.clientHeight") == 0
        assert tree.bounding_box()["y"] + tree.bounding_box()["height"] <= ZOOMED[1]


@pytest.mark.parametrize("size", [PHONE, NARROW, ZOOMED], ids=["phone", "narrow", "zoom"])
def test_the_first_line_of_the_header_stays_one_line(open_page: OpenPage, size: tuple[int, int]) -> None:
    tab = open_page(BIRDS)
    tab.page.evaluate("() => { own.state.document.sentences = 5000; own.state.emit('document'); }")
    resize(tab, size)
    assert tab.page.locator("#where").inner_text() == "1 / 5,000"
    where, saved = (tab.page.locator(name).bounding_box() for name in ("#where", "#saved"))
    assert abs(where["y"] + where["height"] / 2 - saved["y"] - saved["height"] / 2) < 3
    assert saved["x"] + saved["width"] <= size[0]


def test_the_search_for_suspicious_annotations_reports_its_step(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.press("Shift+K")
    line = tab.page.locator("#side-checks .line").first
    for message, shown in (
        ("greedy: training without part 3 (7 of 12)", "Searching for suspicious annotations: 7 of 12"),
        ("starting", "Searching for suspicious annotations …"),
    ):
        tab.page.evaluate(
            "(message) => own.views.checks.progress({ state: 'training', done: 0.5, message })", message
        )
        assert line.inner_text() == shown


def test_a_list_that_is_higher_than_the_room_above_and_below_opens_beside_the_word(
    open_page: OpenPage,
) -> None:
    tab = open_page(BIRDS)
    resize(tab, (1280, 600))
    tab.select("3")
    tab.press("d")
    tab.page.locator(".picker li").first.wait_for()
    word, picker = tab.word("3").bounding_box(), tab.page.locator(".picker").bounding_box()
    header = tab.page.locator("header").bounding_box()
    apart = picker["x"] >= word["x"] + word["width"] or picker["y"] >= word["y"] + word["height"]
    assert apart
    assert picker["y"] >= header["y"] + header["height"]
    assert picker["y"] + picker["height"] <= 600


def test_the_measures_of_agreement_have_their_names_on_one_line(browser: Any, tmp_path: Path) -> None:
    with STATES["compare"].shown(browser, tmp_path) as tab:
        names = tab.page.locator(".agreement dt")
        assert names.all_inner_texts()[2:] == [
            "Cohen's κ of heads",
            "Cohen's κ of labels",
            "Krippendorff's α of labelled arcs",
        ]
        assert spread([box.bounding_box()["height"] for box in names.all()]) < 1


def test_the_chosen_arc_has_one_outline_that_says_whether_it_is_annotated(open_page: OpenPage) -> None:
    tab = open_page(GARDEN, model=True)
    outlined = """(wanted) => {
      const choice = document.querySelector('#word .choice.now'), style = choice && getComputedStyle(choice);
      if (!choice || getComputedStyle(choice, '::after').content !== 'none') return false;
      return `${style.borderTopWidth} ${style.borderTopStyle}` === wanted;
    }"""
    tab.page.wait_for_function(outlined, arg="2px dashed")
    tab.select("4")
    tab.page.wait_for_function(outlined, arg="2px solid")


def test_a_change_in_the_preview_of_a_mass_edit_stays_on_one_line(browser: Any, tmp_path: Path) -> None:
    with STATES["mass-edit"].shown(browser, tmp_path) as tab:
        changes = tab.page.locator("#side-search .change b").first.inner_text()
        assert changes.replace("\xa0", "_") == "2_XPOS_→_N; 6_XPOS_→_N; 10_XPOS_→_N"
