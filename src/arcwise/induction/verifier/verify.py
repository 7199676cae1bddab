"""Checks the certificate of a grammar induction: that no parses and parameters are more likely than it claims.

The verifier shares no code with the search. It needs no solver and trusts no tolerance: it walks the tree of boxes, recomputes each bound
in exact integer arithmetic (``bounds``), and rejects the certificate with a reason if a leaf is not below the claim.
The form of certificates is described in ``arcwise.induction.global_search.certificate``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from arcwise.errors import ArcwiseError
from arcwise.induction.verifier.bounds import SCALE, Bounds
from arcwise.induction.verifier.boxes import Box
from arcwise.induction.verifier.parses import Coordinates, Ints, is_projective_tree, tree_counts

KIND = "arcwise grammar induction certificate"
BLOCKS_KIND = "arcwise grammar induction certificate by blocks"
VERSION = 1


class CertificateError(ArcwiseError):
    """The certificate does not prove what it claims; the message says why."""


@dataclass(frozen=True)
class Verified:
    """What has been proved: some parses have at least ``lower``, none have more than ``upper``."""

    lower: float
    upper: float
    nodes: int
    leaves: int

    @property
    def gap(self) -> float:
        """(upper - lower) / |lower|."""
        return (
            0.0
            if self.upper <= self.lower
            else (self.upper - self.lower) / abs(self.lower)
            if self.lower
            else np.inf
        )


def verify(
    certificate: Any,
    sentences: Sequence[Sequence[str]],
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Verified:
    """Check a certificate against the corpus it is about, sentences of tags; ``CertificateError`` with the reason if it fails.

    ``progress`` is told how many of the nodes are done.
    """
    if isinstance(certificate, dict) and certificate.get("kind") == BLOCKS_KIND:
        return _verify_blocks(certificate, sentences, progress)
    _check_form(certificate)
    numbers = _check_corpus(certificate, sentences)
    counted: dict[tuple[int, ...], int] = {}
    for s in numbers:
        counted[s] = counted.get(s, 0) + 1
    # Without a constraint equal sentences may share their parse (for any parameters they have the same best one).
    kinds = list(counted.items()) if certificate["constraint"] is None else [(s, 1) for s in numbers]
    at = Coordinates(len(certificate["tags"]))
    marked, least = _constraint(certificate, at)
    lower = _check_lower(certificate, numbers, at, marked, least)
    bounds = Bounds(at.tags, kinds, marked, least, certificate["enumerate_up_to"])
    leaves, nodes = _Walk(certificate, bounds, sum(map(len, numbers)), progress).run()
    return Verified(lower, certificate["upper"] / SCALE, nodes, leaves)


def _verify_blocks(
    certificate: Any, sentences: Sequence[Sequence[str]], progress: Callable[[int, int], None] | None
) -> Verified:
    """The likelihood of a corpus is at most the sum of those of its blocks."""
    try:
        size, blocks, upper = (
            certificate["block_size"],
            list(certificate["blocks"]),
            int(certificate["upper"]),
        )
        parts = [sentences[a : a + size] for a in range(0, len(sentences), size)]
        heads = list(certificate["heads"])
    except (KeyError, TypeError, ValueError) as error:
        raise CertificateError("blocks: expected a certificate for each block of sentences") from error
    if len(blocks) != len(parts):
        raise CertificateError(f"blocks: found {len(blocks)}, expected {len(parts)}")
    nodes = leaves = total = 0
    for b, (block, part) in enumerate(zip(blocks, parts, strict=True), 1):
        if block is None:  # not looked into: its likelihood is at most 0
            continue
        if not isinstance(block, dict) or block.get("kind") != KIND or block.get("constraint") is not None:
            raise CertificateError(f"blocks: block {b} is no certificate without constraint")
        try:
            proved = verify(block, part)
        except CertificateError as error:
            raise CertificateError(f"block {b}: {error}") from error
        nodes, leaves, total = nodes + proved.nodes, leaves + proved.leaves, total + int(block["upper"])
        if progress:
            progress(b, len(blocks))
    if total > upper:
        raise CertificateError(
            f"upper: found {upper / SCALE}, but the blocks prove no more than {total / SCALE}"
        )
    tags = sorted({t for s in sentences for t in s})
    numbers = [tuple(tags.index(t) for t in s) for s in sentences]
    at = Coordinates(len(tags))
    whole = {"heads": heads, "lower": certificate.get("lower"), "upper": upper}
    if not isinstance(whole["lower"], (int, float)):
        raise CertificateError("lower: missing")
    lower = _check_lower(whole, numbers, at, np.zeros(at.count, np.int64), 0)
    return Verified(lower, upper / SCALE, nodes, leaves)


def _check_form(certificate: Any) -> None:
    if not isinstance(certificate, dict) or certificate.get("kind") != KIND:
        raise CertificateError(
            f"kind: found {certificate.get('kind') if isinstance(certificate, dict) else certificate!r}, expected {KIND!r}"
        )
    if certificate.get("version") != VERSION:
        raise CertificateError(f"version: found {certificate.get('version')!r}, expected {VERSION}")
    kinds: dict[str, Any] = {
        "tags": list, "sentences": list, "heads": list, "lower": (int, float), "upper": int,
        "enumerate_up_to": int, "coordinates": list, "multipliers": list, "nodes": list,
    }  # fmt: skip
    for name, kind in kinds.items():
        if (
            name not in certificate
            or not isinstance(certificate[name], kind)
            or isinstance(certificate[name], bool)
        ):
            raise CertificateError(f"{name}: missing, or not of the expected kind")
    if "constraint" not in certificate:
        raise CertificateError("constraint: missing, expected null or marked features")
    if not certificate["nodes"]:
        raise CertificateError("nodes: found none, expected the tree of boxes")


def _check_corpus(certificate: Any, sentences: Sequence[Sequence[str]]) -> list[tuple[int, ...]]:
    tags = certificate["tags"]
    if len(certificate["sentences"]) != len(sentences):
        raise CertificateError(
            f"sentences: the certificate is about {len(certificate['sentences'])} sentences, the corpus has {len(sentences)}"
        )
    numbers = {t: i for i, t in enumerate(tags)}
    for i, (claimed, own) in enumerate(zip(certificate["sentences"], sentences, strict=True), 1):
        if claimed != [numbers.get(t, -1) for t in own]:
            raise CertificateError(
                f"sentences: sentence {i} of the corpus is not that of the certificate ({' '.join(own)})"
            )
    return [tuple(s) for s in certificate["sentences"]]


def _constraint(certificate: Any, at: Coordinates) -> tuple[Ints, int]:
    marked = np.zeros(at.count, np.int64)
    if certificate["constraint"] is None:
        return marked, 0
    t = at.tags
    try:
        for feature in certificate["constraint"]["marked"]:  # numbers of arcwise.induction.Features
            if feature < t:
                marked[feature] = 1
            else:
                block, child = divmod(feature - t, t)
                if not 0 <= block < 2 * t:
                    raise ValueError
                marked[at.child(block, child)] = 1
        return marked, int(certificate["constraint"]["least"])
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise CertificateError("constraint: expected marked features and their least number") from error


def _check_lower(
    certificate: Any, numbers: list[tuple[int, ...]], at: Coordinates, marked: Ints, least: int
) -> float:
    """The parses are trees, satisfy the constraint, and are as likely as claimed."""
    total = np.zeros(at.count, np.int64)
    if len(certificate["heads"]) != len(numbers):
        raise CertificateError(f"heads: found {len(certificate['heads'])} parses, expected {len(numbers)}")
    for i, (tags, heads) in enumerate(zip(numbers, certificate["heads"], strict=True), 1):
        if len(heads) != len(tags) or not is_projective_tree(heads):
            raise CertificateError(f"heads: the parse of sentence {i} is no projective tree with one root")
        total += tree_counts(at, tags, heads, marked)
    if total[at.constrained] < least:
        raise CertificateError(
            f"heads: {total[at.constrained]} arcs satisfy the constraint, expected at least {least}"
        )
    likelihood = _likelihood(total, at, numbers)
    if not certificate["lower"] <= likelihood + 1e-9 * max(1.0, abs(likelihood)):
        raise CertificateError(
            f"lower: found {certificate['lower']}, but the parses have the likelihood {likelihood}"
        )
    if certificate["upper"] / SCALE < likelihood - 1e-6:
        raise CertificateError(
            f"upper: found {certificate['upper'] / SCALE}, but the parses have the likelihood {likelihood}"
        )
    return float(certificate["lower"])


def _likelihood(total: Ints, at: Coordinates, numbers: list[tuple[int, ...]]) -> float:
    """log-likelihood of parses with these counts under the ratios of the counts."""

    def phi(x: float) -> float:
        return float(x * np.log(x)) if x > 0 else 0.0

    value = sum(phi(total[t]) for t in range(at.tags)) - phi(len(numbers))
    for b in range(2 * at.tags):
        words = sum(s.count(b % at.tags) for s in numbers)
        some, children = int(total[at.some(b)]), int(total[at.children(b)])
        value += phi(words - some) + 2 * phi(some) + phi(children - some) - 2 * phi(children) - phi(words)
        value += sum(phi(total[at.child(b, t)]) for t in range(at.tags))
    return value


class _Walk:
    """Walks the tree of boxes, deepest first."""

    def __init__(
        self, certificate: Any, bounds: Bounds, words: int, progress: Callable[[int, int], None] | None
    ) -> None:
        self.nodes: list[Any] = certificate["nodes"]
        self.multipliers: list[Any] = certificate["multipliers"]
        self.coordinates: list[Any] = certificate["coordinates"]
        self.upper: int = certificate["upper"]
        self.bounds, self.words, self.progress = bounds, words, progress
        self.leaves = 0

    def run(self) -> tuple[int, int]:
        """The number of leaves and of nodes."""
        if self.bounds.root is None:
            raise CertificateError("constraint: no parses satisfy it")
        seen: set[int] = set()
        waiting: list[tuple[int, Box]] = [(0, self.bounds.root)]
        while waiting:
            number, box = waiting.pop()
            if number in seen:
                raise CertificateError(f"nodes: node {number} is a child of two nodes")
            seen.add(number)
            waiting += self._children(number, box)
            if self.progress:
                self.progress(len(seen), len(self.nodes))
        return self.leaves, len(seen)

    def _children(self, number: int, box: Box) -> list[tuple[int, Box]]:
        node = self.nodes[number] if 0 <= number < len(self.nodes) else None
        if not isinstance(node, dict) or not isinstance(node.get("use"), list):
            raise CertificateError(f"nodes: node {number} is missing or has no list of multipliers")
        if self.upper >= 0:  # no probability is above 1
            self.leaves += 1
            return []
        last = None
        for use in node["use"]:
            mu = self._mu(use)
            found = self.bounds.bound(box, mu)
            last = found.value
            tighter = None if last <= self.upper else self.bounds.tightened(box, mu, found, self.upper)
            if tighter is None:
                self.leaves += 1
                return []
            box = tighter
        if "split" not in node:
            bound = "no multipliers" if last is None else f"the bound {last / SCALE:.6f}"
            raise CertificateError(
                f"nodes: leaf {number} has {bound}, which is not below {self.upper / SCALE:.6f}"
            )
        return self._halves(number, node, box)

    def _halves(self, number: int, node: Any, box: Box) -> list[tuple[int, Box]]:
        at = self.bounds.at
        try:
            sentence, coordinate, value = (int(x) for x in node["split"])
            children = list(node["children"])
        except (KeyError, TypeError, ValueError) as error:
            raise CertificateError(f"nodes: node {number} has no proper split") from error
        sound = (
            -1 <= sentence < len(self.bounds.sentences) and 0 <= coordinate < at.count and len(children) == 2
        )
        if not sound or (sentence >= 0 and self.bounds.sentences[sentence].vectors is None):
            raise CertificateError(f"nodes: node {number} is split at what does not exist")
        out: list[tuple[int, Box]] = []
        for child, above in zip(children, (False, True), strict=True):
            half = self.bounds.propagated(self.bounds.split(box, sentence, coordinate, value, above=above))
            if half is None:
                self.leaves += child is not None
                continue
            if not isinstance(child, int):
                side = "above" if above else "at most"
                raise CertificateError(
                    f"nodes: node {number} leaves out counts {side} {value} of coordinate {coordinate}"
                )
            out.append((child, half))
        return out

    def _mu(self, use: Any) -> Ints:
        at = self.bounds.at
        mu = np.zeros(at.count, np.int64)
        try:
            values = self.multipliers[use] if isinstance(use, int) and use >= 0 else None
            if not isinstance(values, list) or len(values) != len(self.coordinates):
                raise ValueError
            mu[self.coordinates] = values
        except (IndexError, ValueError, TypeError, OverflowError) as error:
            raise CertificateError(
                f"multipliers: number {use!r} is missing or of the wrong length"
            ) from error
        if mu[at.constrained] < 0 or mu[at.priced : at.constrained].any():
            raise CertificateError(
                f"multipliers: number {use} is negative for the constraint, or prices a sum"
            )
        if int(np.abs(mu).max()) * 4 * (self.words + 1) >= 2**61:
            raise CertificateError(f"multipliers: number {use} is too large to compute with exactly")
        return mu
