"""Values travel: pickled, copied or sent to another process, everything is what it was."""

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

from arcwise.graph import GraphParser
from arcwise.inference import Constraints, TreeClass, TreeDistributionBatch
from arcwise.learning.model_file import PRECISIONS, Precision
from arcwise.models import open_packed
from arcwise.parsing import ParseOptions, Parser
from arcwise.transition import every_named
from arcwise.treebanks import Sentence, Treebank
from arcwise.trees import Tree
from contracts.every_parser import PARSERS, graph_parser, toy_pipeline, transition_parser
from contracts.small_treebank import small_treebank
from neural.random_models import random_parser

WAYS: dict[str, Callable[[Any], Any]] = {
    "pickle": lambda value: pickle.loads(pickle.dumps(value)),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}
TEXT = "The dog sees cats. Birds don't hear!"


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def way(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    """A way to make the same value again."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(params=PARSERS.values(), ids=PARSERS, scope="module")
def parser(request: pytest.FixtureRequest) -> Parser:
    return request.param()  # type: ignore[no-any-return]


def test_a_parser_parses_to_the_same_bytes(parser: Parser, way: Callable[[Any], Any]) -> None:
    again = way(parser)
    assert type(again) is type(parser)
    assert again.parse(small_treebank()).data == parser.parse(small_treebank()).data
    assert repr(again.info) == repr(parser.info)


def test_confidences_are_the_same(way: Callable[[Any], Any]) -> None:
    options = ParseOptions(confidence=True)
    neural = random_parser(members=2).with_temperatures(1.7, 0.6, 0.1)
    for parser in (graph_parser("log-linear"), transition_parser("arc-eager"), neural, toy_pipeline()):
        parsed = parser.parse(small_treebank(), options=options).data
        assert way(parser).parse(small_treebank(), options=options).data == parsed


def test_a_parser_that_has_parsed_travels_too(parser: Parser) -> None:
    parsed = parser.parse(small_treebank())
    assert pickle.loads(pickle.dumps(parser)).parse(small_treebank()).data == parsed.data


@pytest.mark.parametrize("precision", PRECISIONS)
def test_what_is_packed_is_unpacked(parser: Parser, precision: Precision) -> None:
    packed = parser.pack(precision)
    again = open_packed(packed)
    assert (again.kind, packed.kind) == (parser.kind, parser.kind)
    full = again.pack("float32")
    fuller = open_packed(full).pack("float32")
    assert full.header == fuller.header
    assert all(np.array_equal(full.arrays[name], fuller.arrays[name]) for name in full.arrays)


def test_tokenizer_and_tagger(way: Callable[[Any], Any]) -> None:
    pipeline = toy_pipeline()  # freshly trained: its weights are not rounded as those of a file
    tokenizer, tagger = way(pipeline.tokenizer), way(pipeline.tagger)
    words = pipeline.tokenizer.tokenize(TEXT).treebank
    assert tokenizer.tokenize(TEXT).treebank.data == words.data
    assert np.array_equal(tagger.tags(words).upos_probability, pipeline.tagger.tags(words).upos_probability)
    assert tagger.tag(words, confidence=True).data == pipeline.tagger.tag(words, confidence=True).data


def test_treebank_and_sentence(way: Callable[[Any], Any]) -> None:
    broken = "1\tHi\t_\t_\t_\t_\t7\troot\t_\t_\n\n"
    treebank = Treebank(
        small_treebank().data + broken.encode(), source="some.conllu", strict=False, first_line=9
    )
    again = way(treebank)
    assert (again.data, again.source, again.first_line) == (treebank.data, "some.conllu", 9)
    assert again.problems == treebank.problems != []
    assert [s.forms for s in again] == [s.forms for s in treebank]
    sentence = treebank[3]
    assert sentence.tree.roots == (2,)  # looked up before it travels
    copied = way(sentence)
    assert (type(copied), copied.number, copied.forms, copied.tree) == (
        Sentence,
        3,
        sentence.forms,
        sentence.tree,
    )
    assert copied.to_conllu() == sentence.to_conllu()


def test_sentences_of_one_treebank_share_it_after_their_travel() -> None:
    first, second = pickle.loads(pickle.dumps(list(small_treebank()[:2])))
    assert first.treebank is second.treebank


def test_document_and_parsed_sentence(way: Callable[[Any], Any]) -> None:
    document = toy_pipeline()(TEXT)
    again = way(document)
    assert again.to_conllu() == document.to_conllu()
    for one, other in zip(again, document, strict=True):
        assert repr(one) == repr(other)
    sentence = way(document[1])
    assert (sentence.confidence, sentence.tree) == (document[1].confidence, document[1].tree)
    assert sentence.alternatives() == document[1].alternatives()


def test_tree(way: Callable[[Any], Any]) -> None:
    tree = Tree.from_heads([2, 0, -1], ["nsubj", "root", "_"])
    again = way(tree)
    assert again == tree
    assert hash(again) == hash(tree)
    assert not again.heads.flags.writeable


@pytest.mark.parametrize("labels", [None, ["a", "b"]])
def test_tree_distribution(way: Callable[[Any], Any], labels: list[str] | None) -> None:
    scores = np.random.default_rng(1).normal(size=(2, 5, 5) if labels else (5, 5))
    trees = TreeDistributionBatch(
        [scores, scores], projective=True, single_root=True, labels=labels, constraints=Constraints(roots=[2])
    )
    best = trees.best()  # fills its caches
    again = way(trees)
    assert again.best() == best
    assert again.log_partition.tolist() == trees.log_partition.tolist()
    assert again[0].minimum_risk() == trees[0].minimum_risk()


@pytest.mark.parametrize("trainer", ["mira", "latent"])
def test_scores(way: Callable[[Any], Any], trainer: str) -> None:
    parser = graph_parser(trainer)
    assert isinstance(parser, GraphParser)
    trees = TreeClass(projective=True, single_root=True)
    scores = parser.scorer.scores(small_treebank(), trees=trees)
    again = way(scores)
    assert (again.labels, again.batch.clusters) == (scores.labels, 2 if trainer == "latent" else 1)
    for one, other in zip(scores.dense_arrays(), again.dense_arrays(), strict=True):
        assert np.array_equal(one, other)
    options = {"projective": True, "single_root": True, "temperature": 1.3, "label_temperature": 0.8}
    one, other = (TreeDistributionBatch(s, **options) for s in (scores, again))
    assert one.minimum_labelled_risk() == other.minimum_labelled_risk()
    # What constraints took away is remembered, for smoothing.
    forbidden = np.concatenate([_arcs(heads).ravel() for heads in one.greedy_heads()])
    constrained = scores.constrained(forbidden=forbidden, highest=scores.highest(1.3))
    options |= {"smoothing": 0.5, "projective": False}
    one, other = (TreeDistributionBatch(s, **options) for s in (constrained, way(constrained)))
    for mine, theirs in zip(one.marginals, other.marginals, strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)


def _arcs(heads: np.ndarray) -> np.ndarray:
    """Marks the best arc of the first word, if it has another."""
    found = np.zeros((len(heads), len(heads)), np.bool_)
    found[heads[1], 1] = len(heads) > 3
    return found


def test_transition_systems(way: Callable[[Any], Any]) -> None:
    for system in every_named():
        again = way(system)
        assert (again, again.name) == (system, system.name)
        assert again.derives([2, 0]) == system.derives([2, 0])


def _parsed(parser: Parser, treebank: Treebank) -> Treebank:
    return parser.parse(treebank)


def test_parsers_and_treebanks_go_to_another_process_and_back() -> None:
    parsers: list[Parser] = [
        graph_parser("mira"),
        transition_parser("arc-eager"),
        transition_parser("dag"),
        random_parser(bits=8),
        toy_pipeline(),
    ]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        there = pool.map(_parsed, parsers, [small_treebank()] * len(parsers))
        assert [t.data for t in there] == [p.parse(small_treebank()).data for p in parsers]
