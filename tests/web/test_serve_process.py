"""``arcwise serve`` as a process: workers that are killed, clients that misbehave, a stop that loses nothing.

The load is small; ``make test-long`` takes 64 connections for a minute.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import re
import resource
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import pytest

pytest.importorskip("uvicorn", reason="needs uvicorn")

from web.serving import ALL, FORM, Process, ask_on, serving
from web.waiting import until

pytestmark = pytest.mark.process

LONG = bool(os.environ.get("ARCWISE_LONG_TESTS"))
CONNECTIONS, SECONDS = (64, 60.0) if LONG else (8, 1.5)
MEGABYTES, IDLE = 100, 1000
TEXT = "The cat saw a dog. It didn't sleep, and the birds sang in the garden behind the old house."


@pytest.fixture(scope="module", autouse=True)
def many_files() -> Iterator[None]:
    """As many open connections as the idle ones need."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < IDLE + 200:
        pytest.skip(f"needs {IDLE + 200} open files, the system allows {hard}")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, IDLE + 200), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture(scope="module")
def service() -> Iterator[Process]:
    with serving("--workers", "2", "--idle-seconds", "2") as made:
        yield made


def metric(service: Process, name: str) -> int:
    """The value of a metric, all its labels together."""
    lines = service.get("/metrics").text.splitlines()
    return sum(int(float(line.split()[-1])) for line in lines if re.match(rf"{name}(\{{|\s)", line))


class Load:
    """Clients that ask again and again on connections that stay open; a connection that was lost is opened
    again."""

    def __init__(self, service: Process, clients: int) -> None:
        self.service = service
        self.answers: list[int] = []
        self.lost: list[tuple[float, int]] = []
        """When, and the port from which it was asked."""
        self.expected = service.process(data=TEXT, **ALL).json()["result"]
        self._end = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(clients)]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        for thread in self._threads:
            thread.join(60)

    def _ask(self) -> None:
        body = urlencode({"data": TEXT, **ALL}).encode()
        connection = self._connect()
        while not self._end.is_set():
            port = connection.sock.getsockname()[1]
            try:
                found = ask_on(connection, "POST", "/process", headers={"Content-Type": FORM}, body=body)
                right = found.status == 200 and found.json()["result"] == self.expected
                self.answers.append(found.status if right else -1)
            except (OSError, http.client.HTTPException):
                self.lost.append((time.monotonic(), port))
                connection.close()
                connection = self._connect()
        connection.close()

    def _connect(self) -> http.client.HTTPConnection:
        made = self.service.connection()
        made.connect()
        return made


def clients_of(pid: int) -> set[int]:
    """The ports of those who are connected to a process."""
    own = set()
    for file in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(OSError):
            own.add(str(file.readlink()).removeprefix("socket:[").removesuffix("]"))
    rows = [line.split() for line in Path(f"/proc/{pid}/net/tcp").read_text().splitlines()[1:]]
    return {int(row[2].split(":")[1], 16) for row in rows if row[9] in own}


# ---- workers


def test_a_killed_worker_is_started_again_and_no_other_request_is_lost(service: Process) -> None:
    before = metric(service, "arcwise_worker_restarts_total")
    with Load(service, CONNECTIONS) as load:
        time.sleep(SECONDS / 2)
        killed = service.workers()[0]
        connected = clients_of(killed)
        at = time.monotonic()
        os.kill(killed, signal.SIGKILL)
        until(lambda: len(service.workers()) == 2 and killed not in service.workers())
        time.sleep(SECONDS / 2)
    assert set(load.answers) == {200}
    assert len(load.answers) > CONNECTIONS
    # What the killed worker was answering is lost, once for each of its connections, at that moment and at no
    # other.
    assert all(at - 0.1 <= when <= at + 5 for when, _ in load.lost)
    assert {port for _, port in load.lost} <= connected
    assert len(load.lost) <= len(connected)
    assert metric(service, "arcwise_worker_restarts_total") == before + 1


def test_counts_are_those_of_all_workers(service: Process) -> None:
    before = metric(service, "arcwise_sentences_total")
    for _ in range(12):  # on a connection each: both workers get some
        assert service.process(data="Birds sing.", **ALL).status == 200
    for _ in range(3):
        assert metric(service, "arcwise_sentences_total") == before + 12
    assert service.get("/metrics").text.count("arcwise_worker_memory_bytes{") == 2


def test_workers_end_with_the_one_that_watches() -> None:
    with serving("--workers", "2") as made:
        workers = made.workers()
        made.end(signal.SIGKILL)
        until(lambda: not any(_runs(pid) for pid in workers))


def _runs(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def test_workers_that_cannot_start_end_the_service() -> None:
    from arcwise.web.serve_workers import PATIENCE, Supervisor, listening_sockets

    said: list[str] = []

    def broken(number: int, listening: socket.socket, alive: int) -> None:
        raise RuntimeError("broken")

    sockets = listening_sockets("127.0.0.1", 0, 2)
    assert Supervisor(sockets, broken, say=said.append).run(lambda: None) is False
    assert said[-1] == f"{PATIENCE} workers in a row ended as soon as they were started; the service ends"


# ---- the end


def test_open_requests_are_answered_at_the_end() -> None:
    with serving("--workers", "1") as made:
        text = " ".join([TEXT] * 400)  # long enough to be under way when the signal comes
        body = urlencode({"data": text, **ALL}).encode()
        connection = made.connection()
        connection.request("POST", "/process", body, {"Content-Type": FORM})
        until(lambda: metric(made, "arcwise_open_requests") == 2)  # this question is one, too
        made.running.send_signal(signal.SIGTERM)
        found = connection.getresponse()
        assert found.status == 200
        assert found.read().count(b"# text") > 400
        connection.close()
        status, said = made.end()
        assert (status, said) == (0, "")
        with pytest.raises(OSError, match="refused"):
            made.get("/healthz")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_quietly(number: int) -> None:
    with serving("--workers", "2") as made:
        connection = made.connection()
        assert ask_on(connection, "GET", "/healthz").status == 200  # which then stays open and says nothing
        began = time.monotonic()
        assert made.end(number) == (0, "")
        assert time.monotonic() - began < 8
        connection.close()


# ---- clients that misbehave


def test_slow_clients_do_not_keep_others_waiting(service: Process) -> None:
    """Requests that come byte by byte, and answers that nobody reads."""
    body = urlencode({"data": " ".join([TEXT] * 60), **ALL}).encode()
    head = (
        f"POST /process HTTP/1.1\r\nHost: x\r\nContent-Type: {FORM}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode()
    with contextlib.ExitStack() as stack:
        slow = [
            stack.enter_context(socket.create_connection(service.socket_place)) for _ in range(CONNECTIONS)
        ]
        for at, own in enumerate(slow):
            own.sendall(head + body if at % 2 else head + body[:10])
        for byte in range(5):
            assert service.process(data="Birds sing.", **ALL).status == 200
            for own in slow[::2]:
                own.sendall(body[10 + byte : 11 + byte])
        for own in slow[::2]:
            own.sendall(body[15:])
        for own in slow:
            assert own.recv(15) == b"HTTP/1.1 200 OK"


@pytest.fixture(scope="module")
def hasty() -> Iterator[Process]:
    """A service that waits for nobody."""
    with serving("--workers", "1", "--max-seconds", "3") as made:
        yield made


def test_a_body_that_comes_too_slowly_is_refused(hasty: Process) -> None:
    with socket.create_connection(hasty.socket_place) as own:
        own.sendall(
            f"POST /process HTTP/1.1\r\nHost: x\r\nContent-Type: {FORM}\r\nContent-Length: "
            f"1000\r\n\r\n".encode()
        )
        own.settimeout(0.2)
        for _ in range(100):  # a byte each fifth of a second
            own.sendall(b"x")
            with contextlib.suppress(TimeoutError):
                found = own.recv(4096)
                break
        own.settimeout(20)
        while more := own.recv(4096):
            found += more
    assert found.startswith(b"HTTP/1.1 408")
    assert b"took longer than 3 seconds to arrive" in found


def test_an_answer_that_nobody_reads_is_given_up(hasty: Process) -> None:
    """However large it is: of ten megabytes most waits in the service."""
    (worker,) = hasty.workers()
    body = urlencode({"data": 800 * (499 * "a " + "b\n"), "input": "horizontal"}).encode()
    head = f"POST /process HTTP/1.1\r\nHost: x\r\nContent-Type: {FORM}\r\nContent-Length: {len(body)}\r\n\r\n"
    with socket.socket() as own:
        own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        own.connect(hasty.socket_place)
        own.sendall(head.encode() + body)
        assert own.recv(15) == b"HTTP/1.1 200 OK"
        assert own.getsockname()[1] in clients_of(worker)
        until(lambda: own.getsockname()[1] not in clients_of(worker))
    assert hasty.process(data="Birds sing.", **ALL).status == 200


def test_half_a_request_is_given_up(service: Process) -> None:
    """After --idle-seconds for what comes before the body, and at once when the client goes."""
    with contextlib.ExitStack() as stack:
        halves = (b"", b"POST /process HT", b"POST /process HTTP/1.1\r\nHost: x\r\n")
        made = [stack.enter_context(socket.create_connection(service.socket_place)) for _ in halves]
        for own, half in zip(made, halves, strict=True):
            own.sendall(half)
        for own in made:
            own.settimeout(20)
            assert own.recv(100) == b""
    with socket.create_connection(service.socket_place) as own:
        own.sendall(b"POST /process HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\ndata=")
    until(lambda: metric(service, "arcwise_open_requests") == 1)


def test_an_address_without_end_is_refused(service: Process) -> None:
    with socket.create_connection(service.socket_place) as own:
        own.sendall(b"GET /process?tokenizer=&data=")
        with contextlib.suppress(OSError):
            for _ in range(100):
                own.sendall(b"x" * 10_000)
                time.sleep(0.001)
        own.settimeout(20)
        found = b""
        with contextlib.suppress(ConnectionResetError):
            while more := own.recv(4096):
                found += more
    assert found.startswith(b"HTTP/1.1 431")
    assert b"found more than 65536 bytes of address and headers; send the data as a form" in found
    assert service.get(f"/process?tokenizer=&data={'Go!%20' * 5000}").status == 200


def test_what_is_no_http(service: Process) -> None:
    with socket.create_connection(service.socket_place) as own:
        own.sendall(b"\xff\xfe\x00 what is this\r\n\r\n")
        own.settimeout(20)
        assert own.recv(100).startswith((b"HTTP/1.1 400", b""))
    assert service.get("/healthz").status == 200


def test_broken_utf8_is_told_and_does_no_harm(service: Process) -> None:
    parts = b'--x\r\nContent-Disposition: form-data; name="data"\r\n\r\n\xc3(\r\n--x--'
    for target, kind, body, told in (
        ("/process", FORM, b"data=\xc3(", b"body: found byte 0xc3 at offset 5, expected UTF-8"),
        ("/process", FORM, b"data=%c3(", b"body: found byte 0xc3 at offset 0, expected UTF-8"),
        ("/process?data=%c3(", "", b"", b"address: found byte 0xc3 at offset 0, expected UTF-8"),
        ("/process", "multipart/form-data; boundary=x", parts, b"data: found byte 0xc3 at offset 0, expected "
            b"UTF-8"),
        ("/v1/parse", "application/json", b'{"text": "\xc3("}', b"body: found byte 0xc3 at offset 10, "
            b"expected UTF-8"),
    ):  # fmt: skip
        answer = service.ask("POST", target, headers={"Content-Type": kind}, body=body)
        assert (answer.status, told in answer.body) == (400, True), (target, answer.text)
    with socket.create_connection(service.socket_place) as own:  # as it stands, in the request line
        own.sendall(b"GET /process?data=\xc3( HTTP/1.1\r\nHost: x\r\n\r\n")
        own.settimeout(20)
        assert own.recv(100).startswith(b"HTTP/1.1 400")
    assert service.get("/healthz").status == 200


def test_a_large_body_is_refused_and_not_kept(service: Process) -> None:
    sizes = [_memory(pid) for pid in service.workers()]
    piece = b"x" * 2**20
    with socket.create_connection(service.socket_place) as own:
        own.sendall(
            f"POST /process HTTP/1.1\r\nHost: x\r\nContent-Type: {FORM}\r\nContent-Length: "
            f"{MEGABYTES * 2**20}\r\n\r\n".encode()
        )
        with contextlib.suppress(OSError):  # closed by the server at last
            for _ in range(MEGABYTES):
                own.sendall(piece)
        own.settimeout(20)
        assert own.recv(30).startswith(b"HTTP/1.1 413")
    in_pieces = service.ask(
        "POST", "/process", headers={"Content-Type": FORM, "Transfer-Encoding": "chunked"},
        body=(b"100000\r\n" + piece + b"\r\n" if n < 8 else b"0\r\n\r\n" for n in range(9)),
    )  # fmt: skip
    assert in_pieces.status == 413
    assert all(
        _memory(pid) < before + 8 * 2**20 for pid, before in zip(service.workers(), sizes, strict=True)
    )


def _memory(pid: int) -> int:
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


def test_idle_connections(service: Process) -> None:
    """They cost little, keep nobody waiting, and are closed after a while."""
    with contextlib.ExitStack() as stack:
        idle = [stack.enter_context(socket.create_connection(service.socket_place)) for _ in range(IDLE)]
        assert service.process(data="Birds sing.", **ALL).status == 200
        for own in idle:
            own.settimeout(20)
            assert own.recv(1) == b""
    assert service.process(data="Birds sing.", **ALL).status == 200


# ---- the command


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    line = [sys.executable, "-m", "arcwise", "serve", *arguments]
    return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    "arguments, told",
    [
        (["--model", "nothing"], "nothing: no such model file or installed model"),
        (["--model", "a=en-fast", "--model", "a=en-fast"], "--model: found the name 'a' twice, expected "
            "different names"),
        (["--max-words", "0"], "--max-words: found 0, expected 1..1000000"),
        (["--host", "no.such.host.invalid"], "--host: found 'no.such.host.invalid', expected an address of "
            "this machine"),
    ],
)  # fmt: skip
def test_bad_arguments(arguments: list[str], told: str) -> None:
    done = command(*arguments, "--port", "0")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.removeprefix("arcwise: ").removeprefix("error: ").startswith(told), done.stderr
    assert done.stderr.count("\n") == 1


def test_a_port_that_is_taken(service: Process) -> None:
    done = command("--model", "en-fast", "--port", str(service.socket_place[1]))
    assert done.returncode == 2
    assert f"--port: found {service.socket_place[1]}, expected a free one on 127.0.0.1" in done.stderr


def test_several_models_and_all_addresses() -> None:
    with serving(
        "--model", "second=en-fast", "--workers", "1", "--host", "0.0.0.0", "--allow-origin", "*"
    ) as made:
        found = made.get("/models")
        assert list(found.json()["models"]) == ["en-fast", "second"]
        assert found.headers["access-control-allow-origin"] == "*"
        assert made.ask("OPTIONS", "/v1/parse").status == 204
        assert made.parse(text="Birds sing.", model="second").json()["model"] == "second"
