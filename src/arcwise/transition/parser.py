"""``TransitionParser``: a trained parser driven by the control parameters of its system (Bohnet et al. 2016)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from arcwise import native
from arcwise.errors import InputError
from arcwise.learning.model_file import Packed
from arcwise.learning.progress import Progress
from arcwise.learning.trained import TrainedParser
from arcwise.parsing.output import annotated, with_k_best
from arcwise.parsing.parser import ParseOptions
from arcwise.transition.config import TransitionConfig
from arcwise.transition.graphs import deps_column
from arcwise.transition.model import KIND, TransitionModel
from arcwise.treebanks import Treebank

if TYPE_CHECKING:
    from typing import Self

MAX_BEAM = 64
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
    def train(
        cls,
        train: Treebank,
        dev: Treebank | None = None,
        *,
        config: TransitionConfig = TransitionConfig(),
        threads: int = 1,
        progress: Progress | None = None,
    ) -> Self:
        """Train on ``train``; the epoch is chosen on ``dev`` if it is given. Ctrl-C keeps the best weights so far."""
        from arcwise.transition.training import train_model

        return cls(train_model(train, dev, config, threads=threads, progress=progress))

    @classmethod
    def _model_of(cls, packed: Packed) -> TransitionModel:
        return TransitionModel.unpack(packed)

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
            "config": model.config,
            **model.report,
        }

    # ---- parsing

    def parse(
        self, treebank: Treebank, *, options: ParseOptions = ParseOptions(), threads: int = 1
    ) -> Treebank:
        """The treebank with HEAD and DEPREL (of a DAG system: DEPS) replaced, and what the options ask for added.

        Confidences are shares of the mass of the final beam (at least 16 wide): how much the derivations that survived agree. They are no
        probabilities over all trees, as those of the graph-based parser are.
        """
        options.reject("transition-based", "decode", "projective", "keep_heads")
        if self.model.system.many_heads:
            return self._parse_graphs(treebank, options, threads)
        result = self.raw_parse(treebank, options=options, threads=threads)
        if options.k_best > 1:
            return with_k_best(treebank, result, self.model.labels)
        return annotated(treebank, result, self.model.labels, confidence=options.confidence)

    def _parse_graphs(self, treebank: Treebank, options: ParseOptions, threads: int) -> Treebank:
        """The treebank with DEPS replaced."""
        options.reject(f"{self.model.system}", "k_best", "confidence", "beam", "single_root")
        result = self.raw_parse(treebank, threads=threads)
        lengths = [int(n) for n in treebank.sentence_words[1:] - treebank.sentence_words[:-1]]
        return treebank.annotate(deps=deps_column(result["graphs"], lengths, self.model.labels))

    def raw_parse(
        self, treebank: Treebank, *, options: ParseOptions = ParseOptions(), threads: int = 1
    ) -> dict[str, Any]:
        """Flat arrays: ``heads`` and ``labels`` (numbers into the labels) of all trees, ``counts`` trees of each sentence, their
        ``scores``; with ``options.confidence`` also ``head_probability`` and ``label_probability`` of the first trees."""
        single_root = self.model.config.single_root if options.single_root is None else options.single_root
        result = native.transition_parse(
            self.model.scorer,
            native.TransitionData(self.model.scorer, treebank.layout, treebank.data),
            self._beam(options),
            single_root,
            options.k_best,
            options.confidence,
            self.model.temperature,
            threads,
        )
        return dict(result)

    def _beam(self, options: ParseOptions) -> int:
        beam = options.beam or self.model.config.beam
        if not 1 <= beam <= MAX_BEAM:
            raise InputError(f"--beam: found {beam}, expected 1..{MAX_BEAM}")
        if options.beam is None and (options.confidence or options.k_best > 1):
            return max(beam, _BEAM_FOR_MASS, min(options.k_best, MAX_BEAM))
        return beam
