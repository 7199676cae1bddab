"""How the page looks: scripts, long sentences, dark mode, contrast, screen readers; text is never HTML."""

from __future__ import annotations

from itertools import pairwise

import pytest

from web.browser.driver import BIRDS, GARDEN, TELESCOPE, OpenPage, rows

HEBREW = rows("הילדה/NOUN/2/nsubj", "קוראת/VERB/0/root", "ספר/NOUN/_/_", sent_id="gan")
CROSSING = rows(
    "A/DET/2/det", "hearing/NOUN/3/nsubj", "begins/VERB/0/root", "on/ADP/5/case", "taxes/NOUN/2/nmod"
)
EMPTY = """\
# sent_id = empty
1	Al	Al	PROPN	_	_	2	nsubj	2:nsubj	_
2	had	have	VERB	_	_	0	root	0:root	_
3	tea	tea	NOUN	_	_	2	obj	2:obj	_
4	Bo	Bo	PROPN	_	_	2	conj	4.1:nsubj	_
4.1	had	have	VERB	_	_	_	_	2:conj	_
5-6	cola	_	_	_	_	_	_	_	_
5	co	co	NOUN	_	_	4	orphan	4.1:obj	_
6	la	la	NOUN	_	_	5	flat	5:flat	_

"""
CONTRAST = """() => {
  const channel = (v) => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; };
  const light = (c) => 0.2126 * channel(c[0]) + 0.7152 * channel(c[1]) + 0.0722 * channel(c[2]);
  const parse = (text) => (text.match(/[\\d.]+/g) ?? [0, 0, 0, 0]).map(Number);
  const solid = (c) => c.length < 4 || c[3] > 0.99;
  const ground = (el) => {
    for (let at = el; at; at = at.parentElement) {
      const place = at.closest?.('svg') && at.querySelector?.(':scope > .place');
      if (place) {
        const c = parse(getComputedStyle(place).fill);
        if (solid(c) && getComputedStyle(place).fill !== 'none') return c;
      }
      const c = parse(getComputedStyle(at).backgroundColor);
      if (solid(c)) return c;
    }
    return parse(getComputedStyle(document.body).backgroundColor);
  };
  const found = [];
  for (const el of document.querySelectorAll('body *')) {
    const own = [...el.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || el.closest('[hidden], .hidden, title, noscript, :disabled, option')) continue;
    if (!el.getClientRects().length) continue;
    const style = getComputedStyle(el), paper = ground(el);
    const ink = parse(el.closest('svg') ? style.fill : style.color);
    const [a, b] = [light(ink), light(paper)], ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    const name = `${el.tagName} ${el.getAttribute('class')} ${el.textContent.trim().slice(0, 20)}`;
    if (ratio < 4.5) found.push(`${name}: ${ratio.toFixed(2)}`);
  }
  return found;
}"""


AFRESH = """async () => {
  const { Drawing } = await import('/static/annotate/tree.js');
  const { picture } = await import('/static/annotate/picture.js');
  const other = new Drawing(), { preview, second, view } = own.state;
  other.stood = own.views.canvas.drawn.stood; // words do not move nearer to each other
  const guessed = (id, head) => own.state.guess(id, head);
  const { enhanced, rows: names } = view;
  const drawn = picture(own.state.sentence, { preview, second, enhanced, guessed, names });
  other.draw(drawn, { ...view, passing: true, room: own.views.canvas.width / view.zoom });
  return [other.root, own.views.canvas.drawn.root].map((root) => {
    const copy = root.cloneNode(true);
    for (const el of copy.querySelectorAll('*')) {
      el.classList.remove('selected', 'ranged', 'head', 'mine', 'target');
      el.removeAttribute('aria-selected');
      el.removeAttribute('transform');
    }
    return copy.outerHTML;
  });
}"""


def test_what_is_drawn_bit_by_bit_is_what_is_drawn_afresh(open_page: OpenPage) -> None:
    tab = open_page(GARDEN + EMPTY, model=True)
    pressed = "Enter,ArrowDown,Enter,Tab,3,ArrowRight,Space,Escape,Shift+V,Shift+V,+,Backspace"
    pressed += ",Shift+H,],Control+z,Shift+N,d e p Enter,Control+z"
    for keys in pressed.split(","):
        tab.press(*keys.split())
        afresh, shown = tab.page.evaluate(AFRESH)
        assert shown == afresh, keys


def test_text_is_only_text(open_page: OpenPage) -> None:
    form = "<script>window.hit=1</script>"
    image = "<img/src=x/onerror=window.hit=2>"
    words = (
        f"# sent_id = {form}\n# text = {form} {image}\n"
        f"1\t{form}\t{image}\tX\t{image}\t_\t0\troot\t_\tNote={image}\n"
        f"2\t{image}\t_\t_\t_\t_\t1\t{form}\t_\t_\n\n"
    )
    tab = open_page(words)
    tab.page.keyboard.press("Shift+E")
    for side in ("Checks", "Notes", "Worklist"):
        tab.page.get_by_role("tab", name=side).click()
    tab.page.get_by_role("tab", name="Search").click()
    tab.page.locator("#search-query").fill("upos=X")
    tab.page.get_by_role("button", name="Find").click()
    tab.page.wait_for_selector("#side-search .item")
    assert tab.page.evaluate("window.hit") is None
    assert tab.page.locator("#work script, #work img, #side script, #side img").count() == 0
    assert form in tab.text("1")


def test_right_to_left(open_page: OpenPage) -> None:
    tab = open_page(HEBREW, model=True)
    x = [tab.word(row).bounding_box()["x"] for row in "123"]
    assert x[0] > x[1] > x[2]
    tab.select("1")
    tab.press("ArrowLeft")  # to the left is onwards
    assert tab.selected == "2"
    assert tab.page.locator("#text").get_attribute("dir") == "rtl"


def test_vertical(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.command("vertical layout")
    y = [tab.word(row).bounding_box()["y"] for row in "123"]
    assert y[0] < y[1] < y[2]
    assert tab.arc("1").bounding_box()["x"] > tab.word("1").bounding_box()["x"]  # arcs stand to the right
    for part in (".form", ".tag"):  # one word a line, its text as it is read
        boxes = [tab.word(row).locator(part).bounding_box() for row in "123"]
        assert all(box["width"] > box["height"] for box in boxes)
    label = tab.arc("1").locator(".label").bounding_box()
    assert label["width"] > label["height"]


def test_a_vertical_tree_fits_a_phone(open_page: OpenPage) -> None:
    arcs = [(2, "det"), (3, "nsubj"), (0, "root"), (6, "nummod"), (6, "amod"), (3, "obj"), (10, "case")]
    arcs += [(10, "det"), (10, "compound"), (3, "obl"), (3, "punct")]
    forms = ["The", "gardener", "planted", "three", "young", "trees", "behind", "the", "old", "house", "."]
    tab = open_page(rows(*(f"{f}/NOUN/{head}/{label}" for f, (head, label) in zip(forms, arcs, strict=True))))
    tab.page.set_viewport_size({"width": 390, "height": 844})
    tab.page.evaluate("own.state.look({ vertical: true })")
    tab.page.wait_for_selector("#tree svg.vertical")
    tab.page.wait_for_function(
        "() => { const t = own.views.canvas.box; return t.scrollWidth <= t.clientWidth; }"
    )
    boxes = [box.bounding_box() for box in tab.page.locator(".arc .name").all()]
    tree = tab.page.locator("#tree").bounding_box()
    assert len(boxes) == 11
    for at, a in enumerate(boxes):
        assert a["x"] + a["width"] <= tree["x"] + tree["width"]
        for b in boxes[at + 1 :]:  # beside each other or below
            apart = a["x"] + a["width"] <= b["x"] + 1 or b["x"] + b["width"] <= a["x"] + 1
            assert apart or abs(a["y"] - b["y"]) >= a["height"] - 1
    numbers = [text.bounding_box()["x"] for text in tab.page.locator(".word .number").all()]
    forms_at = [text.bounding_box()["x"] for text in tab.page.locator(".word .form").all()]
    assert max(numbers) + 8 < min(forms_at)  # columns stay apart


def test_eighty_words(open_page: OpenPage) -> None:
    words = [f"word{k}/NOUN/{max(0, k - 1 - k % 7)}/{'root' if k < 2 else 'nmod'}" for k in range(1, 81)]
    tab = open_page(rows(*words))
    tab.page.keyboard.press("End")
    assert tab.selected == "80"
    tree, word = tab.page.locator("#tree").bounding_box(), tab.word("80").bounding_box()
    assert tree["x"] <= word["x"]
    assert word["x"] + word["width"] <= tree["x"] + tree["width"]  # scrolled into view
    boxes = [tab.word(str(k)).locator(".form").bounding_box() for k in range(1, 81)]
    assert all(a["x"] + a["width"] <= b["x"] + 0.5 for a, b in pairwise(boxes))  # no word over another
    tab.page.keyboard.press("Shift+Z")
    assert tab.page.evaluate("own.state.view.zoom") < 1
    tab.page.keyboard.press("]")


def test_the_label_of_a_long_arc_is_seen_wherever_one_looks(open_page: OpenPage) -> None:
    words = ["go/VERB/0/root", *[f"word{k}/NOUN/1/obl" for k in range(2, 60)]]
    tab = open_page(rows(*words))
    label = tab.arc("59").locator(".label")
    tree = tab.page.locator("#tree").bounding_box()
    for key in ("Home", "End"):
        tab.page.keyboard.press(key)
        tab.page.wait_for_timeout(120)
        box = label.bounding_box()
        assert tree["x"] <= box["x"]
        assert box["x"] + box["width"] <= tree["x"] + tree["width"]


def test_labels_do_not_lie_over_each_other(open_page: OpenPage) -> None:
    tab = open_page(GARDEN + CROSSING, model=True)
    for number in range(2):
        tab.page.wait_for_function("(n) => own.state.number === n", arg=number)
        boxes = [b.bounding_box() for b in tab.page.locator(".arc .label").all()]
        for at, a in enumerate(boxes):
            for b in boxes[at + 1 :]:
                apart = a["x"] + a["width"] <= b["x"] or b["x"] + b["width"] <= a["x"]
                assert apart or abs(a["y"] - b["y"]) >= 10
        tab.page.evaluate("own.state.open(1)")


def test_proposed_and_decided_differ_by_more_than_colour(open_page: OpenPage) -> None:
    tab = open_page(GARDEN, model=True)
    dashes = "(el) => getComputedStyle(el.querySelector('.line')).strokeDasharray"
    assert tab.arc("4").evaluate(dashes) == "none"
    assert tab.arc("1").evaluate(dashes) != "none"
    assert float(tab.arc("6").locator(".line").get_attribute("opacity")) <= 1
    tab.press("Enter")
    assert tab.arc("1").evaluate(dashes) == "none"


def test_crossing_arcs_and_enhanced_graph(open_page: OpenPage) -> None:
    tab = open_page(CROSSING + EMPTY)
    assert "crossing" in tab.arc("5").get_attribute("class")
    assert tab.arc("5").locator(".halo").count() == 1
    tab.press("Shift+N")
    tab.page.wait_for_function("() => own.state.number === 1")
    assert tab.word("4.1").count() == 1
    assert tab.page.locator('[data-token="5-6"]').text_content() == "cola"
    tab.page.keyboard.press("Shift+H")
    assert tab.page.locator(".deps").count() == 6
    assert tab.page.locator(".deps.extra").count() == 3


def test_what_is_read_aloud(open_page: OpenPage) -> None:
    tab = open_page(GARDEN, model=True)
    label = tab.word("1").get_attribute("aria-label")
    assert label.startswith("1 The, DET, head 3 gardener, det, ")
    assert label.endswith("%, suggested")
    tree = tab.page.locator("#tree")
    assert tree.get_attribute("aria-activedescendant") == "word-1"
    tab.press("ArrowRight")
    assert tree.get_attribute("aria-activedescendant") == "word-2"
    assert tab.heard().startswith("2 old, ADJ, head 3 gardener, amod")
    tab.press("Enter")
    assert tab.page.locator("button:not([aria-label])").evaluate_all(
        "all => all.every(b => b.textContent.trim())"
    )


def test_contrast_in_light_and_dark(open_page: OpenPage) -> None:
    tab = open_page(GARDEN + BIRDS.replace("0\troot", "0\tdep"), model=True)
    for theme in ("light", "dark"):
        tab.page.emulate_media(color_scheme=theme)
        for number in (0, 1):
            tab.page.evaluate("(n) => own.open(n)", number)
            tab.page.wait_for_function("(n) => own.state.number === n", arg=number)
            tab.page.wait_for_timeout(150)
            assert tab.page.evaluate(CONTRAST) == []
        tab.page.keyboard.press("?")
        assert tab.page.evaluate(CONTRAST) == []
        tab.page.keyboard.press("Escape")
    background = "getComputedStyle(document.body).backgroundColor"
    assert tab.page.evaluate(background) == "rgb(12, 15, 20)"
    tab.page.evaluate("own.theme()")  # dark
    tab.page.evaluate("own.theme()")  # light, whatever the system says
    assert tab.page.evaluate(background) == "rgb(244, 246, 249)"


def test_the_focus_is_seen(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    for _ in range(6):
        tab.page.keyboard.press("F6")
        tab.page.keyboard.press("Tab")
        style = tab.page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
        assert style == "solid"


def test_printing_shows_the_tree_alone(open_page: OpenPage) -> None:
    tab = open_page(BIRDS, color_scheme="dark")
    tab.page.emulate_media(media="print")
    assert not tab.page.locator("header").is_visible()
    assert not tab.page.locator("#side").is_visible()
    assert tab.page.locator("#tree svg").is_visible()
    assert tab.page.evaluate("getComputedStyle(document.querySelector('.form')).fill") == "rgb(0, 0, 0)"
    assert tab.word("1").get_attribute("aria-selected") == "true"
    selected = tab.page.evaluate("getComputedStyle(document.querySelector('#word-1 .place')).fill")
    assert selected == "none"  # what is selected is nothing to print
    assert tab.page.locator("#sent-id").bounding_box()["x"] >= 0


def test_without_a_model(open_page: OpenPage) -> None:
    tab = open_page(GARDEN)
    assert "no model" in tab.page.locator("#word").inner_text()
    tab.press("Enter")
    assert "No suggestion for this word" in tab.said()
    assert tab.arc("1").locator(".label").text_content() == "?"


LAYOUT = """async () => {
  const { layout } = await import('/static/annotate/layout.js');
  const items = [40, 30, 50].map((width) => ({ width, stem: null }));
  const arc = (modifier, width) => ({ head: 1, modifier, width });
  const arcs = (first, second) => [arc(0, first), arc(2, second)];
  const at = (places) => places.words.map((word) => Math.round(word.middle));
  const wide = layout(items, arcs(120, 90), false), then = layout(items, arcs(30, 90), false, wide);
  const narrow = layout(items, arcs(30, 90), false), wider = layout(items, arcs(30, 150), false, wide);
  return { wide: at(wide), narrow: at(narrow), then: at(then), wider: at(wider) };
}"""


def test_words_stay_where_they_are_unless_they_need_room(open_page: OpenPage) -> None:
    found = open_page(BIRDS).page.evaluate(LAYOUT)
    assert found["then"] == found["wide"]
    assert found["narrow"][1] < found["wide"][1]
    assert found["wider"][:2] == found["wide"][:2]
    assert found["wider"][2] > found["wide"][2]


def test_a_preview_moves_words_and_lets_them_go_back(open_page: OpenPage) -> None:
    tab = open_page(GARDEN)
    places = "() => [...document.querySelectorAll('.word .form')].map((form) => form.getAttribute('x'))"
    tab.page.evaluate("own.editor.select('1')")
    before = tab.page.evaluate(places)
    tab.page.evaluate("own.state.show({ row: '1', head: '2', label: 'a:very:long:label:indeed' })")
    shown = tab.page.evaluate(places)
    tab.page.evaluate("own.state.show(null)")
    assert shown != before
    assert tab.page.evaluate(places) == before


FORMS = ("Unusually", "elongated", "expressions", "continue", "further", "right", "than")
LONG_WORDS = rows(*[f"{form}/NOUN/_/_" for form in FORMS], "telephones/NOUN/0/root", "show/VERB/_/_")
SEEN = """(selector) => [...document.querySelectorAll(selector)].map((element) => {
  const box = element.getBoundingClientRect(), middle = (box.left + box.right) / 2;
  const corners = [[box.left + 6, box.top + 6], [box.right - 6, box.bottom - 6]];
  const at = [[middle, box.top + 3], [middle, box.bottom - 3], ...corners];
  return at.every(([x, y]) => element.contains(document.elementFromPoint(x, y)));
})"""
"""Whether elements are seen whole: inside the window, and nothing covers them or cuts them off."""


LAST_CHOICE = "#word div:not(.rare) > .choices > .choice:last-child"


@pytest.mark.parametrize(
    ("width", "height"), [(650, 425), (960, 480), (390, 844)], ids=["zoom", "wide zoom", "phone"]
)
def test_the_selected_word_is_never_cut_off_in_a_small_window(
    open_page: OpenPage, width: int, height: int
) -> None:
    tab = open_page(LONG_WORDS, model=True)
    tab.page.set_viewport_size({"width": width, "height": height})
    for _ in range(8):
        tab.press("ArrowRight")
        tab.page.wait_for_function(f"() => ({SEEN})('.word.selected').every(Boolean)")
    overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert tab.page.evaluate(overflow) == 0
    # Again and again: new suggestions replace the choices while they scroll.
    tab.page.wait_for_function(
        f"""() => {{
          const last = document.querySelector('{LAST_CHOICE}');
          last?.scrollIntoView();
          return Boolean(last) && ({SEEN})('{LAST_CHOICE}').every(Boolean);
        }}"""
    )


def test_alternatives_are_beside_the_tree_on_a_phone(open_page: OpenPage) -> None:
    tab = open_page(TELESCOPE, model=True)
    tab.page.set_viewport_size({"width": 390, "height": 844})
    tab.select("10")
    tab.page.wait_for_function(f"() => ({SEEN})('.word.selected').every(Boolean)")
    seen = tab.page.evaluate(f"() => ({SEEN})('#word .choice')")
    assert len(seen) > 2
    assert all(seen[:3])  # without scrolling
    assert all(tab.page.evaluate(f"() => ({SEEN})('[data-action=more]')"))
