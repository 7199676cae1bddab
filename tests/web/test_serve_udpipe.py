"""``arcwise serve`` as UDPipe's clients ask it: ``/models`` and ``/process``."""

from __future__ import annotations

import base64
import email.mime.multipart
import email.mime.nonmultipart
import email.policy
import json
import quopri
import xml.etree.ElementTree
from collections.abc import Iterator
from urllib.parse import parse_qsl, urlencode

import pytest

pytest.importorskip("uvicorn", reason="needs uvicorn")

from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise.errors import InputError
from arcwise.treebanks import Treebank
from arcwise.web import serve_forms
from arcwise.web.serve_forms import multipart
from arcwise.web.serve_models import Models, ServedModel
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


def unmarked(result: str) -> str:
    """Without the marks of documents and paragraphs."""
    return "".join(line for line in result.splitlines(keepends=True) if not line.startswith("# new"))


OPTIONS = ["confidence", "k_best", "alternatives", "constraints"]


def test_models(service: Here) -> None:
    expected = {
        "models": {"english-ewt-fast": ["tokenizer", "tagger", "parser"], "graph": ["parser"]},
        "default_model": "english-ewt-fast",
        "options": {"english-ewt-fast": OPTIONS, "graph": OPTIONS},
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
    assert unmarked(service.result(data=TEXT, **ALL)) == library(TEXT)


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
        b'--x\r\nContent-Disposition: form-data; name="data"; filename="a.txt"\r\nContent-Type: '
        b"text/plain\r\n\r\n"
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
    """``udpipe2_client.py --tokenizer= --tagger= --parser=``: a boundary in quotes, three headers a part,
    nothing for what is not said."""
    boundary = "a9f3" * 12
    parts = []
    for name, value in {"input": "conllu", "output": "conllu", "data": TEXT + " Ü\n", **ALL}.items():
        parts += [
            f"--{boundary}", f'Content-Disposition: form-data; '
                f'name="{name}"', "Content-Transfer-Encoding: 8bit",
            "Content-Type: text/plain; charset=utf-8", "", value,
        ]  # fmt: skip
    body = "\r\n".join([*parts, f"--{boundary}--", ""]).encode()
    kind = f'multipart/form-data; boundary="{boundary}"'
    answer = service.ask("POST", "/process", headers={"Content-Type": kind}, body=body)
    assert answer.status == 200, answer.text
    assert answer.json()["result"] == service.process(data=TEXT + " Ü\n", **ALL).json()["result"]


def encoded(value: str, encoding: str) -> str:
    if encoding == "8bit":
        return value.encode().decode("ascii", "surrogateescape")
    coder = base64.encodebytes if encoding == "base64" else quopri.encodestring
    return coder(value.encode()).decode()


def test_what_clients_of_udpipe_send_besides_changes_nothing(service: Here) -> None:
    """Options that its models understand, and parameters that nobody does, as its services take them."""
    plain = service.process(data=TEXT, **ALL)
    more = service.process(
        data=TEXT, tokenizer="joint_with_parsing;joint_max_sentence_len=20", tagger="default",
        parser="beam_search=5", input="conllu", output="conllu=v2", trace="yes",
    )  # fmt: skip
    assert (more.status, more.body) == (plain.status, plain.body)


@pytest.mark.parametrize("encoding", ["8bit", "quoted-printable", "base64"])
def test_as_the_email_package_sends_it(service: Here, encoding: str) -> None:
    message = email.mime.multipart.MIMEMultipart("form-data", policy=email.policy.HTTP)
    for name, value in {"input": "conllu", "output": "conllu", "data": TEXT + " Ü\n", **ALL}.items():
        part = email.mime.nonmultipart.MIMENonMultipart("text", "plain")
        part.add_header("Content-Disposition", f'form-data; name="{name}"')
        part.add_header("Content-Transfer-Encoding", encoding)
        part.set_payload(encoded(value, encoding))
        message.attach(part)
    body = message.as_bytes().split(b"\r\n\r\n", maxsplit=1)[1]
    answer = service.ask("POST", "/process", headers={"Content-Type": message["Content-Type"]}, body=body)
    assert answer.status == 200, answer.text
    assert "Ü" in answer.json()["result"]


# ---- steps


def test_the_tokenizer_alone(service: Here) -> None:
    found = service.result(data=TEXT, tokenizer="")
    assert unmarked(found) == english().tokenizer.tokenize(TEXT, ranges=False).treebank.text
    assert "TokenRange=4:7" in service.result(data=TEXT, tokenizer="ranges")


def test_documents_and_paragraphs_are_told(service: Here) -> None:
    """As UDPipe tells them: a document a request, a paragraph after each blank line."""
    text = "One dog. Two\ndogs didn't. \n\nThree cats.\nFour."
    marks = [
        tuple(line for line in sentence.comment_lines if line.startswith("new"))
        for sentence in Treebank.from_string(service.result(data=text, tokenizer=""))
    ]
    assert marks == [("newdoc", "newpar"), (), ("newpar",), ()]
    lines = service.result(data="One dog.\nTwo.\n\nThree\n", tokenizer="presegmented")
    assert [line for line in lines.splitlines() if line.startswith(("# new", "# text"))] == [
        "# newdoc", "# newpar", "# text = One dog.", "# text = Two.", "# newpar", "# text = Three",
    ]  # fmt: skip
    lines = service.result(data="a b\nc d\n\ne f\n", input="horizontal", output="horizontal=paragraphs")
    assert lines == "a b\nc d\n\ne f\n"
    words = service.result(data="a\nb\n\nc\n\n\nd\n", input="vertical", output="vertical=paragraphs")
    assert words == "a\nb\n\nc\n\n\nd\n\n"
    assert "# new" not in service.result(data=ROWS)


def test_normalized_spaces(service: Here) -> None:
    text = "Birds  sing,\tdon't they? "
    assert "SpacesAfter" in service.result(data=text, tokenizer="")
    found = service.result(data=text, tokenizer="normalized_spaces")
    assert "Spaces" not in found
    assert Treebank.from_string(found)[0].text == "Birds sing, don't they?"
    assert "SpaceAfter=No" in found
    assert "TokenRange=0:5" in service.result(data=text, tokenizer="normalized_spaces;ranges")


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
    assert refused.text == "tokenizer: the model graph is a graph parser and has none\n"


# ---- models by name


@pytest.mark.parametrize(
    "name",
    ["", "english-ewt-fast", "english-ewt", "english", "English", "english-ewt-ud-2.12-230717",
     "english-gum"],
)  # fmt: skip
def test_names_of_a_model(service: Here, name: str) -> None:
    """Whole, cut, by language; and the names that UDPipe's models of the language have. The answer says which
    model it is from."""
    assert service.process(data=ROWS, model=name).json()["model"] == "english-ewt-fast"


def test_a_model_that_is_nearly_so_called_does_not_take_the_place_of_one_that_is() -> None:
    made = Models([ServedModel("english-ewt", english()), ServedModel("english-gum", english())])
    assert made.find("english-gum", nearly=True).name == "english-gum"
    assert made.find("english-gum-ud-2.12", nearly=True).name == "english-gum"
    assert made.find("english-partut", nearly=True).name == "english-ewt"
    with pytest.raises(InputError, match="english-partut"):
        made.find("english-partut")


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


def test_line_ends_of_windows(service: Here) -> None:
    assert service.result(data=ROWS.replace("\n", "\r\n")) == ROWS


def test_conllu_of_the_first_version(service: Here) -> None:
    rows = "# sent_id = a\n1\tNew York\tNew York\t_\t_\t_\t0\troot\t_\t_\n1.1\tx\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    found = service.result(data=rows, output="conllu=v1")
    assert found == "# sent_id = a\n1\tNew_York\tNew_York\t_\t_\t_\t0\troot\t_\t_\n\n"


def test_matxin(service: Here) -> None:
    """Each word stands in its head."""
    text = 'He said "R&D <is> fun". Go!'
    found = xml.etree.ElementTree.fromstring(service.result(data=text, output="matxin", **ALL))
    rows = Treebank.from_string(service.result(data=text, **ALL))
    for own, sentence in zip(found, rows, strict=True):
        arcs = {
            int(node.get("ord", "")): int(above.get("ord", "")) if above.tag == "NODE" else 0
            for above in own.iter() for node in above
        }  # fmt: skip
        assert [arcs[word] for word in range(1, len(sentence) + 1)] == sentence.heads.tolist()[1:]
        nodes = {int(node.get("ord", "")): node.get("form") for node in own.iter("NODE")}
        assert [nodes[word] for word in range(1, len(sentence) + 1)] == sentence.forms
    assert service.result(data="", tokenizer="", output="matxin") == "</corpus>\n"  # as UDPipe has it


def test_epe(service: Here) -> None:
    wanted = {**ALL, "tokenizer": "ranges"}
    lines = service.result(data="Birds sing songs. Go!", output="epe", **wanted).splitlines()
    rows = Treebank.from_string(service.result(data="Birds sing songs. Go!", **wanted))
    for number, (line, sentence) in enumerate(zip(lines, rows, strict=True), 1):
        found = json.loads(line)
        assert found["id"] == number
        heads = [0] * len(sentence)
        for node in found["nodes"]:
            for edge in node.get("edges", ()):
                heads[edge["target"] - 1] = node["id"]
                assert edge["label"] == sentence.deprels[edge["target"] - 1]
        assert heads == sentence.heads.tolist()[1:]
        assert [node["properties"]["upos"] for node in found["nodes"]] == sentence.upos
        assert [node["id"] for node in found["nodes"] if node.get("top")] == [heads.index(0) + 1]
    first = json.loads(lines[0])["nodes"][0]
    assert (first["start"], first["end"], first["properties"]["Number"]) == (0, 5, "Plur")


def test_a_deep_tree_as_matxin(service: Here) -> None:
    rows = "".join(f"{n}\tw\t_\t_\t_\t_\t{n - 1}\tdep\t_\t_\n" for n in range(1, 1000)) + "\n"
    assert service.result(data=rows, output="matxin").count("</NODE>") == 998


@given(st.text(alphabet="ab .,!'\n\t\u00a0é—🙂\\|", max_size=40))
@settings(max_examples=60, deadline=None)
def test_plain_text_comes_back(service: Here, text: str) -> None:
    for tokenizer in ("", "presegmented"):
        found = service.result(data=text, tokenizer=tokenizer, output="plaintext")
        assert found == (text if text.strip() else "")


# ---- what cannot be


@pytest.mark.parametrize(
    "parameters, told",
    [
        ({"tagger": ""}, "parameters: 'data' is missing"),
        ({"data": "x", "model": "czech"}, "model: found 'czech', expected one of english-ewt-fast, graph"),
        ({"data": "x", "model": "czech-pdt-ud-2.12-230717"}, "model: found 'czech-pdt-ud-2.12-230717', "
            "expected one of english-ewt-fast, graph"),
        ({"data": "x", "input": "epe"}, "input: found 'epe', expected one of conllu, horizontal, vertical, "
            "generic_tokenizer"),
        ({"data": "x", "output": "tei"}, "output: found 'tei', expected one of conllu, horizontal, vertical, "
            "plaintext, matxin, epe"),
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
        f'--{boundary}\r\nContent-Disposition: form-data; '
            f'name="{name}"\r\n\r\n'.encode() + value.encode("utf-8", "replace") + b"\r\n"
        for name, value in fields.items()
    ]  # fmt: skip
    body = b"".join(parts) + f"--{boundary}--\r\n".encode()
    expected = {name: value.encode("utf-8", "replace").decode() for name, value in fields.items()}
    assert multipart(f"multipart/form-data; boundary={boundary}", body) == expected


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(max_size=5), st.text(max_size=30), max_size=4), st.sampled_from([3, 7, 65536]))
def test_forms_are_read_in_pieces_as_by_urllib(values: dict[str, str], piece: int) -> None:
    body = urlencode(values, errors="replace").encode()
    before = serve_forms._PIECE
    try:
        serve_forms._PIECE = piece
        found = serve_forms.parameters(b"", "application/x-www-form-urlencoded", body)
    finally:
        serve_forms._PIECE = before
    assert found == dict(parse_qsl(body.decode(), keep_blank_values=True))
