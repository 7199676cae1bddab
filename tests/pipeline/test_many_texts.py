"""Many texts at a time: the same documents as one by one, in order, lazily; and what a caller gets wrong."""

from __future__ import annotations

import io
import itertools
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import arcwise
from arcwise.errors import InputError
from arcwise.models.train_pipeline import PipelineConfig, train_pipeline
from arcwise.parsing.parser import ParseOptions
from arcwise.pipeline import text_batches
from arcwise.pipeline.document import Document
from arcwise.pipeline.pipeline import Pipeline
from text.toy import toy_treebank

TEXTS = [
    "The dog sees cats.",
    "",
    "Birds don't hear! The teacher likes robins.",
    "  \n\t",
    "a\x00b \ud800 🙂👩‍👩‍👧\n\nThe cat",
    "The dog sees cats. " * 9,
    "Dogs don't see!",
]


@pytest.fixture(scope="module")
def toy() -> Pipeline:
    treebank = toy_treebank()
    small = {"epochs": 2, "arc_bits": 14, "row_bits": 13}
    return train_pipeline(treebank, treebank[:40], config=PipelineConfig(jackknife=2), parser=small)


def same(found: Document, expected: Document) -> bool:
    """Whether two documents are equal: their bytes, and their trees and probabilities as arrays."""
    if found.treebank.data != expected.treebank.data or (found.parses is None) != (expected.parses is None):
        return False
    if found.parses is None or expected.parses is None:
        return True
    pairs = [(found.parses.heads, expected.parses.heads), (found.parses.labels, expected.parses.labels)]
    one, other = found.parses.probabilities, expected.parses.probabilities
    if one is not None and other is not None:
        pairs += [(one.head, other.head), (one.label, other.label)]  # type: ignore[list-item]
        pairs += [(one.log_tree, other.log_tree), (one.head_entropy, other.head_entropy)]  # type: ignore[list-item]
    return (one is None) == (other is None) and all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.slow
@given(
    texts=st.lists(st.sampled_from(TEXTS) | st.text(max_size=40), max_size=12),
    batch_size=st.integers(1, 14),
    threads=st.integers(1, 3),
    limit=st.sampled_from([1, 60, 1 << 18]),
)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pipe_is_one_by_one(
    toy: Pipeline, texts: list[str], batch_size: int, threads: int, limit: int
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_batches, "BATCH_BYTES", limit)
        patch.setattr("arcwise.pipeline.pipeline.BATCH_BYTES", limit)
        found = list(toy.pipe(texts, batch_size=batch_size, threads=threads))
    expected = [toy(text) for text in texts]
    assert len(found) == len(texts)
    assert all(same(a, b) for a, b in zip(found, expected, strict=True))


@pytest.mark.parametrize("options", [ParseOptions(), ParseOptions(k_best=2), ParseOptions(alternatives=2)])
def test_options_reach_every_text(toy: Pipeline, options: ParseOptions) -> None:
    together = toy.analyse_texts(TEXTS, options=options)
    alone = [toy.analyse_texts([text], options=options)[0] for text in TEXTS]
    assert all(same(a, b) for a, b in zip(together, alone, strict=True))
    streamed = [
        b"".join(d.treebank.data for d in toy.stream(io.StringIO(text), options=options)) for text in TEXTS
    ]
    assert [d.treebank.data for d in together] == streamed


@pytest.mark.parametrize("name", ["en-fast", "en"])
def test_the_models_that_ship(name: str) -> None:
    nlp = arcwise.load(name)
    texts = ["Birds sing.", "I saw her duck. We didn't!", "", "A list:\n\n- one\n- two", "Why?"]
    for threads in (1, 2):
        found = nlp.pipe(texts, batch_size=3, threads=threads)
        assert all(same(a, nlp(text)) for a, text in zip(found, texts, strict=True))


def test_contexts_come_back_with_their_documents(toy: Pipeline) -> None:
    pairs = [("The dog sees cats.", {"id": 1}), ("", None), ("Birds don't hear!", "c")]
    found = list(toy.pipe(pairs, as_tuples=True, batch_size=2))
    assert [context for _, context in found] == [context for _, context in pairs]
    assert [len(document) for document, _ in found] == [1, 0, 1]


def test_pipe_is_lazy_and_endless(toy: Pipeline) -> None:
    taken = 0

    def endless() -> Iterator[str]:
        nonlocal taken
        while True:
            taken += 1
            yield "The dog sees cats."

    found = toy.pipe(endless(), batch_size=5)
    assert taken == 0
    assert [len(d) for d in itertools.islice(found, 7)] == [1] * 7
    assert taken == 10


def test_long_texts_are_not_gathered(toy: Pipeline, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_batches, "BATCH_BYTES", 30)
    taken: list[int] = []
    texts = (taken.append(i) or "The dog sees cats." for i in range(9))
    next(toy.pipe(texts, batch_size=100))
    assert taken == [0, 1]


def test_documents_stand_alone(toy: Pipeline) -> None:
    first, second = toy.analyse_texts(["The dog sees cats.", "Birds don't hear!"])
    assert second.parses is not None
    assert second.parses.heads.base is None  # else one document would keep the whole batch
    again = pickle.loads(pickle.dumps(second))
    assert again.to_conllu() == second.to_conllu() != first.to_conllu()
    assert second[0].sent_id == "1"
    assert "TokenRange=0:5" in second[0].misc[0]


def test_what_is_no_text_is_told_after_those_before_it(toy: Pipeline) -> None:
    found: list[Document] = []
    with pytest.raises(InputError, match=r"texts\[2\]: found int, expected a string"):
        found.extend(toy.pipe(["The dog", "The cat", 3]))  # type: ignore[list-item]
    assert len(found) == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda nlp: nlp(["a", "b"]),
            r"text: found list, expected a string; nlp.pipe\(texts\) parses several",
        ),
        (lambda nlp: nlp(b"a"), r"text: found bytes, expected a string; text.decode\(\)"),
        (lambda nlp: nlp(io.StringIO("a")), r"found StringIO, expected a string; nlp.stream\(file\)"),
        (lambda nlp: list(nlp.pipe("a")), r"texts: found one str, expected several texts; nlp\(text\)"),
        (lambda nlp: list(nlp.pipe(["a"], batch_size=0)), "batch_size: found 0, expected"),
        (lambda nlp: list(nlp.pipe(["a"], as_tuples=True)), r"texts\[0\]: found str, expected a pair"),
        (lambda nlp: list(nlp.pipe([(1, 2)], as_tuples=True)), r"texts\[0\]\[0\]: found int"),
        (lambda nlp: nlp.analyse_texts(["a", None]), r"texts\[1\]: found NoneType"),
        (lambda nlp: list(nlp.stream("a.txt")), "stream: found str, expected an open file"),
    ],
)
def test_what_a_caller_gets_wrong(toy: Pipeline, call: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        call(toy)


def test_files_of_text_and_of_bytes(toy: Pipeline, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("The dog sees cats.\n\nThé cat — 🙂.\n", encoding="utf-8")
    with path.open(encoding="utf-8") as text, path.open("rb") as data:
        one, other = list(toy.stream(text)), list(toy.stream(data))
    assert isinstance(one[0], Document)
    assert [d.to_conllu() for d in one] == [d.to_conllu() for d in other]
    assert one[0][0].confidence is not None
    with path.open("rb") as data:
        plain = list(toy.stream(data, options=ParseOptions()))
    assert plain[0][0].confidence is None
