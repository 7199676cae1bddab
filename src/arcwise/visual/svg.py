"""Draw a sentence as SVG: words in a line, arcs above them, tags below."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from arcwise.errors import ArcwiseError, InputError
from arcwise.inference import Alternative, LabelledArc
from arcwise.optional import require
from arcwise.parsing.misc_form import sentence_alternatives
from arcwise.treebanks import Sentence
from arcwise.treebanks.files import PathLike, open_output
from arcwise.trees import UNKNOWN, Tree, non_projective_arcs
from arcwise.trees.draw import Probabilities, cell_width, check_probabilities, is_right_to_left, printable
from arcwise.visual.palette import ARC_KINDS, FONTS, LIGHT, STYLE

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
    """The x position of the root arc at each word, between its left and right arcs."""
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


_SMALL = f'font-size="{SMALL_SIZE:g}"'

Alternatives = Sequence[Sequence[Alternative | LabelledArc | tuple[int, float]]]
"""For each word its possible heads (0 is the root) with their probabilities, and labels if known."""

# Both sets include labels of UD v1, which older treebanks have.
_CORE = frozenset(
    ["nsubj", "obj", "iobj", "dobj", "csubj", "ccomp", "xcomp", "nsubjpass", "csubjpass", "obl:arg"]
)
_FUNCTION = frozenset(["det", "case", "aux", "auxpass", "cop", "mark", "cc", "punct", "clf"])


def svg(
    sentence: Sentence,
    *,
    tree: Tree | None = None,
    probabilities: Probabilities | None = None,
    label_probabilities: Probabilities | None = None,
    alternatives: Alternatives | None = None,
    marked: Collection[int] = (),
    name: str = "arcwise",
    with_style: bool = True,
) -> str:
    """Draw a sentence as a self-contained SVG document.

    In browsers it follows the reader's light or dark mode. Programs without support for style sheets (office
    suites, LaTeX, ImageMagick) find the colours in attributes.

    tree: replaces the tree of the sentence.
    probabilities: of the head of each word, 0..1; uncertain arcs are thinner and paler.
    label_probabilities: of head and label together, shown next to labels below 95 %. If only head
        probabilities are known, they are shown instead, as ``head 46%``.
    alternatives: possible heads of each word with probabilities and labels, shown on hover.
    marked: words (from 1) to highlight, underlined and with thick, shaded arcs.
    name: prefix of element ids, which must differ between images on one page.
    with_style: False leaves the style sheet (``STYLE``) to the page.

    Probabilities and alternatives default to those that a parser wrote into MISC.

    >>> picture = svg(Sentence.from_words(["Birds", "sing"], tree=Tree.from_heads([2, 0], ["nsubj", "root"])))
    >>> picture.startswith("<svg"), "nsubj" in picture
    (True, True)
    """
    if tree is None and probabilities is None and label_probabilities is None:
        probabilities, label_probabilities = sentence.head_probabilities, sentence.label_probabilities
    if tree is None and alternatives is None:
        alternatives = sentence_alternatives(sentence)
    tree = sentence.tree if tree is None else tree
    if len(tree) != len(sentence):
        raise InputError(f"tree: found {len(tree)} words, expected {len(sentence)} as in the sentence")
    if alternatives is not None and len(alternatives) != len(tree):
        raise InputError(f"alternatives: found {len(alternatives)}, expected {len(tree)}, one list per word")
    confidence = _Confidence(
        _checked(probabilities, "probabilities", len(tree)),
        _checked(label_probabilities, "label_probabilities", len(tree)),
    )
    drawing = _Drawing.of(sentence, tree, confidence, alternatives, frozenset(marked))
    style = f"<style>{STYLE}</style>\n" if with_style else ""
    width, height = drawing.layout.width, drawing.height
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" class="arcwise" role="img" '
        f'aria-labelledby="{name}-title {name}-desc" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}" '
        f'font-family="{FONTS}" text-anchor="middle">\n'
        f'<title id="{name}-title">{_text(sentence.text)}</title>\n'
        f'<desc id="{name}-desc">{_text(drawing.description())}</desc>\n{style}'
        f'<rect class="paper" fill="{LIGHT["paper"]}" width="{width:.0f}" height="{height:.0f}" rx="10"/>\n'
        + "\n".join([*drawing.arcs(), *drawing.words(), *drawing.tokens()])
        + "\n</svg>\n"
    )


def _checked(probabilities: Probabilities | None, name: str, n: int) -> Sequence[float] | None:
    if probabilities is None:
        return None
    if len(probabilities) != n:
        raise InputError(f"{name}: found {len(probabilities)}, expected {n}, one per word")
    check_probabilities(probabilities)
    # Entry 0 is the root, so that words keep their numbers.
    return [1.0, *map(float, probabilities)]


@dataclass(frozen=True)
class _Confidence:
    """Probabilities of heads, and of head and label together, by word from 1; None if unknown."""

    heads: Sequence[float] | None
    labels: Sequence[float] | None

    @property
    def of_arcs(self) -> Sequence[float] | None:
        """The probabilities that arcs show: those of heads, if known."""
        return self.labels if self.heads is None else self.heads

    def note(self, m: int, label: str) -> str:
        """The percentage to show next to a label; empty if it is nearly certain."""
        shown = self.heads if self.labels is None else self.labels
        if m == 0 or shown is None or shown[m] >= 0.95:
            return ""
        prefix = "head " if self.labels is None and label not in ("", "_") else ""
        return f"{prefix}{_percent(shown[m])}"

    def description(self, m: int) -> str:
        """The probabilities in words."""
        parts = []
        if self.labels is not None:
            parts.append(_percent(self.labels[m]))
        if self.heads is not None:
            parts.append(f"head {_percent(self.heads[m])}")
        return f" ({', '.join(parts)})" if parts else ""


def _percent(p: float) -> str:
    return f"{100 * p:.0f}%"


def _pairs(alternatives: Sequence[Alternative | LabelledArc | tuple[int, float]]) -> list[LabelledArc]:
    """Heads and labels (``_`` if unknown) with their probabilities, most probable first."""
    pairs: list[LabelledArc] = []
    for arc in alternatives:
        if isinstance(arc, Alternative):
            pairs += [LabelledArc(arc.head, label, p) for label, p in arc.labels or (("_", arc.probability),)]
        else:
            pairs.append(arc if isinstance(arc, LabelledArc) else LabelledArc(arc[0], "_", arc[1]))
    return sorted(pairs, key=lambda pair: -pair.probability)


def _text(text: str) -> str:
    return escape(printable(text))


@dataclass(frozen=True)
class _Drawing:
    """The parts of the drawing; the root is at the top, the words are on ``baseline``."""

    sentence: Sentence
    tree: Tree
    labels: tuple[str, ...]
    tags: list[str]
    confidence: _Confidence
    alternatives: Alternatives | None
    layout: TreeLayout
    crossing: frozenset[int]
    marked: frozenset[int]

    @classmethod
    def of(
        cls,
        sentence: Sentence,
        tree: Tree,
        confidence: _Confidence,
        alternatives: Alternatives | None,
        marked: frozenset[int],
    ) -> _Drawing:
        labels = tree.labels or ("",) * (len(tree) + 1)
        tags = ["" if tag == "_" else tag for tag in sentence.upos]
        shown = tuple("?" if h == UNKNOWN else label for h, label in zip(tree.heads, labels, strict=True))
        crossing = frozenset(m for _, m in non_projective_arcs(tree))
        with_notes = [f"{label} {confidence.note(m, label)}".rstrip() for m, label in enumerate(shown)]
        tree_layout = layout(tree, [printable(w) for w in sentence.forms], tags, with_notes)
        return cls(sentence, tree, shown, tags, confidence, alternatives, tree_layout, crossing, marked)

    @property
    def top(self) -> float:
        """The y position at which root arcs start."""
        return MARGIN + SMALL_SIZE / 2

    @property
    def floor(self) -> float:
        """The y position at which arcs meet words."""
        return self.top + LEVEL * (self.layout.levels + 1)

    @property
    def baseline(self) -> float:
        return self.floor + WORD_SIZE + 2

    @property
    def height(self) -> float:
        return self.baseline + MARGIN + (SMALL_SIZE + 6) + (24 if self._multiword() else 0)

    def words(self) -> list[str]:
        lines = []
        word = f'class="word" fill="{LIGHT["ink"]}" font-size="{WORD_SIZE:g}" font-weight="500"'
        small = f'class="tag" fill="{LIGHT["quiet"]}" {_SMALL} letter-spacing="0.3"'
        for m, (form, tag) in enumerate(zip(self.sentence.forms, self.tags, strict=True), 1):
            x = self.layout.word_x[m]
            under = ' text-decoration="underline"' if m in self.marked else ""
            lines.append(f'<text {word}{under} x="{x:.1f}" y="{self.baseline:.1f}">{_text(form)}</text>')
            if tag:
                y = self.baseline + SMALL_SIZE + 7
                lines.append(f'<text {small} x="{x:.1f}" y="{y:.1f}">{_text(tag)}</text>')
        return lines

    def tokens(self) -> list[str]:
        """Multiword tokens, each with a brace under its words."""
        lines = []
        brace = f'class="brace" fill="none" stroke="{LIGHT["quiet"]}"'
        token = f'class="token" fill="{LIGHT["quiet"]}" font-size="{SMALL_SIZE + 1:g}"'
        y = self.baseline + SMALL_SIZE + 14
        for first, last, form in self._multiword():
            edges = self.layout.edge_x[first] + self.layout.edge_x[last]
            left, right = min(edges), max(edges)
            lines.append(
                f'<path {brace} d="M{left:.1f} {y:.1f}v3q0 3 3 3H{right - 3:.1f}q3 0 3 -3v-3"/>'
                f'<text {token} x="{(left + right) / 2:.1f}" y="{y + 20:.1f}">{_text(form)}</text>'
            )
        return lines

    def arcs(self) -> list[str]:
        """Roots and unknown heads, then arcs from long to short, so that labels of short ones are on top."""
        between = sorted(self.layout.arcs, key=lambda arc: -arc.level)
        above = [self._stem(m) for m in range(1, len(self.tree) + 1) if self.tree.heads[m] <= 0]
        return above + [self._arc(arc) for arc in between]

    def description(self) -> str:
        """The tree in words, for screen readers."""
        return "; ".join(self._relation(m) for m in range(1, len(self.tree) + 1))

    def _arc(self, arc: PlacedArc) -> str:
        y = self.floor - LEVEL * arc.level
        tip = self.floor - 5
        turn = CORNER if arc.modifier_x > arc.head_x else -CORNER
        path = (
            f"M{arc.head_x:.1f} {self.floor:.1f}V{y + CORNER:.1f}q0 {-CORNER:g} {turn:g} {-CORNER:g}"
            f"H{arc.modifier_x - turn:.1f}q{turn:g} 0 {turn:g} {CORNER:g}V{tip:.1f}"
        )
        return self._group(arc.modifier, path, arc.modifier_x, (arc.head_x + arc.modifier_x) / 2, y)

    def _stem(self, m: int) -> str:
        x = self.layout.root_x[m]
        path = f"M{x:.1f} {self.top + SMALL_SIZE / 2 + 3:.1f}V{self.floor - 5:.1f}"
        return self._group(m, path, x, x, self.top - 1)

    def _group(self, m: int, path: str, tip_x: float, label_x: float, label_y: float) -> str:
        kind = self._kind(m)
        hue = LIGHT[ARC_KINDS[kind]]
        width, opacity = 1.5, ""
        if self.confidence.of_arcs is not None:
            p = self.confidence.of_arcs[m]
            # Even an arc of probability 0 stays visible.
            width, opacity = 0.7 + 1.8 * p, f' opacity="{0.35 + 0.65 * p:.2f}"'
        shadow = ""
        if m in self.marked:
            width = 2.5
            shadow = (
                f'<path class="shadow" fill="none" stroke="{LIGHT["mark"]}" stroke-width="7" d="{path}"/>'
            )
        dashes = ' stroke-dasharray="2 3"' if kind == "unknown" else ""
        tip = f"M{tip_x:.1f} {self.floor + 1:.1f}l-4 -7.5q4 2 8 0z"
        return (
            f'<g class="arc {kind}" fill="{hue}"><title>{_text(self._relation(m) + self._others(m))}</title>'
            f'{shadow}<path class="line" fill="none" stroke="{hue}" stroke-width="{width:.2f}"'
            f'{dashes}{opacity} d="{path}"/>'
            f'<path class="tip"{opacity} d="{tip}"/>{self._label(m, label_x, label_y)}</g>'
        )

    def _label(self, m: int, x: float, y: float) -> str:
        """The label of an arc centred at (x, y), on a background that interrupts the line."""
        text = "" if self.labels[m] in ("", "_") else self.labels[m]
        note = self.confidence.note(m, self.labels[m])
        if not text and not note:
            return ""
        y += SMALL_SIZE / 2 - 1.5
        width = text_width(f"{text} {note}".strip(), SMALL_SIZE)
        paper = (
            f'<rect class="paper" fill="{LIGHT["paper"]}" x="{x - width / 2 - 3:.1f}" '
            f'y="{y - SMALL_SIZE:.1f}" width="{width + 6:.1f}" height="{SMALL_SIZE + 3:g}"/>'
            if self.tree.heads[m] > 0
            else ""
        )
        label = f'class="label" {_SMALL} font-weight="500"'
        small = f'class="doubt" fill="{LIGHT["quiet"]}" {_SMALL}'
        if not text or not note:
            style = label if text else small
            return f'{paper}<text {style} x="{x:.1f}" y="{y:.1f}">{_text(text or note)}</text>'
        # Two adjacent texts, because programs disagree about the middle of one text with two styles.
        seam = x - width / 2 + text_width(text, SMALL_SIZE)
        return (
            f'{paper}<text {label} text-anchor="end" direction="ltr" x="{seam:.1f}" y="{y:.1f}">{_text(text)}'
            f'</text><text {small} text-anchor="start" direction="ltr" x="{seam + 0.34 * SMALL_SIZE:.1f}" '
            f'y="{y:.1f}">{note}</text>'
        )

    def _kind(self, m: int) -> str:
        if self.tree.heads[m] <= 0:
            return "root" if self.tree.heads[m] == 0 else "unknown"
        if m in self.crossing:
            return "crossing"
        label = self.labels[m].lower()
        kinds = {"core": _CORE, "function": _FUNCTION}
        matches = (kind for kind, names in kinds.items() if label in names or label.split(":")[0] in names)
        return next(matches, "other")

    def _relation(self, m: int) -> str:
        head = int(self.tree.heads[m])
        word = self.sentence.forms[m - 1]
        if head == UNKNOWN:
            return f"{word}: head unknown"
        above = "the root" if head == 0 else f"{self.labels[m]} of {self.sentence.forms[head - 1]}"
        return f"{word}: {above}{self.confidence.description(m)}"

    def _others(self, m: int) -> str:
        """Alternative heads and labels of the word, most probable first."""
        if self.alternatives is None:
            return ""
        current = int(self.tree.heads[m]), self.labels[m]
        names = [
            f"{self._in_words(label, head)} {_percent(p)}"
            for head, label, p in _pairs(self.alternatives[m - 1])
            if p >= 0.005
            # MISC may contain anything, including words that the sentence does not have.
            and 0 <= head <= len(self.tree)
            and (head != current[0] or label not in (current[1], "_"))
        ]
        return "; or: " + ", ".join(names) if names else ""

    def _in_words(self, label: str, head: int) -> str:
        word = "the root" if head == 0 else self.sentence.forms[head - 1]
        return word if label == "_" or head == 0 else f"{label} of {word}"

    def _multiword(self) -> list[tuple[int, int, str]]:
        ranges = [(row[0].split("-"), row[1]) for row in self.sentence.rows if "-" in row[0]]
        return [(int(first), int(last), form) for (first, last), form in ranges]


SCALE = 3.0
"""Pixels of a PNG per SVG unit: sharp in print at the size of the SVG on the screen."""

_FORMATS = ("svg", "png", "pdf", "html")


def check_picture(path: PathLike, kind: str) -> None:
    """Check before the work starts that the extension fits the format and the converter is installed."""
    extension = Path(path).suffix.removeprefix(".").lower()
    if extension in _FORMATS and extension != kind:
        raise InputError(
            f"--{kind}: found {path}, expected a name that ends in .{kind} (or use --{extension} {path})"
        )
    if kind in ("png", "pdf"):
        _converter(kind)


def convert_svg(picture: str, kind: str) -> bytes:
    """Convert an SVG document to ``png`` or ``pdf``; ``svg`` returns it unchanged."""
    if kind == "svg":
        return picture.encode()
    options = {"scale": SCALE} if kind == "png" else {}
    image: bytes = _converter(kind)(bytestring=picture.encode(), **options)
    return image


def write_picture(picture: str, path: PathLike, kind: str) -> None:
    """Write an SVG document in a format; the file is written atomically."""
    image = convert_svg(picture, kind)
    with open_output(path) as out:
        out.write(image)


def _converter(kind: str) -> Callable[..., Any]:
    require("cairosvg")
    try:
        import cairosvg
    except OSError:  # cairosvg is installed, the C library cairo is not
        raise ArcwiseError(
            "this needs the library cairo, which is not installed "
            "(Debian, Ubuntu: apt-get install libcairo2; macOS: brew install cairo)"
        ) from None
    return cairosvg.svg2png if kind == "png" else cairosvg.svg2pdf  # type: ignore[no-any-return]
