"""The feature templates that the graph-based parser starts from (McDonald et al. 2005, widened)."""

from __future__ import annotations

LABEL_TEMPLATES = (
    # the two words
    "h.upos m.upos @ direction distance",
    "h.word m.upos @ direction distance",
    "h.upos m.word @ direction distance",
    "h.word m.word",
    "h.lemma m.upos",
    "h.upos m.lemma",
    "h.lemma m.lemma",
    # their endings and beginnings
    "h.suffix3 m.upos",
    "h.upos m.suffix3",
    "h.suffix2 m.suffix2",
    "h.suffix3 m.suffix3",
    "h.upos m.suffix2",
    "h.upos m.suffix4",
    # the words next to them, and the nearest frequent words
    "h.upos m.upos m-1.upos",
    "h.upos m.upos m+1.upos",
    "h.upos m.upos h-1.upos",
    "h.upos m.upos h+1.upos",
    "h.upos m-1.word",
    "h.upos m+1.word",
    "h-1.word m.upos",
    "h+1.word m.upos",
    "h.upos m<.word",
    "h.upos m>.word",
    "h.word m<.word",
    # what stands between
    "h.upos m.upos between.set",
    # the other columns
    "h.xpos m.xpos",
    "h.word m.xpos",
    "h.xpos m.word",
    "h.feats m.feats",
    "h.word m.feats",
    "h.upos m.feats",
    "h.feats m.upos",
    "h.feats.Case m.feats.Case",
    # one word alone: summed once per word
    "m.word",
    "m.lemma",
    "m.suffix2",
    "m.suffix3",
    "m.suffix4",
    "m.prefix5",
    "m.shape",
    "m.upos m-1.upos",
    "m.upos m+1.upos",
    "m.upos m-1.word",
    "m.upos m+1.word",
    "m.upos m<.word",
    "m.upos m>.word",
    "m.xpos",
    "m.feats",
    "h.word",
    "h.lemma",
    "h.suffix3",
    "h.xpos",
    "h.feats",
    "h.upos h-1.upos",
    "h.upos h+1.upos",
)
"""Templates with a weight for the arc and one for each label. Those that look at both sides are always conjoined with the tags of both."""

ARC_TEMPLATES = (
    "h.upos m.upos @ nothing",
    "h.word h.upos m.word m.upos",
    "h.word h.upos m.word",
    "h.word m.word m.upos",
    "h.prefix5 m.upos",
    "h.upos m.prefix5",
    "h.prefix5 m.prefix5",
    "h.suffix3 h.upos m.suffix2 m.upos",
    # McDonald's surrounding tags
    "h-1.upos h.upos m-1.upos m.upos",
    "h.upos h+1.upos m-1.upos m.upos",
    "h-1.upos h.upos m.upos m+1.upos",
    "h.upos h+1.upos m.upos m+1.upos",
    # a tag two places away
    "h.upos m.upos m+1.upos m+2.upos",
    "h.upos m.upos m-1.upos m-2.upos",
    # tags between
    "h.upos m.upos between.each @ distance",
    "h.upos m.upos between.count",
    # the word alone, with how far its head is
    "m.word @ distance",
    "m.suffix3 m.upos @ distance",
    "h.word @ distance",
)
"""Templates with one weight, for the arc."""


def column_templates(atom: str) -> tuple[str, ...]:
    """Label templates for a column of the user's own, such as ``misc.Cluster``."""
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
