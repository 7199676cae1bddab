"""Persistence: undo across a reload, two windows, conflicts, a killed server, external changes."""

from __future__ import annotations

from pathlib import Path

from web.browser.driver import BIRDS, GARDEN, OpenPage, Tab, written


def test_undo_across_a_reload(open_page: OpenPage) -> None:
    tab = open_page(GARDEN + BIRDS)
    tab.press("3", "d", "e", "t", "Enter")
    tab.page.reload()
    tab.ready()
    assert tab.page.evaluate("own.state.row('1').head") == "3"
    tab.press("Shift+U", "Shift+U")
    tab.page.wait_for_function("() => own.state.row('1').head === '_'")
    tab.press("Shift+U")
    tab.page.wait_for_function(
        "() => document.getElementById('message').textContent.includes('Nothing to undo')"
    )


def test_saved_is_told_and_true(open_page: OpenPage, tmp_path: Path) -> None:
    tab = open_page(GARDEN)
    assert "Saved to file" in tab.page.locator("#saved").inner_text()
    tab.press("3")
    tab.page.wait_for_function(
        "() => /^(All changes saved|Saved to file)$/.test(document.getElementById('saved').textContent)"
    )
    tab.press("Control+s")
    tab.page.wait_for_function("() => document.getElementById('saved').textContent.includes('Saved to file')")
    assert written(tmp_path / "a.conllu")[0][6] == "3"


def test_two_windows(open_page: OpenPage) -> None:
    tab = open_page(GARDEN)
    other = Tab(tab.page.context, tab.process)
    other.press("3")
    tab.page.wait_for_function("() => own.state.row('1').head === '3'")  # told by an event
    assert "another window" in tab.said()
    assert other.errors == []


def deaf(tab: Tab) -> None:
    """Events do not reach this window any more, as if the change came in the same moment."""
    tab.page.evaluate("own.heard = () => {}")


def test_a_change_of_another_word_is_no_conflict(open_page: OpenPage) -> None:
    tab = open_page(GARDEN)
    deaf(tab)
    tab.process.set(0, "6", head="4")
    tab.press("3")
    assert tab.row("1", "head") == "3"
    assert tab.row("6", "head") == "4"


def test_a_conflict_asks_and_loses_nothing(open_page: OpenPage) -> None:
    tab = open_page(GARDEN)
    deaf(tab)
    tab.process.set(0, "1", head="2")
    tab.page.keyboard.press("3")
    dialog = tab.page.locator("#conflict")
    dialog.wait_for()
    assert "HEAD" in dialog.inner_text()
    assert tab.row("1", "head") == "2"
    tab.page.get_by_role("button", name="Keep mine").click()
    tab.settled()
    assert tab.row("1", "head") == "3"
    tab.process.set(0, "1", head="6")
    tab.page.keyboard.press("2")
    tab.page.get_by_role("button", name="Take theirs").click()
    tab.settled()
    assert tab.row("1", "head") == "6"
    assert tab.page.evaluate("own.state.row('1').head") == "6"


def test_an_edit_never_lands_on_another_word(open_page: OpenPage) -> None:
    """The words were split elsewhere in the same moment: number 2 is another word now."""
    tab = open_page(GARDEN)
    deaf(tab)
    split = {"kind": "split-word", "row": "1", "forms": ["Th", "e"], "keep": 1, "multiword": False}
    assert tab.process.post("/api/sentence/0/edits", {"edits": [split]}).status == 200
    tab.select("2")
    tab.press("3")
    tab.page.locator("#message", has_text="the words of the sentence have changed").wait_for()
    assert [row["head"] for row in tab.process.sentence(0)["rows"]] == [
        "_",
        "_",
        "_",
        "_",
        "0",
        "_",
        "_",
        "_",
    ]
    assert tab.page.evaluate("own.state.words.length") == 8  # and shows the words as they are


def test_a_refused_edit_is_told_and_drawn_back(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.page.keyboard.press("Shift+D")
    tab.type("not an arc")
    tab.press("Enter")
    assert "found the head 'not an arc' in DEPS" in tab.page.locator(".asker .bad").inner_text()
    assert tab.row("1", "deps") == "_"
    assert tab.page.evaluate("own.state.row('1').deps") == "_"


def test_what_is_done_without_a_server_is_sent_when_it_is_back(open_page: OpenPage) -> None:
    tab = open_page(GARDEN)
    tab.page.context.set_offline(True)
    tab.page.keyboard.press("3")
    tab.page.wait_for_function("() => document.getElementById('saved').textContent.includes('Not connected')")
    assert tab.page.evaluate("own.state.row('1').head") == "3"  # drawn at once
    assert tab.row("1", "head") == "_"
    tab.page.context.set_offline(False)
    tab.settled()
    assert tab.row("1", "head") == "3"


def test_a_file_changed_by_another_program_is_announced_and_taken_in(
    open_page: OpenPage, tmp_path: Path
) -> None:
    tab = open_page(GARDEN + BIRDS)
    path = tmp_path / "a.conllu"
    path.write_text(path.read_text("utf-8").replace("3\tsongs\t_\tNOUN", "3\tsongs\tsong\tNOUN"), "utf-8")
    tab.page.get_by_role("button", name="Merge changes").click()
    tab.page.wait_for_function(
        "() => own.state.document"
        " && document.getElementById('message').textContent.includes('Changes merged')"
    )
    assert tab.row("3", "lemma", sentence=1) == "song"


def test_a_treebank_from_nothing(open_page: OpenPage) -> None:
    tab = open_page("")
    tab.page.get_by_role("button", name="Add sentences").click()
    tab.page.locator("dialog textarea").fill("Don't go, Anna!\nילדה קוראת.\n")
    tab.page.get_by_role("button", name="Insert").click()
    tab.page.wait_for_function("() => own.state.words.length === 5")
    assert [r["form"] for r in tab.process.sentence(0)["rows"]] == ["Don't", "go", ",", "Anna", "!"]
    assert tab.row("2", "misc") == "SpaceAfter=No"
    assert tab.process.sentence(1)["text"] == "ילדה קוראת."
    tab.page.wait_for_function("() => document.querySelectorAll('#side-worklist li').length === 2")
    tab.press("2")
    assert tab.row("1", "head") == "2"


def test_sentences_put_in_and_taken_out(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.command("insert sentences before")
    tab.page.locator("dialog textarea").fill(GARDEN)
    tab.page.get_by_role("button", name="Insert").click()
    tab.page.wait_for_function("() => own.state.document.sentences === 2 && own.state.words.length === 7")
    tab.command("remove sentence")
    tab.page.get_by_role("button", name="Remove").click()
    tab.page.wait_for_function("() => own.state.document.sentences === 1 && own.state.words.length === 3")


def test_sentences_are_added_at_the_end_by_the_tokenizer_of_the_model(open_page: OpenPage) -> None:
    tab = open_page(BIRDS + GARDEN, model=True)
    tab.command("add sentences at the end")
    tab.page.locator("dialog textarea").fill("I can't swim.\nHe's here.")
    tab.page.get_by_role("button", name="Insert").click()
    tab.page.wait_for_function("() => own.state.document.sentences === 4 && own.state.number === 2")
    assert "2 sentences added, tokenized by small" in tab.said()
    assert [r["form"] for r in tab.process.sentence(2)["rows"]] == ["I", "can't", "ca", "n't", "swim", "."]
    assert tab.process.sentence(0)["sent_id"] == "birds"


def test_a_file_without_sentences(open_page: OpenPage) -> None:
    tab = open_page("")
    assert tab.page.get_by_role("button", name="Add sentences").is_visible()
    keys = tab.page.evaluate("own.actions.filter((one) => one.id !== 'print').flatMap((one) => one.keys)")
    for key in [*keys, "a", "1"]:  # none of them fails: the fixture looks at the errors of the page
        tab.page.locator("#tree").focus()
        tab.page.keyboard.press(key.replace("Ctrl", "Control"))
        tab.page.keyboard.press("Escape")


def test_the_last_sentence_is_removed_and_comes_back(open_page: OpenPage) -> None:
    tab = open_page(BIRDS)
    tab.command("remove sentence")
    tab.page.get_by_role("button", name="Remove").click()
    tab.page.get_by_role("button", name="Add sentences").wait_for()
    tab.page.wait_for_function("() => document.getElementById('word').textContent === ''")
    tab.page.locator("#tree").focus()
    tab.page.keyboard.press("Shift+U")
    tab.page.wait_for_function("() => own.state.words.length === 3")
    assert tab.word("2").is_visible()
    tab.page.keyboard.press("Shift+R")
    tab.page.get_by_role("button", name="Add sentences").wait_for()


def test_a_sentence_that_cannot_be_read_is_shown_and_told(open_page: OpenPage) -> None:
    tab = open_page(BIRDS.replace("3\tsongs\t_", "3\tsongs") + GARDEN)
    assert "columns" in tab.page.locator("#word, #message").first.inner_text() or "!" in tab.text("3")
    tab.press("Shift+N")
    assert tab.number == 1
    tab.press("4")
    assert tab.row("1", "head") == "4"
