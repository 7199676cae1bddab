"""``TreeCRF`` over tensors: the distribution over dependency trees as a layer, differentiable, on any device."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import torch
from torch import Generator, Tensor
from torch.distributions import Distribution, constraints, register_kl

from arcwise.errors import InputError, NoTreeError
from arcwise.inference.arguments import label_set, whole
from arcwise.inference.constraints import Constraints
from arcwise.inference.tree_class import NON_PROJECTIVE, PROJECTIVE
from arcwise.torch import operators
from arcwise.torch.constraint_masks import constrained
from arcwise.torch.label_sums import MINUS_INFINITY, log_shares, weighted
from arcwise.torch.score_tensors import Lengths, ScoreTensors, score_tensors
from arcwise.torch.tree_tensors import Trees, described, to_trees, word_mask

INFINITY = float("inf")


class TreeCRF(Distribution):
    """The distribution over the dependency trees of each sentence of a batch: p(tree) ∝ exp(sum of the scores of its arcs).

    ``scores`` is (…, N+1, N+1), padded to the longest sentence: ``scores[…, h, m]`` is the score of the arc h → m, word 0 is the root,
    -inf forbids. ``lengths`` are the words of each sentence, 0 to N (None: all N); what lies in the padding, in column 0 and on the
    diagonal is never read, nan neither. The leading dimensions are the ``batch_shape``, () for one sentence. Any float type; half and
    bfloat16 are computed, and answered, in float32.

    ``labels``, a number of labels or a list of names: trees are labelled, and scores are (…, L, N+1, N+1), or with ``label_dim=-1``
    (…, N+1, N+1, L). ``label_of_state``: the states of an arc are clusters of labels, and this list has the label of each; they are
    summed out.

    ``projective`` and ``single_root`` (exactly one arc leaves the root) say which trees there are. ``constraints``: ``Constraints``, one
    for all sentences or a list with one or None for each; or a bool tensor of what may be, shaped as the scores or (…, N+1, N+1).

    ``log_partition``, ``log_prob``, ``entropy``, ``kl`` and ``cross_entropy`` can be differentiated twice, ``marginals`` and
    ``label_marginals`` once more. Trees are int64 tensors of heads (…, N+1), -1 for the root and the padding; with labels ``Trees``.
    Nothing waits for a GPU, and nothing is raised on account of a score, unless ``validate_args=True``: a sentence without a tree has
    log Z -inf, marginals 0 and heads -1, one with nan or inf has nan and -1.

    >>> scores = torch.tensor([[1.0, 2, 6, 1], [1, 1, 2, 1], [1, 8, 1, 4], [1, 1, 2, 1]]).log().requires_grad_()
    >>> trees = TreeCRF(scores, projective=True, single_root=True)
    >>> trees.best()
    tensor([-1,  2,  0,  2])
    >>> trees.marginals[2, 3].item()
    0.881...
    >>> trees.log_prob(trees.best()).backward()
    >>> scores.grad[2, 3].item()  # 1 less the marginal
    0.118...
    """

    arg_constraints = {"scores": constraints.dependent(is_discrete=False, event_dim=2)}  # noqa: RUF012
    has_rsample = False
    _validate_args = False

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
        given, batch_shape = score_tensors(
            scores,
            lengths,
            self.tree_class,
            label_dim=None if labels is None else label_dim,
            label_count=count,
            label_of_state=label_of_state,
        )
        self.scores = scores
        self._given = given
        self._scores = (
            given if constraints is None else constrained(given, batch_shape, constraints, self.labels)
        )
        super().__init__(batch_shape, torch.Size([given.size]), validate_args=validate_args)
        if self._validate_args:
            self._check_scores()

    def __repr__(self) -> str:
        trees = f"{'' if self.tree_class.projective else 'non-'}projective, {'one root' if self.tree_class.single_root else 'any roots'}"
        labels = f", {self.label_count} labels" if self.label_count else ""
        return f"<TreeCRF {tuple(self.batch_shape)} over trees of up to {self._given.size - 1} words: {trees}{labels}>"

    @property
    def label_count(self) -> int | None:
        """The number of labels, None without labels."""
        dim = self._given.label_dim
        return None if dim is None else self._given.values.shape[dim]

    @property
    def lengths(self) -> Tensor:
        """The words of each sentence, shape ``batch_shape``, int32."""
        return self._given.lengths.clone().reshape(self.batch_shape)  # others may share ours

    @property
    def support(self) -> Any:
        """What a tree of the distribution is."""
        return _Support(self)

    def given(self, constraints: Constraints | Sequence[Constraints | None] | Tensor | None) -> TreeCRF:
        """The same scores under these constraints (instead of earlier ones). The difference of the two ``log_partition`` is
        the log probability that a tree obeys them."""
        return self._like(self._given, self.batch_shape, constraints)

    def expand(self, batch_shape: Any, _instance: Any = None) -> TreeCRF:
        """The same with more leading dimensions."""
        shape = torch.Size(batch_shape)
        inner, repeats = prod(self.batch_shape), prod(shape)
        if inner == 0 or shape[len(shape) - len(self.batch_shape) :] != self.batch_shape:
            raise InputError(
                f"batch_shape: found {tuple(shape)}, expected one that ends with {tuple(self.batch_shape)}"
            )
        own = self._scores
        repeated = ScoreTensors(
            own.values.repeat(repeats // inner, *[1] * (own.values.ndim - 1)),
            own.label_dim,
            own.lengths.repeat(repeats // inner),
            own.trees,
            own.spans * (repeats // inner),
        )
        return self._like(repeated, shape, None)

    def _like(self, scores: ScoreTensors, batch_shape: torch.Size, known: Any) -> TreeCRF:
        new = TreeCRF.__new__(TreeCRF)
        new.tree_class, new.labels = self.tree_class, self.labels
        new.scores = scores.values.reshape(*batch_shape, *scores.values.shape[1:])
        new._given = scores
        new._scores = scores if known is None else constrained(scores, batch_shape, known, self.labels)
        Distribution.__init__(new, batch_shape, self.event_shape, validate_args=False)
        new._validate_args = self._validate_args
        return new

    # ---- sums over all trees

    @property
    def log_partition(self) -> Tensor:
        """log Z = log Σ exp(score) over all trees, shape ``batch_shape``. O(n³)."""
        return self._each(self._checked(self._scores.log_partition()))

    @property
    def marginals(self) -> Tensor:
        """The probability of each arc, (…, N+1, N+1): each column of a word sums to 1, the rest is 0. O(n³)."""
        self._checked_trees()
        return self._each(self._scores.marginals())

    @property
    def label_marginals(self) -> Tensor:
        """The probability of each arc together with each label, labels where the scores have them."""
        own, dim = self._scores, self._label_dim("label_marginals")
        shares = log_shares(own.values, own.arcs, dim).exp()
        return self._each(own.marginals().unsqueeze(dim) * shares)

    def entropy(self) -> Tensor:
        """H = log Z - Σ μ·score, in nats: how unsure the distribution is, of labels too if it has them."""
        own = self._scores
        total = self._head_entropy()
        if own.label_dim is not None:
            shares = log_shares(own.values, own.arcs, own.label_dim)
            of_labels = -weighted(shares, shares).sum(own.label_dim)
            total = total + _expected(own.wide_sums()[1], of_labels.double())
        return self._answer(total)

    def head_entropy(self) -> Tensor:
        """The entropy of the trees, their labels left open, in nats."""
        return self._answer(self._head_entropy())

    def _head_entropy(self) -> Tensor:
        own = self._scores
        log_z, arcs = own.wide_sums()
        self._checked(log_z)
        return torch.where(log_z == MINUS_INFINITY, torch.nan, log_z - _expected(arcs, own.arcs.double()))

    def cross_entropy(self, other: TreeCRF) -> Tensor:
        """-Σ p(tree) log q(tree) = entropy + KL(self ‖ other), in nats; inf where ``other`` rules out a possible tree."""
        return self.entropy() + self.kl(other)

    def kl(self, other: TreeCRF) -> Tensor:
        """KL(self ‖ other) = Σ p(tree) log(p(tree) / q(tree)), in nats; inf where ``other`` rules out a tree that is possible here, its
        arcs having marginals above 0. ``torch.distributions.kl_divergence`` is the same."""
        self._check_comparable(other)
        own, theirs = self._scores, other._scores
        log_z, arcs = own.wide_sums()
        ruled_out = (arcs > 0) & (theirs.arcs == MINUS_INFINITY)
        total = theirs.wide_log_partition() - log_z
        total = total + _expected(arcs, own.arcs.double() - theirs.arcs.double(), ruled_out)
        if own.label_dim is not None:
            dim = own.label_dim
            mine = log_shares(own.values, own.arcs, dim)
            yours = log_shares(theirs.values, theirs.arcs, dim)
            label_out = (mine.exp() > 0) & (yours == MINUS_INFINITY)
            between = weighted(mine.masked_fill(label_out, MINUS_INFINITY), mine - yours).sum(dim)
            total = total + _expected(arcs, between.double())
            ruled_out = ruled_out | ((arcs > 0) & label_out.any(dim))
        total = torch.where(ruled_out.flatten(1).any(1), INFINITY, total.clamp(min=0.0))
        return self._answer(torch.where(log_z == MINUS_INFINITY, torch.nan, total))

    def _check_comparable(self, other: TreeCRF) -> None:
        if not isinstance(other, TreeCRF):
            raise InputError(f"other: found {other!r}, expected a TreeCRF of arcwise.torch")
        own, theirs = self._scores, other._scores
        if own.values.shape != theirs.values.shape or own.label_dim != theirs.label_dim:
            raise InputError(
                f"other: has scores of shape {tuple(theirs.values.shape)}, expected {tuple(own.values.shape)}"
            )
        if self.tree_class not in other.tree_class:
            raise InputError(
                f"other: its trees are {other.tree_class}, expected a class that holds all trees of {self.tree_class}"
            )
        for at, wanted in enumerate(theirs.spans):
            if not set(wanted) <= set(own.spans[at] if own.spans else ()):
                raise InputError(
                    f"other: requires the subtrees {wanted}, expected none but those required here"
                )

    # ---- trees

    def log_prob(self, value: Tensor | Trees, *, complete: bool | None = None) -> Tensor:
        """log p of trees (…, *batch_shape, N+1): heads, or ``Trees``. -1 stands for what is not known, a head or a label: the
        probability is then that of all trees that agree. -inf for what is no tree of the distribution.

        ``complete=True`` says that all heads are known, which spares a sum over trees (and on a GPU its memory).
        """
        log_z = self._checked(self._scores.wide_log_partition())[:, None]
        weights, shape = self._log_weights(value, complete)
        found = torch.where(weights == MINUS_INFINITY, MINUS_INFINITY, (weights - log_z).clamp(max=0.0))
        return found.transpose(0, 1).reshape(shape).to(self._scores.values.dtype)

    def score(self, value: Tensor | Trees, *, complete: bool | None = None) -> Tensor:
        """The sum of the scores of the arcs of trees, -inf for what is no tree of the distribution. What is not known is summed out."""
        weights, shape = self._log_weights(value, complete)
        return weights.transpose(0, 1).reshape(shape).to(self._scores.values.dtype)

    def best(self) -> Tensor | Trees:
        """The tree with the highest score, each arc with its best label. O(n³) projective, O(n²) non-projective."""
        heads, values = operators.decode(self._scores.padded(self._scores.best_arcs))
        self._checked(values)
        return self._one_tree(heads)

    @property
    def mode(self) -> Tensor | Trees:  # type: ignore[override]
        """The same as ``best()``."""
        return self.best()

    def k_best(self, k: int) -> Tensor | Trees:
        """The k best trees that differ in their heads, each with its best labels, best first: (k, …, N+1). Where there are fewer,
        all heads are -1."""
        k = whole("k", k, 1, 2**31 - 1)
        heads, values = operators.k_best(self._scores.padded(self._scores.best_arcs), k)
        self._checked(values[:, 0])
        return self._trees(heads, torch.Size([k]))

    def minimum_risk(self) -> Tensor | Trees:
        """The tree with the most expected right heads, each arc with its best label (Smith & Smith 2007, section 4)."""
        return self._of_gains(self._scores.marginals())

    def minimum_labelled_risk(self) -> Tensor | Trees:
        """The tree with the most expected right arcs, an arc being right if its head and its label are."""
        own = self._scores
        if own.label_dim is None:
            return self.minimum_risk()
        gains = own.marginals() * log_shares(own.values, own.arcs, own.label_dim).exp().amax(own.label_dim)
        return self._of_gains(gains)

    def _of_gains(self, gains: Tensor) -> Tensor | Trees:
        own = self._scores
        possible = torch.where(own.arcs == MINUS_INFINITY, MINUS_INFINITY, gains).detach()
        heads, values = operators.decode(own.padded(possible))
        self._checked(values)
        return self._one_tree(heads)

    def sample(  # type: ignore[override]
        self, sample_shape: Any = torch.Size(), generator: Generator | None = None
    ) -> Tensor | Trees:
        """Trees drawn from the distribution, exactly: (*sample_shape, …, N+1). ``torch.manual_seed`` and ``generator`` rule them."""
        shape = torch.Size(sample_shape)
        device = "cpu" if generator is None else generator.device
        seed = torch.randint(2**63 - 1, (), device=device, generator=generator)
        own = self._scores
        self._checked_trees()
        draws = operators.sample(own.padded(own.arcs.detach()), prod(shape), seed)
        return self._trees(draws.transpose(0, 1), shape, drawn=True, generator=generator)

    def to_trees(self, trees: Tensor | Trees) -> Any:
        """What ``best``, ``k_best`` or ``sample`` gave, as ``arcwise.Tree``, in lists nested as the dimensions are."""
        names = self.labels or tuple(str(number) for number in range(self.label_count or 0))
        return to_trees(trees, self.lengths.cpu(), names)

    def _one_tree(self, heads: Tensor) -> Tensor | Trees:
        """From heads (B, N+1), without gradient, to (*batch_shape, N+1), with the best labels."""
        if self._scores.label_dim is None:
            return self._each(heads)
        return self._trees(heads[:, None], torch.Size())

    def _trees(
        self, heads: Tensor, shape: torch.Size, *, drawn: bool = False, generator: Generator | None = None
    ) -> Tensor | Trees:
        """From heads (B, S, N+1) to (*shape, *batch_shape, N+1), with the best labels, or with drawn ones."""
        own = self._scores
        final = (*shape, *self.batch_shape, own.size)
        heads = heads.detach()
        if own.label_dim is None:
            return heads.transpose(0, 1).reshape(final)
        scores = own.label_scores(heads).detach()
        if drawn:  # the highest of score + Gumbel noise is a draw from exp(score)
            noise = torch.empty_like(scores)
            if generator is None or generator.device == noise.device:
                noise.exponential_(generator=generator)
            else:
                noise.copy_(torch.empty(noise.shape, dtype=noise.dtype).exponential_(generator=generator))
            scores = scores - noise.log()
        labels = torch.where(heads >= 0, scores.argmax(-1), -1)
        return Trees(heads.transpose(0, 1).reshape(final), labels.transpose(0, 1).reshape(final))

    def _log_weights(self, value: Tensor | Trees, complete: bool | None) -> tuple[Tensor, torch.Size]:
        """(B, S), and the shape of the answer."""
        own = self._scores
        heads, labels = value if isinstance(value, tuple) else (value, None)
        if labels is not None and own.label_dim is None:
            raise InputError("value: found labels, but the distribution has none")
        each = [
            self._by_sentence(one, name)
            for one, name in ((heads, "heads"), (labels, "labels"))
            if one is not None
        ]
        shape = torch.Size(torch.broadcast_shapes(heads.shape[:-1], self.batch_shape))
        return own.log_weights(each[0], each[1] if labels is not None else None, complete=complete), shape

    def _by_sentence(self, value: Any, name: str) -> Tensor:
        """(*sample_shape, *batch_shape, N+1) as (B, S, N+1)."""
        own = self._scores
        wrong = not isinstance(value, Tensor) or value.is_floating_point() or value.dtype == torch.bool
        if wrong or value.ndim < 1 or value.shape[-1] != own.size:
            raise InputError(
                f"{name}: found {described(value)}, expected whole numbers of shape (…, {', '.join(map(str, (*self.batch_shape, own.size)))})"
            )
        shape = torch.broadcast_shapes(value.shape[:-1], self.batch_shape)
        flat = value.long().expand(*shape, own.size).reshape(-1, len(own.values), own.size)
        return flat.transpose(0, 1).to(own.values.device)

    # ---- answers and checks

    def _label_dim(self, name: str) -> int:
        if self._scores.label_dim is None:
            raise InputError(f"{name}: the distribution has no labels, expected labels=")
        return self._scores.label_dim

    def _each(self, values: Tensor) -> Tensor:
        dims = len(self._batch_shape)
        if dims < 2:
            return values if dims else values.squeeze(0)
        return values.reshape((*self.batch_shape, *values.shape[1:]))

    def _answer(self, values: Tensor) -> Tensor:
        return self._each(values.to(self._scores.values.dtype))

    def _checked_trees(self) -> None:
        if self._validate_args:
            self._checked(self._scores.log_partition())

    def _checked(self, log_z: Tensor) -> Tensor:
        if self._validate_args and bool((log_z == MINUS_INFINITY).any()):
            sentence = int(log_z.argmin())
            raise NoTreeError(
                f"scores: no tree of this class exists over the {int(self._scores.lengths[sentence])} words of sentence {sentence}: "
                "too many arcs are forbidden (-inf)"
            )
        return log_z

    def _check_scores(self) -> None:
        own = self._given
        if bool(((own.lengths < 0) | (own.lengths >= own.size)).any()):
            raise InputError(
                f"lengths: found {own.lengths.tolist()}, expected numbers from 0 to {own.size - 1}"
            )
        words = word_mask(own.lengths, own.size)
        heads = words | (torch.arange(own.size, device=words.device) == 0)
        read = heads[:, :, None] & words[:, None, :]
        read &= ~torch.eye(own.size, dtype=torch.bool, device=words.device)
        wrong = read & ~(own.arcs < INFINITY)
        if bool(wrong.any()):
            b, h, m = wrong.nonzero()[0].tolist()
            raise InputError(
                f"scores: found {own.arcs[b, h, m].item()} for the arc {h} → {m} of sentence {b}, expected a number or -inf"
            )


class _Support(constraints.Constraint):
    """Trees of the class of a distribution."""

    is_discrete = True
    event_dim = 1

    def __init__(self, of: TreeCRF) -> None:
        self._of = of
        super().__init__()

    def check(self, value: Any) -> Tensor:
        heads = value[0] if isinstance(value, tuple) else value
        own = self._of._scores
        good = operators.are_trees(self._of._by_sentence(heads, "value"), own.lengths, own.trees)
        shape = torch.broadcast_shapes(heads.shape[:-1], self._of.batch_shape)
        return good.transpose(0, 1).reshape(shape)


def _expected(arcs: Tensor, values: Tensor, without: Tensor | None = None) -> Tensor:
    """Σ μ · value of each sentence; arcs of probability 0 count nothing, whatever their value."""
    counted = arcs > 0 if without is None else (arcs > 0) & ~without
    return (arcs * torch.where(counted, values, 0.0)).flatten(1).sum(1)


@register_kl(TreeCRF, TreeCRF)
def _kl(p: TreeCRF, q: TreeCRF) -> Tensor:
    return p.kl(q)
