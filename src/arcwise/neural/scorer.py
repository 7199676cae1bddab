"""``NeuralScorer``: a network, or several, as a scorer; they run in native code, without torch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.inference import Scores, TreeClass
from arcwise.learning.model_file import Packed, Precision
from arcwise.neural.model import NeuralModel
from arcwise.parsing.parses import Codes
from arcwise.parsing.scorer import label_codes
from arcwise.treebanks import Treebank

Floats = npt.NDArray[np.float32]


class EnsembleScorer:
    """The score of an arc with a label is that of the arc + log P(label | arc) (Dozat & Manning 2017); of several networks the mean."""

    def __init__(self, model: NeuralModel) -> None:
        self._model = model

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the training data."""
        return self._model.labels

    @cached_property
    def networks(self) -> list[native.NeuralNetwork]:
        """The networks of the model."""
        return self._model.networks()

    def scores(
        self, treebank: Treebank, *, trees: TreeClass, required: Codes | None = None, threads: int = 1
    ) -> Scores:
        """The scores of every arc with every label; of several networks their mean."""
        read = self._model.look_alikes.view(treebank)
        found = [
            Scores(network.scores(read.layout, read.data, required, threads=threads), self.labels)
            for network in self.networks
        ]
        return found[0] if len(found) == 1 else Scores.mean(found)

    def tags(self, treebank: Treebank, *, threads: int = 1) -> list[tuple[Codes, Floats]]:
        """For each tag that is learned the number of each word's value, and its probability; of several networks the most_confident one's."""
        read = self._model.look_alikes.view(treebank)
        by_network = [network.tags(read.layout, read.data, threads=threads) for network in self.networks]
        return [most_confident(several) for several in zip(*by_network, strict=True)]

    def pack(self, precision: Precision = "float32") -> Packed:
        """The model with its weights."""
        return self._model.pack(precision)


class NeuralScorer(EnsembleScorer):
    """A single network, which also decodes sentence by sentence without keeping the scores."""

    def decoded(
        self,
        treebank: Treebank,
        settings: native.DecodeSettings,
        *,
        required: Codes | None,
        gold: bool,
        threads: int,
    ) -> native.ParseResult:
        """``scores`` and the decoder in one go."""
        read = self._model.look_alikes.view(treebank)
        return self.networks[0].parse(
            read.layout,
            read.data,
            required,
            settings=settings,
            threads=threads,
            **self._gold(treebank, gold),
        )

    def _gold(self, treebank: Treebank, gold: bool) -> dict[str, Any]:
        """The heads and labels of the treebank, if their probabilities are asked for."""
        if not gold:
            return {}
        return {
            "asked_heads": np.ascontiguousarray(treebank.heads, np.int32),
            "asked_labels": label_codes(treebank, self.labels),
        }

    def k_best_decoded(
        self,
        treebank: Treebank,
        settings: native.DecodeSettings,
        *,
        k: int,
        required: Codes | None,
        threads: int,
    ) -> native.KBestResult:
        """``scores`` and the k best trees in one go."""
        read = self._model.look_alikes.view(treebank)
        return self.networks[0].k_best(
            read.layout, read.data, required, settings=settings, k=k, threads=threads
        )


class TaggingScorer(NeuralScorer):
    """The same network for one treebank that is parsed, then tagged: the tags come from the pass that decodes it, and need no other one."""

    def __init__(self, scorer: NeuralScorer) -> None:
        super().__init__(scorer._model)
        vars(self)["networks"] = scorer.networks
        self._tagged: tuple[Treebank, list[tuple[Codes, Floats]]] | None = None

    def decoded(
        self,
        treebank: Treebank,
        settings: native.DecodeSettings,
        *,
        required: Codes | None,
        gold: bool,
        threads: int,
    ) -> native.ParseResult:
        """``scores`` and the decoder in one go, and the tags beside."""
        read = self._model.look_alikes.view(treebank)
        result, tags = self.networks[0].parse_and_tag(
            read.layout,
            read.data,
            required,
            settings=settings,
            threads=threads,
            **self._gold(treebank, gold),
        )
        self._tagged = treebank, tags
        return result

    def tags(self, treebank: Treebank, *, threads: int = 1) -> list[tuple[Codes, Floats]]:
        """Those of the last pass if it was over this treebank, all of it."""
        if self._tagged is not None and self._tagged[0] is treebank:
            return self._tagged[1]
        return super().tags(treebank, threads=threads)


def most_confident(several: Sequence[tuple[Codes, Floats]]) -> tuple[Codes, Floats]:
    """Of each word the value of the network that is most_confident of its own."""
    codes, sure = (np.stack([np.asarray(one[i]) for one in several]) for i in (0, 1))
    best = sure.argmax(0)[None]
    return np.take_along_axis(codes, best, 0)[0], np.take_along_axis(sure, best, 0)[0]
