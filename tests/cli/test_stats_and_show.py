"""``arcwise stats`` and ``arcwise show`` through the command line."""

import json
import sys
from importlib.resources import files
from pathlib import Path
from xml.etree import ElementTree

import pytest

from arcwise.cli.main import run
from arcwise.cli.stats import short_names

SAMPLE = str(files("arcwise") / "data" / "sample-gold.conllu")

Output = pytest.CaptureFixture[str]


def test_stats_as_a_table(capsys: Output) -> None:
    assert run(["stats", SAMPLE]) == 0
    rows = {line[:28].strip(): line.split()[-1] for line in capsys.readouterr().out.splitlines()[1:]}
    assert rows["sentences"] == "6"
    assert rows["words"] == "53"
    assert rows["% non-projective sentences"] == "16.7"


def test_stats_of_several_files_side_by_side(
    tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = []
    for name in ("a", "b", "c"):
        paths.append(tmp_path / f"{name * 20}.conllu")
        paths[-1].write_bytes(Path(SAMPLE).read_bytes())
    monkeypatch.setenv("COLUMNS", "80")
    assert run(["stats", *map(str, paths)]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 80
    assert [line.split() for line in out.splitlines() if "aaa" in line or "ccc" in line] == [
        ["a" * 20, "b" * 20],
        ["c" * 20],
    ]


def test_stats_as_json(capsys: Output) -> None:
    assert run(["stats", "--json", SAMPLE, SAMPLE]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [f["sentences"] for f in found] == [6, 6]
    assert found[0]["gap_degree"]["counts"] == {"0": 5, "1": 1}


@pytest.mark.parametrize("ending, start", [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
def test_stats_plot(tmp_path: Path, ending: str, start: bytes) -> None:
    target = tmp_path / f"plot.{ending}"
    assert run(["stats", SAMPLE, "--plot", str(target)]) == 0
    assert target.read_bytes().startswith(start)


def test_stats_plot_that_cannot_be(tmp_path: Path, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(["stats", SAMPLE, "--plot", str(tmp_path / "plot.doc")]) == 2
    assert "found the extension 'doc', expected one of png, svg, pdf" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert run(["stats", SAMPLE, "--plot", str(tmp_path / "plot.png")]) == 2
    captured = capsys.readouterr()
    assert "this needs matplotlib, which is not installed: " in captured.err
    assert captured.out == ""
    assert list(tmp_path.iterdir()) == []


def test_names_are_as_short_as_clear() -> None:
    assert short_names(["x/EWT/dev.conllu.xz", "x/GSD/dev.conllu"]) == ["EWT/dev", "GSD/dev"]
    assert short_names(["x/dev.conllu", "x/dev.conllu.gz"]) == ["dev.conllu", "dev.conllu.gz"]
    assert short_names(["-"]) == ["-"]


def test_show_draws_the_first_sentence(capsys: Output) -> None:
    assert run(["show", SAMPLE]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "1 (garden-1): The gardener planted three young trees behind the old house."
    assert lines[3] == " 3 ●─┼───► planted   VERB   root"
    assert len(lines) == 12
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize(
    "selection, numbers",
    [
        (["2"], [2]),
        (["2-3"], [2, 3]),
        (["5-"], [5, 6]),
        (["all"], [1, 2, 3, 4, 5, 6]),
        (["letter-1"], [2]),
        (["id:letter-1"], [2]),
        (["6", "garden-1"], [1, 6]),
        (["5-99"], [5, 6]),
    ],
)
def test_show_chosen_sentences(capsys: Output, selection: list[str], numbers: list[int]) -> None:
    assert run(["show", SAMPLE, *(f"--sentence={s}" for s in selection)]) == 0
    headings = [line for line in capsys.readouterr().out.splitlines() if "-1): " in line]
    assert [int(heading.split()[0]) for heading in headings] == numbers


@pytest.mark.parametrize(
    "selection, message",
    [
        ("7", "--sentence: found 7, expected 1..6 as"),
        ("0", "--sentence: found '0', expected a number from 1 or a range like 1-5"),
        ("3-2", "--sentence: found '3-2', expected a number from 1 or a range like 1-5"),
        ("nobody", "found no sentence with sent_id nobody"),
    ],
)
def test_show_sentences_that_are_not_there(capsys: Output, selection: str, message: str) -> None:
    assert run(["show", SAMPLE, "--sentence", selection]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_show_in_colour(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(["show", SAMPLE, "--color"]) == 0
    assert "\x1b[1m" in capsys.readouterr().out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    assert run(["show", SAMPLE]) == 0
    assert "\x1b[1m" in capsys.readouterr().out
    monkeypatch.setenv("NO_COLOR", "1")
    assert run(["show", SAMPLE]) == 0
    assert "\x1b" not in capsys.readouterr().out


def test_show_as_svg(tmp_path: Path, capsys: Output) -> None:
    target = tmp_path / "tree.svg"
    assert run(["show", SAMPLE, "-s", "letter-1", "--svg", str(target)]) == 0
    assert ElementTree.parse(target).getroot().tag.endswith("svg")
    assert capsys.readouterr().out == ""
    assert run(["show", SAMPLE, "-s", "1-2", "--svg", str(target)]) == 2
    assert "--svg: found 2 sentences, expected one" in capsys.readouterr().err


def test_show_as_a_page(tmp_path: Path) -> None:
    target = tmp_path / "trees.html"
    assert run(["show", SAMPLE, "--html", str(target)]) == 0
    assert target.read_text().count("<svg") == 6


def test_alternatives_of_words_that_are_not_there_are_not_shown(tmp_path: Path, capsys: Output) -> None:
    """``show`` ended with a traceback."""
    file = tmp_path / "a.conllu"
    file.write_text("1\ta\t_\t_\t_\t_\t0\troot\t_\tAlternatives=9999:x:2,0:root:0.9\n\n")
    for options in ([], ["--svg", "tree.svg"], ["--html", "trees.html"], ["--tikz", "trees.tex"]):
        target = [str(tmp_path / option) if "." in option else option for option in options]
        assert run(["show", str(file), *target]) == 0, options
        printed = capsys.readouterr()
        assert printed.err == ""
        assert "9999" not in printed.out + "".join(Path(name).read_text() for name in target[1:])


def test_nothing_is_left_half_written(tmp_path: Path, capsys: Output) -> None:
    broken = tmp_path / "broken.conllu"
    broken.write_text(Path(SAMPLE).read_text() + "1\tx\n\n")
    assert run(["show", str(broken), "--html", str(tmp_path / "out.html")]) == 2
    assert "broken.conllu:" in capsys.readouterr().err
    assert [p.name for p in tmp_path.iterdir()] == ["broken.conllu"]
    assert run(["stats", str(broken)]) == 2
    assert run(["stats", str(tmp_path / "missing")]) == 2
