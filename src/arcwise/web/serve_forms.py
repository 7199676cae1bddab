"""Parameters of a request, from its URL, a form, or a form with files."""

from __future__ import annotations

import base64
import quopri
import re
from urllib.parse import unquote_to_bytes

from arcwise.errors import InputError
from arcwise.web.serve_limits import RequestRefused

MAX_FIELDS = 100
"""Maximum number of parameters of a request."""
MAX_PART_HEAD = 8192
"""Maximum bytes of the headers of a part of a form."""
_PIECE = 2**16
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
    if data.count(b"&") >= MAX_FIELDS:
        raise InputError(f"{where}: found more than {MAX_FIELDS} parameters")
    try:
        data.decode("utf-8")
        fields = [field.partition(b"=") for field in data.split(b"&") if field]
        return {_unquoted(name): _unquoted(value) for name, _, value in fields}
    except UnicodeDecodeError as error:
        raise InputError(f"{where}: {not_utf8(error)}") from None


def _unquoted(data: bytes) -> str:
    """Text from a form, without its percent signs.

    Piece by piece: ``urllib`` makes a string of each escape, 50 times the memory of the form.

    >>> _unquoted(b"a+b%C3%A4")
    'a bä'
    """
    parts: list[bytes] = []
    at = 0
    while at < len(data):
        end = min(at + _PIECE, len(data))
        if end < len(data) and (percent := data.find(b"%", end - 2, end)) >= 0:
            end = percent  # an escape stays whole
        parts.append(unquote_to_bytes(data[at:end].replace(b"+", b" ")))
        at = end
    return b"".join(parts).decode("utf-8")


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
    boundary = _header_parameter(content_type, "boundary")
    if not boundary:
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
    if len(head) > MAX_PART_HEAD:
        raise InputError(f"body: found a part with more than {MAX_PART_HEAD} bytes of headers")
    headers = _headers(head)
    name = _header_parameter(headers.get("content-disposition", ""), "name")
    if not blank or name is None:
        raise InputError("body: found a part without a name, expected Content-Disposition: form-data; name=…")
    try:
        return name, _decoded(name, headers.get("content-transfer-encoding"), value).decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{name}: {not_utf8(error)}") from None


def _headers(head: bytes) -> dict[str, str]:
    """The headers of a part by their names in lower case.

    Not by Python's ``email``, which takes quadratic time for many parameters.

    >>> _headers(b"Content-Type: text/plain;\\r\\n charset=utf-8\\r\\nA:b")
    {'content-type': 'text/plain; charset=utf-8', 'a': 'b'}
    """
    lines = head.decode("utf-8", "replace").replace("\r\n\t", " ").replace("\r\n ", " ").split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return {name.strip().lower(): value.strip() for name, colon, value in pairs if colon}


# Linear time: a quoted value can only fail to end once, because the next one would end it.
_PARAMETER = re.compile(r';\s*([^\s=;"]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s;"]*))|;', re.DOTALL)


def _header_parameter(header: str, name: str) -> str | None:
    """A parameter of a header, None if it has none.

    >>> _header_parameter('form-data; name="a \\\\"b\\\\""; filename=c', "name")
    'a "b"'
    >>> _header_parameter("form-data; file; name=b", "name")
    'b'
    """
    for match in _PARAMETER.finditer(header):
        if match[1] is not None and match[1].lower() == name:
            quoted = match[2]
            return match[3] if quoted is None else re.sub(r"\\(.)", r"\1", quoted, flags=re.DOTALL)
    return None


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
