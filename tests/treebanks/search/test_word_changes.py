"""Mass edits that join, split or group words."""

from __future__ import annotations

from pathlib import Path

import pytest

from arcwise import Treebank
from arcwise.cli.main import run
from arcwise.treebanks.edits import JoinWords, MakeMultiword, SplitWord
from arcwise.treebanks.search import MassEdit, QueryError

ROWS = [
    "1 ca _ AUX _ _ 3 aux _ SpaceAfter=No",
    "2 n't _ PART _ _ 3 advmod _ _",
    "3 go _ VERB _ _ 0 root _ _",
    "4 wo _ AUX _ _ 6 aux _ SpaceAfter=No",
    "5 n't _ PART _ _ 6 advmod _ _",
    "6 stay _ VERB _ _ 3 conj _ _",
]


def treebank(rows: list[str] = ROWS) -> Treebank:
    return Treebank.from_string("\n".join(rows).replace(" ", "\t") + "\n\n")


def test_neighbours_are_joined_from_the_end() -> None:
    edit = MassEdit.parse('upos=AUX . form="n\'t"', "join")
    (plan,) = edit.plan(treebank())
    assert plan.edits == [JoinWords("4", "5"), JoinWords("1", "2")]
    joined = edit.apply(treebank())[0]
    assert joined.forms == ["can't", "go", "won't", "stay"]
    assert joined.heads.tolist() == [-1, 2, 0, 4, 2]


def test_multiword_tokens() -> None:
    grouped = MassEdit.parse('@a[upos=AUX] . @n[form="n\'t"]', "multiword @a @n").apply(treebank())
    assert [row[0] for row in grouped[0].rows] == ["1-2", "1", "2", "3", "4-5", "4", "5", "6"]
    assert MassEdit.parse("upos=AUX . upos=PART", "multiword").preview(treebank())
    assert next(iter(MassEdit.parse("upos=AUX . upos=PART", "multiword").plan(treebank()))).edits[0] == (
        MakeMultiword("4", "5")
    )


def test_words_are_split() -> None:
    edit = MassEdit.parse("form=stay", "split st ay")
    assert list(edit.preview(treebank())) == [(0, [SplitWord("6", ("st", "ay"))])]
    assert edit.apply(treebank())[0].forms[-2:] == ["st", "ay"]
    second = MassEdit.parse("upos=AUX . upos=PART", 'split 2 "n" "\'t"').apply(treebank())
    assert second[0].forms == ["ca", "n", "'t", "go", "wo", "n", "'t", "stay"]


def test_hits_that_overlap_or_are_apart_are_refused() -> None:
    rows = [f"{i} a _ X _ _ {i - 1} {'root' if i == 1 else 'dep'} _ _" for i in range(1, 5)]
    (plan,) = MassEdit.parse("form=a . form=a", "join").plan(treebank(rows))
    assert plan.edits == [JoinWords("3", "4"), JoinWords("1", "2")]
    assert [refused.reason for refused in plan.refused] == ["an earlier hit changes word 2"]
    (apart,) = MassEdit.parse("@a[form=ca] .. @b[form=go]", "join").plan(treebank())
    assert apart.edits == []
    assert apart.refused[0].reason == "words 1, 3 are not neighbours"


@pytest.mark.parametrize(
    "query, changes, message",
    [
        ("form=a", "join", "expected a query with two words or more"),
        ("form=a . form=b", "join 1 3", "unexpected"),
        ("form=a . form=b", "join; upos=X", "join is the only change of a mass edit"),
        ("form=a", "split one", "expected the forms of the parts"),
    ],
)
def test_mistakes_are_told(query: str, changes: str, message: str) -> None:
    with pytest.raises(QueryError, match=message):
        MassEdit.parse(query, changes)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, out = tmp_path / "a.conllu", tmp_path / "b.conllu"
    file.write_text(treebank().text)
    arguments = ["search", "upos=AUX . upos=PART", str(file), "--set", "join"]
    assert run([*arguments, "--preview"]) == 0
    shown = capsys.readouterr().out
    assert "4 wo to 5 n't  joined" in shown
    assert "2 hits of 1 sentence would change" in shown
    assert run([*arguments, "--output", str(out)]) == 0
    assert Treebank.read(out)[0].forms == ["can't", "go", "won't", "stay"]
