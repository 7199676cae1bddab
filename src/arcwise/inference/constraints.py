"""``Constraints`` on trees: arcs, labels, subtrees and roots that are decided before inference.

Constraints become a mask of allowed arcs (and labels) and, for subtrees, closed cells of the projective
chart. They hold exactly in every operation, for every array library, at no cost."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice

import numpy as np
import numpy.typing as npt

from arcwise.errors import ConstraintError, InputError
from arcwise.inference.arc_matrices import Floats, Heads, Span
from arcwise.inference.tree_class import TreeClass
from arcwise.trees import Arc, Tree, find_cycle


@dataclass(frozen=True)
class Constraints:
    """Constraints that every tree of a sentence must satisfy.

    - ``required``: arcs (head, dependent) of every tree; head 0 makes the dependent a root.
    - ``forbidden``: arcs of no tree.
    - ``labels``: word → the label of its arc.
    - ``subtrees``: spans (first, last) of one word and all its descendants (projective trees only).
    - ``max_length``: the longest arc between two words, in words; arcs from the root have no length.
    - ``roots``: the words that may be roots (default: all).

    >>> Constraints(required=[(0, 2)], labels={2: "root"}, max_length=5)
    Constraints(required=((0, 2),), labels={2: 'root'}, max_length=5)
    """

    required: Collection[Arc] = ()
    forbidden: Collection[Arc] = ()
    labels: Mapping[int, str] = field(default_factory=dict)
    subtrees: Collection[Span] = ()
    max_length: int | None = None
    roots: Collection[int] | None = None

    def __post_init__(self) -> None:
        for name in ("required", "forbidden", "subtrees"):
            pairs = tuple((int(a), int(b)) for a, b in getattr(self, name))
            # dict.fromkeys: an arc named twice must not count as two heads of its word.
            object.__setattr__(self, name, tuple(dict.fromkeys(pairs)))
        object.__setattr__(self, "labels", dict(self.labels))
        if self.roots is not None:
            object.__setattr__(self, "roots", tuple(sorted({int(root) for root in self.roots})))

    def __repr__(self) -> str:
        fields = {name: value for name, value in vars(self).items() if value not in ((), {}, None)}
        return f"Constraints({', '.join(f'{name}={value!r}' for name, value in fields.items())})"

    @classmethod
    def from_tree(cls, tree: Tree, *, labelled: bool = True) -> Constraints:
        """Require the known heads of a (partial) tree, and its labels where it has them.

        >>> Constraints.from_tree(Tree.from_heads([2, -1, 2]))
        Constraints(required=((2, 1), (2, 3)))
        """
        labels: dict[int, str] = {}
        if labelled and tree.labels is not None:
            labels = {m: tree.labels[m] for _, m in tree.arcs}
        return cls(required=tree.arcs, labels=labels)

    def joined(self, other: Constraints | None) -> Constraints:
        """Combine two sets of constraints; ``ConstraintError`` if they give a word two labels.

        >>> Constraints(required=[(0, 2)]).joined(Constraints(forbidden=[(3, 1)], labels={2: "root"}))
        Constraints(required=((0, 2),), forbidden=((3, 1),), labels={2: 'root'})
        """
        if other is None:
            return self
        for word, label in self.labels.items():
            if other.labels.get(word, label) != label:
                raise ConstraintError(
                    f"labels: word {word} has both {label!r} and {other.labels[word]!r} as label"
                )
        lengths = [c.max_length for c in (self, other) if c.max_length is not None]
        roots = [set(c.roots) for c in (self, other) if c.roots is not None]
        return Constraints(
            (*self.required, *other.required),
            (*self.forbidden, *other.forbidden),
            {**self.labels, **other.labels},
            (*self.subtrees, *other.subtrees),
            min(lengths, default=None),
            set.intersection(*roots) if roots else None,
        )

    def mask(self, n: int, tree_class: TreeClass, labels: Sequence[str] | None) -> npt.NDArray[np.bool_]:
        """Return the mask of allowed arcs of n words, shape (n+1, n+1), or of labelled arcs, (L, n+1, n+1).

        Raises ``ConstraintError`` if constraints contradict each other or the class of trees.
        """
        self._check_numbers(n, tree_class)
        self._check_clashes(n, tree_class)
        shape = (n + 1, n + 1) if labels is None else (len(labels), n + 1, n + 1)
        mask = np.ones(shape, np.bool_)
        for h, m in self.forbidden:
            mask[..., h, m] = False
        if self.max_length is not None:
            words = np.arange(n + 1)
            too_long = np.abs(words[:, None] - words) > self.max_length
            # Arcs from the root have no length, so max_length never removes them.
            too_long[0] = False
            mask[..., too_long] = False
        if self.roots is not None:
            mask[..., 0, [m for m in range(n + 1) if m not in self.roots]] = False
        for first, last in self.subtrees:
            outside = np.r_[0:first, last + 1 : n + 1]
            # Only leaving arcs are masked; closed chart cells ensure that one arc enters.
            mask[..., first : last + 1, outside] = False
        for h, m in self.required:
            mask[..., np.arange(n + 1) != h, m] = False
        self._mask_labels(mask, labels, n)
        return mask

    def masked(self, scores: Floats, tree_class: TreeClass, labels: Sequence[str] | None) -> Floats:
        """Return the scores (… , n+1, n+1) with -inf for arcs and labels that are not allowed.

        Raises ``ConstraintError`` if a required arc has no score.
        """
        masked = np.where(self.mask(scores.shape[-1] - 1, tree_class, labels), scores, -np.inf)
        self._check_possible(masked)
        return masked

    def _mask_labels(self, mask: npt.NDArray[np.bool_], labels: Sequence[str] | None, n: int) -> None:
        for m, label in self.labels.items():
            if not 1 <= m <= n:
                raise ConstraintError(f"labels: found word {m}, expected 1..{n}")
            if labels is None:
                raise ConstraintError(f"labels: found {label!r} for word {m}, but the scores have no labels")
            if label not in labels:
                raise ConstraintError(
                    f"labels: found {label!r} for word {m}, expected one of {', '.join(labels)}"
                )
            mask[np.arange(len(labels)) != labels.index(label), :, m] = False

    def _check_possible(self, masked: Floats) -> None:
        best = masked.max(axis=0) if masked.ndim == 3 else masked
        for h, m in self.required:
            if best[h, m] == -np.inf:
                label = f" with label {self.labels[m]!r}" if m in self.labels else ""
                raise ConstraintError(f"required: the arc {h} → {m}{label} has score -inf")

    def _check_numbers(self, n: int, tree_class: TreeClass) -> None:
        for name, arcs in (("required", self.required), ("forbidden", self.forbidden)):
            for h, m in arcs:
                if not (0 <= h <= n and 1 <= m <= n and h != m):
                    raise ConstraintError(
                        f"{name}: found the arc {h} → {m}, expected a head 0..{n} and another word 1..{n}"
                    )
        for first, last in self.subtrees:
            if not 1 <= first <= last <= n:
                raise ConstraintError(
                    f"subtrees: found ({first}, {last}), expected 1 <= first <= last <= {n}"
                )
            if not tree_class.projective:
                raise ConstraintError(
                    f"subtrees: found ({first}, {last}) with projective=False; subtrees need projective=True"
                )
        for root in self.roots or ():
            if not 1 <= root <= n:
                raise ConstraintError(f"roots: found word {root}, expected 1..{n}")
        if self.roots is not None and not self.roots:
            raise ConstraintError("roots: found no word, expected at least one that may be a root")
        if self.max_length is not None and self.max_length < 1:
            raise ConstraintError(f"max_length: found {self.max_length}, expected at least 1")

    def _check_clashes(self, n: int, tree_class: TreeClass) -> None:
        # int32 with -1 for "free", as trees have it, so that find_cycle can be shared.
        heads = np.full(n + 1, -1, np.int32)
        for h, m in self.required:
            if heads[m] >= 0:
                raise ConstraintError(f"required: word {m} has both {heads[m]} and {h} as head")
            heads[m] = h
            self._check_required_alone(h, m)
        cycle = find_cycle(heads)
        if cycle:
            raise ConstraintError(f"required: words {' → '.join(map(str, [*cycle, cycle[0]]))} form a cycle")
        roots = np.flatnonzero(heads == 0)
        if tree_class.single_root and len(roots) > 1:
            raise ConstraintError(
                f"required: words {roots[0]} and {roots[1]} are roots, but single_root=True"
            )
        if tree_class.projective:
            _check_crossing(self.required)
        self._check_subtrees(heads)

    def _check_required_alone(self, h: int, m: int) -> None:
        if (h, m) in self.forbidden:
            raise ConstraintError(f"the arc {h} → {m} is both required and forbidden")
        if self.max_length is not None and h > 0 and abs(h - m) > self.max_length:
            raise ConstraintError(f"the required arc {h} → {m} is longer than max_length={self.max_length}")
        if h == 0 and self.roots is not None and m not in self.roots:
            raise ConstraintError(f"the required root {m} is not among roots={self.roots}")

    def _check_subtrees(self, heads: Heads) -> None:
        for (a, b), (c, d) in combinations(sorted(self.subtrees), 2):
            if a < c <= b < d:
                raise ConstraintError(
                    f"subtrees: ({a}, {b}) and ({c}, {d}) overlap, but neither is in the other"
                )
        for first, last in self.subtrees:
            span = range(first, last + 1)
            entering = [m for m in span if heads[m] >= 0 and heads[m] not in span]
            if len(entering) > 1:
                raise ConstraintError(
                    f"subtrees: ({first}, {last}) has one word with its head outside, "
                    f"but that is required of {entering[0]} and {entering[1]}"
                )
            for h, m in self.required:
                if h in span and m not in span:
                    raise ConstraintError(f"the required arc {h} → {m} leaves the subtree ({first}, {last})")


def one_for_each(
    constraints: object, count: int, *, expected: str = "Constraints, or a list of them"
) -> list[Constraints | None]:
    """Return one ``Constraints`` or None for each of ``count`` sentences; one for all is repeated.

    >>> one_for_each(None, 2)
    [None, None]
    """
    if constraints is None or isinstance(constraints, Constraints):
        return [constraints] * count
    if not isinstance(constraints, list | tuple):
        raise InputError(f"constraints: found {constraints!r}, expected {expected}")
    if len(constraints) != count:
        raise InputError(f"constraints: found {len(constraints)}, expected one for each of {count} sentences")
    for entry in constraints:
        if not isinstance(entry, Constraints | None):
            raise InputError(f"constraints: found {entry!r}, expected Constraints or None")
    return list(constraints)


def crossing_pair(arcs: Iterable[Arc]) -> tuple[Arc, Arc] | None:
    """Return two arcs that cross, or None."""
    ordered = sorted((min(arc), max(arc), arc) for arc in arcs)
    for i, (left, right, arc) in enumerate(ordered):
        for start, end, later_arc in islice(ordered, i + 1, None):
            # Sorted by left end: no later arc can start inside this one, which keeps sparse arcs near linear.
            if start >= right:
                break
            if left < start and right < end:
                return arc, later_arc
    return None


def _check_crossing(arcs: Iterable[Arc]) -> None:
    pair = crossing_pair(arcs)
    if pair:
        (h, m), (other_h, other_m) = pair
        raise ConstraintError(
            f"required: the arcs {h} → {m} and {other_h} → {other_m} cross, but projective=True"
        )
