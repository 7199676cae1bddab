"""A sentence is tokenized again by the tokenizer of the model, after a preview."""

from __future__ import annotations

from web.browser.driver import OpenPage, rows

WHOLE = rows("It/PRON/2/nsubj", "didn't/VERB/0/root", "sleep./_/_/_", text="It didn't sleep.")


def test_a_sentence_is_tokenized_again(open_page: OpenPage) -> None:
    tab = open_page(WHOLE, model=True)
    tab.command("Tokenize the sentence again")
    tab.page.locator("dialog li").nth(1).wait_for()
    shown = tab.page.locator("dialog li").all_inner_texts()
    assert shown == ["word 3 is split into sleep + .", "word 2 is split into did + n't (multiword token)"]
    assert tab.page.evaluate("own.state.sentence.rows.length") == 3  # nothing has changed yet
    tab.page.get_by_role("button", name="Apply").click()
    tab.page.wait_for_function("() => own.state.sentence.rows.length === 6")
    forms = tab.page.evaluate("own.state.sentence.rows.map((row) => row.form)")
    assert forms == ["It", "didn't", "did", "n't", "sleep", "."]
    assert tab.page.evaluate("own.state.row('1').upos") == "PRON"
    tab.page.focus("#tree")
    tab.press("Shift+U")
    tab.page.wait_for_function("() => own.state.sentence.rows.length === 3")
