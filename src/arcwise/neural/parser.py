"""``NeuralParser``: a BiLSTM or a transformer, and bilinear scores under exact inference (Dozat & Manning 2017; Koo et al. 2007)."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from arcwise.deprecation import renamed_keyword
from arcwise.distillation import Distillation
from arcwise.engine import Engine, ThisProcess
from arcwise.learning.folds import Development
from arcwise.learning.model_file import Packed
from arcwise.learning.progress import Progress
from arcwise.learning.trained_model import TrainedParser
from arcwise.neural.config import NeuralConfig
from arcwise.neural.model import KIND, NeuralModel
from arcwise.neural.scorer import EnsembleScorer, NeuralScorer, TaggingScorer
from arcwise.neural.tags import PredictedTags
from arcwise.optional import require
from arcwise.parsing.long_sentences import analyse_any_length
from arcwise.parsing.parser import Capabilities, ParseOptions, SentenceConstraints
from arcwise.parsing.parses import Analysis, KBestParses, Parses
from arcwise.parsing.scored import Decoding, ScoredParser, Temperatures
from arcwise.treebanks import Treebank, as_treebank
from arcwise.treebanks.columns import upos_confidence
from arcwise.treebanks.files import PathLike

if TYPE_CHECKING:
    from typing import Self

    from arcwise.neural.transformer_scorer import TransformerScorer

_SENTENCES = 256
"""Sentences whose scores, of a network with a transformer, are kept at a time."""


class NeuralParser(TrainedParser[NeuralModel], ScoredParser):
    """A trained neural parser. Training needs torch; parsing needs nothing but numpy, unless a transformer reads the words.

    Every decoder, class of trees, constraint and confidence is that of the graph-based parser: from the scores on both are the same.
    """

    kind: ClassVar[str] = KIND
    description: ClassVar[str] = "neural"
    scores_are_tempered: ClassVar[bool] = True

    @cached_property
    def scorer(self) -> EnsembleScorer | TransformerScorer:
        """Networks, in native code; in torch if they have a transformer."""
        if self.model.transformer is not None:
            return self._on("cpu" if self.model.config.device == "cpu" else "auto")
        return (NeuralScorer if len(self.model.members) == 1 else EnsembleScorer)(self.model)

    @property
    def decoding(self) -> Decoding:
        """How it parses unless told otherwise."""
        return self.model.decoding

    @property
    def temperatures(self) -> Temperatures:
        """How its scores become probabilities: the temperatures of the model are in its scores already."""
        return Temperatures(smoothing=self.model.temperatures.smoothing)

    @property
    def fitted(self) -> Temperatures:
        """Those of the model."""
        return self.model.temperatures

    def with_temperatures(self, heads: float, labels: float, smoothing: float = 0.0) -> Self:
        """The same parser with other confidences, whatever those that it had."""
        found = type(self)(self.model.with_temperatures(Temperatures(heads, labels, smoothing)))
        if self.model.transformer is not None:  # one transformer in memory, whatever the temperatures
            vars(found)["scorer"] = self.scorer.of(found.model)  # type: ignore[union-attr]
        return found

    def _placed(self, options: ParseOptions) -> Self:
        """The parser whose transformer runs where the options say; itself if they do not."""
        if options.device is None or self.model.transformer is None:
            return self
        if options.device not in self._elsewhere:
            other = copy.copy(self)
            vars(other)["scorer"] = self._on(options.device)
            self._elsewhere[options.device] = other
        return self._elsewhere[options.device]

    @cached_property
    def _elsewhere(self) -> dict[str, Self]:
        """Device → the same parser there, once it was asked for."""
        return {}

    def _on(self, device: str) -> TransformerScorer:
        """The networks with a transformer, on a device."""
        require("torch", "transformers")
        from arcwise.neural.transformer_scorer import TransformerScorer

        return TransformerScorer(self.model, device=device)

    # ---- training

    @classmethod
    @renamed_keyword("teaching", "distillation")
    def train(
        cls,
        train: Treebank,
        dev: Development = None,
        *,
        config: NeuralConfig = NeuralConfig(),
        threads: int = 1,
        progress: Progress | None = None,
        seen: PredictedTags | None = None,
        checkpoint: PathLike | None = None,
        engine: Engine = ThisProcess(),
        distillation: Distillation | None = None,
    ) -> Self:
        """Train on ``train``; epoch and decoder are chosen on ``dev`` if it is given, and temperatures fitted: a treebank, or folds of the
        training data (``"5fold"``; ``"auto"``: for a small treebank).

        Trees may be partial (heads ``_``). Ctrl-C keeps the best weights so far. ``seen``: training and development data with the tags
        that the network is to see, where it learns better ones (``config.learns``). ``checkpoint``: a file that is written after each epoch,
        and from which training goes on if it is there. ``engine``: where the networks of an ensemble, or of folds, are trained. ``distillation``: it learns what another parser says of the treebank, and of text.
        """
        from arcwise.neural.training import train_model

        model = train_model(
            train,
            dev,
            config,
            threads=threads,
            progress=progress,
            seen=seen,
            checkpoint=checkpoint,
            engine=engine,
            distillation=distillation,
        )
        return cls(model)

    @classmethod
    def _model_of(cls, packed: Packed) -> NeuralModel:
        return NeuralModel.unpack(packed)

    # ---- parsing

    def analyse(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions = ParseOptions(),
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> Analysis:
        """``parse``, and the same as arrays. A network that has learned tags beside trees also replaces those, but for what
        ``options.keep`` keeps."""
        treebank = as_treebank(treebank)
        options.check(self.description, self.capabilities)
        if not self.model.writes:
            return analyse_any_length(self, treebank, options, constraints, threads)
        own = self._tagging()
        return analyse_any_length(
            own,
            treebank,
            options,
            constraints,
            threads,
            tag_columns=lambda bank: own._tags(bank, options, threads),
        )

    def _tagging(self) -> Self:
        """The same parser, whose network makes tags in the pass in which it makes trees, where that is possible."""
        if type(self.scorer) is not NeuralScorer:
            return self
        other = copy.copy(self)
        vars(other)["scorer"] = TaggingScorer(self.scorer)
        return other

    def _parses(self, treebank: Treebank, options: ParseOptions, *others: Any) -> Parses:
        own = self._placed(options)
        return super(NeuralParser, own)._parses(treebank, options, *others)

    def k_best_parses(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions,
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> KBestParses:
        """The ``options.k_best`` best trees of every sentence, all with other heads, and their probabilities."""
        own = self._placed(options)
        return super(NeuralParser, own).k_best_parses(
            treebank, options=options, constraints=constraints, threads=threads
        )

    def _tags(self, treebank: Treebank, options: ParseOptions, threads: int) -> dict[str, Any]:
        """The columns of tags that the networks fill in."""
        found = self._placed(options).scorer.tags(treebank, threads=threads)
        names = self.model.tags.names
        # Only lemma scripts read the forms; a view of a treebank is not free.
        read = self.model.look_alikes.view(treebank) if "lemma" in names else treebank
        columns: dict[str, Any] = {}
        for name, coded in self.model.tags.annotations(read, [codes for codes, _ in found]).items():
            if name in self.model.writes:
                own = treebank.column(name) if name in options.kept else None
                columns[name] = coded if own is None else coded.where_blank(own)
        if options.confidence and "upos" in columns:
            sure = found[names.index("upos")][1]
            kept = treebank.column("upos") if "upos" in options.kept else None
            columns["misc_update"] = upos_confidence(sure, kept)
        return columns

    @property
    def capabilities(self) -> Capabilities:
        """Everything but a beam; it learns from partial trees."""
        in_torch = self.model.transformer is not None
        return replace(super().capabilities, partial_trees=True, device=in_torch)

    @property
    def batch_sentences(self) -> int | None:
        """Scores of a transformer are kept for some sentences at a time; native networks keep none."""
        return None if self.model.transformer is None else _SENTENCES

    @property
    def info(self) -> Mapping[str, Any]:
        """Configuration, training data, scores, sizes."""
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
