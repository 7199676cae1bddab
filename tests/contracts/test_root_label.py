"""A label that training data give to all arcs from the root and to no others stays with them, in every answer
of every kind of parser. What a person decides stands above it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arcwise.evaluation.deps import deps_arcs
from arcwise.graph import GraphConfig, GraphParser
from arcwise.inference import Constraints
from arcwise.models.registry import open_model
from arcwise.parsing import ParseOptions
from arcwise.transition import TransitionConfig, TransitionParser
from arcwise.transition.graphs import gold_graphs
from arcwise.transition.model import TransitionModel
from arcwise.treebanks import Treebank
from contracts.every_parser import PARSERS
from contracts.small_treebank import conllu, small_treebank
from neural.random_models import random_parser

TREES = [
    name
    for name in PARSERS
    if name.startswith(("graph-", "siblings-", "transition-"))
    and name not in ("transition-dag", "graph-latent")
]
NEURAL = {
    "neural-root-label": {"root_label": "root", "seed": 17},
    "neural-root-label-8-bit": {"root_label": "root", "seed": 23, "bits": 8},
    "neural-root-label-latent-ensemble": {"root_label": "root", "members": 2, "clusters": 2, "seed": 19},
}
_MADE: dict[str, Any] = {}


RANDOM = "transition-with-random-weights"


def made(name: str) -> Any:
    if name not in _MADE:
        if name in NEURAL:
            _MADE[name] = random_parser(**NEURAL[name])
        else:
            _MADE[name] = with_random_weights() if name == RANDOM else PARSERS[name]()
    return _MADE[name]


def with_random_weights() -> TransitionParser:
    model = PARSERS["transition-arc-standard"]().model  # type: ignore[attr-defined]
    weights = np.random.default_rng(1).normal(size=len(model.weights)).astype(np.float32)
    parts = (model.config, model.system, model.labels, model.vocabulary)
    return TransitionParser(TransitionModel.build(*parts, weights, root_label=model.root_label))


@pytest.fixture(params=[*TREES, "graph-latent", RANDOM, *NEURAL], scope="module")
def parser(request: pytest.FixtureRequest) -> Any:
    return made(request.param)


@pytest.fixture(params=["graph-mira", "graph-log-linear", "graph-latent", *NEURAL], scope="module")
def scored(request: pytest.FixtureRequest) -> Any:
    """A parser with a distribution over trees."""
    return made(request.param)


def odd_sentences() -> Treebank:
    """Words in orders and with tags that the small treebank lacks, so that parsers err."""
    rows = [
        "loudly/ADV/_/_ ./PUNCT/_/_ spring/NOUN/_/_ in/ADP/_/_ The/DET/_/_ sleeps/VERB/_/_ and/CCONJ/_/_",
        "x/X/_/_ y/SYM/_/_ z/X/_/_",
        "./PUNCT/_/_",
        "a/DET/_/_ the/DET/_/_",
        "sing/VERB/_/_ saw/VERB/_/_ laughed/VERB/_/_ small/ADJ/_/_ small/ADJ/_/_ in/ADP/_/_ in/ADP/_/_",
    ]
    return Treebank.from_string(conllu(rows))


def breaches(treebank: Treebank, root_label: str = "root") -> Iterator[tuple[int, str]]:
    arcs = zip(treebank.heads.tolist(), treebank.column("deprel"), strict=True)
    return ((head, label) for head, label in arcs if (head == 0) != (label == root_label))


def test_trees_keep_the_rule(parser: Any) -> None:
    for treebank in (odd_sentences(), small_treebank(crossing=True)):
        for decode in parser.capabilities.decoders or (None,):
            assert not [*breaches(parser.parse(treebank, options=ParseOptions(decode=decode)))]


@pytest.mark.parametrize("name", ["pipeline", "dmv"])
def test_pipelines_and_grammars_keep_the_rule(name: str) -> None:
    for treebank in (odd_sentences(), small_treebank(crossing=True)):
        parsed = made(name).parse(treebank)
        assert 0 in parsed.heads
        assert not [*breaches(parsed)]


def test_beams_and_k_best_lists_keep_the_rule(parser: Any) -> None:
    options = [ParseOptions(k_best=4)] if parser.capabilities.k_best else []
    options += [ParseOptions(beam=8, confidence=True)] if parser.capabilities.beam else []
    for own in options:
        assert not [*breaches(parser.parse(odd_sentences(), options=own))]


def test_marginals_samples_and_alternatives_keep_the_rule(scored: Any) -> None:
    root = scored.labels.index("root")
    trees = scored.distributions(odd_sentences())
    for marginals, arcs in zip(trees.label_marginals, trees.marginals, strict=True):
        assert not marginals[root, 1:].any()
        assert not np.delete(marginals[:, 0], root, axis=0).any()
        np.testing.assert_allclose(marginals.sum(0), arcs, atol=1e-9)
    for sentence in scored.alternatives(odd_sentences(), k=3):
        for head, label in ((a.head, label) for word in sentence for a in word for label, _ in a.labels):
            assert (head == 0) == (label == "root")


def test_graphs_keep_the_rule(tmp_path: Path) -> None:
    made("transition-dag").save(tmp_path / "model")
    for parser in (made("transition-dag"), open_model(tmp_path / "model")):
        for treebank in (odd_sentences(), small_treebank(crossing=True)):
            for sentence in parser.parse(treebank):
                for head, _, label in deps_arcs(sentence):
                    assert (head == "0") == (label == "root")


@pytest.mark.parametrize("last, rule", [("0:root", True), ("2:root", False), ("0:dep", False)])
def test_graphs_that_break_the_rule_teach_none(last: str, rule: bool) -> None:
    bank = small_treebank()
    arcs = zip(bank.heads.tolist(), bank.column("deprel"), strict=True)
    graphs = [f"{head}:{label}" for head, label in arcs]
    assert (gold_graphs(bank.annotate(deps=[*graphs[:-1], last])).root_label >= 0) == rule


def test_a_required_label_requires_the_root_or_forbids_it(scored: Any) -> None:
    treebank = odd_sentences()[:1]
    required = scored.parse(treebank, constraints=[Constraints(labels={2: "root"})])
    assert required.heads[1] == 0
    forbidden = scored.parse(
        treebank, constraints=[Constraints(labels=dict.fromkeys((1, 2, 3, 4, 5, 7), "obj"))]
    )
    assert forbidden.heads.tolist().index(0) == 5


def test_what_a_person_wrote_stays_where_it_breaks_the_rule(scored: Any) -> None:
    rows = ["The/DET/2/root cat/NOUN/0/nsubj sleeps/VERB/_/_", "cat/NOUN/_/obj"]
    written = Treebank.from_string(conllu(rows))
    parsed = scored.parse(written, options=ParseOptions(keep_heads=True))
    assert parsed.column("deprel")[:2] == ["root", "nsubj"]
    assert parsed.heads[:2].tolist() == [2, 0]
    assert (parsed.heads[3], parsed.column("deprel")[3]) == (0, "obj")


def test_the_rule_is_in_the_model_file(parser: Any, tmp_path: Path) -> None:
    parser.save(tmp_path / "m")
    loaded = type(parser).load(tmp_path / "m")
    assert loaded.parse(odd_sentences()).data == parser.parse(odd_sentences()).data
    assert not [*breaches(loaded.parse(odd_sentences()))]


BREAKING = ["Yes/INTJ/0/root go/VERB/1/root now/ADV/2/advmod", "No/INTJ/0/discourse go/VERB/1/root"]


@pytest.mark.parametrize("row", BREAKING)
def test_a_treebank_that_breaks_the_rule_teaches_none(row: str) -> None:
    rows = ["a/X/0/root b/X/1/obj c/X/1/obl", *[row] * 8]
    treebank = Treebank.from_string(conllu(rows))
    graph = GraphParser.train(treebank, config=GraphConfig(epochs=8, arc_bits=12, row_bits=12))
    transition = TransitionParser.train(
        treebank, config=TransitionConfig(epochs=8, move_bits=12, label_bits=10)
    )
    for parser in (graph, transition):
        assert parser.parse(treebank[1:]).column("deprel") == treebank[1:].column("deprel")


def test_a_tree_that_lost_a_root_in_preparation_teaches_the_rule_all_the_same() -> None:
    """With a single root the second one of a sentence gets another head, and its label is not the root's."""
    rows = ["a/X/0/root b/Y/0/root c/Z/2/obl", "a/X/0/root b/Y/1/obj"] * 4
    treebank = Treebank.from_string(conllu(rows))
    for parser in (
        GraphParser.train(treebank, config=GraphConfig(epochs=4, arc_bits=12, row_bits=12)),
        TransitionParser.train(treebank, config=TransitionConfig(epochs=4, move_bits=12, label_bits=10)),
    ):
        assert not [*breaches(parser.parse(treebank))]


@pytest.mark.parametrize("name", ["en", "en-fast"])
def test_shipped_models_have_the_rule(name: str) -> None:
    parser = open_model(name).parser  # type: ignore[attr-defined]
    assert parser.model.labels[parser.model.root_label] == "root"
    assert not [*breaches(parser.parse(odd_sentences()))]
