"""The WebAssembly module in Chromium: answers equal to Python's, no requests elsewhere, small files."""

from __future__ import annotations

import functools
import gzip
import itertools
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from measuring.english_lines import read_lines

import arcwise
from arcwise import native
from arcwise.models import load
from arcwise.parsing.parser import ParseOptions
from arcwise.pipeline.document import Document
from web.browser.web_module import LOAD, ROOT, build_module, missing_part, script, served

pytestmark = [pytest.mark.browser, pytest.mark.slow]
MODEL = "en-web.arcwise.gz"

SUBJECTS = (
    "The old gardener",
    "Nobody we know",
    "She",
    "The letters that he'd sent from Prague",
    "A friend's dog",
)
VERBS = ("can't have seen", "gave", "will, I hope, bring", "was looking for", "didn't want to buy")
OBJECTS = (
    *("the three ladders in the shed.", "what they’d asked for — twice!", "a book (the red one) on 12/5?"),
    "more than 1,500 copies, see https://example.org/a?b=c.",
)
SPECIAL = (
    *(
        "",
        "   \n\t ",
        "?",
        "…",
        "naïve Zoë’s café",
        "Straße 😀😀 ok",
        "e\u0301 combining",
        "１２３ ａｂｃ",
        "日本語 text",
    ),
    *('He said "no\\way" \x07 twice.', "One.\n\nTwo!\r\nThree?", "It's theirs; isn't it?"),
    " and ".join(["the dog that saw the cat"] * 28) + " slept.",  # long enough for sums in logarithms
)
TEXTS = [
    *(line.text for line in read_lines()),
    *(" ".join(words) for words in itertools.product(SUBJECTS, VERBS, OBJECTS)),
    *SPECIAL,
]


@pytest.fixture(scope="module")
def module_folder() -> Path:
    if missing := missing_part():
        pytest.skip(missing)
    return build_module()


@pytest.fixture(scope="module")
def tab(browser: Any, module_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A tab that has loaded module and model and is offline since."""
    site = tmp_path_factory.mktemp("site")
    (site / "index.html").write_text("<!doctype html><link rel=icon href=data:,><title>Empty</title>")
    for name in ("arcwise.js", "arcwise.wasm", MODEL):
        shutil.copy2(module_folder / name, site / name)
    with served(site) as address:
        context = browser.new_context()
        page = context.new_page()
        page.requests = []
        page.on("request", lambda request: page.requests.append(request.url))
        page.goto(f"{address}/index.html")
        page.evaluate(LOAD, [address, MODEL])
        page.address = address
        yield page
        context.close()


@pytest.fixture(scope="module")
def expected(module_folder: Path) -> list[Document]:
    """The native answers, by the loops of the network that every machine has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            native, "NeuralNetwork", functools.partial(native.NeuralNetwork, instructions="baseline")
        )
        nlp = load(str(module_folder / MODEL.removesuffix(".gz")))
        return nlp.analyse_texts(TEXTS, options=ParseOptions(confidence=True))


@pytest.fixture(scope="module")
def answers(tab: Any) -> list[dict[str, Any]]:
    tab.context.set_offline(True)
    parsed: list[dict[str, Any]] = tab.evaluate("(texts) => texts.map((text) => parser.parse(text))", TEXTS)
    tab.context.set_offline(False)
    return parsed


def test_there_are_two_hundred_texts() -> None:
    assert len(TEXTS) >= 200


def test_words_tags_and_trees_are_those_of_python(
    answers: list[dict[str, Any]], expected: list[Document]
) -> None:
    for text, answer, document in zip(TEXTS, answers, expected, strict=True):
        wanted = document.to_json()["sentences"]
        assert len(answer["sentences"]) == len(wanted), text
        for sentence, own in zip(answer["sentences"], wanted, strict=True):
            assert sentence["text"] == own["text"]
            columns = ("id", "form", "lemma", "upos", "xpos", "feats", "head", "label", "start", "end")
            for word, own_word in zip(sentence["words"], own["words"], strict=True):
                assert {name: word.get(name) for name in columns} == {
                    name: own_word.get(name) for name in columns
                }, text
            tokens = [
                {name: token[name] for name in ("id", "form", "start", "end")}
                for token in own.get("tokens", [])
            ]
            assert sentence["tokens"] == tokens


def test_probabilities_are_those_of_python(answers: list[dict[str, Any]], expected: list[Document]) -> None:
    compared = 0
    for answer, document in zip(answers, expected, strict=True):
        words = [word for sentence in answer["sentences"] for word in sentence["words"]]
        if not words:
            continue
        assert document.parses is not None
        sure = document.parses.probabilities
        assert sure is not None
        for name, values in (("head_probability", sure.head), ("label_probability", sure.label)):
            np.testing.assert_allclose([word[name] for word in words], values, rtol=0, atol=1e-6)
        trees = [(sentence["probability"], sentence["entropy"]) for sentence in answer["sentences"]]
        natives = np.stack([np.exp(sure.log_tree), np.asarray(sure.head_entropy) / np.log(2)], 1)
        np.testing.assert_allclose(trees, natives, rtol=0, atol=1e-5)
        found = re.findall(r"UposProb=([\d.]+)", " ".join(document.treebank.column("misc")))
        upos = [float(text) for text in found]
        np.testing.assert_allclose([word["upos_probability"] for word in words], upos, rtol=0, atol=5.1e-4)
        compared += len(words)
    assert compared > 1500


def test_nothing_is_requested_from_elsewhere(tab: Any, answers: list[dict[str, Any]]) -> None:
    names = [url.removeprefix(tab.address) for url in tab.requests]
    assert sorted(names) == ["/arcwise.js", "/arcwise.wasm", f"/{MODEL}", "/index.html"]


def test_page_module_and_model_are_small(module_folder: Path) -> None:
    page = [ROOT / "docs" / "site" / "static" / name for name in ("demo.js", "demo.css", "demo-problem.js")]
    page += script("docs/site/build.py").drawing_files()
    files = [*page, module_folder / "arcwise.js", module_folder / "arcwise.wasm"]
    packed = sum(len(gzip.compress(path.read_bytes(), 9)) for path in files)
    assert packed + (module_folder / MODEL).stat().st_size <= 8e6


def test_the_same_model_gives_the_same_file(tmp_path: Path) -> None:
    first, second = tmp_path / "first" / MODEL, tmp_path / "second" / MODEL
    for path in (first, second):
        script("recipes/web_model.py").main([str(path)])
    assert first.read_bytes() == second.read_bytes()
    assert gzip.decompress(first.read_bytes()) == first.with_suffix("").read_bytes()


def test_a_smaller_network_keeps_the_answers_for_words_it_knows() -> None:
    recipe = script("recipes/web_model.py")
    whole = arcwise.load("en")
    text = "I saw the man with a telescope. We don't know what they wanted."
    same, fewer = recipe.smaller(whole, 10**6), recipe.smaller(whole, 500)
    assert same(text).to_conllu() == whole(text).to_conllu()
    assert len(same.parser.model.tags.names) < len(whole.parser.model.tags.names)
    assert max(fewer.parser.model.inputs.table_rows) == 503
    assert fewer(text).to_conllu() != whole(text).to_conllu()


ERROR = """async ([address, model]) => {
  const { load } = await import(`${address}/arcwise.js`);
  const given = typeof model === "string" ? `${address}/${model}` : new Uint8Array(model);
  return load({ model: given }).then(() => "", (error) => `${error.name}: ${error.message}`);
}"""


def test_errors_say_what_is_wrong(tab: Any, module_folder: Path) -> None:
    model = (module_folder / MODEL.removesuffix(".gz")).read_bytes()
    fast = (ROOT / "src" / "arcwise" / "shipped_models" / "en-fast.arcwise").read_bytes()
    header = int.from_bytes(model[:8], "little")
    for given, message in (
        ("missing.arcwise", "404"),
        (list(b"no model"), "the file is not an arcwise model"),
        (list(fast[: 8 + int.from_bytes(fast[:8], "little")]), "truncated or damaged"),
        (list(model[: 8 + header + 1000]), "truncated or damaged"),
        (list(model[:8] + b"[" + model[9 : 8 + header]), "not valid JSON"),
    ):
        error = tab.evaluate(ERROR, [tab.address, given])
        assert message in error, error
    assert "expected a string" in tab.evaluate(
        "() => { try { parser.parse(3) } catch (e) { return e.message } }"
    )


def test_other_parsers_are_refused(tab: Any, browser: Any, tmp_path: Path, module_folder: Path) -> None:
    for name in ("arcwise.js", "arcwise.wasm"):
        shutil.copy2(module_folder / name, tmp_path / name)
    (tmp_path / "index.html").write_text("<!doctype html><title>Empty</title>")
    shutil.copy2(
        ROOT / "src" / "arcwise" / "shipped_models" / "en-fast.arcwise", tmp_path / "en-fast.arcwise"
    )
    with served(tmp_path) as address:
        page = browser.new_page()
        page.goto(f"{address}/index.html")
        error = page.evaluate(ERROR, [address, "en-fast.arcwise"])
        page.close()
    assert "only neural parsers run here, and this one is of the kind transition" in error


@pytest.fixture
def demo(browser: Any, module_folder: Path, tmp_path: Path) -> Iterator[Any]:
    """The demo page without the theme of the site."""
    static = tmp_path / "_static"
    shutil.copytree(ROOT / "docs" / "site" / "static", static)
    script("docs/site/build.py").add_parser(static / "parse")
    source = (ROOT / "docs" / "site" / "demo.md").read_text("utf-8")
    block = re.search(r"```\{raw\} html\n(.*?)```", source, re.DOTALL)
    assert block is not None
    folder = tmp_path / "docs" / "site"
    folder.mkdir(parents=True)
    (folder / "demo.html").write_text(
        "<!doctype html><html lang=en><link rel=icon href=data:,><title>Demo</title>"
        f"<main><h1>Demo</h1>{block[1]}</main></html>",
        "utf-8",
    )
    with served(tmp_path) as address:
        context = browser.new_context()
        page = context.new_page()
        page.problems = []
        page.requests = []
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("console", lambda message: message.type == "error" and page.problems.append(message.text))
        page.on("request", lambda request: page.requests.append(request.url))
        page.goto(f"{address}/docs/site/demo.html")
        page.wait_for_selector("html[data-parser=ready]")
        page.address = address
        yield page
        context.close()
    assert page.problems == []


def test_the_demo_draws_what_is_typed_without_a_server(demo: Any) -> None:
    demo.context.set_offline(True)
    demo.fill("#demo-text", "We don't sing. Birds do!")
    demo.wait_for_function("() => document.querySelectorAll('figure').length === 2")
    first = demo.locator("figure").first
    assert first.locator("svg .word .form").all_text_contents() == ["We", "do", "n't", "sing", "."]
    assert first.locator("svg .token-form").all_text_contents() == ["don't"]
    labels = first.locator("svg .arc .label").all_text_contents()
    assert sorted(labels) == ["advmod", "aux", "nsubj", "punct", "root"]
    assert "We: nsubj of sing, " in first.locator("svg").get_attribute("aria-label")
    first.locator("summary").click()
    rows = [row.split("\t") for row in first.locator("tbody tr").all_inner_texts()]
    assert [row[1] for row in rows] == ["We", "do", "n't", "sing", "."]
    assert all(re.fullmatch(r"\d+\.\d %|100 %", row[4]) for row in rows)
    demo.click(".demo-examples button:nth-child(2)")
    demo.wait_for_function("() => document.querySelector('figcaption').textContent.includes('Prague')")
    assert "words parsed in" in demo.inner_text(".demo-status")
    demo.fill("#demo-text", " ")
    demo.wait_for_function("() => !document.querySelector('figure')")
    demo.context.set_offline(False)
    assert all(url.startswith(demo.address) for url in demo.requests)


def test_the_demo_is_accessible(demo: Any) -> None:
    from axe_playwright_python.sync_playwright import Axe

    results = Axe().run(demo, options={"rules": {"region": {"enabled": False}}})
    assert results.violations_count == 0, results.generate_report()
