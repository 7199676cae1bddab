"""The named transition systems of Bohnet et al. (2016), sections 4 and 5, and their textual form.

``arc-eager``, ``bounded(K=4,D=3)``, ``attardi(N=2)``, or the path of a TOML file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from inspect import signature
from pathlib import Path

from arcwise.errors import InputError
from arcwise.learning.config import read_toml
from arcwise.transition.system import RootSide, Transition, TransitionSystem, system_from_dict

LEFT_ARC, RIGHT_ARC, SHIFT = Transition("left-arc"), Transition("right-arc"), Transition("shift")
_MAX_DIGITS = 18  # Python refuses to convert thousands of them
REDUCE_LEFT = Transition("reduce", periphery="left")


def arc_standard() -> TransitionSystem:
    """Nivre 2008: a shift-reduce parser that attaches complete words (section 4.1)."""
    return TransitionSystem((LEFT_ARC, RIGHT_ARC, SHIFT), capacity=2, root="left")


def arc_eager() -> TransitionSystem:
    """Nivre 2008: right modifiers are attached before they are complete (section 4.2)."""
    right_arc = Transition("right-arc", bottom_up=False, arc_shift=True)
    return TransitionSystem((LEFT_ARC, right_arc, REDUCE_LEFT, SHIFT), capacity=2)


def easy_first(root: RootSide = "right") -> TransitionSystem:
    """Goldberg & Elhadad 2010: the best-scoring arc anywhere in the sentence comes first (section 4.3)."""
    return TransitionSystem((LEFT_ARC, RIGHT_ARC), capacity=None, root=root)


def hybrid() -> TransitionSystem:
    """Kuhlmann et al. 2011: left arcs as in arc-eager, right arcs as in arc-standard (section 4.4)."""
    left_arc = Transition("left-arc", periphery="right")
    # The paper has P = left, which is the same while three tokens are operative. With two of them the right
    # arc would take the front of the buffer, which the system of Kuhlmann et al. never does.
    right_arc = Transition("right-arc", periphery="not-right")
    return TransitionSystem((left_arc, right_arc, SHIFT), capacity=3, start=2)


def dag() -> TransitionSystem:
    """Sagae & Tsujii 2008: words may have several heads; the graph is written to DEPS (section 4.5)."""
    left_arc, right_arc = (Transition(kind, bottom_up=False) for kind in ("left-arc", "right-arc"))
    # The paper: P = left. Never the front of the buffer, which would be the leftmost on an empty stack.
    reduce = Transition("reduce", periphery="not-right")
    return TransitionSystem((left_arc, right_arc, reduce, SHIFT), capacity=2, many_heads=True)


def attardi(N: int = 2) -> TransitionSystem:
    """Attardi 2006: arcs to the N words below the top; some non-projective trees (section 4.6)."""
    left_arc, right_arc = (Transition(kind, periphery="right") for kind in ("left-arc", "right-arc"))
    return TransitionSystem((left_arc, right_arc, SHIFT), N + 1, N, root="left", start=2)


def bounded(K: int = 4, D: int = 1, root: RootSide = "right") -> TransitionSystem:
    """Bounded easy-first: between arc-standard (K=2) and easy-first, in linear time (section 5.1)."""
    return TransitionSystem((LEFT_ARC, RIGHT_ARC, SHIFT), K, D, root=root)


def non_projective(D: int = 4) -> TransitionSystem:
    """Easy-first with arcs between tokens up to D apart, hence non-projective trees (section 5.2)."""
    return TransitionSystem((LEFT_ARC, RIGHT_ARC), None, D)


def bounded_non_projective(K: int = 5, D: int = 4) -> TransitionSystem:
    """Both bounds: non-projective trees in linear time (sections 5.2 and 6.3)."""
    return bounded(K, D)


NAMED: Mapping[str, Callable[..., TransitionSystem]] = {
    "arc-standard": arc_standard,
    "arc-eager": arc_eager,
    "easy-first": easy_first,
    "hybrid": hybrid,
    "dag": dag,
    "attardi": attardi,
    "bounded": bounded,
    "non-projective": non_projective,
    "bounded-non-projective": bounded_non_projective,
}
"""Name → factory; the parameters of the factory are those of the textual form."""


def system(text: str) -> TransitionSystem:
    """Parse the textual form of a system: a name, a name with parameters, or a TOML file.

    >>> system("bounded(K=4,D=3)").max_distance
    3
    >>> system("arc-eager(K=3)")
    Traceback (most recent call last):
        ...
    arcwise.errors.InputError: system: arc-eager has no parameter 'K'
    """
    if text.endswith(".toml"):
        return _from_toml(text)
    match = re.fullmatch(r"\s*([\w-]+)\s*(?:\((.*)\))?\s*", text)
    if not match or match[1] not in NAMED:
        raise InputError(
            f"system: found {text!r}, expected one of {', '.join(NAMED)}, a name with parameters such as "
            "'bounded(K=4,D=3)', or a .toml file"
        )
    name, maker = match[1], NAMED[match[1]]
    values = _parameters(name, match[2] or "", maker)
    return replace(maker(**values), name=_name_with(name, values))


def _parameters(name: str, text: str, maker: Callable[..., TransitionSystem]) -> dict[str, int | str | None]:
    values: dict[str, int | str | None] = {}
    parameters = signature(maker).parameters
    for part in filter(None, (p.strip() for p in text.split(","))):
        key, _, value = (p.strip() for p in part.partition("="))
        key = "root" if key == "wall" else key  # the name in older model files
        if key not in parameters:
            few = f", expected {' or '.join(parameters)}" if parameters else ""
            raise InputError(f"system: {name} has no parameter {key!r}{few}")
        if key == "root":
            values[key] = value
        elif value in ("inf", "∞", "unbounded"):
            values[key] = None
        elif value.isdecimal() and len(value) <= _MAX_DIGITS:
            values[key] = int(value)
        else:
            shown = part if len(part) <= 40 else part[:39] + "…"
            raise InputError(f"system: found {shown!r} in {name}, expected a whole number or 'inf'")
    return values


def _name_with(name: str, values: Mapping[str, object]) -> str:
    shown = ",".join(f"{key}={'inf' if value is None else value}" for key, value in values.items())
    return f"{name}({shown})" if shown else name


def _from_toml(path: str) -> TransitionSystem:
    return system_from_dict({"name": Path(path).stem, **read_toml(path)}, where=path)


def every_named() -> list[TransitionSystem]:
    """The nine named systems with their default parameters."""
    return [replace(maker(), name=name) for name, maker in NAMED.items()]
