"""One engine: whatever way a question is asked, the answer is the same. Asked of the model that comes with
arcwise, which is labelled and calibrated, on English of our own; of a model with latent clusters; of networks
with random weights; and of a tiny transformer, where one can be made."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from arcwise.factors import LegalRules
from arcwise.graph import GraphConfig, GraphParser
from arcwise.inference import Constraints, TreeDistributionBatch
from arcwise.models import load
from arcwise.parsing import Decoding, ParseOptions, Parses, ScoredParser
from arcwise.parsing.scorer import FusedScorer, Scorer
from arcwise.treebanks import Treebank
from contracts.english import TEXT
from contracts.small_treebank import small_treebank
from neural.random_models import random_parser

Classes = pytest.mark.parametrize(
    "projective, single_root", [(p, s) for p in (True, False) for s in (True, False)]
)


class PlainScorer:
    """A scorer without its short cut from features to trees."""

    def __init__(self, scorer: Scorer) -> None:
        self.scores, self.pack, self.labels = scorer.scores, scorer.pack, scorer.labels


@pytest.fixture(scope="module")
def english() -> tuple[ScoredParser, Treebank]:
    pipeline = load("en")
    assert isinstance(pipeline.parser, ScoredParser)
    # Less sure than it is, so that its probabilities are not all near 0 and 1.
    return pipeline.parser.with_temperatures(2.5, 3.0, 0.05), pipeline(TEXT).treebank


@pytest.fixture(scope="module")
def latent() -> tuple[ScoredParser, Treebank]:
    config = GraphConfig(trainer="latent", clusters=3, epochs=4, arc_bits=14, row_bits=15)
    trained = GraphParser.train(small_treebank(crossing=True), config=config)
    return trained.with_temperatures(1.6, 0.7, 0.2), small_treebank(crossing=True)


@pytest.fixture(scope="module")
def neural() -> tuple[ScoredParser, Treebank]:
    return random_parser(seed=2).with_temperatures(1.6, 0.7, 0.2), small_treebank(crossing=True)


@pytest.fixture(scope="module")
def neural_latent() -> tuple[ScoredParser, Treebank]:
    """In 8 bits."""
    parser = random_parser(seed=4, clusters=3, bits=8)
    return parser.with_temperatures(0.8, 1.4, 0.1), small_treebank(crossing=True)


@pytest.fixture(scope="module")
def neural_ensemble() -> tuple[ScoredParser, Treebank]:
    parser = random_parser(seed=6, members=2, clusters=2)
    return parser.with_temperatures(1.3, 0.9, 0.3), small_treebank(crossing=True)


@pytest.fixture(scope="module")
def transformer(tmp_path_factory: pytest.TempPathFactory) -> tuple[ScoredParser, Treebank]:
    from neural.tiny_transformer import quick_parser

    trained = quick_parser(tmp_path_factory.mktemp("transformer"), clusters=2)
    return trained.with_temperatures(1.6, 0.7, 0.2), small_treebank(crossing=True)


@pytest.fixture(params=["english", "latent", "neural", "neural_latent", "neural_ensemble", "transformer"])
def model(request: pytest.FixtureRequest) -> tuple[ScoredParser, Treebank]:
    return request.getfixturevalue(request.param)


def words(treebank: Treebank) -> Iterator[tuple[int, int, int]]:
    """(sentence, word in the sentence from 1, word in the treebank) of every word."""
    for s in range(len(treebank)):
        first, last = (int(i) for i in treebank.sentence_words[s : s + 2])
        for word in range(first, last):
            yield s, word - first + 1, word


def asked(parser: ScoredParser, treebank: Treebank, **options: object) -> Parses:
    return parser.parses(treebank, options=ParseOptions(confidence=True, **options))  # type: ignore[arg-type]


def heads_of(trees: list) -> list[int]:
    return [int(h) for tree in trees for h in tree.heads[1:]]


def labels_of(trees: list) -> list[str]:
    return [label for tree in trees for label in tree.labels[1:]]


def test_the_shipped_model_is_no_toy(english: tuple[ScoredParser, Treebank]) -> None:
    parser, treebank = english
    assert len(parser.labels) > 30
    assert treebank.word_count > 400
    assert parser.info["temperature"] != 1 != parser.info["label_temperature"]
    assert parser.info["temperature"] != parser.info["label_temperature"]


@pytest.mark.slow
@Classes
def test_probabilities_are_the_marginals_of_the_distribution(model, projective, single_root) -> None:
    parser, treebank = model
    parses = asked(parser, treebank, projective=projective, single_root=single_root)
    trees = parser.distributions(treebank, projective=projective, single_root=single_root)
    found, marginals, labelled = parses.probabilities, trees.marginals, trees.label_marginals
    assert found is not None
    for s, m, word in words(treebank):
        head, label = parses.heads[word], parses.labels[word]
        assert found.head[word] == pytest.approx(marginals[s][head, m], abs=1e-6)
        assert found.label[word] == pytest.approx(labelled[s][label, head, m], abs=1e-6)
    for s, one in enumerate(trees):
        first, last = treebank.sentence_words[s : s + 2]
        tree = type(one.best()).from_heads(parses.heads[first:last])
        assert found.log_tree[s] == pytest.approx(one.log_prob(tree), abs=1e-6)
        assert found.head_entropy[s] == pytest.approx(one.head_entropy(), abs=1e-6)
        np.testing.assert_allclose(one.label_marginals.sum(axis=0), one.marginals, atol=1e-9)


def test_what_is_asked_of_a_tree_are_the_marginals_of_its_arcs(model) -> None:
    """P(head), and P(label | head), of a tree of one's own: here each word depends on the next."""
    parser, treebank = model
    parser = parser.with_temperatures(3.0, 5.0, 0.1)  # so that other labels than the best have a share
    heads = np.concatenate([np.append(np.arange(2, len(s) + 1), 0) for s in treebank]).astype(np.int32)
    trees = parser.distributions(treebank)
    marginals, labelled = trees.marginals, trees.label_marginals
    shares = [labelled[s][:, heads[word], m] for s, m, word in words(treebank)]
    codes = [int(np.argmin(np.where(share > 0, share, 2))) for share in shares]  # the least likely label
    bank = treebank.annotate(heads=heads, deprel=[parser.labels[code] for code in codes])
    parses = parser.parses(bank, options=ParseOptions(confidence=True), gold=True)
    assert parses.probabilities is not None
    asked = parses.probabilities.gold
    for s, m, word in words(bank):
        head = marginals[s][heads[word], m]
        assert asked.head[word] == pytest.approx(head, abs=1e-6)
        if head > 0:
            assert asked.label[word] == pytest.approx(shares[word][codes[word]] / head, abs=1e-5)
    assert (asked.label < 0.4).any()
    assert (parses.heads != heads).any()


def test_the_slope_of_the_likelihood_is_marginals_less_gold(latent: tuple[ScoredParser, Treebank]) -> None:
    """By the score of a label, its clusters together."""
    parser, treebank = latent
    plain = parser.with_temperatures(1.0, 1.0)
    scores = plain.scorer.scores(treebank, trees=plain.decoding.trees)
    gold = [sentence.tree for sentence in treebank]
    _, slopes = scores.loss("likelihood", gold, projective=False, single_root=True)
    trees = plain.distributions(treebank, projective=False, single_root=True)
    for slope, marginals, tree in zip(slopes, trees.label_marginals, gold, strict=True):
        wanted = marginals.copy()
        for m in range(1, len(tree) + 1):
            wanted[parser.labels.index(tree.labels[m]), tree.heads[m], m] -= 1
        assert np.allclose(slope, wanted, atol=1e-7)


@Classes
@pytest.mark.parametrize(
    "decode, method",
    [("map", "best"), ("mbr", "minimum_risk"), ("mbr-labelled", "minimum_labelled_risk")],
)
def test_decoders_and_methods_of_one_meaning_give_one_answer(
    model, projective, single_root, decode, method
) -> None:
    parser, treebank = model
    parses = asked(parser, treebank, decode=decode, projective=projective, single_root=single_root)
    trees = getattr(parser.distributions(treebank, projective=projective, single_root=single_root), method)()
    assert parses.heads.tolist() == heads_of(trees)
    assert parses.label_strings.tolist() == labels_of(trees)


def test_the_two_minimum_risks_differ_where_they_should(english: tuple[ScoredParser, Treebank]) -> None:
    """Each is best at what it is named for; they have two names because they are two things."""
    parser, treebank = english
    trees = parser.distributions(treebank)
    heads, both = trees.minimum_risk(), trees.minimum_labelled_risk()
    assert heads_of(heads) != heads_of(both)
    for labelled, better, other in ((False, heads, both), (True, both, heads)):
        gains = [trees.expected_attachment(t, labelled=labelled) for t in (better, other)]
        assert (gains[0] >= gains[1] - 1e-9).all()


def test_greedy_heads_are_the_same(model) -> None:
    parser, treebank = model
    parses = asked(parser, treebank, decode="greedy")
    greedy = parser.distributions(treebank).greedy_heads()
    assert parses.heads.tolist() == [int(h) for own in greedy for h in own[1:]]


@Classes
def test_k_best_trees_are_the_same(model, projective, single_root) -> None:
    parser, treebank = model
    options = ParseOptions(k_best=4, projective=projective, single_root=single_root)
    best = parser.k_best_parses(treebank, options=options)
    trees = parser.distributions(treebank, projective=projective, single_root=single_root).k_best(4)
    assert best.counts.tolist() == [len(own) for own in trees]
    flat = [tree for own in trees for tree in own]
    assert best.heads.tolist() == heads_of(flat)
    assert [parser.labels[code] for code in best.labels] == labels_of(flat)
    assert best.counts.max() > 1
    assert all(len({tree.heads.tobytes() for tree in own}) == len(own) for own in trees)


@pytest.mark.parametrize("decode", ["map", "mbr", "mbr-labelled", "max-z", "greedy"])
def test_the_fused_path_gives_what_scores_and_decoder_give(model, decode: str) -> None:
    parser, treebank = model
    plain = ScoredParser(
        PlainScorer(parser.scorer),
        decoding=replace(parser.decoding, decode=decode),
        temperatures=parser.temperatures,
    )
    some = np.where(np.arange(treebank.word_count) % 5 == 0, treebank.heads, -1).astype(np.int32)
    partial = treebank.annotate(heads=some)
    for bank, keep in ((treebank, False), (partial, True)):
        options = ParseOptions(decode=decode, confidence=True, keep=("head",) if keep else ())  # type: ignore[arg-type]
        one = parser.parses(bank, options=options, gold=True)
        two = plain.parses(bank, options=options, gold=True)
        assert one.heads.tolist() == two.heads.tolist()
        assert one.labels.tolist() == two.labels.tolist()
        for name in ("head", "label", "log_tree", "head_entropy"):
            np.testing.assert_array_equal(getattr(one.probabilities, name), getattr(two.probabilities, name))
        for name in ("head", "label"):
            np.testing.assert_array_equal(
                getattr(one.probabilities.gold, name), getattr(two.probabilities.gold, name)
            )


@pytest.mark.parametrize("keep", [False, True])
@pytest.mark.parametrize("confidence", [False, True])
@pytest.mark.parametrize("decode", ["map", "mbr", "mbr-labelled", "max-z"])
def test_legal_trees_are_the_same_with_and_without_short_cut(model, decode, confidence, keep) -> None:
    """With ``keep``, every third word keeps its head and a label, which the rules must count."""
    parser, treebank = model
    if not isinstance(parser.scorer, FusedScorer):
        pytest.skip("has no short cut")
    plain = ScoredParser(
        PlainScorer(parser.scorer), decoding=parser.decoding, temperatures=parser.temperatures
    )
    options = ParseOptions(decode=decode, confidence=confidence, keep_heads=keep)
    free = parser.parses(treebank, options=replace(options, keep_heads=False))
    frequent = [label for label, _ in Counter(free.label_strings.tolist()).most_common(3)]
    rules = LegalRules.of(
        {
            "at_most_one": [{"labels": [label]} for label in frequent[:2]],
            "leaf": [{"labels": [frequent[2]], "cost": 0.3}],
        }
    )
    bank = treebank.annotate(
        heads=np.where(np.arange(treebank.word_count) % 3 == 0, free.heads, -1).astype(np.int32),
        deprel=[frequent[0] if word % 3 == 0 else "_" for word in range(treebank.word_count)],
    )
    one, two = (way.parses(bank, options=replace(options, legal=rules)) for way in (parser, plain))
    assert one.heads.tolist() == two.heads.tolist()
    assert one.labels.tolist() == two.labels.tolist()
    assert one.notes == two.notes
    if not keep:
        assert rules.violated_by(parser.parse(bank, options=options)).any()
    if confidence:
        for name in ("head", "label", "log_tree"):
            np.testing.assert_array_equal(getattr(one.probabilities, name), getattr(two.probabilities, name))


def test_decisions_make_everything_conditional_on_them(model) -> None:
    """Every third word must not have the head that it has: what parses tell is P(head | that), from the
    marginals and from what ``given`` makes of the same distribution; and smoothing goes by all heads, also
    those that are ruled out."""
    parser, treebank = model
    assert parser.temperatures.smoothing > 0
    free = parser.parses(treebank)
    rules = [Constraints(forbidden=[]) for _ in treebank]
    for s, m, word in words(treebank):
        if m % 3 == 1 and len(treebank[s]) > 4:
            rules[s] = Constraints(forbidden=[*rules[s].forbidden, (int(free.heads[word]), m)])
    parses = parser.parses(treebank, options=ParseOptions(confidence=True), constraints=rules)
    found, trees = parses.probabilities, parser.distributions(treebank)
    assert found is not None
    assert (parses.heads != free.heads).any()
    for under in (trees.given(rules), parser.distributions(treebank, constraints=rules)):
        for s, m, word in words(treebank):
            assert found.head[word] == pytest.approx(under.marginals[s][parses.heads[word], m], abs=1e-6)
        for s, tree in enumerate(under.best()):
            log_share = under.log_partition[s] - trees.log_partition[s]
            unlabelled = type(tree)(tree.heads)
            assert found.log_tree[s] == pytest.approx(trees[s].log_prob(unlabelled) - log_share, abs=1e-6)


def test_a_distribution_is_the_same_from_scores_and_from_arrays(model) -> None:
    parser, treebank = model
    trees = parser.distributions(treebank)
    scores = parser.scorer.scores(treebank, trees=parser.decoding.trees)
    dense = TreeDistributionBatch(
        scores.dense_arrays(temperature=parser.temperatures.heads),
        projective=parser.decoding.projective,
        single_root=parser.decoding.single_root,
        labels=scores.labels,
        temperature=parser.temperatures.heads,
        label_temperature=parser.temperatures.labels,
        smoothing=parser.temperatures.smoothing,
    )
    np.testing.assert_allclose(trees.log_partition, dense.log_partition, atol=1e-9)
    for a, b in zip(trees.label_marginals, dense.label_marginals, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)
    assert trees.minimum_risk() == dense.minimum_risk()
    assert trees.best() == dense.best()


def test_decoding_is_what_the_options_make_of_it() -> None:
    own = Decoding("mbr", projective=True, single_root=False)
    assert own.with_options(ParseOptions()) == own
    assert own.with_options(ParseOptions(decode="map", single_root=True)) == Decoding("map", True, True)
