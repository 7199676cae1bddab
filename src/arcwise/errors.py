"""Every error that a user can cause derives from ``ArcwiseError``; the command line prints it as one line."""

from __future__ import annotations


class ArcwiseError(Exception):
    """Something the user asked for cannot be done; the message is one sentence that says what and why."""


class InputError(ArcwiseError):
    """A file or a value does not have the form that was expected."""


class NoTreeError(ArcwiseError):
    """No tree of the requested class exists under the given scores and constraints."""


class ConstraintError(ArcwiseError):
    """Two constraints contradict each other; the message names the clash."""


class ModelError(ArcwiseError):
    """A model file is missing, broken, of another kind, or of a version this arcwise cannot read."""


class MissingExtraError(ArcwiseError):
    """An optional library is needed for what was asked; the message says how to install it."""

    def __init__(self, library: str, extra: str) -> None:
        super().__init__(f"this needs {library}, which is not installed: pip install 'arcwise[{extra}]'")
