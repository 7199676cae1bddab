"""``arcwise serve`` as UDPipe's clients ask it: ``/models`` and ``/process``."""

from __future__ import annotations

import email.mime.multipart
import email.mime.nonmultipart
import email.policy
from collections.abc import Iterator

import pytest

pytest.importorskip("uvicorn", reason="needs uvicorn")

from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise.treebanks import Treebank
from arcwise.web.serve_forms import multipart
from web.serving import ALL, FORM, Here, english, serving_here

TEXT = "The cat saw a dog. It didn't sleep.\nBirds  sing!"
ROWS = "1\tBirds\t_\tNOUN\t_\t_\t_\t_\t_\t_\n2\tsing\t_\t_\t_\t_\t_\t_\t_\t_\n\n"


@pytest.fixture(scope="module")
def service() -> Iterator[Here]:
    with serving_here() as made:
        yield made


def library(text: str, *, ranges: bool = False) -> str:
    """What the library says of a text."""
    nlp = english()
    return nlp.parse(nlp.tokenizer.tokenize(text, ranges=ranges).treebank).text


def test_models(service: Here) -> None:
    expected = {
        "models": {"english-ewt-fast": ["tokenizer", "tagger", "parser"], "graph": ["parser"]},
        "default_model": "english-ewt-fast",
    }
    assert service.get("/models").json() == expected
    assert service.ask("POST", "/models").json() == expected


def test_every_step(service: Here) -> None:
    answer = service.process(data=TEXT, **ALL)
    assert answer.status == 200
    assert answer.headers["content-type"] == "application/json"
    found = answer.json()
    assert list(found) == ["model", "acknowledgements", "result"]
    assert found["model"] == "english-ewt-fast"
    assert found["result"].startswith("# generator = arcwise ")
    assert service.result(data=TEXT, **ALL) == library(TEXT)


def test_a_result_is_conllu_that_can_be_sent_again(service: Here) -> None:
    found = service.process(data=TEXT, **ALL).json()["result"]
    assert [s.forms for s in Treebank.from_string(found)] == [
        s.forms for s in Treebank.from_string(library(TEXT))
    ]
    again = service.result(data=found, input="conllu", tagger="", parser="")
    assert Treebank.from_string(again).heads.tolist() == Treebank.from_string(found).heads.tolist()


def test_by_address_by_form_and_by_file(service: Here) -> None:
    by_address = service.get("/process?tokenizer&tagger=&parser=&data=Birds%20sing%20caf%C3%A9.")
    by_form = service.process(data="Birds sing café.", **ALL)
    body = (
        b'--x\r\nContent-Disposition: form-data; name="data"; filename="a.txt"\r\nContent-Type: text/plain\r\n\r\n'
        + "Birds sing café.".encode()
        + b"".join(
            b'\r\n--x\r\nContent-Disposition: form-data; name="%s"\r\n\r\n' % name.encode() for name in ALL
        )
        + b"\r\n--x--\r\n"
    )
    by_file = service.ask(
        "POST", "/process", headers={"Content-Type": "multipart/form-data; boundary=x"}, body=body
    )
    assert by_address.status == 200
    assert by_address.body == by_form.body == by_file.body
    half = service.ask(
        "POST",
        "/process?data=Birds+sing.&tokenizer=",
        headers={"Content-Type": FORM},
        body=b"tagger=&parser=",
    )
    assert half.json()["result"] == service.process(data="Birds sing.", **ALL).json()["result"]


def test_as_the_client_of_udpipe_2_sends_it(service: Here) -> None:
    """Its messages are made by Python's email package: text/plain parts, 8bit."""
    message = email.mime.multipart.MIMEMultipart("form-data", policy=email.policy.HTTP)
    for name, value in {"input": "conllu", "output": "conllu", "data": TEXT + " Ü\n", **ALL}.items():
        part = email.mime.nonmultipart.MIMENonMultipart("text", "plain")
        part.add_header("Content-Disposition", f'form-data; name="{name}"')
        part.add_header("Content-Transfer-Encoding", "8bit")
        part.set_payload(value, charset="utf-8")
        message.attach(part)
    body = message.as_bytes().split(b"\r\n\r\n", maxsplit=1)[1]
    answer = service.ask("POST", "/process", headers={"Content-Type": message["Content-Type"]}, body=body)
    assert answer.status == 200, answer.text
    assert "Ü" in answer.json()["result"]


# ---- steps


def test_the_tokenizer_alone(service: Here) -> None:
    found = service.result(data=TEXT, tokenizer="")
    assert found == english().tokenizer.tokenize(TEXT, ranges=False).treebank.text
    assert "TokenRange=4:7" in service.result(data=TEXT, tokenizer="ranges")


def test_presegmented_lines_are_sentences(service: Here) -> None:
    text = "Hi. I am. You\n\n He didn't go\n"
    found = Treebank.from_string(service.result(data=text, tokenizer="presegmented;ranges"))
    assert [s.text for s in found] == ["Hi. I am. You", "He didn't go"]
    assert found[0].forms == ["Hi", ".", "I", "am", ".", "You"]
    assert "TokenRange=26:28" in found[1].misc[-1]
    assert text[26:28] == found[1].forms[-1]


def test_the_tagger_alone(service: Here) -> None:
    found = Treebank.from_string(service.result(data=ROWS, tagger=""))
    assert found[0].upos == english().tagger.tag(Treebank.from_string(ROWS))[0].upos
    assert found[0].heads.tolist()[1:] == [-1, -1]


def test_the_parser_alone_leaves_tags_as_they_are(service: Here) -> None:
    found = Treebank.from_string(service.result(data=ROWS, parser=""))
    assert (found[0].upos, found[0].lemmas) == (["NOUN", "_"], ["_", "_"])
    assert sorted(found[0].heads.tolist()[1:]) == [0, 2] or sorted(found[0].heads.tolist()[1:]) == [0, 1]


def test_no_step_gives_the_input_back(service: Here) -> None:
    assert service.result(data=ROWS) == ROWS
    assert service.result(data=ROWS, tagger="none", parser="none", tokenizer="none") == ROWS


def test_a_parser_without_a_tokenizer(service: Here) -> None:
    assert "\t0\t" in service.result(data=ROWS, model="graph", parser="")
    refused = service.process(data=TEXT, model="graph", **ALL)
    assert (refused.status, refused.headers["content-type"]) == (400, "text/plain; charset=utf-8")
    assert (
        refused.text == "tokenizer: found one asked for, but the model graph is a graph parser and has none\n"
    )


# ---- models by name


@pytest.mark.parametrize("name", ["", "english-ewt-fast", "english-ewt", "english", "English"])
def test_names_of_a_model(service: Here, name: str) -> None:
    assert service.process(data=ROWS, model=name).json()["model"] == "english-ewt-fast"


# ---- formats


@pytest.mark.parametrize(
    "form, data",
    [
        ("horizontal", "Birds sing\n\nIn New\xa0York it rains\n"),
        ("vertical", "Birds\nsing\n\nIn\nNew York\nit\nrains\n\n"),
        ("vertical", "Birds\tx\r\nsing\r\n\r\n\r\nIn\r\nNew York\r\nit\r\nrains"),
    ],
)
def test_input_that_is_cut_already(service: Here, form: str, data: str) -> None:
    found = Treebank.from_string(service.result(data=data, input=form))
    assert [s.forms for s in found] == [["Birds", "sing"], ["In", "New York", "it", "rains"]]


def test_the_generic_tokenizer_is_that_of_the_model(service: Here) -> None:
    assert service.result(data=TEXT, input="generic_tokenizer") == service.result(data=TEXT, tokenizer="")


def test_outputs(service: Here) -> None:
    horizontal = service.result(data=TEXT, tokenizer="", output="horizontal")
    assert horizontal.splitlines()[0] == "The cat saw a dog ."
    vertical = service.result(data=TEXT, tokenizer="", output="vertical")
    assert vertical.startswith("The\ncat\nsaw\na\ndog\n.\n\n")
    assert service.result(data=TEXT, tokenizer="", output="plaintext") == TEXT
    assert service.result(data=vertical, input="vertical", output="horizontal") == horizontal
    assert service.result(data=horizontal, input="horizontal", output="vertical") == vertical
    normalized = service.result(data=TEXT, tokenizer="", output="plaintext=normalized_spaces")
    assert normalized.splitlines()[0] == "The cat saw a dog."


@given(st.text(alphabet="ab .,!'\n\t\u00a0é—🙂\\|", max_size=40))
@settings(max_examples=60, deadline=None)
def test_plain_text_comes_back(service: Here, text: str) -> None:
    assert service.result(data=text, tokenizer="", output="plaintext") == (text if text.strip() else "")


# ---- what cannot be


@pytest.mark.parametrize(
    "parameters, told",
    [
        ({"tagger": ""}, "data: is missing, expected the text or the sentences to process"),
        ({"data": "x", "modle": "en"}, "parameter: found 'modle', expected one of data, model, tokenizer, tagger, parser, input, output"),
        ({"data": "x", "model": "czech"}, "model: found 'czech', expected one of english-ewt-fast, graph"),
        ({"data": "x", "input": "epe"}, "input: found 'epe', expected one of conllu, conllu=v2, horizontal, vertical"),
        ({"data": "x", "output": "matxin"}, "output: found 'matxin', expected one of conllu"),
        ({"data": "x", "tokenizer": "fast"}, "tokenizer: found 'fast', expected presegmented, ranges, normalized_spaces or nothing"),
        ({"data": "x", "tagger": "beam"}, "tagger: found 'beam', expected nothing: there are no options"),
        ({"data": "no conllu at all"}, "data:1"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_told_in_one_sentence(service: Here, parameters: dict[str, str], told: str) -> None:
    answer = service.process(**parameters)
    assert answer.status == 400
    assert answer.text.startswith(told)
    assert answer.text.count("\n") == 1


@pytest.mark.parametrize(
    "kind, body, told",
    [
        (FORM, b"data=\xff", "body: found byte 0xff at offset 5, expected UTF-8"),
        (FORM, b"data=%ff", "body: found byte 0xff at offset 0, expected UTF-8"),
        (
            "multipart/form-data",
            b"x",
            "Content-Type: found no boundary, expected multipart/form-data; boundary=…",
        ),
        (
            "multipart/form-data; boundary=x",
            b"--x\r\n",
            "body: ends before the last boundary, expected a whole form",
        ),
        ("multipart/form-data; boundary=x", b"--x\r\n\r\n\r\n--x--", "body: found a part without a name"),
        (
            "multipart/form-data; boundary=x",
            b'--x\r\nContent-Disposition: form-data; name="data"\r\n\r\n\xff\r\n--x--',
            "data: found byte 0xff at offset 0, expected UTF-8",
        ),
        (FORM, b"&".join(b"a%d=" % i for i in range(200)), "body: found more than 100 parameters"),
    ],
)
def test_bodies_that_are_no_forms(service: Here, kind: str, body: bytes, told: str) -> None:
    answer = service.ask("POST", "/process", headers={"Content-Type": kind}, body=body)
    assert answer.status == 400
    assert answer.text.startswith(told)


def test_another_type(service: Here) -> None:
    answer = service.ask("POST", "/process", headers={"Content-Type": "text/plain"}, body=b"Birds sing")
    assert answer.status == 415
    assert answer.text.startswith(
        "Content-Type: found 'text/plain', expected application/x-www-form-urlencoded or"
    )


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), st.text(max_size=30), max_size=4))
@settings(deadline=None)
def test_forms_with_files_as_python_writes_them(fields: dict[str, str]) -> None:
    boundary = "b0undary"
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n'.encode() + value.encode("utf-8", "replace") + b"\r\n"
        for name, value in fields.items()
    ]  # fmt: skip
    body = b"".join(parts) + f"--{boundary}--\r\n".encode()
    expected = {name: value.encode("utf-8", "replace").decode() for name, value in fields.items()}
    assert multipart(f"multipart/form-data; boundary={boundary}", body) == expected
