"""The official validator (package udtools) as an oracle, and what is known to differ."""

from __future__ import annotations

import io
from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache

from udtools import Validator
from udtools.state import State

from arcwise.treebanks import Treebank
from arcwise.treebanks.validation import RULES, check_treebank

Verdicts = set[tuple[int, str]]
"""(the line on which a sentence begins, a rule that it breaks)"""

_STAGES = (
    "misplaced-comment extra-empty-line empty-sentence invalid-line",
    "number-of-columns",
    "invalid-word-id misplaced-word-interval misplaced-empty-node word-id-sequence reversed-word-interval "
    "word-interval-out",
    "overlapping-word-intervals",
    "invalid-head unknown-head invalid-deps invalid-ehead unknown-ehead",
    "head-self-loop",
    "multiple-roots",
    "non-tree",
    "invalid-feature",
)
"""After one of these the validator looks no further at a sentence; we do (deviation 1)."""
_STAGE = {rule: stage for stage, rules in enumerate(_STAGES) for rule in rules.split()}
_LINES = [
    "invalid-utf",
    "unicode-normalization",
    "non-unix-newline",
    "pseudo-empty-line",
    "missing-empty-line",
]
_FIELDS = [
    "invalid-whitespace",
    "invalid-whitespace-mwt",
    "empty-column",
    "leading-whitespace",
    "trailing-whitespace",
    "repeated-whitespace",
]
_ROWS = [
    "mwt-nonempty-field",
    "empty-node-nonempty-field",
    "unknown-upos",
    "unsorted-features",
    "repeated-feature",
    "repeated-feature-value",
    "unsorted-feature-values",
    "invalid-deprel",
    "unknown-udeprel",
    "unsorted-deps",
    "unsorted-deps-2",
    "repeated-deps",
    "deps-self-loop",
    "invalid-edeprel",
    "unknown-eudeprel",
    "empty-misc",
    "empty-misc-key",
    "misc-extra-space",
    "misc-attr-typo",
    "repeated-misc",
]
_REACHED = {
    **dict.fromkeys(_LINES, 0),
    **dict.fromkeys(_FIELDS, 1),
    **dict.fromkeys(_ROWS, len(_STAGES) - 1),
    **_STAGE,
}
"""The stage in which the validator checks a rule; those that are not here come after all stages."""


def official_ids(text: str) -> set[str]:
    """The test ids that the validator reports for a treebank, unchanged."""
    return {rule for _, rule in _incidents(text)}


def verdicts(text: str) -> tuple[Verdicts, Verdicts]:
    """What the validator and we find in a treebank, once the deviations that docs/reference/validation.md
    lists are taken out."""
    starts = _starts(text)
    lines = text.splitlines()
    theirs = _theirs(text, starts, lines)
    found = check_treebank(Treebank.from_string(text, strict=False))
    ours = {(_start(starts, f.line), f.rule) for f in found if RULES[f.rule].official}
    stopped = {
        start: _STAGE[rule]
        for start, rule in sorted(theirs, key=lambda v: -_STAGE.get(v[1], 0))
        if rule in _STAGE
    }
    ours = {v for v in ours if v[0] not in stopped or _REACHED.get(v[1], len(_STAGES)) <= stopped[v[0]]}
    unread = {
        start
        for start, rule in theirs
        if rule in _STAGE or rule in ("text-form-mismatch", "missing-text", "multiple-text")
    }
    # which sentence is the first with or without DEPS depends on how far the ones before were looked at
    left_out = {"edeps-only-sometimes"} if stopped else set()
    theirs, ours = (_comparable(found, starts, unread) for found in (theirs, ours))
    return {v for v in theirs if v[1] not in left_out}, {v for v in ours if v[1] not in left_out}


def _starts(text: str) -> list[int]:
    """The lines on which sentences begin."""
    starts = [1]
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            starts.append(number + 1)
    return starts


def _start(starts: list[int], line: int) -> int:
    return starts[bisect_right(starts, line) - 1]


def _theirs(text: str, starts: list[int], lines: list[str]) -> Verdicts:
    incidents = _incidents(text)
    return {
        (_start(starts, line), rule)
        for line, rule in incidents
        if not _said_otherwise(line, rule, incidents, lines)
    }


@lru_cache
def _validator() -> Validator:
    return Validator(lang="ud", level=3, output=None)


def _incidents(text: str) -> list[tuple[int, str]]:
    validator, state = _validator(), State()
    source = io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8")
    validator.validate_file_handle(source, state)
    validator.validate_end(state)
    return [(i.lineno, i.testid) for i in state.error_tracker]


def _said_otherwise(line: int, rule: str, incidents: Iterable[tuple[int, str]], lines: list[str]) -> bool:
    """Deviation 2: what the validator says twice of one row, we say once."""
    match rule:
        case "unknown-head":
            return (line, "invalid-head") in incidents
        case "unknown-ehead":
            return (line, "invalid-ehead") in incidents
        case "word-interval-out":  # of a word, because IDs are no sequence
            return "-" not in lines[line - 1].split("\t")[0]
        case "empty-string-in-xpos":  # which is an empty-column
            return True
        case "invalid-feature" | "invalid-deps":  # of a field that is empty
            column = 5 if rule == "invalid-feature" else 8
            return (
                not (lines[line - 1].split("\t") + [""] * 10)[column] and (line, "empty-column") in incidents
            )
    return False


def _comparable(found: Verdicts, starts: list[int], unread: set[int]) -> Verdicts:
    """Without what follows from a text that could not be compared (deviations 3 and 4)."""
    mismatch = {start for start, rule in found if rule == "text-form-mismatch"}
    after = {starts[starts.index(start) + 1] for start in unread if start != starts[-1]}
    return {
        (start, rule)
        for start, rule in found
        if not (start in mismatch and rule in ("text-extra-chars", "missing-spaceafter"))
        and not (start in after and rule == "spaceafter-newdocpar")
        and rule not in ("non-unix-newline", "edeps-identical-to-basic-trees")  # of the file: see test_rules
    }
