"""Access control: optional API keys and an optional rate limit. Both are off by default."""

from __future__ import annotations

import hmac
import time
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

from arcwise.errors import InputError
from arcwise.treebanks.files import PathLike, read_bytes
from arcwise.web.serve_limits import RequestRefused

PROTECTED = ("/process", "/models", "/v1/parse")
"""The paths that need a key and count against the rate; probes, metrics and the page do not."""
MAX_CLIENTS = 10_000
"""Number of clients whose rates are remembered; the least recently active one is evicted first."""


def read_api_keys(path: PathLike) -> tuple[str, ...]:
    """The keys of a file, one per line; blank lines and lines that start with # are ignored."""
    try:
        lines = read_bytes(path).decode("utf-8").splitlines()
    except UnicodeDecodeError:
        raise InputError(f"{path}: is not UTF-8, expected one key per line") from None
    keys = tuple(line.strip() for line in lines if line.strip() and not line.startswith("#"))
    if not keys:
        raise InputError(f"{path}: found no key, expected one per line")
    for key in keys:
        if not key.isascii() or not key.isprintable() or " " in key:
            raise InputError(f"{path}: found a key with spaces or letters beyond ASCII")
    return keys


class RequestGate:
    """Allows requests that have a valid key, if keys are required, and stay within the rate limit.

    keys: the valid keys; empty: clients need none. rate: requests per second of one client (a key, or else an
    address) in each worker; 0: any number. burst: requests that a client may send at once.
    """

    def __init__(self, keys: Sequence[str] = (), rate: float = 0.0, burst: int = 20) -> None:
        self._keys, self._rate, self._burst = [key.encode() for key in keys], rate, burst
        self._tokens: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, scope: Any) -> None:
        """Raise ``RequestRefused`` (401 or 429) unless a request is allowed."""
        if scope["path"] not in PROTECTED or scope["method"] == "OPTIONS":
            return
        client = (scope.get("client") or ("",))[0]
        if self._keys:
            key = _key_of(scope["headers"])
            # Compares all keys in constant time each, so that timing reveals nothing about them.
            if not sum(hmac.compare_digest(key, valid_key) for valid_key in self._keys):
                raise RequestRefused(
                    401,
                    "key: missing or invalid; send Authorization: Bearer KEY or X-API-Key: KEY",
                    {"WWW-Authenticate": "Bearer"},
                )
            client = key.decode("ascii", "replace")
        if self._rate and not self._takes_token(client):
            raise RequestRefused(
                429,
                f"rate: more than {self._rate:g} requests per second; try again later",
                {"Retry-After": str(max(1, round(1 / self._rate)))},
            )

    def _takes_token(self, client: str) -> bool:
        now = time.monotonic()
        tokens, last = self._tokens.pop(client, (float(self._burst), now))
        tokens = min(float(self._burst), tokens + (now - last) * self._rate)
        self._tokens[client] = (tokens - 1 if tokens >= 1 else tokens, now)
        if len(self._tokens) > MAX_CLIENTS:
            self._tokens.popitem(last=False)
        return tokens >= 1


def _key_of(headers: Sequence[tuple[bytes, bytes]]) -> bytes:
    for name, value in headers:
        if name == b"x-api-key":
            return value
        if name == b"authorization" and value[:7].lower() == b"bearer ":
            return value[7:].strip()
    return b""
