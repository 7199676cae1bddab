"""Alternatives, k best and probabilities of every kind of parser: what they say is what the distribution
says, and no probability is above 1."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arcwise.errors import InputError
from arcwise.inference import Constraints
from arcwise.parsing import FunctionScorer, ParseOptions, ScoredParser
from arcwise.parsing.misc_form import read_alternatives
from arcwise.treebanks import Treebank
from arcwise.trees import Tree
from contracts.small_treebank import conllu, small_treebank
from contracts.test_keep import CONSTRAINED, KINDS, as_tagged, made, scored


@pytest.fixture(params=CONSTRAINED, scope="module")
def parser(request: pytest.FixtureRequest) -> Any:
    return made(request.param)


@pytest.fixture(params=[n for n in KINDS if n != "dmv"], scope="module")
def any_parser(request: pytest.FixtureRequest) -> Any:
    return made(request.param)


def bank() -> Treebank:
    return small_treebank()[:4]


def test_heads_and_labels_are_the_most_probable_ones(parser: Any) -> None:
    own = scored(parser)
    trees = own.distributions(as_tagged(parser, bank()))
    found = parser.alternatives(bank(), k=2)
    assert [len(sentence) for sentence in found] == [len(sentence) for sentence in bank()]
    for s, sentence in enumerate(found):
        for m, word in enumerate(sentence, start=1):
            column = trees.marginals[s][:, m]
            possible = [h for h in np.argsort(-column, kind="stable") if column[h] > 0][:2]
            assert [head for head, _ in word] == possible
            assert [p for _, p in word] == pytest.approx(column[possible], abs=1e-9)
            for other in word:
                if not own.labels:
                    assert other.labels == ()
                    continue
                shares = trees.label_marginals[s][:, other.head, m]
                best = [code for code in np.argsort(-shares, kind="stable") if shares[code] > 0][:2]
                assert [label for label, _ in other.labels] == [own.labels[code] for code in best]
                assert [p for _, p in other.labels] == pytest.approx(shares[best], abs=1e-9)


def test_conllu_has_the_most_probable_pairs_of_head_and_label(parser: Any) -> None:
    own = scored(parser)
    parsed = parser.parse(bank(), options=ParseOptions(alternatives=3))
    trees = own.distributions(as_tagged(parser, bank()))
    for s, sentence in enumerate(parsed):
        for m, misc in enumerate(sentence.misc, start=1):
            written = read_alternatives(misc)
            shares = trees.label_marginals[s][:, :, m] if own.labels else trees.marginals[s][None, :, m]
            wanted = sorted((p for p in shares.ravel().tolist() if p > 5e-5), reverse=True)[:3]
            assert [arc.probability for arc in written] == pytest.approx(wanted, abs=6e-5)
            for head, label, p in written:
                code = own.labels.index(label) if own.labels else 0
                assert (label == "_") == (not own.labels)
                assert p == pytest.approx(shares[code, head], abs=6e-5)


def test_alternatives_are_those_given_what_is_decided(parser: Any) -> None:
    own = scored(parser)
    tree = own.distributions(as_tagged(parser, bank()))[0].sample(1, seed=3)[0]
    decided = [Constraints(required=[(tree.heads[1], 1)]), None, None, None]
    found = parser.alternatives(bank(), k=9, constraints=decided)
    assert [tuple(other) for other in found[0][0]] == [(tree.heads[1], pytest.approx(1.0))]
    marginals = own.distributions(as_tagged(parser, bank())[:1], constraints=decided[:1]).marginals[0]
    if parser.kind != "pipeline":
        for m, word in enumerate(found[0], start=1):
            assert dict(map(tuple, word)) == pytest.approx(
                {h: float(p) for h, p in enumerate(marginals[:, m]) if p > 0}, abs=1e-9
            )
    kept = parser.alternatives(small_treebank(), k=2, options=ParseOptions(keep=("head", "deprel")))
    gold = small_treebank()[0]
    for word, head, label in zip(kept[0], gold.heads[1:], gold.deprels, strict=True):
        assert [(other.head, other.probability) for other in word] == [(head, pytest.approx(1.0))]
        assert not own.labels or word[0].labels == ((label, word[0].probability),)


def test_k_best_trees_have_rank_and_probability(parser: Any) -> None:
    own = scored(parser)
    options = ParseOptions(k_best=4, confidence=True, alternatives=2)
    parsed = parser.parse(bank(), options=options)
    trees = own.distributions(as_tagged(parser, bank()))
    numbers = {sentence.sent_id: s for s, sentence in enumerate(bank())}
    total = np.zeros(len(bank()))
    for sentence in parsed:
        s = numbers[sentence.sent_id]
        one = trees[s]
        p = float(sentence.comments["tree_prob"])
        assert p == pytest.approx(one.prob(Tree(sentence.heads)), rel=1e-4, abs=1e-9)
        assert 0 <= p <= 1
        total[s] += p
        marginals = [one.marginals[h, m] for m, h in enumerate(sentence.heads[1:], start=1)]
        assert sentence.head_probabilities == pytest.approx(marginals, abs=6e-5)
        if own.labels:
            codes = [own.labels.index(label) for label in sentence.deprels]
            both = [
                one.label_marginals[c, h, m]
                for m, (c, h) in enumerate(zip(codes, sentence.heads[1:], strict=True), start=1)
            ]
            assert sentence.label_probabilities == pytest.approx(both, abs=6e-5)
        assert all(read_alternatives(misc) for misc in sentence.misc)
    assert (total <= 1 + 1e-6).all()
    ranks = [int(sentence.comments["parse_rank"]) for sentence in parsed]
    assert all(rank == 1 or rank == before + 1 for before, rank in zip([0, *ranks], ranks, strict=False))


def test_no_probability_is_above_one(any_parser: Any) -> None:
    """Of any decoder, at temperatures from nearly sure to nearly even; greedy heads that are no tree have
    probability 0."""
    decoders = any_parser.capabilities.decoders or (None,)
    parsers = [any_parser]
    if hasattr(any_parser, "with_temperatures"):
        parsers += [any_parser.with_temperatures(t, t) for t in (0.01, 0.3, 30.0)]
    if not any_parser.capabilities.confidence:
        return
    for parser in parsers:
        tree_parser, treebank = getattr(parser, "parser", parser), as_tagged(parser, small_treebank())
        for decode in decoders:
            found = tree_parser.parses(treebank, options=ParseOptions(decode=decode, confidence=True))
            for shares in (found.probabilities.head, found.probabilities.label):
                assert ((shares >= 0) & (shares <= 1)).all()
            assert (found.probabilities.log_tree <= 0).all()
            assert (found.probabilities.label <= found.probabilities.head + 1e-6).all()
            starts = small_treebank().sentence_words
            for s, log in enumerate(found.probabilities.log_tree):
                heads = found.heads[starts[s] : starts[s + 1]].tolist()
                assert is_tree(heads) or log == -np.inf
        if parser.capabilities.k_best:
            best = parser.parse(small_treebank(), options=ParseOptions(k_best=5, confidence=True))
            assert all(0 <= float(s.comments["tree_prob"]) <= 1 for s in best)


def is_tree(heads: list[int]) -> bool:
    """Whether every word leads to the root."""
    for word in range(1, len(heads) + 1):
        steps = 0
        while word and steps <= len(heads):
            word, steps = heads[word - 1], steps + 1
        if word:
            return False
    return True


@pytest.mark.parametrize(
    "heads, projective, single_root, possible",
    [
        ([2, 1, 0], False, False, False),  # a cycle
        ([0, 0, 1], False, True, False),
        ([0, 0, 1], False, False, True),
        ([3, 0, 2], True, True, False),  # crossing arcs
        ([3, 0, 2], False, True, True),
    ],
)
def test_greedy_heads_that_are_no_tree_of_the_class_have_no_probability(
    heads: list[int], projective: bool, single_root: bool, possible: bool
) -> None:
    """The sum of their scores may be above that of any tree."""
    scores = np.zeros((4, 4))
    scores[heads, [1, 2, 3]] = 5
    own = ScoredParser(FunctionScorer(lambda sentence: scores))
    bank = Treebank.from_string(conllu(["Birds/NOUN/2/nsubj sing/VERB/0/root ./PUNCT/2/punct"]))
    options = ParseOptions(decode="greedy", confidence=True, projective=projective, single_root=single_root)
    found = own.parses(bank, options=options)
    assert found.heads.tolist() == heads
    assert found.probabilities is not None
    assert (found.probabilities.log_tree[0] > -np.inf) == possible
    (written,) = own.parse(bank, options=options)  # tree or not
    assert written.heads.tolist() == [-1, *heads]
    assert (float(written.comments["tree_prob"]) > 0) == possible


def test_parsers_without_distributions_refuse_alternatives() -> None:
    with pytest.raises(
        InputError, match="alternatives: found 2, which a transition-based parser does not support"
    ):
        made("transition-arc-eager").parse(bank(), options=ParseOptions(alternatives=2))
