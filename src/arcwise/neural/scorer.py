"""Scorers that run the networks in native code, without torch."""

from __future__ import annotations

from collections.abc import Sequence
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
    """Averages networks that score a labelled arc as arc + log P(label | arc) (Dozat & Manning 2017)."""

    def __init__(self, model: NeuralModel, networks: list[native.NeuralNetwork] | None = None) -> None:
        """``networks``: those of the model if they are loaded already."""
        self._model = model
        self._networks = networks

    @property
    def labels(self) -> tuple[str, ...]:
        """Labels of the training data."""
        return self._model.labels

    @property
    def networks(self) -> list[native.NeuralNetwork]:
        """The networks, loaded when first needed."""
        if self._networks is None:
            self._networks = self._model.networks()
        return self._networks

    def scores(
        self, treebank: Treebank, *, trees: TreeClass, required: Codes | None = None, threads: int = 1
    ) -> Scores:
        """Score every arc with every label, averaged over the networks."""
        read = self._model.look_alikes.view(treebank)
        by_network = [
            Scores(
                network.scores(*read.fields, required, single_root=trees.single_root, threads=threads),
                self.labels,
            )
            for network in self.networks
        ]
        return by_network[0] if len(by_network) == 1 else Scores.mean(by_network)

    def tags(self, treebank: Treebank, *, threads: int = 1) -> list[tuple[Codes, Floats]]:
        """For each tag, every word's code and its probability, from the most confident network."""
        read = self._model.look_alikes.view(treebank)
        by_network = [network.tags(*read.fields, threads=threads) for network in self.networks]
        return [most_confident(predictions) for predictions in zip(*by_network, strict=True)]

    def pack(self, precision: Precision = "float32") -> Packed:
        """Pack the model with its weights."""
        return self._model.pack(precision)


class NeuralScorer(EnsembleScorer):
    """A single network, which decodes sentence by sentence without keeping the scores."""

    def decoded(
        self,
        treebank: Treebank,
        settings: native.DecodeSettings,
        *,
        required: Codes | None,
        gold: bool,
        legal: native.LegalSettings | None = None,
        threads: int,
    ) -> native.ParseResult:
        """Score and decode in one native call."""
        read = self._model.look_alikes.view(treebank)
        return self.networks[0].parse(
            *read.fields,
            required,
            settings=settings,
            legal=legal,
            threads=threads,
            **self._gold(treebank, gold),
        )

    def _gold(self, treebank: Treebank, gold: bool) -> dict[str, Any]:
        """Arguments that request the probabilities of the treebank's own heads and labels."""
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
        """Score and find the k best trees in one native call."""
        read = self._model.look_alikes.view(treebank)
        return self.networks[0].k_best(*read.fields, required, settings=settings, k=k, threads=threads)


class TaggingScorer(NeuralScorer):
    """A network that keeps the tags of its decoding pass, so that tagging needs no second one."""

    def __init__(self, scorer: NeuralScorer) -> None:
        super().__init__(scorer._model, scorer.networks)
        self._tagged: tuple[Treebank, list[tuple[Codes, Floats]]] | None = None

    def decoded(
        self,
        treebank: Treebank,
        settings: native.DecodeSettings,
        *,
        required: Codes | None,
        gold: bool,
        legal: native.LegalSettings | None = None,
        threads: int,
    ) -> native.ParseResult:
        """Score, decode and tag in one native call."""
        read = self._model.look_alikes.view(treebank)
        result, tags = self.networks[0].parse_and_tag(
            *read.fields,
            required,
            settings=settings,
            legal=legal,
            threads=threads,
            **self._gold(treebank, gold),
        )
        self._tagged = treebank, tags
        return result

    def tags(self, treebank: Treebank, *, threads: int = 1) -> list[tuple[Codes, Floats]]:
        """Return the tags of the last decoding pass over this treebank, or run the network."""
        if self._tagged is not None and self._tagged[0] is treebank:
            return self._tagged[1]
        return super().tags(treebank, threads=threads)


def most_confident(predictions: Sequence[tuple[Codes, Floats]]) -> tuple[Codes, Floats]:
    """For each word, the prediction of the network with the highest probability."""
    codes = np.stack([np.asarray(network_codes) for network_codes, _ in predictions])
    probabilities = np.stack([np.asarray(network_probabilities) for _, network_probabilities in predictions])
    best = probabilities.argmax(0)[None]
    return np.take_along_axis(codes, best, 0)[0], np.take_along_axis(probabilities, best, 0)[0]
