"""Log-probabilities, entropies and divergences of one sentence, right however large its scores are.

Each is a difference: of log Z and a score, or of log Z and an expected score. Doubles do as long as the numbers that are subtracted are
small enough (``LARGE``); beyond, the native ``tall_*`` kernels take ratios of numbers with exponents without bounds and subtract
nothing. Where labels are involved, P(tree, labels) = P(tree) Π P(label | arc), and each factor is found by itself.
"""

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

LARGE = 3e6
"""A difference of sums of this size is right to nine digits after the point. As ``cancels`` in ``tall_sums.hpp``."""
FAR = 1e3
"""So is an expectation over values that lie, on average, so far from those of the best arcs. As ``magnifies`` there."""


def log_probability(own: SentenceScores, trees: TreeClass, tree: Tree, log_z: float) -> float:
    """log p(tree); a tree without labels stands for all its labellings. Never above 0, whatever rounding does."""
    score = own.score(tree, trees)
    if score == -np.inf:
        return score
    arcs = own.of_arcs(own.summed, own.scores, tree)
    if np.abs(arcs).sum() + abs(log_z) < LARGE:
        return min(score - log_z, 0.0)
    structure = native.tall_log_probability(*_arguments(own, trees), np.ascontiguousarray(tree.heads))
    if own.labels is None or tree.labels is None:
        return structure
    labels = log_label_probabilities(own.scores)
    return structure + min(float(own.of_arcs(own.summed, labels, tree).sum()), 0.0)


def entropy(own: SentenceScores, trees: TreeClass, marginals: Floats, log_z: float) -> float:
    """H = log Z - Σ μ·score; ``marginals`` are shaped as the scores: labelled ones give the entropy of labelled trees."""
    scores = own.scores if marginals.ndim == own.scores.ndim else own.summed
    possible = marginals > 0
    products = marginals[possible] * scores[possible]
    if np.abs(products).sum() < FAR and abs(log_z) < LARGE:
        return max(log_z - float(products.sum()), 0.0)
    highest = scores.max(axis=tuple(range(scores.ndim - 1)))  # of each word
    with np.errstate(invalid="ignore"):  # -inf - -inf, of probability 0
        lost = float(np.where(marginals > 0, marginals * (highest - scores), 0.0).sum())
    if np.abs(highest[1:]).sum() + abs(log_z) < LARGE and lost < FAR:
        return max(fsum([log_z, *(-highest[1:]).tolist()]) + lost, 0.0)
    within = np.zeros_like(own.summed)
    if marginals.ndim == 3:
        labels = log_label_probabilities(own.scores)
        within = -_weighted(labels, labels).sum(axis=0)
    return native.tall_entropy(*_arguments(own, trees), within)


def divergence(
    own: SentenceScores,
    trees: TreeClass,
    other: SentenceScores,
    other_trees: TreeClass,
    marginals: Floats,
    log_zs: tuple[float, float],
) -> float:
    """KL(own ‖ other) = Σ μ·(score - other score) - log Z + other log Z; inf where ``other`` rules out a possible tree."""
    ruled_out = (own.scores > -np.inf) & (other.scores == -np.inf)
    if ruled_out.any() and (
        marginals[ruled_out].any() or _possible(own, trees)[ruled_out.nonzero()[-2:]].any()
    ):
        return np.inf
    with np.errstate(invalid="ignore"):  # -inf - -inf, of probability 0
        differences = np.where(marginals > 0, own.scores - other.scores, 0.0)
    words = differences.reshape(-1, len(own) + 1)
    usual = words[marginals.reshape(words.shape).argmax(axis=0), np.arange(len(own) + 1)]
    further = marginals * (differences - usual)
    sizes = [*log_zs, *usual.tolist()]
    if np.abs(sizes).sum() < LARGE and np.abs(further).sum() < FAR:
        return max(fsum([-log_zs[0], log_zs[1], *usual.tolist()]) + float(further.sum()), 0.0)
    return _tall_divergence(own, trees, other, other_trees)


def _tall_divergence(
    own: SentenceScores, trees: TreeClass, other: SentenceScores, other_trees: TreeClass
) -> float:
    """KL to ``other`` restricted to the trees of ``own``, and -log of the probability that ``other`` gives them."""
    within = np.zeros_like(own.summed)
    if own.labels is not None:
        mine, theirs = log_label_probabilities(own.scores), log_label_probabilities(other.scores)
        with np.errstate(invalid="ignore"):  # forbidden by both
            within = _weighted(mine, mine - theirs).sum(axis=0)
    # Arcs that only one of them has are in no tree of both.
    shared = (own.summed > -np.inf) & (other.summed > -np.inf) & np.isfinite(within)
    here = np.where(shared, own.summed, -np.inf)
    there = np.where(shared, other.summed, -np.inf)
    spans = _spans(own)
    inside = native.tall_divergence(
        here, trees.projective, trees.single_root, spans, there, np.where(shared, within, 0.0)
    )
    outside = native.tall_log_ratio(
        *_arguments(other, other_trees), there, trees.projective, trees.single_root, spans
    )
    return inside + max(outside, 0.0)


def _weighted(log_probabilities: Floats, values: Floats) -> Floats:
    """Probability times value, 0 where the probability is."""
    with np.errstate(invalid="ignore"):
        return np.where(log_probabilities > -np.inf, np.exp(log_probabilities) * values, 0.0)


def _possible(own: SentenceScores, trees: TreeClass) -> npt.NDArray[np.bool_]:
    """Which arcs are in some tree, however improbable it is."""
    flat = np.where(own.summed > -np.inf, 0.0, -np.inf)
    batch = ArcMatrices.of_checked([flat], [own.spans])
    return NATIVE.marginals(batch, trees, 1)[0].reshape(flat.shape) > 0


def _arguments(own: SentenceScores, trees: TreeClass) -> tuple[Floats, bool, bool, Heads]:
    return np.ascontiguousarray(own.summed), trees.projective, trees.single_root, _spans(own)


def _spans(own: SentenceScores) -> Heads:
    return np.array([end for span in own.spans for end in span], np.int32)
