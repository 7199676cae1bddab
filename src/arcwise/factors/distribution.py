"""``FactoredTreeDistribution``: p(tree) ∝ exp(scores of its arcs + scores of factors)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import get_args

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError, NoTreeError
from arcwise.factors.combination import Factor, FactorCombination
from arcwise.factors.sibling_kernel import SiblingKernel
from arcwise.inference.arc_matrices import ArcMatrices, Floats, Heads
from arcwise.inference.arguments import a_tree, label_set, seed_number, tree_count
from arcwise.inference.constraints import Constraints
from arcwise.inference.kernels import NATIVE
from arcwise.inference.labels import label_names
from arcwise.inference.sentence_scores import SentenceScores, check_arc_scores
from arcwise.inference.tree_class import PROJECTIVE
from arcwise.trees import Tree


class FactoredTreeDistribution:
    """The distribution over the projective trees of one sentence, with factors over each head's dependents.

    scores: as for ``TreeDistribution``: (n+1, n+1), or (L, n+1, n+1) with L ``labels``.
    factors: any number of ``HeadAutomaton`` and ``Siblings``; their scores are added.
    projective: must be True; sums over non-projective trees with factors are not tractable.
    single_root: whether exactly one arc leaves the root.
    constraints: hold in every operation.

    Every result is exact except ``minimum_risk``, whose trees need not obey the factors.
    O(n³ Q P² + n² Q² P L) with automata of Q states together; P is Q if they have joint weights, else 1.
    ``Siblings`` as the only factor has a faster, dedicated chart.

    >>> from arcwise.factors import HeadAutomaton
    >>> labels = ["subj", "obj"]
    >>> scores = np.zeros((2, 4, 4))
    >>> scores[0] = 1  # every arc prefers to be a subject
    >>> one_subject = HeadAutomaton.at_most_one(["subj"], labels=labels)
    >>> trees = FactoredTreeDistribution(
    ...     scores, factors=[one_subject], projective=True, single_root=True, labels=labels,
    ...     constraints=Constraints(required=[(0, 1), (1, 2), (1, 3)]))
    >>> sorted(trees.best().labels[2:])
    ['obj', 'subj']
    """

    def __init__(
        self,
        scores: npt.ArrayLike,
        *,
        factors: Sequence[Factor],
        projective: bool,
        single_root: bool,
        labels: Sequence[str] | None = None,
        constraints: Constraints | None = None,
    ) -> None:
        if not projective:
            raise InputError("projective: found False; factors need projective=True")
        if not isinstance(factors, list | tuple) or not all(isinstance(factor, Factor) for factor in factors):
            names = " and ".join(kind.__name__ for kind in get_args(Factor))
            raise InputError(f"factors: found {factors!r}, expected a list of {names}")
        self.tree_class = PROJECTIVE[bool(single_root)]
        self.labels = None if labels is None else label_set(labels)
        self.constraints = constraints
        self._dense = check_arc_scores(scores, self.labels, "scores")
        masked = self._dense
        if constraints is not None:
            masked = constraints.masked(self._dense, self.tree_class, self.labels)
        spans = () if constraints is None else tuple(constraints.subtrees)
        self._sentence = SentenceScores(masked, self.labels, spans)
        self._factors = FactorCombination.of(factors, len(self._sentence), self.labels)
        self._kernel = self._factors.kernel()

    def __repr__(self) -> str:
        return f"<FactoredTreeDistribution over trees of {len(self._sentence)} words: {list(self.factors)!r}>"

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The factors."""
        return self._factors.factors

    def given(self, constraints: Constraints | None) -> FactoredTreeDistribution:
        """Condition on constraints, which replace earlier ones."""
        return FactoredTreeDistribution(
            self._dense,
            factors=self.factors,
            projective=True,
            single_root=self.tree_class.single_root,
            labels=self.labels,
            constraints=constraints,
        )

    def best(self) -> Tree:
        """Return the highest-scoring (labelled) tree."""
        return self._k_best(1)[0]

    def k_best_labelled(self, k: int) -> list[Tree]:
        """Return the k best labelled trees, which differ in heads or labels, best first.

        Without labels, the k best trees. The list is shorter if there are fewer.
        """
        return self._k_best(tree_count("k", k, len(self._sentence) + 1, 1))

    @cached_property
    def log_partition(self) -> float:
        """log Z = log Σ exp(score) over all labelled trees."""
        return self._checked(self._kernel.log_partition(*self._arguments))

    @property
    def marginals(self) -> Floats:
        """The probability of each arc, shape (n+1, n+1)."""
        arcs = self._arc_marginals
        return arcs[0] if len(arcs) == 1 else np.asarray(arcs.sum(axis=0))

    @property
    def label_marginals(self) -> Floats:
        """The probability of each arc with each label, shape (L, n+1, n+1)."""
        if self.labels is None:
            raise InputError("label_marginals: the scores have no labels")
        return self._arc_marginals

    @property
    def factor_marginals(self) -> tuple[Floats, ...]:
        """The gradient of log Z with respect to the scores of each factor.

        For ``Siblings``: the probability of each pair, (n+1, n+1, n+1). For a ``HeadAutomaton``: how often
        each transition is expected, (Q, L).
        """
        return self._factors.split(self._joint_marginals[1])

    def score(self, tree: Tree) -> float:
        """Return the score of a tree, labelled if the scores are; -inf outside the distribution."""
        tree = a_tree(tree, len(self._sentence))
        if self.labels is not None and tree.labels is None:
            raise InputError("tree: found no labels, expected a labelled tree")
        arcs = self._sentence.score(tree, self.tree_class)
        return arcs if arcs == -np.inf else arcs + self._factors.score(tree, self.labels)

    def log_prob(self, tree: Tree) -> float:
        """Return log p(tree) = score - log Z, never above 0."""
        return min(self.score(tree) - self.log_partition, 0.0)

    def prob(self, tree: Tree) -> float:
        """Return p(tree)."""
        return float(np.exp(self.log_prob(tree)))

    def entropy(self) -> float:
        """Return the entropy of labelled trees in nats, H = log Z - E[score]."""
        arcs, parts = self._joint_marginals
        expected = _expected(arcs, self._scores) + _expected(parts, self._factors.part_scores)
        return max(self.log_partition - expected, 0.0)

    def sample(self, count: int, *, seed: int | np.random.Generator) -> list[Tree]:
        """Draw ``count`` trees independently, exactly; the same seed draws the same trees."""
        count = tree_count("count", count, len(self._sentence) + 1, 0)
        number = int(seed.integers(2**63)) if isinstance(seed, np.random.Generator) else seed_number(seed)
        heads, codes, value = self._kernel.sample(*self._arguments, count, number)
        self._checked(value)
        return self._trees(heads, codes)

    def minimum_risk(self) -> Tree:
        """Return the unlabelled tree with the highest expected number of correct heads.

        It is the best tree of the class over the marginals of arcs; a factor may forbid it.
        """
        marginals = self.marginals
        weights = np.where(marginals > 0, marginals, -np.inf)
        batch = ArcMatrices.of_checked([np.ascontiguousarray(weights)], [self._sentence.spans])
        return Tree(NATIVE.decode(batch, self.tree_class, 1)[0])

    @property
    def _scores(self) -> Floats:
        scores = self._sentence.scores
        return scores if self.labels is not None else scores[None]

    @cached_property
    def _arguments(self) -> tuple[Floats, bool, npt.NDArray[np.int32]]:
        spans = np.array([end for span in self._sentence.spans for end in span], np.int32)
        return np.ascontiguousarray(self._scores), self.tree_class.single_root, spans

    @cached_property
    def _arc_marginals(self) -> Floats:
        if not isinstance(self._kernel, SiblingKernel) or "_joint_marginals" in self.__dict__:
            return self._joint_marginals[0]
        arcs, value = self._kernel.arc_marginals(*self._arguments)
        self._checked(value)
        return arcs

    @cached_property
    def _joint_marginals(self) -> tuple[Floats, Floats]:
        arcs, parts, value = self._kernel.marginals(*self._arguments)
        self._checked(value)
        return arcs.reshape(self._scores.shape), parts

    def _k_best(self, k: int) -> list[Tree]:
        heads, codes, values = self._kernel.k_best(*self._arguments, k)
        self._checked(values[0] if len(values) else -np.inf)
        return self._trees(heads, codes)

    def _trees(self, heads: Heads, codes: npt.NDArray[np.int32]) -> list[Tree]:
        # Copies, so that one kept tree does not keep the others.
        rows = [row.copy() for row in heads]
        if self.labels is None:
            return [Tree.of_decoded(row) for row in rows]
        names = [label_names(row, self.labels) for row in codes]
        return [Tree.of_decoded(row, labels) for row, labels in zip(rows, names, strict=True)]

    def _checked(self, value: float) -> float:
        if value == -np.inf:
            raise NoTreeError(
                f"scores: no projective tree over the {len(self._sentence)} words "
                "obeys the factors and the constraints"
            )
        return float(value)


def _expected(probabilities: Floats, values: Floats) -> float:
    # 0 · inf would be NaN; what never occurs contributes nothing.
    possible = probabilities > 0
    return float((probabilities[possible] * values[possible]).sum())
