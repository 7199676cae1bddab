"""A program that uses arcwise's public names, for ``test_typed_client.py`` to check with mypy --strict; never
run."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

import arcwise
from arcwise import (
    Constraints,
    Document,
    GraphParser,
    Pipeline,
    Sentence,
    Token,
    Tree,
    Treebank,
    TreeDistribution,
    TreeDistributionBatch,
    Word,
)
from arcwise.inference import Alternative
from arcwise.treebanks import exchange
from arcwise.treebanks.words import Words

if TYPE_CHECKING:
    from typing_extensions import assert_type

Floats = npt.NDArray[np.float64]
Heads = npt.NDArray[np.int32]


def ask_one_sentence(scores: Floats) -> None:
    trees = TreeDistribution(scores, projective=True, single_root=True)
    best = trees.best()
    assert_type(best, Tree)
    assert_type(trees.k_best(3), list[Tree])
    assert_type(trees.k_best_labelled(3), list[Tree])
    assert_type(trees.minimum_risk(), Tree)
    assert_type(trees.minimum_labelled_risk(), Tree)
    assert_type(trees.greedy_heads(), Heads)
    assert_type(trees.log_partition, float)
    assert_type(trees.marginals, Floats)
    assert_type(trees.label_marginals, Floats)
    assert_type(trees.alternatives(), list[list[Alternative]])
    assert_type(trees.score(best), float)
    assert_type(trees.log_prob(best), float)
    assert_type(trees.prob(best), float)
    assert_type(trees.expected(np.ones((3, 3))), float)
    assert_type(trees.expected_attachment(best), float)
    assert_type(trees.entropy(), float)
    assert_type(trees.head_entropy(), float)
    assert_type(trees.kl(trees), float)
    assert_type(trees.cross_entropy(trees), float)
    assert_type(trees.sample(4, seed=1), list[Tree])
    assert_type(trees.given(Constraints(required=[(0, 1)])), TreeDistribution)


def ask_a_batch(scores: list[Floats]) -> None:
    batch = TreeDistributionBatch(scores, projective=True, single_root=True)
    best = batch.best()
    assert_type(best, list[Tree])
    assert_type(batch.k_best(3), list[list[Tree]])
    assert_type(batch.k_best_labelled(3), list[list[Tree]])
    assert_type(batch.minimum_risk(), list[Tree])
    assert_type(batch.minimum_labelled_risk(), list[Tree])
    assert_type(batch.greedy_heads(), list[Heads])
    assert_type(batch.log_partition, Floats)
    assert_type(batch.marginals, list[Floats])
    assert_type(batch.label_marginals, list[Floats])
    assert_type(batch.alternatives(), list[list[list[Alternative]]])
    assert_type(batch.score(best), Floats)
    assert_type(batch.log_prob(best), Floats)
    assert_type(batch.prob(best), Floats)
    assert_type(batch.expected([np.ones((3, 3))]), Floats)
    assert_type(batch.expected_attachment(best), Floats)
    assert_type(batch.entropy(), Floats)
    assert_type(batch.head_entropy(), Floats)
    assert_type(batch.kl(batch), Floats)
    assert_type(batch.cross_entropy(batch), Floats)
    assert_type(batch.sample(4, seed=1), list[list[Tree]])
    assert_type(batch.given([Constraints(), None]), TreeDistributionBatch)
    assert_type(batch[0], TreeDistribution)
    assert_type(batch[:2], TreeDistributionBatch)
    for trees in batch:
        assert_type(trees, TreeDistribution)
    padded = np.zeros((2, 4, 4))
    assert_type(TreeDistributionBatch(padded, [3, 2], projective=True, single_root=True).best(), list[Tree])


def parse_text() -> None:
    nlp = arcwise.load("en")
    assert_type(nlp, Pipeline)
    document = nlp("They didn't go.")
    assert_type(document, Document)
    assert_type(document.tokens, list[Token])
    for text in nlp.pipe(["One.", "Two."]):
        assert_type(text, Document)
    for sentence in document:
        assert_type(sentence.tree, Tree)
        for word in sentence.words:
            assert_type(word, Word)
            assert_type(word.form, str)
        for word in sentence:
            assert_type(word.ancestors, list[Word])
        assert_type(sentence[0], Word)
        assert_type(sentence[:2], Words)
        assert_type(sentence.root, Word | None)
    assert_type(document.words, list[Word])
    exchange.to_pandas(document)


def parse_a_treebank(treebank: Treebank) -> None:
    assert_type(treebank[0], Sentence)
    parser = GraphParser.train(treebank)
    assert_type(parser, GraphParser)
    assert_type(parser.parse(treebank), Treebank)
    assert_type(parser.distributions(treebank), TreeDistributionBatch)
    assert_type(arcwise.evaluate(treebank, parser.parse(treebank)).attachment.uas, float)
    assert_type(arcwise.open_model("en").parse(treebank), Treebank)
    assert_type(arcwise.__version__, str)


def mistakes(scores: Floats) -> None:
    """Each line is an error that a type checker must report: --strict refuses an ignore that is not
    needed."""
    _ = arcwise.Treebnak  # type: ignore[attr-defined]
    TreeDistribution(scores)  # type: ignore[call-arg]
    trees = TreeDistribution(scores, projective=True, single_root=True)
    _ = trees[0], trees.best()[0]  # type: ignore[index]
    batch = TreeDistributionBatch([scores], projective=True, single_root=True)
    _ = batch.best().heads  # type: ignore[attr-defined]
