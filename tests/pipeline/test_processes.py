"""A pipeline in several processes: joblib and multiprocessing, pickled as it is."""

from multiprocessing import get_context
from typing import Any

import pytest

import arcwise
from arcwise.pipeline.document import Document
from contracts.every_parser import toy_pipeline
from treebanks.samples import ALL

TEXTS = ["The dog sees cats.", "Birds don't hear!", "", "A cat sleeps. The birds see it."]


@pytest.fixture(scope="module")
def nlp() -> Any:
    """A small pipeline."""
    return toy_pipeline()


@pytest.fixture(scope="module")
def here(nlp: Any) -> list[str]:
    """What this process says."""
    return [nlp(text).to_conllu() for text in TEXTS]


def test_multiprocessing(nlp: Any, here: list[str]) -> None:
    with get_context("spawn").Pool(1) as pool:
        docs = pool.map(nlp, TEXTS)
    assert [doc.to_conllu() for doc in docs] == here
    assert all(isinstance(doc, Document) for doc in docs)
    assert docs[0][0].alternatives() == nlp(TEXTS[0])[0].alternatives()
    assert docs[0].tokens[1].words[0].head_probability == nlp(TEXTS[0])[0].head_probabilities[1]


@pytest.mark.slow
def test_joblib(nlp: Any, here: list[str]) -> None:
    joblib = pytest.importorskip("joblib", reason="joblib is not installed")
    with joblib.parallel_config(backend="loky"):
        docs = joblib.Parallel(n_jobs=2)(joblib.delayed(nlp)(text) for text in TEXTS)
    assert [doc.to_conllu() for doc in docs] == here


def test_a_model_by_name_in_every_process() -> None:
    joblib = pytest.importorskip("joblib", reason="joblib is not installed")
    texts = ["They're here.", "Birds sing."]
    docs = joblib.Parallel(n_jobs=1)(joblib.delayed(arcwise.load("en"))(text) for text in texts)
    assert [doc.text for doc in docs] == texts


@pytest.mark.slow
def test_words_of_a_treebank_travel(nlp: Any) -> None:
    with get_context("spawn").Pool(1) as pool:
        forms = pool.map(_form, list(arcwise.Treebank.from_string(ALL)[0].words))
    assert forms == ["Birds", "sing", "."]


def _form(word: Any) -> str:
    return str(word.form)
