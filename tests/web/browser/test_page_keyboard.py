"""Keyboard: heads, labels, tags, accepting, moving, undo, sentence structure, panels."""

from __future__ import annotations

import pytest

from web.browser.driver import BIRDS, GARDEN, TELESCOPE, OpenPage, Tab, rows


def test_digits_set_the_head_and_letters_the_label(open_page: OpenPage) -> None:
    tab = open_page(GARDEN)
    assert tab.selected == "1"
    tab.press("3", "d", "Enter")  # three keys
    assert tab.row("1", "head", "deprel", "state") == ["3", "det", "decided"]
    assert tab.selected == "2"  # on to the next open word
    tab.press("3")
    assert tab.row("2", "head", "deprel") == ["3", "_"]  # a head without a label is a decision, too
    tab.press("a", "m", "Enter")
    assert tab.row("2", "deprel") == "amod"


def test_without_a_parser_labels_are_guessed_from_what_was_decided(open_page: OpenPage) -> None:
    tab = open_page(
        BIRDS.replace("nsubj", "subj") + rows("Dogs/NOUN/_/_", "bark/VERB/0/root", sent_id="dogs")
    )
    tab.press("Shift+N")
    tab.page.wait_for_function("() => own.state.number === 1")
    tab.press("2")
    assert tab.row("1", "deprel") == "_"  # a guess decides nothing
    assert tab.arc("1").locator(".label").text_content() == "subj"
    tab.press("Enter")
    assert tab.row("1", "head", "deprel") == ["2", "subj"]


def test_a_number_that_may_go_on_waits(open_page: OpenPage) -> None:
    tab = open_page(rows(*[f"w{k}/X/_/_" for k in range(1, 13)]))
    tab.press("1")
    assert tab.row("1", "head") == "_"  # 1 is the word itself; 10, 11, 12 are possible
    tab.press("2")
    assert tab.row("1", "head") == "12"
    tab.select("3")
    tab.press("1", "d", "e", "p", "Enter")  # a letter ends the number
    assert tab.row("3", "head", "deprel") == ["1", "dep"]
    tab.select("4")
    tab.press("1", "Backspace", "2")
    assert tab.row("4", "head") == "2"
    tab.press("9", "9")
    tab.press("Escape")


def test_the_root_and_wrong_numbers(open_page: OpenPage) -> None:
    tab = open_page(GARDEN.replace("\t0\troot", "\t_\t_"))
    tab.select("4")
    tab.press("0")
    assert tab.row("4", "head", "deprel") == ["0", "root"]
    tab.select("2")
    tab.press("9")
    assert "no word 9" in tab.said()
    tab.press("2")
    assert "its own head" in tab.said()
    assert tab.row("2", "head") == "_"


def test_space_and_arrows_choose_the_head(open_page: OpenPage) -> None:
    tab = open_page(GARDEN)
    mode = tab.page.locator("#mode")
    tab.press("Space", "ArrowRight")
    assert mode.inner_text().startswith("Choose the head of 1 The")
    tab.press("Enter")
    assert mode.is_hidden()
    assert tab.row("1", "head") == "3"
    tab.select("2")
    tab.press("Space", "ArrowRight", "Escape")
    assert mode.is_hidden()
    assert tab.row("2", "head") == "_"


def test_enter_accepts_the_proposal_and_plus_all_that_are_sure(open_page: OpenPage) -> None:
    tab = open_page(TELESCOPE, model=True)
    tab.press("Enter")
    assert tab.row("1", "head", "deprel", "state") == ["2", "nsubj", "decided"]
    tab.press("+")
    assert "accepted" in tab.said()
    before = sum(r["state"] == "decided" for r in tab.process.sentence(0)["rows"])
    assert 2 < before < len(tab.process.sentence(0)["rows"])
    tab.press("Control+Enter")
    assert all(r["state"] == "decided" and r["deprel"] != "_" for r in tab.process.sentence(0)["rows"])
    tab.press("Shift+U")
    assert sum(r["state"] == "decided" for r in tab.process.sentence(0)["rows"]) == before


def test_arrows_show_alternatives_and_enter_takes_one(open_page: OpenPage) -> None:
    tab = open_page(GARDEN, model=True)
    tab.select("6")
    head, label, _ = tab.page.evaluate("own.editor.others()[0]")
    tab.press("ArrowDown")
    assert tab.row("6", "head") == "_"  # shown, not decided
    assert "preview" in tab.arc("6").get_attribute("class")
    tab.press("Enter")
    assert tab.row("6", "head", "deprel") == [str(head), label]
    tab.select("6")
    tab.page.wait_for_function("() => own.editor.others().length > 1")  # what a decided word might be


def test_label_alone_and_open_again(open_page: OpenPage) -> None:
    tab = open_page(GARDEN)
    tab.select("6")
    tab.press("o", "b", "j", "Control+Enter")
    assert tab.row("6", "head", "deprel", "state") == ["_", "obj", "open"]
    tab.select("4")
    tab.press("Backspace")
    assert tab.row("4", "head", "deprel") == ["_", "_"]


def test_tab_goes_to_the_least_sure_word(open_page: OpenPage) -> None:
    tab = open_page(GARDEN, model=True)
    tab.press("Tab")
    least = tab.page.evaluate(
        "own.state.words.filter(r => own.editor.isOpen(r) && r.id !== '1')"
        ".reduce((a, b) => own.state.thought(b.id).label_probability"
        " < own.state.thought(a.id).label_probability ? b : a).id"
    )
    assert tab.selected == least
    tab.press("Shift+Tab")
    assert tab.selected == "1"


def test_sentences_undo_and_redo(open_page: OpenPage) -> None:
    tab = open_page(GARDEN + BIRDS)
    tab.press("3", "PageDown")
    tab.page.wait_for_function("() => own.state.number === 1")
    tab.press("Shift+U")
    tab.page.wait_for_function("() => own.state.number === 0")  # undo goes to where it undid
    assert tab.row("1", "head", sentence=0) == "_"
    tab.press("Control+y")
    tab.page.wait_for_function("() => own.state.row('1').head === '3'")
    tab.press("Shift+N")
    tab.page.wait_for_function("() => own.state.number === 1")
    tab.press("Shift+G")
    tab.type("garden")
    tab.page.keyboard.press("Enter")
    tab.page.wait_for_function("() => own.state.number === 0")


FIELDS = [
    ("Shift+T", "prop", "upos", "PROPN"),
    ("Shift+X", "NNP", "xpos", "NNP"),
    ("Shift+F", "Case=Nom|Number=Sing", "feats", "Case=Nom|Number=Sing"),
    ("Shift+L", "bird", "lemma", "bird"),
    ("Shift+W", "Bird", "form", "Bird"),
    ("Shift+I", "Gloss=bird", "misc", "Gloss=bird"),
    ("Shift+D", "2:nsubj|3:nsubj", "deps", "2:nsubj|3:nsubj"),
]


def test_fields(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    for key, typed, column, value in FIELDS:
        tab.page.keyboard.press(key)
        tab.page.keyboard.press("Control+A")
        tab.type(typed)
        tab.press("Enter")
        assert tab.row("1", column) == value


def test_split_join_and_multiword(open_page: OpenPage) -> None:
    tab = open_page(rows("vámonos/VERB/0/root", "al/ADP/1/obl", "mar/NOUN/1/obl") + BIRDS)
    tab.page.keyboard.press("Shift+S")
    tab.page.keyboard.press("Control+A")
    tab.type("vá mo nos")
    tab.press("Enter")
    assert [r["form"] for r in tab.process.sentence(0)["rows"]][:3] == ["vá", "mo", "nos"]
    tab.select("1")
    tab.press("Shift+ArrowRight", "Shift+ArrowRight", "Shift+M", "Enter")  # three words
    assert tab.row("1-3", "form") == "vámonos"
    tab.select("2")
    tab.page.keyboard.press("Shift+M")
    tab.page.get_by_role("button", name="Remove token").click()
    tab.settled()
    tab.select("1")
    tab.press("Shift+J", "Enter")
    assert tab.row("1", "form") == "vámo"
    assert tab.process.sentence(0)["text"] == "vámonos al mar"  # as it was all along


def test_a_split_keeps_the_text_and_what_was_typed(open_page: OpenPage) -> None:
    tab = open_page(rows("ann/ADP/2/case", "mar/NOUN/0/root"))
    tab.page.keyboard.press("Shift+S")
    tab.page.keyboard.press("Control+A")
    tab.type("an e")
    assert "Multiword token ann = an + e; the text keeps ann." in tab.page.locator(".asker").inner_text()
    tab.page.get_by_role("button", name="As a multiword token").click()
    assert tab.page.locator(".asker input").input_value() == "an e"
    tab.page.keyboard.press("Escape")
    tab.page.keyboard.press("Shift+S")
    tab.page.keyboard.press("Control+A")
    tab.type("an e")
    tab.press("Enter")
    sentence = tab.process.sentence(0)
    assert [row["form"] for row in sentence["rows"]] == ["ann", "an", "e", "mar"]
    assert sentence["text"] == "ann mar"


def test_joining_proposes_the_text_and_says_when_it_changes(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.page.keyboard.press("Shift+J")
    field, box = tab.page.locator(".asker input"), tab.page.locator(".asker")
    assert field.input_value() == "Birds sing"
    field.fill("Birdsing")
    assert "Changes the text of the sentence, too: Birds sing → Birdsing" in box.inner_text()
    field.fill("Birds sing")
    assert "Changes the text" not in box.inner_text()
    tab.press("Enter")
    assert tab.process.sentence(0)["text"] == "Birds sing songs"


def test_sentences_are_split_and_joined(open_page: OpenPage) -> None:
    tab = open_page(rows("Go/VERB/0/root", "home/ADV/1/advmod", "Sleep/VERB/1/parataxis"))
    tab.select("3")
    tab.command("split sentence before")
    tab.settled()
    tab.page.wait_for_function("() => own.state.document.sentences === 2")
    assert [r["form"] for r in tab.process.sentence(0)["rows"]] == ["Go", "home"]
    tab.command("join sentence with")
    tab.settled()
    assert len(tab.process.sentence(0)["rows"]) == 3


def test_empty_nodes_and_notes(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.command("empty node after")
    tab.type("and")
    tab.press("Enter")
    assert tab.row("1.1", "form") == "and"
    assert tab.word("1.1").count() == 1
    tab.page.keyboard.press("Shift+C")
    tab.type("really?")
    tab.press("Enter")
    assert {"on": "1", "text": "really?"} in tab.process.sentence(0)["notes"]
    assert "✎" in tab.text("1")
    tab.select("1.1")
    tab.command("remove this empty")
    tab.settled()
    assert tab.word("1.1").count() == 0


def test_a_finding_is_told_and_repaired_by_one_key(open_page: OpenPage) -> None:
    tab = open_page(BIRDS.replace("0\troot", "0\tdep"))
    tab.select("2")
    assert "!" in tab.text("2")
    told = tab.page.locator("#word .finding").first.inner_text()
    assert "root" in told
    tab.press(".")
    assert tab.row("2", "deprel") == "root"


def test_the_table_by_keyboard(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.page.keyboard.press("Shift+E")
    tab.page.keyboard.press("ArrowLeft")  # from UPOS to LEMMA
    tab.type("bird")
    tab.press("Enter")
    assert tab.row("1", "lemma") == "bird"
    tab.page.keyboard.press("ArrowDown")
    tab.page.keyboard.press("F2")
    tab.type("sing")
    tab.press("Enter")
    assert tab.row("2", "lemma") == "sing"
    tab.page.keyboard.press("Escape")
    assert tab.page.evaluate("document.activeElement.id") == "tree"


def test_help_commands_and_parts_of_the_page(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.page.keyboard.press("?")
    card = tab.page.locator("#help").inner_text()
    for action in tab.page.evaluate("own.actions.filter(a => a.keys.length).map(a => a.title)"):
        assert action in card
    tab.page.keyboard.press("Escape")
    tab.page.wait_for_function(
        "() => !document.querySelector('dialog')"
    )  # the focus is back at the tree then
    seen = set()
    for _ in range(4):
        tab.page.keyboard.press("F6")
        seen.add(tab.page.evaluate("document.activeElement.closest('#tree, #word, #side, #top').id"))
    assert seen == {"tree", "word", "side", "top"}  # no trap


def test_escape_goes_from_the_selected_word_back_to_the_tree(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.page.locator("#word button").first.wait_for()
    tab.page.keyboard.press("F6")
    assert tab.page.evaluate("document.activeElement.closest('#word') !== null")
    tab.page.keyboard.press("Escape")
    assert tab.page.evaluate("document.activeElement.id") == "tree"


def test_no_key_has_two_meanings(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    keys = tab.page.evaluate("own.actions.flatMap(a => a.keys)")
    assert len(keys) == len(set(keys))


def test_letters_of_other_keyboards_count_by_their_place(open_page: OpenPage) -> None:
    tab = open_page(GARDEN)
    tab.press("3")
    tab.page.evaluate(
        "document.getElementById('tree').dispatchEvent("
        "new KeyboardEvent('keydown', {key: 'в', code: 'KeyD', bubbles: true}))"
    )
    tab.press("Enter")
    assert tab.row("1", "deprel") == "det"


@pytest.mark.parametrize("key", ["Enter", "Control+Enter"])
def test_a_proposed_label_of_a_decided_head_is_accepted(open_page: OpenPage, key: str) -> None:
    tab = open_page(BIRDS.replace("2\tobj\t_\t_", "2\tobj\t_\tDeprelProb=0.6"))
    tab.select("3")
    tab.press(key)
    assert tab.row("3", "head", "deprel", "misc") == ["2", "obj", "_"]


def test_a_label_alone_leaves_the_head_a_proposal(open_page: OpenPage) -> None:
    """Also in what is drawn before the server answers."""
    tab = open_page(BIRDS.replace("2\tobj\t_\t_", "2\tobj\t_\tHeadProb=0.7|DeprelProb=0.6"))
    edit = "{kind: 'set-field', row: '3', column: 'deprel', value: 'obl'}"
    shown = tab.page.evaluate(f"() => {{ own.state.edit([{edit}], 'obl'); return own.state.row('3'); }}")
    tab.settled()
    assert [shown[name] for name in ("deprel", "misc", "state")] == tab.row("3", "deprel", "misc", "state")
    assert tab.row("3", "misc", "state") == ["HeadProb=0.7", "proposed"]


def _pressed(tab: Tab, *keys: str) -> None:
    """Keys one after the other; nobody waits for the server."""
    for key in keys:
        tab.page.keyboard.press(key)


def test_keys_that_are_pressed_before_the_next_sentence_is_there_are_meant_for_it(
    open_page: OpenPage,
) -> None:
    tab = open_page(GARDEN + GARDEN.replace("= garden", "= yard") + BIRDS)
    tab.select("7")  # the last sentence has no such word
    with tab.late("**/sentence/2"):  # only the one before it was fetched ahead
        _pressed(tab, "Shift+N", "Shift+N", "ArrowRight", "ArrowRight", "d", "e", "p", "Enter")
    assert (tab.number, tab.row("3", "head", "deprel")) == (2, ["2", "dep"])
    assert [tab.row(str(k), "deprel", sentence=n) for n in (0, 1) for k in (1, 3, 7)] == ["_"] * 6


def test_keys_that_are_pressed_before_an_undo_is_done_are_meant_for_what_it_leaves(
    open_page: OpenPage,
) -> None:
    tab = open_page(GARDEN + BIRDS)
    tab.press("3", "d", "Enter")
    with tab.late("**/undo"):
        _pressed(tab, "Control+z", "Shift+N", "d", "e", "p", "Enter")
    assert tab.row("1", "head", "deprel", sentence=0) == ["3", "_"]  # the label was the last change
    assert (tab.number, tab.row("1", "head", "deprel")) == (1, ["2", "dep"])


def test_keys_that_are_pressed_before_a_word_is_split_are_meant_for_the_words_after_it(
    open_page: OpenPage,
) -> None:
    tab = open_page(GARDEN)
    with tab.late("**/edits"):
        _pressed(tab, "Shift+S", "Home", "ArrowRight", "Space", "Enter")  # T he
        _pressed(tab, "End", "4", "d", "e", "p", "Enter")
    assert tab.row("8", "form", "head", "deprel") == [".", "4", "dep"]
    assert tab.row("7", "form", "head", "deprel") == ["trees", "_", "_"]


def test_a_window_about_a_word_closes_when_another_sentence_is_shown(open_page: OpenPage) -> None:
    tab = open_page(GARDEN + BIRDS)
    _pressed(tab, "d")
    tab.page.wait_for_selector(".picker")
    tab.page.evaluate("() => own.open(1)")
    tab.page.wait_for_selector(".picker", state="detached")
    assert tab.row("1", "deprel") == "nsubj"


def test_a_label_of_a_word_that_is_gone_is_refused(open_page: OpenPage) -> None:
    tab = open_page(GARDEN + BIRDS)
    tab.select("7")
    tab.page.evaluate("() => { own.editor.label('dep'); own.state.sentences.get(0).rows.pop(); }")
    _pressed(tab, "Enter")
    assert "no longer there" in tab.said()
    assert tab.row("7", "deprel") == "_"
