"""``SiblingParser``: the second-order parser of McDonald & Pereira (2006)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from arcwise.engine import Engine, ThisProcess
from arcwise.learning.folds import Development
from arcwise.learning.progress import Progress
from arcwise.learning.trained_model import TrainedParser
from arcwise.parsing.scored import Decoding, ScoredParser, Temperatures
from arcwise.siblings.config import SiblingConfig
from arcwise.siblings.model import KIND, SiblingModel
from arcwise.siblings.scorer import SiblingScorer
from arcwise.treebanks import Treebank

if TYPE_CHECKING:
    from typing import Self


class SiblingParser(TrainedParser[SiblingModel], ScoredParser):
    """A trained second-order parser: arcs and pairs of adjacent siblings, exact over projective trees.

    >>> from arcwise.treebanks import Treebank
    >>> rows = "1 Birds _ NOUN _ _ 2 nsubj _ _", "2 sing _ VERB _ _ 0 root _ _", ""
    >>> treebank = Treebank.from_string("\\n".join(rows).replace(" ", "\\t") + "\\n")
    >>> config = SiblingConfig(epochs=2, arc_bits=12, row_bits=12, sibling_bits=12)
    >>> SiblingParser.train(treebank, config=config).parse(treebank)[0].tree
    Tree.from_heads([2, 0], ['nsubj', 'root'])
    """

    kind: ClassVar[str] = KIND
    model_class = SiblingModel

    description: ClassVar[str] = "second-order"

    @cached_property
    def scorer(self) -> SiblingScorer:
        """The scorer over hashed features of arcs and siblings."""
        return SiblingScorer(self.model)

    @property
    def decoding(self) -> Decoding:
        """The default decoder and tree class."""
        return self.model.decoding

    @property
    def temperatures(self) -> Temperatures:
        """The calibration applied to its scores."""
        model = self.model
        return Temperatures(model.temperature, model.label_temperature, model.smoothing)

    def with_temperatures(self, heads: float, labels: float, smoothing: float = 0.0) -> Self:
        """The same parser with another calibration."""
        return type(self)(self.model.with_temperatures(heads, labels, smoothing))  # type: ignore[arg-type]

    @classmethod
    def train(
        cls,
        train: Treebank,
        dev: Development = None,
        *,
        config: SiblingConfig = SiblingConfig(),
        threads: int = 1,
        progress: Progress | None = None,
        engine: Engine = ThisProcess(),
    ) -> Self:
        """Train a parser.

        ``dev`` selects the epoch and the decoder, and calibrates confidences: a treebank, or folds of the
        training data (``"5fold"``), of which the first is held out; the parser is then trained on everything.
        Sentences with unknown heads are left out. The same seed gives the same parser.
        """
        from arcwise.siblings.training import train_model

        return cls(train_model(train, dev, config, threads=threads, progress=progress))

    @property
    def info(self) -> Mapping[str, Any]:
        """Configuration, training data, scores, sizes."""
        model = self.model
        return {
            "kind": KIND,
            "order": 2,
            "trainer": model.config.trainer,
            "labels": len(model.alphabets.labels),
            "tags": len(model.alphabets.tags),
            "weights": int(np.count_nonzero(model.weights)),
            "sibling_weights": int(np.count_nonzero(model.siblings)),
            "cells": len(model.weights) + len(model.siblings),
            "decoding": model.decoding,
            "temperature": model.temperature,
            "label_temperature": model.label_temperature,
            "smoothing": model.smoothing,
            "config": model.config,
            **model.report,
        }
