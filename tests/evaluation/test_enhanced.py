"""ELAS and EULAS equal those of the official scorer."""

from __future__ import annotations

import random

import pytest

from arcwise import Treebank
from arcwise.cli.main import run
from arcwise.evaluation import evaluate
from evaluation.official import official_figures, our_figures
from evaluation.samples import BIRDS, sentence, treebank

LABELS = ["nsubj", "nsubj:pass", "nsubj:xsubj", "obl:in", "obl", "conj>obj", "conj:and>obj", "root"]


def with_graphs(chance: random.Random, *, split: bool) -> Treebank:
    """Sentences with random graphs, empty nodes and repeated arcs; ``split`` cuts some tokens in two."""
    sentences = []
    for _ in range(3):
        forms = [f"w{i}x" for i in range(1, 6)]
        tokens = [
            part
            for form in forms
            for part in ([form[:2], form[2:]] if split and chance.random() < 0.4 else [form])
        ]
        rows = []
        for number, form in enumerate(tokens, 1):
            deps = "|".join(
                f"{chance.choice([0, '2.1', *range(1, len(tokens) + 1)])}:{chance.choice(LABELS)}"
                for _ in range(chance.randrange(4))
            )
            rows.append(f"{number} {form} _ X _ _ {int(number > 1)} dep {deps or '_'}")
            if number == 2:
                rows.append("2.1 gap _ X _ _ _ _ 1:conj")
        sentences.append(sentence(*rows))
    return treebank(*sentences)


@pytest.mark.parametrize("seed", range(40))
def test_the_official_scorer_gives_the_same_enhanced_scores(seed: int) -> None:
    chance = random.Random(seed)
    gold, system = with_graphs(chance, split=False), with_graphs(chance, split=seed % 2 == 1)
    ours, official = our_figures(gold, system), official_figures(gold, system)
    assert "ELAS" in ours
    assert ours == official


def test_subtypes_count_in_elas_alone() -> None:
    gold = treebank(
        sentence("1 a _ X _ _ 0 root 0:root", "2 b _ X _ _ 1 dep 1:obl:in|3:nsubj", "3 c _ X _ _ 1 dep 1:obj")
    )
    system = treebank(
        sentence("1 a _ X _ _ 0 root 0:root", "2 b _ X _ _ 1 dep 1:obl|3:nsubj", "3 c _ X _ _ 1 dep 2:obj")
    )
    scores = evaluate(gold, system).conll18
    assert (scores["ELAS"].correct, scores["EULAS"].correct, scores["ELAS"].gold) == (2, 3, 4)


def test_broken_graphs_are_scored_and_treebanks_without_graphs_have_no_row() -> None:
    gold = treebank(sentence("1 a _ X _ _ 0 root 0:root|9:x|y|" + "9" * 5000 + ":z"))
    scores = evaluate(gold, gold).conll18["ELAS"]
    assert (scores.correct, scores.gold) == (1, 4)
    assert "ELAS" not in evaluate(treebank(BIRDS), treebank(BIRDS)).conll18.scores


def test_the_command_prints_them(
    tmp_path: pytest.TempPathFactory, capsys: pytest.CaptureFixture[str]
) -> None:
    file = f"{tmp_path}/graphs.conllu"
    with_graphs(random.Random(1), split=False).write(file)
    assert run(["evaluate", file, file]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if "ULAS" in line or "ELAS" in line] == ["ELAS", "EULAS"]
