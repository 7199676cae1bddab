"""Verification of certificates over boxes of parameters, in exact integer arithmetic.

For trees with counts f and their best parameters θ, every constraint of a box (``parse_program``, tangents of
Σ exp θ ≤ 1, ranges) is at least 0, and so is every product of constraints. Added to the objective Σ θ_m f_m
with multipliers of at least 0 they can only raise it. The result is a polynomial in the columns; the sum of
the largest value of each of its terms over the box bounds the objective. No multipliers can make this bound
wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal, localcontext
from typing import Any

from arcwise.induction.verifier.claim import CertificateError
from arcwise.induction.verifier.form import ThetaCertificate, is_int
from arcwise.induction.verifier.parse_program import LEAST_THETA, ParseProgram

_BITS = 40
"""Constraints, ranges and multipliers are integers in units of 1/2**40."""
_THETA_BITS = 30
_UPPER_BITS = 30
_MOST_FACTORS = 3
_LARGEST_MULTIPLIER = 2**61

Range = tuple[int, int]
Polynomial = dict[tuple[int, ...], int]
"""Coefficients by sorted columns."""
LinearConstraint = tuple[int, dict[int, int]]
"""constant + Σ coefficient · column ≥ 0, in units of 1/2**40."""


class ParameterBoxes:
    """Traverses the tree of a certificate over parameters."""

    def __init__(
        self, certificate: ThetaCertificate, sentences: Sequence[tuple[tuple[int, ...], int]]
    ) -> None:
        self.program = program = ParseProgram(len(certificate.tags), sentences, certificate.constraint)
        self.nodes, self.upper = certificate.nodes, certificate.upper
        self.theta_columns = frozenset(program.theta.values())
        self.tangents: list[LinearConstraint] = [
            self._tangent(k, t) for k, t in enumerate(certificate.tangents)
        ]
        self.objective = [(program.f[m], program.theta[m]) for m in program.f]

    def run(self, *, progress: Callable[[int, int], None] | None = None) -> tuple[int, int]:
        """Return the numbers of leaves and nodes.

        Raise ``CertificateError`` unless every leaf is below the claim.
        """
        if self.upper >= 0:  # probabilities are at most 1
            return 1, 1
        root = [
            (low << _BITS, high << _BITS)
            for low, high in zip(self.program.low, self.program.high, strict=True)
        ]
        waiting, seen, leaves = [(0, root)], set[int](), 0
        while waiting:
            number, box = waiting.pop()
            if number in seen:
                raise CertificateError(f"nodes: node {number} is a child of two nodes")
            seen.add(number)
            node = self.nodes[number] if number < len(self.nodes) else None
            if not isinstance(node, dict):
                raise CertificateError(f"nodes: node {number} is missing")
            if "split" in node:
                waiting += self._halves(number, node, box)
            else:
                self._check_leaf(number, node, box)
                leaves += 1
            if progress:
                progress(len(seen), len(self.nodes))
        return leaves, len(seen)

    def _halves(self, number: int, node: dict[str, Any], box: list[Range]) -> list[tuple[int, list[Range]]]:
        """The children of a node with their boxes; a half that is empty needs no proof."""
        split, children = node["split"], node.get("children")
        if not (
            type(split) is list
            and type(children) is list
            and len(split) == len(children) == 2
            and all(is_int(x) for x in split)
            and 0 <= split[0] < len(box)
            and all(is_int(c, number + 1) for c in children)  # later than the parent: there are no cycles
        ):
            raise CertificateError(f"nodes: node {number} has no valid split")
        column, at = split
        low, high = box[column]
        if column in self.theta_columns:
            below = above = at << (_BITS - _THETA_BITS)
        else:  # arcs, flows and counts of trees are integers
            below, above = at << _BITS, (at + 1) << _BITS
        out = []
        for child, part in zip(children, ((low, min(high, below)), (max(low, above), high)), strict=True):
            if part[0] <= part[1]:
                half = box.copy()
                half[column] = part
                out.append((child, half))
        return out

    def _check_leaf(self, number: int, node: dict[str, Any], box: list[Range]) -> None:
        factors, multipliers, empty = (node.get(k) for k in ("factors", "multipliers", "empty"))
        if (
            type(factors) is not list
            or type(multipliers) is not list
            or type(empty) is not bool
            or len(factors) != len(multipliers)
        ):
            raise CertificateError(f"nodes: leaf {number} needs factors, as many multipliers, and empty")
        # All products are brought to the units of the longest one.
        total: Polynomial = {}
        if not empty:
            total = dict.fromkeys(self.objective, 1 << (_BITS * (_MOST_FACTORS + 1)))
        for numbers, multiplier in zip(factors, multipliers, strict=True):
            if not is_int(multiplier, 0, _LARGEST_MULTIPLIER):
                raise CertificateError(f"nodes: leaf {number} has a multiplier that is not from 0 to 2**61")
            if type(numbers) is not list or not 1 <= len(numbers) <= _MOST_FACTORS:
                raise CertificateError(f"nodes: leaf {number} multiplies none or too many constraints")
            scale = multiplier << (_BITS * (_MOST_FACTORS - len(numbers)))
            for columns, value in _product([self._constraint(f, box) for f in numbers]).items():
                total[columns] = total.get(columns, 0) + scale * value
        bound = sum(_largest(columns, value, box) for columns, value in total.items())
        bits = _BITS * (2 * _MOST_FACTORS + 1)
        if bound >= 0 if empty else bound > self.upper << (bits - _UPPER_BITS):
            claim = "not empty" if empty else f"not below {self.upper / 2**_UPPER_BITS:.6f}"
            raise CertificateError(
                f"nodes: leaf {number} has the bound {_as_float(bound, bits):.6f}, so it is {claim}"
            )

    def _constraint(self, factor: Any, box: list[Range]) -> LinearConstraint:
        """The constraint with this number, in a box."""
        if is_int(factor, 0):
            number, rest = divmod(int(factor), 6)
            kind, side = divmod(rest, 2)
            if kind == 0 and number < len(self.program.rows):
                row, lower, upper = self.program.rows[number]
                limit, sign = (upper, -1) if side else (lower, 1)
                if limit is not None:
                    return (-sign * limit) << _BITS, {c: (sign * v) << _BITS for c, v in row.items()}
            if kind == 1 and side == 1 and number < len(self.tangents):
                return self.tangents[number]
            if kind == 2 and number < len(box):
                low, high = box[number]
                return (high, {number: -1 << _BITS}) if side else (-low, {number: 1 << _BITS})
        raise CertificateError("nodes: a leaf refers to a constraint that does not exist")

    def _tangent(self, number: int, tangent: Any) -> LinearConstraint:
        """Check that Σ a θ ≤ limit follows from Σ exp θ ≤ 1.

        exp θ ≥ a (θ + 1 − log a) for any a > 0. Unused parameters may be at LEAST_THETA, where exp is not 0.
        """
        runs = self.program.distributions
        if not (type(tangent) is list and len(tangent) == 3 and is_int(tangent[0], 0, len(runs) - 1)):
            raise CertificateError(f"tangents: number {number} is not [distribution, coefficients, limit]")
        run, coefficients, limit = runs[tangent[0]], tangent[1], tangent[2]
        if not (
            type(coefficients) is list
            and len(coefficients) == len(run)
            and all(is_int(a, 0, 2**_BITS) for a in coefficients)
            and all(m in self.program.theta for m, a in zip(run, coefficients, strict=True) if a)
            and is_int(limit)
        ):
            raise CertificateError(f"tangents: number {number} has invalid coefficients or limit")
        with localcontext() as context:
            context.prec = 60
            least = 1 + sum(m in self.program.theta for m in run) * Decimal(LEAST_THETA).exp()
            for a in coefficients:
                if a:
                    slope = Decimal(a) / 2**_THETA_BITS
                    least += slope * (slope.ln() - 1)
            holds = Decimal(limit) / 2**_BITS >= least + Decimal("1e-40")
        if not holds:
            raise CertificateError(f"tangents: number {number} cuts off parameters that sum to one")
        unit = 1 << (_BITS - _THETA_BITS)
        row = {self.program.theta[m]: -a * unit for m, a in zip(run, coefficients, strict=True) if a}
        return limit, row


def _product(constraints: list[LinearConstraint]) -> Polynomial:
    product: Polynomial = {(): 1}
    for constant, row in constraints:
        longer: Polynomial = {}
        for columns, value in product.items():
            longer[columns] = longer.get(columns, 0) + value * constant
            for column, coefficient in row.items():
                key = tuple(sorted((*columns, column)))
                longer[key] = longer.get(key, 0) + value * coefficient
        product = longer
    return product


def _largest(columns: tuple[int, ...], value: int, box: list[Range]) -> int:
    """The largest value of a term over the box, in the units of the longest term."""
    low = high = 1
    for column in columns:
        ends = [x * y for x in (low, high) for y in box[column]]
        low, high = min(ends), max(ends)
    return max(value * low, value * high) << (_BITS * (_MOST_FACTORS - len(columns)))


def _as_float(value: int, bits: int) -> float:
    return (value >> (bits - 40)) / 2**40
