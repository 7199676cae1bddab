"""Requests that froze a worker, against a real process with one worker: each is answered or refused,
``/healthz`` answers meanwhile, and memory stays small."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

pytest.importorskip("uvicorn", reason="needs uvicorn")

from web.attack import attack, attacked, form_part, json_error
from web.serving import Process, serving
from web.waiting import until

pytestmark = [pytest.mark.process, pytest.mark.slow]
FILES = "multipart/form-data; boundary=x"
MEGABYTE = 2**20
SECONDS = 6
SENTENCE = "The birds sing in the old tree near the river. "


@pytest.fixture(scope="module")
def service() -> Iterator[Process]:
    # The default model, which has k best trees, confidences and constraints.
    with serving("--workers", "1", "--max-seconds", str(SECONDS), model="en") as made:
        yield made


@pytest.mark.parametrize(
    "head", [b"; " + b"a=b; " * (MEGABYTE // 5), b";" * (4 * MEGABYTE - 100)], ids=["a=b", "semicolons"]
)
def test_headers_of_a_form_take_linear_time(service: Process, head: bytes) -> None:
    answer = attack(service, form_part(head), "/process", FILES)
    assert (answer.status, answer.text) == (
        400,
        "body: found a part with more than 8192 bytes of headers\n",
    )


def test_the_content_type_takes_linear_time(service: Process) -> None:
    answer = attack(service, form_part(b""), "/process", "multipart/form-data; " + "a=b; " * 12_000)
    assert answer.status == 400


@pytest.mark.parametrize("k_best", [100, 1000])
def test_many_trees_are_refused_by_the_size_of_the_answer(service: Process, k_best: int) -> None:
    text = (SENTENCE * 424)[:19_900]
    answer = attack(service, json.dumps({"text": text, "k_best": k_best}).encode())
    assert answer.status == 413
    assert json_error(answer).startswith("k_best: the response would have about ")


def test_many_trees_within_the_size_are_sent_in_pieces(service: Process) -> None:
    body = json.dumps({"text": SENTENCE * 20, "k_best": 100}).encode()
    answer = attack(service, body)
    assert (answer.status, answer.headers["transfer-encoding"]) == (200, "chunked")
    assert len(answer.json()["sentences"]) == 2000


def test_a_large_answer_is_sent_in_pieces(service: Process) -> None:
    """Ten megabytes of JSON: written as one value, they would stop every other thread."""
    answer = attack(service, json.dumps({"text": "- \n" * 20_000}).encode())
    assert (answer.status, answer.headers["transfer-encoding"]) == (200, "chunked")
    assert len(answer.body) > 8 * MEGABYTE
    document = answer.json()
    assert document["text"] == "- \n" * 20_000
    assert [(s["start"], s["end"]) for s in document["sentences"][:2]] == [(0, 1), (3, 4)]


def test_many_trees_of_a_long_sentence_are_refused(service: Process) -> None:
    answer = attack(service, json.dumps({"words": [["a"] * 150], "k_best": 1000}).encode())
    assert (answer.status, json_error(answer)) == (
        413,
        "k_best: found 1000 for a sentence of 150 words, expected less",
    )


def test_long_sentences_are_limited_by_words_times_length(service: Process) -> None:
    answer = attack(service, json.dumps({"words": [["a"] * 990] * 100}).encode())
    assert (answer.status, json_error(answer)[:58]) == (
        413,
        "sentences: their words times their lengths are 98010000, e",
    )


def test_work_ends_with_its_time(service: Process) -> None:
    """Twenty sentences of a thousand words are allowed and take longer than the time of a request. The next
    long request is answered, so the first one has not gone on."""
    answer = attack(service, json.dumps({"words": [["a"] * 990] * 20}).encode())
    assert (answer.status, json_error(answer)[:49]) == (
        503,
        "time: the response took longer than 6 seconds; se",
    )
    after = attack(service, json.dumps({"text": SENTENCE * 500}).encode())
    assert after.status == 200


def is_processing(service: Process) -> bool:
    """Whether a request for a parse is open: requests of this question and of a ``Watch`` take no time."""
    counts = [service.get("/metrics").text.partition("\narcwise_open_requests ")[2] for _ in range(3)]
    return min(float(count.split()[0]) for count in counts) > 1


def test_work_ends_when_the_client_leaves(service: Process) -> None:
    """A client that leaves after sending a long request does not keep the next long one waiting."""
    body = json.dumps({"words": [["a"] * 600] * 80}).encode()
    head = (
        "POST /v1/parse HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with attacked(service):
        for _ in range(3):
            with contextlib.closing(socket.create_connection(service.socket_place)) as connection:
                connection.sendall(head.encode() + body)
                until(lambda: is_processing(service))
        until(lambda: not is_processing(service))
    assert attack(service, json.dumps({"text": SENTENCE * 500}).encode()).status == 200


@pytest.mark.parametrize("text", ["(" * MEGABYTE, "- \n" * (MEGABYTE // 3)], ids=["brackets", "lines"])
def test_a_megabyte_of_one_character_is_refused(service: Process, text: str) -> None:
    answer = attack(service, json.dumps({"text": text}).encode())
    assert answer.status == 413


@pytest.mark.parametrize(
    "body",
    [
        b'{"words":[' + b"1," * (2 * MEGABYTE - 20) + b"1]}",
        b'{"text":"a","constraints":[' + b"1," * (2 * MEGABYTE - 20) + b"1]}",
        b'{"document":{"words":[' + b"1," * (2 * MEGABYTE - 20) + b"1]}}",
    ],
    ids=["words", "constraints", "document"],
)
def test_a_million_mistakes_are_one(service: Process, body: bytes) -> None:
    answer = attack(service, body)
    assert answer.status == 400
    assert "[0]: found 1, expected" in json_error(answer)


def test_a_worker_that_stands_still_is_restarted() -> None:
    """A stopped process stands for an event loop that does not run: no request and no thread can wake it."""
    with serving("--workers", "1", "--stall-seconds", "2") as service:
        (worker,) = service.workers()
        assert service.get("/healthz").status == 200
        os.kill(worker, signal.SIGSTOP)
        until(lambda: service.workers() not in ([], [worker]))
        assert service.get("/healthz").status == 200
        assert "arcwise_worker_restarts_total 1.0" in service.get("/metrics").text
        assert f"worker 0 (process {worker}) has not answered for" in service.end()[1]


@pytest.mark.parametrize("form", ["horizontal", "generic_tokenizer"])
def test_a_million_lines_are_refused_before_they_take_memory(service: Process, form: str) -> None:
    body = urlencode({"data": "-\n" * 950_000, "input": form}).encode()
    answer = attack(service, body, "/process", "application/x-www-form-urlencoded")
    assert answer.status == 413
    assert answer.text.startswith("response: the response would have about ")


def test_constraints_of_a_long_sentence_are_refused(service: Process) -> None:
    for n, status in ((300, 200), (990, 413)):
        body = {"words": [["a"] * n], "constraints": [{"max_length": 100}]}
        assert attack(service, json.dumps(body).encode()).status == status


def test_a_million_words(service: Process) -> None:
    answer = attack(service, b'{"words":[' + b'["a"],' * 650_000 + b'["a"]]}')
    assert answer.status == 413


def conllu(*rows: tuple[object, ...]) -> str:
    """One sentence; rows as ID, form, head, MISC."""
    return "".join(f"{i}\t{f}\t_\tX\t_\t_\t{h}\tdep\t_\t{m}\n" for i, f, h, m in rows) + "\n"


@pytest.mark.parametrize(
    ("values", "status"),
    [
        ({"conllu": conllu(("1-2", "del", "x", "_"), (1, "de", 0, "_"), (2, "el", 1, "_"))}, 400),
        ({"words": [["a", "b"]], "constraints": [{"labels": {"99": "root"}}]}, 400),
        ({"words": [["a", "b"]], "constraints": [{"required": [[0, 99]]}]}, 400),
        ({"words": [["a", "b"]], "constraints": [{"required": [[-1, 1]]}]}, 400),
        ({"words": [["\ud800", "b"]]}, 200),
        ({"text": "a \udfff b"}, 200),
        ({"conllu": conllu((1, "a", 0, "Alternatives=9999:x:2")), "pictures": True}, 200),
    ],
    ids=["row", "label", "arc", "negative arc", "word", "text", "alternatives"],
)
def test_no_request_is_an_internal_error(service: Process, values: dict[str, object], status: int) -> None:
    answer = attack(service, json.dumps(values).encode())
    assert answer.status == status, answer.text
    assert 'status="500"' not in service.get("/metrics").text


def test_k_best_trees_stop_when_the_client_leaves(service: Process) -> None:
    """The client reads the first part of a long response and leaves."""
    body = json.dumps({"text": SENTENCE * 100, "k_best": 50}).encode()
    head = (
        "POST /v1/parse HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    with attacked(service):
        with contextlib.closing(socket.create_connection(service.socket_place)) as connection:
            connection.settimeout(60)
            connection.sendall(head.encode() + body)
            assert connection.recv(1000).startswith(b"HTTP/1.1 200")
        until(lambda: not is_processing(service))
    assert attack(service, json.dumps({"text": SENTENCE}).encode()).status == 200
