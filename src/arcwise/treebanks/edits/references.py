"""Where a sentence names its rows by number, apart from ID and HEAD: DEPS, pairs of MISC, notes and conflicts among the comments."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

Pairs = Sequence[tuple[str, str]]
_ON = r"[0-9]+(?:[-.][0-9]+)?"
NOTE = re.compile(rf"(#\s*note)(?:\s+({_ON})(?:>({_ON}))?)?(\s*=\s*)(.*)")
"""A comment that is a note: on the sentence, on a row, on an arc (head>word)."""
_CONFLICT = re.compile(rf"(#\s*conflict\s*=\s*)({_ON})(\s+)(\S+)(\s+(?:mine|theirs)=)(.*)")
_HEADS = ("Head", "NotHead")


def read_deps(deps: str) -> list[tuple[str, str]]:
    """The pairs of DEPS.

    >>> read_deps("2:nsubj|8.1:obl:in")
    [('2', 'nsubj'), ('8.1', 'obl:in')]
    """
    pairs = [] if deps == "_" else [pair.partition(":") for pair in deps.split("|")]
    return [(head, label) for head, _, label in pairs]


def write_deps(pairs: Pairs) -> str:
    """DEPS of pairs, in order of the heads.

    >>> write_deps([("10", "obj"), ("8.1", "conj")])
    '8.1:conj|10:obj'
    """
    return "|".join(f"{head}:{label}" for head, label in sorted(set(pairs), key=_place)) or "_"


def _place(pair: tuple[str, str]) -> tuple[int, int, str]:
    found = re.fullmatch(r"([0-9]+)(?:\.([0-9]+))?", pair[0])  # CoNLL-X has anything there
    return (int(found[1]), int(found[2] or 0), pair[1]) if found else (0, 0, pair[1])


def renumbered_deps(deps: str, names: Mapping[str, str], gone: Collection[str]) -> str:
    """DEPS with other numbers; each arc once, arcs from what is ``gone`` left out.

    >>> renumbered_deps("2:nsubj|8.1:obl", {"2": "3"}, ["8.1"])
    '3:nsubj'
    """
    if deps == "_":
        return deps
    if deps == write_deps(read_deps(deps)):  # in order, and stays so when two heads become one
        return write_deps(
            [(names.get(head, head), label) for head, label in read_deps(deps) if head not in gone]
        )
    pairs = [pair.partition(":") for pair in deps.split("|")]
    kept = [names.get(head, head) + sign + label for head, sign, label in pairs if head not in gone]
    return "|".join(dict.fromkeys(kept)) or "_"


def renumbered_misc(misc: str, names: Mapping[str, str]) -> str:
    """MISC with other numbers in what names words: Head, NotHead (constraints), Alternatives (a parser's), CopyOf (of UD).

    >>> renumbered_misc("Head=2,5|SpaceAfter=No|Alternatives=5:obj:0.6,2:nmod:poss:0.2|CopyOf=5", {"2": "3", "5": "6"})
    'Head=3,6|SpaceAfter=No|Alternatives=6:obj:0.6,3:nmod:poss:0.2|CopyOf=6'
    """
    return "|".join(_pair(pair, names) for pair in misc.split("|"))


def _pair(pair: str, names: Mapping[str, str]) -> str:
    key, _, value = pair.partition("=")
    if key == "CopyOf":
        return f"{key}={names.get(value, value)}"
    if key in _HEADS:
        return f"{key}={','.join(names.get(head, head) for head in value.split(','))}"
    if key == "Alternatives":
        # A label may hold a comma: an arc begins with a number and a colon.
        return re.sub(r"(?<=[=,])([0-9]+)(?=:)", lambda m: names.get(m[1], m[1]), pair)
    return pair


def misc_heads(pair: str) -> set[str]:
    """The words that a pair of MISC names.

    >>> sorted(misc_heads("Alternatives=5:obj:0.6,2:nmod:poss:0.2"))
    ['2', '5']
    """
    key, _, value = pair.partition("=")
    if key in _HEADS or key == "CopyOf":
        return set(value.split(","))
    return set(re.findall(r"(?<=[=,])[0-9]+(?=:)", pair)) if key == "Alternatives" else set()


def renumbered_comment(line: str, names: Mapping[str, str], gone: Collection[str]) -> str | None:
    """A comment line with other numbers, if it is a note or a conflict; None if it is about something that is gone.

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
