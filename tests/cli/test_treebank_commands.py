"""``arcwise validate``, ``convert`` and ``split`` through the command line."""

from pathlib import Path

import pytest

from arcwise import Treebank
from arcwise.cli.main import run
from treebanks.samples import ALL, PLAIN, RICH


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "sample.conllu"
    path.write_text(ALL)
    return path


def test_validate(sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", str(sample)]) == 0
    bad = tmp_path / "bad.conllu"
    bad.write_text(ALL.replace("\t2\tnsubj\t", "\tx\tnsubj\t") + ALL.replace("1\tBirds", "1 Birds"))
    capsys.readouterr()
    assert run(["validate", str(bad)]) == 1
    found = capsys.readouterr().out.splitlines()
    assert found[0] == f"{bad}:3 (one): HEAD 'x' is neither a number nor _"
    assert len(found) > 1
    assert run(["validate", "--max-errors", "1", str(bad)]) == 1
    assert len(capsys.readouterr().out.splitlines()) == 1
    assert run(["validate", str(tmp_path / "missing")]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_convert_to_conllx_and_back(sample: Path, tmp_path: Path) -> None:
    conllx, back = tmp_path / "a.conllx", tmp_path / "back.conllu.gz"
    assert run(["convert", str(sample), "--to", "conllx", "-o", str(conllx)]) == 0
    text = conllx.read_text()
    assert "#" not in text
    assert "1-2" not in text
    assert "8.1" not in text
    assert all(line.endswith("\t_\t_") for line in text.splitlines() if line)
    assert run(["convert", str(conllx), "--from", "conllx", "--to", "conllu", "-o", str(back)]) == 0
    original, returned = Treebank.read(sample), Treebank.read(back)
    for column in ("form", "lemma", "upos", "xpos", "feats", "head", "deprel"):
        assert original.column(column) == returned.column(column)


def test_predicted_heads_of_conllx_are_kept(
    tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    path = tmp_path / "a.conllx"
    path.write_text("1\tw\t_\tN\tN\t_\t0\troot\t2\tobj\n\n")
    assert run(["convert", str(path), "--from", "conllx", "--to", "conllu"]) == 0
    assert capfdbinary.readouterr().out == b"1\tw\t_\tN\tN\t_\t0\troot\t_\tPHead=2|PDeprel=obj\n\n"


def test_convert_words(sample: Path, tmp_path: Path) -> None:
    words, back = tmp_path / "words.tsv", tmp_path / "back.conllu"
    assert run(["convert", str(sample), "--to", "words", "--columns", "form,upos", "-o", str(words)]) == 0
    assert words.read_text().startswith("Birds\tNOUN\nsing\tVERB\n.\tPUNCT\n\nVamos\tVERB\n")
    assert (
        run(
            [
                "convert",
                str(words),
                "--from",
                "words",
                "--columns",
                "form,upos",
                "--to",
                "conllu",
                "-o",
                str(back),
            ]
        )
        == 0
    )
    assert Treebank.read(back).column("upos") == Treebank.read(sample).column("upos")


def test_convert_conllu_to_conllu_is_the_same(sample: Path, tmp_path: Path) -> None:
    assert run(["convert", str(sample), "--to", "conllu", "-o", str(tmp_path / "same.conllu")]) == 0
    assert (tmp_path / "same.conllu").read_text() == ALL


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--to", "xml"], "--to: found 'xml', expected one of conllu, conllx, words"),
        (["--to", "words", "--columns", "forms"], "column: found 'forms', expected one of"),
        (
            ["--from", "words", "--columns", "form,upos", "--to", "conllu"],
            "found 1 columns, expected 2 (form, upos)",
        ),
    ],
)
def test_convert_bad_input(
    arguments: list[str], message: str, sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "out"
    assert run(["convert", str(sample), *arguments, "-o", str(target)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not target.exists()


@pytest.mark.parametrize("seed", [[], ["--seed", "4"]])
@pytest.mark.parametrize("by", ["sentence", "document"])
def test_split_puts_every_sentence_in_one_part(seed: list[str], by: str, tmp_path: Path) -> None:
    path, folder = tmp_path / "all.conllu", tmp_path / "parts"
    documents = [
        "".join(
            RICH.replace("two", f"d{d}s{s}") if s == 0 else PLAIN.replace("one", f"d{d}s{s}")
            for s in range(4)
        )
        for d in range(20)
    ]
    path.write_text("".join(documents))
    assert run(["split", str(path), str(folder), "--by", by, *seed]) == 0
    parts = {p.stem: Treebank.read(p) for p in folder.iterdir()}
    assert set(parts) == {"train", "dev", "test"}
    ids = {name: [s.sent_id for s in part] for name, part in parts.items()}
    assert sorted(i for part in ids.values() for i in part) == sorted(s.sent_id for s in Treebank.read(path))
    share = parts["train"].word_count / Treebank.read(path).word_count
    assert 0.7 < share < 0.9
    if by == "document":
        homes = [{str(i).split("s")[0] for i in part} for part in ids.values()]
        assert not homes[0] & homes[1]
        assert not homes[0] & homes[2]
        assert not homes[1] & homes[2]
    again = tmp_path / "again"
    assert run(["split", str(path), str(again), "--by", by, *seed]) == 0
    assert all((again / f"{name}.conllu").read_bytes() == part.data for name, part in parts.items())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--parts", "train"], "--parts: found 'train', expected NAME=SHARE"),
        (["--parts", "a=1"], "found 1 part, expected at least 2"),
        (["--parts", "a=1,b=-1"], "found -1.0 for 'b', expected a number above 0"),
        (["--parts", "a=1,../b=1"], "expected a file name without extension"),
        (["--by", "page"], "--by: found 'page', expected sentence or document"),
        (["--by", "document", "--parts", "a=1,b=1,c=1,d=1"], "found 2 documents, expected at least 4"),
    ],
)
def test_split_bad_input(
    arguments: list[str], message: str, sample: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["split", str(sample), str(tmp_path / "parts"), *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "parts").exists()


def test_help_lists_every_command_and_each_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    from arcwise.cli.main import COMMANDS

    assert run(["--help"]) == 0
    listed = capsys.readouterr().out
    for name in (name for section in COMMANDS.values() for name in section):
        assert name in listed
        assert run([*name.split(), "--help"]) == 0
        assert "Usage: arcwise" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments", [["nonsense"], ["validate"], ["validate", "--nonsense", "x"], ["split", "x"]]
)
def test_wrong_usage_is_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(arguments) == 2
    error = capsys.readouterr().err
    assert error.startswith("arcwise")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    "command", ["parse {} --model en", "parse --model {}", "parse --text x -o {}", "info {}"]
)
def test_a_name_that_is_too_long_is_one_line(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(command.format(300 * "x").split()) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
