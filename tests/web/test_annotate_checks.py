"""Validation through the API: errors first, complete numbers, conflicts of a merge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs starlette")

from web.served import ROWS, Served, open_session, row, serving
from web.waiting import until


def test_errors_come_first_and_every_rule_is_counted(tmp_path: Path) -> None:
    """More warnings than fit on a page, and one error at the very end."""
    line = "{}\t{}\t{}\t{}\t_\t{}\t{}\t{}\t_\t_\n"
    warned = line.format(1, "who", "who", "PRON", "_", 2, "nsubj") + line.format(
        2, "go", "go", "VERB", "Mood=Ind", 0, "root"
    )
    sentence = "# sent_id = {}\n# text = who go\n{}\n"
    text = "".join(sentence.format(n, warned) for n in range(1200))
    text += sentence.format("last", warned.replace("VERB", "VRB"))
    path = tmp_path / "many.conllu"
    path.write_text(text, "utf-8")
    with serving(open_session(path)) as served:
        found = served.get("/api/validate?count=1000").json()
        first = found["findings"][0]
        assert (first["rule"], first["sent_id"], first["warning"]) == ("unknown-upos", "last", False)
        assert [(g["rule"], g["count"]) for g in found["rules"]] == [
            ("unknown-upos", 1),
            ("pron-det-without-prontype", 1201),
        ]
        assert (found["total"], found["errors"]) == (1202, 1)
        of_rule = "/api/validate?rule=pron-det-without-prontype"
        last = served.get(f"{of_rule}&from=1200&count=100").json()
        assert (last["total"], [f["sent_id"] for f in last["findings"]]) == (1201, ["last"])


def test_a_frequent_rule_does_not_hide_a_rare_one_beyond_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    from arcwise.annotation import background_job

    monkeypatch.setattr(background_job, "OF_EACH_RULE", 2)
    line = "1\tgo\tgo\t{}\t_\t{}\t0\t{}\t_\t_\n"
    rows = [line.format("VRB", "_", "root")] * 9
    rows += [line.format("PRON", "_", "rot"), line.format("VERB", "Mood=Ind", "root")]
    text = "".join(f"# sent_id = {n}\n# text = go\n{row}\n" for n, row in enumerate(rows))
    everything = background_job.validation_findings(text.encode(), 1000)
    found = background_job.validation_findings(text.encode(), 5)
    assert found["rules"] == everything["rules"]
    assert {group["rule"]: group["count"] for group in found["rules"]} == {
        "unknown-upos": 9,
        "0-is-not-root": 1,
        "unknown-udeprel": 1,
        "pron-det-without-prontype": 1,
    }
    assert found["findings"] == everything["findings"][:5] + everything["findings"][9:]
    assert [finding["rule"] for finding in found["findings"][5:]] == [
        "unknown-udeprel",
        "0-is-not-root",
        "pron-det-without-prontype",
    ]


def test_conflicts_of_a_merge_are_findings(tmp_path: Path) -> None:
    from arcwise.treebanks.merging import merge

    mine, theirs = (ROWS.replace("3\tnsubj\t", f"3\t{label}\t") for label in ("obj", "iobj"))
    path = tmp_path / "merged.conllu"
    path.write_bytes(merge(ROWS.encode(), mine.encode(), theirs.encode()).data)
    with serving(open_session(path)) as served:
        (found,) = [f for f in served.sentence(0)["findings"] if f["rule"] == "merge-conflict"]
        assert (found["row"], found["column"], found["warning"]) == ("2", "deprel", False)
        assert found["message"] == "DEPREL: unresolved merge conflict; theirs: 'iobj'"
        assert served.get("/api/validate?rule=merge-conflict").json()["total"] == 1
        answer = served.post("/api/sentence/0/edits", {"edits": found["repair"]["edits"]}).json()
        assert [f for f in answer["findings"] if f["rule"] == "merge-conflict"] == []
        assert row(answer, "2")["deprel"] == "obj"


def test_features_and_lemmas_of_a_form_and_upos_follow_the_edits(served: Served) -> None:
    def ready() -> Any:
        return served.get("/api/document").json()["inventory"]["ready"]

    def seen(form: str, upos: str) -> Any:
        return served.get(f"/api/values?form={form}&upos={upos}").json()

    until(ready)
    assert seen("DOG", "NOUN") == {"features": [["Number", ["Sing"]]], "lemmas": [["dog", 1]]}
    assert seen("dog", "VERB") == {"features": [["Tense", ["Past"]]], "lemmas": [["dog", 1]]}
    served.set(0, "5", lemma="hound", feats="Number=Sing|Gender=Masc")
    served.set(2, "1", form="Dog", lemma="dog")
    assert seen("dog", "NOUN")["lemmas"] == [["dog", 1], ["hound", 1]]
    assert seen("dog", "NOUN")["features"] == [["Number", ["Sing"]], ["Gender", ["Masc"]]]
    served.post("/api/undo")
    served.post("/api/undo")
    assert seen("dog", "NOUN") == {"features": [["Number", ["Sing"]]], "lemmas": [["dog", 1]]}


def test_a_rule_is_muted_for_the_folder_in_a_text_file(file: Path) -> None:
    """The file has a comment and another rule, which stay."""
    path = file.parent / "arcwise-muted-rules.txt"
    path.write_text("# ours\nno-such-rule\n", "utf-8")
    file.write_text(ROWS.replace("\tDET\t", "\tDTE\t"), "utf-8")
    with serving(open_session(file)) as served:
        found = served.get("/api/validate").json()
        assert (found["muted"], found["errors"]) == ([], 3)
        assert served.post("/api/mute", {"rule": "unknown-upos"}).json() == {"muted": ["unknown-upos"]}
        assert path.read_text("utf-8") == "# ours\nno-such-rule\nunknown-upos\n"
        found = served.get("/api/validate").json()
        assert (found["muted"], found["errors"]) == (["unknown-upos"], 1)
        assert "unknown-upos" not in {
            f["rule"] for f in [*found["findings"], *served.sentence(0)["findings"]]
        }
        assert served.get("/api/validate?rule=unknown-upos").json()["total"] == 2  # still there to look at
        assert served.post("/api/mute", {"rule": "nonsense"}).status == 400
    with serving(open_session(file)) as again:
        assert again.get("/api/validate").json()["muted"] == ["unknown-upos"]
        again.post("/api/mute", {"rule": "unknown-upos", "muted": False})
        assert path.read_text("utf-8") == "# ours\nno-such-rule\n"
        assert again.get("/api/validate").json()["errors"] == 3


def test_the_journal_says_who_made_an_edit(file: Path) -> None:
    edit = {"edits": [{"kind": "set-field", "row": "5", "column": "head", "value": "3"}]}
    with serving(open_session(file)) as served:
        served.post("/api/sentence/0/edits", edit, X_Arcwise_Annotator="Zo%C3%AB")
        served.set(0, "4", head="5")  # nobody says who
        steps = served.get("/api/history").json()["steps"]
        assert [step["by"] for step in steps] == [None, "Zoë"]
        assert steps[1]["description"] == "sentence 1: set-field"
    with serving(open_session(file)) as again:
        assert [step["by"] for step in again.get("/api/history").json()["steps"]] == [None, "Zoë"]
        again.post("/api/undo")
        assert [step["by"] for step in again.get("/api/history").json()["steps"]] == ["Zoë"]


def test_search_hits_name_empty_nodes_by_their_rows(file: Path) -> None:
    empty = "4.1\tgone\tgo\tVERB\t_\t_\t_\t_\t4:dep\t_\n"
    text = ROWS.replace("\n# sent_id = three", f"{empty}\n# sent_id = three")
    file.write_text(text, "utf-8")
    with serving(open_session(file)) as served:
        found = served.post("/api/search", {"query": "@v[upos=VERB] -> @e[empty=yes]"}).json()
        assert [(hit["sentence"], hit["words"]) for hit in found["hits"]] == [(1, {"v": "4", "e": "4.1"})]
        request = {"query": "@v[upos=VERB] -> @e[empty=yes]", "changes": "v.xpos=V"}
        (change,) = served.post("/api/mass-edit", request).json()["changes"]
        assert change["hits"] == [{"v": "4", "e": "4.1"}]
        skip = [{"sentence": 1, "words": change["hits"][0]}]
        assert served.post("/api/mass-edit", {**request, "skip": skip}).json()["changes"] == []
        assert (
            served.post("/api/mass-edit", {**request, "skip": [{**skip[0], "words": {"e": "4.x"}}]}).status
            == 400
        )
