"""Training objectives: losses of trees, labels and tags."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, linear

from arcwise.neural.batch import Batch, to_device
from arcwise.neural.config import NeuralConfig
from arcwise.neural.data import Data
from arcwise.neural.network import Hidden, Network
from arcwise.neural.second_order import sibling_trees
from arcwise.torch import SiblingTreeCRF, losses

_LOSSES: dict[str, Callable[..., Tensor]] = {
    "likelihood": losses.log_likelihood,
    "softmax-margin": losses.softmax_margin,
    "hinge": losses.hinge,
    "risk": losses.risk,
}


def sentence_losses(
    network: Network, hidden: Hidden, data: Data, batch: Batch, config: NeuralConfig
) -> Tensor:
    """Weighted loss of each sentence, (B,), against the teacher's soft targets or else its gold tree."""
    targets = data.soft_targets
    if targets is None:
        return tree_loss(network, hidden, data, batch, config)
    is_soft = targets.has_targets(batch.sentences)
    weights = to_device(targets.weights[batch.sentences], data.device)
    if not is_soft.any():
        return weights * tree_loss(network, hidden, data, batch, config)

    def label_scores(*arcs: Tensor) -> Tensor:
        return network.by_label(network.label_scores_of(hidden, *arcs))

    loss = targets.loss(
        batch.sentences,
        network.arcs(hidden),
        label_scores if network.shape.states else None,
        batch.lengths,
        projective=config.projective,
        single_root=config.single_root,
    )
    if not is_soft.all():
        gold_loss = tree_loss(network, hidden, data, batch, config)
        loss = torch.where(to_device(is_soft, data.device), loss, gold_loss.to(loss.dtype))
    return weights * loss


def tree_loss(network: Network, hidden: Hidden, data: Data, batch: Batch, config: NeuralConfig) -> Tensor:
    """Loss of each sentence's tree, (B,); inf without gradient if no tree of the class fits the annotation.

    The score of a labelled arc is the arc score + log P(label | arc), so the likelihood factors into that of
    the heads (at order 2, with siblings) and that of the labels, and only labels of gold arcs are scored.
    With label costs, or labels of words without heads, all arcs are scored with all labels.
    """
    heads, labels = _padded_codes(data.heads, batch), _padded_codes(data.labels, batch)
    arcs = network.arcs(hidden)
    trees: dict[str, Any] = {
        "projective": config.projective,
        "single_root": config.single_root,
        "lengths": batch.lengths,
    }
    labelled = network.shape.states > 0
    if config.order == 2:
        trees_of = partial(sibling_trees, network, hidden, batch=batch, single_root=config.single_root)
        of_heads = _second_order_loss(network, hidden, arcs, data, heads, labels, trees_of)
    elif config.objective == "head-by-head":
        of_heads = _head_by_head(arcs, heads, batch)
    elif labelled and (config.objective != "likelihood" or not data.heads_with_labels):
        clusters = torch.arange(network.shape.states, device=heads.device) // network.shape.clusters
        scores = arcs[..., None] + network.all_label_scores(hidden)
        loss = _LOSSES[config.objective]
        return loss(scores, heads, labels, label_dim=-1, label_of_state=clusters, **trees)
    elif config.objective == "likelihood":
        of_heads = losses.log_likelihood(arcs, heads, complete=data.complete or None, **trees)
    else:
        of_heads = _LOSSES[config.objective](arcs, heads, **trees)
    if not labelled:
        return of_heads
    return of_heads + _label_loss(network, hidden, heads, labels)


def _second_order_loss(
    network: Network,
    hidden: Hidden,
    arcs: Tensor,
    data: Data,
    heads: Tensor,
    labels: Tensor,
    trees_of: Callable[[Tensor], SiblingTreeCRF],
) -> Tensor:
    """-log P(known heads, labels of words without heads), (B,), over projective trees with siblings.

    ``trees_of``: the distributions for scores of arcs.
    """
    if not network.shape.states or data.heads_with_labels:
        return -trees_of(arcs).log_prob(heads)
    of_labels = network.by_label(network.all_label_scores(hidden))  # (B, h, m, L)
    index = labels.clamp(min=0)[:, None, :, None].expand(-1, arcs.shape[1], -1, -1)
    without_head = ((labels >= 0) & (heads < 0))[:, None]
    agreeing = torch.where(without_head, of_labels.gather(-1, index).squeeze(-1), 0.0)
    return trees_of(arcs).log_partition - trees_of(arcs + agreeing).score(heads)


def tag_losses(network: Network, hidden: Hidden, data: Data, batch: Batch) -> list[Tensor]:
    """Loss of each tag, summed over the words: negative log-likelihood of the gold tags, and the weighted
    cross-entropy with the teacher's. On a GPU all in one.
    """
    if len(network.tags) > 1 and hidden.states.is_cuda:
        return [joint_tag_loss(network, hidden, data, batch)]
    scores = network.tag_scores(hidden)
    of_gold = [
        cross_entropy(tag_scores, tags[batch.positions], ignore_index=-1, reduction="sum")
        for tag_scores, tags in zip(scores, data.tags, strict=True)
    ]
    if not data.soft_tags:
        return of_gold
    return [
        loss + _soft_tag_loss(tag_scores, codes[batch.positions], weights[batch.positions])
        for loss, tag_scores, (codes, weights) in zip(of_gold, scores, data.soft_tags, strict=True)
    ]


def _soft_tag_loss(scores: Tensor, codes: Tensor, weights: Tensor) -> Tensor:
    """-Σ weight · log P(value) over the values (N, k) of all words; those without a value have weight 0."""
    log_probabilities = scores.log_softmax(-1).gather(-1, codes.clamp(min=0).long())
    return -(weights.to(scores.dtype) * log_probabilities).sum()


def joint_tag_loss(network: Network, hidden: Hidden, data: Data, batch: Batch) -> Tensor:
    """The sum of ``tag_losses``, in a few large operations instead of many small ones.

    The columns of the scores, (N, values), are the values of the first tag, then those of the second …
    """
    values = network.tag_values
    weights: list[Any] = [tag.weight for tag in network.tags]
    biases: list[Any] = [tag.bias for tag in network.tags]
    scores = linear(hidden.states, torch.cat(weights), torch.cat(biases))
    gold = data.joint_tags[batch.positions]  # (N, tags)
    highest = scores.detach()[:, values.columns].amax(-1)  # (N, tags)
    sums = (scores - highest[:, values.tag]).exp() @ values.of_tag
    log_z = sums.log() + highest
    loss = (
        torch.where(gold >= 0, log_z, 0.0).sum()
        - torch.where(gold[:, values.tag] == values.value, scores, 0.0).sum()
    )
    if data.joint_soft_tags is None:
        return loss
    codes, shares, tag = data.joint_soft_tags
    taught = shares[batch.positions].to(scores.dtype)  # (N, values kept of all tags)
    columns = codes[batch.positions].clamp(min=0) + values.columns[tag, 0]
    totals = torch.zeros_like(log_z).index_add(1, tag, taught)
    return loss + (totals * log_z).sum() - (taught * scores.gather(1, columns)).sum()


def _padded_codes(values: Tensor, batch: Batch) -> Tensor:
    """Pad targets (P,) to (B, T) with -1."""
    flat = values.new_full((batch.size * batch.width,), -1)
    flat[batch.places] = values[batch.positions]
    return flat.view(batch.size, batch.width)


def _label_loss(network: Network, hidden: Hidden, heads: Tensor, labels: Tensor) -> Tensor:
    """-log P(labels | arcs), (B,), clusters summed out, over words with head and label."""
    log_probabilities = network.by_label(network.label_scores(hidden, heads))  # (B, T, L)
    # gather cannot take -1 (unknown); the mask below removes what index 0 selects in its place.
    of_words = log_probabilities.gather(-1, labels.clamp(min=0)[..., None]).squeeze(-1)
    return -torch.where((labels >= 0) & (heads >= 0), of_words, 0.0).sum(1)


def _head_by_head(arcs: Tensor, heads: Tensor, batch: Batch) -> Tensor:
    """Cross-entropy over the heads of each word (other words and the root), summed per sentence, (B,)."""
    places = torch.arange(batch.width, device=arcs.device)
    outside = places[None, :] > batch.lengths[:, None]  # (B, T)
    impossible = outside[:, :, None] | torch.eye(batch.width, dtype=torch.bool, device=arcs.device)
    scores = arcs.masked_fill(impossible, float("-inf")).transpose(1, 2)  # (B, m, h)
    # Rows of padding are all -inf, whose softmax is NaN, and NaN would spread through the gradient.
    scores = scores.masked_fill(outside[:, :, None], 0.0)
    of_words = scores.log_softmax(-1).gather(-1, heads.clamp(min=0)[..., None]).squeeze(-1)
    return -torch.where(heads >= 0, of_words, 0.0).sum(1)
