"""Parsing under rules (``ParseOptions.legal``): illegal trees are replaced by the best legal ones.

A tree that obeys the rules is also the best tree under them, so only the others are decoded again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError, OptionError
from arcwise.factors import LegalRules, LegalTrees, legal_trees, ud_rules
from arcwise.inference import Scores
from arcwise.parsing.constrained import ConstraintGroup, ParseConstraints
from arcwise.parsing.parses import Codes, Note, Parses
from arcwise.treebanks.files import path_kind

Codes64 = npt.NDArray[np.int64]

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
    """Replaces the illegal trees of a parse, group by group; collects notes on sentences."""

    rules: LegalRules
    labels: tuple[str, ...]
    constraints: ParseConstraints
    threads: int
    notes: list[Note] = field(default_factory=list)

    def repaired(
        self,
        group: ConstraintGroup,
        parses: Parses,
        settings: native.DecodeSettings,
        scores_of: Callable[[ConstraintGroup, int], Scores],
    ) -> Parses:
        """Return the parses of a group with the best legal trees in the places of illegal ones."""
        searched = self.searched(group, parses.heads, parses.labels, settings, scores_of)
        return parses if searched is None else _replaced(group, parses, *searched)

    def searched(
        self,
        group: ConstraintGroup,
        heads: Codes,
        labels: Codes,
        settings: native.DecodeSettings,
        scores_of: Callable[[ConstraintGroup, int], Scores],
    ) -> tuple[LegalTrees, list[int]] | None:
        """Return the best legal trees of the sentences whose trees are illegal, and their places."""
        starts = group.treebank.sentence_words.astype(np.int64)
        kept = self._kept_labels(group)
        with_kept = np.where(kept >= 0, kept, labels).astype(np.int32)
        illegal = self.rules.kernel(self.labels).illegal(
            np.ascontiguousarray(heads, np.int32), with_kept, starts
        )
        # A sentence without a tree has no heads, and is not illegal.
        places = np.flatnonzero(illegal).tolist()
        if not places:
            return None
        part, words = group.part(places), _words_of(group, places)
        scores = scores_of(part, self.threads)
        if (kept[words] >= 0).any():
            scores = scores.constrained(labels=kept[words])
        trees = legal_trees(scores, self.rules, settings, spans=part.spans, threads=self.threads)
        self._note(part, trees)
        return trees, places

    def _kept_labels(self, group: ConstraintGroup) -> Codes:
        """The label that each word keeps, -1 where it keeps none that the parser has."""
        kept = np.full(group.treebank.word_count, -1, np.int32)
        if not self.constraints.labels:
            return kept
        codes = {label: code for code, label in enumerate(self.labels)}
        whole = self.constraints.treebank.sentence_words.astype(int)
        first = 0
        for s in group.sentences:
            for word in range(whole[s], whole[s + 1]):
                kept[first] = codes.get(self.constraints.labels.get(word, ""), -1)
                first += 1
        return kept

    def _note(self, group: ConstraintGroup, trees: LegalTrees) -> None:
        for i, (parsed, gap) in enumerate(zip(trees.parses.parsed, trees.gaps.tolist(), strict=True)):
            sentence = self.constraints.treebank[group.sentences[i]]
            if not parsed:
                self.notes.append(Note.of(sentence, NO_LEGAL_TREE))
            elif gap > 0:
                text = f"a legal tree, not proven to be the best one (at most {gap:.3g} better)"
                self.notes.append(Note.of(sentence, text))


def _words_of(group: ConstraintGroup, places: list[int]) -> Codes64:
    starts = group.treebank.sentence_words.astype(np.int64)
    return np.concatenate([np.arange(starts[i], starts[i + 1]) for i in places])


def _replaced(group: ConstraintGroup, parses: Parses, trees: LegalTrees, places: list[int]) -> Parses:
    """Put the trees that were found into the parses, in the places of their sentences."""
    lengths = group.treebank.sentence_lengths[places]
    parsed = np.asarray(trees.parses.parsed) > 0
    found, words = np.repeat(parsed, lengths), _words_of(group, places)
    result: Any = trees.parses
    at = words[found]
    heads, labels = np.array(parses.heads), np.array(parses.labels)
    heads[at], labels[at] = result.heads[found], result.labels[found]
    if parses.probabilities is None:
        return replace(parses, heads=heads, labels=labels)
    old = parses.probabilities
    head, label, log_tree = np.array(old.head), np.array(old.label), np.array(old.log_tree)
    head[at], label[at] = result.head_probability[found], result.label_probability[found]
    log_tree[np.array(places)[parsed]] = result.log_probability[parsed]
    return replace(
        parses,
        heads=heads,
        labels=labels,
        probabilities=replace(old, head=head, label=label, log_tree=log_tree),
    )
