"""The JSON API of ``arcwise annotate``, route by route, without a browser."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs starlette")

from arcwise.annotation.document import AnnotationDocument
from arcwise.errors import InputError
from web.served import ROWS, Served, edits, open_session, row, serving
from web.waiting import until

# ---- looking


def test_document(served: Served) -> None:
    found = served.get("/api/document").json()
    assert found["name"] == "small.conllu"
    assert (found["sentences"], found["version"]) == (3, 0)
    assert (found["model"], found["models"], found["beside"]) == (None, [], None)
    assert (found["saved"], found["can_undo"], found["can_redo"]) == (True, False, False)
    assert (found["on_disk"], found["read_only"], found["notices"]) == ("same", None, [])
    until(lambda: served.get("/api/document").json()["inventory"]["ready"])
    inventory = served.get("/api/document").json()["inventory"]
    assert set(inventory["deprel"][:2]) == {"root", "nsubj"}
    assert "iobj" in inventory["deprel"]  # universal, not in the file
    assert set(inventory["upos"][:2]) == {"NOUN", "VERB"}
    assert "Number=Sing" in inventory["feats"]


def test_the_inventory_follows_edits(served: Served) -> None:
    until(lambda: served.get("/api/document").json()["inventory"]["ready"])
    served.set(0, "1", deprel="det:own")
    assert "det:own" in served.get("/api/document").json()["inventory"]["deprel"]
    served.post("/api/undo")
    assert "det:own" not in served.get("/api/document").json()["inventory"]["deprel"]


def test_sentences(served: Served) -> None:
    found = served.get("/api/sentences").json()
    assert (found["total"], found["ready"]) == (3, True)
    assert [item["sent_id"] for item in found["items"]] == ["one", "two", "three"]
    first = found["items"][0]
    assert first == {
        "number": 0,
        "sent_id": "one",
        "text": "The cat saw a dog.",
        "words": 6,
        "decided": 3,
        "proposed": 1,
        "open": 2,
        "value": None,
        "word": None,
    }
    part = served.get("/api/sentences?from=1&count=1").json()
    assert [item["number"] for item in part["items"]] == [1]
    assert served.get("/api/sentences?from=99").json()["items"] == []


@pytest.mark.parametrize(
    "target", ["from=-1", "from=x", "count=1e3", "from=1.5", "count=99999999999999999999"]
)
def test_sentences_with_wrong_numbers(served: Served, target: str) -> None:
    answer = served.get(f"/api/sentences?{target}")
    assert answer.status == 400
    assert "expected a number from 0" in answer.json()["error"]


def test_sentence(served: Served) -> None:
    found = served.sentence(0)
    assert found["comments"] == ["sent_id = one", "text = The cat saw a dog."]
    assert (found["number"], found["sent_id"], found["direction"]) == (0, "one", "ltr")
    assert [r["state"] for r in found["rows"]] == ["decided"] * 3 + ["open"] * 2 + ["proposed"]
    assert row(found, "1")["feats"] == "Definite=Def|PronType=Art"
    assert (found["thoughts"], found["doubts"], found["beside"]) == (None, [], None)
    second = served.sentence(1)
    assert [r["kind"] for r in second["rows"]] == ["word", "multiword", "word", "word", "word"]


@pytest.mark.parametrize(
    ("number", "status"), [("3", 404), ("99999", 404), ("-1", 400), ("x", 400), ("1.0", 400)]
)
def test_a_sentence_that_is_not_there(served: Served, number: str, status: int) -> None:
    answer = served.get(f"/api/sentence/{number}")
    assert answer.status == status
    assert set(answer.json()) == {"error"}


def test_text_is_text_whatever_it_says(tmp_path: Path) -> None:
    file = tmp_path / "evil.conllu"
    evil = "</script><script>alert(1)</script>"
    file.write_text(f"# text = {evil}\n1\t{evil}\t\"'&<\t_\t_\t_\t0\troot\t_\t_\n\n", encoding="utf-8")
    with serving(open_session(file)) as served:
        answer = served.get("/api/sentence/0")
        assert answer.headers["content-type"] == "application/json"
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.json()["rows"][0]["form"] == evil
        assert answer.json()["text"] == evil
        assert served.set(0, "1", lemma="<img onerror=x>").json()["rows"][0]["lemma"] == "<img onerror=x>"


def test_right_to_left(tmp_path: Path) -> None:
    file = tmp_path / "arabic.conllu"
    file.write_text(
        "1\tيقرأ\t_\t_\t_\t_\t0\troot\t_\t_\n2\tالطالب\t_\t_\t_\t_\t1\tnsubj\t_\t_\n\n", encoding="utf-8"
    )
    with serving(open_session(file)) as served:
        assert served.sentence(0)["direction"] == "rtl"
        assert '"form":"يقرأ"' in served.get("/api/sentence/0").text


# ---- editing


def test_an_edit_changes_its_field_and_nothing_else(served: Served, file: Path) -> None:
    before = served.sentence(0)
    answer = served.set(0, "4", head="5", deprel="det")
    assert answer.status == 200
    after = answer.json()
    assert (row(after, "4")["head"], row(after, "4")["state"]) == ("5", "decided")
    assert after["version"] != before["version"]
    assert after == served.sentence(0)
    assert served.post("/api/save").json()["saved"]
    assert file.read_text() == ROWS.replace("4\ta\ta\tDET\t_\t_\t_\t_", "4\ta\ta\tDET\t_\t_\t5\tdet")


def test_an_edit_of_an_old_version_is_refused_with_the_present_one(served: Served) -> None:
    seen = served.sentence(0)["version"]
    served.set(0, "4", head="5")
    answer = served.post("/api/sentence/0/edits", {"version": seen, "edits": edits(head_5="3")})
    assert answer.status == 409
    assert answer.json()["sentence"] == served.sentence(0)
    assert row(answer.json()["sentence"], "5")["head"] == "_"
    for path, more in (("accept", {}), ("split", {"row": "3"}), ("join", {}), ("remove", {})):
        assert served.post(f"/api/sentence/0/{path}", {"version": seen, **more}).status == 409
    assert served.get("/api/document").json()["sentences"] == 3


@pytest.mark.parametrize(
    "body",
    [
        {"edits": []},
        {"edits": None},
        {},
        {"edits": [1]},
        {"edits": "x"},
        {"edits": [{"kind": "nonsense"}]},
        {"edits": [{"kind": "set-field", "row": "1"}]},
        {"edits": [{"kind": "set-field", "row": "99", "column": "head", "value": "1"}]},
        {"edits": [{"kind": "set-field", "row": "1", "column": "head", "value": "99"}]},
        {"edits": [{"kind": "set-field", "row": "1", "column": "head", "value": 3}]},
        {"edits": [{"kind": "set-field", "row": "1", "column": "upos", "value": "a\tb"}]},
        {"edits": [{"kind": "set-field", "row": "1", "column": "upos", "value": "a\n\n1\tb"}]},
        {"edits": [{"kind": "set-field", "row": "3", "column": "head", "value": "2"}]},  # a cycle
        {"version": 7, "edits": [{"kind": "set-field", "row": "1", "column": "upos", "value": "X"}]},
    ],
)
def test_edits_that_cannot_be_made_are_told_and_change_nothing(served: Served, body: Any) -> None:
    before = served.sentence(0)
    answer = served.post("/api/sentence/0/edits", body)
    assert answer.status == 400, answer.text
    assert set(answer.json()) == {"error"}
    assert "\n" not in answer.json()["error"]
    assert served.sentence(0) == before
    assert served.get("/api/document").json()["version"] == 0


def test_a_proposal_in_the_file_gives_way(served: Served) -> None:
    after = served.set(0, "3", head="6", deprel="dep").json()  # 6 was proposed under 3
    assert (row(after, "3")["head"], row(after, "6")["head"], row(after, "6")["state"]) == ("6", "_", "open")


def test_accepting_what_the_file_proposes(served: Served) -> None:
    version = served.sentence(0)["version"]
    unsure = served.post("/api/sentence/0/accept", {"version": version, "threshold": 0.95}).json()
    assert row(unsure, "6")["state"] == "proposed"
    after = served.post("/api/sentence/0/accept", {"version": version, "words": ["6"]}).json()
    assert row(after, "6")["state"] == "decided"
    assert row(after, "6")["misc"] == "_"
    answer = served.post("/api/sentence/0/accept", {"words": ["9"]})
    assert answer.status == 400
    assert served.post("/api/sentence/0/accept", {"threshold": 2}).status == 400


def test_a_probability_that_is_no_number_is_told(tmp_path: Path) -> None:
    path = tmp_path / "a.conllu"
    path.write_text("1\tHi\t_\t_\t_\t_\t0\troot\t_\tHeadProb=high\n\n")
    with serving(open_session(path)) as made:
        answer = made.post("/api/sentence/0/accept", {"threshold": 0.5})
        assert answer.status == 400
        assert answer.json() == {"error": "row 1: the probability 'high' in MISC is not a number"}
        assert made.post("/api/sentence/0/accept", {}).json()["rows"][0]["state"] == "decided"


def test_split_join_remove_insert(served: Served) -> None:
    first = served.post(
        "/api/sentence/0/split", {"version": served.sentence(0)["version"], "row": "4"}
    ).json()
    assert [r["form"] for r in first["rows"]] == ["The", "cat", "saw"]
    assert [r["form"] for r in served.sentence(1)["rows"]] == ["a", "dog", "."]
    assert served.get("/api/document").json()["sentences"] == 4
    joined = served.post("/api/sentence/0/join", {"version": first["version"]}).json()
    assert len(joined["rows"]) == 6
    assert served.post("/api/sentence/2/remove", {}).json() == {"sentences": 2}
    added = "1\tHi\t_\tINTJ\t_\t_\t_\t_\t_\t_\n\n"
    inserted = served.post("/api/insert", {"before": 0, "conllu": added}).json()
    assert inserted == {"number": 0, "sentences": 3, "tokenizer": None}
    assert served.post("/api/insert", {"conllu": added}).json()["number"] == 3
    assert served.sentence(0)["rows"][0]["form"] == "Hi"
    for wrong in ({"conllu": "nonsense"}, {"conllu": ""}, {"before": 99, "conllu": added}, {}):
        assert served.post("/api/insert", wrong).status == 400
    assert served.post("/api/sentence/0/split", {"row": "1"}).status == 400
    assert served.post("/api/sentence/3/join", {}).status == 400


def test_undo_and_redo(served: Served, file: Path) -> None:
    assert served.post("/api/undo").json() == {"number": None, "sentence": None, "description": None}
    before = served.sentence(1)
    served.set(0, "4", head="5")
    after = served.set(1, "1", upos="NOUN").json()
    undone = served.post("/api/undo").json()
    assert (undone["number"], undone["sentence"]) == (1, before)
    assert served.get("/api/document").json()["can_redo"]
    assert served.post("/api/redo").json()["sentence"] == after
    for _ in range(2):
        served.post("/api/undo")
    served.post("/api/save")
    assert file.read_text() == ROWS


def test_other_edits(served: Served) -> None:
    def edit(**values: Any) -> dict[str, Any]:
        answer = served.post("/api/sentence/1/edits", {"edits": [values]})
        assert answer.status == 200, answer.text
        return answer.json()

    assert edit(kind="set-note", on="1", text="who?")["notes"] == [{"on": "1", "text": "who?"}]
    assert "genre = letter" in edit(kind="set-comment", key="genre", value="letter")["comments"]
    after = edit(kind="split-word", row="4", forms=["sl", "e", "ep"])
    assert [r["form"] for r in after["rows"] if r["kind"] == "word"] == ["He", "does", "n't", "sl", "e", "ep"]
    after = edit(kind="make-multiword", first="4", last="6", form="sleep")
    assert row(after, "4-6")["form"] == "sleep"
    after = edit(kind="add-empty-node", after="1", form="E", deps=[["4", "nsubj"]])
    assert (row(after, "1.1")["kind"], row(after, "1.1")["deps"]) == ("empty", "4:nsubj")


# ---- checking and searching


def test_findings_come_with_repairs(served: Served) -> None:
    found = served.set(0, "1", upos="DTE").json()["findings"]
    (unknown,) = [f for f in found if f["rule"] == "unknown-upos"]
    assert (unknown["row"], unknown["column"]) == ("1", "upos")
    answer = served.post("/api/sentence/0/edits", {"edits": unknown["repair"]["edits"]}).json()
    assert row(answer, "1")["upos"] == "DET"
    assert [f for f in answer["findings"] if f["rule"] == "unknown-upos"] == []


def test_open_words_are_no_findings(served: Served) -> None:
    assert [f for f in served.sentence(2)["findings"] if f["column"] in ("head", "deprel")] == []


def test_validate(served: Served) -> None:
    served.set(0, "1", upos="DTE")
    found = served.get("/api/validate").json()
    assert (found["ready"], found["version"]) == (True, 1)
    assert "unknown-upos" in {f["rule"] for f in found["findings"]}
    assert found["total"] == len(found["findings"])
    assert [f for f in found["findings"] if f["sentence"] == 2 and f["column"] in ("head", "deprel")] == []
    part = served.get("/api/validate?from=1&count=1").json()["findings"]
    assert part == found["findings"][1:2]


@pytest.mark.slow
def test_a_large_file_is_validated_in_another_process(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("arcwise.annotation.background_job.AT_ONCE", 0)
    events = served.events()
    next(events)
    found = served.get("/api/validate").json()
    assert (found["ready"], found["findings"]) == (False, [])
    assert next(events) == {"kind": "checked", "version": 0}
    events.close()
    found = served.get("/api/validate").json()
    assert (found["ready"], found["version"]) == (True, 0)
    monkeypatch.undo()
    served.set(0, "1", xpos="X")
    assert served.get("/api/validate").json()["findings"] == found["findings"]


def test_the_end_does_not_wait_for_validation(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arcwise.annotation.background_job.AT_ONCE", 0)
    with serving(open_session(file)) as served:
        assert served.get("/api/validate").json()["ready"] is False


def test_a_search_without_hits_says_which_value_does_not_occur(served: Served) -> None:
    found = served.post("/api/search", {"query": "upos=Verb"}).json()
    assert (found["total"], found["hints"]) == (0, ["upos=Verb does not occur, VERB does"])
    assert served.post("/api/search", {"query": "upos=VERB"}).json()["hints"] == []


def test_search(served: Served) -> None:
    found = served.post("/api/search", {"query": "upos=VERB > nsubj"}).json()
    assert (found["total"], found["sentences"]) == (2, 2)
    assert found["hits"][0] == {
        "sentence": 0,
        "sent_id": "one",
        "text": "The cat saw a dog.",
        "words": {"1": "3", "2": "2"},
    }
    assert (
        served.post("/api/search", {"query": "upos=VERB > nsubj", "from": 1, "count": 5}).json()["hits"][0][
            "sentence"
        ]
        == 1
    )
    listed = served.get("/api/sentences?query=lemma=sleep").json()
    assert [(item["number"], item["value"]) for item in listed["items"]] == [(1, 1.0), (2, 1.0)]
    served.set(2, "1", head="2", deprel="nsubj")
    assert served.post("/api/search", {"query": "upos=VERB > nsubj"}).json()["total"] == 3


def test_a_query_that_is_not_understood(served: Served) -> None:
    answer = served.post("/api/search", {"query": "upos="})
    assert answer.status == 400
    assert answer.json()["position"] == 5
    assert served.get("/api/sentences?query=(").status == 400
    assert served.post("/api/search", {}).status == 400


def test_mass_edit(served: Served) -> None:
    asked = {"query": "lemma=sleep", "changes": "xpos=VB"}
    found = served.post("/api/mass-edit", asked).json()
    assert (found["total"], found["edits"], found["refused"]) == (2, 2, [])
    assert found["changes"][0]["edits"] == [
        {"kind": "set-field", "row": "4", "column": "xpos", "value": "VB"}
    ]
    assert served.get("/api/document").json()["version"] == 0
    done = served.post("/api/mass-edit", {**asked, "apply": True}).json()
    assert done == {"sentences": 2, "edits": 2, "version": 1}
    assert row(served.sentence(2), "2")["xpos"] == "VB"
    served.post("/api/undo")
    assert (row(served.sentence(1), "4")["xpos"], row(served.sentence(2), "2")["xpos"]) == ("_", "_")
    answer = served.post("/api/mass-edit", {"query": "lemma=sleep", "changes": "nonsense"})
    assert (answer.status, answer.json()["what"]) == (400, "changes")
    assert served.post("/api/mass-edit", {**asked, "apply": "yes"}).status == 400


# ---- several pages


def test_an_edit_reaches_the_other_page(served: Served) -> None:
    mine, theirs = served.events(), served.events()
    assert next(mine)["kind"] == next(theirs)["kind"] == "listening"
    served.post("/api/sentence/2/edits", {"edits": edits(head_1="2")}, X_Arcwise_Page="tab 1")
    for events in (mine, theirs):
        told = next(events)
        assert (told["kind"], told["numbers"], told["page"], told["version"]) == ("changed", [2], "tab 1", 1)
        assert told["renumbered"] is False
    served.post("/api/sentence/0/split", {"row": "3"})
    told = next(theirs)
    assert (told["first"], told["renumbered"], told["sentences"]) == (0, True, 4)
    mine.close()
    theirs.close()
    until(lambda: served.session.events.listeners == 0)


def test_two_pages_never_overwrite_each_other(served: Served) -> None:
    seen = served.sentence(0)
    first = served.post("/api/sentence/0/edits", {"version": seen["version"], "edits": edits(head_4="5")})
    second = served.post("/api/sentence/0/edits", {"version": seen["version"], "edits": edits(head_5="3")})
    assert (first.status, second.status) == (200, 409)
    again = second.json()["sentence"]["version"]
    third = served.post("/api/sentence/0/edits", {"version": again, "edits": edits(head_5="3")})
    assert (row(third.json(), "4")["head"], row(third.json(), "5")["head"]) == ("5", "3")


def test_many_edits_at_once_are_all_made(served: Served) -> None:
    """Four clients edit different words of one sentence, each retrying where another was faster."""

    def annotate(identifier: str) -> int:
        refused = 0
        for turn in range(8):
            while True:
                version = served.sentence(0)["version"]
                edit = {
                    "kind": "set-field",
                    "row": identifier,
                    "column": "xpos",
                    "value": f"{identifier}.{turn}",
                }
                answer = served.post("/api/sentence/0/edits", {"version": version, "edits": [edit]})
                if answer.status == 200:
                    break
                assert answer.status == 409
                refused += 1
        return refused

    with ThreadPoolExecutor(4) as clients:
        refused = sum(clients.map(annotate, "1234"))
    assert [row(served.sentence(0), m)["xpos"] for m in "1234"] == ["1.7", "2.7", "3.7", "4.7"]
    assert served.get("/api/document").json()["version"] == 32
    assert refused > 0
    for _ in range(32):
        served.post("/api/undo")
    assert [r["xpos"] for r in served.sentence(0)["rows"]] == ["_"] * 6


# ---- the file on disk


def test_the_file_is_saved_by_itself(served: Served, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arcwise.web.annotate_session.SAVED_AFTER", 0.1)
    events = served.events()
    next(events)
    served.set(2, "1", head="2")
    assert [next(events)["kind"], next(events)["kind"]] == ["changed", "saved"]
    assert "1\tDogs\tdog\tNOUN\t_\t_\t2\t" in file.read_text()
    assert served.get("/api/document").json()["saved"]
    events.close()


@pytest.mark.slow
def test_a_file_that_cannot_be_written_is_told_and_tried_again(
    served: Served, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any, **__: Any) -> None:
        raise InputError("small.conllu: cannot be written (No space left on device)")

    monkeypatch.setattr("arcwise.web.annotate_session.SAVED_AFTER", 0.1)
    events = served.events()
    next(events)
    with monkeypatch.context() as patch:
        patch.setattr(AnnotationDocument, "save", full)
        served.set(2, "1", head="2")
        assert [next(events)["kind"], next(events)] == [
            "changed",
            {"kind": "failed", "message": "small.conllu: cannot be written (No space left on device)"},
        ]
        assert served.post("/api/save").status == 400
        assert served.sentence(2)["rows"][0]["head"] == "2"
    assert until(lambda: next(events)["kind"] == "saved")
    assert "1\tDogs\tdog\tNOUN\t_\t_\t2\t" in file.read_text()
    events.close()


def test_a_file_changed_by_another_program_is_noticed_and_merged(served: Served, file: Path) -> None:
    events = served.events()
    next(events)
    served.set(0, "4", head="5", deprel="det")
    assert next(events)["kind"] == "changed"
    file.write_text(ROWS.replace("1\tDogs\tdog", "1\tDogs\tDOG"))
    assert next(events) == {"kind": "changed-on-disk", "state": "changed"}
    answer = served.post("/api/save")
    assert answer.status == 409
    assert "changed by another program" in answer.json()["error"]
    assert "DOG" in file.read_text()
    taken = served.post("/api/take-in").json()
    assert (taken["conflicts"], taken["changed"]) == (0, True)
    assert row(served.sentence(2), "1")["lemma"] == "DOG"
    assert row(served.sentence(0), "4")["head"] == "5"
    assert served.post("/api/save").status == 200
    assert "DOG" in file.read_text()
    assert "\t5\tdet\t" in file.read_text()
    events.close()


def test_what_was_not_saved_is_saved_at_the_end(file: Path) -> None:
    with serving(open_session(file)) as served:
        served.set(0, "4", head="5")
    assert "4\ta\ta\tDET\t_\t_\t5\t" in file.read_text()
