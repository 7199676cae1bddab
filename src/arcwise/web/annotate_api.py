"""The JSON API of ``arcwise annotate`` (docs/reference/annotate-api.md): each address, what it takes, and what of the session it asks."""

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
"""A name that a page gives itself; events of its own edits carry it."""


class Api:
    """The routes under ``/api``. What they ask runs in threads, so that one slow answer delays no other."""

    def __init__(self, session: Session, threads: Executor) -> None:
        self._session, self._threads = session, threads

    def routes(self) -> list[Route]:
        """Every address of the API."""
        return [*self._looking(), *self._editing(), *self._whole_file(), *self._others()]

    def _looking(self) -> list[Route]:
        own = self._session
        return [
            self._get("/api/document", lambda q: own.document()),
            self._get(
                "/api/sentences", lambda q: own.view.sentences(*q.part(), q.text("worklist"), q.text("query"))
            ),
            self._get(
                "/api/sentence/{number}",
                lambda q: own.view.sentence(q.sentence, gains=q.text("gains") == "1"),
            ),
            self._get(
                "/api/sentence/{number}/word/{word}",
                lambda q: own.view.reconsider(q.sentence, q.number("word")),
            ),
        ]

    def _editing(self) -> list[Route]:
        own, of = self._session, "/api/sentence/{number}"
        return [
            self._post(
                f"{of}/edits",
                lambda q: own.edit(q.sentence, q.text("version"), q.objects("edits"), page=q.page),
            ),
            self._post(f"{of}/would", lambda q: own.would(q.sentence, q.objects("edits"))),
            self._post(
                f"{of}/accept",
                lambda q: own.accept(
                    q.sentence, q.text("version"), q.texts("words"), q.share("threshold"), page=q.page
                ),
            ),
            self._post(
                f"{of}/split",
                lambda q: own.split(q.sentence, q.text("version"), q.needed("row"), page=q.page),
            ),
            self._post(f"{of}/join", lambda q: own.join(q.sentence, q.text("version"), page=q.page)),
            self._post(f"{of}/remove", lambda q: own.remove(q.sentence, q.text("version"), page=q.page)),
            self._post(
                "/api/insert", lambda q: own.insert(q.maybe_number("before"), q.needed("conllu"), page=q.page)
            ),
            self._post("/api/undo", lambda q: own.undo(page=q.page)),
            self._post("/api/redo", lambda q: own.redo(page=q.page)),
        ]

    def _whole_file(self) -> list[Route]:
        own = self._session
        return [
            self._post("/api/save", lambda q: own.save()),
            self._post("/api/take-in", lambda q: own.take_in(page=q.page)),
            self._post("/api/search", lambda q: own.view.search(q.needed("query"), *q.part())),
            self._post(
                "/api/mass-edit",
                lambda q: own.mass_edit(
                    q.needed("query"), q.needed("changes"), apply=q.flag("apply"), page=q.page
                ),
            ),
            self._get("/api/validate", lambda q: own.view.validate(*q.part())),
        ]

    def _others(self) -> list[Route]:
        own = self._session
        return [
            self._get("/api/train", lambda q: own.training()),
            self._post("/api/train", lambda q: own.train(cancel=q.flag("cancel"))),
            self._post("/api/model", lambda q: own.use_model(q.needed("which"))),
            self._post("/api/doubts", lambda q: own.find_doubts()),
            self._get("/api/differences", lambda q: own.view.differences(*q.part())),
            self._post(
                "/api/adjudicate",
                lambda q: own.adjudicate(q.number("sentence"), q.choices(), page=q.page),
            ),
            Route("/api/events", self._events, methods=["GET"]),
        ]

    def _get(self, path: str, answer: Callable[[AnnotateRequest], Json]) -> Route:
        async def endpoint(request: Request) -> Response:
            return await self._answered(
                AnnotateRequest({**request.query_params, **request.path_params}, request), answer
            )

        return Route(path, endpoint, methods=["GET"])

    def _post(self, path: str, answer: Callable[[AnnotateRequest], Json]) -> Route:
        async def endpoint(request: Request) -> Response:
            try:
                given = json.loads(await request.body() or b"{}")
            except (ValueError, RecursionError) as error:
                return _error(400, f"body: is no JSON ({error})")
            if not isinstance(given, dict):
                return _error(400, f"body: found {type(given).__name__}, expected a JSON object")
            return await self._answered(AnnotateRequest({**given, **request.path_params}, request), answer)

        return Route(path, endpoint, methods=["POST"])

    async def _answered(self, asked: AnnotateRequest, answer: Callable[[AnnotateRequest], Json]) -> Response:
        loop = asyncio.get_running_loop()
        try:
            with self._session.background.foreground():
                return await loop.run_in_executor(self._threads, lambda: json_response(answer(asked)))
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
    """The values of a request, each checked when it is taken."""

    def __init__(self, values: Json, request: Request) -> None:
        self._values = values
        self.page = request.headers.get(PAGE_HEADER, "")[:64]

    def number(self, name: str, default: int | None = None) -> int:
        """A whole number that is not negative."""
        found = self._values.get(name, default)
        text = str(found)
        if isinstance(found, bool) or not (text.isascii() and text.isdecimal() and len(text) < 10):
            raise InputError(f"{name}: found {found!r}, expected a number from 0")
        return int(text)

    def maybe_number(self, name: str) -> int | None:
        """A whole number that is not negative, or None where there is none."""
        return None if self._values.get(name) is None else self.number(name)

    @property
    def sentence(self) -> int:
        """The number of the sentence in the address."""
        return self.number("number")

    def part(self) -> tuple[int, int]:
        """Which part of a list is wanted: from where, and how many."""
        return self.number("from", 0), self.number("count", 100)

    def text(self, name: str) -> str | None:
        """Text, or None where there is none."""
        found = self._values.get(name)
        if found is not None and not isinstance(found, str):
            raise InputError(f"{name}: found {found!r}, expected text")
        return found

    def needed(self, name: str) -> str:
        """Text that must be there."""
        found = self.text(name)
        if found is None:
            raise InputError(f"{name}: is missing, expected text")
        return found

    def texts(self, name: str) -> list[str] | None:
        """A list of texts, or None where there is none."""
        found = self._values.get(name)
        if found is not None and not (isinstance(found, list) and all(isinstance(t, str) for t in found)):
            raise InputError(f"{name}: found {found!r}, expected a list of texts")
        return found

    def objects(self, name: str) -> list[Json]:
        """A list of JSON objects."""
        found = self._values.get(name)
        if not (isinstance(found, list) and all(isinstance(o, dict) for o in found)):
            raise InputError(f"{name}: found {found!r}, expected a list of objects")
        return found

    def choices(self) -> list[Json]:
        """Several choices, or the one that the request is itself."""
        return self.objects("choices") if "choices" in self._values else [self._values]

    def share(self, name: str) -> float | None:
        """A number from 0 to 1, or None where there is none."""
        found = self._values.get(name)
        if found is None:
            return None
        if isinstance(found, bool) or not isinstance(found, int | float) or not 0 <= found <= 1:
            raise InputError(f"{name}: found {found!r}, expected a number from 0 to 1")
        return float(found)

    def flag(self, name: str) -> bool:
        """True or false; false where there is none."""
        found = self._values.get(name, False)
        if not isinstance(found, bool):
            raise InputError(f"{name}: found {found!r}, expected true or false")
        return found


def json_response(value: Json, status: int = 200) -> Response:
    """JSON in which any text is text: what is no character (half of a pair, a broken byte) is written as an escape."""
    body = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Response(body.encode("utf-8", "backslashreplace"), status, media_type="application/json")


def _error(status: int, told: str) -> Response:
    return json_response({"error": told}, status)
