"""Values travel: pickled, copied or sent to another process, everything is what it was."""

import copy
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any

import numpy as np
import pytest

from arcwise.graph import TRAINERS, GraphConfig, GraphParser
from arcwise.induction.dmv import DMV
from arcwise.induction.parser import DmvParser
from arcwise.inference import Constraints, TreeDistribution
from arcwise.learning.model_file import PRECISIONS, Precision
from arcwise.models import open_packed
from arcwise.models.train_pipeline import PipelineConfig, train_pipeline
from arcwise.parsing import ParseOptions, Parser
from arcwise.pipeline.pipeline import Pipeline
from arcwise.transition import TransitionConfig, TransitionParser, every_named
from arcwise.treebanks import Sentence, Treebank
from arcwise.trees import Tree
from contracts.small_treebank import small_treebank
from text.toy import toy_treebank

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


def graph_parser(trainer: str) -> Parser:
    config = GraphConfig(trainer=trainer, epochs=2, clusters=2, arc_bits=12, row_bits=12)  # type: ignore[arg-type]
    return GraphParser.train(small_treebank(), small_treebank(), config=config)


def transition_parser(system: str) -> Parser:
    config = TransitionConfig(system=system, epochs=2, move_bits=12, label_bits=10)
    return TransitionParser.train(with_graphs(), config=config)


def with_graphs() -> Treebank:
    """The small treebank with its trees in DEPS too, for DAG systems."""
    treebank = small_treebank()
    arcs = zip(treebank.heads, treebank.column("deprel"), strict=True)
    return treebank.annotate(deps=[f"{head}:{label}" for head, label in arcs])


def toy_pipeline() -> Pipeline:
    options = {"epochs": 2, "arc_bits": 12, "row_bits": 12}
    return train_pipeline(toy_treebank()[:100], config=PipelineConfig(jackknife=2), parser=options)


PARSERS: dict[str, Callable[[], Parser]] = {
    **{f"graph-{trainer}": lambda trainer=trainer: graph_parser(trainer) for trainer in TRAINERS},
    **{f"transition-{s.name}": lambda name=s.name: transition_parser(name) for s in every_named()},
    "dmv": lambda: DmvParser(DMV.random(("DET", "NOUN", "VERB"), seed=3)),
    "pipeline": toy_pipeline,
}


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
    for parser in (graph_parser("log-linear"), transition_parser("arc-eager"), toy_pipeline()):
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
    trees = TreeDistribution(
        [scores, scores], projective=True, single_root=True, labels=labels, constraints=Constraints(roots=[2])
    )
    best = trees.best()  # fills its caches
    again = way(trees)
    assert again.best() == best
    assert again.log_partition.tolist() == trees.log_partition.tolist()
    assert again[0].minimum_risk() == trees[0].minimum_risk()


def test_transition_systems(way: Callable[[Any], Any]) -> None:
    for system in every_named():
        again = way(system)
        assert (again, again.name) == (system, system.name)
        assert again.derives([2, 0]) == system.derives([2, 0])


def _parsed(parser: Parser, treebank: Treebank) -> Treebank:
    return parser.parse(treebank)


def test_parsers_and_treebanks_go_to_another_process_and_back() -> None:
    parsers = [graph_parser("mira"), transition_parser("arc-eager"), transition_parser("dag"), toy_pipeline()]
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        there = pool.map(_parsed, parsers, [small_treebank()] * len(parsers))
        assert [t.data for t in there] == [p.parse(small_treebank()).data for p in parsers]
