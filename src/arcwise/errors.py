"""Every error that a user can cause derives from ``ArcwiseError``; the command line prints it as one line."""

from __future__ import annotations

from typing import Any


class ArcwiseError(Exception):
    """Something the user asked for cannot be done; the message is one sentence that says what and why."""


class InputError(ArcwiseError):
    """A file or a value does not have the form that was expected."""


class OptionError(InputError):
    """An argument has a value that it cannot have: ``name: found value, expected …``.

    ``name`` is spelled as in Python; the command line puts its own spelling there. ``where``: the file that the value is from.
    """

    def __init__(self, name: str, reason: str, where: str = "") -> None:
        super().__init__(name, reason, where)
        self.name, self.reason, self.where = name, reason, where

    def __str__(self) -> str:
        return ": ".join(filter(None, (self.where, self.name, self.reason)))

    def inside(self, where: str) -> OptionError:
        """The same error, told of a value of ``where``."""
        return OptionError(self.name, self.reason, where)


class NoTreeError(ArcwiseError):
    """No tree of the requested class exists under the given scores and constraints."""


class ConstraintError(ArcwiseError):
    """Two constraints contradict each other; the message names the clash."""


class ModelError(ArcwiseError):
    """A model file is missing, broken, of another kind, or of a version this arcwise cannot read."""


class WorkerError(ArcwiseError):
    """Workers of an engine died again and again at the same work: it takes too much memory, or ends the process that does it."""


class MissingExtraError(ArcwiseError, ImportError):
    """An optional library is needed for what was asked; the message says how to install it (``arcwise.optional.require``)."""

    def __init__(self, library: str, command: str) -> None:
        are = "are" if " and " in library else "is"
        super().__init__(f"this needs {library}, which {are} not installed: {command}")
        self._missing = (library, command)

    def __str__(self) -> str:  # that of ImportError does not look at what was put before the message
        return str(self.args[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._missing, {"args": self.args}
