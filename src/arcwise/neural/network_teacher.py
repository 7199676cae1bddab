"""``NetworkTeacher``: neural parsers that teach, run in PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from arcwise.distillation.predictions import TeacherPredictions
from arcwise.distillation.soft_tags import SoftTags
from arcwise.distillation.soft_targets import MIN_LABEL_PROBABILITY, MIN_LABEL_SHARE, SoftTargets
from arcwise.errors import InputError
from arcwise.inference.tree_class import TreeClass
from arcwise.neural.batch import Batch
from arcwise.neural.config import check_device
from arcwise.neural.data import Data
from arcwise.neural.inference import best_trees, load_network
from arcwise.neural.model import NeuralModel
from arcwise.neural.network import Hidden, Network
from arcwise.neural.parser import NeuralParser
from arcwise.neural.second_order import arc_scores
from arcwise.neural.tags import TagAlphabets
from arcwise.parsing.ensemble import MarginalEnsemble
from arcwise.parsing.parser import Capabilities, SentenceConstraints
from arcwise.torch import TreeCRF
from arcwise.treebanks import Treebank

_BATCH_WORDS = 8000
_TAG_VALUES = 4
"""Values kept of each tag of a word."""


class NetworkTeacher:
    """Several neural parsers as one teacher: the mean of their marginals and of their tag probabilities.

    It gives the same soft targets as ``MarginalEnsemble``, in one pass over batches on a GPU if there is one,
    and tags as well. All parsers have the same labels, and those with tags the same alphabets; the networks
    may differ in kind (transformers, LSTMs) and in inputs.
    """

    kind: ClassVar[str] = "network-teacher"

    def __init__(self, parsers: Sequence[NeuralParser], *, device: str = "auto") -> None:
        if not parsers:
            raise InputError("parsers: found none, expected at least one")
        self._models = [parser.model for parser in parsers]
        self._ensemble = MarginalEnsemble(parsers)
        self.device = check_device(device)
        if any(model.labels != self._models[0].labels for model in self._models):
            raise InputError("parsers: found different label sets, expected parsers of one treebank")
        tagging = {model.tags for model in self._models if model.tags.names}
        if len(tagging) > 1:
            raise InputError("parsers: found different tag sets, expected parsers of one treebank")
        self._tags = next(iter(tagging), TagAlphabets())
        self._networks = [
            (model, load_network(model, member, self.device))
            for model in self._models
            for member in model.members
        ]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of its parsers."""
        return self._models[0].labels

    @property
    def capabilities(self) -> Capabilities:
        """Those of an ensemble of marginals."""
        return self._ensemble.capabilities

    @property
    def info(self) -> Mapping[str, Any]:
        """The training metadata of the first parser, and the number of networks."""
        return {**self._models[0].report, "kind": self.kind, "networks": len(self._networks)}

    def distributions(
        self, sentences: Treebank, *, constraints: SentenceConstraints = None, threads: int = 1, **trees: Any
    ) -> Any:
        """The mean of the parsers' distributions, as ``MarginalEnsemble`` computes it."""
        return self._ensemble.distributions(sentences, constraints=constraints, threads=threads, **trees)

    @torch.no_grad()
    def soft_predictions(
        self, treebank: Treebank, *, projective: bool, single_root: bool, least: float, threads: int = 1
    ) -> TeacherPredictions:
        """Soft targets, tags and minimum-risk trees of all words."""
        torch.set_num_threads(max(threads, 1))
        trees = TreeClass(projective=projective, single_root=single_root)
        data = [self._data(model, treebank) for model in self._models]
        of_model = {id(m): model_data for m, model_data in zip(self._models, data, strict=True)}
        count, labels = treebank.word_count, max(len(self.labels), 1)
        heads, codes = np.full(count, -1, np.int32), np.full(count, -1, np.int32)
        arcs: list[npt.NDArray[Any]] = []
        tags = [
            (np.full((count, k), -1, np.int32), np.zeros((count, k), np.float32)) for k in self._tag_widths
        ]
        first_word = data[0].starts[:-1] - np.arange(len(data[0].lengths))
        for sentences in data[0].batches(_BATCH_WORDS, states=labels):
            batch = data[0].batch(sentences)
            inputs = [(m, network, of_model[id(m)].rows_of(batch)) for m, network in self._networks]
            joint, tag_probabilities = self._mean(inputs, batch, trees)
            best = best_trees(joint.sum(-1), batch, trees)
            # The row of a position among all words: roots come first in the batch and are left out.
            sentence, position = batch.places // batch.width, batch.places % batch.width
            base = torch.from_numpy(first_word[batch.sentences]).to(joint.device)
            words = (base[sentence] + position - 1)[batch.size :].cpu().numpy()
            chosen = best.flatten()[batch.places][batch.size :]
            heads[words] = chosen.cpu().numpy()
            if self.labels:
                of_best = joint[sentence[batch.size :], chosen, position[batch.size :]]
                codes[words] = of_best.argmax(-1).cpu().numpy()
            b, h, m, label, probability = _sparse(joint, batch, least)
            arcs.append(np.stack([(base[b] + m - 1).cpu().numpy(), h.cpu().numpy(), label.cpu().numpy()]))
            arcs.append(probability.double().cpu().numpy())
            for (tag_codes, shares), probabilities in zip(tags, tag_probabilities, strict=True):
                highest = probabilities[batch.size :].topk(tag_codes.shape[1])
                tag_codes[words] = highest.indices.cpu().numpy()
                shares[words] = (highest.values / highest.values.sum(-1, keepdim=True)).cpu().numpy()
        return self._predictions(arcs, heads, codes, tags, count)

    def _predictions(
        self, arcs: list[Any], heads: Any, codes: Any, tags: list[tuple[Any, Any]], count: int
    ) -> TeacherPredictions:
        words, arc_heads, labels = np.concatenate(arcs[::2], axis=1) if arcs else np.zeros((3, 0), np.int64)
        probabilities = np.concatenate(arcs[1::2]) if arcs else np.zeros(0)
        if not self.labels:
            labels = labels - 1
        targets = SoftTargets.from_arcs(
            words,
            arc_heads.astype(np.int32),
            labels.astype(np.int32),
            probabilities,
            count,
            self.labels,
        )
        soft_tags = None
        if self._tags.names:
            soft_tags = SoftTags(
                self._tags.names,
                self._tags.values,
                tuple(tag_codes for tag_codes, _ in tags),
                tuple(shares for _, shares in tags),
            )
        names = self.labels or ("_",)
        return TeacherPredictions(heads, [names[code] for code in codes.tolist()], targets, soft_tags)

    @property
    def _tag_widths(self) -> list[int]:
        return [min(_TAG_VALUES, len(values)) for values in self._tags.values]

    def _data(self, model: NeuralModel, treebank: Treebank) -> Data:
        unknown = np.full(treebank.word_count, -1, np.int32)
        rows = model.inputs if model.transformer is None else model.transformer.pieces
        return Data.of(model.look_alikes.view(treebank), rows, unknown, unknown, (), self.device)

    def _mean(
        self, inputs: Sequence[tuple[NeuralModel, Network, Tensor]], batch: Batch, trees: TreeClass
    ) -> tuple[Tensor, list[Tensor]]:
        """Means over the networks: P(labelled arc), (B, T, T, L), and of each tag, (N, values)."""
        joint: Any = 0.0
        tags: list[Any] = [0.0] * len(self._tags.names)
        tagging = sum(bool(model.tags.names) for model, _, _ in inputs)
        for model, network, rows in inputs:
            hidden = network.hidden(rows, batch)
            crf = TreeCRF(
                arc_scores(network, hidden, batch, single_root=trees.single_root) / model.temperatures.heads,
                batch.lengths,
                projective=trees.projective,
                single_root=trees.single_root,
            )
            joint = joint + crf.marginals[..., None] * _label_probabilities(model, network, hidden) / len(
                inputs
            )
            for tag, scores in enumerate(network.tag_scores(hidden) if model.tags.names else ()):
                tags[tag] = tags[tag] + scores.softmax(-1) / tagging
        return joint, tags


def _label_probabilities(model: NeuralModel, network: Network, hidden: Hidden) -> Tensor:
    """P(label | arc) at the model's temperature, (B, T, T, L), or ones (1,) without labels.

    The label of the root is that of all arcs from the root, and of no others, if the model has one.
    """
    if not model.labels:
        return torch.ones(1, device=hidden.states.device)
    scores = network.all_label_scores(hidden) / model.temperatures.labels
    if model.root_label >= 0:
        labels = torch.arange(scores.shape[-1], device=scores.device) // model.shape.clusters
        from_root = torch.arange(scores.shape[1], device=scores.device)[:, None] == 0
        scores = scores.masked_fill(((labels == model.root_label) != from_root)[:, None], float("-inf"))
    return scores.softmax(-1).unflatten(-1, (-1, model.shape.clusters)).sum(-1)


def _sparse(joint: Tensor, batch: Batch, least: float) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    """Sentence, head, word, label and probability of the arcs that ``SoftTargets.from_marginals`` keeps."""
    arcs = joint.sum(-1)
    places = torch.arange(batch.width, device=joint.device)
    inside = (places > 0) & (places <= batch.lengths[:, None])  # (B, m)
    kept_arcs = (arcs >= least) & (arcs > 0)
    kept_arcs = (kept_arcs | (arcs == arcs.amax(1, keepdim=True))) & inside[:, None]
    floor = (MIN_LABEL_SHARE * arcs).clamp(min=MIN_LABEL_PROBABILITY)[..., None]
    kept = (joint >= floor) | (joint == joint.amax(-1, keepdim=True))
    kept &= kept_arcs[..., None]
    sparse = torch.where(kept, joint, 0.0)
    sparse = sparse * (arcs / sparse.sum(-1).clamp(min=torch.finfo(joint.dtype).tiny))[..., None]
    b, h, m, label = kept.nonzero(as_tuple=True)
    return b, h, m, label, sparse[b, h, m, label]
