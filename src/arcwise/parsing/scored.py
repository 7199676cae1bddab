"""``ScoredParser``: a parser made of a scorer and the shared decoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from arcwise import native
from arcwise.errors import OptionError
from arcwise.inference import Alternative, Constraints, Scores, TreeClass, TreeDistributionBatch
from arcwise.inference.arc_matrices import span_arrays
from arcwise.learning.model_file import Packed, Precision, write_model
from arcwise.parsing.constrained import (
    ConstraintGroup,
    ParseConstraints,
    assemble,
    assemble_k_best,
    parse_groups,
)
from arcwise.parsing.long_sentences import analyse_any_length
from arcwise.parsing.misc_form import LEAST
from arcwise.parsing.parser import DECODERS, KEPT, Capabilities, Decoder, ParseOptions, SentenceConstraints
from arcwise.parsing.parses import (
    Analysis,
    Codes,
    KBestParses,
    Parses,
    k_best_from_native,
    parses_from_native,
)
from arcwise.parsing.scorer import FusedScorer, Scorer, decode_scores, label_codes
from arcwise.treebanks import Sentence, Treebank, as_treebank
from arcwise.treebanks.files import PathLike

if TYPE_CHECKING:
    from typing import Self

    from arcwise.parsing.legal import LegalDecoding

_NATIVE_DECODERS: dict[Decoder, native.Decoder] = {
    "map": native.Decoder.map,
    "mbr": native.Decoder.minimum_risk,
    "mbr-labelled": native.Decoder.minimum_labelled_risk,
    "max-z": native.Decoder.max_z,
    "greedy": native.Decoder.greedy,
}
"""The option ``decode`` → the native decoder."""
_DENSE_SENTENCES = 64
"""Sentences whose dense labelled marginals are in memory at a time."""


@dataclass(frozen=True)
class Decoding:
    """The default decoder and tree class: selected on development data, otherwise those of training."""

    decode: str = "map"
    projective: bool = False
    single_root: bool = True

    def with_options(self, options: ParseOptions) -> Decoding:
        """The decoding with the options that are set."""
        return Decoding(
            options.decode or self.decode,
            self.projective if options.projective is None else options.projective,
            self.single_root if options.single_root is None else options.single_root,
        )

    @property
    def trees(self) -> TreeClass:
        """The class of trees."""
        return TreeClass(projective=self.projective, single_root=self.single_root)


@dataclass(frozen=True)
class Temperatures:
    """Calibration: temperatures of head scores and of label scores given the head, and smoothing.

    Smoothing adds this fraction of a word's best arc weight, spread over all its arcs (``TreeDistribution``).
    """

    heads: float = 1.0
    labels: float = 1.0
    smoothing: float = 0.0


def decode_settings(
    decoding: Decoding, temperatures: Temperatures = Temperatures(), *, probabilities: bool = False
) -> native.DecodeSettings:
    """The settings of the native decoder."""
    return native.DecodeSettings(
        decoder=_NATIVE_DECODERS[decoding.decode],  # type: ignore[index]
        projective=decoding.projective,
        single_root=decoding.single_root,
        temperature=temperatures.heads,
        label_temperature=temperatures.labels,
        smoothing=temperatures.smoothing,
        probabilities=probabilities,
    )


class ScoredParser:
    """A parser over any scorer: all decoders, k-best trees, confidences, distributions, calibration.

    >>> from arcwise.parsing.scorer import FunctionScorer
    >>> def left_to_right(sentence):
    ...     return np.eye(len(sentence) + 1, k=1)
    >>> parser = ScoredParser(FunctionScorer(left_to_right))
    >>> rows = "".join(f"{i}\\tw\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\t_\\n" for i in (1, 2, 3)) + "\\n"
    >>> parser.parse(Treebank.from_string(rows)).heads.tolist()
    [0, 1, 2]
    """

    kind: ClassVar[str] = "scored"
    description: ClassVar[str] = "scored"
    scores_are_tempered: ClassVar[bool] = False
    """Whether its scores are already divided by the temperatures (``fitted``), as in neural parsers."""

    def __init__(
        self,
        scorer: Scorer,
        *,
        decoding: Decoding = Decoding(),
        temperatures: Temperatures = Temperatures(),
    ) -> None:
        self._scorer, self._decoding, self._temperatures = scorer, decoding, temperatures

    def __repr__(self) -> str:
        scorer = type(self.scorer).__name__
        return f"<{type(self).__name__}: {scorer}, {self.decoding.decode}, {self.decoding.trees}>"

    @property
    def scorer(self) -> Scorer:
        """The scorer."""
        return self._scorer

    @property
    def decoding(self) -> Decoding:
        """The default decoder and tree class."""
        return self._decoding

    @property
    def temperatures(self) -> Temperatures:
        """The calibration applied to its scores."""
        return self._temperatures

    @property
    def fitted(self) -> Temperatures:
        """The calibration set by ``with_temperatures``, whether or not it is already part of the scores."""
        return self.temperatures

    def with_temperatures(self, heads: float, labels: float, smoothing: float = 0.0) -> Self:
        """The same parser with another calibration."""
        temperatures = Temperatures(heads, labels, smoothing)
        return type(self)(self._scorer, decoding=self._decoding, temperatures=temperatures)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that it predicts; empty for an unlabelled parser."""
        return self.scorer.labels

    @property
    def batch_sentences(self) -> int | None:
        """Number of sentences whose scores are in memory at a time; None: all of a call."""
        return None

    @property
    def capabilities(self) -> Capabilities:
        """Everything except a beam."""
        return Capabilities(
            decoders=DECODERS,
            projective=(True, False),
            single_root=(True, False),
            k_best=True,
            confidence=True,
            keep=KEPT,
            constraints=True,
            alternatives=True,
            legal=bool(self.labels),
            distributions=True,
        )

    @property
    def info(self) -> Mapping[str, Any]:
        """Kind, number of labels and default decoding."""
        return {"kind": self.kind, "labels": len(self.labels), "decoding": self.decoding}

    def pack(self, precision: Precision = "float32") -> Packed:
        """The packed scorer, with decoding and calibration in the header."""
        packed = self.scorer.pack(precision)
        header = {**packed.header, "decoding": vars(self.decoding), "temperatures": vars(self.temperatures)}
        return replace(packed, header=header)

    def save(self, path: PathLike, *, precision: Precision = "float32") -> None:
        """Write the model file atomically."""
        write_model(path, self.pack(precision))

    def parse(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions = ParseOptions(),
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> Treebank:
        """The treebank with predicted HEAD and DEPREL, and the additional output that the options ask for.

        ``constraints``: constraints on the tree of each sentence, or None. A sentence whose kept heads need
        crossing arcs or several roots may have them whatever the class of trees; its comment ``parse_note``
        says so.
        """
        return self.analyse(treebank, options=options, constraints=constraints, threads=threads).treebank

    def analyse(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions = ParseOptions(),
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> Analysis:
        """Like ``parse``, but also returns the parses as arrays."""
        return analyse_any_length(self, as_treebank(treebank), options, constraints, threads)

    def parses(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions = ParseOptions(),
        constraints: SentenceConstraints = None,
        gold: bool = False,
        threads: int = 1,
    ) -> Parses:
        """The best trees as arrays.

        With ``options.confidence`` also their probabilities, and with ``gold`` those of the treebank's own
        heads and labels. All probabilities are conditional on the constraints.
        """
        return self._parses(treebank, options, constraints, gold, threads, LEAST)

    def _parses(
        self,
        treebank: Treebank,
        options: ParseOptions,
        constraints: SentenceConstraints,
        gold: bool,
        threads: int,
        least: float,
    ) -> Parses:
        decoding, joined = self._joined_constraints(treebank, options, constraints)
        legal = self._legal_decoding(options, decoding, joined)
        # Probabilities of gold arcs need the same marginals as confidences.
        gold = gold and options.confidence

        def parse(group: ConstraintGroup) -> tuple[Parses, Codes]:
            settings = self._settings(decoding, group, probabilities=options.confidence)
            alternatives = None
            # Alternatives read whole marginals, for which the scores must exist.
            if self._is_fused(group) and not options.alternatives:
                result = self.scorer.decoded(  # type: ignore[attr-defined]
                    group.treebank,
                    settings,
                    required=group.required(),
                    gold=gold,
                    legal=None if legal is None else legal.settings(group),
                    threads=threads,
                )
                if legal is not None:
                    legal.note(group, result)
            else:
                scores = self._scores(group, threads)
                bank = group.treebank
                gold_arcs = (np.asarray(bank.heads), label_codes(bank, self.labels)) if gold else None
                result = decode_scores(scores, settings, gold=gold_arcs, spans=group.spans, threads=threads)
                if legal is not None:
                    result = legal.legal_parses(group, scores, result, settings, threads)
                # Without a tree there is no distribution; the group is split and parsed again.
                if options.alternatives and np.all(result.parsed):
                    alternatives = [
                        word for sentence in self._alternatives(scores, group, least) for word in sentence
                    ]
            parses = parses_from_native(result, self.labels, probabilities=options.confidence, gold=gold)
            return replace(parses, alternatives=alternatives), result.parsed

        parts, notes, unparsed = parse_groups(joined, parse)
        if legal is not None:
            # A group that was parsed in two steps has its notes twice.
            notes = sorted({*notes, *legal.notes}, key=lambda note: (note.sentence, note.text))
        return assemble(joined, parts, notes, unparsed, self.labels)

    @cached_property
    def _learned_rules(self) -> Any:
        """The rules in the model file; cached, because ``info`` counts weights."""
        return self.info.get("legal")

    def _legal_decoding(
        self, options: ParseOptions, decoding: Decoding, constraints: ParseConstraints
    ) -> LegalDecoding | None:
        if options.legal is None:
            return None
        from arcwise.parsing.legal import LegalDecoding, rules_of

        if decoding.decode == "greedy":
            raise OptionError(
                "legal", f'found {options.legal!r} with decode="greedy", expected another decoder'
            )
        rules = rules_of(options.legal, lambda: self._learned_rules)
        return LegalDecoding(rules, self.labels, constraints)

    def k_best_parses(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions,
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> KBestParses:
        """The ``options.k_best`` best trees of every sentence, with different heads."""
        decoding, joined = self._joined_constraints(treebank, replace(options, alternatives=0), constraints)

        def parse(group: ConstraintGroup) -> tuple[KBestParses, Codes]:
            # k best trees are ranked by score, whatever decoder picks the single best.
            settings = self._settings(replace(decoding, decode="map"), group, probabilities=True)
            if self._is_fused(group):
                result = self.scorer.k_best_decoded(  # type: ignore[attr-defined]
                    group.treebank, settings, k=options.k_best, required=group.required(), threads=threads
                )
            else:
                ends, starts = span_arrays(group.spans)
                result = self._scores(group, threads).batch.k_best(
                    settings, options.k_best, span_ends=ends, span_starts=starts, threads=threads
                )
            return k_best_from_native(result, self.labels), np.asarray(result.counts)

        best = assemble_k_best(joined, *parse_groups(joined, parse), self.labels)
        if not options.alternatives:
            return best
        single = replace(options, k_best=1)
        parses = self.parses(treebank, options=single, constraints=constraints, threads=threads)
        return replace(best, alternatives=parses.alternatives)

    def alternatives(
        self,
        treebank: Treebank,
        *,
        k: int = 3,
        options: ParseOptions = ParseOptions(),
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> list[list[list[Alternative]]]:
        """The ``k`` most probable heads of each word, each with its ``k`` most probable labels.

        Probabilities are conditional on ``options.keep`` and ``constraints``; a sentence without a tree has
        none.
        """
        options = replace(options, alternatives=k, k_best=1)
        parses = self._parses(treebank, options, constraints, False, threads, 0.0)
        assert parses.alternatives is not None
        starts = treebank.sentence_words.astype(int).tolist()
        words = [[replace(head, labels=head.labels[:k]) for head in word[:k]] for word in parses.alternatives]
        return [words[first:last] for first, last in pairwise(starts)]

    def _joined_constraints(
        self, treebank: Treebank, options: ParseOptions, constraints: SentenceConstraints
    ) -> tuple[Decoding, ParseConstraints]:
        options.check(self.description, self.capabilities)
        decoding = self.decoding.with_options(options)
        # Labelled marginals of a sentence take L(n+1)² doubles, so alternatives go in small groups.
        most = _DENSE_SENTENCES if options.alternatives else self.batch_sentences
        return decoding, ParseConstraints.of(
            treebank, options, constraints, decoding.trees, self.labels, max_group=most
        )

    def _settings(
        self, decoding: Decoding, group: ConstraintGroup, *, probabilities: bool
    ) -> native.DecodeSettings:
        decoding = replace(decoding, projective=group.trees.projective, single_root=group.trees.single_root)
        return decode_settings(decoding, self.temperatures, probabilities=probabilities)

    def _is_fused(self, group: ConstraintGroup) -> bool:
        return group.is_plain and isinstance(self.scorer, FusedScorer)

    def _scores(self, group: ConstraintGroup, threads: int) -> Scores:
        """The scores of a group under its constraints."""
        required = group.required()
        # The scorer learns the required heads, because pruning must not remove their arcs.
        scores = self.scorer.scores(group.treebank, trees=group.trees, required=required, threads=threads)
        return self.constrain(scores, group, threads=threads)

    def constrain(self, scores: Scores, group: ConstraintGroup, *, threads: int = 1) -> Scores:
        """Rule out the arcs and labels that the constraints of a group forbid."""
        if group.is_free:
            return scores
        heads, smoothing = self.temperatures.heads, self.temperatures.smoothing
        # Before masking: smoothing is a fraction of the best arc that the model sees, allowed or not.
        highest = scores.highest(heads, threads=threads) if smoothing > 0 else None
        return scores.constrained(
            heads=group.required(),
            labels=group.labels(self.labels),
            forbidden=group.forbidden(),
            highest=highest,
        )

    def _alternatives(
        self, scores: Scores, group: ConstraintGroup, least: float
    ) -> list[list[list[Alternative]]]:
        spans = [Constraints(subtrees=spans) if spans else None for spans in group.spans]
        trees = TreeDistributionBatch(
            scores,
            projective=group.trees.projective,
            single_root=group.trees.single_root,
            constraints=spans,
            temperature=self.temperatures.heads,
            label_temperature=self.temperatures.labels,
            smoothing=self.temperatures.smoothing,
        )
        # All above `least`: the k best pairs of head and label are chosen later, over all heads.
        return trees.alternatives(None, least=least)

    def distributions(
        self,
        sentences: Treebank | Sequence[Sentence],
        *,
        projective: bool | None = None,
        single_root: bool | None = None,
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> TreeDistributionBatch:
        """The distribution over (labelled) trees of every sentence, with the parser's calibration.

        ``constraints``: one or None per sentence; ``given`` of the result conditions the same scores on
        others.
        """
        treebank = sentences if isinstance(sentences, Treebank) else Treebank.from_sentences(sentences)
        trees = self.decoding.with_options(ParseOptions(projective=projective, single_root=single_root)).trees
        return TreeDistributionBatch(
            self.scorer.scores(treebank, trees=trees, threads=threads),
            projective=trees.projective,
            single_root=trees.single_root,
            constraints=constraints,
            temperature=self.temperatures.heads,
            label_temperature=self.temperatures.labels,
            smoothing=self.temperatures.smoothing,
            threads=threads,
        )
