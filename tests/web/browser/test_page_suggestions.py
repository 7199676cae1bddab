"""Suggestions: why they change, the second-best tree, training, suspicious words; and a killed server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from web.browser.driver import BIRDS, GARDEN, OpenPage, Tab, rows, written

SMALL = [
    rows(
        "The/DET/2/det",
        f"{noun}/NOUN/3/nsubj",
        f"{verb}/VERB/0/root",
        "./PUNCT/3/punct",
        sent_id=f"t-{noun}-{verb}",
    )
    for noun in ("cat", "dog", "bird", "child")
    for verb in ("sleeps", "sings", "runs")
]


def test_why_a_proposal_changed(open_page: OpenPage) -> None:
    tab = open_page(GARDEN.replace("\t0\troot", "\t_\t_"), model=True)
    assert tab.page.evaluate("own.editor.arc('4').head") == "0"
    tab.select("3")
    tab.press("0")  # against what the parser thinks
    tab.page.wait_for_function("() => own.editor.arc('4').head !== '0'")  # one root: another proposal
    tab.select("4")
    why = "was root of the root; changed because 3 gardener is root of the root"
    tab.page.locator("#word .why", has_text=why).wait_for()


SHOWN = (
    "() => [own.state.waiting.length, own.state.words.map((row) => own.editor.arc(row.id)),"
    " document.querySelector('#word .which').textContent]"
)


def test_enter_shows_what_the_parser_thinks_before_the_server_has_answered(open_page: OpenPage) -> None:
    tab = open_page(GARDEN, model=True)
    for keys in (["Enter"], ["ArrowDown", "Enter"]):
        for key in keys[:-1]:
            tab.page.keyboard.press(key)
        tab.page.evaluate("() => { own.state.ahead.forget(); own.state.emit('selection'); }")
        tab.page.wait_for_function("() => own.state.ahead.found !== null")
        word = tab.page.evaluate("own.state.selected")
        with tab.late("**/edits"):
            tab.page.keyboard.press(keys[-1])
            tab.page.wait_for_function(
                "(word) => own.state.selected !== word && !own.views.word.planned", arg=word
            )
            waiting, arcs, told = tab.page.evaluate(SHOWN)
            assert waiting == 1
            assert tab.row(word, "head") == "_"
        assert tab.row(word, "head") != "_"
        assert tab.page.evaluate(SHOWN) == [0, arcs, told]


def test_what_was_asked_for_another_edit_is_not_shown(open_page: OpenPage) -> None:
    tab = open_page(GARDEN, model=True)
    tab.page.wait_for_function("() => own.state.ahead.found !== null")
    with tab.late("**/edits"):
        tab.page.keyboard.press("3")  # a head, not the proposal
        assert tab.page.evaluate("own.state.waiting.map((step) => step.known)") == [None]


def test_tags_are_proposed_and_accepted(open_page: OpenPage) -> None:
    tab = open_page(rows("The/_/_/_", "gardener/_/_/_", "sleeps/_/_/_"), model=True)
    assert tab.word("1").locator(".tag.proposed").text_content() == "DET"
    tab.press("Shift+T", "Enter")  # the proposed one stands first
    assert tab.row("1", "upos") == "DET"
    tab.press("Shift+Y")
    assert tab.row("2", "upos") == "NOUN"
    assert tab.row("3", "upos") == "VERB"


UNTAGGED = rows("The/_/_/_", "gardeners/_/_/_", "sleep/_/_/_")
TAGS = ("lemma", "upos", "xpos", "feats")
PERCENT = "(p) => import('/static/annotate/dom.js').then((dom) => dom.percent(p))"


def test_accepting_tags_writes_only_what_is_on_the_screen(open_page: OpenPage) -> None:
    tab = open_page(UNTAGGED, model=True)
    suggested = [word["tags"] for word in tab.process.sentence(0)["thoughts"]["words"].values()]
    assert any("lemma" in tags for tags in suggested)  # suggested, but not in a row of the tree
    shown = [tab.word(row).locator(".tag.proposed").text_content() for row in ("1", "2", "3")]
    tab.press("Shift+Y")
    assert tab.said().startswith("3 suggested UPOS accepted.")
    assert [tab.row(row, "upos") for row in ("1", "2", "3")] == [tag.split()[0] for tag in shown]
    assert [tab.row(row, "lemma", "xpos", "feats") for row in ("1", "2", "3")] == [["_", "_", "_"]] * 3
    tab.page.get_by_role("button", name="3 LEMMA").click()  # now they are in a row
    assert tab.word("2").locator(".tag.lemma.proposed").text_content().split()[0] == "gardener"
    tab.press("Shift+Y")
    assert [tab.row(row, "lemma") for row in ("1", "2", "3")] == ["the", "gardener", "sleep"]
    assert tab.row("2", "xpos", "feats") == ["_", "_"]


def test_the_tree_and_the_panel_show_how_sure_each_suggestion_is(open_page: OpenPage) -> None:
    tagged = rows("The/DET/2/det", "gardener/NOUN/3/nsubj", "sleeps/VERB/0/root")
    lemmas = "".join(
        line if "\t" not in line else "\t".join([*line.split("\t")[:2], lemma, *line.split("\t")[3:]])
        for _ in range(12)
        for line, lemma in zip(tagged.splitlines(True), ("", "", "the", "gardener", "sleep", ""), strict=True)
    )
    tab = open_page(rows("Glimp/_/_/_", "snorts/_/_/_", "like/_/_/_") + lemmas, model=True)
    tab.page.evaluate("own.state.look({ rows: ['upos', 'xpos', 'feats', 'lemma'] })")
    tab.page.wait_for_function(  # the accuracy of lemmas is counted in the background
        "() => own.state.thought('2').tag_probabilities.lemma", timeout=60_000
    )
    unsure, columns = 0, set()
    for row, word in tab.process.sentence(0)["thoughts"]["words"].items():
        tab.select(row)
        for column in word["tags"]:
            value, p = word["tags"][column], word["tag_probabilities"][column]
            percent = tab.page.evaluate(PERCENT, p)
            in_panel = f"#word .suggested[data-field={column}]"
            tab.page.locator(in_panel, has_text=f"{value} {percent}").wait_for()
            in_tree = "|".join(tab.word(row).locator(f".tag.{column}.proposed").all_text_contents())
            assert in_tree == (value if p >= 0.95 else f"{value} {percent.replace(' ', '')}")
            unsure += p < 0.95
            columns.add(column)
    assert columns == set(TAGS)
    assert unsure  # the tree shows a confidence where it matters


def test_the_panel_lists_all_suggestions_of_a_word_and_accepts_one_or_all(open_page: OpenPage) -> None:
    tab = open_page(UNTAGGED, model=True)
    tab.select("2")
    tags = tab.process.sentence(0)["thoughts"]["words"]["2"]["tags"]
    assert set(tags) == set(TAGS)
    for column, value in tags.items():
        tab.page.locator(f"#word .suggested[data-field={column}]", has_text=value).wait_for()
    tab.page.locator("#word .suggested[data-field=lemma]").click()
    tab.page.wait_for_function("() => own.state.row('2').lemma !== '_'")
    tab.settled()
    assert tab.row("2", *TAGS) == [tags["lemma"], "_", "_", "_"]
    tab.press("Alt+Enter")
    assert tab.row("2", *TAGS) == [tags[column] for column in TAGS]
    assert tab.row("1", *TAGS) == ["_"] * 4
    assert tab.page.locator("#word .suggested").count() == 0


def test_the_table_shows_suggestions_with_their_probabilities_and_accepts_a_column(
    open_page: OpenPage,
) -> None:
    tab = open_page(UNTAGGED + BIRDS, model=True)
    tab.press("Shift+E")
    cell = tab.page.locator("#table tr[data-id='2'] td[data-column=upos]")
    word = tab.process.sentence(0)["thoughts"]["words"]["2"]
    assert cell.get_attribute("class") == "suggestion"
    for column, value in word["tags"].items():
        percent = tab.page.evaluate(PERCENT, word["tag_probabilities"][column])
        shown = tab.page.locator(f"#table tr[data-id='2'] td[data-column={column}]").inner_text()
        assert shown == f"{value} {percent}"
    tab.page.get_by_role("button", name="Accept 3 suggested UPOS").click()
    tab.settled()
    assert [tab.row(row, "upos") for row in ("1", "2", "3")] == ["DET", "NOUN", "VERB"]
    tab.page.locator("#table tr[data-id='2'] td[data-column=lemma]").click()
    tab.press("Enter")
    tab.page.locator("#tree").click(position={"x": 5, "y": 5})  # leaving the cell accepts nothing
    assert tab.row("2", "lemma") == "_"
    tab.page.locator("#table tr[data-id='2'] td[data-column=lemma]").click()
    tab.press("Enter", "Enter")
    assert tab.row("2", "lemma") == "gardener"


def test_a_threshold_says_beforehand_how_many_of_what(open_page: OpenPage) -> None:
    tab = open_page(UNTAGGED, model=True)
    words = tab.process.sentence(0)["thoughts"]["words"]
    tab.press("Shift+Q")
    dialog = tab.page.locator("#acceptance")
    dialog.get_by_label("Threshold in percent").fill("90")
    arcs = [m for m, word in words.items() if word["label_probability"] >= 0.9]
    counts = [label.split() for label in dialog.locator(".check").all_inner_texts()]
    assert ["arcs", str(len(arcs)), "of", "3"] in counts
    # Also of columns without a single annotated word: the network states its probabilities.
    shares = [word["tag_probabilities"] for word in words.values()]
    for column in TAGS:
        of_column = [
            p[column] for p, word in zip(shares, words.values(), strict=True) if column in word["tags"]
        ]
        sure_of_it = sum(p >= 0.9 for p in of_column)
        assert [column.upper(), str(sure_of_it), "of", str(len(of_column))] in counts
    assert "without a probability" not in dialog.inner_text()
    tab.press("Escape")
    assert [tab.row(m, "upos", "head") for m in words] == [["_", "_"]] * 3
    tab.press("Shift+Q")
    dialog.get_by_label("Threshold in percent").fill("0")
    dialog.get_by_role("checkbox", name="arcs").uncheck()
    listed = dialog.locator("li").all_inner_texts()
    assert all(words["2"]["tags"][column] in listed[1] for column in TAGS)
    dialog.get_by_role("button", name="Accept 3 UPOS, 3 XPOS").click()
    tab.page.wait_for_function("() => own.state.row('2').lemma !== '_'")  # once the dialog has closed
    tab.settled()
    assert tab.row("2", *TAGS) == [words["2"]["tags"][column] for column in TAGS]
    assert tab.row("2", "head") == "_"
    tab.press("Shift+U")  # one step
    assert [tab.row(m, *TAGS) for m in words] == [["_"] * 4] * 3


def test_suggestions_without_a_probability_are_left_out_above_a_threshold(open_page: OpenPage) -> None:
    tab = open_page(UNTAGGED, model=True)
    tab.page.evaluate(
        """() => {
          const sentence = structuredClone(own.state.sentences.get(own.state.number));
          for (const word of Object.values(sentence.thoughts.words)) delete word.tag_probabilities.lemma;
          own.state.keep(sentence);
        }"""
    )
    tab.press("Shift+Q")
    dialog = tab.page.locator("#acceptance")
    dialog.get_by_label("Threshold in percent").fill("1")
    assert "3 LEMMA without a probability are left out" in dialog.inner_text()


def test_a_tag_that_the_file_marks_as_suggested_is_shown_and_accepted_as_one(open_page: OpenPage) -> None:
    tab = open_page(BIRDS.replace("obj\t_\t_", "obj\t_\tUposProb=0.6"))
    assert tab.word("3").locator(".tag.proposed").text_content() == "NOUN 60%"
    tab.press("Shift+Y")
    assert tab.row("3", "upos", "misc") == ["NOUN", "_"]
    assert tab.word("3").locator(".tag.proposed").count() == 0


def test_second_best_tree(open_page: OpenPage) -> None:
    tab = open_page(GARDEN, model=True)
    best = tab.page.evaluate(
        "own.state.words.map(r => [own.editor.arc(r.id).head, own.editor.arc(r.id).label])"
    )
    tab.press("Shift+V")
    assert tab.page.locator("#tree").get_attribute("class") == "second"
    second = tab.process.sentence(0)["thoughts"]["second_best"]
    other = [[str(second["heads"][str(m)]), second["labels"][str(m)]] for m in range(1, 8)]
    assert other != best
    assert tab.page.locator(".arc.differs").count() == sum(a != b for a, b in zip(other, best, strict=True))
    tab.press("Escape")
    assert tab.page.locator(".arc.differs").count() == 0


@pytest.mark.parametrize("key", ["Enter", "Control+Enter"])
def test_what_is_accepted_in_the_second_best_tree_are_the_arcs_that_it_shows(
    open_page: OpenPage, key: str
) -> None:
    tab = open_page(GARDEN, model=True)
    second = tab.process.sentence(0)["thoughts"]["second_best"]
    wanted = {row: [str(second["heads"][row]), second["labels"][row]] for row in map(str, range(1, 8))}
    tab.press("Shift+V")
    row = tab.page.locator(".arc.differs").first.get_attribute("data-arc")
    tab.select(row)
    tab.page.locator("#word .choice.now", has_text=wanted[row][1]).wait_for()
    tab.press(key)
    for word, arc in wanted.items():
        if key == "Control+Enter" or word == row:
            assert tab.row(word, "head", "deprel") == arc, word
    assert tab.page.locator("#tree.second").count() == 0  # now another tree is the second-best one


def test_training_from_nothing(open_page: OpenPage) -> None:
    tab = open_page(
        "".join(SMALL)
        + rows("The/DET/_/_", "horse/NOUN/_/_", "sleeps/VERB/_/_", "./PUNCT/_/_", sent_id="new"),
        at=13,
    )
    assert tab.page.locator(".arc.unknown").count() == 4
    tab.press("Shift+A")
    tab.page.get_by_role("button", name="Train on current annotation").click()
    tab.page.set_default_timeout(60_000)
    tab.page.locator("#side-training .curve").wait_for()
    tab.page.wait_for_function("() => own.state.sentence.thoughts !== null")  # proposals follow
    assert tab.page.evaluate("own.editor.arc('1').head") == "2"
    assert "UAS" in tab.page.locator("#side-training").inner_text()


def test_the_search_for_suspicious_annotations_reports_and_lists_them(open_page: OpenPage) -> None:
    odd = rows("The/DET/3/nsubj", "cat/NOUN/3/det", "runs/VERB/0/root", "./PUNCT/3/punct", sent_id="odd")
    tab = open_page("".join(SMALL) + odd)
    tab.press("Shift+K")
    tab.page.get_by_role("button", name="Find suspicious annotations").click()
    tab.page.set_default_timeout(60_000)
    panel = tab.page.locator("#side-checks")
    panel.locator(".suspicious .item").first.wait_for()
    assert "suspicious annotations found." in panel.inner_text()
    listed = tab.process.get("/api/doubts").json()
    assert panel.locator(".suspicious .item").count() == listed["total"] > 0
    panel.locator(".suspicious .item", has_text="13 odd, word 1").click()
    tab.page.wait_for_function("() => own.state.number === 12 && own.state.selected === '1'")
    tab.page.locator("#word .doubt-line").wait_for()
    assert "?" in tab.text("1")
    tab.page.locator("#word .doubt-line").get_by_role("button", name="It is right").click()
    tab.page.wait_for_function("() => !document.querySelector('#word .doubt-line')")
    fewer = tab.process.get("/api/doubts").json()["total"]
    assert fewer == listed["total"] - 1
    panel.locator(".suspect").get_by_role("button", name="Never ask").first.click()
    tab.page.wait_for_function(f"() => document.querySelectorAll('.suspect').length === {fewer - 1}")


def test_all_words_like_a_suspicious_one_are_changed_at_once(open_page: OpenPage, tmp_path: Path) -> None:
    odd = rows("The/DET/2/nmod", "cat/NOUN/3/nsubj", "runs/VERB/0/root", "./PUNCT/3/punct", sent_id="odd")
    tab = open_page("".join(SMALL) + odd + odd.replace("sent_id = odd", "sent_id = odder"))
    tab.press("Shift+K")
    tab.page.get_by_role("button", name="Find suspicious annotations").click()
    tab.page.set_default_timeout(60_000)
    suspect = tab.page.locator("#side-checks .suspect", has_text="13 odd, word 1")
    assert "→ det of 2" in suspect.inner_text()
    suspect.get_by_role("button", name="All like this").click()
    search = tab.page.locator("#side-search")
    search.locator(".change").first.wait_for()
    query = "@word[form=The upos=DET deprel=nmod] < @head[upos=NOUN]"
    assert tab.page.locator("#search-query").input_value() == query
    assert search.locator(".change").count() == 2
    assert "error" in (tmp_path / "a.conllu.verdicts").read_text()
    assert tab.row("1", "deprel", sentence=12) == "nmod"  # only a preview so far
    search.get_by_role("button", name="Apply").click()
    search.get_by_text("Done.").wait_for()
    assert [tab.row("1", "deprel", sentence=number) for number in (12, 13)] == ["det", "det"]


def test_a_search_for_suspicious_annotations_that_cannot_start_says_why(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.press("Shift+K")
    tab.page.get_by_role("button", name="Find suspicious annotations").click()
    tab.page.get_by_text("the search for suspicious annotations needs at least").wait_for()


def test_doubts_are_marked_and_taken(open_page: OpenPage, tmp_path: Path) -> None:
    tab = open_page(BIRDS)
    doubt: dict[str, Any] = {
        "row": "3",
        "head": 2,
        "label": "obj",
        "probability": 0.92,
        "instead": {"head": 1, "label": "nmod"},
        "reasons": ["of 40 similar contexts 38 have nmod"],
    }
    tab.page.evaluate(
        "(doubt) => { own.state.keep({...own.state.sentence, doubts: [doubt]});"
        " own.state.emit('sentence'); }",
        doubt,
    )
    tab.select("3")
    assert "?" in tab.text("3")
    tab.page.locator("#word .doubt-line", has_text="nmod of 1 Birds").get_by_role(
        "button", name="Use it"
    ).click()
    tab.page.wait_for_function("() => own.state.row('3').head === '1'")
    tab.settled()
    assert tab.row("3", "head", "deprel") == ["1", "nmod"]
    # Taking a proposal answers that the annotation was wrong.
    (verdict,) = [
        line for line in (tmp_path / "a.conllu.verdicts").read_text().splitlines() if "error" in line
    ]
    assert verdict.split("\t")[1:] == ["error", "birds", "3", "songs", "2", "obj"]


def test_nothing_that_was_kept_is_lost_when_the_server_is_killed(browser: Any, tmp_path: Path) -> None:
    from web.served import process

    path = tmp_path / "a.conllu"
    path.write_text(GARDEN, "utf-8")
    context = browser.new_context()
    with process(path) as first:
        tab = Tab(context, first)
        tab.press("3", "d", "e", "t", "Enter")
        tab.page.keyboard.press("3")
        kept = tab.page.evaluate("own.state.sentences.get(0).rows.map(r => r.head)")
        first.end(9)
        tab.page.keyboard.press("ArrowRight")
        tab.page.keyboard.press("4")
        tab.page.wait_for_function(
            "() => document.getElementById('saved').textContent.includes('Not connected')"
        )
    with process(path) as second:
        heads = [row["head"] for row in second.sentence(0)["rows"]]
        assert all(new == old for new, old in zip(heads, kept, strict=True) if old != "_")
        assert heads[0] == "3"
    assert written(path)[0][1] == "The"
    tab.page.close(run_before_unload=False)
    context.close()


def test_a_page_sends_what_was_edited_while_the_server_was_down(browser: Any, tmp_path: Path) -> None:
    from web.served import process

    path = tmp_path / "a.conllu"
    path.write_text(GARDEN + BIRDS, "utf-8")
    context = browser.new_context()
    with process(path) as first:
        tab = Tab(context, first)
        tab.press("3")
        first.end(9)
        tab.select("2")
        tab.page.keyboard.press("3")
        tab.select("5")
        tab.page.keyboard.press("6")
        tab.page.wait_for_function(
            "() => document.getElementById('saved').textContent === 'Not connected, 2 waiting'"
        )
    with process(path) as second:
        assert second.address == first.address
        tab.page.set_default_timeout(20_000)
        tab.settled()
        tab.page.wait_for_function("() => own.state.connected")
        assert [second.sentence(0)["rows"][k]["head"] for k in (0, 1, 4)] == ["3", "3", "6"]
        second.set(1, "1", lemma="bird")  # events arrive again, too
        tab.page.wait_for_function("() => own.state.document.can_undo")
        tab.press("Shift+N")
        tab.page.wait_for_function("() => own.state.row('1')?.lemma === 'bird'")
        assert tab.errors == []
    context.close()
