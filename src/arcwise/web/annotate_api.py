"""The JSON API of ``arcwise annotate`` (docs/reference/annotate-api.md): routes, parameters and error responses."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from concurrent.futures import Executor

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from arcwise.annotation.document import ChangedOnDisk
from arcwise.errors import ArcwiseError, InputError
from arcwise.treebanks.search import QueryError
from arcwise.web.annotate_session import Session, StaleVersion
from arcwise.web.annotate_view import Json, NotFound

PAGE_HEADER = "X-Arcwise-Page"
"""The name of a page, which events of its own edits carry."""


class Api:
    """The routes under ``/api``. Requests run in threads, so that a slow one does not delay the others."""

    def __init__(self, session: Session, threads: Executor) -> None:
        self._session, self._threads = session, threads

    def routes(self) -> list[Route]:
        """All routes of the API."""
        return [*self._sentences(), *self._edits(), *self._file(), *self._services()]

    def _sentences(self) -> list[Route]:
        session = self._session
        return [
            self._get("/api/document", lambda q: session.document()),
            self._get(
                "/api/sentences",
                lambda q: session.view.sentences(*q.part(), q.text("worklist"), q.text("query")),
            ),
            self._get(
                "/api/sentence/{number}",
                lambda q: session.view.sentence(q.sentence, gains=q.text("gains") == "1"),
            ),
            self._get(
                "/api/sentence/{number}/word/{word}",
                lambda q: session.view.reconsider(q.sentence, q.number("word")),
            ),
        ]

    def _edits(self) -> list[Route]:
        session, of = self._session, "/api/sentence/{number}"
        return [
            self._post(
                f"{of}/edits",
                lambda q: session.edit(q.sentence, q.text("version"), q.objects("edits"), page=q.page),
            ),
            self._post(f"{of}/would", lambda q: session.would(q.sentence, q.objects("edits"))),
            self._post(
                f"{of}/accept",
                lambda q: session.accept(
                    q.sentence, q.text("version"), q.texts("words"), q.share("threshold"), page=q.page
                ),
            ),
            self._post(
                f"{of}/split",
                lambda q: session.split(q.sentence, q.text("version"), q.needed("row"), page=q.page),
            ),
            self._post(f"{of}/join", lambda q: session.join(q.sentence, q.text("version"), page=q.page)),
            self._post(f"{of}/remove", lambda q: session.remove(q.sentence, q.text("version"), page=q.page)),
            self._post(
                "/api/insert",
                lambda q: session.insert(q.maybe_number("before"), q.needed("conllu"), page=q.page),
            ),
            self._post("/api/undo", lambda q: session.undo(page=q.page)),
            self._post("/api/redo", lambda q: session.redo(page=q.page)),
        ]

    def _file(self) -> list[Route]:
        session = self._session
        return [
            self._post("/api/save", lambda q: session.save()),
            self._post("/api/take-in", lambda q: session.merge_external_changes(page=q.page)),
            self._post("/api/search", lambda q: session.view.search(q.needed("query"), *q.part())),
            self._post(
                "/api/mass-edit",
                lambda q: session.mass_edit(
                    q.needed("query"), q.needed("changes"), apply=q.flag("apply"), page=q.page
                ),
            ),
            self._get("/api/validate", lambda q: session.view.validate(*q.part())),
        ]

    def _services(self) -> list[Route]:
        session = self._session
        return [
            self._get("/api/train", lambda q: session.training()),
            self._post("/api/train", lambda q: session.train(cancel=q.flag("cancel"))),
            self._post("/api/model", lambda q: session.use_model(q.needed("which"))),
            self._post("/api/doubts", lambda q: session.detect_errors()),
            self._get("/api/differences", lambda q: session.view.differences(*q.part())),
            self._post(
                "/api/adjudicate",
                lambda q: session.adjudicate(q.number("sentence"), q.choices(), page=q.page),
            ),
            Route("/api/events", self._events, methods=["GET"]),
        ]

    def _get(self, path: str, handler: Callable[[AnnotateRequest], Json]) -> Route:
        async def endpoint(request: Request) -> Response:
            return await self._respond(
                AnnotateRequest({**request.query_params, **request.path_params}, request), handler
            )

        return Route(path, endpoint, methods=["GET"])

    def _post(self, path: str, handler: Callable[[AnnotateRequest], Json]) -> Route:
        async def endpoint(request: Request) -> Response:
            try:
                values = json.loads(await request.body() or b"{}")
            except (ValueError, RecursionError) as error:
                return _error(400, f"body: is not valid JSON ({error})")
            if not isinstance(values, dict):
                return _error(400, f"body: found {type(values).__name__}, expected a JSON object")
            return await self._respond(AnnotateRequest({**values, **request.path_params}, request), handler)

        return Route(path, endpoint, methods=["POST"])

    async def _respond(
        self, request: AnnotateRequest, handler: Callable[[AnnotateRequest], Json]
    ) -> Response:
        loop = asyncio.get_running_loop()
        try:
            with self._session.background.foreground():
                return await loop.run_in_executor(self._threads, lambda: json_response(handler(request)))
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


class AnnotateRequest:
    """The values of a request, each checked when it is read."""

    def __init__(self, values: Json, request: Request) -> None:
        self._values = values
        self.page = request.headers.get(PAGE_HEADER, "")[:64]

    def number(self, name: str, default: int | None = None) -> int:
        """A non-negative integer."""
        value = self._values.get(name, default)
        text = str(value)
        if isinstance(value, bool) or not (text.isascii() and text.isdecimal() and len(text) < 10):
            raise InputError(f"{name}: found {value!r}, expected a number from 0")
        return int(text)

    def maybe_number(self, name: str) -> int | None:
        """A non-negative integer, or None if missing."""
        return None if self._values.get(name) is None else self.number(name)

    @property
    def sentence(self) -> int:
        """The sentence number in the path."""
        return self.number("number")

    def part(self) -> tuple[int, int]:
        """The requested page of a list: first item and number of items."""
        return self.number("from", 0), self.number("count", 100)

    def text(self, name: str) -> str | None:
        """A string, or None if missing."""
        value = self._values.get(name)
        if value is not None and not isinstance(value, str):
            raise InputError(f"{name}: found {value!r}, expected text")
        return value

    def needed(self, name: str) -> str:
        """A required string."""
        value = self.text(name)
        if value is None:
            raise InputError(f"{name}: is missing, expected text")
        return value

    def texts(self, name: str) -> list[str] | None:
        """A list of strings, or None if missing."""
        value = self._values.get(name)
        if value is not None and not (isinstance(value, list) and all(isinstance(t, str) for t in value)):
            raise InputError(f"{name}: found {value!r}, expected a list of texts")
        return value

    def objects(self, name: str) -> list[Json]:
        """A list of JSON objects."""
        value = self._values.get(name)
        if not (isinstance(value, list) and all(isinstance(o, dict) for o in value)):
            raise InputError(f"{name}: found {value!r}, expected a list of objects")
        return value

    def choices(self) -> list[Json]:
        """Several choices, or a single one given by the request itself."""
        return self.objects("choices") if "choices" in self._values else [self._values]

    def share(self, name: str) -> float | None:
        """A number from 0 to 1, or None if missing."""
        value = self._values.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            raise InputError(f"{name}: found {value!r}, expected a number from 0 to 1")
        return float(value)

    def flag(self, name: str) -> bool:
        """A boolean, false if missing."""
        value = self._values.get(name, False)
        if not isinstance(value, bool):
            raise InputError(f"{name}: found {value!r}, expected true or false")
        return value


def json_response(value: Json, status: int = 200) -> Response:
    """A JSON response; lone surrogates, which stand for invalid bytes of a file, are written as escapes."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Response(body.encode("utf-8", "backslashreplace"), status, media_type="application/json")


def _error(status: int, message: str) -> Response:
    return json_response({"error": message}, status)
