"""``DMV``: the dependency model with valence (Klein & Manning 2004), a generative grammar over tags."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise import native
from arcwise.errors import InputError, ModelError
from arcwise.induction.corpus import TagSentences, VisibleWords
from arcwise.treebanks.columns import Coded
from arcwise.treebanks.files import PathLike, open_output, read_bytes
from arcwise.treebanks.treebank import Treebank
from arcwise.trees import Tree

Vector = npt.NDArray[np.float64]
Heads = npt.NDArray[np.int32]

SIDES = ("left", "right")
_LOWEST = -1e6
"""Replaces minus infinity where a tree is required: the best one then has the fewest impossible steps."""


@dataclass(frozen=True)
class Features:
    """Index of each parameter (and count) of a DMV over ``tags`` in a flat vector; the native ``DmvLayout``.

    >>> features = Features(("N", "V"))
    >>> features.count, [features.name(m) for m in (0, 3, 10, 13)]
    (26, ['root N', 'N left V', 'N left stop', 'N left later continue'])
    """

    tags: tuple[str, ...]

    @property
    def count(self) -> int:
        """Number of parameters, T + 2T² + 8T."""
        t = len(self.tags)
        return t + 2 * t * t + 8 * t

    def child(self, side: int, head: int, child: int) -> int:
        """Index of an arc from a head tag to a child tag; ``side`` 0 is left, 1 right."""
        t = len(self.tags)
        return t + (side * t + head) * t + child

    def decision(self, side: int, head: int, later: int, go_on: int) -> int:
        """Index of a valence decision.

        ``later``: there is a child on this side already. ``go_on``: 0 stop, 1 continue.
        """
        t = len(self.tags)
        return t + 2 * t * t + ((side * t + head) * 2 + later) * 2 + go_on

    @cached_property
    def distributions(self) -> tuple[slice, ...]:
        """The index ranges whose probabilities sum to one."""
        t = len(self.tags)
        starts = [(0, t)] + [(t + k * t, t) for k in range(2 * t)]
        starts += [(t + 2 * t * t + 2 * k, 2) for k in range(4 * t)]
        return tuple(slice(first, first + size) for first, size in starts)

    def name(self, m: int) -> str:
        """Readable name of a feature."""
        t = len(self.tags)
        if m < t:
            return f"root {self.tags[m]}"
        if m < t + 2 * t * t:
            run, child = divmod(m - t, t)
            side, head = divmod(run, t)
            return f"{self.tags[head]} {SIDES[side]} {self.tags[child]}"
        run, go_on = divmod(m - t - 2 * t * t, 2)
        run, later = divmod(run, 2)
        side, head = divmod(run, t)
        return f"{self.tags[head]} {SIDES[side]} {'later ' * later}{('stop', 'continue')[go_on]}"


def log_ratio(counts: Vector, features: Features, *, smoothing: float = 0.0) -> Vector:
    """M-step: log((count + smoothing) / sum over its distribution); uniform where all counts are zero."""
    theta = np.empty(features.count)
    for run in features.distributions:
        part = counts[run] + smoothing
        total = part.sum()
        with np.errstate(divide="ignore"):
            theta[run] = np.log(part / total) if total > 0 else -np.log(len(part))
    return theta


@dataclass(frozen=True, eq=False)
class DMV:
    """A generative model of sentences of tags with projective, single-rooted trees.

    The root's tag is drawn first; each word then draws its children on the left and on the right, nearest
    first, and before each child decides whether to stop. ``log_probabilities`` is flat, in the order of
    ``Features``.

    >>> grammar = DMV.uniform(("N", "V"))
    >>> trees = grammar.parse([["N", "V"]])
    >>> len(trees[0]), round(float(grammar.log_likelihood([["N", "V"]])), 4)
    (2, -4.1589)
    """

    tags: tuple[str, ...]
    log_probabilities: Vector

    def __repr__(self) -> str:
        return f"<DMV over {len(self.tags)} tags: {' '.join(self.tags)}>"

    def __post_init__(self) -> None:
        # A copy, made read-only below: one grammar is shared by parsers and searches.
        theta = np.array(self.log_probabilities, np.float64)
        expected = Features(tuple(self.tags)).count
        if theta.shape != (expected,):
            raise InputError(f"log_probabilities: found shape {theta.shape}, expected ({expected},)")
        # Rounding may lift a logarithm just above 0.
        if np.isnan(theta).any() or (theta > 1e-9).any():
            raise InputError(
                "log_probabilities: found NaN or a value above 0, expected logarithms of probabilities"
            )
        theta.setflags(write=False)
        object.__setattr__(self, "log_probabilities", theta)
        object.__setattr__(self, "tags", tuple(self.tags))

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.tags, self.log_probabilities)

    @classmethod
    def uniform(cls, tags: Sequence[str]) -> DMV:
        """Create with uniform distributions."""
        features = Features(tuple(tags))
        return cls(features.tags, log_ratio(np.zeros(features.count), features))

    @classmethod
    def random(cls, tags: Sequence[str], *, seed: int) -> DMV:
        """Create with distributions drawn from a flat Dirichlet."""
        features = Features(tuple(tags))
        counts = np.random.default_rng(seed).exponential(size=features.count)
        return cls(features.tags, log_ratio(counts, features))

    @classmethod
    def from_counts(cls, tags: Sequence[str], counts: Vector, *, smoothing: float = 0.0) -> DMV:
        """Maximum-likelihood estimate from counts, after adding ``smoothing`` to each."""
        features = Features(tuple(tags))
        return cls(features.tags, log_ratio(np.asarray(counts, np.float64), features, smoothing=smoothing))

    @cached_property
    def features(self) -> Features:
        """Names and indices of the parameters."""
        return Features(self.tags)

    def parse(self, sentences: Sequence[Sequence[str]], *, threads: int = 1) -> list[Tree]:
        """Viterbi tree of each tag sequence, O(n³) each.

        Uses unknown tags and steps of probability 0 as rarely as possible.
        """
        corpus = TagSentences.from_tags(sentences)
        heads = self.parse_heads(corpus, threads=threads)
        starts = corpus.starts
        return [Tree.from_heads(heads[a:b]) for a, b in pairwise(starts)]

    def parse_heads(self, corpus: TagSentences, *, threads: int = 1) -> Heads:
        """Like ``parse``, but returns heads, flat over all words."""
        theta = np.maximum(_over(self, corpus.tags), _LOWEST)
        return native.dmv_decode_batch(theta, corpus.batch, threads)[0]

    def parse_treebank(
        self,
        treebank: Treebank,
        *,
        column: str = "upos",
        without_punctuation: bool = False,
        threads: int = 1,
    ) -> Treebank:
        """Replace HEAD by the Viterbi trees and DEPREL by ``root`` and ``dep``.

        ``without_punctuation``: for a grammar trained without it. Punctuation then attaches to the preceding
        word (at the start of a sentence to the first word) as ``punct``.
        """
        words = VisibleWords.of(treebank, without_punctuation=without_punctuation)
        heads = np.zeros(0, np.int32)
        if words.mask.any():
            corpus = TagSentences.from_treebank(
                treebank, column=column, without_punctuation=without_punctuation
            )
            heads = self.parse_heads(corpus, threads=threads)
        heads = words.expand(heads)
        names = np.where(heads == 0, 0, np.where(words.mask, 1, 2))
        return treebank.annotate(heads=heads, deprel=Coded(names.astype(np.int32), ["root", "dep", "punct"]))

    def log_likelihood(self, sentences: Sequence[Sequence[str]] | TagSentences) -> float:
        """Log-likelihood of the sentences, summed over all trees."""
        corpus = _corpus(sentences)
        return float(native.dmv_expected_counts_batch(_over(self, corpus.tags), corpus.batch)[1].sum())

    def expected_counts(self, sentences: Sequence[Sequence[str]] | TagSentences) -> Vector:
        """Expected count of each feature over the trees (inside-outside), O(n³) per sentence."""
        corpus = _corpus(sentences, self.tags)
        return native.dmv_expected_counts_batch(self.log_probabilities, corpus.batch)[0]

    def sample(
        self,
        sentences: int,
        *,
        seed: int,
        min_length: int = 1,
        max_length: int = 100,
        attempts: int = 100_000,
    ) -> tuple[TagSentences, list[Tree]]:
        """Sample sentences and trees from the model, conditioned on the sentence length.

        >>> corpus, trees = DMV.uniform(("N", "V")).sample(3, seed=1, max_length=5)
        >>> len(corpus), [len(t) <= 5 for t in trees]
        (3, [True, True, True])
        """
        tags, starts, heads = native.dmv_generate_batch(
            self.log_probabilities,
            tags=len(self.tags),
            sentences=sentences,
            min_length=min_length,
            max_length=max_length,
            seed=seed,
            attempts=attempts,
        )
        spans = list(pairwise(starts.tolist()))
        if len(spans) < sentences:
            raise InputError(
                f"min_length, max_length: drew no sentence of {min_length} to {max_length} words "
                f"in {attempts} attempts"
            )
        corpus = TagSentences(self.tags, tuple(tuple(tags[a:b].tolist()) for a, b in spans))
        return corpus, [Tree.from_heads(heads[a:b]) for a, b in spans]

    def sample_trees(self, sentences: Sequence[Sequence[str]], *, seed: int) -> list[Tree]:
        """Sample a tree of each sentence from its posterior."""
        corpus = _corpus(sentences, self.tags)
        heads = native.dmv_sample_batch(self.log_probabilities, corpus.batch, seed)
        starts = corpus.starts
        return [Tree.from_heads(heads[a:b]) for a, b in pairwise(starts)]

    def counts(self, sentences: TagSentences, heads: Heads) -> Vector:
        """Count of each feature in trees (``heads``, flat over all words)."""
        return native.dmv_counts(sentences.batch, np.ascontiguousarray(heads, np.int32))

    def to_json(self, *, column: str = "upos", without_punctuation: bool = False) -> dict[str, Any]:
        """JSON object with one entry per distribution.

        ``column`` and ``without_punctuation`` describe the training data.
        """

        def probabilities(first: int, size: int) -> list[float]:
            return [float(p) for p in np.exp(self.log_probabilities[first : first + size])]

        heads = [(side, s, head, t) for side, s in enumerate(SIDES) for head, t in enumerate(self.tags)]
        child, decision, size = self.features.child, self.features.decision, len(self.tags)
        return {
            "kind": "dmv",
            "version": 1,
            "tags": list(self.tags),
            "column": column,
            "without_punctuation": without_punctuation,
            "about": "root, child: probabilities of the tags, in order; decision: of stop and continue, "
            "before the first child of a side and later",
            "root": probabilities(0, size),
            "child": {f"{t} {s}": probabilities(child(side, head, 0), size) for side, s, head, t in heads},
            "decision": {
                f"{t} {s}{' later' * later}": probabilities(decision(side, head, later, 0), 2)
                for side, s, head, t in heads
                for later in (0, 1)
            },
        }

    @classmethod
    def from_json(cls, data: dict[str, Any], *, source: str = "model") -> DMV:
        """Read the JSON object of ``to_json``."""
        if not isinstance(data, dict) or data.get("kind") != "dmv":
            kind = data.get("kind") if isinstance(data, dict) else type(data).__name__
            raise ModelError(f"{source}: found kind {kind!r}, expected a grammar of kind 'dmv'")
        try:
            features = Features(tuple(map(str, data["tags"])))
            parts = [data["root"]]
            parts += [data["child"][f"{t} {s}"] for s in SIDES for t in features.tags]
            parts += [
                data["decision"][f"{t} {s}{x}"] for s in SIDES for t in features.tags for x in ("", " later")
            ]
            with np.errstate(divide="ignore"):
                return cls(features.tags, np.log(np.array([p for part in parts for p in part], np.float64)))
        except (KeyError, TypeError, ValueError) as error:
            raise ModelError(f"{source}: is not a complete DMV grammar ({error})") from error

    def save(self, path: PathLike, *, column: str = "upos", without_punctuation: bool = False) -> None:
        """Write the model as JSON."""
        from arcwise import __version__

        data = self.to_json(column=column, without_punctuation=without_punctuation)
        data["written_by"] = __version__
        with open_output(path) as stream:
            stream.write((json.dumps(data, indent=1, ensure_ascii=False) + "\n").encode())

    @classmethod
    def load(cls, path: PathLike) -> DMV:
        """Read a model written by ``save``."""
        return cls.from_json(read_json(path), source=str(path))


def read_json(path: PathLike) -> Any:
    """Read a JSON file."""
    try:
        return json.loads(read_bytes(path))
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: is not valid JSON ({error})") from error


def _corpus(
    sentences: Sequence[Sequence[str]] | TagSentences, tags: Sequence[str] | None = None
) -> TagSentences:
    return sentences if isinstance(sentences, TagSentences) else TagSentences.from_tags(sentences, tags=tags)


def _over(grammar: DMV, tags: tuple[str, ...]) -> Vector:
    """The parameters over another alphabet; unknown tags have probability 0."""
    if tags == grammar.tags:
        return grammar.log_probabilities
    numbers = {t: i for i, t in enumerate(grammar.tags)}
    places = np.array([numbers.get(t, len(grammar.tags)) for t in tags])
    t = len(grammar.tags)
    theta = grammar.log_probabilities
    root = np.append(theta[:t], -np.inf)[places]
    child = np.full((2, t + 1, t + 1), -np.inf)
    child[:, :t, :t] = theta[t : t + 2 * t * t].reshape(2, t, t)
    # Nothing was learned about unknown tags, so they stop and continue with equal probability.
    decision = np.full((2, t + 1, 4), np.log(0.5))
    decision[:, :t] = theta[t + 2 * t * t :].reshape(2, t, 4)
    return np.concatenate([root, child[:, places][:, :, places].ravel(), decision[:, places].ravel()])
