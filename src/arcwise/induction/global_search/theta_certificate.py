"""Certificates of the search over parameters: the tree of boxes with the multipliers of each leaf.

``arcwise.induction.verifier`` checks them without a solver and without any code of the search. A JSON object:

- ``tags``, ``sentences``, ``constraint``, ``heads``, ``lower``, ``upper``: as in ``certificate``.
- ``tangents``: [distribution, coefficients, limit]: Σ exp θ ≤ 1 implies Σ a θ ≤ limit. Distributions are
numbered
  in the order of their features; coefficients in units of 1/2**30, one per feature of the distribution;
  limits in units of 1/2**40.
- ``nodes``: the tree, root first. ``split``: [column, at] with ``children``: the nodes with column ≤ at and
with
  column ≥ at (θ; in units of 1/2**30) or column ≥ at + 1 (integers). Leaves have ``factors`` and
  ``multipliers``: products of one to three constraints (each ≥ 0), and what each is multiplied by before it
  is added to the objective, in units of 1/2**40. ``empty``: they add up to a contradiction.
- ``linear_programs``: what the solver failed on; not part of the proof.

A factor is 6·number + 2·kind + side. Kinds: 0 a row of the parses, 1 a tangent, 2 the range of a column. Side
0 means value − lower ≥ 0, side 1 upper − value ≥ 0. The order of columns and rows is that of
``tree_program.TreeProgram``: by sentence (distinct ones, unless there is a constraint) arcs (head, then
child), their flows, then words with a child by word and side; after all sentences the counts f of the
features that can occur, then their log-probabilities θ.
"""

from __future__ import annotations

import math
from dataclasses import asdict
from itertools import pairwise
from typing import Any

from arcwise.induction.global_search.certificate import SCALE
from arcwise.induction.global_search.rlt import TANGENT
from arcwise.induction.global_search.theta import ProofNode, ThetaSearch
from arcwise.induction.global_search.theta_program import THETA_SCALE, Tangent

THETA_KIND = "arcwise grammar induction certificate over parameters"
THETA_VERSION = 1


def theta_certificate(search: ThetaSearch) -> dict[str, Any]:
    """The certificate of a search in its current state."""
    task, best, upper = search.task, search.best, search.point().upper
    assert best.heads is not None
    heads = task.spread(best.heads)
    used: dict[int, int] = {}  # tangents that the proof uses, renumbered
    nodes: list[dict[str, Any]] = []
    waiting: list[tuple[ProofNode, list[Any] | None]] = [(search.root.record, None)]
    while waiting:
        record, siblings = waiting.pop()
        if siblings is not None:
            siblings.append(len(nodes))
        nodes.append(_node(record, upper, used, search))
        if "split" in nodes[-1]:
            # Both children are numbered when they are visited, the lower one first.
            waiting += [(child, nodes[-1]["children"]) for child in reversed(record.children)]
    return {
        "kind": THETA_KIND,
        "version": THETA_VERSION,
        "tags": list(task.corpus.tags),
        "sentences": [list(s) for s in task.corpus.sentences],
        "constraint": task.constraint_json,
        "heads": [heads[a:b].tolist() for a, b in pairwise(task.corpus.starts)],
        "lower": best.value,
        "upper": math.ceil(upper * SCALE),
        "tangents": [_tangent(search.program.all_tangents[number], search) for number in used],
        "nodes": nodes,
        "linear_programs": asdict(search.program.counts),
    }


def _node(record: ProofNode, upper: float, used: dict[int, int], search: ThetaSearch) -> dict[str, Any]:
    proof = record.proof
    if record.split is not None and record.bound > upper:
        column, at = record.split
        scale = THETA_SCALE if column in search.program.theta.values() else 1
        return {"split": [column, round(at * scale)], "children": []}
    if proof is None or record.bound > upper:  # holds only if upper is 0
        return {"factors": [], "multipliers": [], "empty": False}
    return {
        "factors": [[_renumbered(f, used) for f in factors] for factors in proof.factors],
        "multipliers": proof.multipliers,
        "empty": proof.empty,
    }


def _renumbered(factor: int, used: dict[int, int]) -> int:
    number, rest = divmod(factor, 6)
    if rest // 2 != TANGENT:
        return factor
    return used.setdefault(number, len(used)) * 6 + rest


def _tangent(tangent: Tangent, search: ThetaSearch) -> list[Any]:
    features = search.program.features
    first = min(tangent.coefficients)
    number, run = next((k, r) for k, r in enumerate(features.distributions) if r.start <= first < r.stop)
    return [number, [tangent.coefficients.get(m, 0) for m in range(run.start, run.stop)], tangent.limit]
