"""Global search over counts: agreement with brute force, valid bounds, stopping and resuming."""

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise import native
from arcwise.errors import ConstraintError, InputError
from arcwise.induction import DMV, Features, TagSentences, induce_globally, viterbi_em
from arcwise.induction.global_search import CountOptions, count
from arcwise.induction.global_search.certificate import SCALE
from arcwise.induction.global_search.checkpoint import load_checkpoint, save_checkpoint
from arcwise.induction.global_search.count import CountSearch
from arcwise.induction.global_search.problem import InductionTask
from arcwise.induction.verifier import verify
from arcwise.induction.verifier.bounds import Bounds
from arcwise.induction.verifier.parses import Coordinates, tree_counts
from induction.instances import random_share, tiny
from reference.dmv import brute_force
from reference.enumerate_trees import all_trees

FEW = CountOptions(first_restarts=5, restarts=1)


@pytest.mark.parametrize("seed", range(110))
def test_agrees_with_brute_force(seed: int) -> None:
    corpus = tiny(seed)
    found = induce_globally(corpus, epsilon=1e-6, options=FEW)
    best = brute_force(corpus)
    assert found.lower == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert best - 1e-6 <= found.upper <= best + 1e-6 * abs(best) + 1e-6


@pytest.mark.parametrize("seed", range(110))
def test_agrees_with_brute_force_under_a_constraint(seed: int) -> None:
    corpus, share = tiny(seed, longest=4), random_share(seed)
    best = brute_force(corpus, share)
    if best == -np.inf:
        with pytest.raises(ConstraintError):
            induce_globally(corpus, constraint=share)
        return
    found = induce_globally(corpus, epsilon=1e-6, constraint=share, options=FEW)
    assert found.lower == pytest.approx(best, rel=1e-6, abs=1e-6)
    assert best - 1e-6 <= found.upper <= best + 1e-6 * abs(best) + 1e-6


@pytest.mark.parametrize("seed", range(12))
def test_parses_by_the_viterbi_program_give_the_same(seed: int) -> None:
    corpus = tiny(seed, sentences=2)
    found = induce_globally(
        corpus, epsilon=1e-3, options=CountOptions(enumerate_up_to=2, first_restarts=5), time_limit=5
    )
    best = brute_force(corpus)
    assert found.lower == pytest.approx(best, rel=1e-3, abs=1e-3)
    assert found.upper >= best - 1e-6


def all_counts(corpus: TagSentences) -> np.ndarray:
    """The coordinates of all ways to parse the corpus, one per row."""
    at = Coordinates(len(corpus.tags))
    sums = np.zeros((1, at.count), np.int64)
    for s in corpus.sentences:
        trees = all_trees(len(s), projective=True, single_root=True)
        own = np.unique(
            [tree_counts(at, s, t[1:].tolist(), np.zeros(at.count, np.int64)) for t in trees], axis=0
        )
        sums = np.unique((sums[:, None] + own[None]).reshape(-1, at.count), axis=0)
    return sums


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6), data=st.data())
def test_bounds_hold_in_random_boxes_for_random_multipliers(seed: int, data: st.DataObject) -> None:
    corpus = tiny(seed)
    rng = np.random.default_rng(seed)
    task = InductionTask(corpus)
    problem = native.CountProblem(
        corpus.batch, np.zeros(0, np.uint8), 0, data.draw(st.sampled_from([0, 2, 8]))
    )
    counts = all_counts(corpus)
    root = problem.root_box
    low, high = root.low, root.high
    for j in rng.permutation(len(low))[: len(low) // 2]:
        low[j], high[j] = np.sort(rng.integers(low[j], high[j] + 1, 2))
    inside = counts[((counts >= low) & (counts <= high)).all(axis=1)]
    values = [task.likelihood(task.counts_of(c.astype(float))) for c in inside]
    box = native.CountBox(low, high, root.alive)
    if not problem.propagate(box):
        assert not values
        return
    assert_lists_are_sums_of_parses(problem, box, corpus, inside)
    mu = np.zeros(problem.coordinates, np.int64)
    mu[: Coordinates(len(corpus.tags)).priced] = (
        rng.normal(
            scale=data.draw(st.sampled_from([0.1, 1.0, 10.0])), size=Coordinates(len(corpus.tags)).priced
        )
        * SCALE
    )
    bound = problem.bound(box, mu)
    best = max(values, default=-np.inf)
    assert bound.value / SCALE >= best - 1e-9
    # What is above a threshold survives the deletions that the threshold allows.
    if values:
        threshold = int((best - 0.01) * SCALE)
        assert problem.tighten(box, mu, bound, threshold)
        winners = inside[np.array(values) > best - 1e-9]
        assert ((winners >= box.low) & (winners <= box.high)).all()
        assert problem.bound(box, mu).value / SCALE >= best - 1e-9
        assert_lists_are_sums_of_parses(problem, box, corpus, winners)


def assert_lists_are_sums_of_parses(
    problem: native.CountProblem, box: native.CountBox, corpus: TagSentences, kept: np.ndarray
) -> None:
    """A list has the points of all counts to be kept, and none that no parses of the corpus have."""
    everything = all_counts(corpus)
    for block, coordinates in enumerate(problem.block_coordinates):
        points = problem.points(box, block)
        if points is not None:
            listed = set(map(tuple, points.tolist()))
            assert listed <= set(map(tuple, everything[:, coordinates].tolist()))
            assert set(map(tuple, kept[:, coordinates].tolist())) <= listed


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), enumerated=st.sampled_from([0, 2, 8]))
def test_the_verifier_computes_the_same_boxes_and_no_looser_bounds(seed: int, enumerated: int) -> None:
    corpus = tiny(seed)
    rng = np.random.default_rng(seed)
    share = random_share(seed)
    features = Features(corpus.tags)
    problem = native.CountProblem(corpus.batch, share.marked(features), 0, enumerated)
    at = Coordinates(len(corpus.tags))
    marked = np.zeros(at.count, np.int64)
    t = at.tags
    marks = share.marked(features)
    marked[:t] = marks[:t]
    for b in range(2 * t):
        for c in range(t):
            marked[at.child(b, c)] = marks[t + b * t + c]
    bounds = Bounds(t, [(s, 1) for s in corpus.sentences], marked, 0, enumerated)
    assert bounds.root is not None
    box = problem.root_box
    np.testing.assert_array_equal(box.low, bounds.root.low)
    np.testing.assert_array_equal(box.high, bounds.root.high)
    assert problem.alive_count(box) == sum(map(len, bounds.root.alive))
    mu = np.zeros(at.count, np.int64)
    mu[: at.priced] = rng.normal(scale=2.0, size=at.priced) * SCALE
    mu[at.constrained] = int(rng.integers(0, 2)) * SCALE
    ours, theirs = bounds.bound(bounds.root, mu), problem.bound(box, mu)
    assert theirs.value - 200 <= ours.value <= theirs.value
    upper = theirs.value - SCALE
    tighter = bounds.tightened(bounds.root, mu, ours, upper)
    if problem.tighten(box, mu, theirs, upper):
        if tighter is not None:  # at most what the search keeps
            assert (tighter.low >= box.low).all()
            assert (tighter.high <= box.high).all()
    else:
        assert tighter is None


def synthetic(seed: int, sentences: int = 4) -> TagSentences:
    return DMV.random(("A", "B", "C"), seed=seed).sample(sentences, seed=seed, min_length=3, max_length=6)[0]


@pytest.mark.parametrize("seed", range(3))
def test_the_same_seed_gives_the_same_search(seed: int) -> None:
    one, two = (induce_globally(synthetic(seed), seed=seed) for _ in range(2))
    assert (one.lower, one.upper, one.trace[-1].nodes) == (two.lower, two.upper, two.trace[-1].nodes)
    assert one.certificate == two.certificate
    assert one.parses == two.parses


def test_the_result_is_what_it_says() -> None:
    corpus = synthetic(1)
    found = induce_globally(corpus)
    heads = np.concatenate([t.heads[1:] for t in found.parses])
    counts = found.parameters.counts(corpus, heads)
    used = counts > 0
    assert found.lower == pytest.approx(counts[used] @ found.parameters.log_probabilities[used])
    assert found.lower >= viterbi_em(corpus, restarts=500, polish=True).value - 1e-9
    assert 0 <= found.gap <= 0.01


def test_equal_sentences_share_a_parse() -> None:
    once, twice = [["A", "B", "A"], ["B", "B"]], [["A", "B", "A"], ["B", "B"]] * 2
    assert induce_globally(twice, epsilon=1e-6).lower == pytest.approx(
        2 * induce_globally(once, epsilon=1e-6).lower
    )


@pytest.mark.parametrize("seed", range(3))
def test_a_resumed_search_ends_with_the_same_result(seed: int, tmp_path: Path) -> None:
    task = InductionTask(synthetic(seed + 10, sentences=6))
    whole = CountSearch(task, options=FEW)
    whole.run(epsilon=1e-4)
    part = CountSearch(task, options=FEW)
    part.run(epsilon=1e-4, node_limit=5)
    save_checkpoint(part, tmp_path / "state.json.gz")
    again = load_checkpoint(task, tmp_path / "state.json.gz")
    assert again.point() == part.point()
    again.run(epsilon=1e-4)
    assert again.is_done
    assert again.point().lower == pytest.approx(whole.point().lower, abs=1e-9)
    assert again.point().upper == pytest.approx(whole.point().upper, rel=1e-4)


def test_without_memory_for_lists_the_result_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = synthetic(10, sentences=6)
    with_lists = induce_globally(corpus, epsilon=1e-4, options=FEW)
    monkeypatch.setattr(count, "_LIST_BYTES", 0)
    without = induce_globally(corpus, epsilon=1e-4, options=FEW)
    assert without.trace[-1].nodes > 1
    assert without.lower == pytest.approx(with_lists.lower, abs=1e-9)
    assert without.upper == pytest.approx(with_lists.upper, rel=1e-6)
    assert verify(without.certificate, corpus.strings).upper == without.upper


def test_a_checkpoint_of_something_else_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    save_checkpoint_of = CountSearch(InductionTask(synthetic(0)), options=FEW)
    save_checkpoint_of.run(node_limit=1)
    save_checkpoint(save_checkpoint_of, path)
    with pytest.raises(InputError, match="another corpus"):
        load_checkpoint(InductionTask(synthetic(1)), path)
    with pytest.raises(InputError, match="another constraint"):
        load_checkpoint(InductionTask(synthetic(0), random_share(0)), path)
    path.write_text("{}")
    with pytest.raises(InputError, match="is not a checkpoint"):
        load_checkpoint(InductionTask(synthetic(0)), path)


def test_at_any_time_the_bounds_enclose_the_optimum() -> None:
    corpus = synthetic(12, sentences=6)
    best = induce_globally(corpus, epsilon=1e-6).lower
    search = CountSearch(InductionTask(corpus), options=FEW)
    last = np.inf
    for _ in range(20):
        search.run(epsilon=1e-6, node_limit=1)
        point = search.point()
        assert point.lower <= best + 1e-9
        assert best - 1e-9 <= point.upper <= last + 1e-9
        last = point.upper


def test_bad_options() -> None:
    with pytest.raises(InputError, match="method: found 'guess'"):
        induce_globally([["A"]], method="guess")
    with pytest.raises(InputError, match="epsilon: found -1"):
        induce_globally([["A"]], epsilon=-1)
