"""Coverage: exact shares, arcs that break, the commands."""

from pathlib import Path

import numpy as np
import pytest

from arcwise import Treebank
from arcwise.cli.main import run
from arcwise.errors import InputError
from arcwise.transition import coverage, system
from arcwise.transition.coverage import broken_arcs, grid
from transition.test_oracle import every_tree


def treebank_of(*trees: tuple[int, ...]) -> Treebank:
    rows = [[f"{m}\tw{m}\t_\tX\t_\t_\t{h}\tdep\t_\t_" for m, h in enumerate(heads, 1)] for heads in trees]
    return Treebank.from_string("".join("\n".join(r) + "\n\n" for r in rows))


CROSSING = (3, 4, 0, 3)
PLAIN = (2, 0, 2)


def test_shares_are_those_of_the_oracle_over_all_trees() -> None:
    trees = every_tree(4)
    for name in ("arc-eager", "attardi(N=2)", "bounded(K=3,D=2)", "non-projective(D=2)"):
        chosen = system(name)
        result = coverage(chosen, treebank_of(*trees))
        assert result.derivable.tolist() == [chosen.derives(heads) for heads in trees]
        assert result.found.all()
        for heads, nearest in zip(trees, result.nearest.reshape(-1, 4).tolist(), strict=True):
            assert chosen.derives(nearest)
            assert heads == tuple(nearest) or not chosen.derives(heads)


@pytest.mark.parametrize("name", ["arc-standard", "hybrid", "bounded", "arc-eager"])
def test_the_nearest_tree_keeps_a_single_root(name: str) -> None:
    trees = [heads for heads in every_tree(4) if heads.count(0) == 1]
    result = coverage(system(name), treebank_of(*trees), single_root=True)
    assert (result.nearest.reshape(-1, 4) == 0).sum(axis=1).tolist() == [1] * len(trees)


def test_broken_arcs_are_named() -> None:
    data = treebank_of(PLAIN, CROSSING)
    result = coverage(system("arc-standard"), data)
    assert (result.sentences, len(result.broken)) == (0.5, 1)
    assert result.arcs == pytest.approx(6 / 7)
    (line,) = broken_arcs(result, data, at_most=5)
    assert line.startswith("2: ")
    assert np.array_equal(result.nearest[:3], data.heads[:3])


def test_threads_change_nothing() -> None:
    data = treebank_of(*every_tree(3), CROSSING)
    one, two = (coverage(system("attardi"), data, threads=t) for t in (1, 2))
    assert np.array_equal(one.derivable, two.derivable)
    assert np.array_equal(one.nearest, two.nearest)


def test_grid_leaves_out_what_cannot_be() -> None:
    assert [s.name for s in grid([2, None], [1, 2])] == [
        "bounded(K=2,D=1)",
        "non-projective(D=1)",
        "non-projective(D=2)",
    ]


def test_a_treebank_without_heads_is_refused() -> None:
    with pytest.raises(InputError, match=r"\(sentence 1\): the head of word 1 is unknown"):
        coverage(system("arc-eager"), Treebank.from_string("1\tw\t_\tX\t_\t_\t_\t_\t_\t_\n\n"))


def test_coverage_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.conllu"
    treebank_of(PLAIN, CROSSING).write(path)
    assert (
        run(["coverage", str(path), "--system", "arc-eager", "-K", "3,inf", "-D", "1-2", "--show-arcs", "2"])
        == 0
    )
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["arc-eager", "50.00%", "85.71%", "1"]
    assert len(lines) == 1 + 5 + 3
    assert run(["coverage", str(path), "-K", "3,inf", "-D", "1-2", "--plot", str(tmp_path / "p.svg")]) == 0
    assert (tmp_path / "p.svg").read_text().startswith("<?xml")


def test_systems_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["systems"]) == 0
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 10
    assert "right-arc(B=f,S=t)" in out
    assert run(["systems", "--system", "bounded(K=3,D=2)"]) == 0
    assert "bounded(K=3,D=2)" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["coverage", "nowhere.conllu"],
        ["coverage", "FILE", "--system", "arc-lazy"],
        ["coverage", "FILE", "--system", "dag"],
        ["coverage", "FILE", "-K", "3"],
        ["coverage", "FILE", "-K", "1-2", "-D", "1"],
        ["coverage", "FILE", "--plot", "x.gif"],
        ["systems", "--system", "bounded(K=0)"],
    ],
)
def test_bad_input_is_one_line_and_exit_2(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "t.conllu"
    treebank_of(PLAIN).write(path)
    assert run([str(path) if a == "FILE" else a for a in arguments]) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
