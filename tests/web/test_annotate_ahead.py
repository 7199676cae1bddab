"""What the server does before it is asked for changes no answer."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs starlette")

from arcwise.treebanks.edits import SetField
from arcwise.web.annotate_thinking import Model
from web.served import Served
from web.waiting import until


def _accept(served: Served, word: str) -> dict[str, Any]:
    """What the server answers when the proposal of a word of the first sentence is accepted, as the page does it."""
    sentence = served.sentence(0)
    thought = sentence["thoughts"]["words"][word]
    edits = [
        {"kind": "set-field", "row": word, "column": column, "value": str(thought[name])}
        for column, name in (("head", "head"), ("deprel", "label"))
    ]
    answer = served.post("/api/sentence/0/edits", {"version": sentence["version"], "edits": edits})
    assert answer.status == 200
    return dict(answer.json())


def _guessed(served: Served) -> None:
    until(lambda: served.session._ahead._next is not None)


def test_an_answer_is_the_sentence_as_it_is_whether_it_was_guessed_or_not(thinking: Served) -> None:
    for word in ("4", "5", "6"):
        answer = _accept(thinking, word)
        assert answer["thoughts"].pop("changed") is not None
        assert answer == thinking.sentence(0)
        if word != "6":
            _guessed(thinking)


def test_accepting_the_next_open_word_was_described_before(
    thinking: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    _accept(thinking, "4")
    _guessed(thinking)
    asked: list[int] = []
    described = type(thinking.session.view).described

    def noted(self: Any, number: int, *arguments: Any, **options: Any) -> Any:
        asked.append(number)
        return described(self, number, *arguments, **options)

    sentence = thinking.sentence(0)
    monkeypatch.setattr(type(thinking.session.view), "described", noted)
    thought = sentence["thoughts"]["words"]["5"]
    edits = [SetField("5", "head", str(thought["head"])), SetField("5", "deprel", thought["label"])]
    before, _ = thinking.session.view.present(0)
    begun = thinking.session._ahead.begin(0, before, edits)
    assert begun is not None
    assert begun[1].done()
    assert not asked
    again = thinking.session._ahead.begin(0, before, edits)  # a guess is handed out once
    assert again is not None
    assert again[1].result() == begun[1].result()
    assert asked == [0]


def test_a_guess_of_another_model_is_not_used(thinking: Served, parser: Any) -> None:
    _accept(thinking, "4")
    _guessed(thinking)
    thinker = thinking.session._thinker
    thinker._models["trained"] = Model.of("trained", "another", parser)
    thinker.use("trained")
    before, _ = thinking.session.view.present(0)
    guessed = thinking.session._ahead._next
    assert guessed is not None
    found = thinking.sentence(0)["thoughts"]["words"]["5"]
    edits = [SetField("5", "head", str(found["head"])), SetField("5", "deprel", found["label"])]
    begun = thinking.session._ahead.begin(0, before, edits)
    assert begun is not None
    assert begun[0] == guessed[2][0]
    assert begun[1] is not guessed[2][1]


def test_what_was_described_ahead_is_not_told_of_another_sentence(thinking: Served) -> None:
    ahead = thinking.session._ahead
    before, _ = thinking.session.view.present(0)
    begun = ahead.begin(0, before, [SetField("4", "head", "5")])
    thinking.set(0, "4", head="2")  # somebody else was quicker
    (row,) = [row for row in ahead.sentence(0, begun)["rows"] if row["id"] == "4"]
    assert row["head"] == "2"


def test_edits_that_cannot_be_made_are_not_described(thinking: Served) -> None:
    before, _ = thinking.session.view.present(0)
    assert thinking.session._ahead.begin(0, before, [SetField("99", "head", "1")]) is None
