"""Parse and format the values of FEATS, DEPS and MISC: attributes, probabilities, arcs, white space."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

HEAD_PROBABILITY, LABEL_PROBABILITY, ALTERNATIVES = "HeadProb", "DeprelProb", "Alternatives"
"""Keys of MISC for a parser's confidence."""

_ARC = re.compile(r"(\d+):(.*?):(\d(?:\.\d+)?)(?:,|$)")
_HEAD_AND_LABEL = re.compile(r"(\d+(?:\.\d+)?):(.+)", re.ASCII)
_ESCAPED = {"\\s": " ", "\\t": "\t", "\\r": "\r", "\\n": "\n", "\\p": "|", "\\\\": "\\"}
_ESCAPE = re.compile(r"\\[strnp\\]")
_TO_ESCAPE = str.maketrans({plain: escape for escape, plain in _ESCAPED.items()})


class LabelledArc(NamedTuple):
    """A head and a label of a word, with their joint probability."""

    head: int
    label: str
    """``_`` if arcs are unlabelled."""
    probability: float


class EnhancedArc(NamedTuple):
    """An arc of the enhanced graph (DEPS). The head is an ID: ``0``, ``3`` or, for an empty node, ``8.1``."""

    head: str
    label: str


def pair_parts(field: str) -> list[str]:
    """Split FEATS or MISC into its ``Key=Value`` parts.

    >>> pair_parts("Case=Nom|Number=Sing"), pair_parts("_")
    (['Case=Nom', 'Number=Sing'], [])
    """
    return [] if field == "_" else field.split("|")


def split_pairs(field: str) -> list[tuple[str, str]]:
    """Parse FEATS or MISC into (key, value) pairs, in order and with repeated keys.

    >>> split_pairs("Case=Nom|Case=Acc|Bare")
    [('Case', 'Nom'), ('Case', 'Acc'), ('Bare', '')]
    """
    return [(key, value) for key, _, value in [part.partition("=") for part in pair_parts(field)]]


def pairs(field: str, *, bare: bool = True) -> dict[str, str]:
    """Parse FEATS or MISC into a mapping; a repeated key has its last value.

    bare: include parts without ``=``, with the value ``""``.

    >>> pairs("Case=Nom|Number=Sing"), pairs("A|B=1", bare=False), pairs("_")
    ({'Case': 'Nom', 'Number': 'Sing'}, {'B': '1'}, {})
    """
    if field == "_":
        return {}
    return {
        key: value for key, sign, value in [part.partition("=") for part in field.split("|")] if sign or bare
    }


def exact_pairs(field: str) -> dict[str, str] | str:
    """Parse FEATS or MISC if ``pair_text`` can restore the exact field; otherwise return the field itself.

    >>> exact_pairs("Case=Nom"), exact_pairs("sg|masc")
    ({'Case': 'Nom'}, 'sg|masc')
    """
    if field == "_":
        return {}
    parts = [part.partition("=") for part in field.split("|")]
    values = {key: value for key, _, value in parts}
    return values if len(values) == len(parts) and all(sign for _, sign, _ in parts) else field


def pair_text(values: Mapping[str, str]) -> str:
    """Format a mapping as FEATS or MISC, in its order; ``_`` if it is empty."""
    return "|".join(f"{key}={value}" for key, value in values.items()) or "_"


def probability(field: str, key: str) -> float | None:
    """Read a probability from MISC; None if the key is missing or its value is not between 0 and 1.

    >>> probability("SpaceAfter=No|HeadProb=0.9710", "HeadProb"), probability("_", "HeadProb")
    (0.971, None)
    """
    return share(pairs(field).get(key)) if key in field else None


def share(value: str | None) -> float | None:
    """Parse a number between 0 and 1; None for anything else."""
    if value is None:
        return None
    try:
        number = float(value)
    except ValueError:
        return None
    return number if 0 <= number <= 1 else None


def comment_values(lines: Iterable[str]) -> dict[str, str]:
    """Parse comment lines into a mapping; a comment without ``=`` has the value ``""``.

    >>> comment_values(["# sent_id = a", "# newpar"])
    {'sent_id': 'a', 'newpar': ''}
    """
    parts = (line[1:].partition("=") for line in lines)
    return {key.strip(): value.strip() for key, _, value in parts}


def enhanced_arcs(field: str) -> list[EnhancedArc] | None:
    """Parse DEPS into arcs, in order; None if it is malformed (CoNLL-X has another column there).

    >>> enhanced_arcs("4:nsubj|8.1:nsubj:pass")
    [EnhancedArc(head='4', label='nsubj'), EnhancedArc(head='8.1', label='nsubj:pass')]
    """
    if field == "_":
        return []
    matches = [_HEAD_AND_LABEL.fullmatch(part) for part in field.split("|")]
    arcs = [EnhancedArc(match[1], match[2]) for match in matches if match is not None]
    return arcs if len(arcs) == len(matches) else None


def read_alternatives(misc: str) -> list[LabelledArc]:
    """Read a parser's alternatives from MISC.

    >>> [tuple(arc) for arc in read_alternatives("SpaceAfter=No|Alternatives=2:nmod:poss:0.7000,0:root:0.2")]
    [(2, 'nmod:poss', 0.7), (0, 'root', 0.2)]
    """
    value = pairs(misc).get(ALTERNATIVES, "") if ALTERNATIVES in misc else ""
    return [LabelledArc(int(head), label, float(p)) for head, label, p in _ARC.findall(value)]


def alternatives_text(arcs: Iterable[LabelledArc]) -> str:
    """Format alternatives for MISC; ``read_alternatives`` reads them back."""
    # A bar would end the attribute.
    return ",".join(f"{head}:{label.replace('|', '/')}:{p:.4f}" for head, label, p in arcs)


def unescaped(value: str) -> str:
    r"""Decode the white space of ``SpacesAfter``.

    >>> unescaped(r"\s\n")
    ' \n'
    """
    return _ESCAPE.sub(lambda match: _ESCAPED[match[0]], value)


def escaped(spaces: str) -> str:
    r"""Encode white space for ``SpacesAfter``.

    >>> escaped(" \n")
    '\\s\\n'
    """
    return spaces.translate(_TO_ESCAPE)
