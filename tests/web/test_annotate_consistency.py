"""Inconsistencies of a file through the API: groups with their places, which follow edits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs starlette")

from web.served import Served, open_session, serving
from web.waiting import until


def sentence(sent_id: str, label: str) -> str:
    """``New York`` with a label."""
    rows = [f"1 New new PROPN _ _ 2 {label} _ _", "2 York York PROPN _ _ 0 root _ _"]
    return f"# sent_id = {sent_id}\n# text = New York\n" + "\n".join(rows).replace(" ", "\t") + "\n\n"


@pytest.fixture
def varied(tmp_path: Path) -> Path:
    """Three sentences that agree, and one that does not."""
    path = tmp_path / "varied.conllu"
    labels = ("compound", "amod", "compound", "compound")
    path.write_text("".join(sentence(f"s{n}", label) for n, label in enumerate(labels)), "utf-8")
    return path


def found(served: Served, query: str = "") -> Any:
    """The inconsistencies, once the search has ended."""

    def answer() -> Any:
        page = served.get(f"/api/consistency{query}").json()
        return page if page["ready"] else None

    return until(answer)


def places(answer: Any) -> dict[str, list[list[int]]]:
    (group,) = answer["groups"]
    return {variant["analysis"]: variant["places"] for variant in group["variants"]}


def test_groups_have_their_analyses_and_places(varied: Path) -> None:
    with serving(open_session(varied)) as served:
        before = found(served)
        assert (before["version"], before["stale"], before["groups"]) == (None, False, [])
        served.post("/api/consistency")
        answer = found(served)
        assert (answer["total"], answer["stale"], answer["error"]) == (1, False, None)
        assert answer["groups"][0] == {
            "kind": "arc",
            "words": ["New", "York"],
            "before": [],
            "after": [],
            "variants": [
                {"analysis": "York > compound New", "count": 3, "places": [[0, 1, 2], [2, 1, 2], [3, 1, 2]]},
                {"analysis": "York > amod New", "count": 1, "places": [[1, 1, 2]]},
            ],
        }
        assert found(served, "?from=1&count=5")["groups"] == []


def test_an_edit_makes_the_groups_stale_until_they_are_found_again(varied: Path) -> None:
    with serving(open_session(varied)) as served:
        served.post("/api/consistency")
        served.set(1, "1", deprel="compound")
        answer = found(served)
        assert (answer["stale"], answer["total"]) == (True, 1)
        served.post("/api/consistency")
        answer = found(served)
        assert (answer["stale"], answer["total"], answer["groups"]) == (False, 0, [])


def test_places_follow_their_sentences(varied: Path) -> None:
    with serving(open_session(varied)) as served:
        served.post("/api/consistency")
        served.post("/api/insert", {"before": 1, "conllu": sentence("new", "flat")})
        assert places(found(served))["York > amod New"] == [[2, 1, 2]]
        served.post("/api/sentence/0/remove")
        answer = places(found(served))
        assert answer == {"York > compound New": [[2, 1, 2], [3, 1, 2]], "York > amod New": [[1, 1, 2]]}
        served.post("/api/undo")
        assert places(found(served))["York > amod New"] == [[2, 1, 2]]


@pytest.mark.process
def test_a_large_file_is_compared_in_a_child_process(varied: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arcwise.annotation.background_job.AT_ONCE", 0)
    with serving(open_session(varied)) as served:
        served.post("/api/consistency")
        assert served.get("/api/consistency").json()["ready"] is False
        assert places(found(served))["York > amod New"] == [[1, 1, 2]]


def test_a_project_is_compared_across_its_files(varied: Path) -> None:
    (varied.parent / "x.conllu").write_text(sentence("x", "flat"), "utf-8")
    with serving(open_session(varied.parent)) as served:
        served.post("/api/consistency")
        assert places(found(served))["York > flat New"] == [[4, 1, 2]]
