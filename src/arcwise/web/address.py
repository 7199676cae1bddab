"""The address of an annotated file, the same at each start, so that an open page finds a restarted server."""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import os
import secrets
import socket
import stat
from pathlib import Path

from arcwise.errors import OptionError
from arcwise.web.security import new_token
from arcwise.web.server import listening_socket

_SECRET_BYTES = 32
_FIRST_PORT, _PORTS = 61000, 4536
"""Dynamic ports, which no service is registered for, above those that Linux gives to outgoing connections
(32768 to 60999): one of those may be taken when the server starts again."""


def file_token(file: Path, port: int) -> str:
    """The token of a file and port: the same at each start, and unknown without the user's secret.

    A random one where the secret can be neither read nor written.
    """
    digest = _digest(f"token {port}", file)
    return new_token() if digest is None else base64.urlsafe_b64encode(digest[:24]).decode()


def file_socket(file: Path, port: int | None) -> socket.socket:
    """A listening socket; ``port`` None: the usual port of the file if it is free, else any free one."""
    if port is not None:
        return listening_socket(port)
    digest = _digest("port", file)
    if digest is not None:
        with contextlib.suppress(OptionError):  # taken: by another program, or by another start of this file
            return listening_socket(_FIRST_PORT + int.from_bytes(digest[:4], "big") % _PORTS)
    return listening_socket(0)


def _digest(purpose: str, file: Path) -> bytes | None:
    secret = _user_secret()
    if secret is None:
        return None
    # Not the name alone: two files of the same name must not share an address.
    message = os.fsencode(f"{purpose}\0{os.path.realpath(file)}")
    return hmac.new(secret, message, hashlib.sha256).digest()


def secret_path() -> Path:
    """The path of the secret: ``$XDG_STATE_HOME/arcwise/annotate-secret``, or below ``~/.local/state``."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state"
    return Path(state) / "arcwise" / "annotate-secret"


def _user_secret() -> bytes | None:
    """The secret, created on first use; None if that fails, or if others can read it."""
    try:
        path = secret_path()
        path.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileExistsError):
            _create_secret(path)
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            private = os.name == "nt" or not stat.S_IMODE(status.st_mode) & 0o077
            secret = file.read(_SECRET_BYTES)
        return secret if private and len(secret) == _SECRET_BYTES else None
    except (OSError, RuntimeError):  # RuntimeError: there is no home directory
        return None


def _create_secret(path: Path) -> None:
    if path.exists():
        return
    draft = path.with_name(f"{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(_SECRET_BYTES))
        # A link fails if another start was faster, whose secret is then used; a rename would replace it.
        os.link(draft, path)
    finally:
        draft.unlink()
