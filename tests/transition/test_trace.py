"""Derivations step by step: as values, as text, as a page, on the command line."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from arcwise.cli.main import run
from arcwise.errors import InputError
from arcwise.models import open_model
from arcwise.pipeline.pipeline import Pipeline
from arcwise.transition import TransitionConfig, TransitionParser, every_named
from arcwise.transition.trace import trace, trace_text
from arcwise.visual.trace_html import trace_html
from contracts.small_treebank import small_treebank

SMALL = TransitionConfig(epochs=4, move_bits=12, label_bits=10)


def trained(name: str) -> TransitionParser:
    return TransitionParser.train(small_treebank(), config=replace(SMALL, system=name))


@pytest.mark.parametrize("name", [s.name for s in every_named() if not s.many_heads])
def test_the_last_step_has_the_tree_of_the_parse(name: str) -> None:
    parser, treebank = trained(name), small_treebank()
    parsed = parser.parse(treebank)
    for number in range(len(treebank)):
        found = trace(parser, treebank, sentence=number)
        assert {(h, m) for h, m, _ in found.steps[-1].arcs} == set(parsed[number].tree.arcs)
        assert [label for _, _, label in found.steps[-1].arcs] == parsed[number].deprels


def test_steps_show_what_could_be_done() -> None:
    found = trace(trained("arc-eager"), small_treebank(), alternatives=2)
    first = found.steps[0]
    assert (first.operative, first.input) == ((1, 2), (3, 0))
    assert len(first.moves) == 2
    assert first.moves[0].score >= first.moves[1].score
    assert found.steps[-1].input == ()
    text = trace_text(found)
    assert "O: [The] [cat]   U: sleeps (root)" in text
    assert re.search(r"cat → The\s+det", text)


def test_the_page_stands_alone_and_holds_the_trace() -> None:
    found = trace(trained("hybrid"), small_treebank(), sentence=3)
    page = trace_html(found)
    assert "src=" not in page
    assert "href=" not in page
    data = json.loads(re.search(r"const trace = (.*);\n", page)[1].replace("<\\/", "</"))  # type: ignore[index]
    assert len(data["steps"]) == len(found.steps)
    assert data["tokens"][1] == "Мама"


def test_a_sentence_that_is_not_there() -> None:
    with pytest.raises(InputError, match="sentence: found 99"):
        trace(trained("arc-eager"), small_treebank(), sentence=99)


def test_trace_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model, page, file = (str(tmp_path / name) for name in ("model", "trace.html", "t.conllu"))
    trained("arc-standard").save(model)
    small_treebank().write(file)
    assert run(["trace", "--model", model, "The/DET cat/NOUN sleeps/VERB"]) == 0
    assert (
        run(["trace", "--model", model, 60 * "cat/NOUN " + "sleeps/VERB"]) == 0
    )  # longer than a file's name
    assert "left-arc(det) The ← cat" in capsys.readouterr().out
    assert run(["trace", "--model", model, file, "--number", "2", "--html", page]) == 0
    assert "barked" in Path(page).read_text()
    for bad in (
        ["trace", "--model", model, " "],
        ["trace", "--model", model, file, "--number", "99"],
        ["trace", "--model", file, "a"],
    ):
        capsys.readouterr()
        assert run(bad) == 2
        assert len(capsys.readouterr().err.strip().splitlines()) == 1


def test_a_pipeline_is_traced_if_its_parser_is_transition_based(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shipped = open_model("en")
    assert isinstance(shipped, Pipeline)
    mine = str(tmp_path / "mine.arcwise")
    Pipeline(shipped.tokenizer, shipped.tagger, trained("arc-standard")).save(mine)
    assert run(["trace", "--model", mine, "The cat sleeps"]) == 0  # the pipeline finds the tags
    assert "left-arc(det) The ← cat" in capsys.readouterr().out
    assert run(["trace", "--model", "en", "The cat sleeps"]) == 2
    told = capsys.readouterr().err
    assert "has a parser of kind 'neural', expected a transition-based one" in told
    assert len(told.strip().splitlines()) == 1
