"""The log of ``arcwise serve``: lines of text or JSON on standard error, with the ids of requests."""

from __future__ import annotations

import itertools
import json
import logging
import os
import re
import sys
import time
from collections.abc import Iterable
from typing import Any, Literal

from arcwise.log import logger as package_logger

LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["text", "json"]
logger = package_logger.getChild("serve")
access_logger = logger.getChild("access")
_FIELDS = "fields"
_REQUEST_ID = re.compile(rb"[\x21-\x7e]{1,64}")
_numbers = itertools.count(1)


def configure_log(level: LogLevel, form: LogFormat, *, access: bool) -> None:
    """Write the log to standard error. ``access``: with a line for each request."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines() if form == "json" else _TextLines())
    logger.handlers = [handler]
    logger.propagate = False
    logger.setLevel(level.upper())
    # Asked for by its own option, whatever the level of the rest.
    access_logger.setLevel(logging.INFO if access else logging.CRITICAL)


def log_fields(**fields: Any) -> dict[str, Any]:
    """The ``extra`` of a call of the logger: values that become separate fields in JSON."""
    return {_FIELDS: fields}


def request_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """The id of a request: that of its header ``X-Request-Id``, or a new one."""
    for name, value in headers:
        if name == b"x-request-id" and _REQUEST_ID.fullmatch(value):
            return value.decode("ascii")
    return f"{os.getpid():x}-{next(_numbers):x}"


class _TextLines(logging.Formatter):
    """``arcwise: message (name=value …)``, with a traceback on the lines after it."""

    def format(self, record: logging.LogRecord) -> str:
        fields = getattr(record, _FIELDS, {})
        shown = " ".join(f"{name}={value}" for name, value in fields.items())
        line = f"arcwise: {record.getMessage()}" + (f" ({shown})" if shown else "")
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line


class _JsonLines(logging.Formatter):
    """One object per line."""

    def format(self, record: logging.LogRecord) -> str:
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        entry = {
            "time": f"{stamp}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "message": record.getMessage(),
            **getattr(record, _FIELDS, {}),
        }
        if record.exc_info:
            entry["traceback"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=True)
