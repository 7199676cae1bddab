"""Plant a fault in a Python function: a context in which one piece of its source is replaced."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from importlib import import_module
from types import CodeType, FunctionType
from typing import Any


@contextmanager
def planted(module_name: str, function_name: str, old: str, new: str) -> Iterator[None]:
    """Run a function (``Class.method`` for a method) with ``old``, which occurs once in it, replaced by
    ``new``.

    Only the code object changes, so the fault also takes effect where the function has been imported.
    """
    module: Any = import_module(module_name)
    function = find_function(vars(module), function_name)
    lines, start = inspect.getsourcelines(function)
    source = "".join(lines)
    count = source.count(old)
    assert count == 1, f"{module_name}.{function_name} has {count} places with {old!r}, expected 1"
    # Compiled as part of its module, for the sake of classes and closures; nothing is executed a second time.
    before = inspect.getsource(module).splitlines(keepends=True)[: start - 1]
    faulty = compile("".join(before) + source.replace(old, new), module.__file__, "exec")
    for name in function_name.split("."):
        (*_, faulty) = (c for c in faulty.co_consts if isinstance(c, CodeType) and c.co_name == name)
    original, function.__code__ = function.__code__, faulty
    try:
        yield
    finally:
        function.__code__ = original


def find_function(namespace: Mapping[str, Any], name: str) -> FunctionType:
    """The plain function behind a dotted name: without property, class method and decorators."""
    first, *rest = name.split(".")
    value = namespace[first]
    for part in rest:
        value = inspect.getattr_static(value, part)
    if isinstance(value, cached_property):
        value = value.func
    value = getattr(value, "fget", None) or getattr(value, "__func__", value)
    value = inspect.unwrap(value)
    assert isinstance(value, FunctionType), f"{name} is not a function"
    return value
