"""Draw a tree as text: one word per line, with arcs at the left as nested brackets.

Every head has a vertical line, its *rail*, in a column that no overlapping rail uses; a branch with an arrow
leads from the rail to each modifier. The width thus grows with the depth of the tree, not with its length.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError
from arcwise.trees.properties import non_projective_arcs
from arcwise.trees.tree import UNKNOWN, Tree

LEFT_TO_RIGHT_MARK = "\u200e"
_FORBIDDEN = "\u202a\u202b\u202d\u202e\ufffe\uffff"
"""Direction overrides, which affect the rest of the line, and characters that XML forbids."""


def cell_width(text: str) -> int:
    """The number of terminal cells of ``text``: two for wide (CJK) characters, none for combining marks.

    >>> cell_width("tree"), cell_width("木"), cell_width("e\\u0301")
    (4, 2, 1)
    """
    return sum(_character_width(c) for c in text)


def _character_width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf") or "\u1160" <= character <= "\u11ff":
        return 0  # combining and invisible characters, and vowels and finals of decomposed Hangul
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def is_right_to_left(text: str) -> bool:
    """Whether the first character with a direction belongs to a right-to-left script.

    >>> is_right_to_left("12 שלום"), is_right_to_left("a שלום")
    (True, False)
    """
    directions = (unicodedata.bidirectional(c) for c in text)
    return next((d for d in directions if d in ("L", "R", "AL")), "L") != "L"


def printable(text: str) -> str:
    """Replace control characters, which a terminal would interpret, by U+FFFD.

    >>> printable("a\\x1b[2J")
    'a\ufffd[2J'
    """
    if text.isascii() and text.isprintable():  # nearly always
        return text
    return "".join("\ufffd" if _commands_the_terminal(c) else c for c in text)


def _commands_the_terminal(character: str) -> bool:
    return unicodedata.category(character) in ("Cc", "Cs", "Zl", "Zp") or character in _FORBIDDEN


_GREY, _RED, _GREEN, _YELLOW, _MAGENTA, _CYAN = "90", "31", "32", "33", "35", "36"
_BOLD = "1"

Probabilities = Sequence[float] | npt.NDArray[np.float64]
"""One probability per word."""
Paint = Callable[[str, str], str]
"""(text, style) → text, with or without terminal colours."""


def draw(
    tree: Tree,
    words: Sequence[str],
    *,
    tags: Sequence[str] | None = None,
    probabilities: Probabilities | None = None,
    label_probabilities: Probabilities | None = None,
    color: bool = False,
) -> str:
    """Draw a tree as lines of text: number, arcs, word, tag, label and confidence.

    ``●`` marks a root, ``?`` an unknown head. Where arcs cross, the branch passes behind the rail.

    tags: one per word. probabilities: of each head, 0..1; shown as ``head 90%``. label_probabilities: of each
    head and label together; shown instead of those. color: use terminal colours: magenta for non-projective
    arcs; with probabilities, green from 0.9, yellow from 0.5, red below.

    >>> tree = Tree.from_heads([2, 3, 0, 5, 3], ["det", "nsubj", "root", "case", "obl"])
    >>> print(draw(tree, ["The", "cat", "sleeps", "on", "it"], tags=["DET", "NOUN", "VERB", "ADP", "PRON"]))
    1     ┌─► The     DET   det
    2   ┌─┴─► cat     NOUN  nsubj
    3 ●─┼───► sleeps  VERB  root
    4   │ ┌─► on      ADP   case
    5   └─┴─► it      PRON  obl
    """
    n = len(tree)
    per_word = {
        "words": words,
        "tags": tags,
        "probabilities": probabilities,
        "label_probabilities": label_probabilities,
    }
    for name, values in per_word.items():
        if values is not None and len(values) != n:
            raise InputError(f"{name}: found {len(values)}, expected {n}, one per word")
    check_probabilities(probabilities)
    check_probabilities(label_probabilities)
    if n == 0:
        return ""
    styles = _arc_styles(tree, probabilities)
    paint = _painted if color else _plain
    grey = [_GREY] * (n + 1)
    numbers = _column([f"{m:>{len(str(n))}}" for m in range(1, n + 1)], paint, grey)
    rails = Rails.place(tree)
    arcs = [_line(tree, rails, m, styles, paint) for m in range(1, n + 1)]
    columns = [_column(words, paint, [_BOLD if h == 0 else "" for h in tree.heads])]
    if tags is not None:
        columns.append(_column(tags, paint, grey))
    shown = probabilities if label_probabilities is None else label_probabilities
    label_styles = styles if label_probabilities is None else _arc_styles(tree, label_probabilities)
    if tree.labels is not None:
        columns.append(_column(tree.labels[1:], paint, label_styles))
    if shown is not None:
        only_head = "head " if shown is probabilities and tree.labels is not None else ""
        columns.append(_column([f"{only_head}{100 * p:.0f}%" for p in shown], paint, label_styles))
    # Without this mark a terminal would right-align the lines of a right-to-left sentence.
    start = LEFT_TO_RIGHT_MARK if any(map(is_right_to_left, words)) else ""
    return "\n".join(
        start + f"{numbers[i]} {arcs[i]} {'  '.join(c[i] for c in columns)}".rstrip() for i in range(n)
    )


def check_probabilities(probabilities: Probabilities | None) -> None:
    """Raise ``InputError`` unless all probabilities are in 0..1."""
    for p in () if probabilities is None else probabilities:
        if not 0 <= p <= 1:
            raise InputError(f"probabilities: found {float(p)}, expected 0..1")


@dataclass
class Rails:
    """The columns of the rails: 1 is next to the words, and a head's is left of its modifiers'."""

    tree: Tree
    column: dict[int, int] = field(default_factory=dict)
    """Head → column."""
    span: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Head → first and last row of its rail."""

    @classmethod
    def place(cls, tree: Tree) -> Rails:
        """Place rails bottom-up, the shortest first, each in the column with the fewest crossings."""
        rails = cls(tree)
        children = {h: tree.children(h) for h in range(1, len(tree) + 1)}
        rails.span = {h: (min(h, *c), max(h, *c)) for h, c in children.items() if c}
        height = _heights(tree)
        for h in sorted(rails.span, key=lambda h: (height[h], rails.span[h][1] - rails.span[h][0], h)):
            lowest = 1 + max((rails.column.get(m, 0) for m in children[h]), default=0)
            free = [c for c in range(lowest, rails.width + 2) if rails._is_free(h, c)]
            rails.column[h] = min(free, key=lambda c: (rails._crossings(h, c, children[h]), c))
        return rails

    @property
    def width(self) -> int:
        """The number of columns."""
        return max(self.column.values(), default=0)

    def start(self, word: int) -> int:
        """The column in which the branch to ``word`` starts: the rail of its head, or the left edge."""
        return self.column.get(int(self.tree.heads[word]), self.width + 1)

    def covering(self, row: int) -> list[int]:
        """The heads whose rails pass through a row or end there."""
        return [h for h in self.column if self.span[h][0] <= row <= self.span[h][1]]

    def _is_free(self, head: int, column: int) -> bool:
        first, last = self.span[head]
        return not any(
            c == column and self.span[h][0] <= last and first <= self.span[h][1]
            for h, c in self.column.items()
        )

    def _crossings(self, head: int, column: int, children: tuple[int, ...]) -> int:
        """Count crossings of a rail at ``column`` with branches, and of its branches with placed rails."""
        first, last = self.span[head]
        passed = (w for w in range(first + 1, last) if w != head and w not in children)
        over_rail = sum(self.start(w) > column for w in passed)
        rails_behind = sum(
            self.column[h] < column and int(self.tree.heads[m]) != h != m
            for m in children
            for h in self.covering(m)
        )
        return over_rail + rails_behind


def _heights(tree: Tree) -> list[int]:
    """The number of levels below each word."""
    heights = [0] * (len(tree) + 1)
    for m in range(1, len(tree) + 1):
        at, above = int(tree.heads[m]), 1
        while at > 0 and heights[at] < above:
            heights[at] = above
            at, above = int(tree.heads[at]), above + 1
    return heights


def _line(tree: Tree, rails: Rails, row: int, styles: Sequence[str], paint: Paint) -> str:
    """The arcs at one word: the rails that pass, and the branch from the left that ends in an arrow head."""
    start = rails.start(row)
    cells = [(" ", "")] * (2 * rails.width + 3)
    place = {column: 2 * (rails.width + 1 - column) for column in range(rails.width + 2)}
    for x in range(place[start], place[0]):
        cells[x] = ("─", styles[row])
    for head in rails.covering(row):
        cells[place[rails.column[head]]] = (_rail(tree, rails, head, row), _GREY)
    if tree.heads[row] <= 0:
        cells[place[start]] = ("?", _YELLOW) if tree.heads[row] == UNKNOWN else ("●", _BOLD)
    else:
        cells[place[start]] = (cells[place[start]][0], styles[row])
    cells[place[0]] = ("►", styles[row])
    return "".join(paint(text, style) for text, style in cells)


def _rail(tree: Tree, rails: Rails, head: int, row: int) -> str:
    """The character of a rail at a row."""
    first, last = rails.span[head]
    if row == head:
        return "┬" if row == first else "┴" if row == last else "┼"
    if tree.heads[row] == head:
        return "┌" if row == first else "└" if row == last else "├"
    return "│"


def _arc_styles(tree: Tree, probabilities: Probabilities | None) -> tuple[str, ...]:
    """The colour of the arc to each word; entry 0 is unused."""
    if probabilities is not None:
        return ("", *(_GREEN if p >= 0.9 else _YELLOW if p >= 0.5 else _RED for p in probabilities))
    crossing = {m for _, m in non_projective_arcs(tree)}
    return tuple(_MAGENTA if m in crossing else _CYAN for m in range(len(tree) + 1))


def _column(values: Sequence[str], paint: Paint, styles: Sequence[str]) -> list[str]:
    """One field of every word, filled up to the same width; ``styles`` counts from 1."""
    shown = [printable(v) for v in values]
    width = max(map(cell_width, shown))
    lines = []
    for m, text in enumerate(shown, 1):
        mark = LEFT_TO_RIGHT_MARK if is_right_to_left(text) else ""
        lines.append(paint(text, styles[m]) + mark + " " * (width - cell_width(text)))
    return lines


def _painted(text: str, style: str) -> str:
    return f"\x1b[{style}m{text}\x1b[0m" if style and text.strip() else text


def _plain(text: str, style: str) -> str:
    return text
