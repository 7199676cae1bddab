"""Former names of public classes and functions, answered with a ``DeprecationWarning`` for one release."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


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
