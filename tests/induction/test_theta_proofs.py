"""The search over parameters: its bounds and certificates hold whatever the linear-program solver returns."""

import copy
import json
import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise.induction import ArcShare, TagSentences, induce_globally
from arcwise.induction.dmv import log_ratio
from arcwise.induction.global_search import InductionTask, ThetaOptions, ThetaSearch
from arcwise.induction.global_search.lp import LinearProgram, Solution
from arcwise.induction.global_search.rlt import FACTOR_SCALE, box_constraints, rlt_rows
from arcwise.induction.global_search.theta import ThetaNode
from arcwise.induction.global_search.theta_program import LEAST_THETA, THETA_SCALE, ThetaProgram
from arcwise.induction.verifier import CertificateError, verify
from arcwise.induction.verifier.claim import Constraint
from arcwise.induction.verifier.parse_program import ParseProgram
from induction.instances import random_share, tiny
from reference.dmv import brute_force, tree_counts
from reference.enumerate_trees import all_trees

highspy = pytest.importorskip("highspy")

CORPUS = TagSentences.from_tags([["A", "B"], ["B", "A", "B"]])
RULES = ArcShare(frozenset({("ROOT", "A"), ("A", "B")}), 0.6)
SHORT = TagSentences.from_tags([["A", "B"], ["B", "A"]])


def true_points(task: InductionTask, program: ThetaProgram) -> Iterator[tuple[np.ndarray, float]]:
    """Every combination of parses as columns of the program, with its log-likelihood."""
    features = task.features
    trees = [all_trees(len(s), projective=True, single_root=True) for s, _ in task.sentences]
    for parses in product(*trees):
        heads = np.concatenate([h[1:] for h in parses]).astype(np.int32)
        if not task.satisfies(heads):
            continue
        counts = sum(
            w * tree_counts(features, list(s), h) for (s, w), h in zip(task.sentences, parses, strict=True)
        )
        theta = np.maximum(log_ratio(counts, features), LEAST_THETA)
        x = np.zeros(program.count)
        for arcs, h in zip(program.arcs, parses, strict=True):
            put_tree(x, arcs, h)
        for m in program.used:
            x[program.f[m]], x[program.theta[m]] = counts[m], theta[m]
            x[program.z[m]] = counts[m] * theta[m]
        yield x, task.likelihood(counts)


def put_tree(x: np.ndarray, arcs: dict[tuple[int, int], int], heads: np.ndarray) -> None:
    """Arcs, flows and "has a child" of one tree; flows follow the arcs, then come words with a child."""
    n = len(heads) - 1
    below = np.ones(n + 1)
    for m in range(1, n + 1):
        h = heads[m]
        while h:
            below[h] += 1
            h = heads[h]
    first, size = min(arcs.values()), len(arcs)
    for m in range(1, n + 1):
        x[arcs[int(heads[m]), m]] = 1.0
        x[arcs[int(heads[m]), m] + size] = below[m]
    some = first + 2 * size
    for w in range(1, n + 1):
        for reach in (range(1, w), range(w + 1, n + 1)):
            if len(reach):
                x[some] = any(heads[m] == w for m in reach)
                some += 1


def inside(node: ThetaNode, program: ThetaProgram, x: np.ndarray) -> bool:
    part = slice(program.factor_columns)
    return bool(
        (node.box.low[part] - 1e-12 <= x[part]).all() and (x[part] <= node.box.high[part] + 1e-12).all()
    )


@pytest.mark.parametrize("rlt", ["Max.0k", pytest.param("Max.1k", marks=pytest.mark.slow), "Obj.Filter"])
@pytest.mark.parametrize("constraint", [None, RULES])
def test_every_box_is_bounded_above_its_parses(
    monkeypatch: pytest.MonkeyPatch, rlt: str, constraint: ArcShare | None
) -> None:
    """By enumeration: no node's bound is below any parses in its box, and none of these boxes is called
    empty."""
    task = InductionTask(CORPUS, constraint)
    search = ThetaSearch(task, options=ThetaOptions(rlt=rlt, first_restarts=1))
    points = list(true_points(task, search.program))
    assert len(points) > 3
    expand, checked = search._expand, 0

    def checking(node: ThetaNode, **settings: Any) -> list[ThetaNode]:
        nonlocal checked
        children = expand(node, **settings)
        for x, value in points:
            if inside(node, search.program, x):
                checked += 1
                assert node.record.bound >= value
                assert not children or any(inside(child, search.program, x) for child in children)
        return children

    monkeypatch.setattr(search, "_expand", checking)
    search.run(epsilon=1e-3, time_limit=4.0)
    assert checked >= len(points)
    best = brute_force(CORPUS, constraint)
    assert search.point().lower - 1e-9 <= best <= search.point().upper


def test_every_parse_satisfies_every_row_and_product() -> None:
    for constraint in (None, RULES):
        task = InductionTask(CORPUS, constraint)
        program = ThetaProgram(task)
        products = program.new_products()
        box = program.root()
        rows = rlt_rows("Max.1k", program, box, products, np.random.default_rng(0), second_level=500)
        assert {len(r.factors) for r in rows} == {2, 3}
        for x, value in true_points(task, program):
            assert x[list(program.z.values())].sum() == pytest.approx(value)
            for c in box_constraints(program, box):
                left = c.constant + sum(v * x[j] for j, v in c.row.items())
                assert left >= -1e-9 * FACTOR_SCALE
            more = [math.prod(x[j] for j in monomial) for monomial in products.created]
            whole = np.concatenate([x, more])
            for row in rows:
                assert sum(v * whole[j] for j, v in row.row.items()) >= row.lower - 1e-6


@pytest.mark.parametrize("seed", range(8))
def test_the_verifier_has_the_rows_of_the_search(seed: int) -> None:
    corpus, share = tiny(seed, longest=5), random_share(seed) if seed % 2 else None
    task = InductionTask(corpus, share)
    program = ThetaProgram(task)
    constraint = None if share is None else Constraint.of_rules(share, corpus.tags, corpus.words)
    checker = ParseProgram(len(corpus.tags), task.sentences, constraint)
    infinite = {None: math.inf}
    assert [r for r, _, _ in checker.rows] == [r for r, _, _ in program.rows]
    assert [(-infinite.get(a, -1) if a is None else a) for _, a, _ in checker.rows] == [
        a for _, a, _ in program.rows
    ]
    assert [infinite.get(b, b) for _, _, b in checker.rows] == [b for _, _, b in program.rows]
    assert (checker.f, checker.theta) == (program.f, program.theta)
    root, size = program.root(), program.factor_columns
    assert (checker.low, checker.high) == (root.low[:size].tolist(), root.high[:size].tolist())


@pytest.mark.parametrize("seed", range(50))
def test_tangents_hold_on_the_simplex(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = ThetaProgram(InductionTask(TagSentences.from_tags([["A", "B", "C"], ["C", "A"], ["B"]])))
    run = int(rng.integers(len(program.runs)))
    members = program.runs[run]
    at = rng.dirichlet(np.full(len(members), 0.3)) * rng.choice([0.5, 1.0, 2.0])
    tangent = program._tangent(run, dict(zip(members, at.tolist(), strict=True)))
    slopes = np.array([tangent.coefficients[m] for m in members]) / THETA_SCALE
    for p in (*rng.dirichlet(np.full(len(members), 0.2), 200), slopes / max(slopes.sum(), 1e-9)):
        with np.errstate(divide="ignore"):
            theta = np.maximum(np.log(p), LEAST_THETA)
        assert slopes @ theta <= tangent.limit / FACTOR_SCALE


def broken(kind: str, original: Callable[..., Solution]) -> Callable[..., Solution]:
    """An attempt that fails in some way most of the time."""
    rng = np.random.default_rng(0)

    def attempt(self: LinearProgram, *settings: Any, **options: Any) -> Solution:
        solution = original(self, *settings, **options)
        if rng.random() < 0.2:
            return solution
        if kind == "failed":
            return Solution("failed", 0.0, solution.columns, np.zeros(0), 0.0)
        if kind == "infeasible":
            return Solution("infeasible", 0.0, solution.columns, np.zeros(0), 0.0)
        noise = rng.normal(size=len(solution.duals))
        return Solution("optimal", solution.value - 5.0, solution.columns, solution.duals + noise, 0.0)

    return attempt


@pytest.mark.parametrize("kind", ["failed", "infeasible", "optimal"])
@pytest.mark.parametrize("rlt", ["Max.0k", "Obj.Filter"])
def test_a_failing_solver_costs_time_and_no_correctness(
    monkeypatch: pytest.MonkeyPatch, kind: str, rlt: str
) -> None:
    monkeypatch.setattr(LinearProgram, "attempt", broken(kind, LinearProgram.attempt))
    if kind == "infeasible":  # with rays that prove nothing
        noise = np.random.default_rng(1)
        monkeypatch.setattr(LinearProgram, "dual_ray", lambda self: noise.normal(size=self.rows))
    best = brute_force(SHORT)
    result = induce_globally(
        SHORT,
        method="theta",
        epsilon=1e-3,
        time_limit=3.0,
        theta_options=ThetaOptions(rlt=rlt, first_restarts=1),
    )
    assert result.lower - 1e-9 <= best <= result.upper + 1e-12
    counts = result.linear_programs
    assert counts is not None
    assert counts.retried > 0
    assert counts.unproved_infeasible > 0 or kind != "infeasible"
    assert result.certificate is not None
    assert result.certificate["linear_programs"]["retried"] == counts.retried
    assert verify(json.loads(json.dumps(result.certificate)), SHORT.strings).upper >= best


@pytest.mark.parametrize("status", ["kInfeasible", "kNotset", "kSolveError"])
def test_no_status_of_the_solver_is_believed(monkeypatch: pytest.MonkeyPatch, status: str) -> None:
    """A solver that never says "optimal", and calls non-empty boxes infeasible; its rays prove nothing."""
    value = getattr(highspy.HighsModelStatus, status)
    monkeypatch.setattr(highspy.Highs, "getModelStatus", lambda _: value)
    corpus = TagSentences.from_tags([["A", "B", "A"], ["B", "A", "C"], ["C", "A", "B", "A"], ["A", "C"]])
    best = brute_force(corpus)
    result = induce_globally(
        corpus,
        method="theta",
        epsilon=1e-3,
        time_limit=1.0,
        theta_options=ThetaOptions(first_restarts=1),
    )
    assert result.upper >= best
    assert result.linear_programs is not None
    assert result.linear_programs.retried > 0


def certificate_of(corpus: TagSentences, constraint: ArcShare | None, **options: Any) -> dict[str, Any]:
    result = induce_globally(
        corpus,
        method="theta",
        epsilon=0.01,
        time_limit=20.0,
        constraint=constraint,
        theta_options=ThetaOptions(first_restarts=5, **options),
    )
    assert result.gap <= 0.01 + 1e-9
    return json.loads(json.dumps(result.certificate))


@pytest.fixture(scope="module")
def free() -> dict[str, Any]:
    return certificate_of(SHORT, None, rlt="Max.0k", second_level=50)


@pytest.fixture(scope="module")
def ruled() -> dict[str, Any]:
    return certificate_of(SHORT, RULES)


def test_certificates_are_verified(free: dict[str, Any], ruled: dict[str, Any]) -> None:
    proved = verify(free, SHORT.strings)
    assert proved.lower - 1e-9 <= brute_force(SHORT) <= proved.upper
    assert proved.gap <= 0.0101
    assert proved.leaves > 1
    constrained = verify(ruled, SHORT.strings, constraint=RULES)
    assert constrained.lower - 1e-9 <= brute_force(SHORT, RULES) <= constrained.upper
    with pytest.raises(CertificateError, match="not about all parses"):
        verify(ruled, SHORT.strings)
    with pytest.raises(CertificateError, match="one was requested"):
        verify(free, SHORT.strings, constraint=RULES)


def test_an_interrupted_search_has_a_certificate() -> None:
    result = induce_globally(CORPUS, method="theta", epsilon=1e-6, time_limit=0.2)
    proved = verify(json.loads(json.dumps(result.certificate)), CORPUS.strings)
    assert proved.upper == pytest.approx(result.upper, abs=1e-8)
    assert proved.lower == pytest.approx(result.lower)


def leaf_of(certificate: dict[str, Any]) -> dict[str, Any]:
    return max((n for n in certificate["nodes"] if "factors" in n), key=lambda n: len(n["factors"]))


def forgeries(certificate: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Certificates that claim more than they prove."""

    def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
        forged = copy.deepcopy(certificate)
        change(forged)
        return forged

    # Just below the optimum, within the tolerance to which the parses' likelihood is compared with it.
    yield "upper", {**certificate, "upper": math.floor((brute_force(SHORT) - 5e-7) * 2**30)}
    yield "leaf", changed(lambda c: leaf_of(c).update(factors=[], multipliers=[]))
    yield "sign", changed(lambda c: leaf_of(c).update(multipliers=[-m for m in leaf_of(c)["multipliers"]]))
    yield "empty", changed(lambda c: [n.update(empty=True) for n in c["nodes"] if "factors" in n])
    yield "limit", changed(lambda c: [t.__setitem__(2, t[2] - 2**20) for t in c["tangents"]])
    yield "tangent", changed(lambda c: [t.__setitem__(1, [0] * len(t[1])) for t in c["tangents"]])
    yield "root", changed(lambda c: c.update(nodes=[leaf_of(c)]))
    yield (
        "child",
        changed(lambda c: [n.update(children=[n["children"][0]] * 2) for n in c["nodes"] if "children" in n]),
    )
    yield "loop", changed(lambda c: c["nodes"][0].update(split=[0, 0], children=[0, 0]))
    yield "factor", changed(lambda c: leaf_of(c)["factors"].__setitem__(0, [10**9]))
    yield "four", changed(lambda c: leaf_of(c)["factors"].__setitem__(0, [0, 0, 0, 0]))
    yield "float", changed(lambda c: leaf_of(c)["multipliers"].__setitem__(0, 0.5))
    yield "version", {**certificate, "version": 2}
    yield "kind", {**certificate, "kind": "arcwise grammar induction certificate"}
    yield "nodes", {**certificate, "nodes": []}
    yield "tangents", {**certificate, "tangents": None}
    yield "lower", {**certificate, "lower": certificate["lower"] / 2}


def test_forged_certificates_are_rejected(free: dict[str, Any]) -> None:
    for name, forged in forgeries(free):
        with pytest.raises(CertificateError):
            verify(forged, SHORT.strings)
            pytest.fail(name)


def test_a_constraint_cannot_be_dropped(ruled: dict[str, Any]) -> None:
    if ruled["upper"] / 2**30 < brute_force(SHORT) - 1e-6:
        with pytest.raises(CertificateError):
            verify({**ruled, "constraint": None}, SHORT.strings)


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 40),
    st.sampled_from([2**30, 2**40, 2**61, -(2**61), 2**70]),
    st.floats(),
    st.lists(st.integers(-1, 40), max_size=3),
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None, derandomize=True)
@given(data=st.data())
def test_whatever_is_changed_the_claim_is_true_or_rejected(free: dict[str, Any], data: st.DataObject) -> None:
    changed = copy.deepcopy(free)
    for _ in range(data.draw(st.integers(1, 3))):
        inner: Any = changed
        last = data.draw(
            st.sampled_from(["nodes", "nodes", "nodes", "tangents", "upper", "sentences", "heads"])
        )
        while isinstance(inner[last], list | dict) and len(inner[last]) and data.draw(st.integers(0, 5)):
            inner = inner[last]
            last = data.draw(
                st.sampled_from(sorted(inner)) if isinstance(inner, dict) else st.integers(0, len(inner) - 1)
            )
        if type(inner[last]) is int and data.draw(st.booleans()):
            inner[last] += data.draw(st.sampled_from([-(2**40), -(2**30), -6, -1, 1, 6, 2**30]))
        else:
            inner[last] = data.draw(VALUES)
    try:
        proved = verify(changed, SHORT.strings)
    except CertificateError as error:
        assert str(error)
        return
    assert proved.lower - 1e-9 <= brute_force(SHORT) <= proved.upper + 1e-9
