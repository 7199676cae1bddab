"""The rules of ``arcwise validate`` as a signal."""

from __future__ import annotations

from collections import defaultdict

import numpy as np

from arcwise.mining.crossfit import Crossfitted
from arcwise.mining.signal import Measurement, Vote
from arcwise.mining.words import FlatWords
from arcwise.treebanks.edits import SetField
from arcwise.treebanks.validation import Finding, check_treebank

_COLUMNS = {"upos", "feats", "lemma", "head", "deprel"}


def rules(words: FlatWords, crossfitted: Crossfitted) -> Measurement:
    """Violations of the rules of ``arcwise validate``."""
    by_word: dict[int, list[Finding]] = defaultdict(list)
    lengths = words.treebank.sentence_lengths
    for finding in check_treebank(words.treebank, partial=True):
        row = finding.row
        # Rows such as 3-4 and 8.1 are no words; comments have no row.
        if row is None or not row.isascii() or not row.isdigit() or finding.column not in _COLUMNS:
            continue
        if 1 <= int(row) <= int(lengths[finding.sentence]):
            by_word[int(words.starts[finding.sentence]) + int(row) - 1].append(finding)
    broken = np.zeros(len(words))
    for word, findings in by_word.items():
        broken[word] = max(0.5 if finding.warning else 1.0 for finding in findings)

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

    return Measurement(6 * broken - 4, {"broken": broken}, reasons, votes)


def _vote(words: FlatWords, word: int, edit: SetField) -> Vote:
    if edit.column == "deprel":
        return Vote("arc", int(words.heads[word]), edit.value, 1.0)
    return Vote(edit.column, value=edit.value)
