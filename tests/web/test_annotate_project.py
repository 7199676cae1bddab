"""A folder in the editor: worklists, checks, mass edits and training cover all of its files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contracts.small_treebank import small_treebank
from web.served import ROWS, Served, open_session, serving
from web.waiting import until

OPEN = "# text = Dogs sing\n1\tDogs\tdog\tNOUN\t_\t_\t_\t_\t_\t_\n2\tsing\tsing\tVERB\t_\t_\t_\t_\t_\t_\n\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "treebank"
    made.mkdir()
    (made / "a.conllu").write_text(ROWS, "utf-8")
    (made / "b.conllu").write_text(OPEN.replace("NOUN", "NOM"), "utf-8")
    return made


@pytest.fixture
def project(folder: Path, parser: Any) -> Iterator[Served]:
    with serving(open_session(folder, model=parser)) as made:
        yield made


@pytest.mark.parametrize("order", ["gain", "repairs", "training", "entropy", "least-sure"])
def test_a_worklist_has_the_unfinished_sentences_of_all_files(project: Served, order: str) -> None:
    until(lambda: project.get(f"/api/sentences?worklist={order}").json()["ready"])
    items = project.get(f"/api/sentences?worklist={order}").json()["items"]
    assert sorted(item["number"] for item in items) == [0, 2, 3]


def test_checks_cover_all_files(project: Served) -> None:
    findings = project.get("/api/validate?rule=unknown-upos").json()["findings"]
    assert [(finding["sentence"], finding["row"]) for finding in findings] == [(3, "1")]


def test_a_rule_is_muted_in_all_files(project: Served, folder: Path) -> None:
    (folder.parent / "other.conllu").write_text(OPEN.replace("NOUN", "NOM"), "utf-8")
    project.set(0, "1", upos="DTE")
    assert project.get("/api/validate?rule=unknown-upos").json()["total"] == 2
    project.post("/api/mute", {"rule": "unknown-upos"})
    assert (folder / "arcwise-muted-rules.txt").read_text("utf-8").endswith("\nunknown-upos\n")
    assert "unknown-upos" not in [group["rule"] for group in project.get("/api/validate").json()["rules"]]
    for number in (0, 3):
        assert "unknown-upos" not in {f["rule"] for f in project.sentence(number)["findings"]}
    with serving(open_session(folder.parent / "other.conllu")) as other:  # of another project
        assert other.get("/api/validate?rule=unknown-upos").json()["total"] == 1
        assert other.get("/api/validate").json()["muted"] == []


def test_a_mass_edit_covers_all_files(project: Served, folder: Path) -> None:
    change = {"query": "upos=VERB", "changes": "xpos=V", "apply": True}
    assert project.post("/api/mass-edit", change).json()["sentences"] == 4
    project.post("/api/save")
    assert all("VERB\tV" in (folder / name).read_text("utf-8") for name in ("a.conllu", "b.conllu"))


@pytest.mark.slow
def test_a_training_learns_from_all_files_and_its_tokenizer_cuts_new_text(tmp_path: Path) -> None:
    folder = tmp_path / "treebank"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.conllu").write_text(small_treebank().text, "utf-8")
    untagged = "".join(f"{n}\tword{n}" + "\t_" * 8 + "\n" for n in range(1, 31))
    (folder / "c.conllu").write_text(untagged + "\n", "utf-8")  # so that a tagger is trained, too
    with serving(open_session(folder)) as project:
        project.post("/api/train")
        until(lambda: project.get("/api/document").json()["model"], 120)
        (training,) = project.get("/api/train").json()["history"]
        assert training["sentences"] == 2 * len(small_treebank())
        answer = project.post("/api/insert", {"before": None, "text": "The dog sleeps ."}).json()
        assert answer["tokenizer"] == "trained"
