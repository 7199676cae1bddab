"""The default feature templates of the graph-based parser (McDonald et al. 2005, extended)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from arcwise.features.templates import WORD, Template, TemplatePart, split_templates

LABEL_TEMPLATES = split_templates(
    # head and modifier
    "h.upos m.upos @ direction distance | h.word m.upos @ direction distance",
    "h.upos m.word @ direction distance | h.word m.word",
    # their endings and shapes
    "h.suffix3 m.upos | h.upos m.suffix3 | h.suffix2 m.suffix2 | h.suffix3 m.suffix3 | h.upos m.suffix2",
    "h.upos m.suffix4 | h.shape m.shape",
    # adjacent tags
    "h.upos m.upos m-1.upos | h.upos m.upos m+1.upos | h.upos m.upos h-1.upos | h.upos m.upos h+1.upos",
    "h.upos m.upos m-1.upos m+1.upos | h.upos m.upos h-1.upos h+1.upos | h.upos m.word m-1.upos",
    "h.upos m.word m+1.upos | h.word m.upos m-1.upos | h.word m.upos m+1.upos | h.word m.upos h+1.upos",
    "h.word m.upos h-1.upos",
    # adjacent words
    "h.upos m-1.word | h.upos m+1.word | h-1.word m.upos | h+1.word m.upos | h.word m-1.word",
    "h.word m+1.word",
    # the nearest frequent words
    "h.upos m<.word | h.upos m>.word | h.word m<.word | h.word m>.word | h.upos m<.word m>.word",
    "h.upos m<<.word | h.upos m>>.word | h.word m<<.word | h<.word m.upos | h>.word m.upos",
    # tags between, and whether the words are the first or last with their tag
    "h.upos m.upos between.set | h.word m.upos between.set | h.upos m.word between.set",
    "h.upos h.earlier h.later m.upos | h.upos m.upos m.earlier m.later",
    # the other columns
    "h.lemma m.upos | h.upos m.lemma | h.lemma m.lemma | h.xpos m.xpos | h.word m.xpos | h.xpos m.word",
    "h.feats m.feats | h.word m.feats | h.upos m.feats | h.feats m.upos | h.feats.Case m.feats.Case",
    # head or modifier alone: summed once per word
    "m.word | m.lemma | m.suffix2 | m.suffix3 | m.suffix4 | m.prefix5 | m.shape | m.upos m-1.upos",
    "m.upos m+1.upos | m.upos m-1.word | m.upos m+1.word | m.upos m<.word | m.upos m>.word | m.upos m<<.word",
    "m.xpos | m.feats | h.word | h.lemma | h.suffix3 | h.xpos | h.feats | h.upos h-1.upos | h.upos h+1.upos",
)
"""Templates that score arc and labels; those of both words are conjoined with both tags."""

ARC_TEMPLATES = split_templates(
    "h.word m.word @ distance | h.prefix5 m.upos | h.upos m.prefix5 | h.prefix5 m.prefix5",
    # McDonald's surrounding tags
    "h-1.upos h.upos m-1.upos m.upos @ direction distance",
    "h.upos h+1.upos m-1.upos m.upos @ direction distance",
    "h-1.upos h.upos m.upos m+1.upos @ direction distance",
    "h.upos h+1.upos m.upos m+1.upos @ direction distance",
    "h-1.upos h.upos h+1.upos m-1.upos m.upos m+1.upos",
    # a tag two places away
    "h.upos m.upos m+1.upos m+2.upos | h.upos m.upos m-1.upos m-2.upos",
    # tags and frequent words between
    "h.upos m.upos between.each @ distance | h.upos m.upos between.count | h.upos m.upos between.words",
    "h.upos m.word between.words",
    # first or last with their tag
    "h.upos h.earlier m.upos m.earlier | h.upos h.later m.upos m.later | h.earlier h.later h.upos m.word",
    # one word with the distance
    "m.word @ distance | m.suffix3 m.upos @ distance | h.word @ distance",
)
"""Templates with a weight for the arc only."""


MCDONALD2005_TEMPLATES = (
    # table 1a: one of the two words
    "h.word h.upos @ distance",
    "h.word @ distance",
    "h.upos @ distance",
    "m.word m.upos @ distance",
    "m.word @ distance",
    "m.upos @ distance",
    # table 1b: both
    "h.word h.upos m.word m.upos @ distance",
    "h.upos m.word m.upos @ distance",
    "h.word m.word m.upos @ distance",
    "h.word h.upos m.upos @ distance",
    "h.word h.upos m.word @ distance",
    "h.word m.word @ distance",
    "h.upos m.upos @ distance",
    # table 1c: the tag of each word between; surrounding tags
    "h.upos m.upos between.each @ distance",
    "h.upos h+1.upos m-1.upos m.upos @ distance",
    "h-1.upos h.upos m-1.upos m.upos @ distance",
    "h.upos h+1.upos m.upos m+1.upos @ distance",
    "h-1.upos h.upos m.upos m+1.upos @ distance",
    # section 2.4: back-off to trigrams without one of the surrounding tags
    "h.upos h+1.upos m.upos @ distance",
    "h-1.upos h.upos m.upos @ distance",
    "h.upos m-1.upos m.upos @ distance",
    "h.upos m.upos m+1.upos @ distance",
)
"""Table 1 of McDonald et al. 2005: all conjoined with direction and distance. Prefixes are added to them."""

FEATS_PAIRS = ("h.upos m.upos pairs.feats",)
"""Label templates that pair each FEATS value of the head with each of the modifier."""

_TAGS = ("upos", "xpos")


def with_prefixes(templates: Iterable[Template], *, besides: Iterable[Template] = ()) -> list[Template]:
    """Add a prefix-5 copy of each word template (McDonald et al. 2005, section 2.4).

    Templates that exist already, also among ``besides``, are not repeated. The prefix of a word of up to five
    characters is the word itself, even if it counts as unknown.

    >>> [str(t) for t in with_prefixes([Template.parse("h.word m.word m-1.word")])]
    ['h.word m.word m-1.word @ direction', 'h.prefix5 m.prefix5 m-1.word @ direction']
    """

    def shortened(part: TemplatePart) -> TemplatePart:
        return replace(part, atom="prefix5") if part.atom == WORD and not part.place else part

    originals = list(templates)
    existing = {*originals, *besides}
    added = [replace(t, parts=tuple(map(shortened, t.parts))) for t in originals]
    return [*originals, *(t for t in added if t not in existing)]


def squeezed_templates(templates: Iterable[Template]) -> list[Template]:
    """Drop templates with two words, two lemmas or four tags (Smith & Smith 2007, section 5).

    >>> lines = ("h.word m.word", "h.lemma m.lemma", "h-1.upos h.upos m.upos m+1.upos", "h.word m.upos")
    >>> [str(t) for t in squeezed_templates(map(Template.parse, lines))]
    ['h.word m.upos @ direction']
    """

    def count(template: Template, atoms: tuple[str, ...]) -> int:
        return sum(part.atom in atoms for part in template.parts)

    return [
        t for t in templates if count(t, (WORD,)) < 2 and count(t, ("lemma",)) < 2 and count(t, _TAGS) < 4
    ]


def list_templates(column: str) -> tuple[str, ...]:
    """Arc templates of an additional multi-valued column, such as ``misc.Clusters``."""
    return (f"h.upos m.upos pairs.{column}",)


def column_templates(atom: str) -> tuple[str, ...]:
    """Label templates of an additional column, such as ``misc.Cluster``."""
    return (
        f"h.{atom} m.{atom}",
        f"h.{atom} m.upos",
        f"h.upos m.{atom}",
        f"h.word m.{atom}",
        f"h.{atom} m.word",
        f"m.{atom}",
        f"h.{atom}",
        f"h.upos m.upos m-1.{atom}",
        f"h.upos m.upos m+1.{atom}",
    )
