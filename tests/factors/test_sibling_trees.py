"""Best trees with siblings against all trees, one by one, and against an integer program."""

from __future__ import annotations

import numpy as np
import pytest

from arcwise.errors import ArcwiseError, InputError, NoTreeError
from arcwise.factors import FactoredTreeDistribution, HeadAutomaton, Siblings, best_tree_with_siblings
from arcwise.inference import TreeDistribution
from reference.enumerate_trees import all_trees

KINDS = ["ordinary", "spread", "holes", "ties"]


def random_numbers(rng: np.random.Generator, shape: tuple[int, ...], kind: str) -> np.ndarray:
    if kind == "ties":
        return rng.integers(0, 2, shape).astype(float)
    values = rng.uniform(-1000, 1000, shape) if kind == "spread" else rng.normal(size=shape)
    return np.where(rng.random(shape) < 0.25, -np.inf, values) if kind == "holes" else values


def value_of(heads: np.ndarray, scores: np.ndarray, siblings: np.ndarray) -> float:
    """The score of a tree, from the definition."""
    words = range(1, len(heads))
    total = sum(scores[heads[m], m] for m in words)
    for h in range(len(heads)):
        left = [m for m in reversed(words) if m < h and heads[m] == h]
        right = [m for m in words if m > h and heads[m] == h]
        for side in (left, right):
            total += sum(siblings[h, before, m] for before, m in zip([h, *side], side, strict=False))
    return float(total)


@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("kind", KINDS)
def test_the_tree_is_the_best_of_all(kind: str, single_root: bool) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    branched = 0
    for n in (1, 2, 3, 4, 5):
        trees = [*all_trees(n, projective=False, single_root=single_root)]
        for draw in range(30 if n < 5 else 8):
            scores = random_numbers(rng, (n + 1, n + 1), kind)
            siblings = random_numbers(rng, (n + 1,) * 3, kind)
            best = max(value_of(heads, scores, siblings) for heads in trees)
            if best == -np.inf:
                with pytest.raises(NoTreeError, match="no tree over the"):
                    best_tree_with_siblings(scores, Siblings(siblings), single_root=single_root)
                continue
            # Few rounds in every second search, so that it branches.
            rounds = {"root_decodes": 2, "node_decodes": 2} if draw % 2 else {}
            tree = best_tree_with_siblings(scores, Siblings(siblings), single_root=single_root, **rounds)
            assert tree.value == pytest.approx(best, rel=1e-9, abs=1e-9)
            assert value_of(tree.tree.heads, scores, siblings) == pytest.approx(best, rel=1e-9, abs=1e-9)
            assert any((tree.tree.heads == heads).all() for heads in trees)
            assert tree.is_optimal
            branched += tree.branched
    assert branched > 0


def test_a_search_that_stops_early_tells_the_gap() -> None:
    rng = np.random.default_rng(4)
    gaps = 0
    for _ in range(20):
        scores, siblings = rng.normal(size=(13, 13)), rng.normal(size=(13, 13, 13))
        best = best_tree_with_siblings(scores, Siblings(siblings), single_root=True)
        early = best_tree_with_siblings(
            scores, Siblings(siblings), single_root=True, root_decodes=3, max_decodes=3
        )
        assert best.is_optimal
        assert early.decodes <= 3
        assert early.value <= best.value + 1e-9
        assert early.bound >= best.value - 1e-9
        assert early.is_optimal == (early.gap == 0)
        gaps += early.gap > 0
    assert gaps > 10


@pytest.mark.parametrize("single_root", [True, False])
def test_siblings_without_scores_give_the_spanning_tree(single_root: bool) -> None:
    rng = np.random.default_rng(1)
    for n in (1, 2, 7, 30):
        scores = rng.normal(size=(n + 1, n + 1))
        expected = TreeDistribution(scores, projective=False, single_root=single_root)
        tree = best_tree_with_siblings(scores, Siblings(np.zeros((n + 1,) * 3)), single_root=single_root)
        assert tree.tree == expected.best()
        assert tree.is_optimal


@pytest.mark.parametrize("single_root", [True, False])
def test_a_projective_best_tree_is_that_of_the_chart(single_root: bool) -> None:
    rng = np.random.default_rng(6)
    found = 0
    for _ in range(40):
        n = int(rng.integers(2, 7))
        scores, siblings = rng.normal(size=(n + 1, n + 1)), Siblings(rng.normal(size=(n + 1,) * 3))
        tree = best_tree_with_siblings(scores, siblings, single_root=single_root)
        chart = FactoredTreeDistribution(scores, factors=[siblings], projective=True, single_root=single_root)
        projective = chart.best()
        assert chart.score(projective) <= tree.value + 1e-9
        found += projective == tree.tree
    assert 5 < found < 40


def solved_by_highs(scores: np.ndarray, siblings: np.ndarray, single_root: bool) -> float:
    """The score of the best tree as an integer program: flows, and a path of dependents on each side."""
    highspy = pytest.importorskip("highspy")
    model = highspy.Highs()
    for name, value in (("output_flag", False), ("mip_rel_gap", 0.0), ("mip_abs_gap", 1e-9), ("threads", 1)):
        model.setOptionValue(name, value)
    n = len(scores) - 1
    words = range(1, n + 1)
    arcs = {
        (h, m): model.addBinary(obj=float(scores[h, m]))
        for h in range(n + 1)
        for m in words
        if h != m and scores[h, m] > -np.inf
    }
    flow = {arc: model.addVariable(0, n) for arc in arcs}
    for arc, variable in arcs.items():
        model.addConstr(flow[arc] - n * variable <= 0)
    for m in words:
        model.addConstr(sum(arcs[h, m] for h in range(n + 1) if (h, m) in arcs) == 1)
        leaving = [flow[arc] for arc in arcs if arc[0] == m]
        model.addConstr(sum(flow[arc] for arc in arcs if arc[1] == m) - sum(leaving) == 1)
    if single_root:
        model.addConstr(sum(arcs[0, m] for m in words if (0, m) in arcs) == 1)
    pairs = {
        (h, s, m): model.addBinary(obj=float(siblings[h, s, m]))
        for h, m in arcs
        for s in range(n + 1)
        if (s == h or h < s < m or h > s > m) and siblings[h, s, m] > -np.inf
    }
    for (h, m), variable in arcs.items():
        into = [pair for (head, _, word), pair in pairs.items() if (head, word) == (h, m)]
        model.addConstr(variable - sum(into) == 0)
        after = [pair for (head, s, _), pair in pairs.items() if (head, s) == (h, m)]
        model.addConstr(sum(after) - variable <= 0)
    for h in range(n + 1):
        for side in (-1, 1):
            first = [pair for (head, s, m), pair in pairs.items() if head == s == h and (m - h) * side > 0]
            if first:
                model.addConstr(sum(first) <= 1)
    model.maximize()
    assert model.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return float(model.getInfo().objective_function_value)


@pytest.mark.slow
def test_certificates_hold_for_an_integer_program() -> None:
    rng = np.random.default_rng(8)
    for n in (5, 7, 9):
        for single_root in (True, False):
            scores, siblings = 2 * rng.normal(size=(n + 1, n + 1)), rng.normal(size=(n + 1,) * 3)
            tree = best_tree_with_siblings(scores, Siblings(siblings), single_root=single_root)
            assert tree.is_optimal
            assert tree.value == pytest.approx(solved_by_highs(scores, siblings, single_root), abs=1e-6)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"root_decodes": 0}, "root_decodes: found 0"),
        ({"max_decodes": -1}, "max_decodes: found -1"),
        ({"siblings": Siblings(np.zeros((4, 4, 4)))}, "found 3 words, but the scores have 2"),
        ({"scores": np.zeros((1, 1))}, "n >= 1 words"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(options: dict[str, object], message: str) -> None:
    arguments = {"scores": np.zeros((3, 3)), "siblings": Siblings(np.zeros((3, 3, 3))), "single_root": True}
    with pytest.raises(ArcwiseError, match=message):
        best_tree_with_siblings(**(arguments | options))  # type: ignore[arg-type]


def test_only_siblings_are_taken() -> None:
    with pytest.raises(InputError, match=r"siblings: found <HeadAutomaton.*expected Siblings"):
        best_tree_with_siblings(np.zeros((3, 3)), HeadAutomaton([[0]]), single_root=True)  # type: ignore[arg-type]


@pytest.mark.slow
def test_500_words() -> None:
    scores = np.random.default_rng(0).normal(size=(501, 501))
    expected = TreeDistribution(scores, projective=False, single_root=True)
    tree = best_tree_with_siblings(scores, Siblings(np.zeros((501,) * 3)), single_root=True)
    assert (tree.tree, tree.is_optimal) == (expected.best(), True)
