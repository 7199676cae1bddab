"""``GraphParser``: the arc-factored parser (McDonald et al. 2005, Koo et al. 2007)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from arcwise.deprecation import renamed_keyword
from arcwise.distillation import Distillation
from arcwise.engine import Engine, ThisProcess
from arcwise.graph.config import GraphConfig
from arcwise.graph.model import KIND, GraphModel
from arcwise.graph.scorer import GraphScorer
from arcwise.learning.folds import Development
from arcwise.learning.progress import Progress
from arcwise.learning.trained_model import TrainedParser
from arcwise.parsing.parser import Capabilities
from arcwise.parsing.scored import Decoding, ScoredParser, Temperatures
from arcwise.treebanks import Treebank

if TYPE_CHECKING:
    from typing import Self


class GraphParser(TrainedParser[GraphModel], ScoredParser):
    """A trained graph-based parser.

    >>> from arcwise.treebanks import Treebank
    >>> rows = "1 Birds _ NOUN _ _ 2 nsubj _ _", "2 sing _ VERB _ _ 0 root _ _", ""
    >>> treebank = Treebank.from_string("\\n".join(rows).replace(" ", "\\t") + "\\n")
    >>> parser = GraphParser.train(treebank, config=GraphConfig(epochs=2, arc_bits=12, row_bits=12))
    >>> parser.parse(treebank)[0].tree
    Tree.from_heads([2, 0], ['nsubj', 'root'])
    """

    kind: ClassVar[str] = KIND
    model_class = GraphModel

    description: ClassVar[str] = "graph-based"

    @cached_property
    def scorer(self) -> GraphScorer:
        """The scorer over hashed features."""
        return GraphScorer(self.model)

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
        return type(self)(self.model.with_temperatures(heads, labels, smoothing))

    @classmethod
    @renamed_keyword("teaching", "distillation")
    def train(
        cls,
        train: Treebank,
        dev: Development = None,
        *,
        config: GraphConfig = GraphConfig(),
        threads: int = 1,
        progress: Progress | None = None,
        engine: Engine = ThisProcess(),
        distillation: Distillation | None = None,
    ) -> Self:
        """Train a parser.

        ``dev`` selects the epoch, C (``config.try_C``) and the decoder, and calibrates confidences: a
        treebank, cross-validation (``"5fold"``) or ``"auto"`` (cross-validation for a small treebank). The
        ``engine`` runs values of C, folds and ``config.parts`` in parallel. ``distillation``: also learn from
        a teacher's tree distributions.

        Trees may be partial (heads ``_``). Ctrl-C keeps the best weights so far. The same seed gives the same
        parser at any number of threads.
        """
        from arcwise.graph.training import train_model

        model = train_model(
            train, dev, config, threads=threads, progress=progress, engine=engine, distillation=distillation
        )
        return cls(model)

    @property
    def capabilities(self) -> Capabilities:
        """Everything except a beam; partial trees are supported in training."""
        return replace(super().capabilities, partial_trees=True)

    @property
    def info(self) -> Mapping[str, Any]:
        """Configuration, training data, scores, sizes."""
        model = self.model
        nonzero = int(np.count_nonzero(model.weights))
        return {
            "kind": KIND,
            "trainer": model.config.trainer,
            "labels": len(model.alphabets.labels),
            "tags": len(model.alphabets.tags),
            "weights": nonzero,
            "cells": len(model.weights),
            "decoding": model.decoding,
            "temperature": model.temperature,
            "label_temperature": model.label_temperature,
            "smoothing": model.smoothing,
            "config": model.config,
            **model.report,
        }
