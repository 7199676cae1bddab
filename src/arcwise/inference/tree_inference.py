"""``TreeInference``: exact inference for a batch of sentences, which the two distribution classes present."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError
from arcwise.inference import large_scores
from arcwise.inference.alternatives import Alternative, alternatives_of
from arcwise.inference.arc_matrices import ArcMatrices, Floats, Heads, Span
from arcwise.inference.arguments import (
    seed_number,
    smoothing_number,
    temperature_number,
    thread_count,
    tree_count,
)
from arcwise.inference.constraints import Constraints, one_for_each
from arcwise.inference.kernels import NATIVE, decode_one, log_partition_one, marginals_one
from arcwise.inference.labels import k_best_labelled, label_names
from arcwise.inference.moments import ArcProbabilities, arc_covariances, inner_products
from arcwise.inference.sampling import sample_without_replacement
from arcwise.inference.scores import Scores
from arcwise.inference.sentence_scores import SentenceScores
from arcwise.inference.tree_class import tree_class
from arcwise.trees import Tree


class TreeInference:
    """Inference over the trees of each sentence of a batch.

    Results are lists or arrays with one entry per sentence.

    ``TreeDistribution`` is the case of one sentence, ``TreeDistributionBatch`` the general one. Intermediate
    results (masked scores, weights, marginals) are computed when first needed and kept.
    """

    labels: tuple[str, ...] | None
    _input: Scores | list[Floats]

    def _prepare(
        self,
        scores: Scores | list[Floats],
        labels: tuple[str, ...] | None,
        constraints: Constraints | Sequence[Constraints | None] | None,
        projective: bool,
        single_root: bool,
        temperature: float,
        label_temperature: float,
        smoothing: float,
        threads: int,
    ) -> None:
        """Check and store the arguments that both classes share, in place of their ``__init__``."""
        self.tree_class = tree_class(projective=projective, single_root=single_root)
        self.threads = thread_count(threads)
        self.temperature = temperature_number("temperature", temperature)
        self.label_temperature = temperature_number("label_temperature", label_temperature)
        self.smoothing = smoothing_number(smoothing)
        self.labels = labels
        self._input = scores
        self.constraints = one_for_each(constraints, len(scores))
        self._spans: list[Sequence[Span]] = [() if c is None else tuple(c.subtrees) for c in self.constraints]
        if self._is_constrained:
            self._constrained  # noqa: B018  (contradictions are reported at construction)

    @property
    def _is_constrained(self) -> bool:
        return self.constraints.count(None) < len(self.constraints)

    @property
    def _options(self) -> dict[str, Any]:
        """The arguments with which to build another distribution over the same trees."""
        return {
            "projective": self.tree_class.projective,
            "single_root": self.tree_class.single_root,
            "labels": self.labels,
            "temperature": self.temperature,
            "label_temperature": self.label_temperature,
            "smoothing": self.smoothing,
            "threads": self.threads,
        }

    @property
    def _words(self) -> list[int]:
        """The number of words of each sentence."""
        if isinstance(self._input, Scores):
            return [int(n) for n in self._input.lengths]
        return [scores.shape[-1] - 1 for scores in self._input]

    def _describe(self, size: str) -> str:
        trees = f"{'' if self.tree_class.projective else 'non-'}projective"
        roots = "one root" if self.tree_class.single_root else "any roots"
        labels = f", {len(self.labels)} labels" if self.labels else ""
        return f"<{type(self).__name__} over trees of {size}: {trees}, {roots}{labels}>"

    @cached_property
    def _dense(self) -> list[Floats]:
        """The scores of each sentence, before constraints."""
        if isinstance(self._input, Scores):
            # The temperature matters here only where latent clusters are summed out of the scores.
            return self._input.dense_arrays(temperature=self.temperature)
        return self._input

    @cached_property
    def _constrained(self) -> list[Floats]:
        """The scores with -inf for whatever the constraints rule out."""
        return [
            scores if constraints is None else constraints.masked(scores, self.tree_class, self.labels)
            for scores, constraints in zip(self._dense, self.constraints, strict=True)
        ]

    @cached_property
    def _scores(self) -> Scores:
        """The constrained scores as the native decoder takes them."""
        if isinstance(self._input, Scores) and not self._is_constrained:
            # Unconstrained Scores go to the decoder as they are: sparse batches would grow when made dense.
            return self._input
        return Scores.of_checked(self._constrained, self.labels or (), highest=self._highest)

    @cached_property
    def _highest(self) -> Floats | None:
        """The best arc weight of each word before constraints: smoothing is relative to it."""
        if self.smoothing == 0:
            # Unused without smoothing, and it costs a pass over all arcs.
            return None
        scores = self._input
        free = scores if isinstance(scores, Scores) else Scores.of_checked(scores, self.labels or ())
        return free.highest(self.temperature, threads=self.threads)

    @cached_property
    def _sentences(self) -> list[SentenceScores]:
        """Log weights of each sentence, with temperatures and smoothing applied."""
        weights = self._constrained
        if self.temperature != 1 or self.label_temperature != 1 or self.smoothing != 0:
            weights = self._scores.split(
                self._scores.batch.log_weights(self.temperature, self.label_temperature, self.smoothing)
            )
        return [
            SentenceScores(scores, self.labels, spans)
            for scores, spans in zip(weights, self._spans, strict=True)
        ]

    @property
    def _is_plain(self) -> bool:
        """Whether arc scores are all there is: no labels, latent clusters, temperature or smoothing."""
        unscaled = self.temperature == 1 and self.smoothing == 0
        return self.labels is None and unscaled and not isinstance(self._input, Scores)

    @property
    def _only_matrix(self) -> Floats | None:
        """The scores of a single sentence where they are all there is, for kernels that take one matrix."""
        scores = self._input
        if isinstance(scores, list) and len(scores) == 1 and self._is_plain and not self._spans[0]:
            # Not through cached properties: in Python 3.11 each takes a lock, which is slow next to a kernel.
            return scores[0] if self.constraints[0] is None else self._constrained[0]
        return None

    @cached_property
    def _arcs(self) -> ArcMatrices:
        """Log weights of arcs, labels summed out."""
        if self._is_plain:
            # No label or cluster states: one matrix per sentence goes straight to the kernel.
            return ArcMatrices.of_checked(self._constrained, self._spans)
        flat = self._scores.batch.arc_weights(self.temperature, self.smoothing, self.threads)
        return ArcMatrices.of_flat(flat, self._scores.lengths, self._spans)

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
        """Decode to heads, shape (n+1,), and label codes of each sentence."""
        if decoder == native.Decoder.map and self._is_plain:
            if (matrix := self._only_matrix) is not None:
                heads = [decode_one(matrix, self.tree_class)]
                return heads, heads
            flat, _ = NATIVE.decode(self._arcs, self.tree_class, self.threads)
            heads = [rows[0] for rows in self._arcs.heads(flat)]
            return heads, heads
        return self._scores.decode(self._settings(decoder), spans=self._spans, threads=self.threads)

    def _decoded_trees(self, decoder: native.Decoder) -> list[Tree]:
        heads, codes = self._decode(decoder)
        return self._trees(heads, codes)

    def _trees(self, heads: Sequence[Heads] | Heads, codes: Sequence[Heads] | Heads) -> list[Tree]:
        if self.labels is None:
            return [_own_tree(tree_heads) for tree_heads in heads]
        pairs = zip(heads, codes, strict=True)
        return [
            _own_tree(tree_heads, label_names(tree_codes, self.labels)) for tree_heads, tree_codes in pairs
        ]

    def _k_best_structures(self, k: int) -> list[tuple[Heads, Heads, Floats]]:
        """The k best trees of each sentence: heads, shape (K, n+1), codes of their best labels, scores."""
        k = tree_count("k", k, sum(self._words) + len(self._input), 1)
        if self._is_plain:
            plain = NATIVE.k_best(self._arcs, self.tree_class, k, self.threads)
            return [(heads, heads, values) for heads, values in zip(*plain, strict=True)]
        settings = self._settings(native.Decoder.map)
        return self._scores.k_best(settings, k, spans=self._spans, threads=self.threads)

    def _k_best_trees(self, k: int) -> list[list[Tree]]:
        return [self._trees(heads, codes) for heads, codes, _ in self._k_best_structures(k)]

    def _k_best_labelled_trees(self, k: int) -> list[list[Tree]]:
        if self.labels is None:
            return self._k_best_trees(k)
        return [
            [
                _own_tree(tree_heads, label_names(codes, self.labels))
                for tree_heads, codes in k_best_labelled(scores, heads, values, k)
            ]
            for scores, (heads, _, values) in zip(self._constrained, self._k_best_structures(k), strict=True)
        ]

    @cached_property
    def _log_partitions(self) -> Floats:
        if (matrix := self._only_matrix) is not None:
            return np.array([log_partition_one(matrix, self.tree_class)])
        values = NATIVE.log_partition(self._arcs, self.tree_class, self.threads)
        self._arcs.require_trees(values)
        return values

    @cached_property
    def _flat_marginals(self) -> Floats:
        if self._only_matrix is not None:
            return self._arc_marginals[0].ravel()
        flat, log_partitions = NATIVE.marginals(self._arcs, self.tree_class, self.threads)
        # The same pass yields log Z: keep it, unless it was computed before.
        self.__dict__.setdefault("_log_partitions", log_partitions)
        return flat

    @cached_property
    def _arc_marginals(self) -> list[Floats]:
        if (matrix := self._only_matrix) is not None:
            marginals, log_partition = marginals_one(matrix, self.tree_class)
            if "_log_partitions" not in self.__dict__:
                self.__dict__["_log_partitions"] = np.array([log_partition])
            return [marginals]
        return list(self._arcs.matrices(self._flat_marginals))

    @cached_property
    def _labelled_marginals(self) -> list[Floats]:
        if self.labels is None:
            raise InputError("label_marginals: the distribution has no labels, expected labels=")
        flat = self._scores.batch.label_marginals(
            self._flat_marginals, self.temperature, self.label_temperature
        )
        return self._scores.split(flat)

    @property
    def _finest_marginals(self) -> list[Floats]:
        """Marginals shaped as the scores: with labels, if there are labels."""
        return self._arc_marginals if self.labels is None else self._labelled_marginals

    def _alternatives(self, k: int | None, least: float) -> list[list[list[Alternative]]]:
        if k is not None and k < 1:
            raise InputError(f"k: found {k}, expected at least 1")
        arcs = self._arc_marginals
        labelled = [None] * len(arcs) if self.labels is None else self._labelled_marginals
        return [
            alternatives_of(arc_marginals, label_marginals, self.labels or (), k=k, least=least)
            for arc_marginals, label_marginals in zip(arcs, labelled, strict=True)
        ]

    def _tree_scores(self, trees: Sequence[Tree]) -> Floats:
        pairs = zip(self._sentences, trees, strict=True)
        return np.array([sentence.score(tree, self.tree_class) for sentence, tree in pairs])

    def _log_probs(self, trees: Sequence[Tree]) -> Floats:
        triples = zip(self._sentences, trees, self._log_partitions.tolist(), strict=True)
        return np.array(
            [
                large_scores.log_probability(sentence, self.tree_class, tree, log_z)
                for sentence, tree, log_z in triples
            ]
        )

    def _expectations(self, values: Sequence[Floats]) -> Floats:
        triples = zip(self._sentences, values, self._finest_marginals, strict=True)
        return np.array([sentence.expected(array, marginals) for sentence, array, marginals in triples])

    @cached_property
    def _probabilities(self) -> list[ArcProbabilities]:
        pairs = zip(self._sentences, self._arc_marginals, strict=True)
        return [ArcProbabilities.of(sentence, marginals) for sentence, marginals in pairs]

    def _functions(
        self, values: Sequence[npt.ArrayLike], name: str, *, several: bool = False
    ) -> list[Floats]:
        """Functions of the trees of each sentence, (D, …); D is 1 unless there are ``several``."""
        pairs = zip(self._probabilities, values, strict=True)
        functions = [arcs.functions(array, name, several=several) for arcs, array in pairs]
        if len({len(array) for array in functions}) > 1:
            raise InputError(
                f"{name}: sentences have different numbers of functions, expected the same number"
            )
        return functions

    def _arc_covariances(self, functions: Sequence[Floats]) -> list[Floats]:
        return arc_covariances(self._arcs, self.tree_class, self._probabilities, functions, self.threads)

    def _covariances(self, first: Sequence[Floats], second: Sequence[Floats]) -> list[Floats]:
        """The covariances of all pairs of functions of each sentence, (D, E)."""
        pairs = zip(self._arc_covariances(first), second, strict=True)
        return [inner_products(slopes, functions) for slopes, functions in pairs]

    def _covariance_matrices(self, functions: Sequence[Floats]) -> list[Floats]:
        matrices = self._covariances(functions, functions)
        # Rounding alone makes one differ from its transpose, or a variance negative.
        matrices = [(matrix + matrix.T) / 2 for matrix in matrices]
        for matrix in matrices:
            np.fill_diagonal(matrix, np.maximum(matrix.diagonal(), 0.0))
        return matrices

    def _expected_attachments(self, trees: Sequence[Tree], labelled: bool) -> Floats:
        marginals = zip(self._arc_marginals, self._finest_marginals, strict=True)
        accuracies = []
        for sentence, tree, (arcs, labelled_arcs) in zip(self._sentences, trees, marginals, strict=True):
            gold = tree if labelled or not isinstance(tree, Tree) else Tree(tree.heads)
            probabilities = sentence.of_arcs(arcs, labelled_arcs, gold)
            if not probabilities.size:
                raise InputError("tree: found no known head, expected at least one")
            accuracies.append(probabilities.mean())
        return np.array(accuracies)

    def _entropies(self, marginals: Sequence[Floats]) -> Floats:
        triples = zip(self._sentences, marginals, self._log_partitions.tolist(), strict=True)
        return np.array(
            [
                large_scores.entropy(sentence, self.tree_class, probabilities, log_z)
                for sentence, probabilities, log_z in triples
            ]
        )

    def _divergences(self, other: TreeInference) -> Floats:
        self._check_comparable(other)
        log_zs = zip(self._log_partitions.tolist(), other._log_partitions.tolist(), strict=True)
        pairs = zip(self._sentences, other._sentences, self._finest_marginals, log_zs, strict=True)
        return np.array(
            [
                large_scores.divergence(p, self.tree_class, q, other.tree_class, marginals, both_log_zs)
                for p, q, marginals, both_log_zs in pairs
            ]
        )

    def _check_comparable(self, other: TreeInference) -> None:
        if not isinstance(other, type(self)):
            raise InputError(f"other: found {other!r}, expected a {type(self).__name__}")
        if self.labels != other.labels or self._words != other._words:
            raise InputError("other: has other labels or other sentence lengths, expected the same")
        if self.tree_class not in other.tree_class:
            raise InputError(
                f"other: its trees are {other.tree_class}, expected a class that holds all trees of "
                f"{self.tree_class}"
            )
        for p, q in zip(self._sentences, other._sentences, strict=True):
            if not set(q.spans) <= set(p.spans):
                raise InputError(f"other: requires the subtrees {q.spans}, expected none but {p.spans}")

    def _samples(self, count: int, seed: int | np.random.Generator, replace: bool) -> list[list[Tree]]:
        count = tree_count("count", count, sum(self._words) + len(self._input), 0)
        seed = seed_number(seed)
        # One stream per sentence, so that its samples do not depend on the rest of the batch or on threads.
        streams = [np.random.default_rng([seed, s]) for s in range(len(self._sentences))]
        if not replace:
            return [
                sample_without_replacement(sentence, self.tree_class, count, rng)
                for sentence, rng in zip(self._sentences, streams, strict=True)
            ]
        draws = NATIVE.sample(self._arcs, self.tree_class, count, seed, 0, self.threads)
        return [
            sentence.drawn_trees(heads, rng)
            for sentence, heads, rng in zip(self._sentences, draws, streams, strict=True)
        ]


def _own_tree(heads: Heads, labels: tuple[str, ...] | None = None) -> Tree:
    """Return the tree of a row of decoded heads, which no longer refers to the rows of other trees."""
    return Tree.of_decoded(heads if heads.base is None else heads.copy(), labels)
