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
