"""Sentences of findings, computed from figures, so that a page never says more than its tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

LEVEL = 0.05
"""Level of significance."""


def points(difference: float) -> str:
    """A difference of shares in points, with its sign.

    >>> points(0.0123), points(-0.001)
    ('+1.23', '-0.10')
    """
    return f"{100 * difference:+.2f}"


def verdict(difference: float, p: float) -> str:
    """Say whether a difference is one.

    >>> verdict(0.003, 0.01), verdict(-0.003, 0.01), verdict(0.003, 0.3)
    ('significantly better than', 'significantly worse than', 'not significantly different from')
    """
    if p >= LEVEL or difference == 0:
        return "not significantly different from"
    return "significantly better than" if difference > 0 else "significantly worse than"


def between(values: Iterable[float], form: str = "+.2f") -> str:
    """The range of values.

    >>> between([0.5, -0.25]), between([1.0])
    ('between -0.25 and +0.50', '+1.00')
    """
    numbers = list(values)
    low, high = format(min(numbers), form), format(max(numbers), form)
    return low if low == high else f"between {low} and {high}"


def holds(condition: bool) -> str:
    """Say whether what a paper reports shows here.

    >>> holds(True), holds(False)
    ('as in the paper', 'unlike in the paper')
    """
    return "as in the paper" if condition else "unlike in the paper"


def listed(names: Sequence[str]) -> str:
    """A list in words.

    >>> listed(["a"]), listed(["a", "b", "c"]), listed([])
    ('a', 'a, b and c', 'none')
    """
    if not names:
        return "none"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
