"""Validation of a whole file as the work of a ``Job``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

from arcwise.treebanks import Treebank
from arcwise.treebanks.validation import check_treebank


def findings(data: bytes, most: int) -> list[dict[str, Any]]:
    """What is wrong with a file that is being annotated, as JSON: the first ``most`` findings. Words that are open are not wrong."""
    treebank = Treebank(data, strict=False)
    return [found.to_json() for found in islice(check_treebank(treebank, partial=True), most)]


def validate_task(
    request: Mapping[str, Any], data: bytes, tell: Callable[[Mapping[str, Any]], None]
) -> Mapping[str, Any]:
    """The work of a ``Job``: ``request`` has ``most``."""
    return {"findings": findings(data, request["most"])}
