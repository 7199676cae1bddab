"""References to rows by number in DEPS, in MISC, and in the comments of notes and conflicts."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

Arcs = Sequence[tuple[str, str]]
"""Enhanced arcs: the ID of the head and the label."""
_ON = r"[0-9]+(?:[-.][0-9]+)?"
NOTE = re.compile(rf"(#\s*note)(?:\s+({_ON})(?:>({_ON}))?)?(\s*=\s*)(.*)")
"""A comment that is a note on the sentence, a row or an arc (head>word)."""
_CONFLICT = re.compile(rf"(#\s*conflict\s*=\s*)({_ON})(\s+)(\S+)(\s+(?:mine|theirs)=)(.*)")
_HEADS = ("Head", "NotHead")


def read_deps(deps: str) -> list[tuple[str, str]]:
    """Parse DEPS into (head, label) pairs.

    >>> read_deps("2:nsubj|8.1:obl:in")
    [('2', 'nsubj'), ('8.1', 'obl:in')]
    """
    arcs = [] if deps == "_" else [arc.partition(":") for arc in deps.split("|")]
    return [(head, label) for head, _, label in arcs]


def write_deps(arcs: Arcs) -> str:
    """Format arcs as DEPS, sorted by head, each once.

    >>> write_deps([("10", "obj"), ("8.1", "conj")])
    '8.1:conj|10:obj'
    """
    return "|".join(f"{head}:{label}" for head, label in sorted(set(arcs), key=_place)) or "_"


def _place(arc: tuple[str, str]) -> tuple[int, int, str]:
    head = re.fullmatch(r"([0-9]+)(?:\.([0-9]+))?", arc[0])  # CoNLL-X has another column here
    return (int(head[1]), int(head[2] or 0), arc[1]) if head else (0, 0, arc[1])


def renumbered_deps(deps: str, names: Mapping[str, str], gone: Collection[str]) -> str:
    """Renumber DEPS; arcs from IDs in ``gone`` are dropped, and repeated arcs merged.

    >>> renumbered_deps("2:nsubj|8.1:obl", {"2": "3"}, ["8.1"])
    '3:nsubj'
    """
    if deps == "_":
        return deps
    if deps == write_deps(read_deps(deps)):  # sorted, and stays sorted when two heads become one
        return write_deps(
            [(names.get(head, head), label) for head, label in read_deps(deps) if head not in gone]
        )
    arcs = [arc.partition(":") for arc in deps.split("|")]
    kept = [names.get(head, head) + sign + label for head, sign, label in arcs if head not in gone]
    return "|".join(dict.fromkeys(kept)) or "_"


def renumbered_misc(misc: str, names: Mapping[str, str]) -> str:
    """Renumber the attributes of MISC that refer to words.

    These are Head and NotHead (constraints), Alternatives (written by a parser) and CopyOf (of UD).

    >>> misc = "Head=2,5|SpaceAfter=No|Alternatives=5:obj:0.6,2:nmod:poss:0.2|CopyOf=5"
    >>> renumbered_misc(misc, {"2": "3", "5": "6"})
    'Head=3,6|SpaceAfter=No|Alternatives=6:obj:0.6,3:nmod:poss:0.2|CopyOf=6'
    """
    return "|".join(_renumbered_part(part, names) for part in misc.split("|"))


def _renumbered_part(part: str, names: Mapping[str, str]) -> str:
    key, _, value = part.partition("=")
    if key == "CopyOf":
        return f"{key}={names.get(value, value)}"
    if key in _HEADS:
        return f"{key}={','.join(names.get(head, head) for head in value.split(','))}"
    if key == "Alternatives":
        # A label may hold a comma: an arc begins with a number and a colon.
        return re.sub(r"(?<=[=,])([0-9]+)(?=:)", lambda m: names.get(m[1], m[1]), part)
    return part


def misc_heads(part: str) -> set[str]:
    """The IDs of words that an attribute of MISC refers to.

    >>> sorted(misc_heads("Alternatives=5:obj:0.6,2:nmod:poss:0.2"))
    ['2', '5']
    """
    key, _, value = part.partition("=")
    if key in _HEADS or key == "CopyOf":
        return set(value.split(","))
    return set(re.findall(r"(?<=[=,])[0-9]+(?=:)", part)) if key == "Alternatives" else set()


def renumbered_comment(line: str, names: Mapping[str, str], gone: Collection[str]) -> str | None:
    """Renumber a comment line that is a note or a conflict; None if it is about a row in ``gone``.

    >>> renumbered_comment("# note 5>3 = why?", {"5": "6"}, ())
    '# note 6>3 = why?'
    >>> renumbered_comment("# conflict = 3 head theirs=5", {"3": "4", "5": "6"}, ())
    '# conflict = 4 head theirs=6'
    """
    if note := NOTE.fullmatch(line):
        start, first, second, sign, text = note.groups()
        if first is None:
            return line
        if first in gone or second in gone:
            return None
        on = ">".join(dict.fromkeys(names.get(part, part) for part in (first, second) if part is not None))
        return f"{start} {on}{sign}{text}"
    if conflict := _CONFLICT.fullmatch(line):
        start, row, blank, column, theirs, value = conflict.groups()
        if row in gone:
            return None
        if column.lower() == "head":
            value = names.get(value, value)
        elif column.lower() == "deps":
            value = renumbered_deps(value, names, gone)
        return f"{start}{names.get(row, row)}{blank}{column}{theirs}{value}"
    return line
