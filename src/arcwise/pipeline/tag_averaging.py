"""``TagAveragedParser``: a parser whose scores are averaged over the tags of several taggers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from arcwise.errors import ModelError
from arcwise.inference import Scores, TreeClass
from arcwise.learning.model_file import Packed, Precision
from arcwise.parsing.parser import TAGS, Parser
from arcwise.parsing.parses import Codes
from arcwise.parsing.scored import Decoding, ScoredParser, Temperatures
from arcwise.text.tagger import Tagger
from arcwise.treebanks import Treebank
from arcwise.treebanks.field_values import probability

if TYPE_CHECKING:
    from typing import Self

KIND = "tag-averaged"
VERSION = 1
_BATCH_SENTENCES = 64
"""Sentences whose dense scores are in memory at a time."""


class TagAveragedScorer:
    """Averages a parser's arc probabilities over the tags as they are and those of further taggers.

    Words whose MISC has a ``UposProb`` below 1 were tagged by a pipeline; all others keep their tags. A score
    is the logarithm of the mean, over the readings, of the probability of head and label of one word, which
    the parser's temperatures make of its scores.
    """

    def __init__(self, parser: ScoredParser, taggers: Sequence[Tagger]) -> None:
        self.parser, self.taggers = parser, tuple(taggers)

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the parser."""
        return self.parser.labels

    def scores(
        self, treebank: Treebank, *, trees: TreeClass, required: Codes | None = None, threads: int = 1
    ) -> Scores:
        """The scores of every sentence."""
        readings = [treebank, *self._other_readings(treebank, threads)]
        heads, labels = self.parser.temperatures.heads, self.parser.temperatures.labels
        means: list[npt.NDArray[np.float64]] = []
        for reading in readings:
            scores = self.parser.scorer.scores(reading, trees=trees, required=required, threads=threads)
            shares = [_word_distributions(matrix) for matrix in scores.tempered(heads, labels).dense_arrays()]
            means = shares if not means else [a + b for a, b in zip(means, shares, strict=True)]
        with np.errstate(divide="ignore"):
            return Scores.dense([np.log(total / len(readings)) for total in means], self.labels)

    def _other_readings(self, treebank: Treebank, threads: int) -> list[Treebank]:
        """The treebank with the tags of the other taggers on words that were tagged; none if none was."""
        shares = [probability(misc, "UposProb") for misc in treebank.column("misc")]
        predicted = [share is not None and share < 1 for share in shares]
        if not any(predicted):
            return []
        columns: dict[str, Any] = {
            column: ["_" if p else v for p, v in zip(predicted, treebank.column(column), strict=True)]
            for column in TAGS
        }
        blank = treebank.annotate(**columns)
        return [tagger.tag(blank, keep=TAGS, threads=threads) for tagger in self.taggers]

    def pack(self, precision: Precision = "float32") -> Packed:
        """Pack the parser and the taggers."""
        parser = self.parser.pack(precision)
        taggers = [tagger.pack("int8") for tagger in self.taggers]
        header = {
            "parser": {"kind": parser.kind, "version": parser.version, "header": parser.header},
            "taggers": [tagger.header for tagger in taggers],
        }
        arrays = {f"parser.{name}": values for name, values in parser.arrays.items()}
        for number, tagger in enumerate(taggers):
            arrays |= {f"tagger{number}.{name}": values for name, values in tagger.arrays.items()}
        return Packed(KIND, VERSION, header, arrays)


def _word_distributions(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """P(head, label) of each word on its own, from scores of shape ((L,) n+1, n+1)."""
    before_words = tuple(range(scores.ndim - 1))
    highest = scores.max(axis=before_words)
    # The root has no head: its column is -inf throughout.
    weights = np.exp(scores - np.where(np.isfinite(highest), highest, 0.0))
    totals: npt.NDArray[np.float64] = weights.sum(axis=before_words)
    return np.asarray(weights / np.where(totals > 0, totals, 1.0))


class TagAveragedParser(ScoredParser):
    """A parser in a pipeline that takes into account what its tagger is unsure of.

    A tagger trained on little data is often wrong and knows it; the parser sees one tag and cannot. Here the
    distribution over trees averages over several taggers, each trained without another part of the data.
    """

    kind: ClassVar[str] = KIND
    description: ClassVar[str] = "tag-averaged"

    def __init__(
        self,
        scorer: TagAveragedScorer,
        *,
        decoding: Decoding,
        temperatures: Temperatures = Temperatures(),
        report: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(scorer, decoding=decoding, temperatures=temperatures)
        self._averaged, self.report = scorer, dict(report or {})

    def with_temperatures(self, heads: float, labels: float, smoothing: float = 0.0) -> Self:
        """The same parser with another calibration."""
        at = Temperatures(heads, labels, smoothing)
        return type(self)(self._averaged, decoding=self.decoding, temperatures=at, report=self.report)

    @property
    def batch_sentences(self) -> int | None:
        """Number of sentences whose scores are in memory at a time."""
        return _BATCH_SENTENCES

    @property
    def info(self) -> Mapping[str, Any]:
        """That of the averaged parser, with this calibration and the number of further taggers."""
        at = self.temperatures
        temperatures = {"temperature": at.heads, "label_temperature": at.labels, "smoothing": at.smoothing}
        return {
            **self._averaged.parser.info,
            **temperatures,
            **self.report,
            "further_taggers": len(self._averaged.taggers),
        }

    def pack(self, precision: Precision = "float32") -> Packed:
        """The packed scorer, with decoding, calibration and report in the header."""
        packed = super().pack(precision)
        return replace(packed, header={**packed.header, "report": self.report})

    @classmethod
    def unpack(cls, packed: Packed, *, parser_of: Callable[[Packed], Parser]) -> Self:
        """Restore the parser; ``parser_of`` restores the one whose scores are averaged."""
        packed.expect(KIND, VERSION)
        header = packed.header
        inner = header["parser"]
        parser = parser_of(
            packed_part(packed, "parser", inner["header"], inner["kind"], int(inner["version"]))
        )
        if not isinstance(parser, ScoredParser):
            raise ModelError(f"{packed.path}: is a damaged {KIND} model (found a {parser.kind} parser)")
        taggers = [
            Tagger.unpack(packed_part(packed, f"tagger{number}", tagger, Tagger.kind, Tagger.version))
            for number, tagger in enumerate(header["taggers"])
        ]
        return cls(
            TagAveragedScorer(parser, taggers),
            decoding=Decoding(**header["decoding"]),
            temperatures=Temperatures(**header["temperatures"]),
            report=header["report"],
        )


def packed_part(packed: Packed, name: str, header: Mapping[str, Any], kind: str, version: int) -> Packed:
    """Extract one component, with its arrays under their original names."""
    arrays = {
        key.removeprefix(f"{name}."): values
        for key, values in packed.arrays.items()
        if key.startswith(f"{name}.")
    }
    return Packed(kind, version, header, arrays, packed.path, packed.size)
