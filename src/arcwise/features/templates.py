"""Textual feature templates of arcs, over head, modifier and the words between.

A template is a line such as ``h.upos m-1.upos m.word @ direction``. Its parts are

- ``h.ATOM`` and ``m.ATOM``: an atom of the head or the modifier (see ``arcwise.features.atoms``; ``word`` is
the form, or
  one symbol for all words not seen in training);
- ``h-1.ATOM``, ``m+2.ATOM``: an atom of the word at this offset;
- ``m<.ATOM``, ``m>.ATOM``: an atom of the nearest frequent word to the left or right (often a comma,
preposition or
  article); ``m<<.ATOM``, ``m>>.ATOM``: of the second nearest;
- ``between.each``, ``between.count``, ``between.set``: the tags between head and modifier, one by one, with
their count
  (1, 2, more), or as a set; ``between.words``: each of the 64 most frequent words between;
- ``pairs.feats``: each FEATS value of the head paired with each of the modifier (``Case=Nom`` with
``Number=Sing``);
  ``pairs.misc.KEY``: the same for a MISC entry with comma-separated values;
- ``proposed.misc.KEY``: whether the modifier's MISC entry names this very head (its number in the sentence, 0
for the
  root), as another parser's arc does.

After ``@`` comes what the feature is conjoined with: ``nothing``, ``direction`` (the default) or ``distance``
(with direction); several give several features. Templates whose column is empty in the training data are
dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from arcwise.errors import InputError

CONTEXTS = ("nothing", "direction", "distance")
BETWEEN = ("none", "each", "count", "set", "words")
_PAIRS = len(BETWEEN)
"""``Between::pairs`` of the native code."""
WORD = "word"

_PART = re.compile(r"(?P<side>[hm])(?P<place>[+-][1-9]|<<?|>>?)?\.(?P<atom>[A-Za-z_][\w.\-\[\]]*)")
_PROPOSED = _PAIRS + 1
_PROPOSAL = re.compile(r"proposed\.(misc\.[A-Za-z_][\w\-\[\]]*)")
_LIST = re.compile(r"pairs\.(feats|misc\.[A-Za-z_][\w\-\[\]]*)")
_PLACES = {"<": 1, ">": 2, "<<": 3, ">>": 4}


@dataclass(frozen=True)
class TemplatePart:
    """An atom of one word; ``place`` is an offset, or ``<``, ``>>``, … for a near frequent word."""

    side: str
    place: str
    atom: str

    def __str__(self) -> str:
        return f"{self.side}{self.place}.{self.atom}"

    def compiled(self, atoms: Sequence[str]) -> tuple[int, int, int]:
        """(kind of place, offset, index of the atom) for native code."""
        kind = _PLACES.get(self.place, 0)
        return kind, int(self.place or 0) if kind == 0 else 0, atoms.index(self.atom)


@dataclass(frozen=True)
class Template:
    """A parsed template; ``str(template)`` is its text.

    >>> template = Template.parse("h.upos between.set m.word @ distance")
    >>> [str(part) for part in template.parts], template.between, template.contexts
    (['h.upos', 'm.word'], 'set', ('distance',))
    """

    parts: tuple[TemplatePart, ...]
    between: str = "none"
    contexts: tuple[str, ...] = ("direction",)
    pairs: str = ""
    """The multi-valued column (``feats``, ``misc.KEY``) whose values are paired."""
    proposed: str = ""
    """The column (``misc.KEY``) of the modifier that may name the head."""

    @property
    def list_column(self) -> str:
        """The multi-valued column that the template reads, if any."""
        return self.pairs or self.proposed

    @classmethod
    def parse(cls, text: str) -> Template:
        """Parse a line; raises ``InputError`` if it is not a template."""
        left, _, right = text.partition("@")
        contexts = tuple(right.split()) or ("direction",)
        for context in contexts:
            if context not in CONTEXTS:
                raise InputError(
                    f"template {text!r}: found {context!r} after @, expected {', '.join(CONTEXTS)}"
                )
        parts, between, pairs, proposed = [], "none", "", ""
        for word in left.split():
            only = between == "none" and not pairs and not proposed
            if word.startswith("between.") and word[8:] in BETWEEN[1:] and only:
                between = word[8:]
            elif (match := _LIST.fullmatch(word)) and only:
                pairs = match[1]
            elif (match := _PROPOSAL.fullmatch(word)) and only:
                proposed = match[1]
            elif match := _PART.fullmatch(word):
                parts.append(TemplatePart(match["side"], match["place"] or "", match["atom"]))
            else:
                raise InputError(
                    f"template {text!r}: found {word!r}, expected h.ATOM or m.ATOM (with +1, -1, <, <<, > or "
                    ">> after h or m) or once between.each, between.count, between.set, between.words, "
                    "pairs.feats, pairs.misc.KEY or proposed.misc.KEY"
                )
        if not parts:
            raise InputError(f"template {text!r}: has no word, expected at least one of h.ATOM and m.ATOM")
        return cls(tuple(parts), between, contexts, pairs, proposed)

    def __str__(self) -> str:
        words = [str(part) for part in self.parts]
        words += [f"between.{self.between}"] * (self.between != "none")
        words += [f"pairs.{self.pairs}"] * bool(self.pairs)
        words += [f"proposed.{self.proposed}"] * bool(self.proposed)
        return f"{' '.join(words)} @ {' '.join(self.contexts)}"

    def compiled(
        self, atoms: Sequence[str], *, label: bool, lists: Sequence[str] = ()
    ) -> list[CompiledTemplate]:
        """One native template per context."""
        head = [part.compiled(atoms) for part in self.parts if part.side == "h"]
        modifier = [part.compiled(atoms) for part in self.parts if part.side == "m"]
        between = _PAIRS if self.pairs else _PROPOSED if self.proposed else BETWEEN.index(self.between)
        place = lists.index(self.list_column) if self.list_column else 0
        return [(head, modifier, between, place, CONTEXTS.index(c), label) for c in self.contexts]


CompiledTemplate = tuple[list[tuple[int, int, int]], list[tuple[int, int, int]], int, int, int, bool]


def split_templates(*lines: str) -> tuple[str, ...]:
    """Split lines of templates, separated by `` | ``.

    >>> split_templates("h.word m.word | h.upos", "m.upos")
    ('h.word m.word', 'h.upos', 'm.upos')
    """
    return tuple(template for line in lines for template in line.split(" | "))


def parse_templates(lines: Iterable[str]) -> list[Template]:
    """Parse several lines."""
    return [Template.parse(line) for line in lines]


def atoms_of(templates: Iterable[Template]) -> list[str]:
    """The atoms used by templates, without duplicates, in order."""
    return list(dict.fromkeys(part.atom for template in templates for part in template.parts))


def lists_of(templates: Iterable[Template]) -> list[str]:
    """The multi-valued columns used by templates, without duplicates, in order."""
    return list(dict.fromkeys(t.list_column for t in templates if t.list_column))


def usable(templates: Iterable[Template], atoms: Iterable[str]) -> list[Template]:
    """The templates whose atoms are all among ``atoms``."""
    available = set(atoms)
    return [t for t in templates if all(part.atom in available for part in t.parts)]
