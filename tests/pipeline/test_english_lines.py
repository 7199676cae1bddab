"""English as people write it (english_lines.txt), cut into words by the models that come with arcwise."""

import pytest
from measuring.english_lines import read_lines

import arcwise
from arcwise.pipeline.pipeline import Pipeline

LINES = read_lines()


@pytest.fixture(scope="module", params=["en", "en-fast"])
def nlp(request: pytest.FixtureRequest) -> Pipeline:
    return arcwise.load(request.param)


def test_there_are_a_hundred_of_ten_kinds() -> None:
    assert len({line.text for line in LINES}) == 100
    assert len({line.kind for line in LINES}) == 10


def test_words_and_sentences(nlp: Pipeline) -> None:
    documents = nlp.pipe(line.text for line in LINES)
    found = [(line, [sentence.forms for sentence in doc]) for line, doc in zip(LINES, documents, strict=True)]
    wrong = [f"{line.text!r}: {sentences}" for line, sentences in found if not line.agrees(sentences)]
    assert not wrong, "\n".join(wrong)


def test_the_text_stays(nlp: Pipeline) -> None:
    for line in LINES:
        for token in nlp(line.text).tokens:
            assert token.form == line.text[token.start : token.end]


def test_a_typographic_apostrophe_changes_nothing_but_the_words(nlp: Pipeline) -> None:
    for line in LINES:
        if "’" in line.text and "‘" not in line.text:
            own, plain = nlp(line.text), nlp(line.text.replace("’", "'"))
            for a, b in zip(own, plain, strict=True):
                assert [form.replace("’", "'") for form in a.forms] == b.forms
                assert (a.upos, a.lemmas, a.tree.heads.tolist()) == (b.upos, b.lemmas, b.tree.heads.tolist())
