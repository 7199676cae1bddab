"""Files and requests that took all memory or froze ``arcwise annotate``, against a real process."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

pytest.importorskip("uvicorn", reason="needs uvicorn")

from web.asgi_client import Answer
from web.attack import attack_editor
from web.served import ROWS, Process, process

pytestmark = [pytest.mark.process, pytest.mark.slow]
WORDS = ("the", "dog", "sees", "birds", "in", "trees", "and", "a", "man", "who", "likes", ",", "near", "old")


def long_sentence(n: int) -> str:
    chosen = random.Random(n)
    rows = (f"{i}\t{chosen.choice(WORDS)}" + 8 * "\t_" + "\n" for i in range(1, n + 1))
    return "".join(rows) + "\n"


def test_long_sentences_are_suggested_in_pieces(tmp_path: Path) -> None:
    """2,000 words took 3.6 GB and 42 seconds, 6,000 a MemoryError."""
    file = tmp_path / "long.conllu"
    file.write_text(ROWS + long_sentence(2000) + long_sentence(6000))
    with process(file, "--model", "en") as served:
        for number, n in ((3, 2000), (4, 6000)):
            opened = attack_editor(served, lambda number=number: served.get(f"/api/sentence/{number}"))
            thoughts = opened.json()["thoughts"]
            assert thoughts["note"].startswith(f"{n} words, more than 500: suggested in pieces, consistent")
            assert len(thoughts["words"]) == n
            assert sum(word["head"] == 0 for word in thoughts["words"].values()) == 1
        assert served.set(3, "7", head="1999", deprel="obj").status == 200
        thoughts = attack_editor(served, lambda: served.get("/api/sentence/3")).json()["thoughts"]
        assert thoughts["note"].endswith("suggested in pieces, regardless of the annotation")
        assert (thoughts["words"]["7"]["head"], thoughts["words"]["7"]["label"]) == (1999, "obj")


@pytest.mark.parametrize("words", [101, 50_000, 100_000])
def test_a_split_into_many_words_is_refused(words: int, tmp_path: Path) -> None:
    """The sentence could not be opened again."""
    file = tmp_path / "a.conllu"
    file.write_text(ROWS)
    with process(file) as served:
        before = served.sentence(2)
        split = {"kind": "split-word", "row": "1", "forms": ["a"] * words}
        edits = {"version": before["version"], "edits": [split]}
        answer = attack_editor(served, lambda: served.post("/api/sentence/2/edits", edits))
        assert (answer.status, answer.json()["error"]) == (
            400,
            f"sentence 3: forms: found {words} words, expected at most 100",
        )
        assert served.sentence(2) == before


def searched(served: Process, query: str) -> Answer:
    """The answer to a search."""
    return attack_editor(served, lambda: served.post("/api/search", {"query": query}))


def test_regular_expressions_do_not_freeze_the_editor(tmp_path: Path) -> None:
    """Backtracking over words of a's that end in b took longer than anybody waits."""
    file = tmp_path / "a.conllu"
    words = ["a" * n + "b" for n in range(20, 220)] + ["a" * 100_000 + "b", "a" * 40]
    file.write_text("".join(f"1\t{word}\t_\tX\t_\t_\t0\troot\t_\t_\n\n" for word in words))
    with process(file) as served:
        for expression in ("^(a+)+$", "^(a|a)*$", "^(a*)*$", "^(a?){30}a{30}$", "(a|aa)+$"):
            answer = searched(served, f'form~"{expression}"')
            assert (answer.status, answer.json()["total"]) == (200, 1), expression
            assert answer.json()["hits"][0]["sentence"] == len(words) - 1
        # Backreferences have no linear algorithm: the search is stopped, and says so.
        refused = searched(served, r'form~"^(a+)+\1\1$"')
        assert refused.status == 400
        assert "steps" in refused.json()["error"]
        assert served.set(0, "1", upos="NOUN").status == 200


def test_searches_of_a_long_sentence_take_little_memory(tmp_path: Path) -> None:
    """A million hits, each an object, took 800 MB, and every further search as much again."""
    file = tmp_path / "long.conllu"
    file.write_text(long_sentence(3000))
    with process(file) as served:
        for query in ("@a[];@b[];@c[]", "@a[];@b[]", "@a[];@b[]; or @b[];@a[upos=X]"):
            refused = searched(served, query)
            assert (refused.status, refused.json()["error"]) == (
                400,
                "query: more than 1,000,000 hits; make it more specific",
            )
        edit = {"query": "@a[];@b[]", "changes": "a.xpos=N"}
        refused = attack_editor(served, lambda: served.post("/api/mass-edit", edit))
        assert (refused.status, refused.json()["error"]) == (
            400,
            "query: more than 100,000 hits in sentence 1; make it more specific",
        )
        assert searched(served, 'form~"a{99999999999}"').status == 400
        assert searched(served, "[]").json()["total"] == 3000


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("feats", "|".join(f"f{i}=x" for i in range(16_000))),
        ("deps", "|".join(f"{i}:X" for i in range(500_000))),
    ],
)
def test_a_very_long_field_is_shown_with_few_findings(column: str, value: str, tmp_path: Path) -> None:
    """Each of a hundred findings had the field in its suggested fix; sorting the arcs stopped the server."""
    file = tmp_path / "field.conllu"
    feats, deps = (value if column == name else "_" for name in ("feats", "deps"))
    file.write_text(ROWS + f"1\tw\tw\tX\t_\t{feats}\t0\troot\t{deps}\t_\n\n")
    with process(file) as served:
        opened = attack_editor(served, lambda: served.get("/api/sentence/3"))
        assert 100 < len(opened.json()["findings"]) < 800
        assert len(opened.body) < len(value) + 300_000
