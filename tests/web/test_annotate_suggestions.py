"""Suggestions, worklists, training and error detection through the API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs starlette")

from arcwise.annotation.assistant import Assistant
from arcwise.annotation.suggestions import WordSuggestion
from arcwise.inference import LabelledArc
from arcwise.treebanks import Treebank
from arcwise.web.annotate_json import overview_json, thought_json
from contracts.small_treebank import small_treebank
from web.served import Served, edits, open_session, row, serving
from web.waiting import until


def test_thoughts_are_those_of_the_assistant(thinking: Served, parser: Any, file: Path) -> None:
    found = thinking.sentence(0)["thoughts"]
    thoughts = Assistant(parser).suggest(Treebank.read(file)[0])
    assert list(found["words"]) == ["1", "2", "3", "4", "5", "6"]
    for m, thought in enumerate(thoughts.words, 1):
        told = found["words"][str(m)]
        assert (told["head"], told["label"]) == (thought.head, thought.label)
        assert told["probability"] == thought.probability
        assert told["alternatives"] == [list(arc) for arc in thought.alternatives]
        assert told["gain"] is None
    assert found["entropy"] == thoughts.entropy
    assert [found["words"][m]["decided_head"] for m in "123456"] == [True] * 3 + [False] * 3
    with_gains = thinking.get("/api/sentence/0?gains=1").json()["thoughts"]["words"]
    assert with_gains["4"]["gain"] is not None


def test_a_decision_is_a_constraint_and_told_as_the_reason(thinking: Served) -> None:
    before = thinking.sentence(2)["thoughts"]["words"]
    other = "2" if before["1"]["head"] == 0 else "0"
    after = thinking.set(2, "1", head=other).json()["thoughts"]
    assert (after["words"]["1"]["head"], after["words"]["1"]["probability"]) == (int(other), 1.0)
    assert after["words"]["2"]["head"] == (0 if other == "2" else 1)
    (changed,) = after["changed"]
    assert (changed["row"], changed["because"]) == ("2", {"row": "1"})
    assert changed["was"][0] != changed["now"][0]


def test_accepting_a_word_those_above_a_threshold_and_all(thinking: Served) -> None:
    proposed = thinking.sentence(2)["thoughts"]["words"]
    after = thinking.post("/api/sentence/2/accept", {"words": ["2"]}).json()
    assert row(after, "2")["head"] == str(proposed["2"]["head"])
    assert row(after, "2")["deprel"] == proposed["2"]["label"]
    assert (row(after, "2")["state"], row(after, "1")["state"]) == ("decided", "open")
    left = thinking.sentence(2)["thoughts"]["words"]["1"]["label_probability"]
    assert left < 1
    unsure = thinking.post("/api/sentence/2/accept", {"threshold": (left + 1) / 2}).json()
    assert row(unsure, "1")["state"] == "open"
    assert row(thinking.post("/api/sentence/2/accept", {"threshold": left}).json(), "1")["state"] == "decided"
    thinking.post("/api/undo")
    done = thinking.post("/api/sentence/2/accept", {"version": thinking.sentence(2)["version"]}).json()
    assert [r["state"] for r in done["rows"]] == ["decided", "decided"]
    version = thinking.get("/api/document").json()["version"]
    thinking.post("/api/sentence/2/accept", {})  # nothing is left to accept
    assert thinking.get("/api/document").json()["version"] == version


@pytest.fixture(scope="module")
def tagging() -> Any:
    """A tokenizer, tagger and parser of a few sentences."""
    from arcwise.models.train_pipeline import train_pipeline

    rows = [
        [
            f"1\t{noun}\t{lemma}\tNOUN\t_\tNumber=Plur\t2\tnsubj\t_\t_\n",
            f"2\t{verb}\t{verb}\tVERB\t_\t_\t0\troot\t_\t_\n\n",
        ]
        for noun, lemma in (("dogs", "dog"), ("cats", "cat"), ("birds", "bird"))
        for verb in ("sing", "run", "sleep", "eat")
    ]
    options = {"epochs": 2, "arc_bits": 12, "row_bits": 13}
    return train_pipeline(Treebank.from_string("".join(map("".join, rows))), parser=options)


@pytest.fixture
def untagged(tmp_path: Path, tagging: Any) -> Iterator[Served]:
    """A tagged sentence and one without tags."""
    file = tmp_path / "untagged.conllu"
    file.write_text(
        "1\tdogs\tdog\tNOUN\t_\tNumber=Plur\t2\tnsubj\t_\t_\n2\tsing\tsing\tVERB\t_\t_\t0\troot\t_\t_\n\n"
        "1\tcats\t_\t_\t_\t_\t_\t_\t_\t_\n2\tsing\t_\t_\t_\t_\t_\t_\t_\t_\n\n",
        "utf-8",
    )
    with serving(open_session(file, model=tagging)) as made:
        yield made


def test_every_suggested_tag_has_a_probability(untagged: Served) -> None:
    words = untagged.sentence(1)["thoughts"]["words"]
    assert words["1"]["tags"] == {"lemma": "cat", "upos": "NOUN", "feats": "Number=Plur"}
    assert set(words["1"]["tag_probabilities"]) == {"lemma", "upos", "feats"}
    assert all(0 < p <= 1 for p in words["1"]["tag_probabilities"].values())
    assert untagged.sentence(0)["thoughts"]["words"]["1"]["tags"] == {}


def test_tags_are_accepted_by_word_by_column_and_above_a_threshold(untagged: Served) -> None:
    def accept(**what: Any) -> list[list[str]]:
        after = untagged.post("/api/sentence/1/accept", what).json()
        return [[r["lemma"], r["upos"], r["feats"], r["head"]] for r in after["rows"]]

    assert accept(words=["2"], columns=["lemma", "upos"]) == [["_"] * 4, ["sing", "VERB", "_", "_"]]
    assert accept(columns=["feats"]) == [["_", "_", "Number=Plur", "_"], ["sing", "VERB", "_", "_"]]
    p = untagged.sentence(1)["thoughts"]["words"]["1"]["tag_probabilities"]
    lower, higher = sorted(p, key=lambda column: p[column])
    between = (p[lower] + p[higher]) / 2
    accept(columns=["lemma", "upos"], threshold=between)
    assert row(untagged.sentence(1), "1")[lower] == "_"
    assert row(untagged.sentence(1), "1")[higher] != "_"
    assert untagged.post("/api/sentence/1/accept", {"columns": ["misc"]}).status == 400


def test_a_word_as_if_it_were_open(thinking: Served) -> None:
    found = thinking.get("/api/sentence/0/word/2").json()
    assert found["row"] == "2"
    assert found["thought"]["decided_head"] is False
    assert len(found["thought"]["alternatives"]) > 1
    assert thinking.get("/api/sentence/0/word/7").status == 404
    assert thinking.get("/api/sentence/0/word/x").status == 400


def test_without_a_model(served: Served) -> None:
    assert served.get("/api/sentence/0/word/2").status == 400
    answer = served.get("/api/sentences?worklist=entropy")
    assert answer.status == 400
    assert "needs a model" in answer.json()["error"]
    assert served.post("/api/model", {"which": "given"}).status == 400


@pytest.mark.parametrize("order", ["entropy", "least-sure", "gain", "disagreement"])
def test_worklists(thinking: Served, order: str) -> None:
    def ready() -> Any:
        found = thinking.get(f"/api/sentences?worklist={order}").json()
        return found if found["ready"] else None

    found = until(ready)
    values = [item["value"] or 0.0 for item in found["items"]]  # null: unfinished, but not ranked
    assert values == sorted(values, reverse=True)
    states = thinking.get("/api/sentences").json()["items"]
    unfinished = {item["number"] for item in states if item["decided"] < item["words"]}
    assert unfinished <= {item["number"] for item in found["items"]}
    assert found["total"] == len(values)
    if order != "disagreement":
        assert {item["number"] for item in found["items"]} == {0, 2}  # the second is decided
        for number in (0, 2):
            thinking.post(f"/api/sentence/{number}/accept", {})
        assert until(ready)["items"] == []


def test_an_order_that_there_is_not(thinking: Served) -> None:
    answer = thinking.get("/api/sentences?worklist=nonsense")
    assert answer.status == 400
    assert "expected one of entropy, least-sure, gain" in answer.json()["error"]


# ---- learning


@pytest.fixture
def learnt(tmp_path: Path) -> Iterator[Served]:
    """Twenty-four decided sentences and an open one."""
    file = tmp_path / "many.conllu"
    text = "".join(small_treebank().text.replace("sent_id = s", f"sent_id = {turn}-") for turn in range(3))
    file.write_text(
        text + "1\tBirds\t_\tNOUN\t_\t_\t_\t_\t_\t_\n2\tsleep\t_\tVERB\t_\t_\t_\t_\t_\t_\n\n",
        encoding="utf-8",
    )
    with serving(open_session(file)) as made:
        yield made


@pytest.mark.slow
def test_train_in_the_page(learnt: Served) -> None:
    assert learnt.get("/api/train").json() == {"state": "idle", "progress": 0.0, "message": "", "history": []}
    assert learnt.sentence(24)["thoughts"] is None
    events = learnt.events()
    next(events)
    assert learnt.post("/api/train").json()["state"] == "training"
    assert learnt.post("/api/train").status == 400
    kinds = []
    for event in events:
        kinds.append(event["kind"])
        assert event["kind"] in ("progress", "model", "trained"), event
        if event["kind"] == "trained":
            assert (event["sentences"], event["words"]) == (24, 3 * small_treebank().word_count)
            break
    events.close()
    assert "progress" in kinds
    found = learnt.get("/api/train").json()
    assert (found["state"], len(found["history"])) == ("idle", 1)
    assert learnt.get("/api/document").json()["model"]["which"] == "trained"
    assert learnt.sentence(24)["thoughts"]["words"]["1"]["head"] == 2
    assert learnt.post("/api/model", {"which": "trained"}).json()["model"]["which"] == "trained"
    assert learnt.post("/api/model", {"which": "given"}).status == 400


def test_what_was_trained_thinks_along_at_the_next_start_unless_another_is_given(
    tmp_path: Path, parser: Any
) -> None:
    file = tmp_path / "again.conllu"
    open_words = "".join(f"{m}\tx{m}\t_\tNOUN\t_\t_\t_\t_\t_\t_\n" for m in range(1, 5))
    file.write_text(f"{small_treebank().text}{open_words}\n", encoding="utf-8")
    with serving(open_session(file)) as served:
        served.post("/api/train")
        until(lambda: served.get("/api/document").json()["model"], 60)
    with serving(open_session(file)) as served:
        assert served.get("/api/document").json()["model"]["which"] == "trained"
        assert len(served.get("/api/train").json()["history"]) == 1
    with serving(open_session(file, model=parser)) as served:
        found = served.get("/api/document").json()
        assert (found["model"]["which"], [model["which"] for model in found["models"]]) == (
            "given",
            ["given", "trained"],
        )
        before = served.sentence(8)["thoughts"]
        assert served.post("/api/model", {"which": "trained"}).json()["model"]["which"] == "trained"
        assert served.sentence(8)["thoughts"] != before


def test_words_are_annotated_while_a_training_runs_and_it_can_be_ended(learnt: Served) -> None:
    learnt.post("/api/train")
    learnt.set(24, "1", head="2")
    assert row(learnt.sentence(24), "1")["head"] == "2"
    assert learnt.get("/api/train").json()["state"] == "training"
    learnt.post("/api/train", {"cancel": True})
    until(lambda: learnt.get("/api/train").json()["state"] == "cancelled")
    assert learnt.get("/api/document").json()["model"] is None


@pytest.mark.slow
def test_doubts(learnt: Served) -> None:
    wrong = learnt.post("/api/sentence/0/edits", {"edits": edits(deprel_1="advmod")}).json()
    assert row(wrong, "1")["deprel"] == "advmod"
    assert learnt.post("/api/doubts").json() == {"started": True}
    found = until(lambda: learnt.sentence(0)["doubts"], 60)
    assert (found[0]["row"], found[0]["label"]) == ("1", "advmod")
    assert found[0]["instead"]["label"] == "det"
    learnt.set(0, "1", deprel="det")
    assert learnt.sentence(0)["doubts"] == []


def test_too_little_to_learn_from(tmp_path: Path) -> None:
    file = tmp_path / "open.conllu"
    file.write_text("1\tBirds\t_\tNOUN\t_\t_\t_\t_\t_\t_\n\n")
    with serving(open_session(file)) as served:
        for path in ("/api/train", "/api/doubts"):
            answer = served.post(path)
            assert answer.status == 400
            assert "\n" not in answer.json()["error"]


def test_root_is_offered_below_head_0_alone_unless_it_is_proposed() -> None:
    arcs = (LabelledArc(2, "obj", 0.5), LabelledArc(2, "root", 0.3), LabelledArc(0, "root", 0.2))
    thought = WordSuggestion(
        False, False, 2, "obj", probability=0.8, label_probability=0.5, alternatives=arcs
    )
    assert thought_json(thought)["alternatives"] == [[2, "obj", 0.5], [0, "root", 0.2]]
    proposed = replace(thought, label="root")
    assert thought_json(proposed)["alternatives"] == [[2, "obj", 0.5], [2, "root", 0.3], [0, "root", 0.2]]


def test_a_word_counts_as_decided_when_head_and_label_are() -> None:
    row = "{}\tw\t_\t_\t_\t_\t{}\t{}\t_\t{}\n"
    rows = [
        (1, 2, "det", "_"),
        (2, 0, "_", "_"),
        (3, 2, "obj", "DeprelProb=0.7"),
        (4, 2, "obj", "HeadProb=0.7"),
    ]
    sentence = Treebank.from_string("".join(row.format(*own) for own in rows) + "\n")[0]
    found = overview_json(sentence, 0, tags=False)
    assert (found["decided"], found["proposed"], found["open"]) == (1, 2, 1)


def counts(served: Served, number: int) -> tuple[int, int, int]:
    item = served.get("/api/sentences").json()["items"][number]
    return item["decided"], item["proposed"], item["open"]


def test_a_word_without_upos_is_not_done_in_a_file_that_has_tags(served: Served) -> None:
    until(lambda: served.get("/api/document").json()["needs_upos"])
    assert counts(served, 1) == (4, 0, 0)
    served.set(1, "3", upos="_")
    assert counts(served, 1) == (3, 0, 1)
    assert row(served.sentence(1), "3")["upos_state"] == "open"
    served.set(1, "3", upos="PART")
    assert counts(served, 1) == (4, 0, 0)


def test_a_file_without_tags_needs_none(tmp_path: Path) -> None:
    path = tmp_path / "untagged.conllu"
    path.write_text("1\tHi\t_\t_\t_\t_\t0\troot\t_\t_\n\n", "utf-8")
    with serving(open_session(path)) as served:
        assert served.get("/api/document").json()["needs_upos"] is False
        assert counts(served, 0) == (1, 0, 0)
