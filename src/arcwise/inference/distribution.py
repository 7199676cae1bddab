"""``TreeDistribution``: p(tree) ∝ exp(sum of the scores of its arcs), and everything one can ask of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arcwise.errors import InputError
from arcwise.inference.arc_scores import ArcScores, check_arc_scores
from arcwise.inference.constraints import Constraints
from arcwise.inference.labels import label_probabilities
from arcwise.inference.sampling import sample_without_replacement
from arcwise.inference.score_batch import Heads, ScoreBatch
from arcwise.inference.tree_class import TreeClass
from arcwise.trees import Tree

OneOrEach: TypeAlias = Any
"""The answer for the sentence; for a batch, a list of the answers (an array (B,), where they are numbers)."""


class TreeDistribution:
    """The distribution over the dependency trees of a sentence, or of each sentence of a batch.

    ``scores`` is (n+1, n+1): ``scores[h, m]`` is the score of the arc h → m, word 0 is the wall, -inf forbids; column 0 and
    the diagonal are not read. With ``labels`` (a list of L names) it is (L, n+1, n+1), and trees are labelled trees. A list of such
    arrays, of any lengths, is a batch: every answer is then a list, or an array (B,) of numbers.

    ``projective`` and ``single_root`` (exactly one arc leaves the wall) say which trees there are. ``constraints`` (one for
    all sentences, or a list with one or None for each) hold in every operation. Nothing depends on ``threads``.

    >>> scores = np.log([[1, 2, 6, 1], [1, 1, 2, 1], [1, 8, 1, 4], [1, 1, 2, 1]])
    >>> trees = TreeDistribution(scores, projective=True, single_root=True)
    >>> trees.best()
    Tree.from_heads([2, 0, 2])
    >>> round(trees.prob(trees.best()), 3), round(float(trees.marginals[2, 3]), 3)
    (0.814, 0.881)
    """

    def __init__(
        self,
        scores: npt.ArrayLike | Sequence[npt.ArrayLike],
        *,
        projective: bool,
        single_root: bool,
        labels: Sequence[str] | None = None,
        constraints: Constraints | Sequence[Constraints | None] | None = None,
        threads: int = 1,
    ) -> None:
        self.tree_class = TreeClass(projective=projective, single_root=single_root)
        self.labels = None if labels is None else _check_labels(labels)
        self.threads = threads
        self.is_batch = isinstance(scores, list | tuple) and _depth(scores) > (3 if labels else 2)
        self._scores = self._checked_scores(scores)
        self.constraints = self._one_for_each(constraints)
        self._sentences = [
            self._constrained(own, known) for own, known in zip(self._scores, self.constraints, strict=True)
        ]

    # ---- the batch

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self._sentences)

    def __getitem__(self, sentence: int) -> TreeDistribution:
        """The distribution of one sentence of the batch."""
        return self._like(self._scores[sentence], self.constraints[sentence])

    def __iter__(self) -> Iterator[TreeDistribution]:
        return (self[sentence] for sentence in range(len(self)))

    def given(self, constraints: Constraints | Sequence[Constraints | None]) -> TreeDistribution:
        """The same scores under these constraints (instead of earlier ones). The difference of the two ``log_partition`` is
        the log probability that a tree obeys them.

        >>> trees = TreeDistribution(np.zeros((3, 3)), projective=False, single_root=False)
        >>> round(float(np.exp(trees.given(Constraints(required=[(0, 1)])).log_partition - trees.log_partition)), 3)
        0.667
        """
        return self._like(self._scores if self.is_batch else self._scores[0], constraints)

    # ---- the best trees

    def best(self) -> OneOrEach:
        """The tree with the highest score. O(n³) projective, O(n²) non-projective."""
        flat, _ = self.tree_class.decode(self._max_batch, self.threads)
        heads = self._max_batch.heads(flat)
        return self._answer(
            [own.best_tree(best[0]) for own, best in zip(self._sentences, heads, strict=True)]
        )

    def k_best(self, k: int) -> OneOrEach:
        """The k best trees (labelled trees, if there are labels), all different, best first; fewer if there are fewer."""
        heads, values = self.tree_class.k_best(self._max_batch, k, self.threads)
        return self._answer(
            [own.k_best_trees(heads[s], values[s], k) for s, own in enumerate(self._sentences)]
        )

    def minimum_risk(self) -> OneOrEach:
        """The tree with the most expected right arcs (with labels: arcs with the right label): the best tree when the marginals
        are the scores (Smith & Smith 2007, section 4)."""
        gains = [
            np.where(own.scores > -np.inf, marginals, -np.inf)
            for own, marginals in zip(self._sentences, self._finest_marginals, strict=True)
        ]
        spans = [Constraints(subtrees=own.spans) for own in self._sentences]
        decoder = self._like(gains if self.is_batch else gains[0], spans if self.is_batch else spans[0])
        return decoder.best()

    def greedy_heads(self) -> OneOrEach:
        """The best head of each word for itself, shape (n+1,); they need not form a tree (Smith & Smith 2007, section 6)."""
        return self._answer([_greedy(own) for own in self._sentences])

    # ---- sums over all trees

    @cached_property
    def log_partition(self) -> OneOrEach:
        """log Z = log Σ exp(score) over all trees. O(n³)."""
        values = self.tree_class.log_partition(self._sum_batch, self.threads)
        self._sum_batch.require_trees(values)
        return self._numbers(values)

    @cached_property
    def marginals(self) -> OneOrEach:
        """The probability of each arc, shape (n+1, n+1); each column but that of the wall sums to 1. O(n³)."""
        flat, log_partitions = self.tree_class.marginals(self._sum_batch, self.threads)
        self.__dict__.setdefault("log_partition", self._numbers(log_partitions))
        return self._answer(list(self._sum_batch.matrices(flat)))

    @cached_property
    def label_marginals(self) -> OneOrEach:
        """The probability of each arc with each label, shape (L, n+1, n+1)."""
        if self.labels is None:
            raise InputError("label_marginals: the distribution has no labels, expected labels=")
        return self._answer(
            [
                arcs * label_probabilities(own.scores)
                for arcs, own in zip(self._each(self.marginals), self._sentences, strict=True)
            ]
        )

    def score(self, tree: Tree | Sequence[Tree]) -> OneOrEach:
        """The score of a tree: the sum over its arcs; -inf if it is not one of the distribution's trees.

        A tree without labels in a distribution with labels stands for all its labellings.
        """
        pairs = zip(self._sentences, self._each(tree), strict=True)
        return self._numbers([own.score(one, self.tree_class) for own, one in pairs])

    def log_prob(self, tree: Tree | Sequence[Tree]) -> OneOrEach:
        """log p(tree) = score - log Z; -inf if it is not one of the distribution's trees."""
        return self.score(tree) - self.log_partition

    def prob(self, tree: Tree | Sequence[Tree]) -> OneOrEach:
        """p(tree)."""
        return self._numbers(np.exp(self._each(self.log_prob(tree))))

    def expected(self, values: npt.ArrayLike | Sequence[npt.ArrayLike]) -> OneOrEach:
        """The expectation of Σ ``values[h, m]`` over the arcs of a tree; values are (n+1, n+1), or shaped as labelled scores."""
        return self._numbers(self._expected([np.asarray(own, np.float64) for own in self._each(values)]))

    def expected_attachment(self, tree: Tree | Sequence[Tree], *, labelled: bool = False) -> OneOrEach:
        """The expected share of the known heads of ``tree`` that a random tree has too; with ``labelled``, heads and labels."""
        marginals = zip(self._each(self.marginals), self._finest_marginals, strict=True)
        shares = []
        for own, one, (arcs, labelled_arcs) in zip(self._sentences, self._each(tree), marginals, strict=True):
            wanted = one if labelled else Tree(one.heads)
            shares.append(own.of_arcs(arcs, labelled_arcs, wanted).mean())
        return self._numbers(shares)

    def entropy(self) -> OneOrEach:
        """H = log Z - Σ μ·score, in nats: how unsure the distribution is."""
        expected = self._expected([own.scores for own in self._sentences])
        return self._numbers(np.maximum(np.asarray(self._each(self.log_partition)) - expected, 0.0))

    def kl(self, other: TreeDistribution) -> OneOrEach:
        """KL(self ‖ other) = Σ p(tree) log(p(tree) / q(tree)), in nats; inf where ``other`` rules out a possible tree."""
        self._check_comparable(other)
        pairs = zip(self._sentences, other._sentences, strict=True)
        with np.errstate(invalid="ignore"):  # -inf - -inf: forbidden by both, of probability 0
            differences = [mine.scores - theirs.scores for mine, theirs in pairs]
        log_z, other_log_z = (np.asarray(d._each(d.log_partition)) for d in (self, other))
        return self._numbers(np.maximum(self._expected(differences) - log_z + other_log_z, 0.0))

    # ---- samples

    def sample(self, count: int, *, seed: int, replace: bool = True) -> OneOrEach:
        """``count`` trees drawn from the distribution, exactly; the same seed gives the same trees.

        ``replace=False``: all different, each drawn from what the earlier ones have left, exactly (see
        ``arcwise.inference.sampling``).
        """
        if count < 0:
            raise InputError(f"count: found {count}, expected 0 or more")
        if not 0 <= seed < 2**64:
            raise InputError(f"seed: found {seed}, expected 0 <= seed < 2**64")
        streams = [np.random.default_rng([seed, s]) for s in range(len(self))]
        if not replace:
            return self._answer(
                [
                    sample_without_replacement(own, self.tree_class, count, rng)
                    for own, rng in zip(self._sentences, streams, strict=True)
                ]
            )
        draws = self.tree_class.sample(self._sum_batch, count, seed, 0, self.threads)
        return self._answer([own.drawn_trees(draws[s], streams[s]) for s, own in enumerate(self._sentences)])

    # ---- one sentence and batches

    def _like(self, scores: Any, constraints: Any) -> TreeDistribution:
        return TreeDistribution(
            scores,
            projective=self.tree_class.projective,
            single_root=self.tree_class.single_root,
            labels=self.labels,
            constraints=constraints,
            threads=self.threads,
        )

    def _checked_scores(self, scores: Any) -> list[npt.NDArray[np.float64]]:
        if not self.is_batch:
            return [check_arc_scores(scores, self.labels, "scores")]
        return [check_arc_scores(own, self.labels, f"scores[{s}]") for s, own in enumerate(scores)]

    def _one_for_each(
        self, constraints: Constraints | Sequence[Constraints | None] | None
    ) -> list[Constraints | None]:
        if constraints is None or isinstance(constraints, Constraints):
            return [constraints] * len(self._scores)
        if len(constraints) != len(self._scores):
            raise InputError(
                f"constraints: found {len(constraints)}, expected one for each of {len(self._scores)} sentences"
            )
        return list(constraints)

    def _constrained(self, scores: npt.NDArray[np.float64], known: Constraints | None) -> ArcScores:
        if known is None:
            return ArcScores(scores, self.labels)
        return ArcScores(
            known.masked(scores, self.tree_class, self.labels), self.labels, tuple(known.subtrees)
        )

    @cached_property
    def _max_batch(self) -> ScoreBatch:
        return ScoreBatch.of_checked(
            [own.maximised for own in self._sentences], [own.spans for own in self._sentences]
        )

    @cached_property
    def _sum_batch(self) -> ScoreBatch:
        return ScoreBatch.of_checked(
            [own.summed for own in self._sentences], [own.spans for own in self._sentences]
        )

    @property
    def _finest_marginals(self) -> Sequence[npt.NDArray[np.float64]]:
        """Of each sentence, shaped as its scores."""
        return self._each(self.marginals if self.labels is None else self.label_marginals)

    def _expected(self, values: Sequence[npt.NDArray[np.float64]]) -> npt.NDArray[np.float64]:
        triples = zip(self._sentences, values, self._finest_marginals, strict=True)
        return np.array([own.expected(one, marginals) for own, one, marginals in triples])

    def _each(self, answer: OneOrEach) -> Sequence[Any]:
        """One value for each sentence."""
        if not self.is_batch:
            return [answer]
        if len(answer) != len(self):
            raise InputError(f"found {len(answer)} values, expected one for each of {len(self)} sentences")
        return answer  # type: ignore[no-any-return]

    def _answer(self, answers: list[Any]) -> OneOrEach:
        return answers if self.is_batch else answers[0]

    def _numbers(self, numbers: Sequence[float] | npt.NDArray[np.float64]) -> OneOrEach:
        return np.asarray(numbers, np.float64) if self.is_batch else float(numbers[0])

    def _check_comparable(self, other: TreeDistribution) -> None:
        if self.labels != other.labels or [len(s) for s in self._sentences] != [
            len(s) for s in other._sentences
        ]:
            raise InputError("other: has other labels or other sentence lengths, expected the same")
        if self.tree_class not in other.tree_class:
            raise InputError(
                f"other: its trees are {other.tree_class}, expected a class that holds all trees of {self.tree_class}"
            )
        for mine, theirs in zip(self._sentences, other._sentences, strict=True):
            if not set(theirs.spans) <= set(mine.spans):
                raise InputError(
                    f"other: requires the subtrees {theirs.spans}, expected none but {mine.spans}"
                )


def _check_labels(labels: Sequence[str]) -> tuple[str, ...]:
    names = tuple(labels)
    if not names or len(set(names)) != len(names):
        raise InputError(f"labels: found {names}, expected at least one, all different")
    return names


def _depth(scores: Any) -> int:
    """How many indices lead to a number; only the first of each sequence is looked at."""
    levels = 0
    while isinstance(scores, list | tuple):
        if not scores:
            raise InputError("scores: found an empty list, expected at least one sentence")
        scores, levels = scores[0], levels + 1
    return levels + np.ndim(scores)


def _greedy(sentence: ArcScores) -> Heads:
    heads: Heads = sentence.maximised.argmax(axis=0).astype(np.int32)
    heads[0] = -1
    return heads
