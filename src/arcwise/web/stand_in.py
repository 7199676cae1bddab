"""A stand-in for mass edits until they are here."""

from __future__ import annotations

from typing import Any

MassEdit: Any = None
