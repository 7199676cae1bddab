"""Text pasted into the page: the model's tokenizer cuts it, and sentences are added anywhere."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette", reason="needs starlette")

from arcwise.annotation.pasted_text import sentences_from_text
from arcwise.errors import InputError
from arcwise.treebanks import Treebank
from web.served import Served, open_session, serving

TEXT = "I can't see the U.S. from here.\n\n  Don't   ask!  "


@functools.cache
def shipped() -> Any:
    from arcwise.models.registry import open_model

    return open_model("en-fast")


def forms(served: Served, number: int) -> list[str]:
    return [row["form"] for row in served.sentence(number)["rows"] if row["kind"] == "word"]


@pytest.mark.slow
def test_pasted_text_is_cut_as_parse_cuts_it(file: Path, tmp_path: Path) -> None:
    from arcwise.cli.main import run

    (tmp_path / "text.txt").write_text(TEXT, "utf-8")
    parsed = tmp_path / "parsed.conllu"
    command = ["parse", tmp_path / "text.txt", "--format", "lines", "--model", "en-fast", "-o", parsed]
    assert run([str(word) for word in command]) == 0
    expected = [(s.forms, [row[0] for row in s.rows]) for s in Treebank.read(parsed)]
    with serving(open_session(file, model=shipped())) as served:
        answer = served.post("/api/insert", {"text": TEXT}).json()
        assert answer == {"number": 3, "sentences": 5, "tokenizer": "small"}
        made = [(forms(served, n), [r["id"] for r in served.sentence(n)["rows"]]) for n in (3, 4)]
        assert made == expected
        assert forms(served, 3)[1:3] == ["ca", "n't"]
        assert served.sentence(4)["text"] == "Don't ask!"
        rows = served.sentence(4)["rows"]
        assert all(row["head"] == row["upos"] == "_" for row in rows)  # words only: nothing is annotated
        assert [row["misc"] for row in rows] == ["_", "_", "_", "SpaceAfter=No", "_"]


def test_without_a_tokenizer_the_answer_says_so(served: Served) -> None:
    answer = served.post("/api/insert", {"before": 0, "text": "Don't go, Anna!\nनमस्ते दुनिया।"}).json()
    assert answer == {"number": 0, "sentences": 5, "tokenizer": None}
    assert forms(served, 0) == ["Don't", "go", ",", "Anna", "!"]
    assert forms(served, 1) == ["नमस्ते", "दुनिया", "।"]
    for wrong in ({"text": " \n"}, {"text": "a", "conllu": "b"}, {}):
        assert served.post("/api/insert", wrong).status == 400


def test_pasted_sentences_get_ids_of_their_own() -> None:
    existing = b"# sent_id = s7\n1\ta\t_\t_\t_\t_\t_\t_\t_\t_\n\n# sent_id = x9\n"
    made = Treebank(sentences_from_text("One.\nTwo.", None, existing))
    assert [sentence.sent_id for sentence in made] == ["s8", "s9"]
    with pytest.raises(InputError, match="one sentence per line"):
        sentences_from_text("\n \n", None, b"")
