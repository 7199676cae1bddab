"""``TransformerScorer``: scores arcs, labels and tags with transformer networks, in PyTorch."""

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
from arcwise.neural.batch import Batch, to_device
from arcwise.neural.config import check_device
from arcwise.neural.data import Data
from arcwise.neural.inference import load_network
from arcwise.neural.model import NeuralModel
from arcwise.neural.network import Hidden, Network
from arcwise.neural.scorer import most_confident
from arcwise.parsing.parses import Codes
from arcwise.treebanks import Treebank

Floats = npt.NDArray[np.float32]
_BATCH_WORDS = {"cpu": 4000, "cuda": 20_000}
"""Words per batch on each device."""


class TransformerScorer:
    """Scorer for models whose encoder is a transformer.

    The score of a labelled arc is arc score + log P(label | arc) (Dozat & Manning 2017), each divided by
    the model's temperature; an ensemble averages the scores of its networks.
    ``device``: ``auto`` uses a GPU if one is available.
    """

    def __init__(self, model: NeuralModel, *, device: str = "auto") -> None:
        assert model.transformer is not None
        self._model, self._transformer = model, model.transformer
        self.device = check_device(device)
        self._networks: list[Network] = []

    def of(self, model: NeuralModel) -> TransformerScorer:
        """Return a scorer for the same model at other temperatures, sharing the loaded networks."""
        scorer = copy.copy(self)
        scorer._model = model
        return scorer

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the training data."""
        return self._model.labels

    @property
    def networks(self) -> list[Network]:
        """The networks of the model, built on first use."""
        if not self._networks:
            # In place: copies made by ``of`` share the list, whichever of them builds the networks.
            self._networks += [
                load_network(self._model, member, self.device) for member in self._model.members
            ]
        return self._networks

    def scores(
        self, treebank: Treebank, *, trees: TreeClass, required: Codes | None = None, threads: int = 1
    ) -> Scores:
        """Score every arc with every label; an ensemble returns the mean over its networks."""
        data = self._data(treebank)
        by_network = [Scores(self._batch(network, data, threads), self.labels) for network in self.networks]
        return by_network[0] if len(by_network) == 1 else Scores.mean(by_network)

    def tags(self, treebank: Treebank, *, threads: int = 1) -> list[tuple[Codes, Floats]]:
        """Predict, per tag, each word's value code and its probability.

        In an ensemble the most confident network decides, word by word.
        """
        data = self._data(treebank)
        by_network = [self._tags(network, data, threads) for network in self.networks]
        return [most_confident(predictions) for predictions in zip(*by_network, strict=True)]

    def pack(self, precision: Precision = "float32") -> Packed:
        """Pack the model with its weights."""
        return self._model.pack(precision)

    def _data(self, treebank: Treebank) -> Data:
        unknown = np.full(treebank.word_count, -1, np.int32)
        treebank = self._model.look_alikes.view(treebank)
        return Data.of(treebank, self._transformer.pieces, unknown, unknown, (), self.device)

    def _batches(self, data: Data, threads: int) -> Iterator[tuple[npt.NDArray[np.int64], Batch]]:
        """Yield the sentence indices of each batch, longest first, and the batch itself."""
        torch.set_num_threads(max(threads, 1))
        for sentences in data.batches(_BATCH_WORDS[self.device], states=max(self._model.shape.states, 1)):
            # The same stable sort as in Batch.of, so that indices and rows of the batch agree.
            longest_first = sentences[np.argsort(-data.lengths[sentences], kind="stable")]
            yield longest_first, data.batch(longest_first)

    @torch.no_grad()
    def _batch(self, network: Network, data: Data, threads: int) -> native.ScoreBatch:
        """Score all sentences with a single network."""
        values: list[Any] = [None] * len(data.lengths)
        temperatures = self._model.temperatures
        for sentences, batch in self._batches(data, threads):
            hidden = network.hidden(data.rows_of(batch), batch)
            scores = network.arcs(hidden)[..., None] / temperatures.heads
            if self.labels:
                scores = scores + self._label_scores(network, hidden)
            # One gather and one transfer per batch: a GPU is slow at many small ones.
            arcs = to_device(_arc_places(data.lengths[sentences], batch.width), self.device)
            flat = scores.flatten(0, 2).index_select(0, arcs).cpu().numpy()
            sizes = data.lengths[sentences] ** 2
            for sentence, block in zip(
                sentences.tolist(), np.split(flat, np.cumsum(sizes)[:-1]), strict=True
            ):
                values[sentence] = _arc_values(block, int(data.lengths[sentence]), *self._state_counts)
        return self._score_batch(data, values)

    def _score_batch(self, data: Data, values: list[Any]) -> native.ScoreBatch:
        labels, rule = len(self.labels), self._model.root_label
        of_root, of_others = self._state_counts
        starts, from_root = [], []
        for n in data.lengths.tolist():
            numbers = _arc_numbers(n)
            offsets = np.where(numbers < n, numbers * of_root, n * of_root + (numbers - n) * of_others)
            starts.append(np.where(numbers >= 0, offsets, -1))
            from_root.append((numbers < n) & (rule >= 0))
        return native.ScoreBatch.of_parts(
            labels,
            self._model.shape.clusters if labels else 1,
            np.array([0, labels] if rule < 0 else [0, labels - 1, labels], np.uint32),
            self._label_order.astype(np.uint16),
            data.lengths.astype(np.int32),
            _joined(starts, np.int32),
            _joined(from_root, np.int32),
            _joined(values, np.float64),
        )

    @property
    def _state_counts(self) -> tuple[int, int]:
        """The number of states of an arc from the root, and of another arc."""
        shape = self._model.shape
        states = max(shape.states, 1)
        return (states, states) if self._model.root_label < 0 else (shape.clusters, states - shape.clusters)

    @property
    def _label_order(self) -> npt.NDArray[np.int64]:
        """The labels in the order of the scores: that of the root last, if it has one of its own."""
        order = np.arange(len(self.labels))
        rule = self._model.root_label
        return order if rule < 0 else np.append(np.delete(order, rule), rule)

    def _label_scores(self, network: Network, hidden: Hidden) -> Tensor:
        """log P(label | arc) of all arcs, (B, T, T, S), at the model's temperature.

        With a label for the root alone P is normalised over the labels that an arc may have: of the states of
        an arc from the root only the last ones count, of another arc the others.
        """
        by_label = network.all_label_scores(hidden)
        temperature, clusters = self._model.temperatures.labels, self._model.shape.clusters
        if self._model.root_label >= 0:
            by_label = by_label.unflatten(-1, (-1, clusters))[..., torch.from_numpy(self._label_order), :]
            others, root = by_label[..., :-1, :].flatten(-2), by_label[..., -1, :]
            parts = [(part / temperature).log_softmax(-1) for part in (others, root)]
            return torch.cat(parts, -1)
        return by_label if temperature == 1 else (by_label / temperature).log_softmax(-1)

    @torch.no_grad()
    def _tags(self, network: Network, data: Data, threads: int) -> list[tuple[Codes, Floats]]:
        """Predict the tags of all words with a single network."""
        codes = torch.zeros(len(network.tags), len(data.heads), dtype=torch.int32, device=data.device)
        probabilities = torch.zeros(codes.shape, device=data.device)
        for _, batch in self._batches(data, threads):
            states = network.encoded(data.rows_of(batch), batch, None)
            for place, tag in enumerate(network.tags):
                best = tag(states).softmax(-1).max(-1)
                codes[place, batch.positions] = best.indices.to(torch.int32)
                probabilities[place, batch.positions] = best.values
        is_word = np.ones(len(data.heads), np.bool_)
        is_word[data.starts[:-1]] = False
        by_tag = zip(codes.cpu().numpy(), probabilities.cpu().numpy(), strict=True)
        return [(tag_codes[is_word], probability[is_word]) for tag_codes, probability in by_tag]


def _arc_places(lengths: npt.NDArray[np.int64], width: int) -> npt.NDArray[np.int64]:
    """Flat places in (B, width, width) of the possible arcs: no self-loops, none into the root."""
    heads, dependents = np.arange(width)[:, None], np.arange(width)
    possible = (heads != dependents) & (dependents > 0)
    inside = np.arange(width) <= lengths[:, None]
    return np.flatnonzero(possible & inside[:, :, None] & inside[:, None, :])


def _arc_values(scores: Floats, n: int, of_root: int, of_others: int) -> npt.NDArray[np.float64]:
    """Flatten the scores of the n² arcs of a sentence, (n², states).

    Of arcs from the root, which come first, the last ``of_root`` states count, of others the first
    ``of_others``.
    """
    parts = scores[:n, scores.shape[1] - of_root :], scores[n:, :of_others]
    return np.concatenate([part.ravel() for part in parts]).astype(np.float64)


def _arc_numbers(n: int) -> npt.NDArray[np.int64]:
    """Index of each of the (n+1)² arcs, flat, among the possible ones; -1 for the others."""
    places = np.arange(n + 1)
    possible = ((places[:, None] != places) & (places > 0)).ravel()
    return np.where(possible, np.cumsum(possible) - 1, -1)


def _joined(parts: list[Any], kind: Any) -> npt.NDArray[Any]:
    return np.concatenate([np.zeros(0, kind), *parts]).astype(kind)
