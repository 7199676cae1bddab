"""A service in this process and one as a process, for the tests of ``arcwise serve``."""

from __future__ import annotations

import contextlib
import functools
import http.client
import json
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from arcwise.web.serve_app import ServeApp
from arcwise.web.serve_limits import Limits
from arcwise.web.serve_models import Models, ServedModel
from web.asgi_client import Answer, AsgiClient

FORM = "application/x-www-form-urlencoded"
ALL = {"tokenizer": "", "tagger": "", "parser": ""}
"""Parameters that ask for every step."""


@functools.cache
def english() -> Any:
    """A model that comes with arcwise."""
    from arcwise.models.registry import open_model

    return open_model("en")


@functools.cache
def small_graph_parser() -> Any:
    """A parser that takes no text."""
    from arcwise.graph import GraphConfig, GraphParser
    from contracts.small_treebank import small_treebank

    return GraphParser.train(small_treebank(), config=GraphConfig(epochs=2, arc_bits=12, row_bits=13))


def two_models() -> Models:
    """A pipeline, and a parser alone."""
    return Models([ServedModel("english-ewt-fast", english()), ServedModel("graph", small_graph_parser())])


class Service:
    """Ways to ask that both kinds of service have."""

    def ask(
        self, method: str, target: str, *, headers: Mapping[str, str] | None = None, body: Any = b""
    ) -> Answer:
        raise NotImplementedError

    def get(self, target: str) -> Answer:
        return self.ask("GET", target)

    def process(self, **parameters: str) -> Answer:
        """``/process`` by a form."""
        body = urlencode(parameters).encode()
        return self.ask("POST", "/process", headers={"Content-Type": FORM}, body=body)

    def result(self, **parameters: str) -> str:
        """What it gives, without our comments."""
        answer = self.process(**parameters)
        assert answer.status == 200, answer.text
        lines = answer.json()["result"].splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith(("# generator", "# udpipe_model")))

    def parse(self, **values: Any) -> Answer:
        """``/v1/parse``."""
        body = json.dumps(values).encode()
        return self.ask("POST", "/v1/parse", headers={"Content-Type": "application/json"}, body=body)


class Here(Service):
    """An application in this process."""

    def __init__(self, client: AsgiClient) -> None:
        self.client = client

    def ask(
        self, method: str, target: str, *, headers: Mapping[str, str] | None = None, body: Any = b""
    ) -> Answer:
        return self.client.request(method, target, headers=headers, body=body)


@contextlib.contextmanager
def serving_here(limits: Limits = Limits(), **settings: Any) -> Iterator[Here]:
    """The application with two models."""
    with AsgiClient(ServeApp(two_models(), limits=limits, **settings), {"host": "127.0.0.1"}) as client:
        yield Here(client)


class Process(Service):
    """``arcwise serve`` in a process of its own."""

    def __init__(self, *arguments: str, model: str = "en-fast") -> None:
        line = [sys.executable, "-m", "arcwise", "serve", "--port", "0", "--model", model, *arguments]
        self.running = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.running.stdout is not None
        said = self.running.stdout.readline()
        assert said.startswith("http://"), self.running.stderr.read() if self.running.stderr else ""
        self.address = said.strip().rstrip("/")
        self.place = self.address.removeprefix("http://")
        host, _, port = self.place.rpartition(":")
        self.socket_place = host, int(port)

    def connection(self) -> http.client.HTTPConnection:
        """A connection of one's own."""
        return http.client.HTTPConnection(self.place, timeout=60)

    def ask(
        self, method: str, target: str, *, headers: Mapping[str, str] | None = None, body: Any = b""
    ) -> Answer:
        with contextlib.closing(self.connection()) as connection:
            return ask_on(connection, method, target, headers=headers, body=body)

    def workers(self) -> list[int]:
        """The processes of the workers that run."""
        found = Path(f"/proc/{self.running.pid}/task/{self.running.pid}/children").read_text().split()
        return [int(pid) for pid in found]

    def end(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Send a signal and wait: the exit status, and what was said on standard error."""
        self.running.send_signal(number)
        _, err = self.running.communicate(timeout=60)
        return self.running.returncode, err


def ask_on(
    connection: http.client.HTTPConnection,
    method: str,
    target: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: Any = b"",
) -> Answer:
    """Ask on a connection that stays open."""
    connection.request(method, target, body, dict(headers or {}))
    found = connection.getresponse()
    return Answer(found.status, {k.lower(): v for k, v in found.getheaders()}, found.read())


@contextlib.contextmanager
def serving(*arguments: str, model: str = "en-fast") -> Iterator[Process]:
    """A process that is gone afterwards."""
    made = Process(*arguments, model=model)
    try:
        yield made
    finally:
        if made.running.poll() is None:
            made.end(signal.SIGKILL)
        for stream in (made.running.stdout, made.running.stderr):
            if stream is not None:
                stream.close()
