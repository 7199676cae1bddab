"""Findings of the annotation page that come from the language data beside the treebank."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs starlette")

from web.served import Served, open_session, serving
from web.waiting import until

LANGUAGE = 'auxiliaries = ["be"]\n'


def rules(served: Served) -> list[str]:
    """The rules with findings in the whole file."""
    return [group["rule"] for group in served.get("/api/validate").json()["rules"]]


def found_in(served: Served, number: int) -> list[str]:
    return [finding["rule"] for finding in served.sentence(number)["findings"]]


@pytest.mark.parametrize("is_project", [False, True])
def test_findings_use_the_language_data_beside_the_treebank(file: Path, is_project: bool) -> None:
    (file.parent / "arcwise-language.toml").write_text(LANGUAGE, "utf-8")
    with serving(open_session(file.parent if is_project else file)) as served:
        answer = served.get("/api/validate?rule=aux-lemma").json()
        assert [(f["sent_id"], f["row"]) for f in answer["findings"]] == [("two", "2")]
        assert answer["language"] == {"file": "arcwise-language.toml", "error": None}
        assert "aux-lemma" in found_in(served, 1)
        served.set(1, "2", lemma="be")
        assert "aux-lemma" not in [*rules(served), *found_in(served, 1)]


def test_language_data_that_are_edited_count_at_once(file: Path) -> None:
    path = file.parent / "arcwise-language.toml"
    with serving(open_session(file)) as served:
        assert served.get("/api/validate").json()["language"] is None
        assert "aux-lemma" not in rules(served)
        path.write_text(LANGUAGE, "utf-8")
        assert "aux-lemma" in found_in(served, 1)
        assert "aux-lemma" in rules(served)
        path.write_text('auxiliaries = ["be", "do"]\n', "utf-8")
        assert "aux-lemma" not in [*rules(served), *found_in(served, 1)]


def test_language_data_that_cannot_be_read_are_reported_and_annotation_goes_on(file: Path) -> None:
    path = file.parent / "arcwise-language.toml"
    path.write_text("auxiliaries = 3\n", "utf-8")
    with serving(open_session(file)) as served:
        answer = served.get("/api/validate").json()
        assert answer["language"]["error"] == f"{path}: auxiliaries: found 3, expected a list of strings"
        assert answer["ready"] is True
        assert served.set(1, "2", lemma="be").status == 200


@pytest.mark.process
def test_a_child_process_uses_the_language_data_too(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("arcwise.annotation.background_job.AT_ONCE", 0)
    (file.parent / "arcwise-language.toml").write_text(LANGUAGE, "utf-8")
    with serving(open_session(file)) as served:

        def answer() -> Any:
            page = served.get("/api/validate?rule=aux-lemma").json()
            return page if page["ready"] else None

        assert until(answer)["total"] == 1
