"""What a mass edit sets: ``2.deprel=obl; feats.Case=Nom; s.head=@v``, read from text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from arcwise.treebanks.field_values import pair_parts
from arcwise.treebanks.search.scanner import Scanner
from arcwise.treebanks.search.syntax import KEYED, MISSING, STEPS, WORD_NUMBERS, Property

SETTABLE = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_NUMBER = re.compile(r"0|[1-9]\d{0,8}")
_FIRST = re.compile(r"@?(\w+)(?=\.)")


@dataclass(frozen=True)
class Assignment:
    """A field of a found word gets a value, or what another found word has; ``_`` removes the value of a key."""

    word: str
    column: str
    key: str | None
    value: str = MISSING
    other: str | None = None
    """The word that the value is from; for HEAD without ``source``, that word itself."""
    source: Property | None = None

    @property
    def field(self) -> str:
        """``feats.Case``."""
        return self.column if self.key is None else f"{self.column}.{self.key}"


def parse_assignments(text: str, names: Sequence[str]) -> tuple[Assignment, ...]:
    """The changes of a text, for a query that finds words of these names.

    >>> parse_assignments("2.deprel=obl; feats.Case=_", ["1", "2"])
    (Assignment(word='2', column='deprel', key=None, value='obl', ...), Assignment(word='1', column='feats', key='Case', value='_', ...))
    """
    scan = Scanner(text, "changes")
    found: list[Assignment] = []
    while True:
        start = scan.at
        change = _change(scan, names)
        if any((c.word, c.field) == (change.word, change.field) for c in found):
            raise scan.error("each field once", found=f"{change.field} a second time", at=start)
        found.append(change)
        if not scan.take(";") and not scan.is_done:
            raise scan.error("; and another change (in quotes what has signs or blanks)")
        if scan.is_done:
            return tuple(found)


def _change(scan: Scanner, names: Sequence[str]) -> Assignment:
    """change = [ name "." ] column [ "." key ] "=" ( value | "@" name [ "." property ] )"""
    word = _word(scan, names)
    start = scan.at
    if not re.compile(r"[A-Za-z]").match(scan.text, start):
        raise scan.error("a change such as deprel=obl or 2.feats.Case=Nom")
    prop = scan.property()
    if prop.name not in SETTABLE or prop.steps:
        raise scan.error(f"a column that can be set: {', '.join(SETTABLE)}", found=f"'{prop}'", at=start)
    scan.skip()
    if scan.sees("=="):
        raise scan.error("= once")
    scan.expect("=", f" after {prop}")
    if scan.sees("@"):
        return _copied(scan, word, prop, names)
    at = scan.at
    value = scan.value()
    if prop.name == "head" and value != MISSING and not _NUMBER.fullmatch(value):
        raise scan.error("a number, _ or a found word such as @1", found=repr(value), at=at)
    if not value or re.search(r"[\t\r\n]", value) or (prop.key is not None and "|" in value):
        raise scan.error(
            "a value without tabs and line breaks, for a key without |; _ removes it",
            found=repr(value),
            at=at,
        )
    scan.skip()
    return Assignment(word, prop.name, prop.key, value)


def _word(scan: Scanner, names: Sequence[str]) -> str:
    """The word before the column; without one it is the first."""
    if not names:
        raise scan.error("a query that finds words: this one finds sentences alone", found="a change")
    found = _FIRST.match(scan.text, scan.at)
    if not found or (not scan.sees("@") and found[1] in (*KEYED, *STEPS)):
        return names[0]
    _check_name(scan, found[1], names)
    scan.at = found.end() + 1
    return found[1]


def _check_name(scan: Scanner, name: str, names: Sequence[str]) -> None:
    if name not in names:
        raise scan.error(f"a word that the query finds ({', '.join(names)})", found=f"'{name}'")


def _copied(scan: Scanner, word: str, prop: Property, names: Sequence[str]) -> Assignment:
    at = scan.at
    name = scan.name()
    if name is None:
        raise scan.error("a name after @")
    if name not in names:
        scan.at = at
        _check_name(scan, name, names)
    source = None
    if scan.sees("."):
        scan.at += 1
        at = scan.at
        source = scan.property()
    scan.skip()
    is_number = source is not None and not source.steps and source.name in ("id", "head")
    if prop.name == "head" and source is not None and not is_number:
        raise scan.error("a found word, its .id or its .head", found=f"'{source}'", at=at)
    if prop.name != "head" and (source is None or source.name in WORD_NUMBERS):
        raise scan.error(f"a text of the word, such as @{name}.lemma", found=f"@{name}", at=at)
    return Assignment(word, prop.name, prop.key, MISSING, name, source)


def with_key(field: str, column: str, key: str, value: str) -> str:
    """FEATS or MISC with the value of one key set, or removed by ``_``; new features stand where the alphabet has them.

    >>> with_key("Case=Acc|Number=Sing", "feats", "Gender", "Fem"), with_key("SpaceAfter=No", "misc", "SpaceAfter", "_")
    ('Case=Acc|Gender=Fem|Number=Sing', '_')
    """
    pairs = pair_parts(field)
    keys = [pair.partition("=")[0] for pair in pairs]
    if key in keys:
        place = keys.index(key)
        pairs[place : place + 1] = [] if value == MISSING else [f"{key}={value}"]
    elif value != MISSING:
        after = [i for i, k in enumerate(keys) if column == "feats" and k.lower() > key.lower()]
        pairs.insert(after[0] if after else len(pairs), f"{key}={value}")
    return "|".join(pairs) or MISSING
