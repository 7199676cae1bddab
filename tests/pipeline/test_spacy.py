"""spaCy, where it is installed: documents there and back, DocBin, arcwise as a component."""

from pathlib import Path
from typing import Any

import pytest

import arcwise
from arcwise.errors import ArcwiseError
from arcwise.treebanks import Treebank, exchange
from text.toy import toy_treebank
from treebanks.samples import ALL, PARTIAL, PLAIN, RICH

spacy: Any = pytest.importorskip("spacy", reason="spaCy, which is large, is not installed: pip install spacy")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of spaCy
TEXTS = [
    "They're here,  isn't it?\nJohn can't | go. \n\nNew para.",
    "  Birds sing.\n",
    "The teacher reads a book. The children sleep.",
    "\n \tHi",
]


@pytest.fixture(scope="module")
def nlp() -> Any:
    """spaCy's tokenizer and arcwise."""
    made = spacy.blank("en")
    made.add_pipe("arcwise", config={"alternatives": 2})
    return made


# ---- documents


@pytest.mark.parametrize("text", TEXTS)
def test_a_parsed_text_comes_back(text: str) -> None:
    doc = arcwise.load("en")(text)
    made = exchange.to_spacy(doc)
    assert made.text == doc.text == text
    assert len(list(made.sents)) == len(doc)
    words = [token for token in made if not token.is_space]
    assert [t.text for t in words] == [w.form for s in doc for w in s.words]
    assert [t._.label_probability for t in words] == pytest.approx(
        [p for s in doc for p in s.label_probabilities], abs=1e-4
    )
    assert [s._.probability for s in made.sents] == pytest.approx([s.confidence for s in doc], rel=1e-4)
    assert exchange.from_spacy(made).text == doc.to_conllu()
    again = spacy.tokens.Doc(made.vocab).from_bytes(made.to_bytes())
    assert exchange.from_spacy(again).text == doc.to_conllu()


def test_everything_comes_back() -> None:
    assert exchange.from_spacy(exchange.to_spacy(Treebank.from_string(PLAIN + RICH))).text == PLAIN + RICH
    treebank = toy_treebank()[:20]
    assert exchange.from_spacy(exchange.to_spacy(treebank)).text == treebank.text


@pytest.mark.treebanks
@pytest.mark.parametrize("name", ["English-EWT", "Turkish-IMST", "Arabic-PADT-rs"])
def test_real_treebanks_come_back(treebanks: Path, name: str) -> None:
    vocab = spacy.blank("xx").vocab
    for sentence in Treebank.read(treebanks / name / "dev.conllu.xz")[:100]:
        assert exchange.from_spacy(exchange.to_spacy(sentence, vocab)).data == sentence.conllu_bytes


def test_heads_that_are_not_known() -> None:
    made = exchange.to_spacy(Treebank.from_string(ALL))
    assert not made.has_annotation("DEP")
    assert len(list(made.sents)) == 3
    assert [t.pos_ for t in made][-3:] == Treebank.from_string(PARTIAL)[0].upos
    assert [s.forms for s in exchange.from_spacy(made)] == [s.forms for s in Treebank.from_string(ALL)]


def test_tags_that_are_not_those_of_ud() -> None:
    rows = "1\tHet\thet\tArt\tArt\tonbep|onzijd\t2\tdet\t_\t_\n2\tmeer\tmeer\tNOUN\tN\t_\t0\tROOT\t_\t_\n\n"
    made = exchange.to_spacy(Treebank.from_string(rows))
    assert [t.pos_ for t in made] == ["", "NOUN"]
    assert [t.tag_ for t in made] == ["Art", "N"]


def test_docbin(tmp_path: Path) -> None:
    docs = [arcwise.load("en")(text) for text in TEXTS]
    exchange.to_docbin(docs).to_disk(tmp_path / "corpus.spacy")
    packed = spacy.tokens.DocBin().from_disk(tmp_path / "corpus.spacy")
    assert [t.text for t in exchange.from_docbin(packed)] == [doc.to_conllu() for doc in docs]


def test_documents_that_others_made() -> None:
    blank = spacy.blank("en")
    (only,) = exchange.from_spacy(blank("  Birds   sing.\nFish\tswim. "))
    assert only.forms == ["Birds", "sing", ".", "Fish", "swim", "."]
    assert only.text == "Birds   sing. Fish swim."
    assert only.treebank.surface.text == "  Birds   sing.\nFish\tswim. "
    assert only.misc[1:3] == ["SpaceAfter=No", "SpacesAfter=\\n"]
    assert len(exchange.from_spacy(blank(""))) == len(exchange.from_spacy(blank("  "))) == 0
    assert only.words[0].head_probability is None


# ---- the component


def test_component(nlp: Any) -> None:
    doc = nlp("The teacher reads a book. The children sleep.")
    assert len(list(doc.sents)) == 2
    assert [t.dep_ for t in doc][:6] == ["det", "nsubj", "ROOT", "det", "obj", "punct"]
    assert doc[1].head.text == "reads"
    assert doc[1].pos_ == "NOUN"
    assert 0 < doc[1]._.label_probability <= doc[1]._.head_probability <= 1
    assert all(0 < sentence._.probability <= 1 for sentence in doc.sents)
    assert doc[1]._.alternatives[0][:2] == [3, "nsubj"]
    assert len(doc[1]._.alternatives) == 2


@pytest.mark.parametrize("text", TEXTS)
def test_component_leaves_white_space_alone(nlp: Any, text: str) -> None:
    doc = nlp(text)
    assert doc.text == text
    words = [token for token in doc if not token.is_space]
    parsed = arcwise.load("en").parse(
        [[t.text for t in sentence if not t.is_space] for sentence in doc.sents]
    )
    assert [t.dep_ if t.dep_ != "ROOT" else "root" for t in words] == parsed.column("deprel")
    assert [t.pos_ for t in words] == parsed.column("upos")
    for token in doc:
        if token.is_space:
            assert (token.pos_, token.dep_, token._.head_probability) == ("SPACE", "dep", None)
            assert not list(token.children)
            assert token.head == doc[token.i - 1 if token.i else 1]
    assert exchange.from_spacy(doc).surface.text == text


@pytest.mark.parametrize("text", ["", "   ", "\n"])
def test_component_without_words(nlp: Any, text: str) -> None:
    assert nlp(text).text == text


def test_component_in_batches(nlp: Any) -> None:
    texts = [*TEXTS, "", "  "]
    for one, many in zip(map(nlp, texts), nlp.pipe(texts, batch_size=2), strict=True):
        assert one.to_json() == many.to_json()
        assert [t._.head_probability for t in one] == [t._.head_probability for t in many]


def test_component_keeps_what_others_found() -> None:
    made = spacy.blank("en")
    made.add_pipe("entity_ruler").add_patterns([{"label": "CITY", "pattern": "Prague"}])
    made.add_pipe("arcwise")
    (doc,) = made.pipe(["She lives in Prague. Birds   sing."])
    assert [(e.text, e.label_) for e in doc.ents] == [("Prague", "CITY")]
    assert doc.text == "She lives in Prague. Birds   sing."
    assert [s.root.text for s in doc.sents] == ["lives", "sing"]
    assert spacy.tokens.Doc(made.vocab).from_bytes(doc.to_bytes()).text == doc.text


def test_component_keeps_sentences_that_are_set() -> None:
    made = spacy.blank("en")
    made.add_pipe("sentencizer", config={"punct_chars": ["|"]})
    made.add_pipe("arcwise")
    doc = made("Birds sing. Fish swim | Cats sleep.")
    assert [s.text for s in doc.sents] == ["Birds sing. Fish swim |", "Cats sleep."]


def test_component_is_written_and_read_again(nlp: Any, tmp_path: Path) -> None:
    nlp.to_disk(tmp_path / "pipeline")
    again = spacy.load(tmp_path / "pipeline")
    assert again(TEXTS[2]).to_json() == nlp(TEXTS[2]).to_json()


def test_component_says_what_is_wrong() -> None:
    made = spacy.blank("en")
    with pytest.raises(ArcwiseError, match="nowhere: no such model"):
        made.add_pipe("arcwise", config={"model": "nowhere"})
