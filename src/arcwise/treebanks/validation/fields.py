"""Level 2: what stands in the columns of one row: UPOS, FEATS, DEPREL, DEPS, MISC."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from functools import lru_cache
from itertools import pairwise

from arcwise.treebanks.field_values import pairs
from arcwise.treebanks.rows import DEPREL, DEPS, FEATS, HEAD, LEMMA, MISC, Row
from arcwise.treebanks.validation.findings import Report
from arcwise.treebanks.validation.inventory import RELATIONS, universal
from arcwise.treebanks.validation.raw import RawSentence
from arcwise.treebanks.validation.repairs import set_field

Problems = tuple[tuple[str, str], ...]
"""Rules that a value breaks, each with the reason."""

_FEATURE = re.compile(
    r"([A-Z][A-Za-z0-9]*(?:\[[a-z0-9]+\])?)=([A-Z0-9][A-Za-z0-9]*(?:,[A-Z0-9][A-Za-z0-9]*)*)", re.ASCII
)
ENHANCED_HEAD = re.compile(r"(0|[1-9][0-9]*)(\.[1-9][0-9]*)?", re.ASCII)
_PLAIN = re.compile(r"[a-z]+", re.ASCII)
_KNOWN_MISC = ("SpaceAfter", "Lang", "Translit", "LTranslit", "Gloss", "LId", "LDeriv", "Ref")
_SPELLINGS = {name.lower(): name for name in _KNOWN_MISC}


def check_fields(raw: RawSentence, report: Report) -> None:
    """FEATS, DEPS and MISC of all rows, and what multiword tokens and empty nodes must leave empty."""
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
    raw: RawSentence, row: Row, columns: range | tuple[int, ...], rule: str, what: str, report: Report
) -> None:
    for column in columns:
        value = row.fields[column]
        if value != "_" and not (column == FEATS and value == "Typo=Yes"):
            repair = set_field(raw, row, column, "_")
            report.add_field(rule, row, column, f"found {value!r} with {what}, expected _", repair=repair)


def _check_value(
    raw: RawSentence,
    row: Row,
    column: int,
    told: Callable[[str], Problems],
    canonical: Callable[[str], str],
    report: Report,
) -> None:
    value = row.fields[column]
    if value == "_" or not value:
        return
    for rule, message in told(value):
        better = canonical(value)
        left = {rule for rule, _ in told(better)} if better != "_" else set()
        gone = rule not in left and left <= {rule for rule, _ in told(value)}
        repair = set_field(raw, row, column, better, f"write {better}") if gone else None
        report.add_field(rule, row, column, message, repair=repair)


# ---- FEATS


features: Callable[[str], Mapping[str, str]] = lru_cache(maxsize=1 << 14)(pairs)
"""FEATS as a mapping, cached because a treebank repeats few values."""


@lru_cache(maxsize=1 << 14)
def feats_problems(feats: str) -> Problems:
    """What is wrong with FEATS.

    >>> [rule for rule, _ in feats_problems("Number=Sing|Case=Nom|Tense=past")]
    ['unsorted-features', 'invalid-feature']
    """
    parts = feats.split("|")
    lower = [part.lower() for part in parts]
    found: list[tuple[str, str]] = []
    if lower != sorted(lower):
        found.append(("unsorted-features", f"found {feats!r}, expected the features in alphabetical order"))
    names = set()
    for part in parts:
        match = _FEATURE.fullmatch(part)
        names.add(match[1] if match else part)
        if not match:
            found.append(("invalid-feature", f"found {part!r}, expected a feature like Number=Sing"))
            continue
        values = match[2].split(",")
        if len(set(values)) < len(values):
            found.append(("repeated-feature-value", f"found {part!r}, expected each value once"))
        if [v.lower() for v in values] != sorted(v.lower() for v in values):
            found.append(
                ("unsorted-feature-values", f"found {part!r}, expected the values in alphabetical order")
            )
    if len(names) < len(parts):
        found.append(("repeated-feature", f"found {feats!r}, expected each feature once"))
    return tuple(found)


@lru_cache(maxsize=1 << 12)
def canonical_feats(feats: str) -> str:
    """FEATS as they should be, as far as can be told: sorted, each once, with capitals.

    >>> canonical_feats("number=sing|Case=Nom,Acc||Case=Nom,Acc")
    'Case=Acc,Nom|Number=Sing'
    """
    found = set()
    for part in feats.split("|"):
        name, equals, values = part.partition("=")
        sorted_values = sorted({_capital(v.strip()) for v in values.split(",") if v.strip()}, key=str.lower)
        if part.strip():
            found.add(_capital(name.strip()) + equals + ",".join(sorted_values))
    return "|".join(sorted(found, key=lambda part: (part.lower(), part))) or "_"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


# ---- DEPS


@lru_cache(maxsize=1 << 14)
def deps_pairs(deps: str) -> tuple[tuple[str, str], ...] | None:
    """DEPS as pairs of head and relation; None if it is not of that form.

    >>> deps_pairs("2:nsubj|4.1:conj:and"), deps_pairs("2")
    ((('2', 'nsubj'), ('4.1', 'conj:and')), None)
    """
    if deps == "_":
        return ()
    pairs = [part.partition(":") for part in deps.split("|")]
    return tuple((head, label) for head, _, label in pairs) if all(colon for _, colon, _ in pairs) else None


@lru_cache(maxsize=1 << 14)
def deps_problems(deps: str) -> Problems:
    """What is wrong with DEPS, but for the heads it names."""
    pairs = deps_pairs(deps)
    if pairs is None:
        return (("invalid-deps", f"found {deps!r}, expected head:relation, several separated by |"),)
    found: list[tuple[str, str]] = []
    odd = [head for head, _ in pairs if not ENHANCED_HEAD.fullmatch(head)]
    found += [("invalid-ehead", f"found the head {head!r}, expected a number like 3 or 3.1") for head in odd]
    if not odd:
        found += _order_problems(deps, pairs)
    for head, label in pairs:
        if not _is_enhanced_label(label):
            found.append(
                (
                    "invalid-edeprel",
                    f"found the relation {label!r}, expected one like nsubj or obl:in:loc, in small letters",
                )
            )
        elif universal(label) not in RELATIONS and universal(label) != "ref":
            found.append(
                ("unknown-eudeprel", f"found {head}:{label}, but {universal(label)} is no universal relation")
            )
    return tuple(found)


def _order_problems(deps: str, pairs: tuple[tuple[str, str], ...]) -> Problems:
    heads = [_place(head) for head, _ in pairs]
    if heads != sorted(heads):
        return (("unsorted-deps", f"found {deps!r}, expected it in the order of heads"),)
    found = []
    for (head, label), (other, following) in pairwise(pairs):
        if head == other and following < label:
            found.append(
                ("unsorted-deps-2", f"found {deps!r}, expected the relations to {head} in alphabetical order")
            )
        elif head == other and following == label:
            found.append(("repeated-deps", f"found {head}:{label} twice, expected it once"))
    return tuple(found)


@lru_cache(maxsize=1 << 12)
def canonical_deps(deps: str) -> str:
    """DEPS in order, each relation once.

    >>> canonical_deps("10:conj|2:nsubj|2:nsubj")
    '2:nsubj|10:conj'
    """
    pairs = deps_pairs(deps)
    if not pairs or any(not ENHANCED_HEAD.fullmatch(head) for head, _ in pairs):
        return deps
    return "|".join(
        f"{head}:{label}" for head, label in sorted(set(pairs), key=lambda p: (_place(p[0]), p[1]))
    )


def _place(head: str) -> tuple[int, int]:
    word, _, empty = head.partition(".")
    return int(word), int(empty or 0)


@lru_cache(maxsize=1 << 12)
def _is_enhanced_label(label: str) -> bool:
    """relation, then perhaps a subtype, a preposition in any script and a case."""
    first, *others = label.split(":")
    if not _PLAIN.fullmatch(first) or len(others) > 3:
        return False
    plain = [bool(_PLAIN.fullmatch(part)) for part in others]
    words = [_is_preposition(part) for part in others]
    match len(others):
        case 0:
            return True
        case 1:
            return words[0]
        case 2:
            return (plain[0] and words[1]) or (words[0] and plain[1])
    return plain[0] and words[1] and plain[2]


def _is_preposition(part: str) -> bool:
    return all(
        piece
        and all((kind := unicodedata.category(c))[0] == "M" or kind in ("Ll", "Lm", "Lo") for c in piece)
        for piece in part.split("_")
    )


def _check_self_loop(row: Row, report: Report) -> None:
    pairs = deps_pairs(row.fields[DEPS]) or ()
    if any(head == row.id for head, _ in pairs):
        report.add_field("deps-self-loop", row, DEPS, f"found {row.id} as its own head, expected another")


# ---- MISC


@lru_cache(maxsize=1 << 14)
def misc_problems(misc: str) -> Problems:
    """What is wrong with MISC.

    >>> [rule for rule, _ in misc_problems("Gloss=a|spaceafter=No||Gloss=b")]
    ['misc-attr-typo', 'empty-misc', 'repeated-misc']
    """
    found: list[tuple[str, str]] = []
    seen: list[str] = []
    for part in misc.split("|"):
        name, equals, value = part.partition("=")
        if not name:
            if equals:
                found.append(("empty-misc-key", f"found {part!r}, expected a name before ="))
            else:
                found.append(
                    (
                        "empty-misc",
                        "found an empty attribute, expected none (is a vertical bar out of place?)",
                    )
                )
        if name.strip() != name or value.strip() != value:
            found.append(
                ("misc-extra-space", f"found a blank at an end of a name or value in {part!r}, expected none")
            )
        if name in _KNOWN_MISC:
            seen.append(name)
        elif name.strip().lower() in _SPELLINGS:
            right = _SPELLINGS[name.strip().lower()]
            found.append(("misc-attr-typo", f"found {name!r}, expected {right}"))
    found += [
        ("repeated-misc", f"found {name} more than once, expected it once")
        for name in dict.fromkeys(seen)
        if seen.count(name) > 1
    ]
    return tuple(found)


@lru_cache(maxsize=1 << 12)
def canonical_misc(misc: str) -> str:
    """MISC without blanks at the ends of names and values, empty attributes and repetitions of known ones."""
    parts: list[str] = []
    for part in misc.split("|"):
        name, equals, value = part.partition("=")
        name = name.strip()
        right = _SPELLINGS.get(name.lower(), name) + equals + value.strip()
        if right and not (right in parts and right.partition("=")[0] in _KNOWN_MISC):
            parts.append(right)
    return "|".join(parts) or "_"
