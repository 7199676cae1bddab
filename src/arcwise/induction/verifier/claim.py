"""For the verifier: what a certificate claims, and about which parses."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import numpy as np

from arcwise.errors import ArcwiseError
from arcwise.induction.verifier.parses import Coordinates, Ints

ROOT = "ROOT"


class CertificateError(ArcwiseError):
    """The certificate does not prove what it claims, or not what was asked; the message says why."""


class Rules(Protocol):
    """A demand on parses: at least ``share`` of all arcs are of the types ``rules``, (head tag, child tag) with ``ROOT`` for the root."""

    @property
    def rules(self) -> Collection[tuple[str, str]]: ...

    @property
    def share(self) -> float: ...


@dataclass(frozen=True)
class Constraint:
    """The claim is about parses with at least ``least`` of the ``arcs`` arcs of the corpus (root arcs included) of the types ``arc_types``.

    ``features``: the same as numbers, sorted: t for the root's tag t, then T + (side·T + head)·T + child, side 0 left and 1 right.
    """

    tags: tuple[str, ...]
    features: tuple[int, ...]
    least: int
    arcs: int

    @classmethod
    def of_rules(cls, wanted: Rules, tags: Sequence[str], arcs: int) -> Constraint:
        """What the rules demand of a corpus with these tags and so many arcs."""
        number, t = {tag: i for i, tag in enumerate(tags)}, len(tags)
        features: set[int] = set()
        for head, child in wanted.rules:
            if child not in number:
                continue
            if head == ROOT:
                features.add(number[child])
            elif head in number:
                features |= {t + (side * t + number[head]) * t + number[child] for side in (0, 1)}
        least = -(-Fraction(str(wanted.share)) * arcs // 1)  # rounded up
        return cls(tuple(tags), tuple(sorted(features)), int(least), arcs)

    @property
    def arc_types(self) -> tuple[str, ...]:
        """The types of arcs in words: 'ROOT → VERB', 'VERB → NOUN', 'NOUN → DET on its left'."""
        t, of_pair = len(self.tags), dict[tuple[str, str], list[int]]()
        for feature in self.features:
            if feature < t:
                of_pair[ROOT, self.tags[feature]] = [0, 1]
                continue
            block, child = divmod(feature - t, t)
            side, head = divmod(block, t)
            of_pair.setdefault((self.tags[head], self.tags[child]), []).append(side)
        return tuple(
            f"{head} → {child}" + ("" if len(sides) == 2 else (" on its left", " on its right")[sides[0]])
            for (head, child), sides in of_pair.items()
        )

    def marked(self, at: Coordinates) -> Ints:
        """1 for the coordinates that the constraint counts."""
        marks, t = np.zeros(at.count, np.int64), at.tags
        for feature in self.features:
            marks[feature if feature < t else at.child(*divmod(feature - t, t))] = 1
        return marks

    def __str__(self) -> str:
        return f"at least {self.least} of the {self.arcs} arcs are of the types {', '.join(self.arc_types) or '(none)'}"


@dataclass(frozen=True)
class Verified:
    """What has been proved: some parses have the log-likelihood ``lower``, none have more than ``upper``.

    ``lower`` is the likelihood of the certificate's parses, computed anew and rounded down. With a ``constraint`` both are
    about parses that keep to it, and about no others.
    """

    lower: float
    upper: float
    nodes: int
    leaves: int
    constraint: Constraint | None = None

    @property
    def gap(self) -> float:
        """(upper - lower) / |lower|."""
        if self.upper <= self.lower:
            return 0.0
        return (self.upper - self.lower) / abs(self.lower) if self.lower else np.inf

    @property
    def claim(self) -> str:
        """The same in a sentence."""
        if self.constraint is None:
            return f"some parses have log-likelihood {self.lower:.4f}, none have more than {self.upper:.4f}"
        return (
            f"of the parses in which {self.constraint}, some have log-likelihood {self.lower:.4f}, none have more than {self.upper:.4f}; "
            "nothing is said about other parses"
        )
