"""Level 2: check the fields of single rows: FEATS, DEPS, MISC, and fields that must be empty."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from itertools import pairwise
from typing import TypeVar

from arcwise.treebanks.field_values import pairs
from arcwise.treebanks.rows import DEPREL, DEPS, FEATS, HEAD, LEMMA, MISC, Row
from arcwise.treebanks.validation.findings import LONGEST_REPAIR, MOST_OF_A_RULE, Report, shortened
from arcwise.treebanks.validation.inventory import RELATIONS, universal
from arcwise.treebanks.validation.raw import RawSentence
from arcwise.treebanks.validation.repairs import set_field

_Result = TypeVar("_Result")
Problems = tuple[tuple[str, str], ...]
"""Rules that a value violates, each with a message."""

_FEATURE = re.compile(
    r"([A-Z][A-Za-z0-9]*(?:\[[a-z0-9]+\])?)=([A-Z0-9][A-Za-z0-9]*(?:,[A-Z0-9][A-Za-z0-9]*)*)", re.ASCII
)
ENHANCED_HEAD = re.compile(r"(0|[1-9][0-9]*)(\.[1-9][0-9]*)?", re.ASCII)
_LOWERCASE = re.compile(r"[a-z]+", re.ASCII)
_STANDARD_MISC = ("SpaceAfter", "Lang", "Translit", "LTranslit", "Gloss", "LId", "LDeriv", "Ref")
_SPELLINGS = {name.lower(): name for name in _STANDARD_MISC}


class _ProblemList(list[tuple[str, str]]):
    """Problems of a value; of each rule no more than are reported, because a value may have a million."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: Counter[str] = Counter()

    def add(self, rule: str, message: str) -> None:
        self._counts[rule] += 1
        if self._counts[rule] <= MOST_OF_A_RULE + 1:
            self.append((rule, message))


def check_fields(raw: RawSentence, report: Report) -> None:
    """Check FEATS, DEPS and MISC, and the fields that multiword tokens and empty nodes leave empty."""
    for row in raw.rows:
        if len(row.fields) != 10:
            continue
        if row.kind == "multiword":
            _check_empty(raw, row, range(LEMMA, MISC), "mwt-nonempty-field", "a multiword token", report)
        elif row.kind == "empty":
            _check_empty(raw, row, (HEAD, DEPREL), "empty-node-nonempty-field", "an empty node", report)
        if row.kind in ("word", "empty"):
            _check_value(raw, row, FEATS, feats_problems, canonical_feats, report)
            _check_value(raw, row, DEPS, deps_problems, canonical_deps, report)
            _check_self_loop(row, report)
        _check_value(raw, row, MISC, misc_problems, canonical_misc, report)


def _check_empty(
    raw: RawSentence, row: Row, columns: range | tuple[int, ...], rule: str, node: str, report: Report
) -> None:
    for column in columns:
        value = row.fields[column]
        if value != "_" and not (column == FEATS and value == "Typo=Yes"):
            repair = set_field(raw, row, column, "_")
            report.add_field(
                rule, row, column, f"{node} should have _ here, not {shortened(value)!r}", repair=repair
            )


def _check_value(
    raw: RawSentence,
    row: Row,
    column: int,
    problems: Callable[[str], Problems],
    canonical: Callable[[str], str],
    report: Report,
) -> None:
    value = row.fields[column]
    if value == "_" or not value:
        return
    violations = problems(value)
    if not violations:
        return
    if len(value) > LONGEST_REPAIR:  # sorting half a million arcs would stop all other threads for a second
        for rule, message in violations:
            report.add_field(rule, row, column, message)
        return
    better = canonical(value)
    remaining = {rule for rule, _ in problems(better)} if better != "_" else set()
    # A repair must fix its rule without violating another.
    possible = remaining <= {rule for rule, _ in violations}
    repair = set_field(raw, row, column, better, f"write {shortened(better)}") if possible else None
    for rule, message in violations:
        report.add_field(rule, row, column, message, repair=None if rule in remaining else repair)


_LONGEST_CACHED = 1000  # of longer values, only the last are cached: their number bounds the memory


def _cached(size: int) -> Callable[[Callable[[str], _Result]], Callable[[str], _Result]]:
    """Cache a function of a field: its result depends on the value alone, and values repeat."""

    def decorate(compute: Callable[[str], _Result]) -> Callable[[str], _Result]:
        cached, cached_long = lru_cache(maxsize=size)(compute), lru_cache(maxsize=2)(compute)

        @wraps(compute)
        def wrapped(value: str) -> _Result:
            return cached(value) if len(value) <= _LONGEST_CACHED else cached_long(value)

        return wrapped

    return decorate


features: Callable[[str], Mapping[str, str]] = _cached(1 << 14)(pairs)
"""FEATS as a mapping, cached because a treebank repeats few values."""


@_cached(1 << 14)
def feats_problems(feats: str) -> Problems:
    """The rules that FEATS violates.

    >>> [rule for rule, _ in feats_problems("Number=Sing|Case=Nom|Tense=past")]
    ['unsorted-features', 'invalid-feature']
    """
    parts = feats.split("|")
    lower = [part.lower() for part in parts]
    problems = _ProblemList()
    if any(part > next_part for part, next_part in pairwise(lower)):
        problems.add("unsorted-features", f"features should be in alphabetical order: {shortened(feats)!r}")
    names = set()
    for part in parts:
        match = _FEATURE.fullmatch(part)
        names.add(match[1] if match else part)
        if not match:
            problems.add("invalid-feature", f"{shortened(part)!r} is not a feature such as Number=Sing")
            continue
        values = match[2].split(",")
        if len(set(values)) < len(values):
            problems.add("repeated-feature-value", f"{shortened(part)!r} repeats a value")
        if [v.lower() for v in values] != sorted(v.lower() for v in values):
            problems.add(
                "unsorted-feature-values", f"values should be in alphabetical order: {shortened(part)!r}"
            )
    if len(names) < len(parts):
        problems.add("repeated-feature", f"{shortened(feats)!r} repeats a feature")
    return tuple(problems)


@_cached(1 << 12)
def canonical_feats(feats: str) -> str:
    """FEATS with features and values sorted, capitalized and without duplicates.

    >>> canonical_feats("number=sing|Case=Nom,Acc||Case=Nom,Acc")
    'Case=Acc,Nom|Number=Sing'
    """
    parts = set()
    for part in feats.split("|"):
        name, equals, values = part.partition("=")
        sorted_values = sorted({_capital(v.strip()) for v in values.split(",") if v.strip()}, key=str.lower)
        if part.strip():
            parts.add(_capital(name.strip()) + equals + ",".join(sorted_values))
    return "|".join(sorted(parts, key=lambda part: (part.lower(), part))) or "_"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


@_cached(1 << 14)
def deps_pairs(deps: str) -> tuple[tuple[str, str], ...] | None:
    """DEPS as (head, relation) pairs; None if it is malformed.

    >>> deps_pairs("2:nsubj|4.1:conj:and"), deps_pairs("2")
    ((('2', 'nsubj'), ('4.1', 'conj:and')), None)
    """
    if deps == "_":
        return ()
    pairs = [part.partition(":") for part in deps.split("|")]
    return tuple((head, label) for head, _, label in pairs) if all(colon for _, colon, _ in pairs) else None


@_cached(1 << 14)
def deps_problems(deps: str) -> Problems:
    """Violations in DEPS that do not depend on the sentence; missing heads are checked elsewhere."""
    pairs = deps_pairs(deps)
    if pairs is None:
        return (("invalid-deps", f"{shortened(deps)!r} is not a list of head:relation pairs separated by |"),)
    problems = _ProblemList()
    for head, _ in pairs:
        if not ENHANCED_HEAD.fullmatch(head):
            problems.add("invalid-ehead", f"the head {head!r} is not an ID such as 3 or 3.1")
    if not problems:
        _add_order_problems(deps, pairs, problems)
    for head, label in pairs:
        if not _is_enhanced_label(label):
            message = f"{label!r} is not a lowercase relation such as nsubj or obl:in:loc"
            problems.add("invalid-edeprel", message)
        elif universal(label) not in RELATIONS and universal(label) != "ref":
            message = f"{universal(label)!r} in {head}:{label} is not a universal relation"
            problems.add("unknown-eudeprel", message)
    return tuple(problems)


def _add_order_problems(deps: str, pairs: tuple[tuple[str, str], ...], problems: _ProblemList) -> None:
    if any(_sort_key(head) > _sort_key(next_head) for (head, _), (next_head, _) in pairwise(pairs)):
        problems.add("unsorted-deps", f"{shortened(deps)!r} should be sorted by head")
        return
    for (head, label), (next_head, next_label) in pairwise(pairs):
        if head == next_head and next_label < label:
            message = f"relations to head {head} should be in alphabetical order: {shortened(deps)!r}"
            problems.add("unsorted-deps-2", message)
        elif head == next_head and next_label == label:
            problems.add("repeated-deps", f"{head}:{label} is repeated")


@_cached(1 << 12)
def canonical_deps(deps: str) -> str:
    """DEPS sorted and without duplicates.

    >>> canonical_deps("10:conj|2:nsubj|2:nsubj")
    '2:nsubj|10:conj'
    """
    pairs = deps_pairs(deps)
    if not pairs or any(not ENHANCED_HEAD.fullmatch(head) for head, _ in pairs):
        return deps
    ordered = sorted(set(pairs), key=lambda pair: (_sort_key(pair[0]), pair[1]))
    return "|".join(f"{head}:{label}" for head, label in ordered)


def _sort_key(head: str) -> tuple[int, str, int, str]:
    """Orders IDs by number: without leading zeros, a longer one is larger."""
    word, _, empty = head.partition(".")
    return len(word), word, len(empty), empty


@_cached(1 << 12)
def _is_enhanced_label(label: str) -> bool:
    """Whether a label is a relation, optionally with a subtype, a preposition (in any script) and a case."""
    relation, *subtypes = label.split(":")
    if not _LOWERCASE.fullmatch(relation) or len(subtypes) > 3:
        return False
    lowercase = [bool(_LOWERCASE.fullmatch(part)) for part in subtypes]
    prepositions = [_is_preposition(part) for part in subtypes]
    match len(subtypes):
        case 0:
            return True
        case 1:
            return prepositions[0]
        case 2:
            return (lowercase[0] and prepositions[1]) or (prepositions[0] and lowercase[1])
    return lowercase[0] and prepositions[1] and lowercase[2]


def _is_preposition(part: str) -> bool:
    return all(
        piece
        and all((kind := unicodedata.category(c))[0] == "M" or kind in ("Ll", "Lm", "Lo") for c in piece)
        for piece in part.split("_")
    )


def _check_self_loop(row: Row, report: Report) -> None:
    pairs = deps_pairs(row.fields[DEPS]) or ()
    if any(head == row.id for head, _ in pairs):
        report.add_field("deps-self-loop", row, DEPS, f"node {row.id} is its own head")


@_cached(1 << 14)
def misc_problems(misc: str) -> Problems:
    """The rules that MISC violates.

    >>> [rule for rule, _ in misc_problems("Gloss=a|spaceafter=No||Gloss=b")]
    ['misc-attr-typo', 'empty-misc', 'repeated-misc']
    """
    problems = _ProblemList()
    seen: list[str] = []
    for part in misc.split("|"):
        name, equals, value = part.partition("=")
        if not name and equals:
            problems.add("empty-misc-key", f"{shortened(part)!r} has no attribute name before =")
        elif not name:
            problems.add("empty-misc", "there is an empty attribute; check the vertical bars")
        if name.strip() != name or value.strip() != value:
            message = f"whitespace around the name or value in {shortened(part)!r}"
            problems.add("misc-extra-space", message)
        if name in _STANDARD_MISC:
            seen.append(name)
        elif name.strip().lower() in _SPELLINGS:
            spelling = _SPELLINGS[name.strip().lower()]
            problems.add("misc-attr-typo", f"{name!r} should be spelt {spelling}")
    problems += [
        ("repeated-misc", f"{name} occurs more than once")
        for name in dict.fromkeys(seen)
        if seen.count(name) > 1
    ]
    return tuple(problems)


@_cached(1 << 12)
def canonical_misc(misc: str) -> str:
    """MISC without surrounding whitespace, empty attributes and duplicates of standard attributes."""
    parts: list[str] = []
    standard: set[str] = set()
    for part in misc.split("|"):
        name, equals, value = part.partition("=")
        name = name.strip()
        cleaned = _SPELLINGS.get(name.lower(), name) + equals + value.strip()
        if cleaned and cleaned not in standard:
            parts.append(cleaned)
            if cleaned.partition("=")[0] in _STANDARD_MISC:
                standard.add(cleaned)
    return "|".join(parts) or "_"
