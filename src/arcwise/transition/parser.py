"""``TransitionParser``: a trained parser driven by the control parameters of its system (Bohnet et al. 2016)."""

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
from arcwise.learning.model_file import Packed
from arcwise.learning.progress import Progress
from arcwise.learning.trained_model import TrainedParser
from arcwise.parsing.output import analysis
from arcwise.parsing.parser import (
    MAX_BEAM,
    TAGS,
    Capabilities,
    ParseOptions,
    SentenceConstraints,
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

_BEAM_FOR_MASS = 16


class TransitionParser(TrainedParser[TransitionModel]):
    """A trained transition-based parser.

    >>> rows = "1\\tBirds\\t_\\tNOUN\\t_\\t_\\t2\\tnsubj\\t_\\t_\\n2\\tsing\\t_\\tVERB\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n"
    >>> treebank = Treebank.from_string(rows)
    >>> parser = TransitionParser.train(treebank, config=TransitionConfig(epochs=3, move_bits=12, label_bits=10))
    >>> parser.parse(treebank)[0].tree
    Tree.from_heads([2, 0], ['nsubj', 'root'])
    """

    kind: ClassVar[str] = KIND

    # ---- training

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
        """Train on ``train``; epoch and temperature are chosen on ``dev`` if it is given: a treebank, or folds of the training data
        (``"5fold"``; ``"auto"``: for a small treebank). Ctrl-C keeps the best weights so far. Folds, and ``config.parts`` of an epoch,
        are learned where the ``engine`` says. ``distillation``: another parser, from whose distributions over trees it learns too."""
        from arcwise.transition.training import train_model

        model = train_model(
            train, dev, config, threads=threads, progress=progress, engine=engine, distillation=distillation
        )
        return cls(model)

    @classmethod
    def _model_of(cls, packed: Packed) -> TransitionModel:
        return TransitionModel.unpack(packed)

    @property
    def capabilities(self) -> Capabilities:
        """A beam, and what its derivations give; its tree class is that of its system. A DAG system has no choices."""
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

    # ---- parsing

    def parse(
        self,
        treebank: Treebank,
        *,
        options: ParseOptions = ParseOptions(),
        constraints: SentenceConstraints = None,
        threads: int = 1,
    ) -> Treebank:
        """The treebank with HEAD and DEPREL (of a DAG system: DEPS) replaced, and what the options ask for added.

        Confidences are shares of the mass of the final beam (at least 16 wide): how much the derivations that survived agree. They are no
        probabilities over all trees, as those of the graph-based parser are.
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
        """``parse``, and the same as arrays."""
        treebank = as_treebank(treebank)
        if self.model.system.many_heads:
            reject_constraints(str(self.model.system), constraints)
            found = self.graph_parses(treebank, options=options, threads=threads)
            deps = deps_column(found.graphs, treebank.sentence_lengths.tolist(), self.model.labels)
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
        """The best trees as arrays; with ``options.confidence`` their shares of the mass of the final beam."""
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
        """The ``options.k_best`` best trees that the beam holds at the end, best first, with their shares of its mass."""
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
        read = self.model.look_alikes.view(treebank)
        return native.transition_parse(
            self.model.scorer,
            native.TransitionData(self.model.scorer, read.layout, read.data),
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
