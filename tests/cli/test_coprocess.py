"""``arcwise parse`` as a co-process: sentences that come one by one are answered one by one; a terminal is
told what is waited for."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from arcwise.treebanks import Treebank
from contracts.every_parser import toy_pipeline

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(sys.platform == "win32", reason="pipes cannot be watched on Windows"),
]

PATIENCE = 60.0
ROWS = "1\t{}\t_\t_\t_\t_\t_\t_\t_\t_\n2\t{}\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
UNITS = {
    "text": ["The dog sees cats. Birds hear cats!\n\n", "The teacher likes robins.\n \n"],
    "lines": ["The dog. Sees cats.\n", "The teacher likes robins.\n"],
    "tokens": ["The dog sees cats .\n", "Birds sing\n"],
    "conllu": [ROWS.format("Birds", "sing"), ROWS.format("Cats", "hear")],
    "json": ['{"id": 1, "text": "Birds sing."}\n', '{"words": [{"form": "Birds"}]}\n'],
}
FORMS = {
    "text": [["The", "dog", "sees", "cats", "."], ["Birds", "hear", "cats", "!"]],
    "lines": [["The", "dog", ".", "Sees", "cats", "."]],
    "tokens": [["The", "dog", "sees", "cats", "."]],
    "conllu": [["Birds", "sing"]],
    "json": [["Birds", "sing", "."]],
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("model") / "toy.arcwise"
    toy_pipeline().save(path)
    return str(path)


@contextmanager
def coprocess(model: str, *options: str) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-m", "arcwise", "parse", "--model", model, *options]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def send(process: subprocess.Popen[bytes], text: str) -> None:
    assert process.stdin is not None
    process.stdin.write(text.encode())
    process.stdin.flush()


def answer(process: subprocess.Popen[bytes], end: bytes) -> bytes:
    """What comes until ``end``, while nothing more is sent."""
    assert process.stdout is not None
    found = b""
    until = time.monotonic() + PATIENCE
    while not found.endswith(end):
        ready, _, _ = select.select([process.stdout], [], [], max(0.0, until - time.monotonic()))
        assert ready, f"no answer: {found!r}"
        piece = os.read(process.stdout.fileno(), 1 << 16)
        assert piece, f"ended: {found!r}"
        found += piece
    return found


def silent(process: subprocess.Popen[bytes]) -> bool:
    return not select.select([process.stdout], [], [], 0.4)[0]


@pytest.mark.parametrize("immediate", [True, False])
@pytest.mark.parametrize("form", UNITS)
def test_each_sentence_is_answered_at_once(model: str, form: str, immediate: bool) -> None:
    """By --immediate, and without, because the pipe pauses."""
    options = ["--format", form, *(["--immediate"] if immediate else [])]
    with coprocess(model, *options) as process:
        first, second = UNITS[form]
        send(process, first[:4])
        send(process, first[4:])
        found = answer(process, b"\n\n")
        while len(Treebank(found)) < len(FORMS[form]):
            found += answer(process, b"\n\n")
        assert [s.forms for s in Treebank(found)] == FORMS[form]
        assert all((s.heads[1:] >= 0).all() for s in Treebank(found))
        send(process, second)
        found += answer(process, b"\n\n")
        rest, error = process.communicate(timeout=PATIENCE)
        assert (rest, error, process.returncode) == (b"", b"", 0)
        names = [s.sent_id for s in Treebank(found) if s.sent_id]
        assert len(set(names)) == len(names)


def test_the_format_is_seen_in_the_first_line(model: str) -> None:
    with coprocess(model, "--immediate") as process:
        send(process, "\n1\tBi")
        send(process, "rds\t_\t_\t_\t_\t_\t_\t_\t_\n")
        assert silent(process)
        send(process, "\n")
        assert Treebank(answer(process, b"\n\n"))[0].forms == ["Birds"]


def test_a_paragraph_is_waited_for(model: str) -> None:
    with coprocess(model, "--immediate") as process:
        send(process, "The dog sees cats.\n")
        assert silent(process)
        send(process, "Birds hear")
        assert silent(process)
        send(process, " cats!\n\nThe")
        found = answer(process, b"\n\n")
        assert [len(s) for s in Treebank(found)] == [5, 4]
        assert process.stdin is not None
        rest, _ = process.communicate(b" cat.", timeout=PATIENCE)
        assert Treebank(rest)[0].forms == ["The", "cat", "."]
        assert Treebank(rest)[0].sent_id == "3"


def test_one_line_of_json_for_each(model: str) -> None:
    """What stands beside a text comes back with it; a broken line is told, in its place, and stops
    nothing."""
    with coprocess(model, "--immediate", "--format", "json", "--to", "json", "--confidence") as process:
        send(process, '{"id": 7, "text": "Birds sing. The dog sees cats."}\n')
        found = json.loads(answer(process, b"\n"))
        assert found["id"] == 7
        assert len(found["sentences"]) == 2
        assert 0 < found["sentences"][0]["words"][0]["head_probability"] <= 1
        for broken, why in [
            ('{"id": 8', "is not valid JSON"),
            ("[1]", "found list, expected an object"),
            ('{"text": 3}', "text: found int, expected a string"),
            ('{"id": 9}', "found none of 'text', 'sentences' and 'words'"),
            ('{"words": [{}]}', "'form' is missing"),
            ("[" * 100_000, "is not valid JSON"),
        ]:
            send(process, broken + "\n")
            assert why in json.loads(answer(process, b"\n"))["error"]
        send(
            process,
            '{"words": [{"form": "Birds"}, {"form": "sing"}], "sent_id": "x", "text": "Birds sing"}\n',
        )
        found = json.loads(answer(process, b"\n"))
        assert [word["form"] for word in found["words"]] == ["Birds", "sing"]
        assert found["sent_id"] == "x"
        rest, error = process.communicate(timeout=PATIENCE)
        assert process.returncode == 1
        assert rest == b""
        assert "-:2: is not valid JSON" in error.decode()
        assert error.decode().endswith("arcwise: 6 lines of JSON could not be parsed\n")


def test_a_terminal_is_told_what_is_waited_for(model: str) -> None:
    pty = pytest.importorskip("pty", reason="needs a terminal of Unix")
    keyboard, terminal = pty.openpty()
    try:
        command = [sys.executable, "-m", "arcwise", "parse", "--model", model]
        process = subprocess.Popen(command, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stderr is not None
        assert select.select([process.stderr], [], [], PATIENCE)[0]
        told = os.read(process.stderr.fileno(), 1 << 10).decode()
        assert told == (
            "arcwise: waiting for text or CoNLL-U, parsed at each blank line; Ctrl-D on an empty line ends "
            "the input\n"
        )
        os.write(keyboard, b"The dog sees cats.\n\n")
        assert Treebank(answer(process, b"\n\n"))[0].forms == ["The", "dog", "sees", "cats", "."]
        os.write(keyboard, b"\x04")
        rest, error = process.communicate(timeout=PATIENCE)
        assert (rest, error, process.returncode) == (b"", b"", 0)
    finally:
        os.close(keyboard)
        os.close(terminal)


def test_a_pipe_is_told_nothing(model: str) -> None:
    with coprocess(model) as process:
        _, error = process.communicate(b"Birds sing.", timeout=PATIENCE)
        assert error == b""


@pytest.mark.slow
def test_a_file_is_parsed_the_same_at_once_or_not(model: str, tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("".join(UNITS["text"]) * 3)
    command = [sys.executable, "-m", "arcwise", "parse", "--model", model]
    found = []
    for more in ([], ["--immediate"]):
        with path.open("rb") as file:
            done = subprocess.run([*command, *more], stdin=file, capture_output=True, check=True)
        found.append(done.stdout)
    assert found[0] == found[1]
