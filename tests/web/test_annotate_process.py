"""``arcwise annotate`` as a process on a socket: start, crashes and shutdown."""

from __future__ import annotations

import contextlib
import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytest.importorskip("starlette", reason="needs starlette")
pytest.importorskip("uvicorn", reason="needs uvicorn")

from arcwise.cli.main import run
from web.served import ROWS, Process, process
from web.waiting import until

pytestmark = pytest.mark.process

Output = pytest.CaptureFixture[str]


def refused(arguments: list[str], capsys: Output) -> str:
    """The one line of a command that does not start."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("arcwise.web.server.serve", lambda *_, **__: pytest.fail("it serves"))
        assert run(["annotate", "--no-browser", *arguments]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.count("\n") == 1
    return said.err


# ---- starting and ending


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_a_signal_saves_and_ends(file: Path, number: int) -> None:
    with process(file) as server:
        assert server.address.startswith("http://127.0.0.1:")
        page = server.ask(
            "GET", server.address.removeprefix(f"http://{server.place}"), headers={"X-Arcwise-Token": ""}
        )
        assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        assert server.set(0, "4", head="5", deprel="det").status == 200
        status, _, err = server.end(number)
    assert (status, err) == (0, "")
    assert file.read_text() == ROWS.replace("4\ta\ta\tDET\t_\t_\t_\t_", "4\ta\ta\tDET\t_\t_\t5\tdet")


def test_it_ends_while_a_page_listens(file: Path) -> None:
    with process(file) as server:
        host, port = server.place.split(":")
        with socket.create_connection((host, int(port)), 10) as listener:
            listener.sendall(
                f"GET /api/events?token={server.token} HTTP/1.1\r\nHost: {server.place}\r\n\r\n".encode()
            )
            assert b"listening" in _read_until(listener, b"listening")
            status, _, err = server.end(signal.SIGINT)
    assert (status, err) == (0, "")


def _read_until(connection: socket.socket, what: bytes) -> bytes:
    read = b""
    while what not in read:
        part = connection.recv(4096)
        assert part, read
        read += part
    return read


def test_it_listens_on_this_machine_alone_and_opens_to_its_page_alone(file: Path) -> None:
    with process(file) as server:
        port = int(server.place.split(":")[1])
        listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        addresses = {
            fields[1] for fields in listening if fields[1].endswith(f":{port:04X}") and fields[3] == "0A"
        }
        assert addresses == {f"0100007F:{port:04X}"}
        assert server.get("/api/document").status == 200
        assert server.get("/api/document", Host="evil.example").status == 403
        assert server.get("/api/document", Origin="http://evil.example").status == 403
        assert server.ask("GET", "/api/document", headers={"X-Arcwise-Token": "wrong"}).status == 403
        for path in (
            "/static/../security.py",
            "/static/%2e%2e/security.py",
            "//etc/passwd",
            "/../small.conllu",
        ):
            answer = server.ask("GET", path)
            assert answer.status in (400, 403, 404)
            assert "def " not in answer.text
            assert "sent_id" not in answer.text
        huge = {"Content-Type": "application/json", "Content-Length": str(10**9)}
        assert server.ask("POST", "/api/undo", headers=huge).status == 413


# ---- what it survives


def test_kill_in_the_middle_of_edits_loses_nothing(file: Path) -> None:
    """Every edit that was answered is there again, and at most the one that was under way besides."""
    there: list[str] = []
    for turn in range(2):
        with process(file) as server:
            if there:
                assert server.sentence(0)["rows"][0]["xpos"] == there[-1]
            sent, answered = _killed_while_editing(server, turn)
            assert len(answered) > 3
        with process(file) as server:
            found = server.sentence(0)["rows"][0]["xpos"]
            assert found in (sent[len(answered) - 1], sent[-1])
            there += sent[: sent.index(found) + 1]
            if turn == 1:
                for tag in [*reversed(there[:-1]), "_"]:
                    assert server.post("/api/undo").json()["sentence"]["rows"][0]["xpos"] == tag
                assert server.post("/api/undo").json()["number"] is None
            server.end(signal.SIGINT)
    assert file.read_text() == ROWS


def _killed_while_editing(server: Process, turn: int) -> tuple[list[str], list[str]]:
    """The tags sent one after the other until the server was killed, and those that were answered."""
    sent: list[str] = []
    answered: list[str] = []

    def annotate() -> None:
        with contextlib.suppress(OSError, http.client.HTTPException, ValueError):
            while True:
                sent.append(f"X{turn}.{len(sent)}")
                edit = {"kind": "set-field", "row": "1", "column": "xpos", "value": sent[-1]}
                assert server.post("/api/sentence/0/edits", {"edits": [edit]}).status == 200
                answered.append(sent[-1])

    client = threading.Thread(target=annotate)
    client.start()
    until(lambda: len(answered) > 3 + 5 * turn)
    server.process.kill()
    client.join(30)
    server.process.wait(30)
    return sent, answered


def test_two_processes_on_one_file(file: Path, capsys: Output) -> None:
    with process(file):
        told = refused([str(file)], capsys)
        assert str(file) in told


def test_edits_that_cannot_be_saved_at_the_end_stay_in_the_journal(file: Path) -> None:
    changed = ROWS.replace("1\tDogs\tdog", "1\tDogs\tDOG")
    with process(file) as server:
        server.set(0, "4", head="5", deprel="det")
        file.write_text(changed)
        status, _, err = server.end(signal.SIGINT)
    assert status == 2
    assert err.count("\n") == 1
    assert "changed by another program" in err
    assert file.read_text() == changed
    with process(file) as server:
        assert [r["head"] for r in server.sentence(0)["rows"]][3] == "5"
        assert server.sentence(2)["rows"][0]["lemma"] == "DOG"


# ---- what keeps it from starting


def test_a_busy_port(file: Path, capsys: Output) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert f"--port: found {port}, expected a free one" in refused(
            [str(file), "--port", str(port)], capsys
        )
    with process(file, "--port", str(port)) as server:
        assert server.place == f"127.0.0.1:{port}"


def test_no_such_model(file: Path, capsys: Output) -> None:
    assert "no such model" in refused([str(file), "--model", "nonsense"], capsys)


@pytest.mark.parametrize(
    "data", [b"nonsense\n", b"\xff\xfe1\x00", b"{}", b"\x00" * 100], ids=["words", "UTF-16", "JSON", "zeros"]
)
def test_a_broken_file(tmp_path: Path, data: bytes, capsys: Output) -> None:
    broken = tmp_path / "broken.conllu"
    broken.write_bytes(data)
    assert str(broken) in refused([str(broken)], capsys)
    assert broken.read_bytes() == data
    assert [p.name for p in tmp_path.iterdir()] == ["broken.conllu"]


def test_plain_text_is_called_plain_text(tmp_path: Path, capsys: Output) -> None:
    raw = tmp_path / "raw.txt"
    raw.write_text("Some text.\n" * 40)
    said = refused([str(raw)], capsys)
    assert "raw.txt: is plain text, expected CoNLL-U; create a file with 'arcwise annotate" in said
    raw.write_text("1\ta\n2\tb\n\n")  # not CoNLL-U either: the first problem, not the last
    assert "raw.txt:1: found 2 columns" in refused([str(raw)], capsys)


def test_no_such_file_and_new_ones(tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "new.conllu"
    assert "new.conllu: no such file; to create it, add --new" in refused([str(file)], capsys)
    with process(file, "--new") as server:
        assert server.get("/api/document").json()["sentences"] == 0
        assert server.get("/api/sentences").json() == {"items": [], "total": 0, "ready": True}
        assert server.get("/api/sentence/0").status == 404
        assert server.post("/api/insert", {"conllu": "1\tHi\t_\t_\t_\t_\t_\t_\t_\t_\n\n"}).status == 200
        assert server.set(0, "1", head="0", deprel="root").status == 200
        server.end(signal.SIGINT)
    assert file.read_text() == "1\tHi\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    assert str(file) in refused([str(file), "--new"], capsys)


def test_a_folder(tmp_path: Path, capsys: Output) -> None:
    folder = tmp_path / "treebank"
    folder.mkdir()
    assert "treebank: has no .conllu file; expected at least one" in refused([str(folder)], capsys)
    row = "1\tHi\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
    for name in ("a", "b"):
        (folder / f"{name}.conllu").write_text(row)
    with process(folder) as server:
        assert server.get("/api/document").json()["sentences"] == 2
        assert server.set(1, "1", head="0", deprel="root").status == 200
        assert server.get("/api/sentence/1").json()["file"] == "b.conllu"
        server.end(signal.SIGINT)
    assert [path.read_text() for path in sorted(folder.glob("*.conllu"))] == [
        row,
        "1\tHi\t_\t_\t_\t_\t0\troot\t_\t_\n\n",
    ]
    assert "new: cannot be combined with a folder" in refused([str(folder), "--new"], capsys)
    beside = ["--beside", str(folder / "a.conllu")]
    assert "beside: cannot be combined with a folder" in refused([str(folder), *beside], capsys)
    (folder / "c.conllu").write_text("Some text.\n")
    assert "c.conllu: is plain text, expected CoNLL-U" in refused([str(folder)], capsys)


@pytest.mark.parametrize("how", ["broken file", "broken beside", "new", "foreign journal"])
def test_a_start_that_is_refused_leaves_no_file_behind(
    tmp_path: Path, file: Path, how: str, capsys: Output
) -> None:
    broken, out = tmp_path / "broken.conllu", tmp_path / "out.conllu"
    broken.write_text("1\tHi\n\n")
    if how == "foreign journal":
        out.with_name("out.conllu.journal").write_text("a diary\n")
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    arguments = {
        "broken file": [str(broken), "--output", str(out)],
        "broken beside": [str(file), "--output", str(out), "--beside", str(broken)],
        "new": [str(out), "--new", "--beside", str(broken)],
        "foreign journal": [str(out), "--new"],
    }
    said = refused(arguments[how], capsys)
    assert ("out.conllu.journal" if how == "foreign journal" else f"{broken}:1: found 2 columns") in said
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


@pytest.mark.parametrize("library", ["starlette", "uvicorn"])
def test_a_missing_extra(file: Path, library: str, capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    said = refused([str(file)], capsys)
    assert f"this needs {library}, which is not installed: " in said
    assert "'arcwise[web]'" in said


def test_nothing_optional_is_imported_before_it_is_needed() -> None:
    script = (
        "import sys, arcwise, arcwise.cli.annotate, arcwise.web, arcwise.web.security, arcwise.web.events;"
        "import arcwise.web.server, arcwise.web.annotate_session;"
        "print([m for m in ('starlette', 'uvicorn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


# ---- other files


def test_output_leaves_the_file_as_it_is_and_is_gone_on_with(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.conllu"
    for turn in range(2):
        with process(file, "--output", str(out)) as server:
            assert server.get("/api/document").json()["name"] == "out.conllu"
            assert server.sentence(0)["rows"][3]["head"] == ("_" if turn == 0 else "5")
            server.set(0, "4", head="5", deprel="det")
            server.end(signal.SIGINT)
    assert file.read_text() == ROWS
    assert "\t5\tdet\t" in out.read_text()


def test_a_model_thinks_along(file: Path) -> None:
    with process(file, "--model", "en") as server:
        found = server.get("/api/document").json()["model"]
        assert (found["which"], found["name"], found["probabilities"]) == ("given", "en", True)
        assert "nsubj" in found["labels"]
        assert set(server.sentence(0)["thoughts"]["words"]) == {"1", "2", "3", "4", "5", "6"}


def test_the_browser_is_opened(file: Path, tmp_path: Path) -> None:
    """With a browser of our own, that writes down what it was to open."""
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    line = [sys.executable, "-m", "arcwise", "annotate", str(file)]
    env = {**os.environ, "BROWSER": str(browser)}
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True, env=env) as started:
        assert started.stdout is not None
        address = started.stdout.readline().strip()
        for _ in range(200):
            if opened.exists() and opened.read_text():
                break
            try:
                started.wait(0.05)
            except subprocess.TimeoutExpired:
                continue
        started.send_signal(signal.SIGINT)
        assert started.wait(20) == 0
    assert opened.read_text().strip() == address


OPENED = """
import sys
from arcwise.annotation.document import AnnotationDocument
from arcwise.web.annotate_app import annotate_app
from arcwise.web.annotate_session import Session
from arcwise.web.events import Events
document = AnnotationDocument.open(sys.argv[1])
session = Session(document, events=Events())
session.view.sentence(0), session.document(), session.training()
rooms = ("graph", "neural", "text", "pipeline", "models", "evaluation")
print([room for room in rooms if f"arcwise.{room}" in sys.modules])
document.close()
"""


def test_a_page_without_a_model_imports_no_parser(file: Path) -> None:
    """So that it is there at once."""
    found = subprocess.run(
        [sys.executable, "-c", OPENED, str(file)], capture_output=True, text=True, check=True
    )
    assert found.stdout == "[]\n"
