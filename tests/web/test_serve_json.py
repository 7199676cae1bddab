"""``/v1/parse``: input, options, constraints, what is refused; and the OpenAPI description, held against what
the service does."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs uvicorn")

from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise.inference import Constraints
from arcwise.models.registry import open_model
from arcwise.parsing.parser import ParseOptions
from arcwise.treebanks import Treebank
from arcwise.web.serve_app import ServeApp
from arcwise.web.serve_json import OPTIONS
from arcwise.web.serve_limits import Limits
from arcwise.web.serve_models import Models, ServedModel
from treebanks.json_schema_check import violations
from web.asgi_client import AsgiClient
from web.serving import Here, english, serving_here

TEXT = "The cat saw a dog. It didn't sleep."


@pytest.fixture(scope="module")
def service() -> Iterator[Here]:
    with serving_here() as made:
        yield made


@pytest.fixture(scope="module")
def greedy() -> Iterator[Here]:
    """The service of a model without distributions over trees."""
    models = Models([ServedModel("en-fast", open_model("en-fast"))])
    with AsgiClient(ServeApp(models, limits=Limits()), {"host": "127.0.0.1"}) as client:
        yield Here(client)


@pytest.fixture(scope="module")
def described(service: Here) -> dict[str, Any]:
    return service.get("/v1/openapi.json").json()


def trees(answer: Any) -> list[list[int]]:
    assert answer.status == 200, answer.text
    return [[word["head"] for word in sentence["words"]] for sentence in answer.json()["sentences"]]


# ---- what is asked


def test_text(service: Here) -> None:
    answer = service.parse(text=TEXT)
    found = answer.json()
    assert (found["model"], found["text"]) == ("english-ewt-fast", TEXT)
    expected = english()(TEXT)
    assert trees(answer) == [s.tree.heads[1:].tolist() for s in expected]
    for own, sentence in zip(found["sentences"], expected, strict=True):
        assert own["probability"] == pytest.approx(sentence.confidence, abs=1e-4)
        heads = [word["head_probability"] for word in own["words"]]
        assert heads == pytest.approx(sentence.head_probabilities, abs=1e-3)
    first = found["sentences"][0]["words"][1]
    assert TEXT[first["start"] : first["end"]] == first["form"] == "cat"


def test_words(service: Here) -> None:
    answer = service.parse(words=[["Birds", "sing"], ["In", "New York", "it", "rains"]])
    assert [[w["form"] for w in s["words"]] for s in answer.json()["sentences"]] == [
        ["Birds", "sing"],
        ["In", "New York", "it", "rains"],
    ]
    assert trees(answer)[0] == english().parse([["Birds", "sing"]])[0].heads.tolist()[1:]


def test_conllu_keeps_what_is_kept(service: Here) -> None:
    rows = "# x = y\n1\tBirds\tb\tX\t_\t_\t0\troot\t_\t_\n2\tsing\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    found = service.parse(conllu=rows, keep=["upos", "lemma", "head", "deprel"]).json()["sentences"][0]
    assert (found["words"][0]["upos"], found["words"][0]["lemma"], found["words"][0]["head"]) == ("X", "b", 0)
    assert found["words"][1]["head"] == 1
    assert found["comments"][0] == "x = y"


def test_an_answer_can_be_asked_about_again(service: Here) -> None:
    first = service.parse(text=TEXT).json()
    assert service.parse(document=first).json()["sentences"] == first["sentences"]
    other = service.parse(document={"sentences": first["sentences"][1:]}, constraints=[{"roots": [1]}]).json()
    assert other["sentences"][0]["words"][0]["head"] == 0
    assert other["sentences"][0]["tokens"] == first["sentences"][1]["tokens"]
    assert service.parse(document={"words": 3}).status == 400


def test_k_best(service: Here) -> None:
    found = trees(service.parse(text="The old man saw her duck.", k_best=4))
    assert len(found) == 4
    assert len(set(map(tuple, found))) > 1


def test_alternatives(service: Here) -> None:
    word = service.parse(text="Birds sing.", alternatives=3).json()["sentences"][0]["words"][0]
    assert len(word["alternatives"]) == 3
    assert word["alternatives"][0]["head"] == word["head"]
    assert sum(own["probability"] for own in word["alternatives"]) <= 1.001


def test_constraints_are_obeyed(service: Here) -> None:
    free = service.parse(words=[["Birds", "sing", "songs"]]).json()["sentences"][0]
    wish = {"required": [[1, 3]], "labels": {"3": "nmod"}}
    found = service.parse(words=[["Birds", "sing", "songs"]], constraints=[wish]).json()["sentences"][0]
    assert (free["words"][2]["head"], found["words"][2]["head"], found["words"][2]["label"]) == (2, 1, "nmod")
    expected = english().parse(
        [["Birds", "sing", "songs"]], constraints=[Constraints(required=[(1, 3)], labels={3: "nmod"})]
    )
    assert [word["head"] for word in found["words"]] == expected[0].heads.tolist()[1:]


def test_pictures(service: Here) -> None:
    plain, drawn = (
        service.parse(text="Birds <b>sing.", pictures=p).json()["sentences"][0] for p in (False, True)
    )
    assert "svg" not in plain
    assert drawn["svg"].startswith("<svg")
    assert "&lt;" in drawn["svg"]
    assert "<style" not in drawn["svg"]


def test_a_parser_alone(service: Here) -> None:
    rows = Treebank.from_string(
        "1\tBirds\t_\tNOUN\t_\t_\t_\t_\t_\t_\n2\tsing\t_\tVERB\t_\t_\t_\t_\t_\t_\n\n"
    ).text
    assert len(trees(service.parse(conllu=rows, model="graph", confidence=False))[0]) == 2
    refused = service.parse(text=TEXT, model="graph")
    assert (refused.status, "tokenizer" in refused.json()["error"]) == (400, True)


def test_a_greedy_parser_computes_confidences_only_if_asked(greedy: Here) -> None:
    free, asked = (greedy.parse(text=TEXT, **options) for options in ({}, {"confidence": True}))
    assert trees(free) == [s.tree.heads[1:].tolist() for s in open_model("en-fast")(TEXT)]
    assert all("head_probability" not in word for s in free.json()["sentences"] for word in s["words"])
    assert all("head_probability" in word for s in asked.json()["sentences"] for word in s["words"])
    # The page asks for nothing else.
    assert greedy.get("/models").json()["options"] == {"en-fast": ["confidence", "k_best"]}


# ---- what cannot be


@pytest.mark.parametrize(
    "values, told",
    [
        ({}, "body: found none of text, words, conllu, document, expected one of them"),
        ({"text": "a", "words": []}, "body: found text and words of text, words, conllu, document, expected "
            "one of them"),
        ({"text": 3}, "text: found 3, expected text"),
        ({"text": "a", "modell": "en"}, "body: found the field 'modell', expected some of text, words, "
            "conllu"),
        ({"text": "a", "model": "xx"}, "model: found 'xx', expected one of english-ewt-fast, graph"),
        ({"text": "a", "model": 7}, "model: found 7, expected text"),
        ({"text": "a", "k_best": 0}, "k_best: found 0, expected 1.."),
        ({"text": "a", "k_best": 5000}, "k_best: found 5000, expected at most 1000 in a request"),
        ({"text": "a", "k_best": True}, "k_best: found True, expected"),
        ({"text": "a", "decode": "best"}, "decode: found 'best', expected one of map"),
        ({"text": "a", "confidence": "yes"}, "confidence: found 'yes', expected true or false"),
        ({"text": "a", "keep": "head"}, "keep: found 'head', expected a list, each item one of lemma, upos"),
        ({"text": "a", "keep": ["form"]}, "keep: found"),
        ({"text": "a", "pictures": 1}, "pictures: found 1, expected true or false"),
        ({"text": "a", "beam": 4}, "beam: found 4, which a"),
        ({"words": "Birds sing"}, "words: found 'Birds sing', expected a list"),
        ({"words": [[]]}, "words[0]: found [], expected at least one"),
        ({"words": [["a", None]]}, "words[0][1]: found nothing, expected text"),
        ({"words": [["a\tb"]]}, "sentence 1: found the word 'a\\tb', expected one without tabs and line "
            "breaks"),
        ({"words": [[""]]}, "sentence 1: found the word '', expected"),
        ({"conllu": "1\tx\n"}, "data:1"),
        ({"text": "a", "constraints": {}}, "constraints: found {}, expected a list"),
        ({"text": "a", "constraints": [3]}, "constraints[0]: found 3, expected an object"),
        ({"text": "a", "constraints": [{"require": []}]}, "constraints[0]: found the field 'require', "
            "expected some of required"),
        ({"text": "a", "constraints": [{"required": [[1]]}]}, "constraints[0].required: found [[1]], "
            "expected pairs of whole numbers"),
        ({"text": "a", "constraints": [{"labels": {"x": "y"}}]}, "constraints[0].labels: found {'x': 'y'}, "
            "expected labels by the number"),
        ({"text": "a", "constraints": [{"roots": 1}]}, "constraints[0].roots: found 1, expected a list"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_in_one_sentence(service: Here, values: dict[str, Any], told: str) -> None:
    answer = service.parse(**values)
    assert (answer.status, answer.headers["content-type"]) == (400, "application/json")
    assert answer.json()["error"].startswith(told)
    assert "\n" not in answer.json()["error"]


@pytest.mark.parametrize(
    "constraints, told",
    [
        ([{"required": [[9, 1]]}], "9"),
        ([{"labels": {"1": "nonsense"}}], "nonsense"),
        ([None, None], "2"),
    ],
)
def test_constraints_that_fit_no_tree(service: Here, constraints: Any, told: str) -> None:
    answer = service.parse(words=[["Birds", "sing"]], constraints=constraints)
    assert answer.status == 400
    assert told in answer.json()["error"]


@pytest.mark.parametrize(
    "body, told",
    [
        (b"", "body: is not valid JSON"),
        (b"[]", "body: found [], expected an object"),
        (b'{"text": "\xff"}', "body: found byte 0xff at offset 10, expected UTF-8"),
        (b"[" * 100_000, "body: is not valid JSON"),
        (b'{"text": "a", "k_best": 1e400}', "k_best"),
    ],
)
def test_bodies_that_are_no_json(service: Here, body: bytes, told: str) -> None:
    answer = service.ask("POST", "/v1/parse", headers={"Content-Type": "application/json"}, body=body)
    assert answer.status == 400
    assert answer.json()["error"].startswith(told)


def test_a_half_character_of_json_does_no_harm(service: Here) -> None:
    body = b'{"text": "Birds \\ud800 sing.\\u0000"}'
    answer = service.ask("POST", "/v1/parse", headers={"Content-Type": "application/json"}, body=body)
    assert answer.status == 200
    json.loads(answer.text)


def test_another_type(service: Here) -> None:
    answer = service.ask("POST", "/v1/parse", headers={"Content-Type": "text/plain"}, body=b'{"text": "a"}')
    assert answer.status == 415
    assert answer.json() == {"error": "Content-Type: found 'text/plain', expected application/json"}


# ---- the description


def test_the_description_names_every_address(service: Here, described: dict[str, Any]) -> None:
    assert described["openapi"].startswith("3.1")
    for path, operations in described["paths"].items():
        allowed = service.ask("OPTIONS", path)
        assert (allowed.status, allowed.headers["allow"].lower().split(", ")) == (
            204,
            [*operations, "options"],
        )
        for method in ("GET", "POST", "PUT"):
            answer = service.ask(method, path, headers={"Content-Type": "application/json"})
            known = method.lower() in operations
            assert (answer.status != 405) == known, (method, path)
            if not known:
                assert answer.headers["allow"].lower().split(", ") == list(operations)
            assert answer.status != 404
            if known:
                assert str(answer.status) in operations[method.lower()]["responses"], (
                    method,
                    path,
                    answer.text,
                )


def test_an_address_that_is_not_there(service: Here) -> None:
    for method in ("GET", "POST", "OPTIONS"):
        answer = service.ask(method, "/v2/parse")
        assert (answer.status, answer.json()["error"][:27]) == (404, "address: found '/v2/parse',")


def test_the_description_is_whole(described: dict[str, Any]) -> None:
    """Every reference leads somewhere, every operation has a name of its own; and the official checker, where
    it is there, agrees."""
    text = json.dumps(described)
    schemas = described["components"]["schemas"]
    for reference in {part.split('"')[0] for part in text.split('"$ref": "')[1:]}:
        assert reference.removeprefix("#/components/schemas/") in schemas
    names = [own["operationId"] for path in described["paths"].values() for own in path.values()]
    assert len(names) == len(set(names))
    validator = pytest.importorskip("openapi_spec_validator", reason="the rest needs openapi-spec-validator")
    validator.validate(described)


def test_the_request_of_the_description_is_the_request(described: dict[str, Any]) -> None:
    request = described["components"]["schemas"]["Request"]
    assert set(request["properties"]) == {
        "text",
        "words",
        "conllu",
        "document",
        "model",
        "constraints",
        "pictures",
        *OPTIONS,
    }
    assert set(OPTIONS) == set(ParseOptions.__dataclass_fields__) - {"device"}
    assert set(described["components"]["schemas"]["Constraints"]["properties"]) == set(
        Constraints.__dataclass_fields__
    )
    assert all(own["description"] for own in request["properties"].values())


def as_definitions(described: dict[str, Any]) -> dict[str, Any]:
    """The schemas as ``json_schema_check`` reads them."""
    text = json.dumps(described["components"]["schemas"]).replace("#/components/schemas/", "#/$defs/")
    return {"$defs": json.loads(text)}


@pytest.mark.parametrize(
    "values",
    [
        {"text": TEXT},
        {"text": TEXT, "alternatives": 2, "pictures": True, "decode": "mbr"},
        {"text": TEXT, "confidence": False},
        {"words": [["Birds", "sing"]], "constraints": [{"required": [[0, 1]]}]},
        {"text": ""},
    ],
)
def test_answers_are_as_described(service: Here, described: dict[str, Any], values: dict[str, Any]) -> None:
    root = as_definitions(described)
    answer = service.parse(**values)
    assert answer.status == 200
    assert list(violations(answer.json(), root["$defs"]["Document"], root)) == []
    assert list(violations(service.parse(text=1).json(), root["$defs"]["Error"], root)) == []


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 4) | st.floats() | st.text("ab\t\n\u0000é", max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["required", "labels", "1", "roots"]), inner, max_size=2)
    ),
    max_leaves=6,
)  # fmt: skip


@pytest.mark.slow
@given(
    st.dictionaries(
        st.sampled_from(
            ["text", "words", "conllu", "document", "constraints", "pictures", "model", *OPTIONS]
        ),
        _VALUES,
        max_size=4,
    )
)
@settings(max_examples=150, deadline=None)
def test_no_request_is_a_mistake_of_ours(service: Here, values: dict[str, Any]) -> None:
    """Whatever is sent: an answer, or one sentence that says what is wrong with it."""
    answer = service.parse(**values)
    assert answer.status in (200, 400, 413), answer.text
    assert answer.status == 200 or answer.json()["error"].count("\n") == 0


# ---- mistakes of a request that were mistakes of the service


@pytest.mark.parametrize("word", ["0", "3", "99"])
def test_a_label_of_a_word_that_is_not_there_is_refused(service: Here, word: str) -> None:
    answer = service.parse(words=[["They", "sing"]], constraints=[{"labels": {word: "root"}}])
    assert (answer.status, answer.json()["error"]) == (
        400,
        f"data (1): labels: found word {word}, expected 1..2",
    )


@pytest.mark.parametrize(
    "request_values",
    [
        {"words": [["\ud800", "b"]]},
        {"text": "a \ud800 b"},
        {"document": {"words": [{"form": "a", "misc": "\ud800"}], "comments": ["\udfff"]}},
    ],
    ids=["words", "text", "document"],
)
def test_half_a_surrogate_pair_is_a_question_mark(service: Here, request_values: dict[str, Any]) -> None:
    answer = service.parse(**request_values)
    assert answer.status == 200
    assert "?" in answer.text


def test_alternatives_of_words_that_are_not_there_are_not_drawn(service: Here) -> None:
    rows = "1\ta\t_\t_\t_\t_\t0\troot\t_\tAlternatives=9999:x:2,0:root:0.9\n\n"
    answer = service.parse(conllu=rows, pictures=True, alternatives=0)
    assert answer.status == 200
    assert "9999" not in answer.json()["sentences"][0]["svg"]


def test_a_head_of_a_multiword_token_that_json_cannot_express_is_refused(service: Here) -> None:
    row = "{}\t{}\t_\tNOUN\t_\t_\t{}\t_\t_\t_\n"
    rows = row.format("1-2", "del", "x") + row.format(1, "de", 0) + row.format(2, "el", 1) + "\n"
    answer = service.parse(conllu=rows)
    assert (answer.status, answer.json()["error"]) == (
        400,
        "data (sentence 1), row 1-2: found HEAD 'x', expected a number or _",
    )


def test_a_long_answer_is_refused_before_a_part_of_it_is_sent(service: Here) -> None:
    row = "{}\t{}\t_\tNOUN\t_\t_\t{}\t_\t_\t_\n"
    good = row.format("1-2", "del", "_") + row.format(1, "de", 0) + row.format(2, "el", 1) + "\n"
    answer = service.parse(
        conllu=good * 2000 + good.replace("del\t_\tNOUN\t_\t_\t_", "del\t_\tNOUN\t_\t_\tx")
    )
    assert (answer.status, answer.json()["error"][:31]) == (400, "data (sentence 2001), row 1-2: ")
