"""``ScoredSentence``: a sentence as a parser sees it, scored once; and what is true of it under any decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from arcwise.annotation.states import Decisions
from arcwise.inference import LabelledArc, Scores, TreeClass, TreeDistribution
from arcwise.inference.arc_matrices import ArcMatrices, Floats
from arcwise.parsing import decisions as parsing_decisions
from arcwise.parsing.decisions import Group
from arcwise.parsing.groups import in_groups
from arcwise.parsing.parser import ParseOptions
from arcwise.parsing.parses import Codes, Note
from arcwise.parsing.scored import ScoredParser, decode_settings
from arcwise.parsing.scorer import decode_scores
from arcwise.treebanks import Treebank

_KEEP = ParseOptions(keep=("head", "deprel"))


@dataclass(frozen=True)
class ScoredSentence:
    """One sentence with its scores, nothing decided."""

    parser: ScoredParser
    treebank: Treebank
    """The sentence alone, as the parser sees it: tagged, HEAD and DEPREL ``_``."""
    scores: Scores
    tags: tuple[Mapping[str, str], ...]
    """Of each word: column → what a tagger proposes."""
    upos_probabilities: tuple[float | None, ...]

    def under(self, decisions: Decisions) -> Inferred:
        """The distribution over its trees under decisions that do not clash."""
        data = decisions.in_bytes(self.treebank.data)
        bank = Treebank(data, source=self.treebank.source)
        trees, labels = self.parser.decoding.trees, self.parser.labels
        decided = parsing_decisions.Decisions.of(bank, _KEEP, None, trees, labels)
        parts, notes, _ = in_groups(decided, self._inferred)
        assert parts, "decisions clash"
        return replace(parts[0][1], notes=tuple(notes), stay=decided.labels)

    def _inferred(self, group: Group) -> tuple[Inferred, Codes]:
        parser = self.parser
        scores = parser.ruled(self.scores, group)
        decoding = replace(
            parser.decoding, projective=group.trees.projective, single_root=group.trees.single_root
        )
        settings = decode_settings(decoding, parser.temperatures, probabilities=True)
        result = decode_scores(scores, settings)
        return Inferred(parser, scores, group.trees, result), np.asarray(result.parsed)


@dataclass(frozen=True)
class Inferred:
    """The distribution over the trees of one sentence under decisions, and the tree that the parser gives."""

    parser: ScoredParser
    scores: Scores
    trees: TreeClass
    result: Any
    """What the native decoder found: the parser's own tree, its probabilities."""
    notes: tuple[Note, ...] = ()
    stay: Mapping[int, str] = field(default_factory=dict)
    """Word (from 0) → the label that is decided."""

    def __len__(self) -> int:
        """The number of words."""
        return int(self.scores.lengths[0])

    @property
    def heads(self) -> list[int]:
        """The head of each word in the tree that the parser gives."""
        return [int(head) for head in self.result.heads]

    @cached_property
    def labels(self) -> list[str]:
        """And its label."""
        return self.named(self.result.labels)

    @cached_property
    def label_probabilities(self) -> list[float]:
        """Of head and label of each word together; a decided label is certain."""
        both = [float(p) for p in self.result.label_probability]
        for word in self.stay:
            both[word] = float(self.result.head_probability[word])
        return both

    def named(self, codes: Any) -> list[str]:
        """Labels by their numbers; where one is decided, that."""
        names = (*self.parser.labels, "_")
        found = [names[int(code)] for code in codes]
        for word, label in self.stay.items():
            found[word] = label
        return found

    @cached_property
    def weights(self) -> ArcMatrices:
        """The logarithms of the weights of arcs, labels summed out, whose products are the probabilities of trees up to Z."""
        temperatures = self.parser.temperatures
        flat = self.scores.batch.arc_weights(temperatures.heads, temperatures.smoothing, 1)
        return ArcMatrices.of_flat(flat, self.scores.lengths)

    @cached_property
    def distribution(self) -> TreeDistribution:
        """The distribution."""
        temperatures = self.parser.temperatures
        return TreeDistribution(
            self.scores,
            projective=self.trees.projective,
            single_root=self.trees.single_root,
            temperature=temperatures.heads,
            label_temperature=temperatures.labels,
            smoothing=temperatures.smoothing,
        )

    @cached_property
    def marginals(self) -> Floats:
        """The probability of each arc, shape (n+1, n+1)."""
        return np.asarray(np.minimum(self.distribution.marginals[0], 1.0))

    def alternatives(self, k: int, least: float) -> list[tuple[LabelledArc, ...]]:
        """Of each word its ``k`` most probable pairs of head and label, none below the probability ``least``."""
        least, stay, marginals = max(least, 1e-12), self.stay, self.marginals
        heads, words = np.nonzero(marginals >= least)
        shares = marginals[None, heads, words]
        if self.parser.labels:
            own = self._label_marginals(least)[:, heads, words]
            decided = np.isin(words - 1, list(stay))
            shares = np.concatenate([np.where(decided, 0.0, own), np.where(decided, shares, 0.0)])
        codes, arcs = np.nonzero(shares >= least)
        values = np.minimum(shares[codes, arcs], 1.0)
        names = (*self.parser.labels, None)
        found: list[list[LabelledArc]] = [[] for _ in range(len(self))]
        order = np.argsort(-values, kind="stable")
        columns = (own[order].tolist() for own in (codes, heads[arcs], words[arcs], values))
        for code, head, word, value in zip(*columns, strict=True):
            if len(found[word - 1]) < k:
                found[word - 1].append(LabelledArc(head, names[code] or stay.get(word - 1, "_"), value))
        return [tuple(own) for own in found]

    def _label_marginals(self, least: float) -> Floats:
        """The probability of each arc together with each label, shape (L, n+1, n+1); 0 for arcs below ``least``."""
        temperatures, arcs = self.parser.temperatures, self.marginals
        probable = np.ascontiguousarray(np.where(arcs >= least, arcs, 0.0)).reshape(-1)
        flat = self.scores.batch.label_marginals(probable, temperatures.heads, temperatures.labels)
        return self.scores.split(flat)[0]

    def second_best(self) -> tuple[list[int], list[str], float] | None:
        """The best tree with other heads than the parser's: heads, labels, probability; None if there is none."""
        decoding = replace(
            self.parser.decoding,
            decode="map",
            projective=self.trees.projective,
            single_root=self.trees.single_root,
        )
        settings = decode_settings(decoding, self.parser.temperatures, probabilities=True)
        best = self.scores.batch.k_best(settings, 2, threads=1)
        n, own = len(self), self.heads
        for tree in range(int(np.asarray(best.counts)[0])):
            words = slice(tree * n, (tree + 1) * n)
            heads = [int(head) for head in best.heads[words]]
            if heads != own:
                return heads, self.named(best.labels[words]), float(np.exp(best.log_probability[tree]))
        return None
