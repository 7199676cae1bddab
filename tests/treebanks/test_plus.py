"""CoNLL-U Plus: the columns it names are read, others are kept in MISC, and other commands say what it is."""

from __future__ import annotations

from pathlib import Path

import pytest

from arcwise import InputError, Treebank
from arcwise.annotation.comparison import FileComparison
from arcwise.annotation.document import AnnotationDocument
from arcwise.cli.main import run
from arcwise.treebanks import stream

PLUS = """\
# global.columns = ID FORM UPOS HEAD DEPREL MISC PARSEME:MWE
# sent_id = a
1\tShe\tPRON\t2\tnsubj\t_\t*
2\tgave\tVERB\t0\troot\tGloss=x\t1:VPC.full
3\tup\tADP\t2\tcompound:prt\tSpaceAfter=No\t1|2

1-2\tzum\t_\t_\t_\t_\t*
1\tzu\tADP\t0\troot\t_\t_
2\tdem\tDET\t1\tdet\t_\t*
"""


@pytest.fixture
def plus(tmp_path: Path) -> Path:
    path = tmp_path / "words.conllup"
    path.write_text(PLUS)
    return path


def test_conllu_plus_is_converted_and_its_other_columns_go_to_misc(plus: Path, tmp_path: Path) -> None:
    output = tmp_path / "out.conllu"
    assert run(["convert", str(plus), "--from", "conllup", "--to", "conllu", "-o", str(output)]) == 0
    treebank = Treebank.read(output)
    assert treebank[0].sent_id == "a"
    assert treebank[0].forms == ["She", "gave", "up"]
    assert treebank[0].heads.tolist() == [-1, 2, 0, 2]
    assert treebank[0].misc == ["_", "Gloss=x|PARSEME:MWE=1:VPC.full", r"SpaceAfter=No|PARSEME:MWE=1\p2"]
    assert treebank[1].rows[0][:2] == ("1-2", "zum")
    assert len(treebank[1]) == 2


def test_other_commands_say_that_it_is_conllu_plus(plus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (
        ["validate"],
        ["validate", "--level", "ud"],
        ["stats"],
        ["search", "upos=VERB"],
        ["show"],
        ["evaluate", str(plus)],
        ["diff", str(plus)],
        ["merge", str(plus), str(plus)],
    ):
        assert run([*command, str(plus)]) == 2
        message = capsys.readouterr().err
        assert (
            "is CoNLL-U Plus with the columns ID FORM UPOS HEAD DEPREL MISC PARSEME:MWE; convert it"
            in message
        )
        assert message.count("\n") == 1
    with pytest.raises(InputError, match="is CoNLL-U Plus"):
        list(stream(plus))


def test_the_annotation_editor_says_that_it_is_conllu_plus(plus: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is CoNLL-U Plus with the columns ID FORM"):
        AnnotationDocument.open(plus)
    assert [path.name for path in tmp_path.iterdir()] == [plus.name]  # no journal is left
    conllu = tmp_path / "a.conllu"
    conllu.write_text("1\tHi\t_\tX\t_\t_\t0\troot\t_\t_\n\n")
    with AnnotationDocument.open(conllu) as document:
        with pytest.raises(InputError, match="is CoNLL-U Plus with the columns ID FORM"):
            FileComparison.read(document, plus)


def test_global_columns_of_conllu_itself_are_a_comment(tmp_path: Path) -> None:
    path = tmp_path / "ten.conllu"
    names = "ID FORM LEMMA UPOS XPOS FEATS HEAD DEPREL DEPS MISC"
    path.write_text(f"# global.columns = {names}\n1\tHi\t_\tX\t_\t_\t0\troot\t_\t_\n\n")
    assert Treebank.read(path)[0].forms == ["Hi"]


@pytest.mark.parametrize(
    "text, message",
    [
        ("1\ta\n\n", "words.conllup:1: expected CoNLL-U Plus"),
        ("# global.columns = ID LEMMA\n1\ta\n\n", "must name FORM"),
        ("# global.columns = ID FORM FORM\n1\ta\ta\n\n", "every column once"),
        ("# global.columns = ID FORM\n1\ta\tb\n\n", "words.conllup:2: found 3 columns, expected 2"),
    ],
)
def test_bad_plus_files_are_one_line(
    text: str, message: str, plus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plus.write_text(text)
    assert run(["convert", str(plus), "--from", "conllup", "--to", "conllu", "-o", str(tmp_path / "o")]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "o").exists()


def test_conllu_plus_cannot_be_written(plus: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["convert", str(plus), "--from", "conllup", "--to", "conllup"]) == 2
    assert "--to: found 'conllup', expected one of conllu, conllx, words" in capsys.readouterr().err
