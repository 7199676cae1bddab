"""The second-order parser against all trees, one by one, and finite differences."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from arcwise import native
from arcwise.errors import OptionError
from arcwise.factors import FactoredTreeDistribution, Siblings
from arcwise.graph import GraphConfig, GraphParser
from arcwise.graph.scorer import GraphScorer
from arcwise.inference import TreeClass
from arcwise.learning.progress import Progress
from arcwise.parsing import ParseOptions
from arcwise.siblings import SiblingConfig, SiblingParser
from arcwise.siblings.config import SIBLING_TRAINERS
from arcwise.siblings.scorer import sentence_scores
from arcwise.siblings.training import SiblingLearner, SiblingTrainer
from arcwise.treebanks import Treebank
from contracts.small_treebank import conllu, small_treebank
from reference.enumerate_trees import all_trees
from reference.sibling_value import sibling_value

TINY = Treebank.from_string(
    conllu(
        [
            "The/DET/2/det cat/NOUN/3/nsubj sleeps/VERB/0/root",
            "Cats/NOUN/2/nsubj chase/VERB/0/root small/ADJ/4/amod mice/NOUN/2/obj",
            "Run/VERB/0/root now/ADV/1/advmod please/ADV/1/advmod ./PUNCT/1/punct",
        ]
    )
)
QUIET = Progress(shown=False)


def config(trainer: str, **options: object) -> SiblingConfig:
    small: dict[str, object] = {"arc_bits": 12, "row_bits": 12, "sibling_bits": 12, "restrict_labels": False}
    return SiblingConfig(trainer=trainer, **(small | options))  # type: ignore[arg-type]


def random_trainer(settings: SiblingConfig, seed: int = 0) -> tuple[SiblingLearner, SiblingTrainer]:
    """A trainer with random weights."""
    learner = SiblingLearner.of(TINY, settings, 1, QUIET)
    trainer = SiblingTrainer(settings, learner.arcs.table, learner.arcs.data)
    weights = trainer._native.tables[0]
    weights[:] = np.random.default_rng(seed).normal(0, 0.3, len(weights))
    return learner, trainer


def parser_of(learner: SiblingLearner, trainer: SiblingTrainer) -> SiblingParser:
    return SiblingParser(learner.model(trainer._native.weights, learner.first_decoding, {}))


def labelled_scores(parser: SiblingParser, sentence: int) -> np.ndarray:
    """First-order scores, (L, n+1, n+1)."""
    one = Treebank.from_sentences([TINY[sentence]])
    trees = TreeClass(projective=True, single_root=True)
    return np.asarray(GraphScorer(parser.model).scores(one, trees=trees).dense_arrays()[0])


@pytest.mark.parametrize("trainer", ["log-linear", "softmax-margin"])
def test_the_loss_is_that_of_the_enumeration(trainer: str) -> None:
    learner, online = random_trainer(config(trainer))
    parser = parser_of(learner, online)
    codes = {label: code for code, label in enumerate(parser.labels)}
    for s, sentence in enumerate(TINY):
        n = len(sentence)
        scores, (_, siblings) = labelled_scores(parser, s), sentence_scores(parser.model, TINY, s)
        tree = sentence.tree
        gold = tree.heads
        labels = [-1, *(codes[label] for label in tree.labels[1:])]
        values, right = [], -np.inf
        for heads in all_trees(n, projective=True, single_root=True):
            pairs = sibling_value(heads, siblings.scores)
            for chosen in product(range(len(codes)), repeat=n):
                value = pairs + sum(scores[chosen[m - 1], heads[m], m] for m in range(1, n + 1))
                is_gold = (heads[1:] == gold[1:]).all() and [*chosen] == labels[1:]
                right = value if is_gold else right
                if trainer == "softmax-margin":
                    value += sum(
                        int(heads[m] != gold[m]) + int(chosen[m - 1] != labels[m]) for m in range(1, n + 1)
                    )
                values.append(value)
        top = max(values)
        log_z = top + np.log(np.exp(np.array(values) - top).sum())
        assert online._native.loss(s)[0] == pytest.approx(log_z - right, abs=1e-4)


@pytest.mark.parametrize("labelled", [True, False])
@pytest.mark.parametrize("trainer", ["log-linear", "softmax-margin"])
def test_the_gradient_is_the_slope_of_the_loss(trainer: str, labelled: bool) -> None:
    _, online = random_trainer(config(trainer, labelled=labelled))
    kernel, step, rng = online._native, 0.002, np.random.default_rng(1)
    weights = kernel.tables[0]
    for s in range(len(TINY)):
        _, places, values = kernel.loss(s)
        gradient = np.zeros(len(weights))
        gradient[places] = values
        # Along random directions: single weights are floats, whose differences lose digits.
        for _ in range(5):
            direction = np.where(gradient != 0, rng.normal(size=len(weights)), 0).astype(np.float32)
            before = weights.copy()
            losses = []
            for sign in (1, -1):
                weights[:] = before + sign * np.float32(step) * direction
                losses.append(kernel.loss(s)[0])
            weights[:] = before
            slope = (losses[0] - losses[1]) / (2 * step)
            assert slope == pytest.approx(gradient @ direction, rel=0.02, abs=0.02)


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_margin_scores_are_those_of_the_best_trees(seed: int, projective: bool) -> None:
    learner, online = random_trainer(config("mira"), seed)
    parser = parser_of(learner, online)
    trees = TreeClass(projective=projective, single_root=True)
    for s in range(len(TINY)):
        one = Treebank.from_sentences([TINY[s]])
        arcs, siblings = sentence_scores(parser.model, TINY, s)
        n = len(arcs) - 1
        best = np.full((n + 1, n + 1), -np.inf)
        for heads in all_trees(n, projective=True, single_root=True):
            value = sum(arcs[heads[m], m] for m in range(1, n + 1)) + sibling_value(heads, siblings.scores)
            for m in range(1, n + 1):
                best[heads[m], m] = max(best[heads[m], m], value)
        candidates = all_trees(n, projective=projective, single_root=True)
        values = [
            sum(arcs[heads[m], m] for m in range(1, n + 1)) + sibling_value(heads, siblings.scores)
            for heads in candidates
        ]
        winner = [*candidates][int(np.argmax(values))]
        if not projective:
            for m in range(1, n + 1):
                best[winner[m], m] = max(values)
        scores = np.asarray(parser.scorer.scores(one, trees=trees).dense_arrays()[0]).max(axis=0)
        possible = best > -np.inf
        np.testing.assert_allclose(scores[possible], best[possible], atol=1e-5)
        for decoder in ("map", "greedy"):
            parsed = parser.parse(one, options=ParseOptions(projective=projective, decode=decoder))
            np.testing.assert_array_equal(parsed.heads, winner[1:])


def test_probabilistic_scores_are_log_probabilities() -> None:
    learner, online = random_trainer(config("log-linear", labelled=False))
    parser = parser_of(learner, online)
    for s in range(len(TINY)):
        one = Treebank.from_sentences([TINY[s]])
        arcs, siblings = sentence_scores(parser.model, TINY, s)
        expected = FactoredTreeDistribution(
            arcs, factors=[siblings], projective=True, single_root=True
        ).marginals
        trees = TreeClass(projective=True, single_root=True)
        scores = np.asarray(parser.scorer.scores(one, trees=trees).dense_arrays()[0])
        possible = expected > 0
        np.testing.assert_allclose(scores[possible], np.log(expected[possible]), atol=1e-9)


def test_without_sibling_weights_the_parse_is_that_of_the_first_order() -> None:
    learner, online = random_trainer(config("mira"))
    weights = online._native.tables[0]
    weights[learner.arcs.table.cells :] = 0
    parser = parser_of(learner, online)
    arcs = np.array(weights[: learner.arcs.table.cells])
    first = GraphParser(learner.arcs.model(arcs, learner.first_decoding, {}))
    for projective in (True, False):
        options = ParseOptions(projective=projective)
        np.testing.assert_array_equal(
            parser.parse(TINY, options=options).heads, first.parse(TINY, options=options).heads
        )


@pytest.mark.parametrize("trainer", list(SIBLING_TRAINERS))
def test_trees_with_crossing_arcs_are_learned_where_many_sentences_have_them(trainer: str) -> None:
    few, many = small_treebank(), small_treebank(crossing=True)  # 0 of 8 sentences and 2 of 10
    searches = not SIBLING_TRAINERS[trainer].probabilistic
    assert config(trainer).resolved(few).projective is True
    assert config(trainer).resolved(many).projective is not searches
    assert config(trainer, projective=True).resolved(many).projective is True
    parser = SiblingParser.train(many, config=config(trainer, epochs=2))
    assert parser.model.config.projective is not searches
    assert parser.decoding.projective is not searches


@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("trainer", list(SIBLING_TRAINERS))
def test_a_small_treebank_is_learned_by_heart(trainer: str, projective: bool) -> None:
    if not projective and SIBLING_TRAINERS[trainer].probabilistic:
        with pytest.raises(OptionError, match="sums over projective trees only"):
            config(trainer, projective=False)
        return
    treebank = small_treebank()
    parser = SiblingParser.train(treebank, config=config(trainer, epochs=12, projective=projective))
    right = np.asarray(parser.parse(treebank).heads) == np.asarray(treebank.heads)
    crossing = np.zeros(len(right), bool)
    crossing[-12:] = True
    assert right[~crossing].all()
    assert projective or right.mean() > 0.95


def test_the_same_seed_gives_the_same_parser_at_any_number_of_threads() -> None:
    treebank = small_treebank()
    one, other = (
        SiblingParser.train(treebank, treebank, config=config("mira", epochs=3), threads=threads)
        for threads in (1, 3)
    )
    np.testing.assert_array_equal(one.model.weights, other.model.weights)
    np.testing.assert_array_equal(one.model.siblings, other.model.siblings)
    assert one.parse(treebank, threads=1).data == other.parse(treebank, threads=3).data
    assert np.count_nonzero(one.model.siblings) > 0


@pytest.mark.parametrize("words", [1, 2, 401])
def test_sentences_of_any_length(words: int) -> None:
    parser = SiblingParser.train(small_treebank(), config=config("mira", epochs=1))
    rows = "".join(f"{i}\tw\t_\tNOUN\t_\t_\t_\t_\t_\t_\n" for i in range(1, words + 1))
    parsed = parser.parse(Treebank.from_string(rows + "\n"), options=ParseOptions(max_words=1000))
    assert (np.asarray(parsed.heads) == 0).sum() == 1


def test_bad_options_are_refused_in_one_sentence() -> None:
    with pytest.raises(OptionError, match="trainer: found 'eg'"):
        SiblingConfig(trainer="eg")
    with pytest.raises(OptionError, match="of order 2 ignores it"):
        SiblingParser.train(TINY, config=config("perceptron", C=0.5))
    assert isinstance(config("mira").arc_config, GraphConfig)
    assert not isinstance(config("mira").arc_config, SiblingConfig)


def test_kernels_refuse_what_does_not_fit() -> None:
    learner, online = random_trainer(config("mira"))
    with pytest.raises(IndexError, match="sentence out of range"):
        online._native.run(np.array([99], np.int64), 1)
    parser = parser_of(learner, online)
    batch = GraphScorer(parser.model).scores(TINY, trees=TreeClass(projective=True, single_root=True)).batch
    with pytest.raises(ValueError, match="weights of another table"):
        native.with_siblings(
            batch, learner.arcs.table, np.zeros(7, np.float32), learner.arcs.data,
            bits=12, projective=True, single_root=True, by_sum=False, threads=1,
        )  # fmt: skip
    assert Siblings(np.zeros((2, 2, 2)))
