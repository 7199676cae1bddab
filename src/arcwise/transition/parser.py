"""``TransitionParser``: a parser over any transition system (Bohnet et al. 2016)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from arcwise import native
from arcwise.deprecation import renamed_keyword
from arcwise.distillation import Distillation
from arcwise.engine import Engine, ThisProcess
from arcwise.learning.folds import Development
from arcwise.learning.progress import Progress
from arcwise.learning.trained_model import TrainedParser
from arcwise.parsing.output import analysis
from arcwise.parsing.parser import (
    MAX_BEAM,
    TAGS,
    Capabilities,
    ParseOptions,
    SentenceConstraints,
    check_threads,
    reject_constraints,
)
from arcwise.parsing.parses import (
    Analysis,
    GraphParses,
    KBestParses,
    Parses,
    Probabilities,
    k_best_from_native,
)
from arcwise.transition.config import TransitionConfig
from arcwise.transition.graphs import deps_column
from arcwise.transition.model import KIND, TransitionModel
from arcwise.treebanks import Treebank, as_treebank

if TYPE_CHECKING:
    from typing import Self

# Confidences are shares of the final beam; a beam of one would always be certain.
_BEAM_FOR_MASS = 16


class TransitionParser(TrainedParser[TransitionModel]):
    """A trained transition-based parser.

    >>> rows = "1 Birds _ NOUN _ _ 2 nsubj _ _", "2 sing _ VERB _ _ 0 root _ _", ""
    >>> treebank = Treebank.from_string("\\n".join(rows).replace(" ", "\\t") + "\\n")
    >>> config = TransitionConfig(epochs=3, move_bits=12, label_bits=10)
    >>> parser = TransitionParser.train(treebank, config=config)
    >>> parser.parse(treebank)[0].tree
    Tree.from_heads([2, 0], ['nsubj', 'root'])
    """

    kind: ClassVar[str] = KIND
    model_class = TransitionModel

    @classmethod
    @renamed_keyword("teaching", "distillation")
    def train(
        cls,
        train: Treebank,
        dev: Development = None,
        *,
        config: TransitionConfig = TransitionConfig(),
        threads: int = 1,
        progress: Progress | None = None,
        engine: Engine = ThisProcess(),
        distillation: Distillation | None = None,
    ) -> Self:
        """Train a parser.

        ``dev`` selects the epoch and fits the temperature: a treebank, cross-validation (``"5fold"``) or
        ``"auto"`` (cross-validation for a small treebank). The ``engine`` runs folds and ``config.parts`` in
        parallel. ``distillation``: also learn from a teacher's tree distributions. Ctrl-C keeps the best
        weights so far.
        """
        from arcwise.transition.training import train_model

        model = train_model(
            train, dev, config, threads=threads, progress=progress, engine=engine, distillation=distillation
        )
        return cls(model)

    @property
    def capabilities(self) -> Capabilities:
        """Beam search with k-best trees and confidences; DAG systems have no options."""
        if self.model.system.many_heads:
            return Capabilities(keep=(*TAGS, "head", "deprel"), writes="graphs")
        return Capabilities(
            keep=(*TAGS, "deps"), single_root=(True, False), k_best=True, confidence=True, beam=True
        )

    @property
    def info(self) -> Mapping[str, Any]:
        """Configuration, training data, scores, sizes."""
        model = self.model
        return {
            "kind": KIND,
            "system": model.system.name,
            "labels": len(model.labels),
            "weights": int(np.count_nonzero(model.weights)),
            "cells": len(model.weights),
            "temperature": model.temperature,
            "config": model.config,
            **model.report,
        }

    def parse(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions = ParseOptions(),
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> Treebank:
        """The treebank with predicted HEAD and DEPREL (of a DAG system: DEPS).

        Confidences are shares of the probability mass of the final beam (of size 16 or more): how far the
        surviving derivations agree. Unlike those of the graph-based parser, they are not probabilities over
        all trees.
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
        check_threads(threads)
        treebank = as_treebank(treebank)
        if self.model.system.many_heads:
            reject_constraints(str(self.model.system), constraints)
            parses = self.graph_parses(treebank, options=options, threads=threads)
            deps = deps_column(parses.graphs, treebank.sentence_lengths.tolist(), self.model.labels)
            return Analysis(treebank.annotate(deps=deps))
        return analysis(self, treebank, options, constraints, threads)

    def parses(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions = ParseOptions(),
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> Parses:
        """The best trees, with ``options.confidence`` also their shares of the final beam's mass."""
        reject_constraints("transition-based", constraints)
        result = self._result(treebank, options, threads, k=1)
        probabilities = None
        if options.confidence:
            probabilities = Probabilities(
                result.head_probability,
                result.label_probability,
                result.log_probability,
                result.entropy,
            )
        return Parses(result.heads, result.labels, self.model.labels, probabilities)

    def k_best_parses(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions,
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> KBestParses:
        """The ``options.k_best`` best trees of the final beam, with their shares of its mass."""
        reject_constraints("transition-based", constraints)
        result = self._result(treebank, replace(options, confidence=True), threads, k=options.k_best)
        return k_best_from_native(result, self.model.labels)

    def graph_parses(
        self, treebank: Treebank, *, options: ParseOptions = ParseOptions(), threads: int = 1
    ) -> GraphParses:
        """The graphs of a DAG system."""
        return GraphParses(self._result(treebank, options, threads, k=1).graphs, self.model.labels)

    def _result(
        self, treebank: Treebank, options: ParseOptions, threads: int, *, k: int
    ) -> native.TransitionParses:
        graphs = self.model.system.many_heads
        options.check(str(self.model.system) if graphs else "transition-based", self.capabilities)
        single_root = self.model.config.single_root if options.single_root is None else options.single_root
        view = self.model.look_alikes.view(treebank)
        return native.transition_parse(
            self.model.scorer,
            native.TransitionData(self.model.scorer, *view.fields),
            beam=self._beam(options),
            single_root=single_root,
            k=k,
            confidence=options.confidence,
            temperature=self.model.temperature,
            threads=threads,
        )

    def _beam(self, options: ParseOptions) -> int:
        beam = options.beam or self.model.config.beam
        if options.beam is None and (options.confidence or options.k_best > 1):
            return max(beam, _BEAM_FOR_MASS, min(options.k_best, MAX_BEAM))
        return beam
