"""Trees for LaTeX: what tikz-dependency reads, and text that LaTeX prints as it is."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from arcwise import Sentence, Treebank
from arcwise.cli.main import run
from arcwise.visual import tikz
from arcwise.visual.tikz import escape_latex

SPECIAL = "\\{}$&#%_^~<>|[]"
ROWS = [
    "# sent_id = a%b",
    "# text = A & B -- ?",
    "1 A A NOUN _ _ 0 root _ _",
    "2 & and SYM _ _ 3 cc _ _",
    "3 B_1 B NOUN _ _ 1 conj:x_y _ _",
    "4 -- -- PUNCT _ _ _ _ _ _",
    "5 ? ? PUNCT _ _ 1 _ _ _",
    "",
    "1 Go go _ _ _ 0 root _ _",
    "",
    "",
]
TEXT = "\n".join(row if row.startswith("#") else row.replace(" ", "\t") for row in ROWS)
TREEBANK = Treebank.from_string(TEXT)


def test_words_tags_and_arcs() -> None:
    assert tikz(TREEBANK[0]).splitlines() == [
        r"\begin{dependency}",
        r"  \begin{deptext}[column sep=1em]",
        r"    A \& \symbol{38} \& B\_1 \& -{}- \& ? \\",
        r"    NOUN \& SYM \& NOUN \& PUNCT \& PUNCT \\",
        r"  \end{deptext}",
        r"  \deproot{1}{root}",
        r"  \depedge{3}{2}{cc}",
        r"  \depedge{1}{3}{conj:x\_y}",
        r"  \depedge{1}{5}{}",
        r"\end{dependency}",
    ]
    assert tikz(TREEBANK[1]).count("\\\\") == 1  # no tags, no row of tags


@pytest.mark.parametrize("character", SPECIAL)
def test_special_characters_are_escaped(character: str) -> None:
    escaped = escape_latex(f"a{character}b")
    # What is left without commands, escaped characters and groups has none of them.
    rest = re.sub(r"\\[A-Za-z]+(\{\d*\})?|\\[{}$#%_]|\{[\[\]]?\}", "", escaped)
    assert rest in ("ab", "a[b", "a]b")
    assert escaped.startswith("a")
    assert escaped.endswith("b")


def test_one_word_stays_one_cell_whatever_it_is() -> None:
    sentence = Sentence.from_words([SPECIAL, "&", "|x", "``a''", "a\x1bb", "naïve", "犬"])
    (row,) = [line for line in tikz(sentence).splitlines() if line.endswith(" \\\\")]
    assert row.count(r" \& ") == 6
    assert row.split(r" \& ")[2:] == [r"\textbar{}x", "`{}`a'{}'", "a\ufffdb", "naïve", "犬 \\\\"]


def test_the_command_writes_one_picture_per_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file, target = tmp_path / "a.conllu", tmp_path / "trees.tex"
    file.write_text(TEXT)
    assert run(["show", str(file), "--tikz", str(target), "-s", "all"]) == 0
    assert target.read_text() == ("% a%b: A & B -- ?\n" + tikz(TREEBANK[0]) + "\n% Go\n" + tikz(TREEBANK[1]))
    assert capsys.readouterr().out == ""
    assert run(["show", str(file), "--tikz", "-"]) == 0
    assert capsys.readouterr().out == "% a%b: A & B -- ?\n" + tikz(TREEBANK[0])


def test_nothing_is_written_for_bad_input(tmp_path: Path) -> None:
    file, target = tmp_path / "a.conllu", tmp_path / "trees.tex"
    file.write_text(TEXT)
    assert run(["show", str(file), "--tikz", str(target), "-s", "9"]) == 2
    assert run(["show", str(file), "--tikz", str(file)]) == 2
    assert not target.exists()
    assert file.read_text() == TEXT
