"""``ScoredParser``: a scorer and a way to decode; every parser over the one engine is one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from arcwise import native
from arcwise.errors import NoTreeError
from arcwise.inference import Scores, TreeClass, TreeDistribution
from arcwise.learning.model_file import Packed, Precision, write_model
from arcwise.parsing.output import analysis
from arcwise.parsing.parser import DECODERS, Capabilities, Decoder, ParseOptions
from arcwise.parsing.parses import Analysis, Codes, KBestParses, Parses, k_best_of, parses_of
from arcwise.parsing.scorer import FusedScorer, Scorer, decode_scores, label_codes
from arcwise.treebanks import Sentence, Treebank
from arcwise.treebanks.files import PathLike

if TYPE_CHECKING:
    from typing import Self

_NATIVE_DECODERS: dict[Decoder, native.Decoder] = {
    "map": native.Decoder.map,
    "mbr": native.Decoder.minimum_risk,
    "mbr-labelled": native.Decoder.minimum_labelled_risk,
    "max-z": native.Decoder.max_z,
    "greedy": native.Decoder.greedy,
}
"""The option ``decode`` → the native decoder."""


@dataclass(frozen=True)
class Decoding:
    """How to parse unless told otherwise: chosen on the development data, else as in training."""

    decode: str = "map"
    projective: bool = False
    single_root: bool = True

    def with_options(self, options: ParseOptions) -> Decoding:
        """The same, but for what the options ask."""
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
    """What scores are divided by before they become probabilities: of heads, and of labels given their heads."""

    heads: float = 1.0
    labels: float = 1.0


def decode_settings(
    decoding: Decoding, temperatures: Temperatures = Temperatures(), *, probabilities: bool = False
) -> native.DecodeSettings:
    """The same for native code."""
    return native.DecodeSettings(
        decoder=_NATIVE_DECODERS[decoding.decode],  # type: ignore[index]
        projective=decoding.projective,
        single_root=decoding.single_root,
        temperature=temperatures.heads,
        label_temperature=temperatures.labels,
        probabilities=probabilities,
    )


class ScoredParser:
    """A parser made of any scorer: trees by every decoder, k best, confidences, distributions, calibration.

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

    def __init__(
        self,
        scorer: Scorer,
        *,
        decoding: Decoding = Decoding(),
        temperatures: Temperatures = Temperatures(),
    ) -> None:
        self._scorer, self._decoding, self._temperatures = scorer, decoding, temperatures

    @property
    def scorer(self) -> Scorer:
        """What makes the scores."""
        return self._scorer

    @property
    def decoding(self) -> Decoding:
        """How it parses unless told otherwise."""
        return self._decoding

    @property
    def temperatures(self) -> Temperatures:
        """How its scores become probabilities."""
        return self._temperatures

    def with_temperatures(self, heads: float, labels: float) -> Self:
        """The same parser with other confidences."""
        return type(self)(self._scorer, decoding=self._decoding, temperatures=Temperatures(heads, labels))

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that it gives; empty if it gives none."""
        return self.scorer.labels

    @property
    def capabilities(self) -> Capabilities:
        """Everything but a beam."""
        return Capabilities(
            decoders=DECODERS,
            projective=(True, False),
            single_root=(True, False),
            k_best=True,
            confidence=True,
            keep_heads=True,
            distributions=True,
        )

    @property
    def info(self) -> Mapping[str, Any]:
        """What the parser is."""
        return {"kind": self.kind, "labels": len(self.labels), "decoding": self.decoding}

    def pack(self, precision: Precision = "float32") -> Packed:
        """The scorer, with what the parser adds to it in the header."""
        packed = self.scorer.pack(precision)
        header = {**packed.header, "decoding": vars(self.decoding), "temperatures": vars(self.temperatures)}
        return replace(packed, header=header)

    def save(self, path: PathLike, *, precision: Precision = "float32") -> None:
        """Write the model file; it appears whole or not at all."""
        write_model(path, self.pack(precision))

    # ---- parsing

    def parse(
        self, treebank: Treebank, *, options: ParseOptions = ParseOptions(), threads: int = 1
    ) -> Treebank:
        """The treebank with HEAD and DEPREL replaced, and what the options ask for added; nothing else changes.

        ``NoTreeError`` if ``options.keep_heads`` and the heads of a sentence fit no tree of the class.
        """
        return self.analyse(treebank, options=options, threads=threads).treebank

    def analyse(
        self, treebank: Treebank, *, options: ParseOptions = ParseOptions(), threads: int = 1
    ) -> Analysis:
        """``parse``, and the same as arrays."""
        return analysis(self, treebank, options, threads)

    def parses(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions = ParseOptions(),
        asked: bool = False,
        threads: int = 1,
    ) -> Parses:
        """The best trees as arrays; with ``options.confidence`` their probabilities, and with ``asked`` also those of the heads
        and labels that the treebank has."""
        options.check(self.description, self.capabilities)
        decoding = self.decoding.with_options(options)
        settings = decode_settings(decoding, self.temperatures, probabilities=options.confidence)
        required = _kept_heads(treebank, options)
        asked = asked and options.confidence
        if isinstance(self.scorer, FusedScorer):
            result = self.scorer.decoded(treebank, settings, required=required, asked=asked, threads=threads)
        else:
            scores = self._scores(treebank, decoding, required, threads)
            own = (np.asarray(treebank.heads), label_codes(treebank, self.labels)) if asked else None
            result = decode_scores(scores, settings, asked=own, threads=threads)
        _check_parsed(treebank, result.parsed)
        return parses_of(result, self.labels, probabilities=options.confidence, asked=asked)

    def k_best_parses(self, treebank: Treebank, *, options: ParseOptions, threads: int = 1) -> KBestParses:
        """The ``options.k_best`` best trees of every sentence, all with other heads."""
        options.check(self.description, self.capabilities)
        decoding = self.decoding.with_options(options)
        settings = decode_settings(replace(decoding, decode="map"), self.temperatures)
        required = _kept_heads(treebank, options)
        if isinstance(self.scorer, FusedScorer):
            result = self.scorer.k_best_decoded(
                treebank, settings, k=options.k_best, required=required, threads=threads
            )
        else:
            scores = self._scores(treebank, decoding, required, threads)
            result = scores.batch.k_best(settings, options.k_best, threads=threads)
        _check_parsed(treebank, result.counts)
        return k_best_of(result, self.labels)

    def _scores(self, treebank: Treebank, decoding: Decoding, required: Codes | None, threads: int) -> Scores:
        """The scores of the treebank, without the arcs that the required heads rule out."""
        scores = self.scorer.scores(treebank, trees=decoding.trees, required=required, threads=threads)
        return scores if required is None else scores.constrained(heads=required)

    def distributions(
        self,
        sentences: Treebank | Sequence[Sentence],
        *,
        projective: bool | None = None,
        single_root: bool | None = None,
        threads: int = 1,
    ) -> TreeDistribution:
        """The distribution over (labelled) trees of every sentence, with the parser's temperatures."""
        treebank = sentences if isinstance(sentences, Treebank) else Treebank.from_sentences(sentences)
        trees = self.decoding.with_options(ParseOptions(projective=projective, single_root=single_root)).trees
        return TreeDistribution(
            self.scorer.scores(treebank, trees=trees, threads=threads),
            projective=trees.projective,
            single_root=trees.single_root,
            temperature=self.temperatures.heads,
            label_temperature=self.temperatures.labels,
            threads=threads,
        )


def _kept_heads(treebank: Treebank, options: ParseOptions) -> Codes | None:
    return np.ascontiguousarray(treebank.heads, np.int32) if options.keep_heads else None


def _check_parsed(treebank: Treebank, parsed: Any) -> None:
    failed = np.flatnonzero(np.asarray(parsed) == 0)
    if len(failed):
        sentence = treebank[int(failed[0])]
        name = sentence.sent_id or f"sentence {sentence.number + 1}"
        raise NoTreeError(
            f"{treebank.source} ({name}): the heads to be kept fit no tree of the class asked for"
        )
