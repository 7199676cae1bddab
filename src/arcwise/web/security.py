"""Access control of a local server: only its own page, with the token of its address, may send requests.

Any web page can make a browser send requests to 127.0.0.1. Four checks keep those out: the Host must be a
name of this machine (against DNS rebinding, where a foreign name resolves to 127.0.0.1); the Origin must be
the server's own; everything except the static files needs a token that only the address has; and no response
allows other origins to read it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

ADDRESS = "127.0.0.1"
TOKEN_HEADER = "X-Arcwise-Token"
MAX_BODY = 16 * 2**20
"""Maximum size of a request body in bytes; larger ones are refused before they are read."""
TOKEN_IN_ADDRESS = ("/", "/api/events")
"""Paths whose token may be a query parameter: those that a browser opens without custom headers."""

CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self'; "
    "connect-src 'self'; manifest-src 'self'; base-uri 'self'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    # The page shows unpublished treebanks; no cache should keep them.
    "Cache-Control": "no-store",
}
"""Headers of every response."""


def new_token() -> str:
    """A random token of 192 bits.

    >>> len(new_token())
    32
    """
    return secrets.token_urlsafe(24)


@dataclass(frozen=True)
class Refusal:
    """Why a request is refused: HTTP status and reason."""

    status: int
    reason: str


@dataclass(frozen=True)
class AccessPolicy:
    """The requirements on requests: the token and the port of the server."""

    token: str
    port: int
    max_body: int = MAX_BODY

    @property
    def hosts(self) -> tuple[str, str]:
        """Accepted values of the Host header."""
        return f"{ADDRESS}:{self.port}", f"localhost:{self.port}"

    @property
    def address(self) -> str:
        """The URL to open in the browser."""
        return f"http://{ADDRESS}:{self.port}/?token={self.token}"

    def refusal(self, method: str, path: str, query: str, headers: Mapping[str, str]) -> Refusal | None:
        """Why a request is refused; None if it is allowed. Names of ``headers`` are in lower case.

        >>> policy = AccessPolicy("secret", 8000)
        >>> headers = {"host": "127.0.0.1:8000", "x-arcwise-token": "secret"}
        >>> policy.refusal("GET", "/api/document", "", headers)
        >>> policy.refusal("GET", "/api/document", "", {**headers, "host": "evil.example:8000"})
        Refusal(status=403, reason="Host: found 'evil.example:8000', expected 127.0.0.1:8000")
        """
        return (
            self._wrong_host(headers)
            or self._wrong_origin(path, headers)
            or self._wrong_token(path, query, headers)
            or self._wrong_body(method, headers)
        )

    def _wrong_host(self, headers: Mapping[str, str]) -> Refusal | None:
        host = headers.get("host", "")
        return (
            None
            if host.lower() in self.hosts
            else Refusal(403, f"Host: found {host!r}, expected {self.hosts[0]}")
        )

    def _wrong_origin(self, path: str, headers: Mapping[str, str]) -> Refusal | None:
        origin = headers.get("origin")
        if origin is not None and origin.lower() not in {f"http://{host}" for host in self.hosts}:
            return Refusal(403, f"Origin: found {origin!r}, expected http://{self.hosts[0]}")
        site = headers.get("sec-fetch-site", "same-origin")  # old browsers and programs do not send it
        # "/" may be opened from elsewhere, such as a link in a terminal; it still needs the token.
        if path != "/" and site not in ("same-origin", "none"):
            return Refusal(403, f"Sec-Fetch-Site: found {site!r}, expected same-origin")
        return None

    def _wrong_token(self, path: str, query: str, headers: Mapping[str, str]) -> Refusal | None:
        if path.startswith("/static/"):  # files of the package, not secret
            return None
        token = headers.get(TOKEN_HEADER.lower(), "")
        if not token and path in TOKEN_IN_ADDRESS:
            token = parse_qs(query).get("token", [""])[0]
        if secrets.compare_digest(token.encode(), self.token.encode()):  # constant time
            return None
        problem = "is wrong" if token else "is missing"
        return Refusal(
            403,
            f"token: {problem}; send the one of the printed address in the header {TOKEN_HEADER}",
        )

    def _wrong_body(self, method: str, headers: Mapping[str, str]) -> Refusal | None:
        if method not in ("GET", "HEAD", "POST"):
            return Refusal(405, f"method: found {method}, expected GET or POST")
        length = headers.get("content-length", "0")
        if length.isascii() and length.isdecimal() and int(length) > self.max_body:
            return self._too_large()
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if (
            method == "POST" and kind != "application/json"
        ):  # a form of another page can send other types without a preflight request
            return Refusal(415, f"Content-Type: found {kind!r}, expected application/json")
        return None

    def _too_large(self) -> Refusal:
        return Refusal(413, f"body: is larger than {self.max_body} bytes")


class BodyTooLarge(Exception):
    """The body of a request exceeds the limit."""


class AccessControl:
    """ASGI middleware that refuses requests by the policy and adds security headers to every response."""

    def __init__(self, app: ASGIApp, policy: AccessPolicy) -> None:
        self._app, self._policy = app, policy

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._serve(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        query = scope["query_string"].decode("latin-1")
        refusal = self._policy.refusal(scope["method"], scope["path"], query, headers)
        send = _with_headers(send)
        if refusal is None:
            try:
                await self._app(scope, self._limited(receive), send)
            except BodyTooLarge:
                refusal = self._policy._too_large()
        if refusal is not None:
            await _refuse(refusal, send)

    def _limited(self, receive: Receive) -> Receive:
        """``receive`` with a limit on the body, for requests without or with a wrong Content-Length."""
        read = 0

        async def limited() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._policy.max_body:
                raise BodyTooLarge
            return message

        return limited


def _with_headers(send: Send) -> Send:
    added = [(name.lower().encode(), value.encode()) for name, value in HEADERS.items()]
    names = {name for name, _ in added}

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            kept = [(name, value) for name, value in message.get("headers", []) if name.lower() not in names]
            message = {**message, "headers": [*kept, *added]}
        await send(message)

    return sending


async def _refuse(refusal: Refusal, send: Send) -> None:
    body = json.dumps({"error": refusal.reason}).encode()
    headers: list[Any] = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
    ]
    if refusal.status == 413:
        headers.append((b"connection", b"close"))  # the rest of the body is not read
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
