"""``GraphParser``: the arc-factored parser of McDonald et al. 2005, Koo et al. 2007 and Smith & Smith 2007."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import NoTreeError
from arcwise.graph.config import GraphConfig
from arcwise.graph.model import KIND, GraphModel
from arcwise.graph.space import arc_data
from arcwise.inference import TreeDistribution
from arcwise.learning.model_file import Packed
from arcwise.learning.progress import Progress
from arcwise.learning.trained import TrainedParser
from arcwise.parsing.output import annotated, with_k_best
from arcwise.parsing.parser import DECODERS, ParseOptions
from arcwise.treebanks import Sentence, Treebank

if TYPE_CHECKING:
    from typing import Self


class GraphParser(TrainedParser[GraphModel]):
    """A trained graph-based parser.

    >>> from arcwise.treebanks import Treebank
    >>> rows = "1\\tBirds\\t_\\tNOUN\\t_\\t_\\t2\\tnsubj\\t_\\t_\\n2\\tsing\\t_\\tVERB\\t_\\t_\\t0\\troot\\t_\\t_\\n\\n"
    >>> treebank = Treebank.from_string(rows)
    >>> parser = GraphParser.train(treebank, config=GraphConfig(epochs=2, arc_bits=12, row_bits=12))
    >>> parser.parse(treebank)[0].tree
    Tree.from_heads([2, 0], ['nsubj', 'root'])
    """

    kind: ClassVar[str] = KIND

    @cached_property
    def _occupied(self) -> npt.NDArray[np.uint64]:
        return native.occupied_rows(self.model.space, self.model.weights)

    # ---- training

    @classmethod
    def train(
        cls,
        train: Treebank,
        dev: Treebank | None = None,
        *,
        config: GraphConfig = GraphConfig(),
        threads: int = 1,
        progress: Progress | None = None,
    ) -> Self:
        """Train on ``train``; epoch, C (``config.try_C``) and decoder are chosen on ``dev`` if it is given.

        Trees may be partial (heads ``_``). Ctrl-C keeps the best weights so far. The same seed gives the same parser at any
        number of threads.
        """
        from arcwise.graph.training import train_model

        return cls(train_model(train, dev, config, threads=threads, progress=progress))

    @classmethod
    def _model_of(cls, packed: Packed) -> GraphModel:
        return GraphModel.unpack(packed)

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
            "config": model.config,
            **model.report,
        }

    # ---- parsing

    def parse(
        self, treebank: Treebank, *, options: ParseOptions = ParseOptions(), threads: int = 1
    ) -> Treebank:
        """The treebank with HEAD and DEPREL replaced, and what the options ask for added; nothing else changes.

        ``NoTreeError`` if ``options.keep_heads`` and the heads of a sentence fit no tree of the class.
        """
        options.reject("graph-based", "beam")
        if options.k_best > 1:
            return with_k_best(
                treebank, self._k_best(treebank, options, threads), self.model.alphabets.labels
            )
        result = self.raw_parse(treebank, options=options, threads=threads)
        return annotated(treebank, result, self.model.alphabets.labels, confidence=options.confidence)

    def raw_parse(
        self, treebank: Treebank, *, options: ParseOptions = ParseOptions(), threads: int = 1
    ) -> dict[str, Any]:
        """Flat arrays: ``heads`` and ``labels`` (numbers into ``labels``) of all words; with ``options.confidence`` also
        ``head_probability``, ``label_probability`` (of head and label together), and of sentences ``log_probability``, ``entropy``."""
        projective, single_root = self._tree_class(options)
        result = native.arc_parse(
            self.model.space,
            self.model.weights,
            self._data(treebank),
            _kept_heads(treebank, options),
            DECODERS.index(options.decode or self.model.decoding.decode),
            projective,
            single_root,
            1.0 / self.model.temperature,
            1.0 / self.model.label_temperature,
            options.confidence,
            True,
            threads,
            self._occupied,
        )
        _check_parsed(treebank, result["parsed"])
        return dict(result)

    def distributions(
        self,
        sentences: Treebank | Sequence[Sentence],
        *,
        projective: bool | None = None,
        single_root: bool | None = None,
        threads: int = 1,
    ) -> TreeDistribution:
        """The distribution over (labelled) trees of every sentence, scores divided by the model's temperature."""
        treebank = sentences if isinstance(sentences, Treebank) else Treebank.from_sentences(sentences)
        options = ParseOptions(projective=projective, single_root=single_root)
        projective, single_root = self._tree_class(options)
        flat, starts = native.arc_matrices(
            self.model.space,
            self.model.weights,
            self._data(treebank),
            projective,
            single_root,
            1.0 / self.model.temperature,
            True,
            threads,
        )
        labels = list(self.model.alphabets.labels)
        lengths = np.diff(treebank.sentence_words).astype(int) + 1
        shapes = [(len(labels), n, n) if labels else (n, n) for n in lengths]
        return TreeDistribution(
            [flat[a:b].reshape(shape) for a, b, shape in zip(starts[:-1], starts[1:], shapes, strict=True)],
            projective=projective,
            single_root=single_root,
            labels=labels or None,
            threads=threads,
        )

    def _k_best(self, treebank: Treebank, options: ParseOptions, threads: int) -> dict[str, Any]:
        projective, single_root = self._tree_class(options)
        result = native.arc_k_best(
            self.model.space,
            self.model.weights,
            self._data(treebank),
            _kept_heads(treebank, options),
            options.k_best,
            projective,
            single_root,
            True,
            threads,
        )
        _check_parsed(treebank, result["counts"])
        return dict(result)

    def _data(self, treebank: Treebank) -> native.ArcData:
        return arc_data(self.model.space, treebank, self.model.alphabets, self.model.config.tag)

    def _tree_class(self, options: ParseOptions) -> tuple[bool, bool]:
        own = self.model.decoding
        return (
            own.projective if options.projective is None else options.projective,
            own.single_root if options.single_root is None else options.single_root,
        )


def _kept_heads(treebank: Treebank, options: ParseOptions) -> Any:
    return np.ascontiguousarray(treebank.heads, np.int32) if options.keep_heads else None


def _check_parsed(treebank: Treebank, parsed: Any) -> None:
    failed = np.flatnonzero(np.asarray(parsed) == 0)
    if len(failed):
        sentence = treebank[int(failed[0])]
        name = sentence.sent_id or f"sentence {sentence.number + 1}"
        raise NoTreeError(
            f"{treebank.source} ({name}): the heads to be kept fit no tree of the class asked for"
        )
