"""Parser of mass edits: ``2.deprel=obl; feats.Case=Nom; s.head=@v``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from arcwise.treebanks.search.scanner import Scanner
from arcwise.treebanks.search.syntax import KEYED, MISSING, STEPS, WORD_NUMBERS, Property

SETTABLE = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
_NUMBER = re.compile(r"0|[1-9]\d{0,8}")
_WORD_PREFIX = re.compile(r"@?(\w+)(?=\.)")


@dataclass(frozen=True)
class FieldAssignment:
    """Sets a field of a matched word to a value or a property of another; ``_`` removes a key."""

    word: str
    column: str
    key: str | None
    value: str = MISSING
    source_word: str | None = None
    """The word to copy from. HEAD without ``source`` becomes that word itself."""
    source: Property | None = None

    @property
    def field(self) -> str:
        """``feats.Case``."""
        return self.column if self.key is None else f"{self.column}.{self.key}"


def parse_assignments(text: str, names: Sequence[str]) -> tuple[FieldAssignment, ...]:
    """Parse assignments for a query whose matched words have these names.

    >>> [(a.word, a.field, a.value) for a in parse_assignments("2.deprel=obl; feats.Case=_", ["1", "2"])]
    [('2', 'deprel', 'obl'), ('1', 'feats.Case', '_')]
    """
    scan = Scanner(text, "changes")
    assignments: list[FieldAssignment] = []
    while True:
        start = scan.at
        assignment = _assignment(scan, names)
        if any((a.word, a.field) == (assignment.word, assignment.field) for a in assignments):
            raise scan.error("a field can be set once", unexpected=f"second {assignment.field}", at=start)
        assignments.append(assignment)
        if not scan.take(";") and not scan.is_done:
            raise scan.error("expected ; and another change (quote values with special characters or spaces)")
        if scan.is_done:
            return tuple(assignments)


def _assignment(scan: Scanner, names: Sequence[str]) -> FieldAssignment:
    """change = [ name "." ] column [ "." key ] "=" ( value | "@" name [ "." property ] )"""
    word = _word(scan, names)
    start = scan.at
    if not re.compile(r"[A-Za-z]").match(scan.text, start):
        raise scan.error("expected a change such as deprel=obl or 2.feats.Case=Nom")
    prop = scan.property()
    if prop.name not in SETTABLE or prop.steps:
        hint = f"expected a column that can be set: {', '.join(SETTABLE)}"
        raise scan.error(hint, unexpected=f"'{prop}'", at=start)
    scan.skip()
    if scan.sees("=="):
        raise scan.error("use a single =")
    scan.expect("=", f" after {prop}")
    if scan.sees("@"):
        return _copy(scan, word, prop, names)
    at = scan.at
    value = scan.value()
    if prop.name == "head" and value != MISSING and not _NUMBER.fullmatch(value):
        raise scan.error("expected a number, _ or a matched word such as @1", unexpected=repr(value), at=at)
    if not value or re.search(r"[\t\r\n]", value) or (prop.key is not None and "|" in value):
        hint = "expected a value without tabs and line breaks (for a key also without |); _ removes it"
        raise scan.error(hint, unexpected=repr(value), at=at)
    scan.skip()
    return FieldAssignment(word, prop.name, prop.key, value)


def _word(scan: Scanner, names: Sequence[str]) -> str:
    """Read the word before the column; the default is the first word."""
    if not names:
        raise scan.error("the query matches only sentences; changes need matched words", unexpected="change")
    match = _WORD_PREFIX.match(scan.text, scan.at)
    if not match or (not scan.sees("@") and match[1] in (*KEYED, *STEPS)):
        return names[0]
    check_matched(scan, match[1], names)
    scan.at = match.end() + 1
    return match[1]


def check_matched(scan: Scanner, name: str, names: Sequence[str]) -> None:
    """Raise a syntax error unless ``name`` is a matched word."""
    if name not in names:
        hint = f"it is not a matched word (matched words: {', '.join(names)})"
        raise scan.error(hint, unexpected=f"'{name}'")


def _copy(scan: Scanner, word: str, prop: Property, names: Sequence[str]) -> FieldAssignment:
    at = scan.at
    name = scan.name()
    if name is None:
        raise scan.error("expected a name after @")
    if name not in names:
        scan.at = at
        check_matched(scan, name, names)
    source = None
    if scan.sees("."):
        scan.at += 1
        at = scan.at
        source = scan.property()
    scan.skip()
    is_word_number = source is not None and not source.steps and source.name in ("id", "head")
    if prop.name == "head" and source is not None and not is_word_number:
        raise scan.error("expected a matched word, its .id or its .head", unexpected=f"'{source}'", at=at)
    if prop.name != "head" and (source is None or source.name in WORD_NUMBERS):
        hint = f"expected a text property of the word, such as @{name}.lemma"
        raise scan.error(hint, unexpected=f"@{name}", at=at)
    return FieldAssignment(word, prop.name, prop.key, MISSING, name, source)


def with_key(field: str, column: str, key: str, value: str) -> str:
    """Set one key of FEATS or MISC, or remove it by ``_``; new features go in alphabetical order.

    >>> with_key("Case=Acc|Number=Sing", "feats", "Gender", "Fem")
    'Case=Acc|Gender=Fem|Number=Sing'
    >>> with_key("SpaceAfter=No", "misc", "SpaceAfter", "_")
    '_'
    """
    pairs = [] if field == MISSING else field.split("|")
    keys = [pair.partition("=")[0] for pair in pairs]
    if key in keys:
        index = keys.index(key)
        pairs[index : index + 1] = [] if value == MISSING else [f"{key}={value}"]
    elif value != MISSING:
        later = [i for i, k in enumerate(keys) if column == "feats" and k.lower() > key.lower()]
        pairs.insert(later[0] if later else len(pairs), f"{key}={value}")
    return "|".join(pairs) or MISSING
