"""Treebanks and documents as JSON: nothing is lost, the schema holds, and what is wrong is told."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcwise
from arcwise import InputError, Treebank
from arcwise.pipeline.document import Document
from arcwise.treebanks.json_format import json_schema
from treebanks.generated import sentences
from treebanks.json_schema_check import violations
from treebanks.samples import ALL, RICH

SCHEMA = json_schema()
CONLLX = "1\tHet\thet\tArt\tArt\tonbep|onzijd\t2\tdet\t_\t_\n2\tmeer\tmeer\tN\tN\tsoort|ev\t0\tROOT\t_\t_\n\n"
TEXT = "  They're here,  isn't it?\nJohn can't | go. \n\nNew para.\\s  "


def through_json(treebank: Treebank) -> tuple[Treebank, dict[str, Any]]:
    """The treebank after a trip through JSON text, and what the text has."""
    values = json.loads(json.dumps(treebank.to_json(), allow_nan=False))
    assert list(violations(values, SCHEMA, SCHEMA)) == []
    return Treebank.from_json(values), values


@pytest.mark.parametrize("text", [ALL, RICH, CONLLX, "#a\tb\n" + ALL])
def test_samples_come_back_to_the_byte(text: str) -> None:
    again, values = through_json(Treebank.from_string(text))
    assert again.text == text
    assert len(values["sentences"]) == len(again)


@settings(max_examples=60, deadline=None)
@given(st.lists(sentences(), min_size=1, max_size=3))
def test_any_sentences_come_back_to_the_byte(own: list[str]) -> None:
    treebank = Treebank.from_string("".join(own))
    again, values = through_json(treebank)
    assert again.data == treebank.data
    for sentence, part in zip(treebank, values["sentences"], strict=True):
        assert Treebank.from_json(part).data == sentence.conllu_bytes
        assert sentence.to_json() == part


@pytest.mark.slow
@pytest.mark.treebanks
@pytest.mark.parametrize(
    "name", ["English-EWT", "Arabic-PADT-rs", "Turkish-IMST", "Dutch-Alpino-cdbl", "Japanese-GSD"]
)
def test_real_treebanks_come_back_to_the_byte(treebanks: Path, name: str) -> None:
    treebank = Treebank.read(treebanks / name / "dev.conllu.xz")[:300]
    assert through_json(treebank)[0].data == treebank.data


def test_byte_order_mark_and_line_ends_are_all_that_goes() -> None:
    treebank = Treebank.from_string("\ufeff" + ALL.replace("\n", "\r\n"))
    assert through_json(treebank)[0].text == ALL


def test_fields_say_what_the_columns_say() -> None:
    (sentence,) = Treebank.from_string(RICH).to_json()["sentences"]
    assert sentence["sent_id"] == "two"
    assert sentence["comments"][0] == "newdoc id = d1"
    assert sentence["tokens"][0] == {"id": "1-2", "form": "Vámonos", "start": 0, "end": 7}
    assert "start" not in sentence["words"][0]  # it is inside a multiword token
    assert sentence["words"][0]["feats"] == {"Mood": "Imp", "Number": "Plur"}
    assert sentence["words"][5]["deps"] == [{"head": "8", "label": "cc"}, {"head": "8.1", "label": "cc"}]
    assert sentence["words"][4] | {} == {
        "id": 5,
        "form": "río",
        "lemma": "río",
        "upos": "NOUN",
        "head": 1,
        "label": "obl",
        "deps": [{"head": "1", "label": "obl:a"}],
        "start": 11,
        "end": 14,
    }
    assert sentence["empty_nodes"][0]["id"] == "8.1"
    (dutch,) = Treebank.from_string(CONLLX).to_json()["sentences"]
    assert dutch["words"][0]["feats"] == "onbep|onzijd"


def test_a_document_with_probabilities() -> None:
    doc = arcwise.load("en")(TEXT)
    values = json.loads(json.dumps(doc.to_json()))
    assert list(violations(values, SCHEMA, SCHEMA)) == []
    assert values["text"] == doc.text == TEXT
    for sentence in values["sentences"]:
        assert sentence["text"] == TEXT[sentence["start"] : sentence["end"]]
        assert 0 < sentence["probability"] <= 1
        for token in (*sentence.get("tokens", []), *(w for w in sentence["words"] if "start" in w)):
            assert TEXT[token["start"] : token["end"]] == token["form"]
    again = Document.from_json(values)
    assert again.to_conllu() == doc.to_conllu()
    assert again.text == TEXT
    for before, after in zip(doc, again, strict=True):
        assert after.head_probabilities == pytest.approx(before.head_probabilities, abs=1e-4)
        assert after.label_probabilities == pytest.approx(before.label_probabilities, abs=1e-4)
        assert after.confidence == pytest.approx(before.confidence, rel=1e-4)
        assert after.alternatives() == [[]] * len(after)  # nobody to ask


def test_alternatives_are_told() -> None:
    from arcwise.parsing.parser import ParseOptions

    parsed = arcwise.load("en").parse(
        [["Birds", "sing"]], options=ParseOptions(confidence=True, alternatives=2)
    )
    again, values = through_json(parsed)
    assert again.data == parsed.data
    told = values["sentences"][0]["words"][0]["alternatives"]
    assert len(told) == 2
    assert told[0]["head"] == 2
    assert told[0]["probability"] == values["sentences"][0]["words"][0]["label_probability"]


def test_as_little_as_others_may_have() -> None:
    made = Treebank.from_json(
        {
            "sentences": [
                {
                    "sent_id": "s1",
                    "text": "Hi!",
                    "probability": 0.5,
                    "words": [
                        {"form": "Hi", "head_probability": 0.75, "misc": {"SpaceAfter": "No"}},
                        {"form": "!", "label_probability": 1, "lemma": None, "alternatives": []},
                    ],
                }
            ]
        }
    )
    assert made.text == (
        "# sent_id = s1\n# text = Hi!\n# tree_prob = 0.5\n"
        "1\tHi\t_\t_\t_\t_\t_\t_\t_\tSpaceAfter=No|HeadProb=0.7500\n2\t!\t_\t_\t_\t_\t_\t_\t_\tDeprelProb=1.0000\n\n"
    )
    told = [{"head": 0, "label": "root", "probability": 0.9}]
    made = Treebank.from_json({"words": [{"form": "Hi", "alternatives": told}]})
    assert made[0].misc == ["Alternatives=0:root:0.9000"]
    assert made.to_json()["sentences"][0]["words"][0]["alternatives"] == told


def word(**fields: Any) -> dict[str, Any]:
    """A document of one word."""
    return {"sentences": [{"words": [{"form": "Hi", **fields}]}]}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ("text", r"json: found 'text', expected an object with 'sentences'"),
        ({"text": "Hi"}, r"json: found .*, expected an object with 'sentences'"),
        ({"sentences": 3}, r"sentences: found 3, expected a list"),
        ({"sentences": [3]}, r"sentences\[0\]: found 3, expected an object"),
        ({"sentences": [{"words": []}]}, r"sentences\[0\].words: found \[\], expected at least one"),
        ({"words": [3]}, r"^words\[0\]: found 3, expected an object"),
        ({"words": [{"lemma": "hi"}]}, r"^words\[0\]: 'form' is missing"),
        (
            word(upostag="X"),
            r"sentences\[0\].words\[0\]: found the field 'upostag', expected some of id, form",
        ),
        (word(form=3), r"words\[0\].form: found 3, expected text"),
        (word(form="a\tb"), r"words\[0\].form: found 'a\\tb', expected text without tabs and line breaks"),
        (word(head="1"), r"words\[0\].head: found '1', expected the number of a word"),
        (word(head=True), r"words\[0\].head: found True"),
        (word(head=-1), r"words\[0\].head: found -1"),
        (word(head=7), r"<json>:1: "),
        (word(id="1-2"), r"words\[0\].id: found '1-2', expected a whole number"),
        (word(id=3), r"<json>:1: "),
        (word(feats={"Case": 3}), r"words\[0\].feats.Case: found 3, expected text"),
        (word(deps=[{"head": "1"}]), r"words\[0\].deps\[0\]: 'label' is missing"),
        (word(head_probability=2), r"words\[0\].head_probability: found 2, expected a number from 0 to 1"),
        (word(alternatives=[{"head": 1}]), r"words\[0\].alternatives\[0\]: 'probability' is missing"),
        (
            {"words": [{"form": "Hi"}], "comments": ["a\nb"]},
            r"comments\[0\]: found 'a\\nb', expected text without line breaks",
        ),
        ({"words": [{"form": "Hi"}], "comments": "a"}, r"comments: found 'a', expected a list"),
        (
            {"words": [{"form": "Hi"}], "tokens": [{"form": "x"}]},
            r"tokens\[0\]: 'id' is missing",
        ),
        (
            {"words": [{"form": "Hi"}], "empty_nodes": [{"id": 1}]},
            r"empty_nodes\[0\].id: found 1, expected '8.1'",
        ),
    ],
)
def test_what_is_wrong_is_told(values: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Treebank.from_json(values)


@pytest.mark.parametrize(
    "values",
    [{}, {"sentences": [{"words": []}]}, word(head=-1), word(upostag="X"), word(feats=3), word(form="a\tb")],
)
def test_the_schema_refuses_what_is_wrong(values: Any) -> None:
    assert list(violations(values, SCHEMA, SCHEMA))


def test_the_schema_is_one_for_others_too() -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed")
    validator = jsonschema.validators.validator_for(SCHEMA)
    validator.check_schema(SCHEMA)
    for values in (Treebank.from_string(ALL).to_json(), arcwise.load("en")(TEXT).to_json()):
        assert list(validator(SCHEMA).iter_errors(values)) == []
    assert list(validator(SCHEMA).iter_errors(word(upostag="X")))
