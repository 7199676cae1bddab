"""``arcwise projectivise``, end to end."""

from pathlib import Path

import pytest

from arcwise import Treebank
from arcwise.cli.main import run
from arcwise.trees import tree_properties

CROSSING = """# sent_id = a
# text = so ja doch
1	so	_	_	_	_	3	dep	_	SpaceAfter=Yes
2	ja	_	_	_	_	0	root	_	_
2.1	nun	_	_	_	_	_	_	_	_
3	doch	_	_	_	_	2	obj	_	_

"""
PLAIN = "1\tja\t_\t_\t_\t_\t0\troot\t_\t_\n\n"


def test_changed_heads_are_counted_and_nothing_else_changes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "in.conllu", tmp_path / "out.conllu"
    source.write_text(PLAIN + CROSSING + PLAIN)
    assert run(["projectivise", str(source), "--output", str(target)]) == 0
    assert target.read_text() == PLAIN + CROSSING.replace("\t3\tdep", "\t2\tdep") + PLAIN
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "1 of 5 heads changed (20.00%), in 1 of 3 trees (33.33%)\n"


def test_a_projective_file_comes_out_as_it_is(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    source = tmp_path / "in.conllu"
    source.write_bytes(PLAIN.replace("\n", "\r\n").encode())
    assert run(["projectivise", str(source)]) == 0
    assert capsysbinary.readouterr().out == source.read_bytes()


def test_an_unknown_head_is_named_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "in.conllu", tmp_path / "out.conllu"
    source.write_text(PLAIN + CROSSING.replace("\t0\troot", "\t_\troot"))
    assert run(["projectivise", str(source), "-o", str(target)]) == 2
    assert "in.conllu (a): the head of word 2 is unknown" in capsys.readouterr().err
    assert not target.exists()


@pytest.mark.treebanks
def test_a_real_treebank(treebanks: Path, tmp_path: Path) -> None:
    source = treebanks / "Hungarian-Szeged" / "dev.conllu.xz"
    target = tmp_path / "out.conllu.gz"
    assert run(["projectivise", str(source), "-o", str(target), "--threads", "2"]) == 0
    before, after = Treebank.read(source), Treebank.read(target)
    assert not tree_properties(after.heads, after.sentence_words).gap_degree.any()
    assert before.annotate(heads=after.heads).data == after.data
