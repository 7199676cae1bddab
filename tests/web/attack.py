"""Attacks on servers that run as processes: requests that must neither stop them nor take their memory."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from web.asgi_client import Answer
from web.serving import Process, ask_on

if TYPE_CHECKING:
    from web.served import Process as Editor

MAX_PAUSE, MAX_MEGABYTES = 1.0, 500


class Watch:
    """Asks ``/healthz`` again and again while it is entered; then knows the longest time without an answer,
    and the memory that the workers took."""

    def __init__(self, service: Process) -> None:
        self.service = service
        self.longest_pause = 0.0
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._thread.join(60)

    def _ask(self) -> None:
        connection = self.service.connection()
        is_over = False
        while not is_over:  # once more after the end
            is_over = self._end.wait(0.02)
            began = time.monotonic()
            assert ask_on(connection, "GET", "/healthz").status == 200
            self.longest_pause = max(self.longest_pause, time.monotonic() - began)
        connection.close()

    def megabytes(self) -> int:
        """The most memory that a worker ever had."""
        return max(peak_megabytes(pid) for pid in self.service.workers())


def peak_megabytes(pid: int) -> int:
    """The most memory that a process ever had."""
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024 // 10**6


@contextlib.contextmanager
def attacked(service: Process) -> Iterator[None]:
    """Check that the service answers others meanwhile, and its memory."""
    workers = service.workers()
    with Watch(service) as watch:
        yield
    assert service.workers() == workers, "a worker died"
    assert watch.longest_pause < MAX_PAUSE
    assert watch.megabytes() < MAX_MEGABYTES


def attack(service: Process, body: bytes, path: str = "/v1/parse", kind: str = "application/json") -> Answer:
    """Send one request, and check that the service answered others meanwhile, and its memory."""
    with attacked(service):
        return service.ask("POST", path, headers={"Content-Type": kind}, body=body)


def attack_editor(editor: Editor, ask: Callable[[], Answer]) -> Answer:
    """Send one request to ``arcwise annotate``, and check its answers to others, and its memory."""
    answers: list[Answer] = []
    thread = threading.Thread(target=lambda: answers.append(ask()))
    thread.start()
    longest, is_over = 0.0, False
    while not is_over:  # once more after the end
        is_over = not thread.is_alive()
        began = time.monotonic()
        assert editor.get("/api/document").status == 200
        longest = max(longest, time.monotonic() - began)
    assert longest < MAX_PAUSE
    assert peak_megabytes(editor.process.pid) < MAX_MEGABYTES
    (answer,) = answers
    return answer


def form_part(head: bytes) -> bytes:
    """A form with one part."""
    return b"--x\r\nContent-Disposition: form-data; name=data" + head + b"\r\n\r\nHi!\r\n--x--\r\n"


def json_error(answer: Answer) -> Any:
    """The message of a refusal."""
    return answer.json()["error"]
