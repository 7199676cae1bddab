"""The paper's search over parameters, the integer program, bounds by blocks, Knuth's estimate."""

import json
import time

import numpy as np
import pytest

from arcwise.errors import ConstraintError, InputError
from arcwise.induction import DMV, TagSentences, induce_globally
from arcwise.induction.global_search import (
    CountOptions,
    CountSearch,
    InductionTask,
    ThetaOptions,
    ThetaSearch,
    estimate_tree,
)
from arcwise.induction.global_search.lp import LinearProgram
from arcwise.induction.global_search.options import PROJECTIONS
from arcwise.induction.global_search.rlt import rlt_rows, sample_pairs
from arcwise.induction.global_search.theta import nearest_on_simplex
from arcwise.induction.global_search.theta_program import Relaxation
from arcwise.induction.verifier import CertificateError, verify
from induction.instances import random_share, tiny
from reference.dmv import brute_force

FEW = CountOptions(first_restarts=5, restarts=1)


@pytest.mark.parametrize("seed", range(40))
def test_the_integer_program_agrees_with_brute_force(seed: int) -> None:
    corpus, share = tiny(seed, sentences=2), random_share(seed) if seed % 2 else None
    best = brute_force(corpus, share)
    if best == -np.inf:
        with pytest.raises(ConstraintError):
            induce_globally(corpus, method="milp", constraint=share)
        return
    found = induce_globally(corpus, method="milp", epsilon=1e-6, constraint=share)
    assert found.lower == pytest.approx(best, abs=1e-5)
    assert found.upper == pytest.approx(best, abs=1e-4)


# Splitting counts before parameters closes any box in the end: with all counts fixed the envelopes are exact.
COUNTS_FIRST = ThetaOptions(narrow=1.0, first_restarts=3)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(220))
def test_count_theta_and_milp_agree_with_brute_force(seed: int) -> None:
    corpus = tiny(seed, sentences=2, shortest=2, longest=3, tags=2)
    share = random_share(seed) if seed % 2 else None
    best = brute_force(corpus, share)
    for method in ("count", "theta", "milp"):
        if best == -np.inf:
            with pytest.raises(ConstraintError):
                induce_globally(corpus, method=method, constraint=share)
            continue
        found = induce_globally(
            corpus, method=method, epsilon=1e-6, constraint=share, options=FEW, theta_options=COUNTS_FIRST
        )
        assert found.lower == pytest.approx(best, rel=1e-6, abs=1e-6)
        assert best - 1e-6 <= found.upper <= best + 1e-6 * abs(best) + 2e-6


@pytest.mark.parametrize("seed", range(10))
def test_the_branching_of_the_paper_closes_tiny_instances(seed: int) -> None:
    corpus = tiny(seed, sentences=1, shortest=2, longest=2, tags=2)
    found = induce_globally(corpus, method="theta", epsilon=1e-6)
    best = brute_force(corpus)
    assert found.lower == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert best - 1e-6 <= found.upper <= best + 1e-6 * abs(best) + 2e-6


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("rlt", ["Max.0k", "Max.1k", "Obj.Filter"])
def test_every_relaxation_is_above_the_best_parses_of_its_box(seed: int, rlt: str) -> None:
    corpus = tiny(seed + 50, sentences=1, longest=3, tags=2)
    search = ThetaSearch(InductionTask(corpus), options=ThetaOptions(rlt=rlt))
    best = brute_force(corpus)
    search.epsilon = 0.0
    (root,) = search.open
    waiting = [root]
    for _ in range(4):  # at every moment some open box, or the incumbent, accounts for the optimum
        if not waiting:
            break
        node = waiting.pop(0)
        waiting += search._expand(node)
        bounds = [-n.order[0] for n in waiting]
        assert max([search.best.value, *bounds]) >= best - 1e-6


@pytest.mark.slow
def test_more_products_give_no_looser_bounds() -> None:
    corpus = TagSentences.from_tags([["A", "B"]])
    bounds = []
    for rlt in (
        "Max.0k",
        "Obj.Filter",
        "All",
        "Max.100k",
    ):  # there are fewer than 100,000: the last two are the same
        search = ThetaSearch(InductionTask(corpus), options=ThetaOptions(rlt=rlt))
        search.best.value = -1e3
        bounds.append(max(-child.order[0] for child in search._expand(search.open[0])))
    assert bounds[2] - 1e-6 <= bounds[1] <= bounds[0] + 1e-6
    assert bounds[3] == pytest.approx(bounds[2], abs=1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("value", [1e6, -1e6, np.nan, np.inf])
def test_a_point_where_the_solver_gave_up_is_brought_into_the_box(
    monkeypatch: pytest.MonkeyPatch, value: float
) -> None:
    search = ThetaSearch(InductionTask(TagSentences.from_tags([["A", "B"], ["B", "A"]])))
    columns = np.full(search.program.count, value)
    monkeypatch.setattr(search.program, "solve", lambda *_, **__: Relaxation("limit", np.inf, columns))
    (root,) = search.open
    children = search._expand(root)
    assert len(children) == 2
    assert all(child.order[0] == root.order[0] for child in children)  # no bound but that of the parent
    assert search.best.heads is not None


@pytest.mark.parametrize("count, wanted", [(1, 5), (4, 3), (4, 10), (4, 1000), (300, 1000), (100_000, 1000)])
def test_sampled_products_are_different_pairs(count: int, wanted: int) -> None:
    pairs = sample_pairs(count, wanted, np.random.default_rng(1))
    assert len(set(pairs)) == len(pairs) == min(wanted, count * (count + 1) // 2)
    assert all(0 <= i <= j < count for i, j in pairs)


@pytest.mark.parametrize("projection", PROJECTIONS)
def test_projections_find_parses(projection: str) -> None:
    corpus = tiny(7, sentences=2, longest=3)
    options = ThetaOptions(projection=projection, first_restarts=1, smoothing=0.1)
    search = ThetaSearch(InductionTask(corpus), options=options)
    search.run(time_limit=0.5)
    assert search.best.value <= brute_force(corpus) + 1e-9


def test_the_nearest_point_of_the_simplex() -> None:
    rng = np.random.default_rng(0)
    for _ in range(50):
        point = rng.normal(size=4)
        nearest = nearest_on_simplex(point)
        assert nearest.sum() == pytest.approx(1)
        assert (nearest >= 0).all()
        others = rng.dirichlet(np.ones(4), 200)
        assert ((others - point) ** 2).sum(axis=1).min() >= ((nearest - point) ** 2).sum() - 1e-12


@pytest.mark.slow
def test_blocks_bound_the_whole_and_are_verified() -> None:
    corpus = DMV.random(("A", "B"), seed=1).sample(4, seed=1, min_length=2, max_length=4)[0]
    best = induce_globally(corpus, epsilon=1e-6).lower
    found = induce_globally(corpus, block_size=2, time_limit=4.0, options=CountOptions(first_restarts=20))
    assert found.lower <= best + 1e-9 <= found.upper + 1e-6
    certificate = json.loads(json.dumps(found.certificate))
    assert verify(certificate, corpus.strings).upper == pytest.approx(found.upper)
    certificate["blocks"][1]["upper"] -= 2**29
    certificate["upper"] -= 2**29
    with pytest.raises(CertificateError, match="block 2: "):
        verify(certificate, corpus.strings)
    certificate["blocks"].pop()
    with pytest.raises(CertificateError, match="blocks: found 1, expected 2"):
        verify(certificate, corpus.strings)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(6))
def test_blocks_under_a_constraint_enclose_the_optimum(seed: int) -> None:
    corpus, share = tiny(seed + 100, sentences=3, shortest=2), random_share(seed)
    best = brute_force(corpus, share)
    options = {"block_size": 1, "time_limit": 1.0, "options": FEW}
    if best == -np.inf:
        with pytest.raises(ConstraintError):
            induce_globally(corpus, constraint=share, **options)
        return
    found = induce_globally(corpus, constraint=share, **options)
    assert found.lower <= best + 1e-9 <= found.upper + 1e-6
    task = InductionTask(corpus, share)
    assert task.satisfies(np.concatenate([t.heads[1:] for t in found.parses]).astype(np.int32))
    proved = verify(json.loads(json.dumps(found.certificate)), corpus.strings)
    assert proved.lower <= best + 1e-9 <= proved.upper + 1e-6


def test_the_estimate_of_the_tree_is_near_its_size() -> None:
    corpus = DMV.random(("A", "B", "C"), seed=11).sample(5, seed=11, min_length=3, max_length=6)[0]
    search = CountSearch(InductionTask(corpus))
    search.run(epsilon=0.001)
    walker = CountSearch(InductionTask(corpus))
    walker.epsilon = 0.001
    estimate = estimate_tree(walker, walks=40)
    assert estimate.walks == 40
    assert search.nodes / 4 <= estimate.nodes <= 4 * search.nodes


def test_the_root_is_the_whole_space_whatever_was_solved_before() -> None:
    program = ThetaSearch(InductionTask(TagSentences.from_tags([["A", "B", "A"], ["B", "A"]]))).program
    root = program.root()
    column = max(program.f.values(), key=lambda c: root.high[c])
    narrow = root.child(column, root.high[column], root.high[column])
    assert program.solve(narrow, cut_rounds=5).status == "solved"
    again = program.root()
    assert np.array_equal(again.low, root.low)
    assert np.array_equal(again.high, root.high)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_estimate_of_the_paper_s_search_is_near_its_size(seed: int) -> None:
    corpus = tiny(seed, sentences=1, shortest=2, longest=3, tags=2)
    search = ThetaSearch(InductionTask(corpus), seed=1)
    search.run(epsilon=0.3)
    walker = ThetaSearch(InductionTask(corpus), seed=1)
    walker.epsilon = 0.3
    estimate = estimate_tree(walker, walks=100)
    assert search.nodes / 4 <= estimate.nodes <= 4 * search.nodes


def test_an_estimate_without_one_finished_walk_says_so() -> None:
    class Endless:
        def walk_step(self, node: object | None, *, time_limit: float | None = None) -> list[object]:
            time.sleep(0.002)
            return [object(), object()]

    found = estimate_tree(Endless(), walks=5, time_limit=0.05)
    assert found.walks == 0
    assert found.nodes > 1
    assert found.nodes_error == np.inf


def test_every_step_of_an_estimate_has_a_time_limit() -> None:
    limits: list[float | None] = []

    class Short:
        def walk_step(self, node: object | None, *, time_limit: float | None = None) -> list[object]:
            limits.append(time_limit)
            time.sleep(0.002)
            # The first walk ends at once, the second one never.
            return [] if len(limits) == 1 else [object()]

    found = estimate_tree(Short(), walks=5, time_limit=0.02)
    assert found.walks == 1
    assert all(limit is not None and 0 < limit <= 0.2 for limit in limits)
    assert limits[0] is not None
    assert limits[0] <= 0.02


def test_the_search_for_a_ray_has_a_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    from arcwise.induction.global_search import lp

    monkeypatch.setattr(lp, "RAY_SECONDS", 7.0)
    program = lp.LinearProgram()
    program.add_rows([1.0], [1.0])
    program.add_columns([2.0], starts=[0, 1], rows=[0], values=[1.0])
    program.solve()
    before = program._solver.getRunTime()
    program.dual_ray()
    assert 0 < program._solver.getOptionValue("time_limit")[1] - before <= 7.5


def test_a_long_linear_program_keeps_the_time_limit() -> None:
    corpus = TagSentences.from_tags([["A", "B", "A", "B"], ["B", "A", "B"], ["A", "A", "B"]])
    search = ThetaSearch(InductionTask(corpus), options=ThetaOptions(rlt="Max.10k"))
    program, box = search.program, search.open[0].box
    products = program.new_products()
    rows = rlt_rows("Max.10k", program, box, products, np.random.default_rng(1))
    cut = program.solve(box, extra=rows, products=products, cut_rounds=0, time_limit=0.0)
    assert cut.status == "limit"
    assert program.solve(box, cut_rounds=0).status == "solved"  # has a time of its own
    search.run(epsilon=1e-6, time_limit=0.01)
    point = search.point()
    assert search.best.heads is not None
    assert point.lower <= point.upper <= 0.0


def test_linear_programs() -> None:
    lp = LinearProgram()
    lp.add_rows([-np.inf, -np.inf], [4.0, 6.0])
    lp.add_columns([3.0, 2.0], starts=[0, 2, 4], rows=[0, 1, 0, 1], values=[1.0, 1.0, 1.0, 3.0])
    assert lp.solve().value == pytest.approx(12)
    lp.bound_columns([0], [0.0], [2.5])
    lp.make_integer([0, 1])
    assert lp.solve().value == pytest.approx(8)
    with pytest.raises(ValueError, match="given twice"):
        lp.add_rows([0.0], [1.0], starts=[0], columns=[0, 0], values=[1.0, 1.0])


@pytest.mark.parametrize(
    "options, message",
    [
        ({"block_size": 2}, "block_size: needs a time limit"),
        ({"block_size": 0, "time_limit": 1.0}, "blocks: found 0"),
    ],
)
def test_bad_options(options: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        induce_globally([["A", "B"]], **options)


def test_the_integer_program_refuses_long_sentences() -> None:
    with pytest.raises(InputError, match="at most 8 words, found one of 9"):
        induce_globally([["A"] * 9], method="milp")
