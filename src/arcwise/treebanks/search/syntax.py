"""What a query says, as values: tests of words, relations between words, and the parts of a query. ``reading`` makes them from text."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TypeAlias

from arcwise.errors import InputError


class QueryError(InputError):
    """A query that is not understood: ``query, character 7: found …, expected …``."""

    def __init__(self, message: str, text: str, position: int, what: str = "query") -> None:
        super().__init__(message, text, position, what)
        self.message, self.text, self.position, self.what = message, text, position, what

    def __str__(self) -> str:
        return f"{self.what}, character {self.position + 1}: {self.message}"

    def pointed(self) -> str:
        """The query and, below it, a sign under the place.

        >>> print(QueryError("found …", "upos=", 5).pointed())
        upos=
             ^
        """
        return f"{self.text}\n{' ' * self.position}^"


STEPS = ("head", "prev", "next")
"""Words from which a property may be taken instead: ``head.upos``."""
WORD_TEXTS = ("form", "lemma", "upos", "xpos", "feats", "deprel", "udeprel", "deps", "misc", "projective")
WORD_NUMBERS = ("id", "head", "distance", "depth", "children")
SENTENCE_TEXTS = ("sent_id", "text", "comment", "projective")
SENTENCE_NUMBERS = ("length", "depth", "roots")
KEYED = ("feats", "misc", "comment")
"""Properties with keys of their own: ``feats.Case``."""
MISSING = "_"
"""The value of a property that is not there."""


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
    """A property compared with values: true if it has one of them (``=``), none (``!=``), is less than the one (``<``), …"""

    property: Property
    sign: str
    values: tuple[str, ...]
    position: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Not:
    """The condition does not hold."""

    condition: Condition


@dataclass(frozen=True)
class AllOf:
    """All of the conditions hold; with none, true of every word."""

    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True)
class AnyOf:
    """One of the conditions holds, at least."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True)
class Exists:
    """There is a word in this relation for which the condition holds."""

    relation: Relation
    condition: Condition


Condition: TypeAlias = PropertyTest | Not | AllOf | AnyOf | Exists
"""What may be said of one word, or of the sentence."""


class RelationKind(enum.Enum):
    """Where the right word of a relation is, seen from the left one."""

    BELOW = "below"
    ABOVE = "above"
    AFTER = "after"
    BEFORE = "before"
    SIBLING = "sibling"
    SAME = "same"

    @property
    def inverse(self) -> RelationKind:
        """Where the left word is, seen from the right one."""
        pairs = {RelationKind.BELOW: RelationKind.ABOVE, RelationKind.AFTER: RelationKind.BEFORE}
        return (pairs | {b: a for a, b in pairs.items()}).get(self, self)


SIGNS: dict[str, tuple[RelationKind, int | None]] = {
    ">>": (RelationKind.BELOW, None),
    "<<": (RelationKind.ABOVE, None),
    "..": (RelationKind.AFTER, None),
    ",,": (RelationKind.BEFORE, None),
    "==": (RelationKind.SAME, 1),
    ">": (RelationKind.BELOW, 1),
    "<": (RelationKind.ABOVE, 1),
    ".": (RelationKind.AFTER, 1),
    ",": (RelationKind.BEFORE, 1),
    "$": (RelationKind.SIBLING, 1),
}
"""Sign → where the right word is, and how many steps away it may be at most. Longer signs come first."""


@dataclass(frozen=True)
class Relation:
    """The right word is ``low`` to ``high`` steps below, above, after or before the left one (None: any number)."""

    kind: RelationKind
    low: int = 1
    high: int | None = 1
    label: PropertyTest | None = None
    """What must hold of DEPREL of the lower word; relations of head and child alone have one."""

    @property
    def inverse(self) -> Relation:
        """The same, seen from the right word."""
        return Relation(self.kind.inverse, self.low, self.high, self.label)

    @property
    def is_unique(self) -> bool:
        """Whether a left word has one right word at most."""
        return self.kind is RelationKind.SAME or (
            self.kind not in (RelationKind.SIBLING, RelationKind.BELOW) and self.low == self.high
        )


@dataclass(frozen=True)
class Link:
    """A relation between two words of the query, or that it does not hold."""

    left: str
    relation: Relation
    right: str
    negated: bool = False


@dataclass(frozen=True)
class PropertyComparison:
    """Properties of two words compared: ``@a.lemma=@b.lemma``."""

    left: str
    left_property: Property
    sign: str
    right: str
    right_property: Property


@dataclass(frozen=True)
class Pattern:
    """Words by name, each with its condition, and the links between them and to words that were found before."""

    words: dict[str, Condition]
    links: tuple[Link, ...] = ()

    @property
    def outer(self) -> tuple[str, ...]:
        """The words of links that are none of its own, in order of appearance."""
        ends = (end for link in self.links for end in (link.left, link.right))
        return tuple(dict.fromkeys(end for end in ends if end not in self.words))


@dataclass(frozen=True)
class ParsedQuery:
    """A whole query: what is to be found, what must not be there, and of which sentences."""

    pattern: Pattern
    excluded: tuple[Pattern, ...] = ()
    comparisons: tuple[PropertyComparison, ...] = ()
    sentence: Condition = AllOf()
