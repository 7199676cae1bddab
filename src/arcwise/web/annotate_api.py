"""The JSON API of ``arcwise annotate`` (docs/reference/annotate-api.md): requests, routes and errors."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import Executor
from typing import Annotated, Any, Literal, TypeVar
from urllib.parse import unquote

from pydantic import BeforeValidator, Field, model_validator
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from arcwise.annotation.authorship import annotator
from arcwise.annotation.document import ChangedOnDisk
from arcwise.errors import ArcwiseError, InputError
from arcwise.schema import Flag, JsonObject, Probability, Text, check_json, refused
from arcwise.treebanks.adjudication import Choice
from arcwise.treebanks.search import QueryError
from arcwise.web.annotate_lists import HitKey
from arcwise.web.annotate_session import Session, StaleVersion
from arcwise.web.annotate_view import Json, NotFound

PAGE_HEADER = "X-Arcwise-Page"
"""The name of a page, sent with the events of its edits."""
ANNOTATOR_HEADER = "X-Arcwise-Annotator"
"""The name of the annotator, percent-encoded, which the journal records with each edit."""


def _index(value: Any) -> int:
    text = str(value)
    if isinstance(value, bool) or not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise refused("a number from 0")
    return int(text)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise refused("text")
    return value


def _row_id(value: Any) -> str:
    word, point, node = str(value).partition(".")
    return f"{_index(word)}.{_index(node)}" if point and isinstance(value, str) else str(_index(value))


Index = Annotated[int, BeforeValidator(_index)]
"""A non-negative integer; a string of digits in paths and queries."""
RowId = Annotated[str, BeforeValidator(_row_id)]
"""The ID of a word (``3``, also as a number) or of an empty node (``3.1``)."""
FileText = Annotated[Any, BeforeValidator(_text)]
"""Text of a file, which may contain lone surrogates (invalid bytes); pydantic's strings refuse those."""


class EmptyRequest(JsonObject):
    """A request without parameters."""


class PartRequest(JsonObject):
    """A page of a list."""

    first: Index = Field(0, alias="from")
    count: Index = 100


class FindingsRequest(PartRequest):
    """A page of the validation findings, of all rules or of one."""

    rule: Text | None = None


class ListRequest(PartRequest):
    """A page of the list of sentences, in the order of a worklist or of a search."""

    worklist: Text | None = None
    query: FileText | None = None


class SentenceRequest(JsonObject):
    """A sentence, with ``gains="1"`` also the expected information gains."""

    number: Index
    gains: Text | None = None


class WordRequest(JsonObject):
    """A word of a sentence."""

    number: Index
    word: Index


class ValuesRequest(JsonObject):
    """Features and lemmas seen with a form and a UPOS."""

    form: FileText = ""
    upos: FileText = ""


class VersionRequest(JsonObject):
    """A change of a sentence; ``version``: the version it applies to, None for any."""

    number: Index
    version: Text | None = None


class EditsRequest(VersionRequest):
    """Edits of a sentence."""

    edits: list[dict[str, Any]]


class AcceptRequest(VersionRequest):
    """Accepting suggestions: of some words, some columns, or of those that reach a threshold."""

    words: list[Text] | None = None
    columns: list[Literal["lemma", "upos", "xpos", "feats", "head", "deprel"]] = Field(["head", "deprel"])
    threshold: Probability | None = None


class SplitRequest(VersionRequest):
    """Splitting a sentence before a row."""

    row: Text


class InsertRequest(JsonObject):
    """Inserting sentences before a sentence, at the end, or at the end of a file of a project: CoNLL-U, or
    text with one sentence per line."""

    before: Index | None = None
    file: Text | None = None
    conllu: FileText | None = None
    text: FileText | None = None


class SearchRequest(PartRequest):
    """A search; with ``properties`` and ``values``, one cluster of its hits."""

    query: FileText
    properties: FileText | None = None
    values: list[FileText] | None = None

    def cluster(self) -> tuple[str, list[str]] | None:
        """The cluster to list."""
        if (self.properties is None) != (self.values is None):
            raise InputError("search: expected both properties and values, or neither")
        return None if self.properties is None else (self.properties, self.values or [])


class TableRequest(JsonObject):
    """Clusters of search hits by properties of their words."""

    query: FileText
    properties: FileText
    count: Index = 100


class HitRequest(JsonObject):
    """A hit of a search: its sentence, and the IDs of its words and empty nodes by name."""

    sentence: Index
    words: dict[str, RowId]


class MassEditRequest(PartRequest):
    """Editing all hits of a search, or a page of the preview. ``version``: of the file that was previewed."""

    query: FileText
    changes: FileText
    apply: Flag = False
    skip: list[HitRequest] = Field([])
    version: Index | None = None

    def skipped(self) -> list[HitKey]:
        """The hits to leave as they are."""
        return [(hit.sentence, tuple(sorted(hit.words.items()))) for hit in self.skip]


class MuteRequest(JsonObject):
    """Muting a validation rule for the project, or reporting it again."""

    rule: Text
    muted: Flag = True


class TrainRequest(JsonObject):
    """Starting or stopping a training."""

    cancel: Flag = False


class ModelRequest(JsonObject):
    """Choosing the model that gives suggestions."""

    which: Text


class VerdictRequest(JsonObject):
    """An answer about a suspicious annotation."""

    sentence: Index
    row: Text
    verdict: Literal["error", "correct", "acknowledged"]


class ChoiceRequest(JsonObject):
    """The choice for one field in which two files differ."""

    row: Text
    column: Literal["form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps"]
    choice: Literal["a", "b", "value"]
    value: FileText | None = None


class AdjudicateRequest(JsonObject):
    """Choices for a sentence; a request with a single choice has its fields itself."""

    sentence: Index
    choices: list[ChoiceRequest]

    @model_validator(mode="before")
    @classmethod
    def _single(cls, values: Any) -> Any:
        return values if "choices" in values else {**values, "choices": [values]}

    def parsed(self) -> list[Choice]:
        """The choices as the comparison takes them."""
        return [Choice(c.choice, self.sentence, c.row, c.column, c.value) for c in self.choices]


RequestType = TypeVar("RequestType", bound=JsonObject)
Handler = Callable[[RequestType, str], Json]
"""(request r, name p of the page) → response."""


class Api:
    """The routes under ``/api``. Requests run in threads, so that a slow one does not delay the others."""

    def __init__(self, session: Session, threads: Executor) -> None:
        self._session, self._threads = session, threads

    def routes(self) -> list[Route]:
        """All routes of the API."""
        session, view, of = self._session, self._session.view, "/api/sentence/{number}"
        get, post = self._get, self._post
        return [
            get("/api/document", EmptyRequest, lambda r, p: session.document()),
            get("/api/files", EmptyRequest, lambda r, p: session.files()),
            get(
                "/api/sentences",
                ListRequest,
                lambda r, p: view.sentences(r.first, r.count, r.worklist, r.query),
            ),
            get(of, SentenceRequest, lambda r, p: view.sentence(r.number, gains=r.gains == "1")),
            get(f"{of}/word/{{word}}", WordRequest, lambda r, p: view.reconsider(r.number, r.word)),
            post(f"{of}/edits", EditsRequest, lambda r, p: session.edit(r.number, r.version, r.edits, p)),
            post(f"{of}/would", EditsRequest, lambda r, p: session.would(r.number, r.edits)),
            post(
                f"{of}/accept",
                AcceptRequest,
                lambda r, p: session.accept(r.number, r.version, r.words, r.columns, r.threshold, p),
            ),
            get(f"{of}/tokenization", SentenceRequest, lambda r, p: session.tokenization(r.number)),
            get(f"{of}/enhanced", SentenceRequest, lambda r, p: view.enhanced(r.number)),
            post(f"{of}/split", SplitRequest, lambda r, p: session.split(r.number, r.version, r.row, p)),
            post(f"{of}/join", VersionRequest, lambda r, p: session.join(r.number, r.version, p)),
            post(f"{of}/remove", VersionRequest, lambda r, p: session.remove(r.number, r.version, p)),
            post(
                "/api/insert",
                InsertRequest,
                lambda r, p: session.insert(r.before, r.conllu, r.text, p, file=r.file),
            ),
            post("/api/undo", EmptyRequest, lambda r, p: session.undo(p)),
            post("/api/redo", EmptyRequest, lambda r, p: session.redo(p)),
            post("/api/save", EmptyRequest, lambda r, p: session.save()),
            post("/api/take-in", EmptyRequest, lambda r, p: session.merge_external_changes(p)),
            post(
                "/api/search",
                SearchRequest,
                lambda r, p: view.search(r.query, r.first, r.count, r.cluster()),
            ),
            post("/api/table", TableRequest, lambda r, p: view.table(r.query, r.properties, r.count)),
            post(
                "/api/mass-edit",
                MassEditRequest,
                lambda r, p: (
                    session.mass_edit(r.query, r.changes, r.version, skipped=r.skipped(), page=p)
                    if r.apply
                    else session.mass_edit_preview(r.query, r.changes, r.first, r.count, skipped=r.skipped())
                ),
            ),
            get("/api/values", ValuesRequest, lambda r, p: view.values(r.form, r.upos)),
            get("/api/validate", FindingsRequest, lambda r, p: view.validate(r.first, r.count, r.rule)),
            post("/api/mute", MuteRequest, lambda r, p: session.mute(r.rule, muted=r.muted)),
            get("/api/consistency", PartRequest, lambda r, p: session.consistency.to_json(r.first, r.count)),
            post("/api/consistency", EmptyRequest, lambda r, p: session.find_inconsistencies()),
            get("/api/history", PartRequest, lambda r, p: view.history(r.count)),
            get("/api/train", EmptyRequest, lambda r, p: session.training()),
            post("/api/train", TrainRequest, lambda r, p: session.train(cancel=r.cancel)),
            post("/api/model", ModelRequest, lambda r, p: session.use_model(r.which)),
            get("/api/doubts", PartRequest, lambda r, p: view.suspicious(r.first, r.count)),
            post("/api/doubts", EmptyRequest, lambda r, p: session.detect_errors()),
            post("/api/verdict", VerdictRequest, lambda r, p: session.judge(r.sentence, r.row, r.verdict)),
            get("/api/differences", PartRequest, lambda r, p: view.differences(r.first, r.count)),
            post(
                "/api/adjudicate",
                AdjudicateRequest,
                lambda r, p: session.adjudicate(r.sentence, r.parsed(), p),
            ),
            Route("/api/events", self._events, methods=["GET"]),
        ]

    def _get(self, path: str, kind: type[RequestType], handler: Handler[RequestType]) -> Route:
        async def endpoint(request: Request) -> Response:
            # Path parameters come last: a query must not override the sentence that the path names.
            values = {**request.query_params, **request.path_params}
            return await self._respond(request, kind, values, handler)

        return Route(path, endpoint, methods=["GET"])

    def _post(self, path: str, kind: type[RequestType], handler: Handler[RequestType]) -> Route:
        async def endpoint(request: Request) -> Response:
            try:
                body = json.loads(await request.body() or b"{}")
            except (ValueError, RecursionError) as error:  # RecursionError: deeply nested brackets
                return _error(400, f"body: is not valid JSON ({error})")
            if not isinstance(body, dict):
                return _error(400, f"body: found {type(body).__name__}, expected a JSON object")
            return await self._respond(request, kind, {**body, **request.path_params}, handler)

        return Route(path, endpoint, methods=["POST"])

    async def _respond(
        self, request: Request, kind: type[RequestType], values: Json, handler: Handler[RequestType]
    ) -> Response:
        # Cut off, because the name is sent back to every page.
        page = request.headers.get(PAGE_HEADER, "")[:64]
        name = unquote(request.headers.get(ANNOTATOR_HEADER, ""))[:64]

        def answer() -> Response:
            # Encoded in the thread too: JSON of a large answer would block the event loop.
            with annotator(name):
                return json_response(handler(checked, page))

        loop = asyncio.get_running_loop()
        try:
            checked = check_json(kind, values, "body")
            # Background steps pause while a request is answered, so that the page does not wait for them.
            with self._session.background.foreground():
                return await loop.run_in_executor(self._threads, answer)
        except StaleVersion as stale:
            return json_response({"error": str(stale), "sentence": stale.present}, 409)
        except ChangedOnDisk as error:
            return _error(409, str(error))
        except NotFound as error:
            return _error(404, str(error))
        except QueryError as error:
            return json_response({"error": str(error), "position": error.position, "what": error.source}, 400)
        except ArcwiseError as error:
            return _error(400, str(error))

    async def _events(self, request: Request) -> Response:
        return StreamingResponse(self._session.events.listen(), media_type="text/event-stream")


def json_response(value: Json, status: int = 200) -> Response:
    """A JSON response; lone surrogates, which stand for invalid bytes of a file, are written as escapes."""
    # allow_nan=False: NaN is not valid JSON, and a browser would refuse the whole answer.
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Response(body.encode("utf-8", "backslashreplace"), status, media_type="application/json")


def _error(status: int, message: str) -> Response:
    return json_response({"error": message}, status)
