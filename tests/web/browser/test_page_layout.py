"""Looks: the toolbar, fitting and wrapping trees, folded alternatives, sizes, legend, print."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from web.browser.driver import BIRDS, GARDEN, OpenPage, Tab, rows

SVG = "{http://www.w3.org/2000/svg}"
LONG = rows(*(f"word{k}/NOUN/{k - 1}/{'root' if k == 1 else 'nmod'}" for k in range(1, 120)))
OUTSIDE = """() => {
  const box = document.getElementById("tree").getBoundingClientRect();
  return [...document.querySelectorAll("#tree .word")].filter((word) => {
    const at = word.getBoundingClientRect();
    return at.left < box.left || at.right > box.right || at.top < box.top || at.bottom > box.bottom;
  }).length;
}"""


def test_the_toolbar_has_three_groups_and_one_primary_action(open_page: OpenPage) -> None:
    tab = open_page(GARDEN + BIRDS, model=True)
    groups = tab.page.locator("header .group")
    assert [group.get_attribute("aria-label") for group in groups.all()] == ["Navigate", "Decide", "View"]
    primary = tab.page.locator("header button.main")
    assert [button.get_attribute("data-action") for button in primary.all()] == ["accept-sure"]
    sure = len(tab.page.evaluate("own.editor.above(own.state.view.threshold)"))
    assert primary.inner_text().split()[-3:] == ["Accept", str(sure), "≥"]  # it says how many
    tab.press("Control+Enter")
    assert [button.get_attribute("data-action") for button in primary.all()] == ["next"]


def test_no_state_has_two_primary_actions(open_page: OpenPage) -> None:
    """Accept what is sure; else go on if the sentence is annotated; else nothing stands out."""
    tab = open_page(BIRDS + GARDEN)

    def primary() -> list[str | None]:
        buttons = tab.page.locator("header button.main:visible").all()
        return [button.get_attribute("data-action") for button in buttons]

    assert primary() == ["next"]  # annotated, and another sentence follows
    tab.press("Shift+N")
    assert primary() == []  # nothing is suggested, and words are open
    tab.command("Remove sentence")
    tab.page.locator("dialog button.main", has_text="Remove").click()
    tab.page.wait_for_function("() => own.state.document.sentences === 1")
    assert primary() == []  # the only sentence is annotated
    tab.command("Remove sentence")
    tab.page.locator("dialog button.main", has_text="Remove").click()
    tab.page.locator("#tree button.main", has_text="Add sentences").wait_for()
    assert primary() == []


def test_rare_commands_are_in_one_menu(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.page.locator("#more").click()
    menu = tab.page.get_by_role("menu", name="More commands")
    assert menu.get_by_role("menuitem", name="Theme: dark, light or system").is_visible()
    menu.get_by_role("menuitem", name="Vertical layout").click()
    assert tab.page.evaluate("own.state.view.vertical")
    tab.page.locator("#more").click()
    assert menu.get_by_role("menuitem", name="Vertical layout").inner_text().startswith("✓")


def test_the_legend_explains_lines_and_colours(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.command("Legend")
    legend = tab.page.get_by_role("dialog", name="Legend")
    styles = legend.locator("dt .line").evaluate_all(
        "(lines) => lines.map((l) => getComputedStyle(l)).map((s) => [s.strokeDasharray, s.stroke])"
    )
    assert len({dash for dash, _ in styles}) == 4  # solid, dashed, dotted, preview
    assert len({colour for _, colour in styles}) >= 5
    assert "suggested" in legend.inner_text()


@pytest.mark.parametrize("vertical", [False, True])
def test_fit_shows_every_word(open_page: OpenPage, vertical: bool) -> None:
    tab = open_page(LONG)
    tab.page.evaluate("(vertical) => own.state.look({ vertical })", vertical)
    assert tab.page.evaluate(OUTSIDE) > 0
    tab.press("Shift+Z")
    tab.page.wait_for_timeout(50)
    assert tab.page.evaluate(OUTSIDE) == 0
    tab.press("Shift+Z")
    assert tab.page.evaluate("own.state.view.zoom") == 1


@pytest.mark.parametrize("height", [850, 1200])
def test_a_tall_tree_uses_the_height_of_the_window(open_page: OpenPage, height: int) -> None:
    tab = open_page(rows("go/VERB/0/root", *(f"word{k}/NOUN/1/obl" for k in range(2, 60))) + BIRDS)
    tab.page.set_viewport_size({"width": 1300, "height": height})
    box = "(tree) => [tree.clientHeight, tree.scrollHeight]"
    tree = tab.page.locator("#tree")
    tab.page.wait_for_function(f"() => document.getElementById('tree').clientHeight > 0.6 * {height}")
    shown, whole = tree.evaluate(box)
    assert shown < whole  # taller than the window: it scrolls inside, and the word stays below it
    assert tab.page.locator("#word").evaluate("(word) => word.getBoundingClientRect().top") < height
    tab.press("Shift+N")
    shown, whole = tree.evaluate(box)
    assert shown == whole  # a flat one takes no more than it needs


def test_gaps_shrink_before_the_tree_scrolls(open_page: OpenPage) -> None:
    forms = [f"{'abcdefghij'[k % 10] * 5}/NOUN/{k}/{'root' if k == 0 else 'x'}" for k in range(12)]
    tab = open_page(rows(*forms))
    wide = tab.page.evaluate("own.views.canvas.drawn.width")
    tab.page.set_viewport_size(
        {"width": 1300 - (tab.page.evaluate("own.views.canvas.width") - int(wide)) - 40, "height": 850}
    )
    tab.page.wait_for_function("(wide) => own.views.canvas.drawn.width < wide", arg=wide)
    assert tab.page.evaluate("own.views.canvas.drawn.width <= own.views.canvas.box.clientWidth")
    overlaps = tab.page.evaluate(
        """() => {
          const forms = [...document.querySelectorAll("#tree .form")];
          const boxes = forms.map((form) => form.getBoundingClientRect());
          return boxes.filter((box, k) => k && box.left < boxes[k - 1].right).length;
        }"""
    )
    assert overlaps == 0


def given(tab: Tab, word: str, **thought: Any) -> None:
    """Other suggestions for a word."""
    tab.page.evaluate(
        """([word, thought]) => {
          const sentence = structuredClone(own.state.sentences.get(own.state.number));
          Object.assign(sentence.thoughts.words[word], thought);
          own.state.keep(sentence);
          own.state.emit("sentence");
        }""",
        [word, thought],
    )


def test_alternatives_below_one_percent_are_folded(open_page: OpenPage) -> None:
    tab = open_page(GARDEN, model=True)
    tab.select("1")
    arcs = [[3, "det", 0.9], [2, "det", 0.08], [6, "det", 0.006], [4, "obl", 0.004]]
    given(tab, "1", head=3, label="det", label_probability=0.9, alternatives=arcs)
    folded = tab.page.locator("#word .rare")
    folded.locator("summary", has_text="2 more below 1 %").wait_for()
    assert tab.page.locator("#word .choice:visible").count() == 2
    tab.press("ArrowDown", "ArrowDown")  # the second alternative is among them
    folded.locator(".choice.now", has_text="6 trees").wait_for()
    assert folded.locator(".choice.now").is_visible()


def test_a_suggestion_that_is_less_probable_than_another_is_explained(open_page: OpenPage) -> None:
    tab = open_page(GARDEN, model=True)
    tab.select("1")
    arcs = [[2, "det", 0.5], [3, "det", 0.4]]
    given(tab, "1", head=3, label="det", label_probability=0.4, alternatives=arcs)
    tab.page.locator("#word .why", has_text="det of 2 old is more probable by itself (50 %)").wait_for()
    given(tab, "1", head=3, label="det", label_probability=0.6, alternatives=arcs)
    tab.page.wait_for_function("() => !document.querySelector('#word .why')")


def test_text_of_the_tree_has_at_least_twelve_pixels(open_page: OpenPage) -> None:
    tab = open_page(GARDEN.replace("root\t_\t_", "root\t0:root\t_"), model=True)
    tab.page.evaluate("own.state.look({ enhanced: true, rows: ['upos', 'lemma'] })")
    sizes = tab.page.locator("#tree text").evaluate_all(
        "(texts) => texts.map((text) => parseFloat(getComputedStyle(text).fontSize))"
    )
    assert min(sizes) >= 12


def test_a_long_sentence_is_printed_in_several_lines(open_page: OpenPage) -> None:
    tab = open_page(LONG + BIRDS)
    tab.page.emulate_media(media="print")
    tab.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    lines = tab.page.locator("#print svg")
    assert lines.count() > 3
    assert not tab.page.locator("#tree").is_visible()
    views = lines.evaluate_all(
        "(lines) => lines.map((line) => line.getAttribute('viewBox').split(' ').map(Number))"
    )
    ends = [start + width for start, _, width, _ in views]
    assert [start for start, *_ in views[1:]] == ends[:-1]  # nothing is left out
    assert ends[-1] == pytest.approx(tab.page.evaluate("own.views.canvas.drawn.width"))
    middles = tab.page.evaluate(
        "own.views.canvas.drawn.stood.places.words.map((word) => [word.middle, word.half])"
    )
    assert all(not m - h < end < m + h for end in ends for m, h in middles)  # cut between words
    tab.page.emulate_media(media="screen")
    tab.page.evaluate("window.dispatchEvent(new Event('afterprint'))")
    assert lines.count() == 0
    tab.press("Shift+N")
    tab.page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert lines.count() == 0  # a short one is printed as it is


def test_a_picture_of_the_tree_needs_no_style_sheet(open_page: OpenPage, tmp_path: Path) -> None:
    tab = open_page(GARDEN, model=True, accept_downloads=True)
    with tab.page.expect_download() as download:
        tab.command("Save the tree as a picture")
    assert download.value.suggested_filename == "garden.svg"
    saved = tmp_path / "saved.svg"
    download.value.save_as(saved)
    tree = ElementTree.parse(saved).getroot()
    texts = {"".join(text.itertext()).strip() for text in tree.iter(f"{SVG}text")}
    assert {"gardener", "NOUN", "nsubj"} <= texts
    lines = [path.attrib for path in tree.iter(f"{SVG}path") if path.get("fill") == "none"]
    assert {line["stroke-dasharray"] for line in lines} == {"none", "5px, 4px"}  # annotated and suggested
    assert all(line["stroke"].startswith("rgb") for line in lines)
    assert not any("class" in part.attrib or "style" in part.attrib for part in tree.iter())
    assert tab.word(tab.selected).get_attribute("class").endswith("selected")  # the page is as before


def test_a_picture_of_the_tree_is_copied(open_page: OpenPage) -> None:
    tab = open_page(GARDEN, model=True, permissions=["clipboard-read", "clipboard-write"])
    tab.command("Copy the tree as a picture")
    tab.page.locator("#message", has_text="Picture copied.").wait_for()
    size = tab.page.evaluate(
        """async () => {
          const [item] = await navigator.clipboard.read();
          const bitmap = await createImageBitmap(await item.getType("image/png"));
          return [bitmap.width, own.views.canvas.drawn.width];
        }"""
    )
    assert size[0] == pytest.approx(2 * size[1], abs=2)


def test_the_selected_word_stays_on_the_screen_below_a_tall_tree(open_page: OpenPage) -> None:
    tab = open_page(LONG)
    tab.page.evaluate("own.state.look({ vertical: true })")
    tab.page.wait_for_selector("#tree svg.vertical")
    tab.page.wait_for_selector("#word .choices")
    bottom = tab.page.locator("#word").evaluate("(box) => box.getBoundingClientRect().bottom")
    assert bottom <= 850


def test_every_button_of_the_toolbar_is_whole_on_a_phone(open_page: OpenPage) -> None:
    tab = open_page(GARDEN, model=True)
    tab.page.set_viewport_size({"width": 390, "height": 844})
    edges = tab.page.locator("header button:visible").evaluate_all(
        "(buttons) => buttons.map((b) => [b.getBoundingClientRect().left, b.getBoundingClientRect().right])"
    )
    assert len(edges) > 10
    assert all(0 <= left < right <= 390 for left, right in edges)


def test_features_break_between_features(open_page: OpenPage) -> None:
    tab = open_page(BIRDS.replace("NOUN\t_\t_", "NOUN\t_\tDefinite=Def|PronType=Art", 1))
    tab.press("Shift+E")
    cell = tab.page.locator("#table tr[data-id='1'] [data-column=feats]")
    assert cell.inner_html() == "Definite=Def|<wbr>PronType=Art"
    assert cell.inner_text() == "Definite=Def|PronType=Art"


def test_buttons_of_the_toolbar_have_an_icon_and_a_name(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.page.set_viewport_size({"width": 1400, "height": 850})
    named = tab.page.locator("header .tools button:has(.icon)")
    texts = named.all_inner_texts()
    assert len(texts) >= 6
    assert all(not text[0].isalnum() and text[1:3].isalpha() for text in texts), texts


def test_a_tree_that_is_larger_than_the_window_fades_at_its_edges(open_page: OpenPage) -> None:
    tab = open_page(LONG)
    style = tab.page.locator("#tree").evaluate(
        "(box) => [getComputedStyle(box).backgroundImage, getComputedStyle(box).backgroundAttachment]"
    )
    assert style[0].count("linear-gradient") == 8  # left, right, top and bottom
    # Covers move with the tree, so that a shadow is seen where something is hidden, and nowhere else.
    assert style[1].split(", ")[:8] == ["local"] * 4 + ["scroll"] * 4


def test_keys_and_columns_of_the_help_card_are_aligned(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.page.set_viewport_size({"width": 1400, "height": 850})
    tab.press("?")
    sections = tab.page.locator("#help section").evaluate_all(
        """(sections) => sections.map((section) => {
          const box = section.getBoundingClientRect();
          const keys = [...section.querySelectorAll('kbd')].map((key) => key.getBoundingClientRect());
          return [box.left, box.top, Math.min(box.left, ...keys.map((key) => key.left))];
        })"""
    )
    assert all(left - first < 1 for left, _, first in sections)  # no key sticks out
    columns: dict[int, float] = {}
    for left, top, _ in sections:
        columns.setdefault(round(left), top)
    assert len(columns) > 2
    assert max(columns.values()) - min(columns.values()) < 1


def test_the_menu_of_a_word_is_grouped(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.word("1").click(button="right")
    firsts = tab.page.locator(".menu button.first").all_inner_texts()
    assert [text.split("\n")[0] for text in firsts] == [
        "Tag (UPOS)",
        "Split word (or sentence)",
        "Note on the word, its arc or the sentence",
    ]


def test_the_list_of_commands_is_inside_the_window_of_a_phone(open_page: OpenPage) -> None:
    tab = open_page(GARDEN)
    tab.page.set_viewport_size({"width": 390, "height": 844})
    tab.page.keyboard.press(":")
    box = tab.page.locator(".picker").bounding_box()
    assert box["x"] >= 8
    assert box["x"] + box["width"] <= 390 - 8
    assert box["y"] + box["height"] <= 844
