"""A served treebank: in this process through the ASGI test client, and as a real process on a socket."""

from __future__ import annotations

import contextlib
import http.client
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from arcwise.annotation.comparison import FileComparison
from arcwise.annotation.document import AnnotationDocument
from arcwise.annotation.project import AnnotationProject
from arcwise.web.annotate_app import annotate_app
from arcwise.web.annotate_session import Session
from arcwise.web.events import Events
from arcwise.web.security import AccessPolicy
from web.asgi_client import Answer, AsgiClient

TOKEN, PORT = "a-token-of-a-test", 8765
MAX_BODY = 2**18

ROWS = """\
# sent_id = one
# text = The cat saw a dog.
1	The	the	DET	_	Definite=Def|PronType=Art	2	det	_	_
2	cat	cat	NOUN	_	Number=Sing	3	nsubj	_	_
3	saw	see	VERB	_	Tense=Past	0	root	_	_
4	a	a	DET	_	_	_	_	_	_
5	dog	dog	NOUN	_	_	_	_	_	SpaceAfter=No
6	.	.	PUNCT	_	_	3	punct	_	HeadProb=0.9|DeprelProb=0.9

# sent_id = two
# text = He doesn't sleep
1	He	he	PRON	_	_	4	nsubj	_	_
2-3	doesn't	_	_	_	_	_	_	_	_
2	does	do	AUX	_	_	4	aux	_	_
3	n't	not	PART	_	_	4	advmod	_	_
4	sleep	sleep	VERB	_	_	0	root	_	_

# sent_id = three
# text = Dogs sleep
1	Dogs	dog	NOUN	_	_	_	_	_	_
2	sleep	sleep	VERB	_	_	_	_	_	_

"""


def open_session(
    file: Path, *, beside: Path | None = None, a: Path | None = None, model: Any = None
) -> Session:
    """A session of a file or folder, as the command makes it.

    ``a``: the file that ``file`` began as a copy of.
    """
    named = None if model is None else ("small", model)
    if file.is_dir():
        return Session(AnnotationProject.open(file), events=Events(), model=named)
    document = AnnotationDocument.open(file)
    other = None if beside is None else FileComparison.read(document, beside, a=a)
    return Session(document, events=Events(), comparison=other, model=named)


def row(sentence: dict[str, Any], identifier: str) -> dict[str, str]:
    """A row of a Sentence JSON, by its ID."""
    (found,) = [r for r in sentence["rows"] if r["id"] == identifier]
    return found


def edits(**fields: str) -> list[dict[str, str]]:
    """``head_4="2"``: the field HEAD of row 4."""
    return [
        {"kind": "set-field", "row": name.split("_")[1], "column": name.split("_")[0], "value": value}
        for name, value in fields.items()
    ]


class Client:
    """Ways to ask that both kinds of server have."""

    def ask(
        self, method: str, target: str, *, headers: Mapping[str, str] | None = None, body: Any = b""
    ) -> Answer:
        """Send a request, its path as it stands."""
        raise NotImplementedError

    def get(self, target: str, **headers: str) -> Answer:
        return self.ask("GET", target, headers=headers)

    def post(self, target: str, values: Any = None, **headers: str) -> Answer:
        """JSON in the body; keyword arguments are headers (``X_Arcwise_Page``)."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        body = json.dumps({} if values is None else values).encode()
        return self.ask("POST", target, headers={"Content-Type": "application/json", **named}, body=body)

    def sentence(self, number: int) -> dict[str, Any]:
        return self.get(f"/api/sentence/{number}").json()

    def set(self, number: int, row: str, **fields: str) -> Answer:
        """Set fields of a row, with the version that the sentence has."""
        edits = [{"kind": "set-field", "row": row, "column": c, "value": v} for c, v in fields.items()]
        version = self.sentence(number)["version"]
        return self.post(f"/api/sentence/{number}/edits", {"version": version, "edits": edits})


class Served(Client):
    """An application in this process and a client that has its token."""

    def __init__(self, session: Session, door: AccessPolicy, client: AsgiClient) -> None:
        self.session, self.door, self.client = session, door, client

    def ask(
        self, method: str, target: str, *, headers: Mapping[str, str] | None = None, body: Any = b""
    ) -> Answer:
        return self.client.request(method, target, headers=headers, body=body)

    def events(self) -> Iterator[dict[str, Any]]:
        """What is told from now on; the first event says that somebody listens."""
        return self.client.events("/api/events")


@contextlib.contextmanager
def serving(session: Session) -> Iterator[Served]:
    """The application of a session, started and in the end stopped, and the session closed."""
    door = AccessPolicy(TOKEN, PORT, max_body=MAX_BODY)
    headers = {"host": f"127.0.0.1:{PORT}", "x-arcwise-token": TOKEN}
    try:
        with AsgiClient(annotate_app(session, door), headers) as client:
            yield Served(session, door, client)
    finally:
        session.close()


class Process(Client):
    """``arcwise annotate`` in a process of its own, asked through a socket."""

    def __init__(self, file: Path, *arguments: str) -> None:
        self.file = file
        line = [sys.executable, "-m", "arcwise", "annotate", str(file), "--no-browser", *arguments]
        self.process = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        said = self.process.stdout.readline()
        while said and "http://" not in said:
            said = self.process.stdout.readline()
        assert said, self.process.stderr.read() if self.process.stderr else ""
        self.address = said[said.index("http://") :].split()[0]
        self.place, self.token = self.address.removeprefix("http://").split("/?token=")

    def ask(
        self, method: str, target: str, *, headers: Mapping[str, str] | None = None, body: Any = b""
    ) -> Answer:
        connection = http.client.HTTPConnection(self.place, timeout=30)
        with contextlib.closing(connection):
            connection.request(method, target, body, {"X-Arcwise-Token": self.token, **(headers or {})})
            found = connection.getresponse()
            return Answer(found.status, {k.lower(): v for k, v in found.getheaders()}, found.read())

    def end(self, number: int) -> tuple[int, str, str]:
        """Send a signal and wait: the exit status, and what was said until then."""
        self.process.send_signal(number)
        out, err = self.process.communicate(timeout=30)
        return self.process.returncode, out, err


@contextlib.contextmanager
def process(file: Path, *arguments: str) -> Iterator[Process]:
    """A process that is gone afterwards."""
    made = Process(file, *arguments)
    try:
        yield made
    finally:
        if made.process.poll() is None:
            made.end(9)
        for stream in (made.process.stdout, made.process.stderr):
            if stream is not None:
                stream.close()
