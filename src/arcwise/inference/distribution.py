"""``TreeDistribution``: p(tree) ∝ exp(sum of the scores of its arcs), and everything one can ask of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError
from arcwise.inference import large_scores
from arcwise.inference.alternatives import alternatives_of
from arcwise.inference.arc_matrices import ArcMatrices, Floats, Heads
from arcwise.inference.arguments import (
    depth,
    floats,
    label_set,
    seed_number,
    smoothing_number,
    temperature_number,
    thread_count,
    tree_count,
    unpadded,
)
from arcwise.inference.constraints import Constraints, one_for_each
from arcwise.inference.kernels import NATIVE
from arcwise.inference.labels import k_best_labelled, label_names
from arcwise.inference.sampling import sample_without_replacement
from arcwise.inference.scores import Scores
from arcwise.inference.sentence_scores import SentenceScores, check_arc_scores
from arcwise.inference.tree_class import TreeClass
from arcwise.trees import Tree

OneOrEach: TypeAlias = Any
"""The answer for the sentence; for a batch, a list of the answers (an array (B,), where they are numbers)."""


class TreeDistribution:
    """The distribution over the dependency trees of a sentence, or of each sentence of a batch.

    ``scores`` is (n+1, n+1): ``scores[h, m]`` is the score of the arc h → m, word 0 is the root, -inf forbids; column 0 and
    the diagonal are not read. With ``labels`` (a list of L names) it is (L, n+1, n+1), and trees are labelled trees. A list of such
    arrays, of any lengths, is a batch: every answer is then a list, or an array (B,) of numbers. A batch may also be ``Scores``, or one
    padded array (B, N+1, N+1), or (B, L, N+1, N+1), with the ``lengths`` of the sentences, shape (B,): padding is not read.

    Scores may be of any size up to 1e300, also where arcs are forbidden with -1e9, -1e30 or the lowest number there is instead of -inf:
    probabilities are right to nine digits or more (docs/reference/inference.md says how).

    ``projective`` and ``single_root`` (exactly one arc leaves the root) say which trees there are. ``constraints`` (one for
    all sentences, or a list with one or None for each) hold in every operation. Nothing depends on ``threads``.

    ``temperature`` and ``label_temperature``: scores are divided by the first before they become probabilities of trees, and by the second
    before they become probabilities of labels given their arcs. ``smoothing``: all arcs into a word have, beside their own weight, that share
    of the highest one of them together. These three change nothing that goes by score alone: ``best``, ``k_best``,
    ``k_best_labelled``, ``greedy_heads``.

    >>> scores = np.log([[1, 2, 6, 1], [1, 1, 2, 1], [1, 8, 1, 4], [1, 1, 2, 1]])
    >>> trees = TreeDistribution(scores, projective=True, single_root=True)
    >>> trees.best()
    Tree.from_heads([2, 0, 2])
    >>> round(trees.prob(trees.best()), 3), round(float(trees.marginals[2, 3]), 3)
    (0.814, 0.881)
    """

    def __init__(
        self,
        scores: npt.ArrayLike | Sequence[npt.ArrayLike] | Scores,
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
        self.tree_class = TreeClass(projective=projective, single_root=single_root)
        self.threads = thread_count(threads)
        self.temperature = temperature_number("temperature", temperature)
        self.label_temperature = temperature_number("label_temperature", label_temperature)
        self.smoothing = smoothing_number(smoothing)
        if isinstance(scores, Scores):
            if lengths is not None:
                raise InputError("lengths: found beside Scores, which have their own; expected none")
            self.labels = scores.labels or None
            self.is_batch = True
            self._given: Scores | list[Floats] = scores
        else:
            self.labels = None if labels is None else label_set(labels)
            scores = unpadded(scores, lengths, sentence_axes=3 if labels else 2)
            self.is_batch = isinstance(scores, list | tuple) and depth(scores) > (3 if labels else 2)
            self._given = self._checked_scores(scores)
        self.constraints = one_for_each(constraints, len(self))
        self._spans = [() if known is None else tuple(known.subtrees) for known in self.constraints]
        if any(known is not None for known in self.constraints):
            self._constrained  # noqa: B018  (clashes are told now)

    # ---- the batch

    def __repr__(self) -> str:
        size = (
            f"{len(self)} sentences of {sum(self._words)} words"
            if self.is_batch
            else f"{self._words[0]} words"
        )
        trees = f"{'' if self.tree_class.projective else 'non-'}projective, {'one root' if self.tree_class.single_root else 'any roots'}"
        labels = f", {len(self.labels)} labels" if self.labels else ""
        return f"<TreeDistribution over trees of {size}: {trees}{labels}>"

    @property
    def _words(self) -> list[int]:
        given = self._given
        return given.lengths.tolist() if isinstance(given, Scores) else [own.shape[-1] - 1 for own in given]

    def __len__(self) -> int:
        """The number of sentences."""
        return len(self._given)

    def __getitem__(self, sentence: int) -> TreeDistribution:
        """The distribution of one sentence of the batch."""
        highest = self._highest
        if highest is not None:
            highest = np.split(highest, np.cumsum(self._words)[:-1])[sentence]
        return self._like(self._dense[sentence], self.constraints[sentence], highest)

    def __iter__(self) -> Iterator[TreeDistribution]:
        return (self[sentence] for sentence in range(len(self)))

    def given(self, constraints: Constraints | Sequence[Constraints | None]) -> TreeDistribution:
        """The same scores under these constraints (instead of earlier ones). The difference of the two ``log_partition`` is
        the log probability that a tree obeys them.

        >>> trees = TreeDistribution(np.zeros((3, 3)), projective=False, single_root=False)
        >>> round(float(np.exp(trees.given(Constraints(required=[(0, 1)])).log_partition - trees.log_partition)), 3)
        0.667
        """
        return self._like(self._dense if self.is_batch else self._dense[0], constraints, self._highest)

    # ---- the best trees

    def best(self) -> OneOrEach:
        """The tree with the highest score, each arc with its best label. O(n³) projective, O(n²) non-projective."""
        return self._answer(self._decoded(native.Decoder.map))

    def k_best(self, k: int) -> OneOrEach:
        """The k best trees that differ in their heads, each with its best labels, best first; fewer if there are fewer."""
        return self._answer([self._trees(heads, labels) for heads, labels, _ in self._k_best_structures(k)])

    def k_best_labelled(self, k: int) -> OneOrEach:
        """The k best labelled trees, all different in heads or labels, best first; fewer if there are fewer."""
        structures = self._k_best_structures(k)
        if self.labels is None:
            return self._answer([self._trees(heads, labels) for heads, labels, _ in structures])
        found = [
            k_best_labelled(scores, heads, values, k)
            for scores, (heads, _, values) in zip(self._constrained, structures, strict=True)
        ]
        names = self.labels
        return self._answer(
            [[Tree(heads, label_names(codes, names)) for heads, codes in own] for own in found]
        )

    def minimum_risk(self) -> OneOrEach:
        """The tree with the most expected right heads, each arc with its best label (Smith & Smith 2007, section 4)."""
        return self._answer(self._decoded(native.Decoder.minimum_risk))

    def minimum_labelled_risk(self) -> OneOrEach:
        """The tree with the most expected right arcs, an arc being right if its head and its label are."""
        return self._answer(self._decoded(native.Decoder.minimum_labelled_risk))

    def greedy_heads(self) -> OneOrEach:
        """The best head of each word for itself, shape (n+1,); they need not form a tree (Smith & Smith 2007, section 6)."""
        heads, _ = self._decode(native.Decoder.greedy)
        return self._answer(heads)

    # ---- sums over all trees

    @cached_property
    def log_partition(self) -> OneOrEach:
        """log Z = log Σ exp(score) over all trees. O(n³)."""
        values = NATIVE.log_partition(self._sum_batch, self.tree_class, self.threads)
        self._sum_batch.require_trees(values)
        return self._numbers(values)

    @cached_property
    def marginals(self) -> OneOrEach:
        """The probability of each arc, shape (n+1, n+1); each column but that of the root sums to 1. O(n³)."""
        return self._answer(list(self._sum_batch.matrices(self._flat_marginals)))

    @cached_property
    def _flat_marginals(self) -> Floats:
        flat, log_partitions = NATIVE.marginals(self._sum_batch, self.tree_class, self.threads)
        self.__dict__.setdefault("log_partition", self._numbers(log_partitions))
        return flat

    @cached_property
    def label_marginals(self) -> OneOrEach:
        """The probability of each arc together with each label, shape (L, n+1, n+1)."""
        if self.labels is None:
            raise InputError("label_marginals: the distribution has no labels, expected labels=")
        flat = self._scores.batch.label_marginals(
            self._flat_marginals, self.temperature, self.label_temperature
        )
        return self._answer(self._scores.split(flat))

    def alternatives(self, k: int | None = 3, *, least: float = 0.0) -> OneOrEach:
        """For each word its ``k`` most probable heads (None: all above the probability ``least``), each with its ``k`` most probable
        labels: a list of ``Alternative`` a word.

        >>> trees = TreeDistribution(np.zeros((3, 3)), projective=False, single_root=False)
        >>> trees.alternatives(k=2)[0]
        [Alternative(head=0, probability=0.666..., labels=()), Alternative(head=2, probability=0.333..., labels=())]
        """
        if k is not None and k < 1:
            raise InputError(f"k: found {k}, expected at least 1")
        marginals = self._each(self.marginals)
        labelled = [None] * len(self) if self.labels is None else self._each(self.label_marginals)
        pairs = zip(marginals, labelled, strict=True)
        return self._answer(
            [alternatives_of(arcs, own, self.labels or (), k=k, least=least) for arcs, own in pairs]
        )

    def score(self, tree: Tree | Sequence[Tree]) -> OneOrEach:
        """The score of a tree, temperatures in it: the sum over its arcs; -inf if it is not one of the distribution's trees.

        A tree without labels in a distribution with labels stands for all its labellings.
        """
        pairs = zip(self._sentences, self._each(tree), strict=True)
        return self._numbers([own.score(one, self.tree_class) for own, one in pairs])

    def log_prob(self, tree: Tree | Sequence[Tree]) -> OneOrEach:
        """log p(tree) = score - log Z; -inf if it is not one of the distribution's trees. Never above 0, whatever rounding does."""
        triples = zip(self._sentences, self._each(tree), self._each(self.log_partition), strict=True)
        return self._numbers(
            [large_scores.log_probability(own, self.tree_class, one, log_z) for own, one, log_z in triples]
        )

    def prob(self, tree: Tree | Sequence[Tree]) -> OneOrEach:
        """p(tree)."""
        return self._numbers(np.exp(self._each(self.log_prob(tree))))

    def expected(self, values: npt.ArrayLike | Sequence[npt.ArrayLike]) -> OneOrEach:
        """The expectation of Σ ``values[h, m]`` over the arcs of a tree; values are (n+1, n+1), or shaped as labelled scores."""
        return self._numbers(self._expected([floats(own, "values") for own in self._each(values)]))

    def expected_attachment(self, tree: Tree | Sequence[Tree], *, labelled: bool = False) -> OneOrEach:
        """The expected share of the known heads of ``tree`` that a random tree has too; with ``labelled``, heads and labels."""
        marginals = zip(self._each(self.marginals), self._finest_marginals, strict=True)
        shares = []
        for own, one, (arcs, labelled_arcs) in zip(self._sentences, self._each(tree), marginals, strict=True):
            wanted = one if labelled or not isinstance(one, Tree) else Tree(one.heads)
            known = own.of_arcs(arcs, labelled_arcs, wanted)
            if not known.size:
                raise InputError("tree: found no known head, expected at least one")
            shares.append(known.mean())
        return self._numbers(shares)

    def entropy(self) -> OneOrEach:
        """H = log Z - Σ μ·score, in nats: how unsure the distribution is, of labels too if it has them."""
        return self._entropies(self._finest_marginals)

    def head_entropy(self) -> OneOrEach:
        """The entropy of the trees, their labels left open, in nats."""
        return self._entropies(self._each(self.marginals))

    def kl(self, other: TreeDistribution) -> OneOrEach:
        """KL(self ‖ other) = Σ p(tree) log(p(tree) / q(tree)), in nats; inf where ``other`` rules out a possible tree."""
        self._check_comparable(other)
        log_zs = zip(self._each(self.log_partition), other._each(other.log_partition), strict=True)
        each = zip(self._sentences, other._sentences, self._finest_marginals, log_zs, strict=True)
        return self._numbers(
            [
                large_scores.divergence(own, self.tree_class, theirs, other.tree_class, marginals, both)
                for own, theirs, marginals, both in each
            ]
        )

    def cross_entropy(self, other: TreeDistribution) -> OneOrEach:
        """-Σ p(tree) log q(tree) = entropy + KL(self ‖ other), in nats; inf where ``other`` rules out a possible tree.

        >>> trees = TreeDistribution(np.zeros((3, 3)), projective=False, single_root=False)
        >>> round(trees.cross_entropy(trees) - trees.entropy(), 12)
        0.0
        """
        return self._numbers(np.add(self._each(self.entropy()), self._each(self.kl(other))))

    def _entropies(self, marginals: Sequence[Floats]) -> OneOrEach:
        triples = zip(self._sentences, marginals, self._each(self.log_partition), strict=True)
        return self._numbers(
            [large_scores.entropy(own, self.tree_class, one, log_z) for own, one, log_z in triples]
        )

    # ---- samples

    def sample(self, count: int, *, seed: int | np.random.Generator, replace: bool = True) -> OneOrEach:
        """``count`` trees drawn from the distribution, exactly; the same seed gives the same trees. A numpy ``Generator`` gives a seed.

        ``replace=False``: all different, each drawn from what the earlier ones have left, exactly (see
        ``arcwise.inference.sampling``).
        """
        count = tree_count("count", count, sum(self._words) + len(self), 0)
        seed = seed_number(seed)
        streams = [np.random.default_rng([seed, s]) for s in range(len(self))]
        if not replace:
            return self._answer(
                [
                    sample_without_replacement(own, self.tree_class, count, rng)
                    for own, rng in zip(self._sentences, streams, strict=True)
                ]
            )
        draws = NATIVE.sample(self._sum_batch, self.tree_class, count, seed, 0, self.threads)
        return self._answer([own.drawn_trees(draws[s], streams[s]) for s, own in enumerate(self._sentences)])

    # ---- one sentence and batches

    def _like(self, scores: Any, constraints: Any, highest: Floats | None) -> TreeDistribution:
        other = TreeDistribution(
            scores,
            projective=self.tree_class.projective,
            single_root=self.tree_class.single_root,
            labels=self.labels,
            constraints=constraints,
            temperature=self.temperature,
            label_temperature=self.label_temperature,
            smoothing=self.smoothing,
            threads=self.threads,
        )
        other.__dict__["_highest"] = highest
        return other

    def _checked_scores(self, scores: Any) -> list[Floats]:
        if not self.is_batch:
            return [check_arc_scores(scores, self.labels, "scores")]
        return [check_arc_scores(own, self.labels, f"scores[{s}]") for s, own in enumerate(scores)]

    # ---- scores: as given; under the constraints; as probabilities see them

    @cached_property
    def _dense(self) -> list[Floats]:
        """The scores as they were given, one array a sentence."""
        if isinstance(self._given, Scores):
            return self._given.dense_arrays(temperature=self.temperature)
        return self._given

    @cached_property
    def _constrained(self) -> list[Floats]:
        """The scores with -inf where the constraints rule something out."""
        return [
            own if known is None else known.masked(own, self.tree_class, self.labels)
            for own, known in zip(self._dense, self.constraints, strict=True)
        ]

    @cached_property
    def _scores(self) -> Scores:
        """The same for the native decoder."""
        if isinstance(self._given, Scores) and not any(known is not None for known in self.constraints):
            return self._given
        return Scores.of_checked(self._constrained, self.labels or (), highest=self._highest)

    @cached_property
    def _highest(self) -> Floats | None:
        """What smoothing needs to know of the scores without the constraints."""
        if self.smoothing == 0:
            return None
        given = self._given
        free = given if isinstance(given, Scores) else Scores.of_checked(given, self.labels or ())
        return free.highest(self.temperature, threads=self.threads)

    @cached_property
    def _sentences(self) -> list[SentenceScores]:
        """The logarithms of the weights whose products are the probabilities of trees, up to Z."""
        weights = self._constrained
        if self.temperature != 1 or self.label_temperature != 1 or self.smoothing != 0:
            weights = self._scores.split(
                self._scores.batch.log_weights(self.temperature, self.label_temperature, self.smoothing)
            )
        return [
            SentenceScores(own, self.labels, spans) for own, spans in zip(weights, self._spans, strict=True)
        ]

    @property
    def _is_plain(self) -> bool:
        """Whether the scores of arcs are all there is: no labels, no clusters, no temperature, no smoothing."""
        as_given = self.temperature == 1 and self.smoothing == 0
        return self.labels is None and as_given and not isinstance(self._given, Scores)

    @cached_property
    def _sum_batch(self) -> ArcMatrices:
        """The weights of arcs, labels summed out."""
        if self._is_plain:
            return ArcMatrices.of_checked(self._constrained, self._spans)
        flat = self._scores.batch.arc_weights(self.temperature, self.smoothing, self.threads)
        return ArcMatrices.of_flat(flat, self._scores.lengths, self._spans)

    # ---- the decoder

    def _settings(self, decoder: native.Decoder) -> native.DecodeSettings:
        return native.DecodeSettings(
            decoder=decoder,
            projective=self.tree_class.projective,
            single_root=self.tree_class.single_root,
            temperature=self.temperature,
            label_temperature=self.label_temperature,
            smoothing=self.smoothing,
        )

    def _decode(self, decoder: native.Decoder) -> tuple[list[Heads], list[Heads]]:
        """Of each sentence the heads, shape (n+1,), and the numbers of labels."""
        if self._is_plain and decoder == native.Decoder.map:
            flat, _ = NATIVE.decode(self._sum_batch, self.tree_class, self.threads)
            heads = [own[0] for own in self._sum_batch.heads(flat)]
            return heads, heads
        return self._scores.decode(self._settings(decoder), spans=self._spans, threads=self.threads)

    def _decoded(self, decoder: native.Decoder) -> list[Tree]:
        heads, labels = self._decode(decoder)
        return [self._tree(*one) for one in zip(heads, labels, strict=True)]

    def _k_best_structures(self, k: int) -> list[tuple[Heads, Heads, Floats]]:
        """Of each sentence the heads, shape (K, n+1), the numbers of their best labels, and their scores, shape (K,)."""
        k = tree_count("k", k, sum(self._words) + len(self), 1)
        if self._is_plain:
            plain = NATIVE.k_best(self._sum_batch, self.tree_class, k, self.threads)
            return [(heads, heads, values) for heads, values in zip(*plain, strict=True)]
        settings = self._settings(native.Decoder.map)
        return self._scores.k_best(settings, k, spans=self._spans, threads=self.threads)

    def _trees(self, heads: Heads, labels: Heads) -> list[Tree]:
        return [self._tree(*one) for one in zip(heads, labels, strict=True)]

    def _tree(self, heads: Heads, codes: Heads) -> Tree:
        return Tree(heads, None if self.labels is None else label_names(codes, self.labels))

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
        if not isinstance(answer, list | tuple | np.ndarray):
            raise InputError(f"found {answer!r}, expected a list with one for each of {len(self)} sentences")
        if len(answer) != len(self):
            raise InputError(f"found {len(answer)} values, expected one for each of {len(self)} sentences")
        return answer  # type: ignore[return-value]

    def _answer(self, answers: list[Any]) -> OneOrEach:
        return answers if self.is_batch else answers[0]

    def _numbers(self, numbers: Sequence[float] | npt.NDArray[np.float64]) -> OneOrEach:
        return np.asarray(numbers, np.float64) if self.is_batch else float(numbers[0])

    def _check_comparable(self, other: TreeDistribution) -> None:
        if not isinstance(other, TreeDistribution):
            raise InputError(f"other: found {other!r}, expected a TreeDistribution")
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
