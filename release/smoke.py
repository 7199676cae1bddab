"""Try an installed arcwise in seconds: ten checks of kernels, a parse of raw text, a training."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import numpy as np

import arcwise
from arcwise.cli.main import run
from arcwise.factors import FactoredTreeDistribution, HeadAutomaton
from arcwise.inference import eisner_log_partition, matrix_tree_log_partition, spanning_tree_decode

ROW = "{}\t{}\t_\t{}\t_\t_\t{}\t{}\t_\t_\n"
RANDOM = np.random.default_rng(1)


def distribution(projective: bool, single_root: bool) -> None:
    trees = arcwise.TreeDistribution(
        RANDOM.normal(size=(7, 7)), projective=projective, single_root=single_root
    )
    assert abs(trees.marginals[:, 1:].sum(axis=0) - 1).max() < 1e-12
    best = trees.k_best(5)
    assert best[0] == trees.best()
    assert trees.prob(best[0]) >= trees.prob(best[4]) > 0
    assert len(trees.sample(10, seed=1)) == 10


def counts(words: int) -> None:
    flat = np.zeros((words + 1, words + 1))
    trees, rooted = (
        round(math.exp(matrix_tree_log_partition(flat, single_root=one))) for one in (False, True)
    )
    assert (trees, rooted) == ((words + 1) ** (words - 1), words ** (words - 1))
    projective = round(math.exp(eisner_log_partition(flat, single_root=True)))
    assert projective == math.comb(3 * words - 2, words - 1) // words


def best_tree() -> None:
    scores = np.full((4, 4), -1.0)
    scores[0, 2] = scores[2, 1] = scores[1, 3] = 1
    heads, _ = spanning_tree_decode(scores, single_root=True)
    assert np.asarray(heads).ravel()[-3:].tolist() == [2, 0, 1]


def factors() -> None:
    rule = HeadAutomaton.at_most_one(["a"], labels=["a", "b"], both_sides=True)
    scores = RANDOM.normal(size=(2, 5, 5))
    legal = FactoredTreeDistribution(
        scores, factors=[rule], labels=["a", "b"], projective=True, single_root=True
    )
    free = arcwise.TreeDistribution(scores, labels=["a", "b"], projective=True, single_root=True)
    assert legal.log_partition < free.log_partition


def parse() -> None:
    sentence = arcwise.load("en")("I saw the man.").sentences[0]
    assert sentence.forms == ["I", "saw", "the", "man", "."]
    assert sentence.tree.heads[1:].tolist() == [2, 0, 4, 2, 2]


def train() -> None:
    words = (("Birds", "NOUN", 2, "nsubj"), ("sing", "VERB", 0, "root"))
    text = "".join(ROW.format(number, *word) for number, word in enumerate(words, 1)) + "\n"
    with tempfile.TemporaryDirectory() as folder:
        treebank, model = Path(folder, "train.conllu"), Path(folder, "model.arcwise")
        treebank.write_bytes(text.encode() * 20)
        files = ["--train", str(treebank), "--dev", str(treebank), "--model", str(model)]
        assert run(["train", *files, "--epochs", "1", "--quiet"]) == 0
        assert (
            run(["parse", str(treebank), "--model", str(model), "-o", str(Path(folder, "out.conllu"))]) == 0
        )


def main() -> None:
    for projective in (True, False):
        for single_root in (True, False):
            distribution(projective, single_root)
    for words in (2, 4, 6, 8):
        counts(words)
    best_tree()
    factors()
    parse()
    train()
    print(f"arcwise {arcwise.__version__}: ten checks of kernels, a parse and a training passed")


if __name__ == "__main__":
    main()
