"""Transition systems defined by the control parameters of Bohnet et al. (2016), section 3.4.

A system is a capacity K, a maximum arc distance D, the side of the root, and a multiset of transitions with
parameters of their own. Native code has no named systems; ``named_systems.py`` defines arc-eager and the
others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any, Literal, get_args

from arcwise import native
from arcwise.errors import InputError
from arcwise.learning.config import from_dict

Kind = Literal["left-arc", "right-arc", "reduce", "shift"]
Periphery = Literal["none", "left", "right", "not-right"]
RootSide = Literal["left", "right"]

_MAX_BOUND = 1_000_000  # of K and D: more than any sentence needs, and far within native integers


@dataclass(frozen=True)
class Transition:
    """A transition with its control parameters.

    ``bottom_up`` (B): an arc immediately reduces its modifier. ``arc_shift`` (S): an arc is followed by a
    SHIFT while there is input. ``periphery`` (P): the move must involve the leftmost or rightmost active
    token; ``not-right`` (not in the paper): it must not involve the rightmost one, the front of the buffer.

    >>> Transition("right-arc", bottom_up=False, arc_shift=True)
    right-arc(B=f,S=t)
    """

    kind: Kind
    bottom_up: bool = True
    arc_shift: bool = False
    periphery: Periphery = "none"

    def __post_init__(self) -> None:
        _one_of("kind", self.kind, get_args(Kind))
        _one_of("periphery", self.periphery, get_args(Periphery))
        if not self.is_arc and (not self.bottom_up or self.arc_shift):
            raise InputError(f"{self.kind}: bottom_up and arc_shift are parameters of arcs only")
        if self.kind == "shift" and self.periphery != "none":
            raise InputError("shift: found a periphery, expected none")

    @property
    def is_arc(self) -> bool:
        """Whether the transition adds an arc."""
        return self.kind in ("left-arc", "right-arc")

    @property
    def native(self) -> native.Transition:
        """The native transition."""
        return native.Transition(
            kind=getattr(native.MoveKind, self.kind.replace("-", "_")),
            bottom_up=self.bottom_up,
            arc_shift=self.arc_shift,
            periphery=getattr(native.Periphery, self.periphery.replace("-", "_")),
        )

    def __repr__(self) -> str:
        parts = [
            *(["B=f"] if not self.bottom_up else []),
            *(["S=t"] if self.arc_shift else []),
            *([f"P={self.periphery}"] if self.periphery != "none" else []),
        ]
        return self.kind + (f"({','.join(parts)})" if parts else "")


@dataclass(frozen=True)
class TransitionSystem:
    """A transition system; raises ``InputError`` if it cannot consume its input or derives no tree.

    ``capacity`` (K) and ``max_distance`` (D): None means unbounded. ``start``: number of operative tokens in
    the initial state; None means K, as in the paper. Systems whose arcs must involve the rightmost token
    (hybrid, Attardi) start with 2, since with more the first words could never be attached. ``many_heads``:
    words may have several heads (DAG systems).

    >>> transitions = Transition("left-arc"), Transition("right-arc"), Transition("shift")
    >>> system = TransitionSystem(transitions, root="left")
    >>> system.is_projective, system.is_linear, system.derives([2, 0, 2])
    (True, True, True)
    >>> TransitionSystem((Transition("left-arc"), Transition("shift")), root="left")
    Traceback (most recent call last):
        ...
    arcwise.errors.InputError: transitions: no tree can be built, since the root on the left needs a right-arc
    to take a word
    """

    transitions: tuple[Transition, ...]
    capacity: int | None = 2
    max_distance: int | None = 1
    root: RootSide = "right"
    start: int | None = None
    many_heads: bool = False
    # Systems with the same parameters are equal, whatever they are called.
    name: str = field(default="custom", compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "transitions", tuple(self.transitions))
        _one_of("root", self.root, get_args(RootSide))
        _at_least("capacity", self.capacity, 2)
        _at_least("max_distance", self.max_distance, 1)
        _at_least("start", self.start, 2)
        if self.start is not None and self.capacity is not None and self.start > self.capacity:
            raise InputError(f"start: found {self.start}, expected at most the capacity, {self.capacity}")
        self._check_terminates()
        self._check_builds_trees()

    def __getstate__(self) -> dict[str, Any]:
        # Fields only: the cached native system does not pickle.
        return {option.name: getattr(self, option.name) for option in fields(self)}

    def _check_terminates(self) -> None:
        all_at_once = self.capacity is None and self.start is None
        if not all_at_once and not any(t.kind == "shift" or t.arc_shift for t in self.transitions):
            raise InputError(
                "transitions: the system cannot terminate, since neither a shift nor an arc with arc_shift "
                "uses up the input"
            )

    def _check_builds_trees(self) -> None:
        needed = "left-arc" if self.root == "right" else "right-arc"
        if not any(t.kind == needed for t in self.transitions):
            raise InputError(
                f"transitions: no tree can be built, since the root on the {self.root} needs a {needed} to "
                "take a word"
            )
        # Up to four words only: the number of trees grows exponentially.
        for words in range(1, 5):
            if not len(native.transition_trees(self.native, words, False)):
                raise InputError(
                    f"transitions: no tree over {words} word{'s' * (words > 1)} can be built, whatever the "
                    "moves"
                )

    @property
    def is_projective(self) -> bool:
        """Whether all its trees are projective, because arcs only connect neighbours in O."""
        return 1 in (self.max_distance, (self.capacity or 0) - 1)

    @property
    def is_linear(self) -> bool:
        """Whether the number of legal moves is bounded, so that greedy parsing takes O(n) time."""
        return self.capacity is not None

    @property
    def is_bottom_up(self) -> bool:
        """Whether words are attached only after all their modifiers."""
        return all(t.bottom_up for t in self.transitions if t.is_arc)

    @property
    def is_arc_decomposable(self) -> bool:
        """Whether the dynamic oracle is exact (arc-eager, hybrid, easy-first)."""
        return self.native.is_arc_decomposable

    @cached_property
    def native(self) -> native.TransitionSystem:
        """The native system."""
        return native.TransitionSystem(
            # Native code writes unbounded as 0.
            capacity=self.capacity or 0,
            max_distance=self.max_distance or 0,
            start=self.start or self.capacity or 0,
            root_right=self.root == "right",
            many_heads=self.many_heads,
            transitions=[t.native for t in self.transitions],
        )

    def derives(self, heads: Any) -> bool:
        """Whether some derivation builds the tree with these heads of words 1..n. Exact."""
        from arcwise.transition.oracle import derivation

        return derivation(self, heads) is not None

    def as_dict(self) -> dict[str, Any]:
        """Plain values for TOML and model headers, as ``system_from_dict`` reads them."""
        return {
            "name": self.name,
            "capacity": self.capacity or "unbounded",
            "max_distance": self.max_distance or "unbounded",
            "root": self.root,
            **({} if self.start is None else {"start": self.start}),
            **({"many_heads": True} if self.many_heads else {}),
            "transition": [_transition_as_dict(t) for t in self.transitions],
        }

    def __str__(self) -> str:
        return self.name


def system_from_dict(values: Mapping[str, Any], *, where: str = "system") -> TransitionSystem:
    """Build a system from the values of a TOML file; an unknown key raises ``InputError``.

    >>> transitions = [{"kind": "left-arc"}, {"kind": "right-arc"}, {"kind": "shift"}]
    >>> system_from_dict({"capacity": 3, "transition": transitions}).capacity
    3
    """
    tables = values.get("transition")
    if not isinstance(tables, list) or not all(isinstance(t, Mapping) for t in tables):
        raise InputError(f"{where}: found no [[transition]], expected at least one")
    options = {key: None if value == "unbounded" else value for key, value in values.items()}
    if "wall" in options:  # the name of ``root`` in older files
        options.setdefault("root", options.pop("wall"))
    options["transitions"] = [from_dict(Transition, t, where=f"{where}: transition") for t in tables]
    del options["transition"]
    return from_dict(TransitionSystem, options, where=where)


def _transition_as_dict(transition: Transition) -> dict[str, Any]:
    default = Transition(transition.kind)
    names = ("bottom_up", "arc_shift", "periphery")
    differing = {k: getattr(transition, k) for k in names if getattr(transition, k) != getattr(default, k)}
    return {"kind": transition.kind, **differing}


def _one_of(name: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise InputError(f"{name}: found {value!r}, expected one of {', '.join(allowed)}")


def _at_least(name: str, value: object, least: int) -> None:
    if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < least):
        raise InputError(
            f"{name}: found {value!r}, expected a whole number of at least {least}, or unbounded"
        )
    if value is not None and value > _MAX_BOUND:
        raise InputError(f"{name}: found {value}, expected at most {_MAX_BOUND}, or unbounded")
