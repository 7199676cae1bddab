"""Syntax tree of a query: conditions on words, relations between words, patterns."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import TypeAlias

from arcwise.errors import InputError


class QueryError(InputError):
    """A syntax error: ``query, character 7: unexpected …; expected …``."""

    def __init__(self, message: str, text: str, position: int, source: str = "query") -> None:
        super().__init__(message, text, position, source)
        self.message, self.text, self.position, self.source = message, text, position, source

    def __str__(self) -> str:
        return f"{self.source}, character {self.position + 1}: {self.message}"

    def pointed(self) -> str:
        """The query, with a caret under the position of the error.

        >>> print(QueryError("unexpected …", "upos=", 5).pointed())
        upos=
             ^
        """
        return f"{self.text}\n{' ' * self.position}^"


STEPS = ("head", "prev", "next")
"""Prefixes that take a property from another word: ``head.upos``."""
WORD_TEXTS = (
    "form", "lemma", "upos", "xpos", "feats", "deprel", "udeprel", "deps", "misc", "projective", "empty",
)  # fmt: skip
WORD_NUMBERS = ("id", "head", "distance", "depth", "children")
SENTENCE_TEXTS = ("sent_id", "text", "comment", "projective")
SENTENCE_NUMBERS = ("length", "depth", "roots")
KEYED = ("feats", "misc", "comment")
"""Properties that are key-value pairs: ``feats.Case``."""
MISSING = "_"
"""The value of a property that is missing."""


@dataclass(frozen=True)
class Property:
    """``head.feats.Case``: ``steps`` ("head",), ``name`` "feats", ``key`` "Case"."""

    name: str
    key: str | None = None
    steps: tuple[str, ...] = ()

    def __str__(self) -> str:
        return ".".join((*self.steps, self.name, *([] if self.key is None else [self.key])))


@dataclass(frozen=True)
class PropertyTest:
    """A property compared with values: equal to one (``=``), to none (``!=``), less than (``<``), …"""

    property: Property
    operator: str
    values: tuple[str, ...]
    position: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Not:
    """Negation."""

    condition: Condition


@dataclass(frozen=True)
class AllOf:
    """Conjunction; true of every word if empty."""

    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class AnyOf:
    """Disjunction."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True)
class Exists:
    """There is a word in this relation that satisfies the condition."""

    relation: Relation
    condition: Condition


Condition: TypeAlias = PropertyTest | Not | AllOf | AnyOf | Exists
"""A condition on one word, or on the sentence."""


class RelationKind(enum.Enum):
    """What the right word of a relation is to the left one."""

    DESCENDANT = "descendant"
    ANCESTOR = "ancestor"
    FOLLOWING = "following"
    PRECEDING = "preceding"
    SIBLING = "sibling"
    SAME = "same"
    ENHANCED_CHILD = "enhanced child"
    ENHANCED_HEAD = "enhanced head"

    @property
    def is_enhanced(self) -> bool:
        """Whether it is a relation of the enhanced graph, in DEPS."""
        return self in (RelationKind.ENHANCED_CHILD, RelationKind.ENHANCED_HEAD)

    @property
    def inverse(self) -> RelationKind:
        """What the left word is to the right one."""
        pairs = {
            RelationKind.DESCENDANT: RelationKind.ANCESTOR,
            RelationKind.FOLLOWING: RelationKind.PRECEDING,
            RelationKind.ENHANCED_CHILD: RelationKind.ENHANCED_HEAD,
        }
        return (pairs | {b: a for a, b in pairs.items()}).get(self, self)


RELATION_OPERATORS: dict[str, tuple[RelationKind, int | None]] = {
    "->": (RelationKind.ENHANCED_CHILD, 1),
    "<-": (RelationKind.ENHANCED_HEAD, 1),
    ">>": (RelationKind.DESCENDANT, None),
    "<<": (RelationKind.ANCESTOR, None),
    "..": (RelationKind.FOLLOWING, None),
    ",,": (RelationKind.PRECEDING, None),
    "==": (RelationKind.SAME, 1),
    ">": (RelationKind.DESCENDANT, 1),
    "<": (RelationKind.ANCESTOR, 1),
    ".": (RelationKind.FOLLOWING, 1),
    ",": (RelationKind.PRECEDING, 1),
    "$": (RelationKind.SIBLING, 1),
}
"""Operator → relation, maximal number of steps. Longer operators come first: the first match wins."""


@dataclass(frozen=True)
class Relation:
    """The right word is a descendant, … of the left one, ``low`` to ``high`` steps away (None: any)."""

    kind: RelationKind
    low: int = 1
    high: int | None = 1
    label: PropertyTest | None = None
    """Test of the DEPREL of the lower word, or of the label in DEPS; relations of head and child have one."""

    @property
    def inverse(self) -> Relation:
        """The relation of the left word to the right one."""
        return Relation(self.kind.inverse, self.low, self.high, self.label)

    @property
    def is_unique(self) -> bool:
        """Whether a left word has at most one right word."""
        return self.kind is RelationKind.SAME or (
            self.kind not in (RelationKind.SIBLING, RelationKind.DESCENDANT)
            and not self.kind.is_enhanced
            and self.low == self.high
        )


@dataclass(frozen=True)
class Link:
    """A relation between two words of the query, possibly negated."""

    left: str
    relation: Relation
    right: str
    negated: bool = False


@dataclass(frozen=True)
class PropertyComparison:
    """Compares properties of two words: ``@a.lemma=@b.lemma``."""

    left: str
    left_property: Property
    operator: str
    right: str
    right_property: Property


@dataclass(frozen=True)
class Pattern:
    """Conditions on words, by name, and links between these words or to words of an outer pattern."""

    words: dict[str, Condition]
    links: tuple[Link, ...] = ()

    @property
    def outer(self) -> tuple[str, ...]:
        """The linked words that belong to an outer pattern, in order of appearance."""
        ends = (end for link in self.links for end in (link.left, link.right))
        return tuple(dict.fromkeys(end for end in ends if end not in self.words))


@dataclass(frozen=True)
class ParsedQuery:
    """A whole query: the pattern to match, excluded patterns, comparisons, a condition on the sentence."""

    pattern: Pattern
    excluded: tuple[Pattern, ...] = ()
    comparisons: tuple[PropertyComparison, ...] = ()
    sentence: Condition = AllOf()


_WHITESPACE = re.compile(r"\s*")
_PROPERTY = re.compile(r"[A-Za-z_]\w*(?:\.[^\s=!~<>|;(){}\"'@\[\],]+(?:\[\w+\])?)*")
# Not << and >>, which are relations.
_COMPARISON = re.compile(r"!=|!~|<=|>=|=|~|<(?!<)|>(?!>)")
# An apostrophe can be inside a value (don't), but not start it.
_BARE_VALUE = re.compile(r"[^\s\[\](){}|;\"'!~=<>@][^\s\[\](){}|;\"!~=<>@]*")
_QUOTED_VALUE = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'", re.DOTALL)
_NAME = re.compile(r"@(\w+)")
PLAIN_VALUE = re.compile(r"[\w][\w:.+-]*")
"""Values that need no quotes."""
NUMERIC_OPERATORS = ("<", "<=", ">", ">=")
_MAX_NESTING = 40  # the parser is recursive: deeper queries would exceed Python's stack
_SYNONYMS = {"pos": "upos", "tag": "upos", "label": "deprel", "rel": "deprel", "word": "form", "cat": "upos"}


class Scanner:
    """A text and the current position in it. ``source`` names the text in error messages."""

    def __init__(self, text: str, source: str = "query") -> None:
        self.text, self.at, self.source = text, 0, source
        self.depth = 0
        self.skip()

    def skip(self) -> None:
        """Skip whitespace."""
        match = _WHITESPACE.match(self.text, self.at)
        self.at = match.end() if match else self.at

    @property
    def is_done(self) -> bool:
        """Whether the whole text has been read."""
        return self.at >= len(self.text)

    def error(self, hint: str, *, unexpected: str | None = None, at: int | None = None) -> QueryError:
        """A syntax error at a position, by default the current one: ``unexpected …; hint``."""
        at = self.at if at is None else at
        rest = self.text[at:].split()
        unexpected = unexpected or (repr(rest[0]) if rest else "end")
        return QueryError(f"unexpected {unexpected}; {hint}", self.text, at, self.source)

    def sees(self, symbol: str) -> bool:
        """Whether the text continues with a symbol."""
        return self.text.startswith(symbol, self.at)

    def sees_keyword(self, word: str) -> bool:
        """Whether the text continues with a keyword: ``or``, but not ``orange`` or ``or=``."""
        return re.compile(rf"{word}(?![^\s\[\](!@])").match(self.text, self.at) is not None

    def take(self, symbol: str) -> bool:
        """Consume a symbol, if the text continues with it."""
        if not self.sees(symbol):
            return False
        self.at += len(symbol)
        self.skip()
        return True

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Enter brackets or parentheses, up to a maximal depth."""
        self.depth += 1
        if self.depth > _MAX_NESTING:
            raise self.error(f"brackets can be nested at most {_MAX_NESTING} deep")
        yield
        self.depth -= 1

    def take_keyword(self, word: str) -> bool:
        """Consume a keyword, if the text continues with it."""
        return self.sees_keyword(word) and self.take(word)

    def expect(self, symbol: str, context: str = "") -> None:
        """Consume a symbol; a syntax error if the text does not continue with it."""
        if not self.take(symbol):
            raise self.error(f"expected {symbol!r}{context}")

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        match = pattern.match(self.text, self.at)
        if match:
            self.at = match.end()
        return match

    def name(self) -> str | None:
        """Read the name of a word, ``@v``; whitespace after it is not skipped."""
        match = self._take(_NAME)
        return match[1] if match else None

    def sees_test(self, is_number: Callable[[str], bool]) -> bool:
        """Whether the text continues with a property and a comparison operator.

        ``nsubj > obj`` is not a test, because ``nsubj`` is not a number.
        """
        match = _PROPERTY.match(self.text, self.at)
        if not match:
            return False
        space = _WHITESPACE.match(self.text, match.end())
        operator = _COMPARISON.match(self.text, space.end() if space else match.end())
        if not operator:
            return False
        following = self.text[operator.end() : operator.end() + 1]
        if operator[0] == "!=" and following == "=":  # the relation !==
            return False
        return operator[0] not in NUMERIC_OPERATORS or is_number(match[0])

    def property(self, *, of_sentence: bool = False) -> Property:
        """Read a property; the error for an unknown one lists all."""
        start = self.at
        match = self._take(_PROPERTY)
        if not match:
            raise self.error("expected a property such as upos")
        steps: list[str] = []
        rest = match[0]
        while not of_sentence and "." in rest and rest.partition(".")[0] in STEPS:
            step, _, rest = rest.partition(".")
            steps.append(step)
        name, dot, key = rest.partition(".")
        if not of_sentence and name in STEPS[1:]:
            raise self.error(
                f"expected a property after it, such as {name}.upos", unexpected=repr(name), at=start
            )
        names = (*SENTENCE_TEXTS, *SENTENCE_NUMBERS) if of_sentence else (*WORD_TEXTS, *WORD_NUMBERS)
        if name not in names:
            raise self._unknown_property(name, names, start, of_sentence)
        if dot and name not in KEYED:
            at = start + len(match[0]) - len(key)
            hint = f"{name} has no keys (feats and misc have: feats.Case)"
            raise self.error(hint, unexpected=repr(key), at=at)
        if name == "empty" and steps:
            hint = "expected another property (heads and neighbours are always words)"
            raise self.error(hint, unexpected=repr(match[0]), at=start)
        return Property(name, key if dot else None, tuple(steps))

    def _unknown_property(
        self, name: str, names: tuple[str, ...], start: int, of_sentence: bool
    ) -> QueryError:
        lower = name.lower()
        if lower in names:
            close = [lower]
        elif _SYNONYMS.get(lower) in names:
            close = [_SYNONYMS[lower]]
        else:
            close = get_close_matches(lower, names, 1)
        if close:
            return self.error(f"did you mean {close[0]!r}?", unexpected=repr(name), at=start)
        owner = "sentence" if of_sentence else "word"
        feature = f" (a feature is feats.{name})" if name[:1].isupper() else ""
        hint = f"expected a {owner} property: {', '.join(names)}{feature}"
        return self.error(hint, unexpected=repr(name), at=start)

    def comparison(self) -> str:
        """Read a comparison operator."""
        match = self._take(_COMPARISON)
        if not match:
            raise self.error("expected one of = != ~ !~ < <= > >=")
        if match[0] in ("=", "!=") and self.sees("="):
            raise self.error("expected a value", unexpected="'='")
        self.skip()
        return match[0]

    def sees_value(self) -> bool:
        """Whether the text continues with a value."""
        return bool(_BARE_VALUE.match(self.text, self.at)) or self.text[self.at : self.at + 1] in ("'", '"')

    def value(self, *, is_regex: bool = False) -> str:
        """Read a value, bare or quoted.

        In quotes ``\\"`` is a quotation mark, and ``\\\\`` a backslash, except in regular expressions.
        """
        if self.text[self.at : self.at + 1] in ("'", '"'):
            match = self._take(_QUOTED_VALUE)
            if not match:
                raise self.error("the closing quotation mark is missing", unexpected=self.text[self.at])
            quote = self.text[match.start()]
            content = match[1] if match[1] is not None else match[2]
            content = content.replace(f"\\{quote}", quote)
            return content if is_regex else content.replace("\\\\", "\\")
        start = self.at
        match = self._take(_BARE_VALUE)
        if not match:
            raise self.error('expected a value (quote special characters: ";")')
        self._reject_foreign_syntax(match[0], start)
        return match[0]

    def _reject_foreign_syntax(self, value: str, start: int) -> None:
        """Reject commas, wildcards and /regex/ of other languages, which would match nothing literally."""
        if value.endswith(","):
            hint = 'separate tests by spaces, upos=VERB lemma=be (quote a literal comma: ",")'
            raise self.error(hint, unexpected=repr(value), at=start)
        if "*" in value or re.fullmatch("/.+/", value):
            regex = value.strip("/").replace("*", "") or "^be"
            hint = f'quote it, or use ~ for a regular expression: lemma~"{regex}" ([] is any word)'
            raise self.error(hint, unexpected=repr(value), at=start)

    def values(self) -> tuple[str, ...]:
        """Read one or several values: ``NOUN|PROPN``."""
        values = [self.value()]
        while self.sees("|"):
            self.at += 1
            values.append(self.value())
        return tuple(values)


def quoted_value(text: str) -> str:
    """A value as it is written in a query, in quotes if it needs them.

    >>> quoted_value("nsubj:pass"), quoted_value('"')
    ('nsubj:pass', '"\\\\""')
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return text if PLAIN_VALUE.fullmatch(text) else f'"{escaped}"'


def check_matched(scan: Scanner, name: str, names: Sequence[str]) -> None:
    """Raise a syntax error unless ``name`` is a matched word."""
    if name not in names:
        hint = f"it is not a matched word (matched words: {', '.join(names)})"
        raise scan.error(hint, unexpected=f"'{name}'")
