"""A sentence scored once by a parser, and the posterior distribution over its trees under any decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from arcwise.annotation.states import ArcDecisions
from arcwise.factors import LegalRules
from arcwise.inference import LabelledArc, Scores, TreeClass, TreeDistributionBatch
from arcwise.inference.arc_matrices import ArcMatrices, Floats
from arcwise.neural import NeuralParser
from arcwise.parsing.constrained import ConstraintGroup, ParseConstraints, parse_groups
from arcwise.parsing.legal import LegalDecoding
from arcwise.parsing.parser import TAGS, ParseOptions, Parser
from arcwise.parsing.parses import Codes, Note
from arcwise.parsing.scored import ScoredParser, decode_settings
from arcwise.parsing.scorer import decode_scores
from arcwise.pipeline.pipeline import as_pipeline, tree_parser
from arcwise.treebanks import Treebank
from arcwise.treebanks.field_values import probability

_KEEP_ARCS = ParseOptions(keep=("head", "deprel"))
_KEEP_TAGS = ParseOptions(keep=TAGS, confidence=True)


def tagged_input(model: Parser, treebank: Treebank) -> Treebank:
    """The treebank as the parser of a model reads it: a pipeline fills in missing tags first."""
    pipeline = as_pipeline(model)
    return treebank if pipeline is None else pipeline.tagger.tag(treebank, keep=TAGS, confidence=True)


def proposed_tags(
    model: Parser, treebank: Treebank, tagged: Treebank
) -> tuple[tuple[Mapping[str, str], ...], tuple[Mapping[str, float], ...]]:
    """The model's values for columns where ``treebank`` has ``_``, and the probabilities that it states.

    A tagger states that of UPOS; a network that writes tags, those of all values that it has chosen, too.
    """
    parser = tree_parser(model)
    output = tagged
    if isinstance(parser, NeuralParser) and parser.writes_tags:
        # Not ``tagged``: all tags that the file does not have are for the network to choose.
        output = model.parse(treebank, options=_KEEP_TAGS)
    tags: list[dict[str, str]] = [{} for _ in range(treebank.word_count)]
    if output is not treebank:
        for column in TAGS:
            pairs = zip(treebank.column(column), output.column(column), strict=True)
            for word_tags, (before, after) in zip(tags, pairs, strict=True):
                if before == "_" and after != "_":
                    word_tags[column] = after
    probabilities: list[dict[str, float]] = [{} for _ in tags]
    for word_tags, shares, misc in zip(tags, probabilities, output.column("misc"), strict=True):
        share = probability(misc, "UposProb") if "upos" in word_tags else None
        if share is not None:
            shares["upos"] = share
    if isinstance(parser, NeuralParser) and parser.writes_tags:
        for name, (values, of_values) in parser.tag_probabilities(tagged).items():
            for word_tags, shares, value, share in zip(tags, probabilities, values, of_values, strict=True):
                if word_tags.get(name) == value:
                    shares.setdefault(name, share)
    return tuple(tags), tuple(probabilities)


@dataclass(frozen=True)
class ScoredSentence:
    """One sentence with its scores, before any decision."""

    parser: ScoredParser
    treebank: Treebank
    """The sentence as the parser reads it: tagged, HEAD and DEPREL ``_``."""
    scores: Scores
    tags: tuple[Mapping[str, str], ...]
    """For each word: column → the tagger's value."""
    tag_probabilities: tuple[Mapping[str, float], ...]
    """For each word: column → the probability of that value."""
    rules: LegalRules | None = None
    """Rules that suggested trees must obey."""

    def under(self, decisions: ArcDecisions) -> Posterior:
        """The posterior over its trees under decisions without a cycle."""
        data = decisions.in_bytes(self.treebank.data)
        bank = Treebank(data, source=self.treebank.source)
        trees, labels = self.parser.decoding.trees, self.parser.labels
        decided = ParseConstraints.of(bank, _KEEP_ARCS, None, trees, labels)
        legal = None if self.rules is None else LegalDecoding(self.rules, labels, decided)
        parts, notes, _ = parse_groups(decided, lambda group: self._posterior(group, legal))
        assert parts, "decisions form a cycle"
        notes = notes if legal is None else [*notes, *legal.notes]
        return replace(parts[0][1], notes=tuple(notes), fixed_labels=decided.labels)

    def _posterior(self, group: ConstraintGroup, legal: LegalDecoding | None) -> tuple[Posterior, Codes]:
        parser = self.parser
        scores = parser.constrain(self.scores, group)
        decoding = replace(
            parser.decoding, projective=group.trees.projective, single_root=group.trees.single_root
        )
        settings = decode_settings(decoding, parser.temperatures, probabilities=True)
        result = decode_scores(scores, settings)
        if legal is not None:
            result = legal.legal_parses(group, scores, result, settings, threads=1)
        return Posterior(parser, scores, group.trees, result), np.asarray(result.parsed)


@dataclass(frozen=True)
class Posterior:
    """The distribution over the trees of one sentence under decisions, and the parser's tree."""

    parser: ScoredParser
    scores: Scores
    trees: TreeClass
    result: Any
    """The output of the native decoder: the parser's tree and its probabilities."""
    notes: tuple[Note, ...] = ()
    fixed_labels: Mapping[int, str] = field(default_factory=dict)
    """Word (from 0) → its decided label."""

    def __len__(self) -> int:
        """The number of words."""
        return int(self.scores.lengths[0])

    @property
    def heads(self) -> list[int]:
        """The head of each word in the parser's tree."""
        return [int(head) for head in self.result.heads]

    @cached_property
    def labels(self) -> list[str]:
        """The label of each word in the parser's tree."""
        return self.named(self.result.labels)

    @cached_property
    def label_probabilities(self) -> list[float]:
        """Joint probability of head and label of each word; a decided label has probability 1."""
        joint = [float(p) for p in self.result.label_probability]
        for word in self.fixed_labels:
            joint[word] = float(self.result.head_probability[word])
        return joint

    def named(self, codes: Any) -> list[str]:
        """The names of label codes, with decided labels in their places."""
        names = (*self.parser.labels, "_")
        labels = [names[int(code)] for code in codes]
        for word, label in self.fixed_labels.items():
            labels[word] = label
        return labels

    @cached_property
    def weights(self) -> ArcMatrices:
        """Log weights of arcs with labels summed out."""
        temperatures = self.parser.temperatures
        flat = self.scores.batch.arc_weights(temperatures.heads, temperatures.smoothing, 1)
        return ArcMatrices.of_flat(flat, self.scores.lengths)

    @cached_property
    def distribution(self) -> TreeDistributionBatch:
        """The distribution over trees, at the parser's temperatures."""
        temperatures = self.parser.temperatures
        return TreeDistributionBatch(
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
        return np.asarray(np.minimum(self.distribution.marginals[0], 1.0))  # above 1 by rounding only

    def alternatives(self, k: int, least: float) -> list[tuple[LabelledArc, ...]]:
        """The ``k`` most probable (head, label) pairs of each word with probability at least ``least``."""
        # Below 1e-12 a marginal is rounding, and listing it would show impossible arcs.
        least, fixed, marginals = max(least, 1e-12), self.fixed_labels, self.marginals
        heads, words = np.nonzero(marginals >= least)
        shares = marginals[None, heads, words]
        if self.parser.labels:
            labelled = self._label_marginals(least)[:, heads, words]
            decided = np.isin(words - 1, list(fixed))
            shares = np.concatenate([np.where(decided, 0.0, labelled), np.where(decided, shares, 0.0)])
        codes, arcs = np.nonzero(shares >= least)
        values = np.minimum(shares[codes, arcs], 1.0)
        names = (*self.parser.labels, None)
        arcs_of: list[list[LabelledArc]] = [[] for _ in range(len(self))]
        order = np.argsort(-values, kind="stable")
        columns = (column[order].tolist() for column in (codes, heads[arcs], words[arcs], values))
        for code, head, word, value in zip(*columns, strict=True):
            if len(arcs_of[word - 1]) < k:
                arcs_of[word - 1].append(LabelledArc(head, names[code] or fixed.get(word - 1, "_"), value))
        return [tuple(word_arcs) for word_arcs in arcs_of]

    def _label_marginals(self, least: float) -> Floats:
        """The joint probability of each arc and label, shape (L, n+1, n+1); 0 for arcs below ``least``."""
        temperatures, arcs = self.parser.temperatures, self.marginals
        # Labels of improbable arcs are never shown; with zeros the native code skips them.
        probable = np.ascontiguousarray(np.where(arcs >= least, arcs, 0.0)).reshape(-1)
        flat = self.scores.batch.label_marginals(probable, temperatures.heads, temperatures.labels)
        return self.scores.split(flat)[0]

    def second_best(self) -> tuple[list[int], list[str], float] | None:
        """The best tree with other heads than the parser's: heads, labels, probability; or None."""
        decoding = replace(
            self.parser.decoding,
            # Best by score, also where the parser itself decodes by minimum risk.
            decode="map",
            projective=self.trees.projective,
            single_root=self.trees.single_root,
        )
        settings = decode_settings(decoding, self.parser.temperatures, probabilities=True)
        # Two trees suffice: at most one of them has the parser's heads.
        best = self.scores.batch.k_best(settings, 2, threads=1)
        n, parsed_heads = len(self), self.heads
        for tree in range(int(np.asarray(best.counts)[0])):
            words = slice(tree * n, (tree + 1) * n)
            heads = [int(head) for head in best.heads[words]]
            if heads != parsed_heads:
                return heads, self.named(best.labels[words]), float(np.exp(best.log_probability[tree]))
        return None
