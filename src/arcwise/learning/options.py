"""Configuration options: defaults, descriptions and allowed values in one declaration.

A configuration is a frozen dataclass whose fields are made by ``option`` and whose ``__post_init__`` calls
``check_options``. Values from Python, TOML files and the command line all pass through it, so an invalid
value gives the same message everywhere. Help texts and reference pages are generated from the declarations
(``declared``).

>>> from dataclasses import dataclass
>>> @dataclass(frozen=True)
... class Training:
...     epochs: int = option(8, "Training epochs.", low=1, high=100)
...     step: float | None = option(None, "Learning rate.", above=0)
...     def __post_init__(self) -> None:
...         check_options(self)
>>> Training(step=1)
Training(epochs=8, step=1.0)
>>> Training(epochs=0)
Traceback (most recent call last):
arcwise.errors.OptionError: epochs: found 0, expected 1..100
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import lru_cache
from numbers import Integral, Real
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from arcwise.errors import InputError, OptionError

SEEDS = 2**63 - 1
"""The largest seed: TOML integers are signed 64-bit."""

_KEY = "arcwise option"
_WORDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}


@dataclass(frozen=True)
class Option:
    """The declaration of a field: its description and allowed values."""

    text: str
    low: float | None = None
    high: float | None = None
    above: float | None = None
    below: float | None = None
    choices: tuple[str, ...] = ()
    check: Callable[[str], object] | None = None
    """For text: raises ``InputError`` if it cannot be parsed."""
    form: str = ""
    """The syntax that ``check`` accepts, in words."""


def option(
    default: Any,
    text: str,
    *,
    low: float | None = None,
    high: float | None = None,
    above: float | None = None,
    below: float | None = None,
    choices: tuple[str, ...] = (),
    check: Callable[[str], object] | None = None,
    form: str = "",
) -> Any:
    """Declare a field of a configuration.

    ``low`` and ``high`` are inclusive bounds, ``above`` and ``below`` exclusive ones; for a list they apply
    to each item. The choices of a ``Literal`` are taken from the annotation.
    """
    declaration = Option(text, low, high, above, below, choices, check, form)
    return field(default=default, metadata={_KEY: declaration})


def section(kind: type[Any], text: str) -> Any:
    """Declare a field that is itself a configuration: a section of the TOML file."""
    return field(default_factory=kind, metadata={_KEY: Option(text)})


@dataclass(frozen=True)
class Declared:
    """A field of a configuration: its type, analysed, and its declaration if it has one."""

    name: str
    base: Any
    """The type of the value, or of each item of a list, without ``| None``."""
    option: Option | None
    default: Any
    choices: tuple[Any, ...] = ()
    optional: bool = False
    many: bool = False

    @property
    def text(self) -> str:
        """The description."""
        return self.option.text if self.option else ""

    @property
    def values(self) -> str:
        """The allowed values in words, for messages, help and reference pages."""
        if self.choices:
            return f"one of {', '.join(map(str, self.choices))}"
        if self.option and self.option.form:
            return self.option.form
        return self._bounds() or _WORDS.get(self.base, str(self.base))

    @property
    def is_declared(self) -> bool:
        """Whether the allowed values are declared, or the type already determines them."""
        if self.option is None:
            return False
        bounds = (self.option.low, self.option.high, self.option.above, self.option.below)
        closed = self.base is bool or is_dataclass(self.base)
        return closed or bool(self.choices or self.option.check) or any(bound is not None for bound in bounds)

    def _bounds(self) -> str:
        o, word = self.option, _WORDS.get(self.base, "")
        if o is None:
            return ""
        if o.low is not None and o.high is not None:
            return f"{_plain(o.low)}..{_plain(o.high)}"
        parts = (("of at least", o.low), ("above", o.above), ("of at most", o.high), ("below", o.below))
        bounds = " and ".join(f"{how} {_plain(bound)}" for how, bound in parts if bound is not None)
        return f"{word} {bounds}" if bounds else ""

    def refuse(self, value: object, expected: str) -> OptionError:
        """The error that names the option, the value and the expected values."""
        return OptionError(self.name, f"found {value!r}, expected {expected}")

    def checked(self, value: Any) -> Any:
        """Convert the value to the type of the field, or raise ``OptionError``."""
        # A default needs no check, and most fields have theirs.
        if value is self.default or (value is None and self.optional):
            return value
        if self.many:
            if not isinstance(value, list | tuple):
                raise self.refuse(value, f"a list, each item {self.values}")
            same = tuple(value) == self.default  # often the templates of a model file: skip checking each
            return self.default if same else tuple(self._item(item) for item in value)
        return self._item(value)

    def _item(self, value: Any) -> Any:
        typed = _typed(self.base, value)
        if typed is None and self.choices:
            raise self.refuse(value, self.values)
        if typed is None:
            word, values = _WORDS.get(self.base, str(self.base)), self.values
            raise self.refuse(value, values if values.startswith(word) else f"{word}, {values}")
        if self.choices and typed not in self.choices:
            raise self.refuse(value, self.values)
        if self.option is not None:
            self._check_bounds(self.option, typed)
        return typed

    def _check_bounds(self, o: Option, value: Any) -> None:
        # NaN passes every comparison with a bound.
        if isinstance(value, float) and not math.isfinite(value):
            raise self.refuse(value, self.values)
        if (
            (o.low is not None and value < o.low)
            or (o.high is not None and value > o.high)
            or (o.above is not None and value <= o.above)
            or (o.below is not None and value >= o.below)
        ):
            raise self.refuse(value, self.values)
        if o.check is not None:
            try:
                o.check(value)
            except InputError as error:
                raise OptionError(self.name, str(error).removeprefix(f"{self.name}: ")) from error


def declared(kind: type[Any]) -> Mapping[str, Declared]:
    """The fields of a dataclass by name, in order, with their declarations."""
    return _cached(kind)


def _find(kind: Any) -> Mapping[str, Declared]:
    hints = get_type_hints(kind)
    return {f.name: _declared(f, hints[f.name]) for f in fields(kind)}


# Evaluating type hints is slow, and ParseOptions are built for every request of a service.
_cached: Callable[[Any], Mapping[str, Declared]] = lru_cache(maxsize=None)(_find)


def check_options(config: Any) -> None:
    """Check and convert every field (lists to tuples, ints to floats). For ``__post_init__``."""
    for name, declaration in declared(type(config)).items():
        object.__setattr__(config, name, declaration.checked(getattr(config, name)))


def changed(config: Any) -> dict[str, Any]:
    """The options that differ from their defaults."""
    values = {name: getattr(config, name) for name in declared(type(config))}
    return {name: value for name, value in values.items() if value != declared(type(config))[name].default}


def short_repr(config: Any) -> str:
    """A ``__repr__`` with only the options that differ from their defaults."""
    arguments = ", ".join(f"{name}={value!r}" for name, value in changed(config).items())
    return f"{type(config).__name__}({arguments})"


def refuse_unread(config: Any, unread: Mapping[str, str]) -> None:
    """Raise ``OptionError`` if one of the ignored options (name → reason) is not at its default."""
    values = changed(config)
    for name, why in unread.items():
        if name in values:
            default = declared(type(config))[name].default
            expected = "no value" if default in (None, ()) else f"{default!r}, the default"
            raise OptionError(name, f"found {values[name]!r}, expected {expected}: {why}")


def markdown(kind: type[Any], *, read_by: Mapping[str, list[str]] | None = None) -> str:
    """The options as a Markdown table; ``read_by``: option → its users, if not all use it."""
    lines = ["| option | default | values | meaning |", "|---|---|---|---|"]
    for declaration in declared(kind).values():
        if is_dataclass(declaration.base):
            continue
        name = declaration.name
        values = f"a list, each {declaration.values}" if declaration.many else declaration.values
        users = f" (*{', '.join(read_by[name])}*)" if read_by and name in read_by else ""
        text = f"{declaration.text}{users}".replace("|", "\\|")
        lines.append(f"| `{name}` | {_shown(declaration.default)} | {values} | {text} |")
    return "\n".join(lines)


def _declared(f: Field[Any], hint: Any) -> Declared:
    declaration: Option | None = f.metadata.get(_KEY)
    default = f.default_factory() if f.default_factory is not MISSING else f.default
    optional = many = False
    if get_origin(hint) in (Union, types.UnionType):
        optional = type(None) in get_args(hint)
        hint = next(c for c in get_args(hint) if c is not type(None))
    if get_origin(hint) is tuple:
        many, hint = True, get_args(hint)[0]
    choices: tuple[Any, ...] = declaration.choices if declaration else ()
    if get_origin(hint) is Literal:
        choices, hint = get_args(hint), str
    return Declared(f.name, hint, declaration, default, choices, optional, many)


def _typed(base: Any, value: Any) -> Any:
    """Convert the value to the type (numpy numbers to Python ones); None if it is of another type."""
    if base is int:
        # bool is an Integral: `epochs = true` would train for one epoch.
        return int(value) if isinstance(value, Integral) and not isinstance(value, bool) else None
    if base is float:
        return float(value) if isinstance(value, Real) and not isinstance(value, bool) else None
    return value if isinstance(value, base) else None


def _plain(bound: float) -> str:
    if bound == SEEDS:
        return "2^63-1"
    return f"{bound:g}" if isinstance(bound, float) else str(bound)


def _shown(default: Any) -> str:
    if default is None:
        return "–"
    if isinstance(default, tuple):
        return f"{len(default)} of them" if default else "none"
    if isinstance(default, bool):
        return f"`{str(default).lower()}`"
    return f"`{default}`"
