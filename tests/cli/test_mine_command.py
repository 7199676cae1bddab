"""``arcwise mine`` end to end."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from arcwise.cli.main import run
from arcwise.graph import GraphConfig, GraphParser
from arcwise.mining.adaptation import Adaptation
from arcwise.mining.evidence import Floats
from arcwise.transition import TransitionConfig, TransitionParser
from arcwise.treebanks import Treebank
from mining.planted import conllu, planted, toy

QUICK = ("--signals", "variation,frames,lexicon,rules")


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    path = tmp_path / "bank.conllu"
    planted(30)[0].write(path)
    return path


def test_the_first_suspects_are_printed_with_reasons(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["mine", str(bank), *QUICK]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("1. ")
    assert any(line.startswith("   - of ") for line in lines)
    assert sum(line[:1].isdigit() for line in lines) == 20


@pytest.mark.parametrize("name", ["list.html", "list.tsv", "list.conllu", "list.tsv.gz"])
def test_each_format_is_written(name: str, bank: Path, tmp_path: Path) -> None:
    assert run(["mine", str(bank), *QUICK, "--out", str(tmp_path / name), "--most", "5"]) == 0
    assert (tmp_path / name).stat().st_size > 100


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\tgo\t_\n\n", "bank.conllu:1"),
        ("1\tgo\t_\t_\t_\t_\t7\troot\t_\t_\n\n", "bank.conllu:1"),
        ("", "found no sentence"),
        ("1\tgo\t_\t_\t_\t_\t_\t_\t_\t_\n\n", "no head is annotated"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(
    text: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "bank.conllu"
    path.write_text(text)
    assert run(["mine", str(path), "--out", str(tmp_path / "list.html")]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert message in error
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bank.conllu"]


def _bare(bank: Treebank) -> Treebank:
    blank = ["_"] * bank.word_count
    return bank.annotate(deprel=blank, upos=blank, lemma=blank)


def _partial(bank: Treebank) -> Treebank:
    heads = np.array(bank.heads)
    heads[::3] = -1
    return bank.annotate(heads=heads, strict=False)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("count", "change"),
    [(1, lambda bank: bank), (2, lambda bank: bank), (20, _bare), (20, _partial)],
    ids=["one sentence", "two sentences", "no labels, tags or lemmas", "partial trees"],
)
def test_all_signals_rank_small_and_incomplete_treebanks(
    count: int, change: Callable[[Treebank], Treebank], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bank = change(Treebank.from_string(conllu(toy(count))))
    path, out = tmp_path / "bank.conllu", tmp_path / "list.tsv"
    bank.write(path)
    assert run(["mine", str(path), "--most", "0", "--out", str(out)]) == 0
    annotated = int((np.asarray(bank.heads) >= 0).sum())
    assert len(out.read_text().splitlines()) == 1 + annotated
    assert (
        capsys.readouterr().err.splitlines()[-1].endswith(f"{annotated} suspects of {bank.word_count} words")
    )


def test_bad_options_are_refused_before_any_work(bank: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["mine", str(bank), "--signals", "guess"]) == 2
    assert "--signals: found 'guess'" in capsys.readouterr().err
    assert run(["mine", str(bank), "--out", str(bank.with_name("list.pdf"))]) == 2
    assert "expected a name ending in .html, .tsv or .conllu" in capsys.readouterr().err


def test_a_review_keeps_its_answers_and_hides_what_was_acknowledged(
    bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = iter(["a", "?", "e", "s", "c", "q"])
    monkeypatch.setattr("builtins.input", lambda prompt: next(replies))
    before = bank.read_bytes()
    assert run(["mine", str(bank), *QUICK, "--review"]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert bank.read_bytes() == before
    verdicts = (tmp_path / "bank.conllu.verdicts").read_text()
    assert sorted(line.split("\t")[1] for line in verdicts.splitlines()[1:]) == [
        "acknowledged",
        "correct",
        "error",
    ]
    out = tmp_path / "list.conllu"
    assert run(["mine", str(bank), *QUICK, "--out", str(out), "--most", "0"]) == 0
    acknowledged = next(line for line in verdicts.splitlines() if "\tacknowledged\t" in line).split("\t")
    assert acknowledged[2] in first
    marked = Treebank.read(out)
    hidden = next(s for s in marked if s.sent_id == acknowledged[2]).misc[int(acknowledged[3]) - 1]
    assert "Suspect=" not in hidden
    assert sum("Suspect=" in misc for misc in marked.column("misc")) == marked.word_count - 1


def test_a_review_prints_the_search_for_all_words_like_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = toy(60)
    for number in (3, 17, 40):
        for row in rows[number]:
            row[3] = "obl" if row[3] == "nsubj" else row[3]
    path = tmp_path / "the bank.conllu"
    Treebank.from_string(conllu(rows)).write(path)
    monkeypatch.setattr("builtins.input", lambda prompt, replies=iter("eq"): next(replies))
    assert run(["mine", str(path), *QUICK, "--review"]) == 0
    (line,) = [line for line in capsys.readouterr().out.splitlines() if "All like this" in line]
    arguments = shlex.split(line.removeprefix("   All like this: arcwise "))
    assert arguments[-1] == str(path)
    assert run(arguments) == 0
    preview = capsys.readouterr().out
    assert "deprel" in preview
    assert "obl" in preview


def test_the_ranking_is_fitted_again_after_every_five_answers(
    bank: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = iter("ccsccaccccq")
    monkeypatch.setattr("builtins.input", lambda prompt: next(replies))
    fits: list[int] = []
    fit = Adaptation.log_odds

    def counted(self: Adaptation, answers: Mapping[int, bool]) -> Floats:
        fits.append(len(answers))
        return fit(self, answers)

    monkeypatch.setattr(Adaptation, "log_odds", counted)
    assert run(["mine", str(bank), *QUICK, "--review"]) == 0
    # At the start, after five answers (one of them an acknowledgement), after nine at the end.
    assert fits == [0, 4, 8]


def test_the_end_of_input_ends_a_review(bank: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr("builtins.input", closed)
    assert run(["mine", str(bank), *QUICK, "--review"]) == 0
    assert not bank.with_name("bank.conllu.verdicts").exists()


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["graph", "transition"])
def test_a_given_model_judges_the_words_as_well(kind: str, bank: Path, tmp_path: Path) -> None:
    other, model = Treebank.from_string(conllu(toy(60, seed=9))), tmp_path / "model.arcwise"
    if kind == "graph":
        GraphParser.train(other, config=GraphConfig(epochs=3).for_trainer("log-linear")).save(model)
    else:
        TransitionParser.train(other, config=TransitionConfig(epochs=3)).save(model)
    lists = []
    for options in ([], ["--model", str(model)]):
        out = tmp_path / "list.tsv"
        assert (
            run(["mine", str(bank), "--signals", "parsers", "--most", "3", "--out", str(out), *options]) == 0
        )
        lists.append(out.read_text())
    assert " of 2 parsers" in lists[0]
    assert " of 3 parsers" in lists[1]


def test_a_model_that_is_no_labelled_parser_is_refused(
    bank: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.arcwise"
    small = Treebank.from_string(conllu(toy(5)))
    GraphParser.train(small, config=GraphConfig(epochs=1, labelled=False)).save(path)
    before = sorted(tmp_path.iterdir())
    assert run(["mine", str(bank), "--model", str(path), "--out", str(tmp_path / "list.tsv")]) == 2
    assert "model.arcwise: the parser predicts no labels" in capsys.readouterr().err
    assert (
        run(["mine", str(bank), "--model", str(tmp_path / "none"), "--out", str(tmp_path / "list.tsv")]) == 2
    )
    assert capsys.readouterr().err.count("\n") == 1
    assert sorted(tmp_path.iterdir()) == before
