"""Layout of a drawn tree: positions of words, arcs and labels, in SVG units (pixels)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from arcwise.trees import Tree
from arcwise.trees.text_width import cell_width, is_right_to_left

WORD_SIZE, SMALL_SIZE = 17.0, 11.0
PORT, LEVEL, GAP, MARGIN, CORNER = 7.0, 25.0, 18.0, 24.0, 9.0

_NARROW, _WIDE = frozenset("iljtfrI.,;:'!|()[]- "), frozenset("mwMW@%&")


def text_width(text: str, size: float) -> float:
    """Approximate width of a text in a sans-serif font; good enough to keep words apart in any font."""
    return size * sum(_advance(c) for c in text)


def _advance(character: str) -> float:
    # Rough advance widths of sans-serif fonts, in em.
    cells = cell_width(character)
    if cells != 1:
        return float(cells) / 2 * 1.02
    if character in _NARROW:
        return 0.34
    if character in _WIDE:
        return 0.9
    return 0.68 if character.isupper() else 0.57


@dataclass(frozen=True)
class PlacedArc:
    """An arc from ``head_x`` up to ``level`` (1 is lowest), across, and down to ``modifier_x``."""

    head: int
    modifier: int
    level: int
    head_x: float
    modifier_x: float


@dataclass(frozen=True)
class TreeLayout:
    """Positions of words and arcs, mirrored for right-to-left scripts."""

    width: float
    levels: int
    word_x: tuple[float, ...]
    """Centre of each word; entry 0 is unused."""
    edge_x: tuple[tuple[float, float], ...]
    """Left and right edge of each word; entry 0 is unused."""
    root_x: tuple[float, ...]
    """Where the root arc meets each word, between its arcs to the left and to the right."""
    arcs: tuple[PlacedArc, ...]


def arc_levels(tree: Tree) -> dict[int, int]:
    """Modifier → level of its arc, above all shorter arcs that it overlaps.

    >>> arc_levels(Tree.from_heads([3, 3, 0, 3]))
    {2: 1, 4: 1, 1: 2}
    """
    levels: dict[int, int] = {}
    spans = {m: (min(h, m), max(h, m)) for h, m in tree.arcs if h > 0}
    for m in sorted(spans, key=lambda m: (spans[m][1] - spans[m][0], m)):
        left, right = spans[m]
        below = (lv for k, lv in levels.items() if spans[k][0] < right and left < spans[k][1])
        levels[m] = 1 + max(below, default=0)
    return levels


def layout(tree: Tree, words: Sequence[str], tags: Sequence[str], labels: Sequence[str]) -> TreeLayout:
    """Lay out a tree; ``labels[m]`` (from 1) must fit on the arc to word m. O(n²)."""
    n = len(tree)
    levels = arc_levels(tree)
    offsets, stems = _ports(tree, levels)
    half = [0.0] * (n + 1)
    for m in range(1, n + 1):
        root_label = text_width(labels[m], SMALL_SIZE) if tree.heads[m] <= 0 else 0.0
        ports = PORT * (2 + sum(m in pair for pair in offsets))
        word, tag = text_width(words[m - 1], WORD_SIZE), text_width(tags[m - 1], SMALL_SIZE)
        half[m] = max(word, tag, root_label, ports) / 2
    x = [MARGIN - GAP] * (n + 1)
    for m in range(1, n + 1):
        x[m] = x[m - 1] + half[m - 1] + GAP + half[m]
        for k in [k for k in levels if max(k, int(tree.heads[k])) == m]:
            start = min(k, int(tree.heads[k]))
            room = text_width(labels[k], SMALL_SIZE) + 2 * CORNER + 6
            x[m] = max(x[m], x[start] + offsets[k, start] + room - offsets[k, m])
    width = x[n] + half[n] + MARGIN
    mirrored = is_right_to_left(" ".join(words))

    def place(position: float) -> float:
        return width - position if mirrored else position

    return TreeLayout(
        width=width,
        levels=max(levels.values(), default=0),
        word_x=tuple(map(place, x)),
        edge_x=tuple((place(x[m] - half[m]), place(x[m] + half[m])) for m in range(n + 1)),
        root_x=tuple(place(x[m] + stems[m]) for m in range(n + 1)),
        arcs=tuple(
            PlacedArc(h, m, levels[m], place(x[h] + offsets[m, h]), place(x[m] + offsets[m, m]))
            for h, m in tree.arcs
            if h > 0
        ),
    )


def _ports(tree: Tree, levels: dict[int, int]) -> tuple[dict[tuple[int, int], float], list[float]]:
    """Offsets from the centre of a word at which its arcs meet it, so that they do not overlap.

    From left to right: arcs to the left, shortest first; the root arc; arcs to the right, longest first.
    Returns (modifier of the arc, word) → offset, and word → offset of the root arc.
    """
    offsets: dict[tuple[int, int], float] = {}
    stems = [0.0] * (len(tree) + 1)
    for word in range(1, len(tree) + 1):
        ends = {m: int(tree.heads[m]) if m == word else m for m in levels if word in (m, tree.heads[m])}
        left = sorted((m for m in ends if ends[m] < word), key=lambda m: -ends[m])
        right = sorted((m for m in ends if ends[m] > word), key=lambda m: -ends[m])
        slots: list[int | None] = [*left, *([None] if tree.heads[word] <= 0 else []), *right]
        for index, m in enumerate(slots):
            offset = PORT * (index - (len(slots) - 1) / 2)
            if m is None:
                stems[word] = offset
            else:
                offsets[m, word] = offset
    return offsets, stems
