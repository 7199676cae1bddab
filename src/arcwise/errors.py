"""Errors that a user can cause.

All derive from ``ArcwiseError``; the command line prints them as one line.
"""

from __future__ import annotations

from typing import Any


class ArcwiseError(Exception):
    """arcwise cannot do what was requested; the message is one sentence that says what is wrong and why."""


class InputError(ArcwiseError):
    """A file or a value is malformed."""


class OptionError(InputError):
    """An argument has a value that it cannot have: ``name: found value, expected …``.

    ``name`` is the Python spelling, which the command line replaces by its own.
    ``where`` is the file that the value comes from.
    """

    def __init__(self, name: str, reason: str, where: str = "") -> None:
        super().__init__(name, reason, where)
        self.name, self.reason, self.where = name, reason, where

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.where, self.name, self.reason)))

    def inside(self, where: str) -> OptionError:
        """Return the same error, located in ``where``."""
        return OptionError(self.name, self.reason, where)


class NoTreeError(ArcwiseError):
    """No tree of the requested class exists under the scores and constraints."""


class ConstraintError(ArcwiseError):
    """Constraints contradict each other; the message names them."""


class ModelError(ArcwiseError):
    """A model file is missing, damaged, of another kind, or of a version that this arcwise cannot read."""


class WorkerError(ArcwiseError):
    """Workers died repeatedly on the same work item: it needs too much memory, or crashes the process."""


class MissingExtraError(ArcwiseError, ImportError):
    """An optional library is not installed; the message has the command that installs it."""

    def __init__(self, library: str, command: str) -> None:
        are = "are" if " and " in library else "is"
        super().__init__(f"this needs {library}, which {are} not installed: {command}")
        self._arguments = (library, command)

    def __str__(
        self,
    ) -> str:  # ImportError.__str__ ignores changes of args, and callers prepend to the message
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._arguments, {"args": self.args}
