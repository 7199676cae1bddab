"""``arcwise diff`` and ``arcwise merge`` through the command line, and merge as git runs it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arcwise import Treebank
from arcwise.cli.main import run
from arcwise.treebanks.conflicts import records, resolved
from evaluation.samples import BIRDS, CONTRACTION, sentence

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "two-annotators.md"
Output = pytest.CaptureFixture[str]
OTHER = BIRDS.replace("6\tcase", "2\tdep").replace("3\tnsubj", "3\tobj")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def files(**contents: str) -> None:
    for name, text in contents.items():
        Path(f"{name}.conllu").write_bytes(text.encode())


# ---- diff


def test_the_same_file(here: Path, capsys: Output) -> None:
    files(a=BIRDS)
    assert run(["diff", "a.conllu", "a.conllu"]) == 0
    assert capsys.readouterr() == ("", "a.conllu, a.conllu: no difference\n")


def test_what_differs_is_printed(here: Path, capsys: Output) -> None:
    files(a=BIRDS + CONTRACTION, b=OTHER + CONTRACTION)
    assert run(["diff", "a.conllu", "b.conllu"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:5] == [
        "birds: The birds sing in the trees .",
        "  2  birds  DEPREL  A nsubj    B obj",
        "  4  in     HEAD    A 6 trees  B 2 birds",
        "  4  in     DEPREL  A case     B dep",
        "",
    ]
    assert "DEPREL            2" in lines
    assert "Agreement (2 sentences and 14 words in both)" in lines
    assert "\x1b" not in "".join(lines)
    assert run(["diff", "a.conllu", "b.conllu", "--color"]) == 1
    assert "\x1b[31mA nsubj  \x1b[0m  \x1b[32mB obj\x1b[0m" in capsys.readouterr().out


def test_some_columns(here: Path, capsys: Output) -> None:
    files(a=BIRDS, b=OTHER)
    assert run(["diff", "a.conllu", "b.conllu", "--columns", "upos, lemma"]) == 0
    assert run(["diff", "a.conllu", "b.conllu", "--columns", "HEAD"]) == 1
    assert "DEPREL" not in capsys.readouterr().out
    assert run(["diff", "a.conllu", "b.conllu", "--columns", "pos"]) == 2
    assert "columns: found 'pos', expected some of id, form" in capsys.readouterr().err


def test_json(here: Path, capsys: Output) -> None:
    files(a=BIRDS, b=OTHER + CONTRACTION)
    assert run(["diff", "a.conllu", "b.conllu", "--json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert found["totals"] == {"deprel": 2, "head": 1}
    assert [(s["a"], s["b"]) for s in found["sentences"]] == [(0, 0), (None, 1)]
    assert found["sentences"][0]["fields"][1] == {
        "row": "4",
        "column": "head",
        "a": "6",
        "b": "2",
        "form": "in",
        "row_b": "4",
    }
    assert found["agreement"]["uas"] == pytest.approx(6 / 7)
    assert found["agreement"]["label_pairs"][0] == {"a": "case", "b": "dep", "count": 1}


def test_a_page(here: Path, capsys: Output) -> None:
    cycle = sentence("1 <script>x</script> _ _ _ _ 2 a", "2 b _ _ _ _ 1 b", sent_id="<b>")
    files(a=BIRDS + cycle.replace("1\tb", "0\tb"), b=OTHER + cycle + CONTRACTION)
    assert run(["diff", "a.conllu", "b.conllu", "--html", "page.html"]) == 1
    assert capsys.readouterr().out == ""
    page = Path("page.html").read_text()
    assert page.count("<svg") == 4
    assert page.count('class="shadow"') == 2 * 2 + 1
    assert page.count('text-decoration="underline"') == 2 * 2 + 1
    assert "form a cycle" in page
    assert "sentence missing" in page
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "http" not in page.replace("http://www.w3.org/2000/svg", "")


def test_broken_trees_are_compared_and_broken_rows_refused(here: Path, capsys: Output) -> None:
    files(a=BIRDS, b=BIRDS.replace("0\troot", "2\troot"), c=BIRDS.replace("sing\tsing", "sing sing"))
    assert run(["diff", "a.conllu", "b.conllu"]) == 1
    capsys.readouterr()
    for command in (["diff", "a.conllu", "c.conllu"], ["merge", "a.conllu", "b.conllu", "c.conllu"]):
        assert run(command) == 2
        told = capsys.readouterr()
        assert told.out == ""
        assert told.err == "arcwise: c.conllu:4 (birds): found 9 columns, expected 10 separated by tabs\n"


# ---- merge


def test_merge_without_conflicts(here: Path, capsys: Output) -> None:
    files(
        base=BIRDS + CONTRACTION, mine=OTHER + CONTRACTION, theirs=BIRDS + CONTRACTION.replace("nsubj", "obj")
    )
    assert run(["merge", "base.conllu", "mine.conllu", "theirs.conllu", "-o", "out.conllu"]) == 0
    assert Path("out.conllu").read_text() == OTHER + CONTRACTION.replace("nsubj", "obj")
    assert capsys.readouterr() == ("", "")
    assert run(["merge", "base.conllu", "mine.conllu", "theirs.conllu"]) == 0
    assert capsys.readouterr().out == Path("out.conllu").read_text()


def test_merge_with_conflicts(here: Path, capsys: Output) -> None:
    files(base=BIRDS, mine=OTHER, theirs=BIRDS.replace("3\tnsubj", "6\tnsubj"))
    assert run(["merge", "base.conllu", "mine.conllu", "theirs.conllu", "-o", "out.conllu"]) == 1
    assert capsys.readouterr().err.splitlines() == [
        "birds: word 2 HEAD: mine 3, theirs 6, base 3",
        "birds: word 2 DEPREL: mine obj, theirs nsubj, base nsubj",
        "2 conflicts, recorded in comments that start with '# conflict'",
    ]
    merged = Treebank.read("out.conllu")
    assert "# conflict = 2 head theirs=6\n# conflict = 2 deprel theirs=nsubj\n" in merged.text
    assert run(["validate", "out.conllu"]) == 0
    assert Path("mine.conllu").read_text() == OTHER


def test_validate_reports_the_conflicts_that_a_merge_left(here: Path, capsys: Output) -> None:
    files(base=BIRDS, mine=OTHER, theirs=BIRDS.replace("3\tnsubj", "6\tnsubj"))
    assert run(["merge", "base.conllu", "mine.conllu", "theirs.conllu", "-o", "out.conllu"]) == 1
    capsys.readouterr()
    assert run(["validate", "--level", "ud", "out.conllu"]) == 1
    conflicts = [line for line in capsys.readouterr().out.splitlines() if "[merge-conflict]" in line]
    assert conflicts == [  # at the comments that record them
        "out.conllu:2 (birds): HEAD: unresolved merge conflict; theirs: '6' [merge-conflict]",
        "out.conllu:3 (birds): DEPREL: unresolved merge conflict; theirs: 'nsubj' [merge-conflict]",
    ]


def test_merge_refuses_two_outputs_and_an_input_as_output(here: Path, capsys: Output) -> None:
    files(base=BIRDS, mine=OTHER, theirs=BIRDS)
    arguments = ["merge", "base.conllu", "mine.conllu", "theirs.conllu"]
    assert run([*arguments, "--git", "-o", "out.conllu"]) == 2
    assert "--git: cannot be combined with --output out.conllu" in capsys.readouterr().err
    assert run([*arguments, "fourth.conllu"]) == 2
    assert "fourth.conllu: is a fourth file" in capsys.readouterr().err
    assert run([*arguments, "-o", "mine.conllu"]) == 2
    assert "is an input too, expected a different output file" in capsys.readouterr().err
    assert not Path("out.conllu").exists()


# ---- in git


needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")


def git(*arguments: str, status: int = 0) -> str:
    settings = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "HOME": str(Path.cwd())}
    done = subprocess.run(
        ["git", "-c", "user.name=test", "-c", "user.email=test@localhost", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **settings},
    )
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def repository(here: Path) -> Path:
    """A repository that is set up as docs/how-to/two-annotators.md says."""
    git("init", "-q", "-b", "main")
    page = PAGE.read_text()
    lines = re.findall(r'^git (config \S+) "(.*)"$', page, re.MULTILINE)
    assert len(lines) == 2
    for key, value in lines:
        git(*key.split(), re.sub("^arcwise", f"{sys.executable} -m arcwise", value))
    Path(".gitattributes").write_text(re.search(r"^\*.*merge=.*\n", page, re.MULTILINE)[0])  # type: ignore[index]
    return here


def committed(text: str) -> None:
    files(t=text)
    git("add", "-A")
    git("commit", "-qm", "a version")


def two_branches(base: str, mine: str, theirs: str) -> None:
    """On branch main, with mine; theirs is on the branch theirs."""
    committed(base)
    git("checkout", "-qb", "theirs")
    committed(theirs)
    git("checkout", "-q", "main")
    committed(mine)


@needs_git
def test_git_merges_neighbouring_lines(repository: Path) -> None:
    mine, theirs = BIRDS.replace("3\tnsubj", "3\tobj"), BIRDS.replace("sing\tsing", "sing\tSING")
    two_branches(BIRDS, mine, theirs)
    git("merge", "-q", "--no-edit", "theirs")
    assert Path("t.conllu").read_text() == mine.replace("sing\tsing", "sing\tSING")
    assert git("status", "--porcelain") == ""
    Path(".gitattributes").write_text("")  # and git alone does not
    git("reset", "-q", "--hard", "HEAD~1")
    Path(".gitattributes").write_text("")
    git("commit", "-qam", "no driver")
    assert "CONFLICT" in git("merge", "--no-edit", "theirs", status=1)


@needs_git
def test_git_is_told_of_conflicts(repository: Path) -> None:
    mine, theirs = BIRDS.replace("3\tnsubj", "3\tobj"), BIRDS.replace("3\tnsubj", "3\tdep")
    two_branches(BIRDS + CONTRACTION, mine + CONTRACTION, theirs + CONTRACTION.replace("obl", "x"))
    said = git("merge", "--no-edit", "theirs", status=1)
    assert "t.conllu: birds: word 2 DEPREL: mine obj, theirs dep, base nsubj" in said
    assert "CONFLICT (content): Merge conflict in t.conllu" in said
    assert git("status", "--porcelain").startswith("UU t.conllu")
    merged = Treebank.read("t.conllu")
    assert [record.place for record in records(merged[0].source_bytes)] == ["2 deprel"]
    assert merged[1].source_bytes.decode() == CONTRACTION.replace("obl", "x")
    settled = resolved(merged[0].source_bytes, "2 deprel", "theirs") + merged[1].source_bytes
    assert settled.decode() == theirs + CONTRACTION.replace("obl", "x")


@needs_git
def test_git_with_a_file_that_both_added(repository: Path) -> None:
    git("add", "-A")
    git("commit", "-qm", "attributes")
    git("checkout", "-qb", "theirs")
    committed(BIRDS)
    git("checkout", "-q", "main")
    committed(BIRDS + CONTRACTION)
    git("merge", "-q", "--no-edit", "theirs")
    assert Path("t.conllu").read_text() == BIRDS + CONTRACTION


@needs_git
def test_git_with_a_broken_file_keeps_mine_and_does_not_call_it_merged(repository: Path) -> None:
    mine, theirs = BIRDS.replace("3\tnsubj", "3\tobj"), BIRDS.replace("sing\tsing", "sing sing")
    two_branches(BIRDS, mine, theirs)
    said = git("merge", "--no-edit", "theirs", status=1)
    assert "t.conllu (theirs):" in said
    assert "found 9 columns, expected 10" in said
    assert ".merge_file" not in said
    assert Path("t.conllu").read_text() == mine
    assert git("status", "--porcelain").startswith("UU t.conllu")
