"""Libraries that a function needs, asked for when it is called."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from arcwise.optional import require


def library(name: str) -> Any:
    """The module of that name; ``MissingExtraError``, with advice, if it is not installed."""
    require(name.split(".")[0])
    return import_module(name)
