"""Working ahead of requests changes no answer."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs starlette")

from arcwise.treebanks.edits import SetField
from arcwise.web.annotate_suggestions import LoadedModel
from web.served import Served


def _accepting(sentence: dict[str, Any], word: str) -> list[dict[str, str]]:
    """The edits that accept the proposal of a word, as the page makes them."""
    thought = sentence["thoughts"]["words"][word]
    return [
        {"kind": "set-field", "row": word, "column": "head", "value": str(thought["head"])},
        {"kind": "set-field", "row": word, "column": "deprel", "value": thought["label"]},
    ]


def _edited(served: Served, sentence: dict[str, Any], edits: list[dict[str, str]]) -> dict[str, Any]:
    answer = served.post("/api/sentence/0/edits", {"version": sentence["version"], "edits": edits})
    assert answer.status == 200
    return dict(answer.json())


def _would(served: Served, edits: list[dict[str, str]]) -> dict[str, Any]:
    answer = served.post("/api/sentence/0/would", {"edits": edits})
    assert answer.status == 200
    return dict(answer.json())


def _fields(edits: list[dict[str, str]]) -> list[SetField]:
    return [SetField(own["row"], own["column"], own["value"]) for own in edits]


def test_what_would_be_is_what_is_then_and_changes_nothing(thinking: Served) -> None:
    for word in ("4", "5", "6"):
        before = thinking.sentence(0)
        edits = _accepting(before, word)
        told = _would(thinking, edits)
        assert told["version"] == before["version"]
        assert thinking.sentence(0) == before
        answer = _edited(thinking, before, edits)
        assert answer["thoughts"].pop("changed") is not None
        assert answer == told["sentence"] == thinking.sentence(0)


def test_without_asking_first_the_answer_is_the_sentence_as_it_is(thinking: Served) -> None:
    before = thinking.sentence(0)
    answer = _edited(thinking, before, _accepting(before, "4"))
    answer["thoughts"].pop("changed")
    assert answer == thinking.sentence(0)


def test_what_was_described_is_not_described_again(thinking: Served) -> None:
    edits = _accepting(thinking.sentence(0), "4")
    _would(thinking, edits)
    ahead = thinking.session._lookahead
    assert ahead._next is not None
    known = ahead._next[2][1]
    before, _ = thinking.session.view.present(0)
    first, again = (ahead.begin(0, before, _fields(edits)) for _ in range(2))
    assert first is not None
    assert first[1] is known
    assert again is not None
    assert again[1] is not known
    assert again[1].result() == known.result()


def test_what_another_model_thought_is_not_told(thinking: Served, parser: Any) -> None:
    edits = _accepting(thinking.sentence(0), "4")
    _would(thinking, edits)
    ahead, thinker = thinking.session._lookahead, thinking.session._suggestions
    assert ahead._next is not None
    known = ahead._next[2]
    thinker._models["trained"] = LoadedModel.of("trained", "another", parser)
    thinker.use("trained")
    before, _ = thinking.session.view.present(0)
    begun = ahead.begin(0, before, _fields(edits))
    assert begun is not None
    assert begun[0] == known[0]
    assert begun[1] is not known[1]


def test_what_was_described_ahead_is_not_told_of_another_sentence(thinking: Served) -> None:
    ahead = thinking.session._lookahead
    before, _ = thinking.session.view.present(0)
    begun = ahead.begin(0, before, [SetField("4", "head", "5")])
    thinking.set(0, "4", head="2")  # somebody else was quicker
    (row,) = [row for row in ahead.sentence(0, begun)["rows"] if row["id"] == "4"]
    assert row["head"] == "2"


def test_edits_that_cannot_be_made(thinking: Served) -> None:
    before, _ = thinking.session.view.present(0)
    assert thinking.session._lookahead.begin(0, before, [SetField("99", "head", "1")]) is None
    edits = [{"kind": "set-field", "row": "99", "column": "head", "value": "1"}]
    assert thinking.post("/api/sentence/0/would", {"edits": edits}).status == 400
    assert thinking.post("/api/sentence/0/would", {"edits": []}).status == 400
    assert thinking.post("/api/sentence/9/would", {"edits": edits}).status == 404
