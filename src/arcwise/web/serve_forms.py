"""Parameters of a request, from its URL, a form, or a form with files."""

from __future__ import annotations

import base64
import quopri
from email.message import Message
from email.parser import BytesHeaderParser
from urllib.parse import parse_qsl

from arcwise.errors import InputError
from arcwise.web.serve_limits import RequestRefused

MAX_FIELDS = 100
"""Maximum number of parameters of a request."""
FORM, FILES = "application/x-www-form-urlencoded", "multipart/form-data"


def parameters(query: bytes, content_type: str, body: bytes) -> dict[str, str]:
    """All parameters; those in the body take precedence. ``InputError`` for invalid UTF-8 or an invalid form.

    >>> parameters(b"model=en&tagger=", "", b"")
    {'model': 'en', 'tagger': ''}
    """
    values = _pairs(query, "address")
    if not body:
        return values
    kind = content_type.partition(";")[0].strip().lower()
    if kind == FORM:
        return {**values, **_pairs(body, "body")}
    if kind == FILES:
        return {**values, **multipart(content_type, body)}
    raise RequestRefused(415, f"Content-Type: found {kind!r}, expected {FORM} or {FILES}")


def _pairs(data: bytes, where: str) -> dict[str, str]:
    if not data:
        return {}
    try:
        return dict(
            parse_qsl(
                data.decode("utf-8"), keep_blank_values=True, errors="strict", max_num_fields=MAX_FIELDS
            )
        )
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: {not_utf8(error)}") from None
    except ValueError:
        raise InputError(f"{where}: found more than {MAX_FIELDS} parameters") from None


def not_utf8(error: UnicodeDecodeError) -> str:
    """The first invalid byte, for messages."""
    return f"found byte 0x{error.object[error.start]:02x} at offset {error.start}, expected UTF-8"


def multipart(content_type: str, body: bytes) -> dict[str, str]:
    """The fields of a form with files (RFC 7578), files as text.

    python-multipart is not used: it drops the last field of a form that was cut off without an error. The
    body is in memory already, which leaves nothing for a streaming parser to save.

    >>> body = b'--x\\r\\nContent-Disposition: form-data; name="data"\\r\\n\\r\\nHi!\\r\\n--x--\\r\\n'
    >>> multipart('multipart/form-data; boundary="x"', body)
    {'data': 'Hi!'}
    """
    header = Message()
    header["Content-Type"] = content_type
    boundary = header.get_param("boundary")
    if not isinstance(boundary, str) or not boundary:
        raise InputError("Content-Type: found no boundary, expected multipart/form-data; boundary=…")
    # A line break is put in front, since the first boundary has none before it.
    _, *parts = (b"\r\n" + body).split(b"\r\n--" + boundary.encode("utf-8", "replace"))
    if not parts or not parts[-1].startswith(b"--"):
        raise InputError("body: ends before the last boundary, expected a whole form")
    if len(parts) > MAX_FIELDS:
        raise InputError(f"body: found more than {MAX_FIELDS} parameters")
    return dict(_field(part) for part in parts[:-1])


def _field(part: bytes) -> tuple[str, str]:
    head, blank, value = part.lstrip(b" \t").removeprefix(b"\r\n").partition(b"\r\n\r\n")
    headers = BytesHeaderParser().parsebytes(head + b"\r\n\r\n")
    name = headers.get_param("name", header="Content-Disposition")
    if not blank or not isinstance(name, str):
        raise InputError("body: found a part without a name, expected Content-Disposition: form-data; name=…")
    try:
        return name, _decoded(name, headers["Content-Transfer-Encoding"], value).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: {not_utf8(error)}") from None


def _decoded(name: str, encoding: str | None, value: bytes) -> bytes:
    """The bytes of a field. Hardly any client encodes them, but those that use Python's ``email`` do."""
    kind = (encoding or "8bit").strip().lower()
    if kind in ("7bit", "8bit", "binary"):
        return value
    if kind == "quoted-printable":
        return quopri.decodestring(value)
    try:
        if kind == "base64":
            return base64.b64decode(value)
    except ValueError:
        raise InputError(f"{name}: is not valid base64") from None
    raise InputError(f"{name}: found Content-Transfer-Encoding {kind}, expected none")
