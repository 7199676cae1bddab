"""``TreeDistribution`` and ``TreeDistributionBatch``: p(tree) ∝ exp(sum of the scores of its arcs)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, overload

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError
from arcwise.inference.alternatives import Alternative
from arcwise.inference.arc_matrices import Floats, Heads
from arcwise.inference.arguments import depth, floats, label_set, unpadded
from arcwise.inference.constraints import Constraints
from arcwise.inference.scores import Scores
from arcwise.inference.sentence_scores import check_arc_scores
from arcwise.inference.tree_inference import TreeInference
from arcwise.trees import Tree

_T = TypeVar("_T")


class TreeDistribution(TreeInference):
    """The distribution over the dependency trees of one sentence.

    scores: shape (n+1, n+1); ``scores[h, m]`` is the score of the arc h → m, and word 0 is the root.
        -inf forbids an arc; column 0 and the diagonal are not read.
        With L ``labels`` the shape is (L, n+1, n+1), and trees are labelled trees.
    projective, single_root: the class of trees (``single_root``: exactly one arc leaves the root).
    constraints: hold in every operation.
    temperature: divides arc scores before normalisation.
    label_temperature: divides label scores given the arc.
    smoothing: adds this fraction of a word's best arc weight, spread over all its arcs.
        Neither it nor the temperatures affect score-based results (``best``, ``k_best``, ``k_best_labelled``,
        ``greedy_heads``).
    threads: native threads; results do not depend on it.
    lengths: deprecated, as are a list of sentences or ``Scores``: use ``TreeDistributionBatch``.

    Scores may have any size up to 1e300. Large negative scores work as masks too (-1e9, -1e30 or the lowest
    float): probabilities keep nine digits or more (docs/explanation/large-scores.md).

    >>> scores = np.log([[1, 2, 6, 1], [1, 1, 2, 1], [1, 8, 1, 4], [1, 1, 2, 1]])
    >>> trees = TreeDistribution(scores, projective=True, single_root=True)
    >>> trees.best()
    Tree.from_heads([2, 0, 2])
    >>> round(trees.prob(trees.best()), 3), round(float(trees.marginals[2, 3]), 3)
    (0.814, 0.881)
    """

    def __init__(
        self,
        scores: npt.ArrayLike,
        lengths: npt.ArrayLike | None = None,
        *,
        projective: bool,
        single_root: bool,
        labels: Sequence[str] | None = None,
        constraints: Constraints | None = None,
        temperature: float = 1.0,
        label_temperature: float = 1.0,
        smoothing: float = 0.0,
        threads: int = 1,
    ) -> None:
        options = (projective, single_root, temperature, label_temperature, smoothing, threads)
        names = None if labels is None else label_set(labels)
        if lengths is not None or _is_batch(scores, names):
            warnings.warn(
                "TreeDistribution takes one sentence: use TreeDistributionBatch for a batch",
                DeprecationWarning,
                stacklevel=2,
            )
            # __init__ cannot return another object, and __new__ would slow down every construction.
            self.__class__ = TreeDistributionBatch  # type: ignore[assignment]
            checked, names = _batch_scores(scores, lengths, names)
            self._prepare(checked, names, constraints, *options)
            return
        _refuse_stacked(scores, names, "one sentence; for several use TreeDistributionBatch")
        self._prepare([check_arc_scores(scores, names, "scores")], names, constraints, *options)

    def __repr__(self) -> str:
        return self._describe(f"{self._words[0]} words")

    def given(self, constraints: Constraints | None) -> TreeDistribution:
        """Condition on constraints, which replace earlier ones.

        The difference of the two ``log_partition`` is the log probability that a tree obeys the constraints.

        >>> trees = TreeDistribution(np.zeros((3, 3)), projective=False, single_root=False)
        >>> rooted = trees.given(Constraints(required=[(0, 1)]))
        >>> round(float(np.exp(rooted.log_partition - trees.log_partition)), 3)
        0.667
        """
        conditional = TreeDistribution(self._dense[0], constraints=constraints, **self._options)
        # Smoothing stays relative to the unconstrained scores, or conditioning would change the model.
        conditional.__dict__["_highest"] = self._highest
        return conditional

    def best(self) -> Tree:
        """Return the highest-scoring tree, each arc with its best label.

        O(n³) projective, O(n²) non-projective.
        """
        return self._decoded_trees(native.Decoder.map)[0]

    def k_best(self, k: int) -> list[Tree]:
        """Return the k best trees that differ in their heads, each with its best labels, best first.

        The list is shorter if there are fewer than k trees.
        """
        return self._k_best_trees(k)[0]

    def k_best_labelled(self, k: int) -> list[Tree]:
        """Return the k best labelled trees, which differ in heads or labels, best first."""
        return self._k_best_labelled_trees(k)[0]

    def minimum_risk(self) -> Tree:
        """Return the tree with the highest expected number of correct heads, each arc with its best label.

        Minimum Bayes risk decoding (Smith & Smith 2007, section 4).
        """
        return self._decoded_trees(native.Decoder.minimum_risk)[0]

    def minimum_labelled_risk(self) -> Tree:
        """Return the tree with the highest expected number of correct arcs: head and label both right."""
        return self._decoded_trees(native.Decoder.minimum_labelled_risk)[0]

    def greedy_heads(self) -> Heads:
        """Return the best head of each word separately, shape (n+1,): not necessarily a tree.

        Smith & Smith 2007, section 6.
        """
        return self._decode(native.Decoder.greedy)[0][0]

    @property
    def log_partition(self) -> float:
        """log Z = log Σ exp(score) over all trees. O(n³)."""
        return float(self._log_partitions[0])

    @property
    def marginals(self) -> Floats:
        """The probability of each arc, shape (n+1, n+1); every column but the root's sums to 1. O(n³)."""
        return self._arc_marginals[0]

    @property
    def label_marginals(self) -> Floats:
        """The probability of each arc with each label, shape (L, n+1, n+1)."""
        return self._labelled_marginals[0]

    def alternatives(self, k: int | None = 3, *, least: float = 0.0) -> list[list[Alternative]]:
        """Return the ``k`` most probable heads of each word, each with its ``k`` most probable labels.

        ``k=None`` returns all with a probability above ``least``.

        >>> trees = TreeDistribution(np.zeros((3, 3)), projective=False, single_root=False)
        >>> trees.alternatives(k=2)[0]
        [Alternative(head=0, probability=0.666..., labels=()),
         Alternative(head=2, probability=0.333..., labels=())]
        """
        return self._alternatives(k, least)[0]

    def score(self, tree: Tree) -> float:
        """Return the sum of the tree's arc scores, temperatures applied.

        -inf for a tree outside the distribution. An unlabelled tree in a labelled distribution stands for all
        its labellings."""
        return float(self._tree_scores([tree])[0])

    def log_prob(self, tree: Tree) -> float:
        """Return log p(tree) = score - log Z, never above 0; -inf for a tree outside the distribution."""
        return float(self._log_probs([tree])[0])

    def prob(self, tree: Tree) -> float:
        """Return p(tree)."""
        return float(np.exp(self._log_probs([tree])[0]))

    def expected(self, values: npt.ArrayLike) -> float:
        """Return the expectation of Σ ``values[h, m]`` over the arcs of a tree.

        ``values`` has shape (n+1, n+1), or that of labelled scores.
        """
        return float(self._expectations([floats(values, "values")])[0])

    def covariance(self, first: npt.ArrayLike, second: npt.ArrayLike) -> float:
        """Return the covariance of two functions Σ ``values[h, m]`` over the arcs of a tree. O(n³).

        Both have shape (n+1, n+1), or that of labelled scores (Zmigrod, Vieira & Cotterell 2021).

        >>> trees = TreeDistribution(np.zeros((3, 3)), projective=False, single_root=False)
        >>> is_root = np.zeros((3, 3))
        >>> is_root[0] = 1
        >>> lengths = np.abs(np.subtract.outer(np.arange(3.0), np.arange(3.0)))
        >>> round(trees.covariance(is_root, lengths), 3)  # more arcs from the root, longer arcs
        0.111
        """
        functions = self._functions([first], "first"), self._functions([second], "second")
        return float(self._covariances(*functions)[0][0, 0])

    def variance(self, values: npt.ArrayLike) -> float:
        """Return the variance of Σ ``values[h, m]`` over the arcs of a tree. O(n³)."""
        return float(self._covariance_matrices(self._functions([values], "values"))[0][0, 0])

    def covariance_matrix(self, values: npt.ArrayLike) -> Floats:
        """Return the covariances of D functions, shape (D, D), from ``values`` of shape (D, n+1, n+1). O(D
        n³).

        With labels, the shape of ``values`` is (D, L, n+1, n+1) or (D, n+1, n+1).
        """
        return self._covariance_matrices(self._functions([values], "values", several=True))[0]

    def arc_covariances(self, values: npt.ArrayLike) -> Floats:
        """Return the covariance of Σ ``values[h, m]`` with each arc's indicator, shaped as the scores. O(n³).

        It is the gradient of ``expected(values)`` with respect to the scores, if the temperatures are 1 and
        there is no smoothing; with ``values`` 1 for wrong arcs, the gradient of the risk (Li & Eisner 2009).
        """
        return np.asarray(self._arc_covariances(self._functions([values], "values"))[0][0])

    def expected_attachment(self, tree: Tree, *, labelled: bool = False) -> float:
        """Return the expected UAS (or LAS) of a random tree against the known heads of ``tree``."""
        return float(self._expected_attachments([tree], labelled)[0])

    def entropy(self) -> float:
        """Return the entropy in nats, H = log Z - Σ μ·score; with labels, that of labelled trees."""
        return float(self._entropies(self._finest_marginals)[0])

    def head_entropy(self) -> float:
        """Return the entropy of the unlabelled trees, in nats."""
        return float(self._entropies(self._arc_marginals)[0])

    def kl(self, other: TreeDistribution) -> float:
        """Return KL(self ‖ other) = Σ p(tree) log(p(tree) / q(tree)), in nats.

        It is inf if ``other`` rules out a possible tree.
        """
        return float(self._divergences(other)[0])

    def cross_entropy(self, other: TreeDistribution) -> float:
        """Return -Σ p(tree) log q(tree) = entropy + KL(self ‖ other), in nats.

        It is inf if ``other`` rules out a possible tree.

        >>> trees = TreeDistribution(np.zeros((3, 3)), projective=False, single_root=False)
        >>> round(trees.cross_entropy(trees) - trees.entropy(), 12)
        0.0
        """
        return self.entropy() + self.kl(other)

    def sample(self, count: int, *, seed: int | np.random.Generator, replace: bool = True) -> list[Tree]:
        """Draw ``count`` trees, exactly; the same seed draws the same trees.

        ``replace=False`` draws without replacement (see ``arcwise.inference.sampling``).
        """
        return self._samples(count, seed, replace)[0]


class TreeDistributionBatch(TreeInference):
    """The distributions over the dependency trees of several sentences, computed together.

    Each method is that of ``TreeDistribution`` and returns a list with one result per sentence; numbers come
    as an array (B,). Indexing and iteration yield the ``TreeDistribution`` of each sentence.

    scores: a list of score arrays of any lengths, ``Scores``, or one padded array (B, N+1, N+1), with labels
        (B, L, N+1, N+1), and ``lengths``, the number of words of each sentence; padding is not read.
    constraints: one for all sentences, or a list with one or None for each.

    >>> batch = TreeDistributionBatch([np.zeros((3, 3)), np.zeros((2, 2))], projective=True, single_root=True)
    >>> batch.best(), batch.log_partition.round(3).tolist()
    ([Tree.from_heads([0, 1]), Tree.from_heads([0])], [0.693, 0.0])
    """

    def __init__(
        self,
        scores: Scores | Sequence[npt.ArrayLike] | npt.NDArray[Any],
        lengths: npt.ArrayLike | None = None,
        *,
        projective: bool,
        single_root: bool,
        labels: Sequence[str] | None = None,
        constraints: Constraints | Sequence[Constraints | None] | None = None,
        temperature: float = 1.0,
        label_temperature: float = 1.0,
        smoothing: float = 0.0,
        threads: int = 1,
    ) -> None:
        options = (projective, single_root, temperature, label_temperature, smoothing, threads)
        names = None if labels is None else label_set(labels)
        checked, names = _batch_scores(scores, lengths, names)
        self._prepare(checked, names, constraints, *options)

    def __repr__(self) -> str:
        return self._describe(f"{len(self)} sentences of {sum(self._words)} words")

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self._input)

    @overload
    def __getitem__(self, index: int) -> TreeDistribution: ...
    @overload
    def __getitem__(self, index: slice) -> TreeDistributionBatch: ...
    def __getitem__(self, index: int | slice) -> TreeDistribution | TreeDistributionBatch:
        """Return the distribution of one sentence, or a batch of several."""
        highest = None
        if self._highest is not None:
            by_sentence = np.split(self._highest, np.cumsum(self._words)[:-1])[index]
            highest = np.concatenate(by_sentence) if isinstance(index, slice) else by_sentence
        part: TreeDistribution | TreeDistributionBatch
        if isinstance(index, slice):
            part = TreeDistributionBatch(
                self._dense[index], constraints=self.constraints[index], **self._options
            )
        else:
            part = TreeDistribution(self._dense[index], constraints=self.constraints[index], **self._options)
        # The part keeps the batch's reference for smoothing, so it gives the same numbers as the whole.
        part.__dict__["_highest"] = highest
        return part

    def __iter__(self) -> Iterator[TreeDistribution]:
        return (self[sentence] for sentence in range(len(self)))

    def given(self, constraints: Constraints | Sequence[Constraints | None] | None) -> TreeDistributionBatch:
        """Condition on constraints, one for all sentences or one for each, which replace earlier ones."""
        conditional = TreeDistributionBatch(self._dense, constraints=constraints, **self._options)
        conditional.__dict__["_highest"] = self._highest
        return conditional

    def best(self) -> list[Tree]:
        """Return the highest-scoring tree of each sentence."""
        return self._decoded_trees(native.Decoder.map)

    def k_best(self, k: int) -> list[list[Tree]]:
        """Return the k best trees of each sentence that differ in their heads, best first."""
        return self._k_best_trees(k)

    def k_best_labelled(self, k: int) -> list[list[Tree]]:
        """Return the k best labelled trees of each sentence, best first."""
        return self._k_best_labelled_trees(k)

    def minimum_risk(self) -> list[Tree]:
        """Return the tree with the highest expected number of correct heads of each sentence."""
        return self._decoded_trees(native.Decoder.minimum_risk)

    def minimum_labelled_risk(self) -> list[Tree]:
        """Return the tree with the highest expected number of correct labelled arcs of each sentence."""
        return self._decoded_trees(native.Decoder.minimum_labelled_risk)

    def greedy_heads(self) -> list[Heads]:
        """Return the best head of each word separately, shape (n+1,) per sentence."""
        return self._decode(native.Decoder.greedy)[0]

    @property
    def log_partition(self) -> Floats:
        """log Z of each sentence, shape (B,)."""
        return self._log_partitions

    @property
    def marginals(self) -> list[Floats]:
        """The probability of each arc, shape (n+1, n+1) per sentence."""
        return self._arc_marginals

    @property
    def label_marginals(self) -> list[Floats]:
        """The probability of each arc with each label, shape (L, n+1, n+1) per sentence."""
        return self._labelled_marginals

    def alternatives(self, k: int | None = 3, *, least: float = 0.0) -> list[list[list[Alternative]]]:
        """Return the most probable heads of each word of each sentence."""
        return self._alternatives(k, least)

    def score(self, trees: Sequence[Tree]) -> Floats:
        """Return the score of one tree per sentence, shape (B,)."""
        return self._tree_scores(self._one_each(trees))

    def log_prob(self, trees: Sequence[Tree]) -> Floats:
        """Return log p(tree) of one tree per sentence, shape (B,)."""
        return self._log_probs(self._one_each(trees))

    def prob(self, trees: Sequence[Tree]) -> Floats:
        """Return p(tree) of one tree per sentence, shape (B,)."""
        return np.exp(self.log_prob(trees))

    def expected(self, values: Sequence[npt.ArrayLike]) -> Floats:
        """Return the expectation of Σ ``values[s][h, m]`` over the arcs of a tree, for each sentence s."""
        return self._expectations([floats(array, "values") for array in self._one_each(values)])

    def covariance(self, first: Sequence[npt.ArrayLike], second: Sequence[npt.ArrayLike]) -> Floats:
        """Return the covariance of two sums over the arcs of a tree, one pair per sentence, shape (B,)."""
        functions = [
            self._functions(self._one_each(values), name)
            for values, name in ((first, "first"), (second, "second"))
        ]
        return np.array([matrix[0, 0] for matrix in self._covariances(*functions)])

    def variance(self, values: Sequence[npt.ArrayLike]) -> Floats:
        """Return the variance of Σ ``values[s][h, m]`` over the arcs of a tree of each sentence s, (B,)."""
        functions = self._functions(self._one_each(values), "values")
        return np.array([matrix[0, 0] for matrix in self._covariance_matrices(functions)])

    def covariance_matrix(self, values: Sequence[npt.ArrayLike]) -> list[Floats]:
        """Return the covariances of D functions of the trees of each sentence, shape (D, D)."""
        return self._covariance_matrices(self._functions(self._one_each(values), "values", several=True))

    def arc_covariances(self, values: Sequence[npt.ArrayLike]) -> list[Floats]:
        """Return the covariance of Σ ``values[s][h, m]`` with each arc's indicator, shaped as the scores."""
        return [
            slopes[0] for slopes in self._arc_covariances(self._functions(self._one_each(values), "values"))
        ]

    def expected_attachment(self, trees: Sequence[Tree], *, labelled: bool = False) -> Floats:
        """Return the expected attachment score against one tree per sentence, shape (B,)."""
        return self._expected_attachments(self._one_each(trees), labelled)

    def entropy(self) -> Floats:
        """Return the entropy of each sentence in nats, shape (B,); with labels, that of labelled trees."""
        return self._entropies(self._finest_marginals)

    def head_entropy(self) -> Floats:
        """Return the entropy of the unlabelled trees of each sentence in nats, shape (B,)."""
        return self._entropies(self._arc_marginals)

    def kl(self, other: TreeDistributionBatch) -> Floats:
        """Return KL(self ‖ other) of each sentence in nats, shape (B,)."""
        return self._divergences(other)

    def cross_entropy(self, other: TreeDistributionBatch) -> Floats:
        """Return the cross-entropy of each sentence in nats, shape (B,)."""
        return self.entropy() + self.kl(other)

    def sample(
        self, count: int, *, seed: int | np.random.Generator, replace: bool = True
    ) -> list[list[Tree]]:
        """Draw ``count`` trees of each sentence.

        A sentence's trees do not depend on the rest of the batch.
        """
        return self._samples(count, seed, replace)

    def _one_each(self, values: Sequence[_T]) -> Sequence[_T]:
        if not isinstance(values, list | tuple | np.ndarray):
            raise InputError(f"found {values!r}, expected a list with one for each of {len(self)} sentences")
        if len(values) != len(self):
            raise InputError(f"found {len(values)} values, expected one for each of {len(self)} sentences")
        return values


def _is_batch(scores: object, labels: tuple[str, ...] | None) -> bool:
    """Whether ``scores`` are those of several sentences: ``Scores``, or a list with an array for each."""
    if isinstance(scores, list | tuple):
        return depth(scores) > _sentence_axes(labels)
    return isinstance(scores, Scores)


def _batch_scores(
    scores: Any, lengths: npt.ArrayLike | None, labels: tuple[str, ...] | None
) -> tuple[Scores | list[Floats], tuple[str, ...] | None]:
    """Check the scores of a batch, and its labels."""
    if isinstance(scores, Scores):
        if lengths is not None:
            raise InputError("lengths: found beside Scores, which have their own; expected none")
        return scores, scores.labels or None
    if lengths is not None:
        scores = unpadded(scores, lengths, sentence_axes=_sentence_axes(labels))
    _refuse_stacked(scores, labels, "a list with an array for each sentence, or a padded batch with lengths=")
    if not _is_batch(scores, labels):
        raise InputError(
            "scores: found one sentence, expected a list of sentences; TreeDistribution takes one"
        )
    return [check_arc_scores(array, labels, f"scores[{s}]") for s, array in enumerate(scores)], labels


def _refuse_stacked(scores: Any, labels: tuple[str, ...] | None, expected: str) -> None:
    """Refuse an array (B, N+1, N+1) without lengths: its shape does not show whether it is padded."""
    axes = scores.ndim if isinstance(scores, np.ndarray) else -1
    if axes < 0 and not isinstance(scores, list | tuple):
        axes = np.ndim(scores)
    if axes == _sentence_axes(labels) + 1:
        raise InputError(f"scores: found shape {np.shape(scores)}; expected {expected}")


def _sentence_axes(labels: tuple[str, ...] | None) -> int:
    return 2 if labels is None else 3
