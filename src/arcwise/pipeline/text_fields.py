"""The names of the text and ID fields of structured records."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class TextFields:
    """The names of the fields to read from JSON objects and rows of Parquet."""

    text: str = "text"
    id: str | None = None
    """The field of the document's name; None: documents are named after file and line, if at all."""
