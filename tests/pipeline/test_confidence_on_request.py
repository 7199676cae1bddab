"""When a pipeline computes confidences: by default where they are exact, otherwise on request."""

from __future__ import annotations

import io

import pytest

from arcwise.models.train_pipeline import PipelineConfig, train_pipeline
from arcwise.parsing.parser import ParseOptions
from arcwise.pipeline.pipeline import Pipeline
from contracts.every_parser import toy_pipeline
from text.toy import toy_treebank

TEXT = "The dog sees cats. Birds don't hear!"


@pytest.fixture(scope="module")
def greedy() -> Pipeline:
    options = {"epochs": 2, "move_bits": 12, "label_bits": 10}
    return train_pipeline(
        toy_treebank()[:100], config=PipelineConfig(kind="transition", jackknife=0), parser=options
    )


@pytest.fixture(scope="module")
def exact() -> Pipeline:
    return toy_pipeline()


def test_a_greedy_parser_searches_no_beam_unless_confidences_are_wanted(greedy: Pipeline) -> None:
    doc = greedy(TEXT)
    assert doc.parses is not None
    assert doc.parses.probabilities is None
    assert [s.confidence for s in doc] == [None, None]
    assert [s.head_probabilities for s in doc] == [None, None]
    assert "HeadProb" not in doc.to_conllu()
    assert repr(doc)
    # The trees are those of the command line.
    (piece,) = greedy.analyses(io.BytesIO(TEXT.encode()))
    assert doc.to_conllu() == piece.treebank.text


def test_confidences_of_a_greedy_parser_come_on_request(greedy: Pipeline) -> None:
    doc = greedy(TEXT, confidence=True)
    for sentence in doc:
        assert sentence.confidence is not None
        assert 0 < sentence.confidence <= 1
        assert len(sentence.head_probabilities or ()) == len(sentence)
    assert "HeadProb=" in doc.to_conllu()
    assert "UposProb=" in doc.to_conllu()
    asked = ParseOptions(confidence=True)
    assert [d.to_conllu() for d in greedy.pipe([TEXT], options=asked)] == [doc.to_conllu()]


def test_exact_confidences_are_there_unless_they_are_switched_off(exact: Pipeline) -> None:
    doc, without = exact(TEXT), exact(TEXT, confidence=False)
    assert doc[0].confidence is not None
    assert doc.to_conllu() == exact(TEXT, confidence=True).to_conllu()
    assert without[0].confidence is None
    assert "HeadProb" not in without.to_conllu()
    assert [s.tree for s in without] == [s.tree for s in doc]
    assert [s.alternatives() for s in without] == [s.alternatives() for s in doc]


@pytest.mark.parametrize("kind", ["greedy", "exact"])
def test_pipe_and_stream_have_the_defaults_of_a_call(kind: str, request: pytest.FixtureRequest) -> None:
    pipeline: Pipeline = request.getfixturevalue(kind)
    one = pipeline(TEXT).to_conllu()
    assert [doc.to_conllu() for doc in pipeline.pipe([TEXT])] == [one]
    assert [doc.to_conllu() for doc in pipeline.stream(io.BytesIO(TEXT.encode()))] == [one]
