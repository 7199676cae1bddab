"""The page of ``arcwise serve`` in a real browser: a sentence is typed, its tree is seen, a word tells what
else it may be."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs uvicorn")

from arcwise.models.registry import open_model
from arcwise.web.serve_app import ServeApp
from arcwise.web.serve_limits import Limits
from arcwise.web.serve_models import Models, ServedModel
from arcwise.web.server import listening_socket
from web.serving import english, two_models

TEXT = "The old man saw her duck. He didn't <b>see</b> it."


@contextlib.contextmanager
def served(models: Models) -> Iterator[str]:
    """A service in this process, on a real socket."""
    import uvicorn

    listening = listening_socket(0)
    server = uvicorn.Server(
        uvicorn.Config(ServeApp(models, limits=Limits(max_words=50)), log_level="error", ws="none")
    )
    thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.005)
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    server.should_exit = True
    thread.join(20)
    listening.close()


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(two_models()) as made:
        yield made


@pytest.fixture
def page(browser: Any, address: str) -> Iterator[Any]:
    """The page; none of its scripts may fail, and nothing may be asked of anybody else."""
    context = browser.new_context(viewport={"width": 1200, "height": 850})
    made = context.new_page()
    errors: list[str] = []
    asked: list[str] = []
    made.on("pageerror", lambda error: errors.append(str(error)))
    made.on("console", lambda said: errors.append(said.text) if said.type == "error" else None)
    made.on("request", lambda request: asked.append(request.url))
    made.goto(address)
    yield made
    assert [error for error in errors if "413" not in error] == []
    assert all(url.startswith((address, "data:")) for url in asked)
    context.close()


def parse(page: Any, text: str) -> None:
    page.fill("#text", text)
    page.click("button[type=submit]")
    page.wait_for_selector("figure svg")


def words(page: Any, figure: int = 0) -> list[str]:
    return page.locator("figure").nth(figure).locator("svg .word").all_text_contents()


def test_trees_with_confidences(page: Any) -> None:
    parse(page, TEXT)
    expected = english()(TEXT)
    assert page.locator("figure").count() == len(expected)
    for number, sentence in enumerate(expected):
        assert words(page, number) == sentence.forms
        drawn = page.locator("figure").nth(number).locator("svg .label").all_text_contents()
        assert sorted(drawn) == sorted(sentence.deprels)
        told = page.locator("figure .sure").nth(number).text_content()
        assert told == f"probability of the tree: {round(100 * sentence.confidence)}%"
    assert "%" in "".join(page.locator("svg .doubt").all_text_contents())
    assert page.locator("svg .token").all_text_contents() == ["didn't"]


def test_a_word_tells_what_else_it_may_be(page: Any) -> None:
    parse(page, "The old man saw her duck.")
    assert page.locator("section.word").is_hidden()
    page.locator("svg .word").nth(5).click()
    assert page.locator("section.word h2").text_content() == "duck"
    rows = page.locator("section.word tr").count() - 1
    assert rows >= 3
    own = page.locator("tr.own td").all_text_contents()
    sentence = english()("The old man saw her duck.")[0]
    head = sentence.heads.tolist()[6]
    assert own[:2] == [sentence.deprels[5], sentence.forms[head - 1] if head else "(root)"]
    shares = [float(meter.get_attribute("value") or 0) for meter in page.locator("meter").all()]
    assert shares == sorted(shares, reverse=True)
    assert sum(shares) <= 1.001


def test_an_alternative_is_taken_and_undone(page: Any) -> None:
    parse(page, "He didn't see her duck.")
    before = page.locator("figure .scroll").inner_html()
    page.locator("svg .word").nth(5).click()
    label, head = page.locator("section.word tr:not(.own) td").all_text_contents()[:2]
    page.locator("section.word td button").first.click()
    page.wait_for_selector(".fixed:not([hidden])")
    assert page.locator(".fixed span").text_content() == f"duck is {label} of {head}. "
    assert page.locator("tr.own td").all_text_contents()[:3] == [label, head, "100%"]
    assert page.locator("svg .token").all_text_contents() == ["didn't"]
    page.click(".fixed button")
    page.wait_for_selector(".fixed[hidden]", state="attached")
    page.locator("svg .word").nth(5).evaluate("word => word.classList.remove('chosen')")
    assert page.locator("svg .label").all_text_contents() == _labels(before)


def _labels(html: str) -> list[str]:
    import re

    return re.findall(r'class="label"[^>]*>([^<]*)<', html)


def test_by_keyboard(page: Any) -> None:
    page.focus("#text")
    page.keyboard.press("Control+A")
    page.keyboard.type("Birds sing.")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("figure svg")
    page.locator("svg .word").nth(1).focus()
    page.keyboard.press("Enter")
    assert page.locator("section.word h2").text_content() == "sing"


def test_what_cannot_be_is_told(page: Any) -> None:
    page.fill("#text", "  ")
    page.click("button[type=submit]")
    assert page.locator("#problem").text_content() == "Enter some text first."
    page.fill("#text", "word " * 60)
    page.click("button[type=submit]")
    page.wait_for_function("() => document.getElementById('problem').textContent.startsWith('sentence 1')")
    parse(page, "Birds sing.")
    assert page.locator("#problem").is_hidden()


def test_markup_stays_text(page: Any) -> None:
    text = "He said <script>alert(1)</script> &amp; <img src=x onerror=alert(2)>."
    parse(page, text)
    assert page.locator("figcaption bdi").first.text_content() in text
    assert page.locator("main script, main img").count() == 0
    assert "".join("".join(words(page, n)) for n in range(page.locator("figure").count())) == text.replace(
        " ", ""
    )


def test_a_model_that_takes_no_text_is_no_choice(page: Any) -> None:
    assert page.locator("#choose").is_hidden()


def test_models_are_chosen_and_a_sentence_stays_with_its_own(browser: Any) -> None:
    models = Models([ServedModel("one", english()), ServedModel("two", english())])
    context = browser.new_context()
    with served(models) as address:
        page = context.new_page()
        asked: list[Any] = []
        page.on(
            "request", lambda request: asked.append(request.post_data_json) if request.post_data else None
        )
        page.goto(address)
        page.wait_for_selector("#choose:not([hidden])")
        page.select_option("#model", "two")
        parse(page, "The old man saw her duck.")
        page.select_option("#model", "one")
        page.locator("svg .word").nth(5).click()
        page.locator("section.word td button").first.click()
        page.wait_for_selector(".fixed:not([hidden])")
        assert [request["model"] for request in asked] == ["two", "two"]
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read(browser: Any, address: str, scheme: str) -> None:
    context = browser.new_context(color_scheme=scheme, viewport={"width": 400, "height": 700})
    page = context.new_page()
    page.goto(address)
    parse(page, TEXT)
    ink = page.locator("svg .word").first.evaluate("word => getComputedStyle(word).fill")
    paper = page.locator("svg rect.paper").first.evaluate("rect => getComputedStyle(rect).fill")
    light, dark = (sum(map(int, colour[4:-1].split(","))) for colour in (paper, ink))
    assert (light > dark + 300) == (scheme == "light")
    assert (dark > light + 300) == (scheme == "dark")
    wide = page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    assert wide  # the tree scrolls in its own box
    context.close()


def test_a_model_without_alternatives_shows_its_trees(browser: Any) -> None:
    with served(Models([ServedModel("en-fast", open_model("en-fast"))])) as address:
        page = browser.new_page()
        page.goto(address)
        parse(page, TEXT)
        page.locator("figure").first.locator("svg .word").nth(1).click()
        assert page.locator("section.word tr.own").count() == 1
        assert page.get_by_role("button", name="Use this").count() == 0
        assert not page.locator("#problem").is_visible()
        page.close()
