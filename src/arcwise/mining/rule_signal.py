"""The rules of ``arcwise validate`` as a signal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import numpy as np

from arcwise.mining.crossfit import Crossfitted
from arcwise.mining.evidence import Floats
from arcwise.mining.signal import Measurement, Vote
from arcwise.mining.words import FlatWords
from arcwise.treebanks.edits import SetField
from arcwise.treebanks.validation import Finding, check_treebank

_ARC = {"head", "deprel"}
_WORD = {"upos", "feats", "lemma"}
_KINDS = {"tree_rule": {*_ARC, "upos"}, "word_rule": {"feats", "lemma"}}
"""Kind → columns of its rules; those about UPOS compare it with the label."""


def rules(words: FlatWords, crossfitted: Crossfitted) -> Measurement:
    """Violations of the rules of ``arcwise validate``."""
    by_word: dict[int, list[Finding]] = defaultdict(list)
    lengths = words.treebank.sentence_lengths
    for finding in check_treebank(words.treebank, partial=True):
        row = finding.row
        # Rows such as 3-4 and 8.1 are no words; comments have no row.
        if row is None or not row.isascii() or not row.isdigit() or finding.column not in _ARC | _WORD:
            continue
        if 1 <= int(row) <= int(lengths[finding.sentence]):
            by_word[int(words.starts[finding.sentence]) + int(row) - 1].append(finding)
    # Apart, because a treebank's features may break a rule by design, which says little about its trees.
    arc, word_level = (_strength(by_word, columns, len(words)) for columns in (_ARC, _WORD))

    def reasons(word: int) -> list[str]:
        return [f"{finding.message} [{finding.rule}]" for finding in by_word.get(word, ())]

    def votes(word: int) -> list[Vote]:
        edits = [
            edit
            for finding in by_word.get(word, ())
            if finding.repair is not None
            for edit in finding.repair.edits
            if isinstance(edit, SetField) and edit.row == str(words.position[word])
        ]
        return [
            _vote(words, word, edit) for edit in edits if edit.column in ("upos", "lemma", "feats", "deprel")
        ]

    kinds = {
        kind: [_most_severe(by_word.get(word, ()), columns) for word in range(len(words))]
        for kind, columns in _KINDS.items()
    }
    return Measurement(6 * arc + word_level - 4, {"arc": arc, "word": word_level}, reasons, votes, kinds)


def _strength(by_word: Mapping[int, Sequence[Finding]], columns: Collection[str], words: int) -> Floats:
    """1 for words with an error in these columns, 0.5 for those with a warning only."""
    strength = np.zeros(words)
    for word, findings in by_word.items():
        strengths = [0.5 if finding.warning else 1.0 for finding in findings if finding.column in columns]
        strength[word] = max(strengths, default=0.0)
    return strength


def _most_severe(findings: Sequence[Finding], columns: Collection[str]) -> str:
    """The rule of the gravest finding in these columns, arcs before words; an empty string without any."""
    severity = [(f.column not in _ARC, f.warning, f.rule) for f in findings if f.column in columns]
    return min(severity)[-1] if severity else ""


def _vote(words: FlatWords, word: int, edit: SetField) -> Vote:
    if edit.column == "deprel":
        return Vote("arc", int(words.heads[word]), edit.value, 1.0)
    return Vote(edit.column, value=edit.value)
