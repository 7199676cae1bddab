"""``verify``: check that no parses and parameters are more likely than a certificate claims.

The verifier shares no code with the search. It needs no solver and relies on no tolerance: it walks the tree
of boxes (``walk``), recomputes each bound in exact integer arithmetic (``bounds``), and rejects the
certificate with a reason if a leaf is not below the claim or the certificate is malformed (``form``).
``claim`` describes the proved statement.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_FLOOR, Decimal, localcontext
from typing import Any

import numpy as np

from arcwise.engine import local_engine
from arcwise.induction.verifier.bounds import SCALE, Bounds
from arcwise.induction.verifier.claim import CertificateError, Constraint, Rules, Verified
from arcwise.induction.verifier.form import (
    KIND,
    Certificate,
    ThetaCertificate,
    is_blocks,
    is_over_parameters,
    read,
    read_blocks,
    read_theta,
)
from arcwise.induction.verifier.parameter_boxes import ParameterBoxes
from arcwise.induction.verifier.parses import Coordinates, Ints, is_projective_tree, tree_counts
from arcwise.induction.verifier.walk import Walk

Numbers = list[tuple[int, ...]]


def verify(
    certificate: Any,
    sentences: Sequence[Sequence[str]],
    *,
    constraint: Rules | None = None,
    threads: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Verified:
    """Check a certificate against its corpus, given as tag sequences.

    Raises ``CertificateError`` with the reason if the check fails. A certificate may be about the parses that
    satisfy a posterior constraint, which proves less. It is accepted only with that very ``constraint`` (an
    ``ArcShare``, or anything with ``rules`` and ``share``); without one, only a certificate about all parses
    is. ``threads``: number of parallel processes; the outcome is the same. ``progress`` is called with the
    number of nodes done and in total.
    """
    if is_blocks(certificate):
        if constraint is not None:
            raise CertificateError(_NOT_CONSTRAINED)
        return _verify_blocks(certificate, sentences, threads, progress)
    claim: Certificate | ThetaCertificate
    claim = (read_theta if is_over_parameters(certificate) else read)(certificate, sentences)
    numbers = claim.sentences
    _check_constraint(claim.constraint, constraint)
    counted: dict[tuple[int, ...], int] = {}
    for s in numbers:
        counted[s] = counted.get(s, 0) + 1
    # Without a constraint equal sentences share a parse: for any parameters they have the same optimum.
    kinds = list(counted.items()) if claim.constraint is None else [(s, 1) for s in numbers]
    at = Coordinates(len(claim.tags))
    marked, least = np.zeros(at.count, np.int64), 0
    if claim.constraint is not None:
        marked, least = claim.constraint.marked(at), claim.constraint.least
    lower = _check_lower(claim.heads, claim.lower, claim.upper, numbers, at, marked, least)
    if isinstance(claim, ThetaCertificate):
        leaves, nodes = ParameterBoxes(claim, kinds).run(progress=progress)
        return Verified(lower, claim.upper / SCALE, nodes, leaves, claim.constraint)
    bounds = Bounds(at.tags, kinds, marked, least, claim.enumerate_up_to)
    leaves, nodes = Walk(claim, bounds).run(threads=threads, progress=progress)
    return Verified(lower, claim.upper / SCALE, nodes, leaves, claim.constraint)


_NOT_CONSTRAINED = "constraint: one was requested, but the certificate is about all parses"


def _check_constraint(claimed: Constraint | None, wanted: Rules | None) -> None:
    """Check that the claim is about the requested parses."""
    if claimed is None and wanted is None:
        return
    if claimed is None:
        raise CertificateError(_NOT_CONSTRAINED)
    if wanted is None:
        raise CertificateError(
            f"constraint: the certificate is not about all parses, only about those in which {claimed}; "
            "request this constraint to check it"
        )
    expected = Constraint.of_rules(wanted, claimed.tags, claimed.arcs)
    if expected != claimed:
        raise CertificateError(
            f"constraint: the certificate is about parses in which {claimed}; "
            f"requested were those in which {expected}"
        )


def _verify_blocks(
    certificate: Any,
    sentences: Sequence[Sequence[str]],
    threads: int,
    progress: Callable[[int, int], None] | None,
) -> Verified:
    """Verify by blocks: the likelihood of a corpus is at most the sum over its blocks."""
    claim = read_blocks(certificate, sentences)
    size = claim.block_size
    parts = [list(sentences[a : a + size]) for a in range(0, len(sentences), size)]
    todo = [(b, block, part) for b, (block, part) in enumerate(zip(claim.blocks, parts, strict=True), 1)]
    todo = [t for t in todo if t[1] is not None]  # unsearched blocks: their log-likelihood is at most 0
    nodes = leaves = total = 0
    engine = local_engine(max(1, min(threads, len(todo))))
    for done, outcome in enumerate(engine.map(_verify_block, todo), 1):
        if isinstance(outcome, str):
            raise CertificateError(outcome)
        proved, upper = outcome
        nodes, leaves, total = nodes + proved.nodes, leaves + proved.leaves, total + upper
        if progress:
            progress(done, len(todo))
    if total > claim.upper:
        raise CertificateError(
            f"upper: found {claim.upper / SCALE}, but the blocks prove no more than {total / SCALE}"
        )
    tags = sorted({t for s in sentences for t in s})
    numbers = [tuple(tags.index(t) for t in s) for s in sentences]
    at = Coordinates(len(tags))
    nothing = np.zeros(at.count, np.int64)
    lower = _check_lower(claim.heads, claim.lower, claim.upper, numbers, at, nothing, 0)
    return Verified(lower, claim.upper / SCALE, nodes, leaves)


def _verify_block(numbered: tuple[int, Any, Sequence[Sequence[str]]]) -> tuple[Verified, int] | str:
    """The proof of a block, or the reason why it fails."""
    number, block, part = numbered
    if not isinstance(block, dict) or block.get("kind") != KIND or block.get("constraint") is not None:
        return f"blocks: block {number} is not a certificate without constraint"
    try:
        return verify(block, part), int(block["upper"])
    except CertificateError as error:
        # As a value: the engine would put the item in front of an exception's message.
        return f"block {number}: {error}"


def _check_lower(
    parses: list[list[int]],
    lower: float,
    upper: int,
    numbers: Numbers,
    at: Coordinates,
    marked: Ints,
    least: int,
) -> float:
    """Check that the parses are trees, satisfy the constraint and are as likely as claimed.

    Returns their log-likelihood, rounded down.
    """
    total = np.zeros(at.count, np.int64)
    for i, (tags, heads) in enumerate(zip(numbers, parses, strict=True), 1):
        if not is_projective_tree(heads):
            raise CertificateError(f"heads: the parse of sentence {i} is not a projective tree with one root")
        total += tree_counts(at, tags, heads, marked)
    if total[at.constrained] < least:
        raise CertificateError(
            f"heads: {total[at.constrained]} arcs satisfy the constraint, expected at least {least}"
        )
    likelihood = _likelihood(total, at, numbers)
    # The claim was computed in doubles, this value from fifty digits.
    if not lower <= likelihood + 1e-9 * max(1.0, abs(likelihood)):
        raise CertificateError(f"lower: found {lower}, but the parses have the likelihood {likelihood}")
    if upper / SCALE < likelihood - 1e-6:
        raise CertificateError(
            f"upper: found {upper / SCALE}, but the parses have the likelihood {likelihood}"
        )
    return likelihood


def _likelihood(total: Ints, at: Coordinates, numbers: Numbers) -> float:
    """Log-likelihood of parses under their relative frequencies, from fifty digits, rounded down."""
    with localcontext() as context:
        context.prec = 50

        def phi(x: int) -> Decimal:
            return Decimal(x) * Decimal(x).ln() if x > 1 else Decimal(0)

        value = sum((phi(int(total[t])) for t in range(at.tags)), -phi(len(numbers)))
        for b in range(2 * at.tags):
            words = sum(s.count(b % at.tags) for s in numbers)
            some, children = int(total[at.some(b)]), int(total[at.children(b)])
            value += phi(words - some) + 2 * phi(some) + phi(children - some) - 2 * phi(children) - phi(words)
            value += sum(phi(int(total[at.child(b, t)])) for t in range(at.tags))
        down = float((value + Decimal("1e-30")).quantize(Decimal("1e-12"), ROUND_FLOOR))
    return math.nextafter(down, -math.inf) if down < 0 else 0.0
