"""``arcwise search`` through the command line."""

import json
from pathlib import Path

import pytest

from arcwise import Treebank
from arcwise.cli.main import run
from treebanks.samples import ALL, PARTIAL, PLAIN

Output = pytest.CaptureFixture[str]


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "sample.conllu"
    path.write_text(ALL)
    return path


def test_hits_as_text(sample: Path, capsys: Output) -> None:
    assert run(["search", "upos=VERB > nsubj", str(sample)]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{sample}:3 (one): [2:Birds] [1:sing] .",
        f"{sample}:24 (three): [2:猫] が [1:寝る]",
    ]
    assert run(["search", "upos=PUNCT", str(sample), "--max-hits", "1"]) == 0
    assert capsys.readouterr().out == f"{sample}:5 (one): Birds sing [.]\n"
    assert run(["search", "sentence length>3", str(sample)]) == 0
    assert capsys.readouterr().out == f"{sample}:10 (two): Vamos nos a el río y tú no .\n"


def test_lines_are_right_in_files_searched_in_pieces(
    sample: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    from arcwise.cli._support import search_output

    query = ["search", "upos=NOUN|VERB", str(sample)]
    assert run(query) == 0
    whole = capsys.readouterr().out
    text = ALL.splitlines()
    for line in whole.splitlines():
        number = int(line.removeprefix(f"{sample}:").split()[0])
        assert text[number - 1].split("\t")[1] in line.split("[")[1]
    monkeypatch.setattr(search_output, "_BATCH", 50)
    assert run(query) == 0
    assert capsys.readouterr().out == whole


def test_no_hits_is_no_error(sample: Path, capsys: Output) -> None:
    for query, said in [
        ("upos=Verb", "no hits; upos=Verb does not occur, VERB does\n"),
        ("upos=VERB > subj", "no hits; deprel=subj does not occur, nsubj does\n"),
        ("[upos=VERB !> xyz] > nsubj feats.Case=Dat", "no hits; feats.Case=Dat does not occur\n"),
        ("upos=PUNCT > []", "no hits\n"),
    ]:
        assert run(["search", query, str(sample)]) == 0
        found = capsys.readouterr()
        assert (found.out, found.err) == ("", said)


def test_hits_as_json(sample: Path, capsys: Output) -> None:
    assert run(["search", "@v[upos=VERB] > nsubj @s", str(sample), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["query"] == "@v[upos=VERB] > nsubj @s"
    assert found["hits"][0] == {
        "file": str(sample),
        "line": 3,
        "sentence": 1,
        "sent_id": "one",
        "text": "Birds sing.",
        "words": {"v": {"id": 2, "form": "sing"}, "s": {"id": 1, "form": "Birds"}},
    }
    assert found["hits"][1]["sentence"] == 3


def test_counts(sample: Path, tmp_path: Path, capsys: Output) -> None:
    assert run(["search", "upos=PRON|VERB", str(sample), "--count"]) == 0
    assert capsys.readouterr().out == "5 hits in 3 sentences\n"
    other = tmp_path / "other.conllu"
    other.write_text(PLAIN)
    assert run(["search", "upos=VERB", str(sample), str(other), "--count"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{sample}: 3 hits in 3 sentences",
        f"{other}: 1 hit in 1 sentence",
        "all: 4 hits in 4 sentences",
    ]
    assert run(["search", "upos=VERB", str(other), "--count", "--json"]) == 0
    files = json.loads(capsys.readouterr().out)["files"]
    assert files == [{"file": str(other), "hits": 1, "sentences": 1}]


def test_tables(sample: Path, capsys: Output) -> None:
    assert run(["search", "[] > punct", str(sample), "--table", "2.form,upos"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "hits      %  2.form  1.upos",
        "   2  100.0  .       VERB",
    ]
    assert run(["search", "upos=NOUN", str(sample), "--table", "lemma", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == [
        {"hits": 1, "values": {"1.lemma": "_"}},
        {"hits": 1, "values": {"1.lemma": "bird"}},
        {"hits": 1, "values": {"1.lemma": "río"}},
    ]
    assert run(["search", "upos=SYM", str(sample), "--table", "lemma"]) == 0
    assert capsys.readouterr().out == "hits  %  1.lemma\n"


def test_sentences(sample: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.conllu"
    assert run(["search", "upos=NOUN .. []", str(sample), "--conllu", "-o", str(out)]) == 0
    assert out.read_text() == ALL
    assert run(["search", "upos=NOUN form~猫", str(sample), "--conllu", "-o", str(out)]) == 0
    assert out.read_text() == PARTIAL


def test_set_writes_another_file(sample: Path, tmp_path: Path, capsys: Output) -> None:
    out = tmp_path / "out.conllu.gz"
    arguments = ["search", "upos=VERB > nsubj", str(sample), "--set", "2.deprel=subj; 2.feats.Case=Nom"]
    assert run([*arguments, "-o", str(out)]) == 0
    assert capsys.readouterr().err == "4 fields of 2 sentences changed\n"
    expected = ALL.replace("Number=Plur\t2\tnsubj\t", "Case=Nom|Number=Plur\t2\tsubj\t").replace(
        "_\t3\tnsubj\t", "Case=Nom\t3\tsubj\t"
    )
    expected = expected.replace("2\tsubj\t2:nsubj", "2\tsubj\t2:subj")  # the same arc in DEPS follows
    assert Treebank.read(out).text == expected
    assert sample.read_text() == ALL
    assert run([*arguments, "-o", str(sample)]) == 2
    assert "is an input too" in capsys.readouterr().err
    assert sample.read_text() == ALL


def test_set_goes_to_standard_output(sample: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert run(["search", "lemma=bird", str(sample), "--set", "lemma=Bird"]) == 0
    assert capfdbinary.readouterr().out == ALL.replace("\tbird\t", "\tBird\t").encode()


def test_preview_writes_nothing(sample: Path, tmp_path: Path, capsys: Output) -> None:
    out = tmp_path / "out.conllu"
    arguments = ["search", "upos=VERB > nsubj", str(sample), "--preview", "-o", str(out), "--set"]
    assert run([*arguments, "2.deprel=subj"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{sample}:3 (one): Birds sing.",
        "  1 Birds  deprel: nsubj → subj",
        f"{sample}:24 (three): 猫 が 寝る",
        "  1 猫  deprel: nsubj → subj",
        "2 fields of 2 sentences would change",
    ]
    assert run([*arguments, "head=@2"]) == 0
    assert "  skipped: words 1 -> 2 -> 1 would form a cycle\n" in capsys.readouterr().out
    assert not out.exists()


def test_what_is_left_out_is_told(sample: Path, tmp_path: Path, capsys: Output) -> None:
    out = tmp_path / "out.conllu"
    assert run(["search", "upos=VERB > nsubj", str(sample), "--set", "head=@2", "-o", str(out)]) == 0
    assert capsys.readouterr().err.splitlines() == [
        f"skipped: {sample}:3 (one): words 1 -> 2 -> 1 would form a cycle",
        f"skipped: {sample}:24 (three): words 1 -> 3 -> 1 would form a cycle",
        "0 fields of 0 sentences changed",
    ]
    assert out.read_text() == ALL
    many = tmp_path / "many.conllu"
    many.write_text(PLAIN * 12)
    assert run(["search", "upos=VERB > nsubj", str(many), "--set", "head=@2", "-o", str(out)]) == 0
    assert capsys.readouterr().err.splitlines()[-2] == "skipped: 2 more (--preview shows all)"


@pytest.mark.parametrize(
    "arguments, said",
    [
        (["upos="], "query, character 6: unexpected end; expected a value"),
        (["upos=X", "--set", "upos"], "changes, character 5: unexpected end; expected '=' after upos"),
        (["upos=X", "--table", "pos"], "table, character 1: unexpected 'pos'; did you mean 'upos'?"),
        (["upos=X", "--count", "--conllu"], "--count: cannot be combined with --conllu"),
        (["upos=X", "--table", "upos", "--set", "upos=Y"], "--table: cannot be combined with --set"),
        (["upos=X", "--json", "--conllu"], "--json: cannot be combined with --conllu"),
        (["upos=X", "--preview"], "--preview: needs --set"),
        (["upos=X", "--output", "o"], "--output: needs --set or --conllu (found o)"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line(
    arguments: list[str],
    said: str,
    sample: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Output,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run(["search", *arguments, str(sample)]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.startswith(f"arcwise: {said}")
    assert found.err.count("\n") == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["sample.conllu"]


def test_set_takes_one_file(sample: Path, capsys: Output) -> None:
    assert run(["search", "upos=X", str(sample), str(sample), "--set", "upos=Y"]) == 2
    assert capsys.readouterr().err == "arcwise: --set: found 2 files, expected one\n"


def test_a_broken_file_leaves_nothing_half_written(tmp_path: Path, capsys: Output) -> None:
    bad, out = tmp_path / "bad.conllu", tmp_path / "out.conllu"
    bad.write_text(PLAIN + "1\tx\n\n")
    assert run(["search", "upos=VERB", str(bad), "--set", "upos=X", "-o", str(out)]) == 2
    assert "expected 10" in capsys.readouterr().err
    assert not out.exists()


def test_control_characters_do_not_reach_the_terminal(tmp_path: Path, capsys: Output) -> None:
    path = tmp_path / "a.conllu"
    path.write_text("# sent_id = \x1b[2J\n1\t\x1b[2J\tl\tX\t_\t_\t0\troot\t_\t_\n\n")
    for more in ([], ["--table", "form"], ["--set", "upos=Y", "--preview"]):
        assert run(["search", "upos=X", str(path), *more]) == 0
        assert "\x1b" not in capsys.readouterr().out
