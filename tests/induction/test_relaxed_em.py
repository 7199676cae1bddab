"""Viterbi EM by the paper's relaxed program: what it parses, what it discards, and that it climbs."""

import numpy as np
import pytest

from arcwise import native
from arcwise.errors import ConstraintError, InputError
from arcwise.induction import DMV, ArcShare, TagSentences, viterbi_em
from arcwise.induction.global_search import InductionTask
from arcwise.induction.relaxed_em import RelaxedParser, relaxed_restart
from arcwise.trees import Tree
from induction.instances import random_share, tiny
from reference.dmv import brute_force, enumerated

RULES = frozenset({("ROOT", "A"), ("A", "B"), ("B", "C"), ("A", "A"), ("C", "B")})


def corpus(seed: int, sentences: int = 4, max_length: int = 5) -> TagSentences:
    grammar = DMV.random(("A", "B", "C"), seed=seed)
    return grammar.sample(sentences, seed=seed, min_length=2, max_length=max_length)[0]


def trees_of(task: InductionTask, heads: np.ndarray) -> list[Tree]:
    ends = np.cumsum([len(s) for s, _ in task.sentences])
    return [
        Tree.from_heads(heads[end - len(s) : end]) for (s, _), end in zip(task.sentences, ends, strict=True)
    ]


@pytest.mark.parametrize("seed", range(12))
def test_the_program_is_no_worse_than_the_best_trees_and_the_trees_no_better(seed: int) -> None:
    task, grammar = InductionTask(corpus(seed)), DMV.random(("A", "B", "C"), seed=seed + 50)
    theta = grammar.log_probabilities
    best = sum(w * enumerated(grammar, [grammar.tags[t] for t in s])[2].max() for s, w in task.sentences)
    parser = RelaxedParser(task)
    heads = parser.parse(theta)
    assert heads is not None
    assert all(t.is_projective and (t.heads[1:] == 0).sum() == 1 for t in trees_of(task, heads))
    assert native.dmv_counts(task.batch, heads) @ theta <= best + 1e-9
    assert parser.solution.value >= best - 1e-6
    columns = parser.solution.columns[[c for arcs in parser.arcs for c in arcs.values()]]
    if (np.minimum(columns, 1 - columns) < 1e-9).all():  # whole arcs: then they are the best trees
        assert native.dmv_counts(task.batch, heads) @ theta == pytest.approx(best)


@pytest.mark.parametrize("seed", range(12))
def test_a_program_that_asks_for_no_more_is_no_worse_than_the_best_parses_that_keep_to_the_rules(
    seed: int,
) -> None:
    share = ArcShare(RULES, 0.6)
    sentences = corpus(seed, sentences=2, max_length=4)
    grammar = DMV.random(sentences.tags, seed=seed + 50)
    task = InductionTask(sentences, share)
    choices = [
        (counts @ task.marked, values)
        for counts, values in (enumerated(grammar, s)[1:] for s in sentences.strings)
    ]
    kept = [
        a + b
        for i, a in zip(*choices[0], strict=True)
        for j, b in zip(*choices[1], strict=True)
        if i + j >= task.least
    ]
    if not kept:
        with pytest.raises(ConstraintError):
            RelaxedParser(task)
        return
    parser = RelaxedParser(task, tighter=0.0)
    heads = parser.parse(grammar.log_probabilities)
    assert parser.solution.value >= max(kept) - 1e-6
    assert (parser.parsed, parser.discarded) == (1, int(heads is None))
    if heads is not None:
        counts = native.dmv_counts(task.batch, heads)
        assert counts @ task.marked >= task.least
        assert counts @ grammar.log_probabilities <= max(kept) + 1e-9


def test_the_program_asks_for_more_than_the_constraint_and_never_for_more_than_there_is() -> None:
    sentences = TagSentences.from_tags([["A", "B"]] * 50)
    task = InductionTask(sentences, ArcShare(frozenset({("ROOT", "A"), ("A", "B")}), 0.75))
    assert (task.least, RelaxedParser(task).rows[-1][1]) == (75, 80.0)
    few = InductionTask(sentences, ArcShare(frozenset({("ROOT", "A")}), 0.48))
    assert (few.least, RelaxedParser(few).rows[-1][1]) == (48, 50.0)


def test_trees_that_break_the_constraint_are_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    task = InductionTask(TagSentences.from_tags([["A", "B", "A"]]), ArcShare(frozenset({("ROOT", "B")}), 0.3))
    parser = RelaxedParser(task)
    wrong = np.array([0, 1, 2], np.int32)
    monkeypatch.setattr(parser, "nearest_trees", lambda x: wrong)
    assert parser.parse(DMV.uniform(("A", "B")).log_probabilities) is None
    assert (parser.parsed, parser.discarded) == (1, 1)
    assert relaxed_restart(parser, seed=1) is None


@pytest.mark.parametrize("seed", range(10))
def test_it_climbs_and_stays_below_the_best(seed: int) -> None:
    sentences, share = tiny(seed + 300, sentences=3, shortest=2), random_share(seed) if seed % 2 else None
    best = brute_force(sentences, share)
    if best == -np.inf:
        with pytest.raises(ConstraintError):
            viterbi_em(sentences, constraint=share, e_step="relaxed")
        return
    found = viterbi_em(sentences, constraint=share, e_step="relaxed", restarts=8, smoothing=0.1, seed=seed)
    assert (np.diff(found.trace) >= -1e-9).all()
    assert found.value == found.trace[-1] == found.values.max()
    assert found.value <= best + 1e-9
    again = viterbi_em(sentences, constraint=share, e_step="relaxed", restarts=8, smoothing=0.1, seed=seed)
    np.testing.assert_array_equal(found.values, again.values)


def test_bad_options() -> None:
    with pytest.raises(InputError, match="e_step: found 'fast'"):
        viterbi_em([["A"]], e_step="fast")
    for options in ({"polish": True}, {"start": "random"}):
        with pytest.raises(InputError, match="starts uniformly and is not polished"):
            viterbi_em([["A"]], e_step="relaxed", **options)
