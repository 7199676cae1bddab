"""Log probability, entropy and KL divergence of one sentence, accurate for scores of any size.

Each is a difference: log Z minus a score, or minus an expected score. Doubles suffice as long as the
subtracted numbers are small enough (``LARGE``); beyond that, the native ``tall_*`` kernels take ratios of
numbers with an unbounded exponent and subtract nothing. With labels, P(tree, labels) = P(tree) Π P(label |
arc), and each factor is computed separately. See docs/explanation/large-scores.md."""

from __future__ import annotations

from math import fsum

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.inference.arc_matrices import ArcMatrices, Floats, Heads
from arcwise.inference.kernels import NATIVE
from arcwise.inference.labels import log_label_probabilities
from arcwise.inference.sentence_scores import SentenceScores
from arcwise.inference.tree_class import TreeClass
from arcwise.trees import Tree

# Doubles have 16 digits: a difference of numbers up to 3e6 keeps nine decimals.
LARGE = 3e6
"""Differences of sums up to this size are accurate to nine decimals. As ``cancels`` in ``tall_sums.hpp``."""
FAR = 1e3
"""So are expectations of values that are, on average, this far from those of the best arcs.

As ``magnifies`` there.
"""


def log_probability(sentence: SentenceScores, trees: TreeClass, tree: Tree, log_z: float) -> float:
    """Return log p(tree), never above 0; an unlabelled tree stands for all its labellings."""
    score = sentence.score(tree, trees)
    if score == -np.inf:
        return score
    arcs = sentence.of_arcs(sentence.summed, sentence.scores, tree)
    if np.abs(arcs).sum() + abs(log_z) < LARGE:
        return min(score - log_z, 0.0)
    structure = native.tall_log_probability(*_arguments(sentence, trees), np.ascontiguousarray(tree.heads))
    if sentence.labels is None or tree.labels is None:
        return structure
    labels = log_label_probabilities(sentence.scores)
    return structure + min(float(sentence.of_arcs(sentence.summed, labels, tree).sum()), 0.0)


def entropy(sentence: SentenceScores, trees: TreeClass, marginals: Floats, log_z: float) -> float:
    """Return H = log Z - Σ μ·score; labelled ``marginals`` give the entropy of labelled trees."""
    scores = sentence.scores if marginals.ndim == sentence.scores.ndim else sentence.summed
    possible = marginals > 0
    products = marginals[possible] * scores[possible]
    if np.abs(products).sum() < FAR and abs(log_z) < LARGE:
        # H is never negative; rounding would give -1e-16 for nearly certain sentences.
        return max(log_z - float(products.sum()), 0.0)
    highest = scores.max(axis=tuple(range(scores.ndim - 1)))  # of each word's arcs
    with np.errstate(invalid="ignore"):  # -inf - -inf, of probability 0
        lost = float(np.where(marginals > 0, marginals * (highest - scores), 0.0).sum())
    if np.abs(highest[1:]).sum() + abs(log_z) < LARGE and lost < FAR:
        # fsum: log Z and the best scores nearly cancel, so their sum is rounded once, at the end.
        return max(fsum([log_z, *(-highest[1:]).tolist()]) + lost, 0.0)
    within = np.zeros_like(sentence.summed)
    if marginals.ndim == 3:
        labels = log_label_probabilities(sentence.scores)
        within = -_weighted(labels, labels).sum(axis=0)
    return native.tall_entropy(*_arguments(sentence, trees), within)


def divergence(
    p: SentenceScores,
    p_trees: TreeClass,
    q: SentenceScores,
    q_trees: TreeClass,
    marginals: Floats,
    log_zs: tuple[float, float],
) -> float:
    """Return KL(p ‖ q) = Σ μ·(p score - q score) - p log Z + q log Z.

    Inf if ``q`` rules out a possible tree.
    """
    ruled_out = (p.scores > -np.inf) & (q.scores == -np.inf)
    if ruled_out.any() and (
        # A marginal may underflow to 0 although some tree has the arc, which makes the KL infinite.
        marginals[ruled_out].any() or _possible(p, p_trees)[ruled_out.nonzero()[-2:]].any()
    ):
        return np.inf
    with np.errstate(invalid="ignore"):  # -inf - -inf, of probability 0
        differences = np.where(marginals > 0, p.scores - q.scores, 0.0)
    words = differences.reshape(-1, len(p) + 1)
    usual = words[marginals.reshape(words.shape).argmax(axis=0), np.arange(len(p) + 1)]
    # Relative to each word's usual difference, so that a constant offset cancels no digits.
    further = marginals * (differences - usual)
    sizes = [*log_zs, *usual.tolist()]
    if np.abs(sizes).sum() < LARGE and np.abs(further).sum() < FAR:
        return max(fsum([-log_zs[0], log_zs[1], *usual.tolist()]) + float(further.sum()), 0.0)
    return _tall_divergence(p, p_trees, q, q_trees)


def _tall_divergence(p: SentenceScores, p_trees: TreeClass, q: SentenceScores, q_trees: TreeClass) -> float:
    """Return KL(p ‖ q restricted to the trees of p), plus -log of the probability of these trees in q."""
    within = np.zeros_like(p.summed)
    if p.labels is not None:
        mine, theirs = log_label_probabilities(p.scores), log_label_probabilities(q.scores)
        with np.errstate(invalid="ignore"):  # forbidden by both
            within = _weighted(mine, mine - theirs).sum(axis=0)
    # An arc that only one of them allows is in no tree of both.
    shared = (p.summed > -np.inf) & (q.summed > -np.inf) & np.isfinite(within)
    here = np.where(shared, p.summed, -np.inf)
    there = np.where(shared, q.summed, -np.inf)
    spans = _spans(p)
    inside = native.tall_divergence(
        here, p_trees.projective, p_trees.single_root, spans, there, np.where(shared, within, 0.0)
    )
    outside = native.tall_log_ratio(
        *_arguments(q, q_trees), there, p_trees.projective, p_trees.single_root, spans
    )
    return inside + max(outside, 0.0)


def _weighted(log_probabilities: Floats, values: Floats) -> Floats:
    """Return probability times value, 0 where the probability is 0."""
    with np.errstate(invalid="ignore"):
        return np.where(log_probabilities > -np.inf, np.exp(log_probabilities) * values, 0.0)


def _possible(sentence: SentenceScores, trees: TreeClass) -> npt.NDArray[np.bool_]:
    """Return which arcs occur in some tree, however improbable."""
    flat = np.where(sentence.summed > -np.inf, 0.0, -np.inf)
    batch = ArcMatrices.of_checked([flat], [sentence.spans])
    return NATIVE.marginals(batch, trees, 1)[0].reshape(flat.shape) > 0


def _arguments(sentence: SentenceScores, trees: TreeClass) -> tuple[Floats, bool, bool, Heads]:
    return np.ascontiguousarray(sentence.summed), trees.projective, trees.single_root, _spans(sentence)


def _spans(sentence: SentenceScores) -> Heads:
    return np.array([end for span in sentence.spans for end in span], np.int32)
