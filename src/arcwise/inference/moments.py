"""Means and covariances of additive functions of a tree: f(tree) = Σ f[h, m] over its arcs.

The mean is linear in the marginals. Cov(f, [arc in tree]) is the derivative of the arc's marginal when the
scores move in the direction f, so one pass of O(n³) gives the covariance with all arcs, and thereby with any
g (Li & Eisner 2009; Zmigrod, Vieira & Cotterell 2021). With labels, the law of total covariance splits it
into that of the means given the arc, and that of the labels of an arc, which are independent given the
tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError
from arcwise.inference.arc_matrices import ArcMatrices, Floats
from arcwise.inference.arguments import floats
from arcwise.inference.kernels import NATIVE
from arcwise.inference.labels import label_probabilities
from arcwise.inference.sentence_scores import SentenceScores
from arcwise.inference.tree_class import TreeClass


@dataclass(frozen=True)
class ArcProbabilities:
    """The probabilities of the arcs of one sentence, and of their labels given the arc, if there are any."""

    arcs: Floats
    """Shape (n+1, n+1)."""
    labels: Floats | None
    """Shape (L, n+1, n+1)."""

    @classmethod
    def of(cls, sentence: SentenceScores, marginals: Floats) -> ArcProbabilities:
        """Take the marginals of a sentence's arcs."""
        labels = None if sentence.labels is None else label_probabilities(sentence.scores)
        return cls(marginals, labels)

    @property
    def joint(self) -> Floats:
        """The probability of each (labelled) arc, shaped as the scores."""
        return self.arcs if self.labels is None else self.arcs * self.labels

    def functions(self, values: npt.ArrayLike, name: str, *, several: bool) -> Floats:
        """Check the values of one function, or of D; returns (D, *shape of the scores), 0 for impossible
        arcs.

        With labels, values (n+1, n+1) hold for all labels. Of each word the value of its most probable arc is
        subtracted: every tree has one arc into each word, so no covariance changes, and values far from 0
        cost no digits."""
        array = floats(values, name)
        shape = self.joint.shape
        expected = f"{('D', *shape)}".replace("'", "") if several else str(shape)
        if self.labels is not None and array.shape[int(several) :] == shape[1:]:
            array = array[..., None, :, :]
        elif array.shape[int(several) :] != shape:
            raise InputError(f"{name}: found shape {array.shape}, expected {expected}")
        functions = np.broadcast_to(array if several else array[None], (len(array) if several else 1, *shape))
        joint = self.joint
        functions = np.where(joint > 0, functions, 0.0)
        if not np.isfinite(functions).all():
            raise InputError(f"{name}: found nan or inf for a possible arc, expected a number")
        by_word = functions.reshape(len(functions), -1, shape[-1])
        usual = joint.reshape(-1, shape[-1]).argmax(axis=0)
        offsets = by_word[:, usual, np.arange(shape[-1])]
        return np.where(joint > 0, functions - offsets.reshape(-1, *[1] * (len(shape) - 1), shape[-1]), 0.0)

    def arc_means(self, functions: Floats) -> Floats:
        """E[f | arc], shape (D, n+1, n+1)."""
        return functions if self.labels is None else (self.labels * functions).sum(axis=1)

    def with_labels(self, functions: Floats, slopes: Floats) -> Floats:
        """Cov(f, [labelled arc in tree]), (D, L, n+1, n+1), from Cov(E[f | arc], [arc in tree])."""
        if self.labels is None:
            return slopes
        around = functions - self.arc_means(functions)[:, None]
        return self.labels * (slopes[:, None] + self.arcs * around)


def arc_covariances(
    batch: ArcMatrices,
    trees: TreeClass,
    probabilities: Sequence[ArcProbabilities],
    functions: Sequence[Floats],
    threads: int,
) -> list[Floats]:
    """Return Cov(f, [arc in tree]) of each sentence, shaped as its functions, (D, …). O(D n³).

    D is the same for all sentences.
    """
    means = [p.arc_means(f) for p, f in zip(probabilities, functions, strict=True)]
    directions = np.concatenate([mean.reshape(len(mean), -1) for mean in means], axis=1)
    slopes = NATIVE.marginals_jvp(batch, trees, directions, threads)
    ends = np.cumsum([mean[0].size for mean in means])[:-1]
    return [
        p.with_labels(f, part.reshape(mean.shape))
        for p, f, mean, part in zip(
            probabilities, functions, means, np.split(slopes, ends, axis=1), strict=True
        )
    ]


def inner_products(first: Floats, second: Floats) -> Floats:
    """Return Σ first[d] · second[e] over arcs, shape (D, E)."""
    return first.reshape(len(first), -1) @ second.reshape(len(second), -1).T
