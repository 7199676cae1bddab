"""Parsing under rules (``ParseOptions.legal``): illegal trees are replaced by the best legal ones.

A tree that obeys the rules is also the best tree under them, so only the others are decoded again, while the
scores of their sentences are at hand (``legal_search.hpp``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from arcwise import native
from arcwise.errors import InputError, OptionError
from arcwise.factors import LegalRules, ud_rules
from arcwise.factors.legal_trees import MAX_DECODES
from arcwise.inference import Scores
from arcwise.inference.arc_matrices import span_arrays
from arcwise.parsing.constrained import ConstraintGroup, ParseConstraints
from arcwise.parsing.parses import Codes, Note
from arcwise.treebanks.files import path_kind

UD, LEARNED = "ud", "learned"
NO_LEGAL_TREE = "no tree obeys the rules and its constraints; parsed without the rules"


def check_legal(value: object) -> None:
    """Raise ``InputError`` unless the value names rules or is a ``LegalRules``."""
    if isinstance(value, LegalRules) or value in (UD, LEARNED):
        return
    if not isinstance(value, str) or path_kind(value) != "file":
        raise InputError(f"found {value!r}, expected ud, learned, a TOML file or LegalRules")
    LegalRules.read(value)


def rules_of(value: Any, learned_by_parser: Callable[[], Mapping[str, Any] | None]) -> LegalRules:
    """Return the rules that an option names; loads the learned ones only if it names them."""
    if isinstance(value, LegalRules):
        return value
    if value == UD:
        return ud_rules()
    if value != LEARNED:
        return LegalRules.read(value)
    learned = learned_by_parser()
    if learned is None:
        raise OptionError("legal", "found 'learned', but the model has no rules; train it again")
    return LegalRules.of(learned, where="the model")


@dataclass
class LegalDecoding:
    """The rules of a parse, group by group; collects notes on sentences."""

    rules: LegalRules
    labels: tuple[str, ...]
    constraints: ParseConstraints
    notes: list[Note] = field(default_factory=list)

    def settings(self, group: ConstraintGroup) -> native.LegalSettings:
        """Return the rules in native form, with the labels that the words of the group keep."""
        kernel = self.rules.kernel(self.labels)
        return native.LegalSettings(kernel, self._kept_labels(group), max_decodes=MAX_DECODES)

    def legal_parses(
        self,
        group: ConstraintGroup,
        scores: Scores,
        parses: native.ParseResult,
        settings: native.DecodeSettings,
        threads: int,
    ) -> native.ParseResult:
        """Replace the illegal trees of a group, given its scores, and note what could not be proven."""
        ends, starts = span_arrays(group.spans)
        legal: Any = native.legal_parses(
            scores.batch, parses, settings, self.settings(group), ends, starts, threads=threads
        )
        self.note(group, legal)
        return legal  # type: ignore[no-any-return]

    def note(self, group: ConstraintGroup, parses: native.ParseResult) -> None:
        """Note the sentences of a group whose trees are illegal, or not proven to be the best."""
        gaps = np.asarray(parses.gaps)
        for i in np.flatnonzero(gaps > 0).tolist():
            text = NO_LEGAL_TREE
            if np.isfinite(gaps[i]):
                text = f"a legal tree, not proven to be the best one (at most {gaps[i]:.3g} better)"
            self.notes.append(Note.of(self.constraints.treebank[group.sentences[i]], text))

    def _kept_labels(self, group: ConstraintGroup) -> Codes | None:
        """The label that each word keeps, -1 where it keeps none that the parser has; None if none does."""
        if not self.constraints.labels:
            return None
        kept = np.full(group.treebank.word_count, -1, np.int32)
        codes = {label: code for code, label in enumerate(self.labels)}
        whole = self.constraints.treebank.sentence_words.astype(int)
        first = 0
        for s in group.sentences:
            for word in range(whole[s], whole[s + 1]):
                kept[first] = codes.get(self.constraints.labels.get(word, ""), -1)
                first += 1
        return kept
