"""Two annotators: differences, agreement and adjudication through the API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs starlette")

from arcwise.evaluation.agreement import agreement
from arcwise.treebanks import Treebank
from web.served import ROWS, Served, open_session, row, serving

THEIRS = (
    ROWS.replace("2\tcat\tcat\tNOUN\t_\tNumber=Sing\t3\tnsubj", "2\tcat\tcat\tPROPN\t_\tNumber=Sing\t3\tobj")
    .replace("4\ta\ta\tDET\t_\t_\t_\t_", "4\ta\ta\tDET\t_\t_\t5\tdet")
    .replace("1\tDogs\tdog\tNOUN\t_\t_\t_\t_", "1\tDogs\tdog\tNOUN\t_\t_\t0\troot")
)


@pytest.fixture
def theirs(tmp_path: Path) -> Path:
    path = tmp_path / "theirs.conllu"
    path.write_text(THEIRS)
    return path


@pytest.fixture
def beside(file: Path, theirs: Path) -> Iterator[Served]:
    with serving(open_session(file, beside=theirs)) as made:
        yield made


def test_differences_word_by_word(beside: Served, file: Path, theirs: Path) -> None:
    found = beside.get("/api/differences").json()
    assert found["total"] == 2
    assert [(item["sentence"], item["sent_id"], item["only"]) for item in found["items"]] == [
        (0, "one", None),
        (2, "three", None),
    ]
    rows = [(r["row"], r["column"], r["a"], r["b"], r["now"], r["chosen"]) for r in found["items"][0]["rows"]]
    assert rows == [
        ("2", "upos", "NOUN", "PROPN", "NOUN", None),
        ("2", "deprel", "nsubj", "obj", "nsubj", None),
        ("4", "head", "_", "5", "_", None),
        ("4", "deprel", "_", "det", "_", None),
    ]
    agreed = agreement(Treebank.read(file), Treebank.read(theirs))
    assert found["agreement"]["uas"] == agreed.uas
    assert found["agreement"]["kappa_labels"] == agreed.labels.kappa
    assert found["agreement"]["alpha"] == agreed.arcs.alpha
    assert beside.get("/api/differences?from=1&count=1").json()["items"] == found["items"][1:]


def test_a_sentence_shows_what_the_other_has(beside: Served) -> None:
    assert beside.sentence(0)["beside"]["rows"] == {
        "2": {"upos": ["NOUN", "PROPN"], "deprel": ["nsubj", "obj"]},
        "4": {"head": ["_", "5"], "deprel": ["_", "det"]},
    }
    assert beside.sentence(1)["beside"] == {"rows": {}, "adjudicated": []}
    assert beside.get("/api/document").json()["beside"] == "theirs.conllu"


def test_adjudicate(beside: Served) -> None:
    asked = {"sentence": 0, "row": "2", "column": "upos"}
    after = beside.post("/api/adjudicate", {**asked, "choice": "b"}).json()
    assert row(after, "2")["upos"] == "PROPN"
    assert after["beside"]["adjudicated"] == ["2:upos"]
    after = beside.post("/api/adjudicate", {**asked, "choice": "value", "value": "X"}).json()
    assert row(after, "2")["upos"] == "X"
    after = beside.post("/api/adjudicate", {**asked, "column": "deprel", "choice": "a"}).json()
    assert row(after, "2")["deprel"] == "nsubj"
    assert "adjudicated = 2:deprel 2:upos" in after["comments"]
    found = beside.get("/api/differences").json()["items"][0]["rows"]
    assert [(r["column"], r["chosen"]) for r in found if r["row"] == "2"] == [
        ("upos", "X"),
        ("deprel", "nsubj"),
    ]
    both = [{"row": "4", "column": column, "choice": "b"} for column in ("head", "deprel")]
    after = beside.post("/api/adjudicate", {"sentence": 0, "choices": both}).json()
    assert (row(after, "4")["head"], row(after, "4")["deprel"]) == ("5", "det")
    for _ in range(4):
        beside.post("/api/undo")
    assert beside.sentence(0)["beside"]["adjudicated"] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"choice": "c"},
        {"choice": "value"},
        {"choice": "a", "value": "X"},
        {"choice": "b", "row": "99"},
        {"choice": "b", "row": 2},
        {"choice": "b", "column": "misc"},
        {"choice": "b", "column": "nonsense"},
        {"choice": "b", "sentence": -1},
        {},
    ],
)
def test_choices_that_are_none(beside: Served, wrong: dict[str, object]) -> None:
    answer = beside.post("/api/adjudicate", {"sentence": 0, "row": "2", "column": "upos", **wrong})
    assert answer.status == 400, answer.text
    assert beside.get("/api/document").json()["version"] == 0


def test_into_a_third_file(file: Path, theirs: Path, tmp_path: Path) -> None:
    third = tmp_path / "third.conllu"
    third.write_bytes(file.read_bytes())
    with serving(open_session(third, beside=theirs, a=file)) as served:
        assert [item["sentence"] for item in served.get("/api/differences").json()["items"]] == [0, 2]
        served.post("/api/sentence/0/split", {"row": "4"})  # numbers are others than those of A and B
        assert [item["sentence"] for item in served.get("/api/differences").json()["items"]][-1] == 3
        served.post("/api/adjudicate", {"sentence": 3, "row": "1", "column": "head", "choice": "b"})
        found = served.get("/api/differences").json()["items"][-1]["rows"][0]
        assert (found["a"], found["b"], found["now"], found["chosen"]) == ("_", "0", "0", "0")
        served.post("/api/adjudicate", {"sentence": 3, "row": "1", "column": "head", "choice": "a"})
        assert row(served.sentence(3), "1")["head"] == "_"
    assert (file.read_text(), theirs.read_text()) == (ROWS, THEIRS)


def test_heads_are_told_by_our_numbers(file: Path, tmp_path: Path) -> None:
    theirs = tmp_path / "longer.conllu"
    theirs.write_text(
        "# sent_id = three\n1\tBig\tbig\tADJ\t_\t_\t2\tamod\t_\t_\n"
        "2\tDogs\tdog\tNOUN\t_\t_\t3\tnsubj\t3:nsubj\t_\n3\tsleep\tsleep\tVERB\t_\t_\t0\troot\t_\t_\n\n"
    )
    with serving(open_session(file, beside=theirs)) as served:
        after = served.post(
            "/api/adjudicate", {"sentence": 2, "row": "1", "column": "head", "choice": "b"}
        ).json()
        assert row(after, "1")["head"] == "2"
        after = served.post(
            "/api/adjudicate", {"sentence": 2, "row": "1", "column": "deps", "choice": "b"}
        ).json()
        assert row(after, "1")["deps"] == "2:nsubj"
        assert served.sentence(0)["beside"] is None


def test_without_another_file(served: Served) -> None:
    assert served.get("/api/differences").status == 400
    assert (
        served.post("/api/adjudicate", {"sentence": 0, "row": "1", "column": "head", "choice": "a"}).status
        == 400
    )


@pytest.mark.parametrize(
    ("heads", "differing"),
    [
        ({"2": "1"}, {"2": {"head": ["3", "1"]}}),
        ({"2": "2"}, {"2": {"head": ["3", "2"]}}),
        ({"2": "77"}, {"2": {"head": ["3", "77"]}}),
        ({"2": "x"}, {"2": {"head": ["3", "x"]}}),
        ({"3": "2"}, {"3": {"head": ["0", "2"]}}),
    ],
    ids=["cycle", "own head", "no such word", "no number", "no root"],
)
def test_a_file_with_a_broken_tree_can_be_compared_with(
    file: Path, tmp_path: Path, heads: dict[str, str], differing: dict[str, Any]
) -> None:
    """As ``arcwise diff`` does: somebody may be fixing just this."""
    from arcwise.cli.main import run

    rows = [line.split("\t") for line in ROWS.splitlines()]
    first = rows[: rows.index([""])]
    for fields in first:
        if fields[0] in heads:
            fields[6] = heads[fields[0]]
    other = tmp_path / "broken.conllu"
    other.write_text("\n".join("\t".join(fields) for fields in rows) + "\n", "utf-8")
    assert run(["diff", str(file), str(other)]) == 1
    with serving(open_session(file, beside=other)) as served:
        assert served.sentence(0)["beside"]["rows"] == differing
