"""``TransformerScorer``: networks over a transformer as a scorer; they run in torch."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from arcwise import native
from arcwise.inference import Scores, TreeClass
from arcwise.learning.model_file import Packed, Precision
from arcwise.neural.batch import Batch
from arcwise.neural.config import check_device
from arcwise.neural.data import Data
from arcwise.neural.model import NeuralModel, dequantised
from arcwise.neural.network import Network
from arcwise.neural.scorer import most_confident
from arcwise.neural.transformer_encoder import TransformerEncoder
from arcwise.parsing.parses import Codes
from arcwise.treebanks import Treebank

Floats = npt.NDArray[np.float32]
_WORDS = 4000
"""Words of a batch."""


class TransformerScorer:
    """The score of an arc with a label is that of the arc + log P(label | arc) (Dozat & Manning 2017); of several networks the mean.

    Both are at the temperatures of the model. ``device``: where they run; ``auto``: on a GPU if there is one that can be used.
    """

    def __init__(self, model: NeuralModel, *, device: str = "auto") -> None:
        assert model.transformer is not None
        self._model, self._transformer = model, model.transformer
        self.device = check_device(device)
        self._kept: list[Network] = []

    def of(self, model: NeuralModel) -> TransformerScorer:
        """That of the same model at other temperatures, with the same networks."""
        found = copy.copy(self)
        found._model = model
        return found

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the training data."""
        return self._model.labels

    @property
    def networks(self) -> list[Network]:
        """The networks of the model; made when they are first asked for, and kept."""
        if not self._kept:
            self._kept += [self._network(dequantised(member)) for member in self._model.members]
        return self._kept

    def _network(self, arrays: dict[str, Floats]) -> Network:
        encoder = TransformerEncoder(self._transformer, layers=self._model.config.encoder_layers)
        network = Network(self._model.shape, encoder)
        network.load(arrays)
        return network.to(self.device).requires_grad_(False).eval()

    def scores(
        self, treebank: Treebank, *, trees: TreeClass, required: Codes | None = None, threads: int = 1
    ) -> Scores:
        """The scores of every arc with every label; of several networks their mean."""
        data = self._data(treebank)
        found = [Scores(self._batch(network, data, threads), self.labels) for network in self.networks]
        return found[0] if len(found) == 1 else Scores.mean(found)

    def tags(self, treebank: Treebank, *, threads: int = 1) -> list[tuple[Codes, Floats]]:
        """For each tag that is learned the number of each word's value, and its probability; of several networks the most_confident one's."""
        data = self._data(treebank)
        by_network = [self._tags(network, data, threads) for network in self.networks]
        return [most_confident(several) for several in zip(*by_network, strict=True)]

    def pack(self, precision: Precision = "float32") -> Packed:
        """The model with its weights."""
        return self._model.pack(precision)

    def _data(self, treebank: Treebank) -> Data:
        unknown = np.full(treebank.word_count, -1, np.int32)
        treebank = self._model.look_alikes.view(treebank)
        return Data.of(treebank, self._transformer.pieces, unknown, unknown, (), self.device)

    def _batches(self, data: Data, threads: int) -> Iterator[tuple[npt.NDArray[np.int64], Batch]]:
        """Sentences of like length, and the same as a batch, whose sentences are the same, longest first."""
        torch.set_num_threads(max(threads, 1))
        for sentences in data.batches(_WORDS, states=max(self._model.shape.states, 1)):
            chosen = sentences[np.argsort(-data.lengths[sentences], kind="stable")]
            yield chosen, data.batch(chosen)

    @torch.no_grad()
    def _batch(self, network: Network, data: Data, threads: int) -> native.ScoreBatch:
        """The scores of one network."""
        found: list[Any] = [None] * len(data.lengths)
        temperatures = self._model.temperatures
        for sentences, batch in self._batches(data, threads):
            hidden = network.hidden(data.rows[batch.positions], batch)
            scores = network.arcs(hidden)[..., None] / temperatures.heads
            if self.labels:
                by_label = network.all_label_scores(hidden)
                if temperatures.labels != 1:
                    by_label = (by_label / temperatures.labels).log_softmax(-1)
                scores = scores + by_label
            for place, sentence in enumerate(sentences.tolist()):
                side = int(data.lengths[sentence]) + 1
                found[sentence] = _values(scores[place, :side, :side])
        return self._score_batch(data, found)

    def _score_batch(self, data: Data, values: list[Any]) -> native.ScoreBatch:
        shape = self._model.shape
        labels, states = len(self.labels), max(shape.states, 1)
        starts = [_arcs(int(n)) for n in data.lengths]
        return native.ScoreBatch.of_parts(
            labels,
            shape.clusters if labels else 1,
            np.array([0, labels], np.uint32),
            np.arange(labels, dtype=np.uint16),
            data.lengths.astype(np.int32),
            _joined([np.where(own >= 0, own * states, -1) for own in starts], np.int32),
            np.zeros(sum(map(len, starts)), np.int32),
            _joined(values, np.float64),
        )

    @torch.no_grad()
    def _tags(self, network: Network, data: Data, threads: int) -> list[tuple[Codes, Floats]]:
        """The tags of one network."""
        codes = torch.zeros(len(network.tags), len(data.heads), dtype=torch.int32, device=data.device)
        sure = torch.zeros(codes.shape, device=data.device)
        for _, batch in self._batches(data, threads):
            states = network.encoded(data.rows[batch.positions], batch, None)
            for place, tag in enumerate(network.tags):
                best = tag(states).softmax(-1).max(-1)
                codes[place, batch.positions] = best.indices.to(torch.int32)
                sure[place, batch.positions] = best.values
        words = np.ones(len(data.heads), np.bool_)
        words[data.starts[:-1]] = False
        both = zip(codes.cpu().numpy(), sure.cpu().numpy(), strict=True)
        return [(own[words], probability[words]) for own, probability in both]


def _values(scores: Tensor) -> npt.NDArray[np.float64]:
    """(n+1, n+1, states) → the states of the arcs into words from others, or the root, one after the other."""
    side = scores.shape[0]
    places = torch.arange(side, device=scores.device)
    there = (places[:, None] != places) & (places > 0)
    return scores[there].flatten().cpu().numpy().astype(np.float64)


def _arcs(n: int) -> npt.NDArray[np.int64]:
    """Flat over the (n+1)² arcs: the number of each among those that ``_values`` has; -1: it is not there."""
    places = np.arange(n + 1)
    there = ((places[:, None] != places) & (places > 0)).ravel()
    return np.where(there, np.cumsum(there) - 1, -1)


def _joined(parts: list[Any], kind: Any) -> npt.NDArray[Any]:
    return np.concatenate([np.zeros(0, kind), *parts]).astype(kind)
