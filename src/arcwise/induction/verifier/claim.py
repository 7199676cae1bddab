"""The claim of a certificate, and the parses that it is about."""

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
    """The certificate does not prove its claim, or claims something else than requested."""


class Rules(Protocol):
    """A posterior constraint: at least ``share`` of all arcs match ``rules``.

    Rules are (head tag, child tag) pairs, with ``ROOT`` for the root.
    """

    @property
    def rules(self) -> Collection[tuple[str, str]]: ...

    @property
    def share(self) -> float: ...


@dataclass(frozen=True)
class Constraint:
    """Restricts a claim to parses with at least ``least`` of ``arcs`` arcs of the types ``arc_types``.

    ``features``: the types as sorted numbers: t for a root of tag t, then T + (side·T + head)·T + child, side
    0 left and 1 right. Root arcs count too.
    """

    tags: tuple[str, ...]
    features: tuple[int, ...]
    least: int
    arcs: int

    @classmethod
    def of_rules(cls, wanted: Rules, tags: Sequence[str], arcs: int) -> Constraint:
        """The constraint that rules impose on a corpus with these tags and this many arcs."""
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
        """Readable arc types: 'ROOT → VERB', 'VERB → NOUN', 'NOUN → DET on its left'."""
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
        """Mask of the coordinates that the constraint counts."""
        marks, t = np.zeros(at.count, np.int64), at.tags
        for feature in self.features:
            marks[feature if feature < t else at.child(*divmod(feature - t, t))] = 1
        return marks

    def __str__(self) -> str:
        types = ", ".join(self.arc_types) or "(none)"
        return f"at least {self.least} of the {self.arcs} arcs are of the types {types}"


@dataclass(frozen=True)
class Verified:
    """A proved claim: some parses have log-likelihood ``lower``, none have more than ``upper``.

    ``lower`` is recomputed from the certificate's parses and rounded down. With a ``constraint``, the claim
    is only about parses that satisfy it.
    """

    lower: float
    upper: float
    nodes: int
    leaves: int
    constraint: Constraint | None = None

    @property
    def gap(self) -> float:
        """Relative gap, (upper - lower) / |lower|."""
        if self.upper <= self.lower:
            return 0.0
        return (self.upper - self.lower) / abs(self.lower) if self.lower else np.inf

    @property
    def claim(self) -> str:
        """The claim in a sentence."""
        if self.constraint is None:
            return f"some parses have log-likelihood {self.lower:.4f}, none have more than {self.upper:.4f}"
        return (
            f"of the parses in which {self.constraint}, some have log-likelihood {self.lower:.4f}, "
            f"none have more than {self.upper:.4f}; nothing is said about other parses"
        )
