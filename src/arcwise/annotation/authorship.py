"""The author of an edit: a name that the journal records with each step."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar

# A context variable: requests of several annotators run in parallel threads, each with its own name.
_ANNOTATOR: ContextVar[str] = ContextVar("annotator", default="")


@contextlib.contextmanager
def annotator(name: str) -> Iterator[None]:
    """Context in which edits are recorded under a name; an empty one records none.

    >>> with annotator("Ada"):
    ...     signature()
    {'by': 'Ada'}
    >>> signature()
    {}
    """
    token = _ANNOTATOR.set(name.strip())
    try:
        yield
    finally:
        _ANNOTATOR.reset(token)


def signature() -> dict[str, str]:
    """The author fields of a journal record; empty without a name."""
    name = _ANNOTATOR.get()
    return {"by": name} if name else {}
