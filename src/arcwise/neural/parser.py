"""``NeuralParser``: biaffine scores under exact inference (Dozat & Manning 2017; Koo et al. 2007)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from arcwise.deprecation import renamed_keyword
from arcwise.distillation import Distillation
from arcwise.engine import Engine, ThisProcess
from arcwise.learning.folds import Development
from arcwise.learning.progress import Progress
from arcwise.learning.trained_model import TrainedParser
from arcwise.neural.config import NeuralConfig
from arcwise.neural.model import KIND, NeuralModel
from arcwise.neural.scorer import EnsembleScorer, NeuralScorer, TaggingScorer
from arcwise.neural.tags import Codes, PredictedTags
from arcwise.optional import require
from arcwise.parsing.long_sentences import analyse_any_length
from arcwise.parsing.parser import Capabilities, ParseOptions, SentenceConstraints
from arcwise.parsing.parses import Analysis, KBestParses, Parses
from arcwise.parsing.scored import Decoding, ScoredParser, Temperatures
from arcwise.treebanks import Treebank, as_treebank
from arcwise.treebanks.columns import fill_blanks, string_column, upos_confidence
from arcwise.treebanks.files import PathLike

if TYPE_CHECKING:
    from typing import Self

    from arcwise.neural.transformer_scorer import TransformerScorer

_SENTENCES = 256
"""Sentences per batch with a transformer, whose scores are kept in memory."""

_UPOS_PROB = re.compile(r"(\bUposProb=)[^|]*")


class NeuralParser(TrainedParser[NeuralModel], ScoredParser):
    """A trained neural parser. Training needs torch.

    Parsing needs only numpy, unless the encoder is a transformer.

    Inference is that of the graph-based parser: decoders, classes of trees, constraints and confidences.
    """

    kind: ClassVar[str] = KIND
    model_class = NeuralModel
    description: ClassVar[str] = "neural"
    scores_are_tempered: ClassVar[bool] = True

    def __init__(
        self, model: NeuralModel, *, scorer: EnsembleScorer | TransformerScorer | None = None
    ) -> None:
        """``scorer``: networks that are loaded already; by default they are loaded when first needed."""
        super().__init__(model)
        self._loaded_scorer = scorer

    @property
    def scorer(self) -> EnsembleScorer | TransformerScorer:
        """The networks: native code, or torch if the encoder is a transformer."""
        if self._loaded_scorer is None:
            if self.model.transformer is not None:
                self._loaded_scorer = self._on("cpu" if self.model.config.device == "cpu" else "auto")
            else:
                single = len(self.model.members) == 1
                self._loaded_scorer = (NeuralScorer if single else EnsembleScorer)(self.model)
        return self._loaded_scorer

    @property
    def decoding(self) -> Decoding:
        """Decoder and class of trees that parsing uses by default."""
        return self.model.decoding

    @property
    def temperatures(self) -> Temperatures:
        """Smoothing of the probabilities; the model's temperatures are already applied to its scores."""
        return Temperatures(smoothing=self.model.temperatures.smoothing)

    @property
    def fitted(self) -> Temperatures:
        """Temperatures fitted in training or calibration."""
        return self.model.temperatures

    def with_temperatures(self, heads: float, labels: float, smoothing: float = 0.0) -> Self:
        """Return this parser with other temperatures, which replace those of the model."""
        return self.with_model(self.model.with_temperatures(Temperatures(heads, labels, smoothing)))

    def with_model(self, model: NeuralModel) -> Self:
        """Return a parser for a model with the same weights, but another decoding or calibration."""
        if self.model.transformer is None:
            return type(self)(model)
        # A transformer is large: share it instead of loading it again.
        return type(self)(model, scorer=self.scorer.of(model))  # type: ignore[union-attr]

    @property
    def members(self) -> tuple[Self, ...]:
        """The networks of the ensemble as separate parsers, e.g. for a ``MarginalEnsemble``."""
        model = replace(self.model, config=replace(self.model.config, ensemble=1))
        return tuple(type(self)(replace(model, members=(member,))) for member in model.members)

    def _placed(self, options: ParseOptions) -> Self:
        """Return the parser on the device of the options; itself without a device or a transformer."""
        if options.device is None or self.model.transformer is None:
            return self
        if options.device not in self._by_device:
            placed = type(self)(self.model, scorer=self._on(options.device))
            self._by_device[options.device] = placed
        return self._by_device[options.device]

    @cached_property
    def _by_device(self) -> dict[str, Self]:
        """This parser on each requested device."""
        return {}

    def _on(self, device: str) -> TransformerScorer:
        """Load the networks with a transformer onto a device."""
        require("torch", "transformers")
        from arcwise.neural.transformer_scorer import TransformerScorer

        return TransformerScorer(self.model, device=device)

    @classmethod
    @renamed_keyword("seen", "predicted_tags")
    @renamed_keyword("teaching", "distillation")
    def train(
        cls,
        train: Treebank,
        dev: Development = None,
        *,
        config: NeuralConfig = NeuralConfig(),
        threads: int = 1,
        progress: Progress | None = None,
        predicted_tags: PredictedTags | None = None,
        checkpoint: PathLike | None = None,
        engine: Engine = ThisProcess(),
        distillation: Distillation | None = None,
    ) -> Self:
        """Train a parser.

        ``dev`` selects the epoch and the decoder and calibrates the confidences: a treebank, or folds of the
        training data (``"5fold"``; ``"auto"``: folds if the treebank is small). Trees can be partial (heads
        ``_``). Ctrl-C keeps the best weights so far.

        ``predicted_tags``: the data with another tagger's tags as input, where the network learns the gold
        tags (``config.learns``). ``checkpoint``: file written after each epoch, from which training resumes
        if it exists. ``engine``: where ensemble members and folds are trained. ``distillation``: a teacher to
        learn from, on the treebank and on text.
        """
        from arcwise.neural.training import train_model

        model = train_model(
            train,
            dev,
            config,
            threads=threads,
            progress=progress,
            predicted_tags=predicted_tags,
            checkpoint=checkpoint,
            engine=engine,
            distillation=distillation,
        )
        return cls(model)

    def analyse(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions = ParseOptions(),
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> Analysis:
        """Parse, and also return the trees as arrays.

        A network that predicts tags replaces those columns too, except for values that ``options.keep``
        keeps.
        """
        treebank = as_treebank(treebank)
        options.check(self.description, self.capabilities)
        if not self.writes_tags:
            return analyse_any_length(self, treebank, options, constraints, threads)
        parser = self._tagging()
        return analyse_any_length(
            parser,
            treebank,
            options,
            constraints,
            threads,
            tag_columns=lambda part: parser.tag_columns(part, options, threads),
        )

    @property
    def writes_tags(self) -> bool:
        """Whether the network replaces tags, too."""
        return bool(self.model.writes)

    def _tagging(self) -> Self:
        """Return this parser with a scorer that predicts tags in the same pass, if the networks allow it."""
        if type(self.scorer) is not NeuralScorer:
            return self
        return type(self)(self.model, scorer=TaggingScorer(self.scorer))

    def _parses(self, treebank: Treebank, options: ParseOptions, *others: Any) -> Parses:
        placed = self._placed(options)
        return super(NeuralParser, placed)._parses(treebank, options, *others)

    def k_best_parses(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions,
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> KBestParses:
        """Return the best trees of every sentence, which differ in their heads, with probabilities."""
        placed = self._placed(options)
        return super(NeuralParser, placed).k_best_parses(
            treebank, options=options, constraints=constraints, threads=threads
        )

    def tag_columns(self, treebank: Treebank, options: ParseOptions, threads: int) -> dict[str, Any]:
        """Predict the tag columns, as arguments of ``Treebank.annotate``."""
        predictions = self._placed(options).scorer.tags(treebank, threads=threads)
        names = self.model.tags.names
        columns: dict[str, Any] = {}
        predicted = self._tag_values(treebank, predictions)
        overruled = self._overruled(treebank, predicted.get("upos"), options)
        for name, values in predicted.items():
            if name not in self.model.writes:
                continue
            if name in options.kept:
                columns[name] = fill_blanks(treebank.column(name), values)
            elif overruled is not None:
                inputs = np.where(overruled, np.array(treebank.column(name), object), "_")
                columns[name] = fill_blanks(inputs.tolist(), values)
            else:
                columns[name] = values
        if options.confidence and "upos" in columns:
            probabilities = predictions[names.index("upos")][1]
            kept = treebank.column("upos") if "upos" in options.kept else None
            columns["misc_update"] = upos_confidence(probabilities, kept)
        return columns

    def tag_probabilities(
        self, treebank: Treebank, *, threads: int = 1
    ) -> dict[str, tuple[list[str], list[float]]]:
        """For each column that the network predicts, its values and their probabilities.

        Lemmas have them, too, even if the network does not write its own.
        """
        predictions = self.scorer.tags(treebank, threads=threads)
        probabilities = self.model.tags.probabilities([shares for _, shares in predictions])
        return {
            name: (string_column(values, name).words(), probabilities[name].tolist())
            for name, values in self._tag_values(treebank, predictions).items()
        }

    def _tag_values(self, treebank: Treebank, predictions: Sequence[tuple[Codes, Any]]) -> dict[str, Any]:
        tags = self.model.tags
        # Only lemma scripts read the forms; a view of a treebank is not free.
        read = self.model.look_alikes.view(treebank) if "lemma" in tags.names else treebank
        return dict(tags.annotations(read, [codes for codes, _ in predictions]))

    def keep_tags(
        self, parsed: Treebank, original: Treebank, tagged: Treebank, options: ParseOptions
    ) -> Treebank:
        """Return ``parsed`` with the kept tags of ``original``.

        parsed: the output for ``tagged``, in which the network chose all tags that it writes.
        original: the input of the tagger. Only its values are kept, not those that the tagger filled in.
        """
        overruled = self._overruled(original, parsed.column("upos"), options)
        columns: dict[str, Any] = {}
        for name in self.model.writes:
            values = parsed.column(name)
            if overruled is not None:
                values = np.where(overruled, tagged.column(name), values).tolist()
            columns[name] = fill_blanks(original.column(name), values) if name in options.kept else values
        if options.confidence and "upos" in options.kept and "upos" in self.model.writes:
            pairs = zip(original.column("upos"), parsed.column("misc"), strict=True)
            columns["misc"] = [
                misc if tag == "_" else _UPOS_PROB.sub(r"\g<1>1.000", misc) for tag, misc in pairs
            ]
        return parsed.annotate(**columns)

    def _overruled(
        self, treebank: Treebank, upos: Any, options: ParseOptions
    ) -> npt.NDArray[np.bool_] | None:
        """Mask of words whose kept UPOS differs from the network's; None if no UPOS is kept.

        Their other tags, which depend on the UPOS, stay as the tagger predicted them given the kept one.
        """
        if upos is None or "upos" not in options.kept:
            return None
        kept = np.array(treebank.column("upos"), object)
        return (kept != "_") & (kept != np.array(string_column(upos, "upos").words(), object))

    @property
    def capabilities(self) -> Capabilities:
        """Everything except a beam; training accepts partial trees."""
        in_torch = self.model.transformer is not None
        return replace(super().capabilities, partial_trees=True, device=in_torch)

    @property
    def batch_sentences(self) -> int | None:
        """Batch size with a transformer, whose scores are kept.

        Native networks decode sentence by sentence.
        """
        return None if self.model.transformer is None else _SENTENCES

    @property
    def info(self) -> Mapping[str, Any]:
        """Sizes, configuration and training report."""
        model = self.model
        return {
            "kind": KIND,
            "networks": len(model.members),
            "labels": len(model.labels),
            "weights": sum(values.size for name, values in model.members[0].items()),
            "decoding": model.decoding,
            "temperature": model.temperatures.heads,
            "label_temperature": model.temperatures.labels,
            "smoothing": model.temperatures.smoothing,
            "config": model.config,
            **model.report,
        }
