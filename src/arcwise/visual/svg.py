"""Draw a sentence as SVG: words in a line, arcs above them, tags below."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from html import escape

from arcwise.errors import InputError
from arcwise.inference import Alternative, LabelledArc
from arcwise.parsing.misc_form import sentence_alternatives
from arcwise.treebanks import Sentence
from arcwise.trees import UNKNOWN, Tree, non_projective_arcs
from arcwise.trees.draw import Probabilities, check_probabilities
from arcwise.trees.text_width import printable
from arcwise.visual.layout import (
    CORNER,
    LEVEL,
    MARGIN,
    SMALL_SIZE,
    WORD_SIZE,
    PlacedArc,
    TreeLayout,
    layout,
    text_width,
)
from arcwise.visual.palette import ARC_KINDS, FONTS, LIGHT, STYLE

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
        """Where root arcs start."""
        return MARGIN + SMALL_SIZE / 2

    @property
    def floor(self) -> float:
        """Where arcs meet words."""
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
            if p >= 0.005 and (head != current[0] or label not in (current[1], "_"))
        ]
        return "; or: " + ", ".join(names) if names else ""

    def _in_words(self, label: str, head: int) -> str:
        word = "the root" if head == 0 else self.sentence.forms[head - 1]
        return word if label == "_" or head == 0 else f"{label} of {word}"

    def _multiword(self) -> list[tuple[int, int, str]]:
        ranges = [(row[0].split("-"), row[1]) for row in self.sentence.rows if "-" in row[0]]
        return [(int(first), int(last), form) for (first, last), form in ranges]
