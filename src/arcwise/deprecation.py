"""Former names of public classes and functions, answered with a ``DeprecationWarning`` for one release."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import wraps
from importlib import import_module
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

MOVED = {
    "arcwise.parsing.teaching": {
        "Teaching": "arcwise.distillation:Distillation",
        "TeachingConfig": "arcwise.distillation:DistillationConfig",
        "Lessons": "arcwise.distillation:DistillationData",
    },
    "arcwise.models.teaching": {
        "open_teacher": "arcwise.models.teacher:open_teacher",
        "teaching_of": "arcwise.models.teacher:load_distillation",
        "read_teaching": "arcwise.distillation.teacher:read_distillation_config",
    },
}
"""Former module → former name → current one. A table here, because a package must not name those above it."""


def renamed(module: str, names: Mapping[str, str]) -> Callable[[str], Any]:
    """Return a ``__getattr__`` for ``module`` that resolves former names.

    ``names`` maps each former name to the current one as ``module:name``.

    >>> old = renamed("arcwise", {"Forest": "arcwise.trees:Tree"})
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     old("Forest").__name__, str(caught[0].message)
    ('Tree', 'arcwise.Forest is deprecated: use arcwise.trees.Tree')
    """

    def __getattr__(name: str) -> Any:
        path = names.get(name)
        if path is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, _, current = path.partition(":")
        message = f"{module}.{name} is deprecated: use {home}.{current}"
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return getattr(import_module(home), current)

    return __getattr__


def renamed_keyword(old: str, new: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Decorate a function that also accepts the keyword ``new`` under its former name ``old``."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            if old in kwargs:
                warnings.warn(f"{old}= is deprecated: use {new}=", DeprecationWarning, stacklevel=2)
                kwargs[new] = kwargs.pop(old)
            return function(*args, **kwargs)

        return call

    return decorate
