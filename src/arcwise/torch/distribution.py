"""``TreeCRF``: distributions over dependency trees as a PyTorch layer, differentiable, on any device."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, Generic, cast, overload

import torch
from torch import Generator, Tensor
from torch.distributions import Distribution, constraints, register_kl
from torch.distributions.constraints import Constraint

from arcwise.errors import InputError, NoTreeError
from arcwise.inference.arguments import label_set, whole
from arcwise.inference.constraints import Constraints
from arcwise.inference.tree_class import NON_PROJECTIVE, PROJECTIVE
from arcwise.torch import operators
from arcwise.torch.constraint_masks import apply_constraints
from arcwise.torch.label_sums import MINUS_INFINITY, log_label_probs, weighted
from arcwise.torch.moments import TreeMoments
from arcwise.torch.perturbation import gumbel_noise, perturbed_trees
from arcwise.torch.score_tensors import Lengths, ScoreTensors, score_tensors
from arcwise.torch.sparse_map import SparseTrees, sparse_map
from arcwise.torch.tree_tensors import Trees, describe, to_trees

INFINITY = float("inf")

if TYPE_CHECKING:
    from typing_extensions import TypeVar

    TreesT = TypeVar("TreesT", bound=Tensor | Trees, default=Tensor | Trees)
    """The type of trees: a tensor of heads, or ``Trees`` if the distribution has labels."""
else:  # Python has defaults of type parameters since 3.13
    from typing import TypeVar

    TreesT = TypeVar("TreesT")


class TreeCRF(Distribution, Generic[TreesT]):
    """Distributions over the dependency trees of a batch of sentences: p(tree) ∝ exp(sum of arc scores).

    scores: shape (…, N+1, N+1), padded to the longest sentence, of any float type; ``scores[…, h, m]`` is the
        score of the arc h → m, word 0 is the root, and -inf forbids. The leading dimensions are the
        ``batch_shape``, () for one sentence. Padding, column 0 and the diagonal are never read, not even nan.
        half and bfloat16 are computed, and returned, in float32.
    lengths: the number of words of each sentence, 0 to N (default: all N).
    projective, single_root: the class of trees (``single_root``: exactly one arc leaves the root).
    labels: the number of labels, or their names. Trees are then labelled, and scores have the shape
        (…, L, N+1, N+1), or with ``label_dim=-1`` (…, N+1, N+1, L).
    label_of_state: the label of each state, if the states of an arc are clusters of labels; they are summed
    out. constraints: ``Constraints``, one for all sentences or a list with one or None for each; or a bool
    tensor of
        what is allowed, shaped as the scores or (…, N+1, N+1).
    validate_args: raise for invalid scores and for sentences without a tree, which synchronises with the GPU.
        Otherwise a sentence without a tree has log Z -inf, marginals 0 and heads -1, and one with nan or inf
        has nan and -1.

    ``log_partition`` can be differentiated three times; ``marginals``, ``label_marginals``, ``log_prob``,
    ``entropy``, ``kl`` and ``cross_entropy`` twice. Trees are int64 tensors of heads (…, N+1), -1 for the
    root and the padding; labelled trees are ``Trees``.

    >>> weights = torch.tensor([[1.0, 2, 6, 1], [1, 1, 2, 1], [1, 8, 1, 4], [1, 1, 2, 1]])
    >>> scores = weights.log().requires_grad_()
    >>> trees = TreeCRF(scores, projective=True, single_root=True)
    >>> trees.best()
    tensor([-1,  2,  0,  2])
    >>> trees.marginals[2, 3].item()
    0.881...
    >>> trees.log_prob(trees.best()).backward()
    >>> scores.grad[2, 3].item()  # 1 minus the marginal
    0.118...
    """

    arg_constraints = {"scores": constraints.dependent(is_discrete=False, event_dim=2)}  # noqa: RUF012
    has_rsample = False
    _validate_args = False

    @overload
    def __init__(
        self: TreeCRF[Tensor],
        scores: Tensor,
        lengths: Lengths = None,
        *,
        projective: bool,
        single_root: bool,
        labels: None = None,
        label_dim: int = -3,
        label_of_state: Sequence[int] | Tensor | None = None,
        constraints: Constraints | Sequence[Constraints | None] | Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None: ...
    @overload
    def __init__(
        self: TreeCRF[Trees],
        scores: Tensor,
        lengths: Lengths = None,
        *,
        projective: bool,
        single_root: bool,
        labels: int | Sequence[str],
        label_dim: int = -3,
        label_of_state: Sequence[int] | Tensor | None = None,
        constraints: Constraints | Sequence[Constraints | None] | Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None: ...
    def __init__(
        self,
        scores: Tensor,
        lengths: Lengths = None,
        *,
        projective: bool,
        single_root: bool,
        labels: int | Sequence[str] | None = None,
        label_dim: int = -3,
        label_of_state: Sequence[int] | Tensor | None = None,
        constraints: Constraints | Sequence[Constraints | None] | Tensor | None = None,
        validate_args: bool | None = None,
    ) -> None:
        self.tree_class = (PROJECTIVE if projective else NON_PROJECTIVE)[bool(single_root)]
        self.labels = None if labels is None or isinstance(labels, int) else label_set(labels)
        count = labels if isinstance(labels, int) else None if self.labels is None else len(self.labels)
        batch, batch_shape = score_tensors(
            scores,
            lengths,
            self.tree_class,
            label_dim=None if labels is None else label_dim,
            label_count=count,
            label_of_state=label_of_state,
        )
        self.scores = scores
        self._unconstrained = batch
        if constraints is not None:
            batch = apply_constraints(batch, batch_shape, constraints, self.labels)
        self._scores = batch
        super().__init__(batch_shape, torch.Size([batch.size]), validate_args=validate_args)
        if self._validate_args:
            self._check_scores()

    def __repr__(self) -> str:
        trees = f"{'' if self.tree_class.projective else 'non-'}projective"
        roots = "one root" if self.tree_class.single_root else "any roots"
        labels = f", {self.label_count} labels" if self.label_count else ""
        words = f"up to {self._scores.size - 1} words"
        return f"<TreeCRF {tuple(self.batch_shape)} over trees of {words}: {trees}, {roots}{labels}>"

    @property
    def label_count(self) -> int | None:
        """The number of labels, or None."""
        dim = self._unconstrained.label_dim
        return None if dim is None else self._unconstrained.values.shape[dim]

    @property
    def lengths(self) -> Tensor:
        """The number of words of each sentence, shape ``batch_shape``, int32."""
        return self._unconstrained.lengths.clone().reshape(self.batch_shape)  # a cached tensor may be shared

    @property
    def support(self) -> Constraint:
        """The trees of the class, as a constraint of ``torch.distributions``."""
        return _Support(self)

    def given(
        self, constraints: Constraints | Sequence[Constraints | None] | Tensor | None
    ) -> TreeCRF[TreesT]:
        """Condition on constraints, which replace earlier ones.

        The difference of the two ``log_partition`` is the log probability that a tree obeys the constraints.
        """
        return self._like(self._unconstrained, self.batch_shape, constraints)

    def expand(self, batch_shape: Sequence[int], _instance: Any = None) -> TreeCRF[TreesT]:
        """Repeat the distribution along new leading dimensions."""
        shape = torch.Size(batch_shape)
        inner, repeats = prod(self.batch_shape), prod(shape)
        if inner == 0 or shape[len(shape) - len(self.batch_shape) :] != self.batch_shape:
            raise InputError(
                f"batch_shape: found {tuple(shape)}, expected one that ends with {tuple(self.batch_shape)}"
            )
        batch = self._scores
        repeated = ScoreTensors(
            batch.values.repeat(repeats // inner, *[1] * (batch.values.ndim - 1)),
            batch.label_dim,
            batch.lengths.repeat(repeats // inner),
            batch.trees,
            batch.spans * (repeats // inner),
        )
        return self._like(repeated, shape, None)

    def _like(self, scores: ScoreTensors, batch_shape: torch.Size, constraints: Any) -> TreeCRF[TreesT]:
        new: TreeCRF[TreesT] = TreeCRF.__new__(TreeCRF)
        new.tree_class, new.labels = self.tree_class, self.labels
        new.scores = scores.values.reshape(*batch_shape, *scores.values.shape[1:])
        new._unconstrained = new._scores = scores
        if constraints is not None:
            new._scores = apply_constraints(scores, batch_shape, constraints, self.labels)
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    @property
    def log_partition(self) -> Tensor:
        """log Z = log Σ exp(score) over all trees, shape ``batch_shape``. O(n³)."""
        return self._reshape(self._checked(self._scores.log_partition()))

    @property
    def marginals(self) -> Tensor:
        """The probability of each arc, (…, N+1, N+1): a word's column sums to 1, the rest is 0. O(n³)."""
        self._checked_trees()
        return self._reshape(self._scores.marginals())

    @property
    def label_marginals(self) -> Tensor:
        """The probability of each arc with each label, shaped as the scores."""
        batch, dim = self._scores, self._label_dim("label_marginals")
        shares = log_label_probs(batch.values, batch.arcs, dim).exp()
        return self._reshape(batch.marginals().unsqueeze(dim) * shares)

    def entropy(self) -> Tensor:
        """Return the entropy in nats, H = log Z - Σ μ·score; with labels, that of labelled trees."""
        batch = self._scores
        total = self._head_entropy()
        if batch.label_dim is not None:
            shares = log_label_probs(batch.values, batch.arcs, batch.label_dim)
            of_labels = -weighted(shares, shares).sum(batch.label_dim)
            total = total + _expected(batch.wide_sums()[1], of_labels.double())
        return self._answer(total)

    def head_entropy(self) -> Tensor:
        """Return the entropy of the unlabelled trees, in nats."""
        return self._answer(self._head_entropy())

    def _head_entropy(self) -> Tensor:
        batch = self._scores
        log_z, arcs = batch.wide_sums()
        self._checked(log_z)
        return torch.where(log_z == MINUS_INFINITY, torch.nan, log_z - _expected(arcs, batch.arcs.double()))

    def expected(self, values: Tensor) -> Tensor:
        """Return the expectation of Σ ``values[…, h, m]`` over the arcs of a tree, (*leading, *batch_shape).

        ``values``: (*leading, *batch_shape, N+1, N+1), with labels shaped as the scores after the leading
        dimensions, which hold any number of functions; (*batch_shape, N+1, N+1) is one function of arcs
        alone.
        """
        return self._moments().mean(values)

    def covariance(self, first: Tensor, second: Tensor) -> Tensor:
        """Return the covariance of two such functions, (*leading, *batch_shape). O(n³) for each function.

        Leading dimensions are broadcast: ``covariance(f[:, None], f)`` is a covariance matrix, with one pass
        over the trees for each f. (Zmigrod, Vieira & Cotterell 2021.)

        >>> trees = TreeCRF(torch.zeros(3, 3), projective=False, single_root=False)
        >>> is_root = torch.tensor([1.0, 0, 0])[:, None].expand(3, 3)
        >>> trees.expected(is_root).item(), trees.covariance(is_root, is_root).item()
        (1.333..., 0.222...)
        """
        return self._moments().covariance(first, second)

    def _moments(self) -> TreeMoments:
        self._checked_trees()
        return self._scores.cached("moments", lambda: TreeMoments.of(self._scores, self.batch_shape))

    def cross_entropy(self, other: TreeCRF[TreesT]) -> Tensor:
        """Return -Σ p(tree) log q(tree) = entropy + KL(self ‖ other), in nats.

        It is inf if ``other`` rules out a possible tree.
        """
        return self.entropy() + self.kl(other)

    def kl(self, other: TreeCRF[TreesT]) -> Tensor:
        """Return KL(self ‖ other) = Σ p(tree) log(p(tree) / q(tree)), in nats.

        It is inf if ``other`` rules out an arc or label whose marginal here is above 0. The same as
        ``torch.distributions.kl_divergence``.
        """
        self._check_comparable(other)
        p, q = self._scores, other._scores
        log_z, arcs = p.wide_sums()
        ruled_out = (arcs > 0) & (q.arcs == MINUS_INFINITY)
        total = q.wide_log_partition() - log_z
        total = total + _expected(arcs, p.arcs.double() - q.arcs.double(), ruled_out)
        if p.label_dim is not None:
            dim = p.label_dim
            p_labels = log_label_probs(p.values, p.arcs, dim)
            q_labels = log_label_probs(q.values, q.arcs, dim)
            label_out = (p_labels.exp() > 0) & (q_labels == MINUS_INFINITY)
            finite = p_labels.masked_fill(label_out, MINUS_INFINITY)
            between = weighted(finite, p_labels - q_labels).sum(dim)
            total = total + _expected(arcs, between.double())
            ruled_out = ruled_out | ((arcs > 0) & label_out.any(dim))
        total = torch.where(ruled_out.flatten(1).any(1), INFINITY, total.clamp(min=0.0))
        return self._answer(torch.where(log_z == MINUS_INFINITY, torch.nan, total))

    def _check_comparable(self, other: TreeCRF[TreesT]) -> None:
        if not isinstance(other, TreeCRF):
            raise InputError(f"other: found {other!r}, expected a TreeCRF")
        p, q = self._scores, other._scores
        if p.values.shape != q.values.shape or p.label_dim != q.label_dim:
            raise InputError(
                f"other: has scores of shape {tuple(q.values.shape)}, expected {tuple(p.values.shape)}"
            )
        if self.tree_class not in other.tree_class:
            raise InputError(
                f"other: its trees are {other.tree_class}, expected a class that holds all trees of "
                f"{self.tree_class}"
            )
        for sentence, spans in enumerate(q.spans):
            if not set(spans) <= set(p.spans[sentence] if p.spans else ()):
                raise InputError(
                    f"other: requires the subtrees {spans}, expected none but those required here"
                )

    def log_prob(self, value: Tensor | Trees, *, complete: bool | None = None) -> Tensor:
        """Return log p of trees (…, *batch_shape, N+1): heads, or ``Trees``.

        -inf for trees outside the distribution.

        -1 marks an unknown head or label: the probability is then that of all trees that agree with the rest.
        ``complete=True`` promises that all heads are known, which saves a sum over trees (and its GPU
        memory)."""
        log_z = self._checked(self._scores.wide_log_partition())[:, None]
        weights, shape = self._log_weights(value, complete)
        log_p = torch.where(weights == MINUS_INFINITY, MINUS_INFINITY, (weights - log_z).clamp(max=0.0))
        return log_p.transpose(0, 1).reshape(shape).to(self._scores.values.dtype)

    def score(self, value: Tensor | Trees, *, complete: bool | None = None) -> Tensor:
        """Return the sum of the arc scores of trees; unknown heads and labels (-1) are summed out.

        -inf for trees outside the distribution.
        """
        weights, shape = self._log_weights(value, complete)
        return weights.transpose(0, 1).reshape(shape).to(self._scores.values.dtype)

    def best(self) -> TreesT:
        """Return the highest-scoring trees, each arc with its best label.

        O(n³) projective, O(n²) non-projective.
        """
        heads, values = operators.decode(self._scores.padded(self._scores.best_arcs))
        self._checked(values)
        return self._one_tree(heads)

    @property
    def mode(self) -> TreesT:  # type: ignore[override]
        """Alias of ``best()``, the name in ``torch.distributions``."""
        return self.best()

    def k_best(self, k: int) -> TreesT:
        """Return the k best trees that differ in heads, with their best labels, best first: (k, …, N+1).

        If there are fewer trees, the remaining heads are -1.
        """
        k = whole("k", k, 1, 2**31 - 1)
        heads, values = operators.k_best(self._scores.padded(self._scores.best_arcs), k)
        self._checked(values[:, 0])
        return self._trees(heads, torch.Size([k]))

    def minimum_risk(self) -> TreesT:
        """Return the trees with the highest expected number of correct heads, each arc with its best label.

        Minimum Bayes risk decoding (Smith & Smith 2007, section 4).
        """
        return self._of_gains(self._scores.marginals())

    def minimum_labelled_risk(self) -> TreesT:
        """Return the trees with the highest expected number of correct arcs: head and label both right."""
        batch = self._scores
        if batch.label_dim is None:
            return self.minimum_risk()
        labels = log_label_probs(batch.values, batch.arcs, batch.label_dim)
        gains = batch.marginals() * labels.exp().amax(batch.label_dim)
        return self._of_gains(gains)

    def _of_gains(self, gains: Tensor) -> TreesT:
        batch = self._scores
        possible = torch.where(batch.arcs == MINUS_INFINITY, MINUS_INFINITY, gains).detach()
        heads, values = operators.decode(batch.padded(possible))
        self._checked(values)
        return self._one_tree(heads)

    def sample(  # type: ignore[override]
        self, sample_shape: Sequence[int] = torch.Size(), generator: Generator | None = None
    ) -> TreesT:
        """Draw exact samples, (*sample_shape, …, N+1), with torch's default generator or ``generator``."""
        shape = torch.Size(sample_shape)
        device = "cpu" if generator is None else generator.device
        seed = torch.randint(2**63 - 1, (), device=device, generator=generator)
        batch = self._scores
        self._checked_trees()
        draws = operators.sample(batch.padded(batch.arcs.detach()), prod(shape), seed)
        return self._trees(draws.transpose(0, 1), shape, drawn=True, generator=generator)

    def perturb_and_map(
        self, sample_shape: Sequence[int] = torch.Size(), generator: Generator | None = None
    ) -> TreesT:
        """Draw the best trees under Gumbel noise on each (labelled) arc, (*sample_shape, …, N+1).

        One decoding per tree. It is not ``sample``: the trees follow another distribution, close to this one
        but in general not the same (Papandreou & Yuille 2011; Corro & Titov 2019).
        """
        shape = torch.Size(sample_shape)
        heads, labels = perturbed_trees(self._scores, prod(shape), generator)
        final = (*shape, *self.batch_shape, self._scores.size)
        parts = [part.transpose(0, 1).reshape(final) for part in (heads, labels)]
        return cast(TreesT, parts[0] if self._scores.label_dim is None else Trees(*parts))

    def sparse_map(self, *, max_steps: int = 1000) -> SparseTrees:
        """Return SparseMAP: argmax_μ scores·μ - ½‖μ‖² over the convex hull of all trees, as a mean of few
        trees.

        The result is exact, but for rounding, unless it takes more than ``max_steps`` decodings. Marginals
        and weights have a first derivative; the second is 0. (Niculae, Martins, Blondel & Cardie 2018.)

        >>> scores = torch.tensor([[0.0, 2.0, 1.5], [0, 0, 1], [0, 0.8, 0]])
        >>> sparse = TreeCRF(scores, projective=True, single_root=True).sparse_map()
        >>> sparse.trees.tolist(), sparse.weights.tolist()
        ([[-1, 0, 1], [-1, 2, 0]], [0.67..., 0.32...])
        """
        max_steps = whole("max_steps", max_steps, 0, 2**31 - 1)
        marginals, heads, labels, weights = sparse_map(self._scores, max_steps)
        count = heads.shape[1]
        final = (count, *self.batch_shape, self._scores.size)
        trees = [part.transpose(0, 1).reshape(final) for part in (heads, labels)]
        return SparseTrees(
            self._reshape(marginals),
            trees[0] if self._scores.label_dim is None else Trees(*trees),
            weights.transpose(0, 1).reshape(count, *self.batch_shape),
        )

    def to_trees(self, trees: Tensor | Trees) -> Any:
        """Convert results of ``best``, ``k_best`` or ``sample`` to ``arcwise.Tree``, in lists nested as the
        dimensions."""
        names = self.labels or tuple(str(number) for number in range(self.label_count or 0))
        return to_trees(trees, self.lengths.cpu(), names)

    def _one_tree(self, heads: Tensor) -> TreesT:
        """Turn heads (B, N+1), without gradient, into trees (*batch_shape, N+1) with the best labels."""
        if self._scores.label_dim is None:
            return cast(TreesT, self._reshape(heads))
        return self._trees(heads[:, None], torch.Size())

    def _trees(
        self, heads: Tensor, shape: torch.Size, *, drawn: bool = False, generator: Generator | None = None
    ) -> TreesT:
        """Turn heads (B, S, N+1) into trees (*shape, *batch_shape, N+1), with the best or sampled labels."""
        batch = self._scores
        final = (*shape, *self.batch_shape, batch.size)
        heads = heads.detach()
        if batch.label_dim is None:
            return cast(TreesT, heads.transpose(0, 1).reshape(final))
        scores = batch.label_scores(heads).detach()
        if drawn:  # Gumbel-max: the argmax of score + Gumbel noise is a sample from exp(score)
            scores = scores + gumbel_noise(scores, generator)
        labels = torch.where(heads >= 0, scores.argmax(-1), -1)
        flat = (heads.transpose(0, 1).reshape(final), labels.transpose(0, 1).reshape(final))
        return cast(TreesT, Trees(*flat))

    def _log_weights(self, value: Tensor | Trees, complete: bool | None) -> tuple[Tensor, torch.Size]:
        """Return log weights (B, S), and the shape of the result."""
        batch = self._scores
        heads, labels = value if isinstance(value, tuple) else (value, None)
        if labels is not None and batch.label_dim is None:
            raise InputError("value: found labels, but the distribution has none")
        tree_heads = self._by_sentence(heads, "heads")
        tree_labels = None if labels is None else self._by_sentence(labels, "labels")
        shape = torch.Size(torch.broadcast_shapes(heads.shape[:-1], self.batch_shape))
        return batch.log_weights(tree_heads, tree_labels, complete=complete), shape

    def _by_sentence(self, value: Any, name: str) -> Tensor:
        """Reshape (*sample_shape, *batch_shape, N+1) to (B, S, N+1)."""
        batch = self._scores
        wrong = not isinstance(value, Tensor) or value.is_floating_point() or value.dtype == torch.bool
        if wrong or value.ndim < 1 or value.shape[-1] != batch.size:
            expected = ", ".join(map(str, (*self.batch_shape, batch.size)))
            raise InputError(
                f"{name}: found {describe(value)}, expected whole numbers of shape (…, {expected})"
            )
        shape = torch.broadcast_shapes(value.shape[:-1], self.batch_shape)
        flat = value.long().expand(*shape, batch.size).reshape(-1, len(batch.values), batch.size)
        return flat.transpose(0, 1).to(batch.values.device)

    def _label_dim(self, name: str) -> int:
        if self._scores.label_dim is None:
            raise InputError(f"{name}: the distribution has no labels, expected labels=")
        return self._scores.label_dim

    def _reshape(self, values: Tensor) -> Tensor:
        dims = len(self._batch_shape)
        if dims < 2:
            return values if dims else values.squeeze(0)
        return values.reshape((*self.batch_shape, *values.shape[1:]))

    def _answer(self, values: Tensor) -> Tensor:
        return self._reshape(values.to(self._scores.values.dtype))

    def _checked_trees(self) -> None:
        if self._validate_args:
            self._checked(self._scores.log_partition())

    def _checked(self, log_z: Tensor) -> Tensor:
        if self._validate_args and bool((log_z == MINUS_INFINITY).any()):
            sentence = int(log_z.argmin())
            words = int(self._scores.lengths[sentence])
            raise NoTreeError(
                f"scores: no tree of this class exists over the {words} words of sentence {sentence}: "
                "too many arcs are forbidden (-inf)"
            )
        return log_z

    def _check_scores(self) -> None:
        batch = self._unconstrained
        if bool(((batch.lengths < 0) | (batch.lengths >= batch.size)).any()):
            raise InputError(
                f"lengths: found {batch.lengths.tolist()}, expected numbers from 0 to {batch.size - 1}"
            )
        wrong = batch.readable & ~(batch.arcs < INFINITY)
        if bool(wrong.any()):
            b, h, m = wrong.nonzero()[0].tolist()
            score = batch.arcs[b, h, m].item()
            raise InputError(
                f"scores: found {score} for the arc {h} → {m} of sentence {b}, expected a number or -inf"
            )


class _Support(constraints.Constraint):
    """The trees of a distribution's class."""

    is_discrete = True
    event_dim = 1

    def __init__(self, distribution: TreeCRF[Any]) -> None:
        self._distribution = distribution
        super().__init__()

    def check(self, value: Any) -> Tensor:
        heads = value[0] if isinstance(value, tuple) else value
        batch = self._distribution._scores
        good = operators.are_trees(
            self._distribution._by_sentence(heads, "value"), batch.lengths, batch.trees
        )
        shape = torch.broadcast_shapes(heads.shape[:-1], self._distribution.batch_shape)
        return good.transpose(0, 1).reshape(shape)


def _expected(arcs: Tensor, values: Tensor, without: Tensor | None = None) -> Tensor:
    """Return Σ μ · value of each sentence; arcs of probability 0 add 0, even if their value is inf or nan."""
    counted = arcs > 0 if without is None else (arcs > 0) & ~without
    return (arcs * torch.where(counted, values, 0.0)).flatten(1).sum(1)


@register_kl(TreeCRF, TreeCRF)
def _kl(p: TreeCRF[Any], q: TreeCRF[Any]) -> Tensor:
    return p.kl(q)
