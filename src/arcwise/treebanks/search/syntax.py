"""Syntax tree of a query: conditions on words, relations between words, patterns."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
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
WORD_TEXTS = ("form", "lemma", "upos", "xpos", "feats", "deprel", "udeprel", "deps", "misc", "projective")
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

    @property
    def inverse(self) -> RelationKind:
        """What the left word is to the right one."""
        pairs = {
            RelationKind.DESCENDANT: RelationKind.ANCESTOR,
            RelationKind.FOLLOWING: RelationKind.PRECEDING,
        }
        return (pairs | {b: a for a, b in pairs.items()}).get(self, self)


RELATION_OPERATORS: dict[str, tuple[RelationKind, int | None]] = {
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
    """Test of the DEPREL of the lower word; only relations between head and child have one."""

    @property
    def inverse(self) -> Relation:
        """The relation of the left word to the right one."""
        return Relation(self.kind.inverse, self.low, self.high, self.label)

    @property
    def is_unique(self) -> bool:
        """Whether a left word has at most one right word."""
        return self.kind is RelationKind.SAME or (
            self.kind not in (RelationKind.SIBLING, RelationKind.DESCENDANT) and self.low == self.high
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
