"""Other libraries, where they are installed: pandas, conllu, spaCy."""

import pytest

import arcwise
from arcwise.errors import InputError, MissingExtraError
from arcwise.treebanks import Treebank, exchange
from text.toy import toy_treebank
from treebanks.samples import ALL, RICH


def test_pandas_and_back() -> None:
    pytest.importorskip("pandas", reason="pandas is not installed")
    treebank = toy_treebank()[:5]
    table = exchange.to_pandas(treebank)
    assert list(table.columns[:4]) == ["sentence", "sent_id", "id", "form"]
    again = exchange.from_pandas(table)
    for name in ("form", "lemma", "upos", "feats", "deprel"):
        assert again.column(name) == treebank.column(name)
    assert again.heads.tolist() == treebank.heads.tolist()
    assert exchange.from_pandas(exchange.to_pandas(Treebank.from_string(ALL)))[2].tree.heads.tolist() == [
        -1,
        3,
        -1,
        -1,
    ]
    with pytest.raises(InputError, match="expected at least 'form'"):
        exchange.from_pandas(table[["upos"]])


def test_conllu_and_back() -> None:
    pytest.importorskip("conllu", reason="the conllu library is not installed")
    treebank = Treebank.from_string(RICH)
    sentences = exchange.to_conllu_library(treebank)
    assert sentences[0][0]["form"] == "Vámonos"
    assert exchange.from_conllu_library(sentences)[0].tree == treebank[0].tree


def test_spacy_documents() -> None:
    pytest.importorskip("spacy", reason="spaCy, which is large, is not installed: pip install spacy")
    sentence = toy_treebank()[200]
    doc = exchange.to_spacy(sentence)
    assert [t.text for t in doc] == sentence.forms
    assert doc.text.strip() == sentence.text
    assert [t.pos_ for t in doc] == sentence.upos
    (again,) = exchange.from_spacy(doc)
    assert again.tree.heads.tolist() == sentence.tree.heads.tolist()
    assert again.lemmas == sentence.lemmas


def test_spacy_component() -> None:
    spacy = pytest.importorskip("spacy", reason="spaCy, which is large, is not installed: pip install spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("arcwise")
    doc = nlp("The teacher reads a book. The children sleep.")
    assert len(list(doc.sents)) == 2
    assert [t.dep_ for t in doc][:6] == ["det", "nsubj", "ROOT", "det", "obj", "punct"]
    assert doc[1].head.text == "reads"
    assert doc[1].pos_ == "NOUN"
    assert 0 < doc[1]._.head_probability <= 1
    assert len(nlp("")) == 0


def test_spacy_component_keeps_what_others_found() -> None:
    spacy = pytest.importorskip("spacy", reason="spaCy, which is large, is not installed: pip install spacy")
    nlp = spacy.blank("en")
    nlp.add_pipe("entity_ruler").add_patterns([{"label": "CITY", "pattern": "Prague"}])
    nlp.add_pipe("arcwise")
    (doc,) = nlp.pipe(["She lives in Prague. Birds   sing."])
    assert [(e.text, e.label_) for e in doc.ents] == [("Prague", "CITY")]
    assert doc.text == "She lives in Prague. Birds   sing."
    assert [s.root.text for s in doc.sents] == ["lives", "sing"]
    assert spacy.tokens.Doc(nlp.vocab).from_bytes(doc.to_bytes()).text == doc.text


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(MissingExtraError, match=r"needs pandas, which is not installed: .*install pandas$"):
        exchange.to_pandas(arcwise.Treebank.from_string(""))
