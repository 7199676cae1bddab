"""Legal trees against all labelled trees, one by one, and against an integer program."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from arcwise import native
from arcwise.errors import InputError
from arcwise.factors import AtMostOne, FactoredTreeDistribution, HeadAutomaton, Leaf, LegalRules, legal_trees
from arcwise.inference import Scores, TreeDistribution
from reference.enumerate_trees import all_trees

LABELS = ("a", "b", "c")
KINDS = ["ordinary", "spread", "holes", "ties"]
HARD = LegalRules((AtMostOne(("a",)), AtMostOne(("a", "b"))), (Leaf(("c",), ("b",)), Leaf(("b",))))
SOFT = LegalRules((AtMostOne(("a",), cost=0.7), AtMostOne(("a", "b"))), (Leaf(("c",), ("b",), cost=0.4),))
CHEAP = LegalRules((AtMostOne(("a", "b", "c"), cost=0.05),), (Leaf(("a", "b"), (), cost=0.1),))
RULES = {"hard": HARD, "soft": SOFT, "cheap": CHEAP}


def penalty(rules: LegalRules, heads: np.ndarray, labels: list[str]) -> float:
    """What a tree pays, from the definition of the rules; ``labels[0]`` is the root's."""
    total, n = 0.0, len(heads) - 1
    for h in range(1, n + 1):
        dependents = [labels[m] for m in range(1, n + 1) if heads[m] == h]
        for rule in rules.at_most_one:
            count = sum(label in rule.labels for label in dependents)
            total += max(count - 1, 0) * (np.inf if rule.cost is None else rule.cost) if count > 1 else 0
        for leaf in rules.leaf:
            outside = sum(label not in leaf.dependents for label in dependents)
            if labels[h] in leaf.labels and outside:
                total += outside * (np.inf if leaf.cost is None else leaf.cost)
    return total


def random_scores(rng: np.random.Generator, n: int, kind: str) -> np.ndarray:
    shape = len(LABELS), n + 1, n + 1
    if kind == "ties":
        return rng.integers(0, 2, shape).astype(float)
    values = rng.uniform(-1000, 1000, shape) if kind == "spread" else rng.normal(size=shape)
    values[0] += 1  # one label is popular, so that most best trees are illegal
    return np.where(rng.random(shape) < 0.3, -np.inf, values) if kind == "holes" else values


def settings_of(decoder: str, projective: bool, single_root: bool) -> native.DecodeSettings:
    return native.DecodeSettings(
        decoder=getattr(native.Decoder, decoder), projective=projective, single_root=single_root
    )


def gains_of(scores: np.ndarray, decoder: str, projective: bool, single_root: bool) -> np.ndarray:
    """What each labelled arc adds, from the definitions of the decoders."""
    if decoder in ("map", "max_z"):
        return scores
    trees = TreeDistribution(scores, labels=LABELS, projective=projective, single_root=single_root)
    arcs, labelled = trees.marginals, trees.label_marginals
    if decoder == "minimum_labelled_risk":
        return np.where(scores > -np.inf, labelled, -np.inf)
    return np.where(scores > -np.inf, arcs + labelled - labelled.max(axis=0), -np.inf)


@pytest.mark.parametrize("decoder", ["map", "max_z", "minimum_risk", "minimum_labelled_risk"])
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_the_tree_is_the_best_of_all(
    rules: LegalRules, kind: str, projective: bool, single_root: bool, decoder: str
) -> None:
    rng = np.random.default_rng(KINDS.index(kind))
    for n in (1, 2, 3, 4):
        compare(random_scores(rng, n, kind), rules, decoder, projective, single_root)


@pytest.mark.slow
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_the_tree_over_five_words_is_the_best_of_all(
    rules: LegalRules, kind: str, projective: bool, single_root: bool
) -> None:
    scores = random_scores(np.random.default_rng([5, KINDS.index(kind)]), 5, kind)
    compare(scores, rules, "map", projective, single_root)


def compare(scores: np.ndarray, rules: LegalRules, decoder: str, projective: bool, single_root: bool) -> None:
    """Compare the legal tree with the best of all labelled trees."""
    n = scores.shape[-1] - 1
    best = TreeDistribution(scores, labels=LABELS, projective=projective, single_root=single_root)
    if best.log_partition == -np.inf:
        return
    gains = gains_of(scores, decoder, projective, single_root)
    value = -np.inf
    for heads in all_trees(n, projective=projective, single_root=single_root):
        by_word = [gains[:, heads[m], m].tolist() for m in range(1, n + 1)]
        for chosen in product(range(len(LABELS)), repeat=n):
            gain = sum(of_label[code] for of_label, code in zip(by_word, chosen, strict=True))
            if gain > value:
                names = ["", *(LABELS[code] for code in chosen)]
                value = max(value, gain - penalty(rules, heads, names))
    found = legal_trees(Scores.dense([scores], LABELS), rules, settings_of(decoder, projective, single_root))
    assert found.gaps.tolist() == [0.0]
    assert found.values[0] == pytest.approx(value, abs=1e-8, rel=1e-9)
    if value == -np.inf:
        assert found.parses.parsed.tolist() == [0]
        return
    heads = np.array([-1, *found.parses.heads])
    codes = found.parses.labels
    names = ["", *(LABELS[code] for code in codes)]
    gain = sum(gains[codes[m - 1], heads[m], m] for m in range(1, n + 1))
    assert gain - penalty(rules, heads, names) == pytest.approx(value, abs=1e-8, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("projective", [True, False])
def test_500_words(projective: bool) -> None:
    scores = random_scores(np.random.default_rng(3), 500, "ordinary")
    rules = LegalRules((AtMostOne(("b",)),))
    settings = settings_of("map", projective, single_root=True)
    found = legal_trees(Scores.dense([scores], LABELS), rules, settings, max_decodes=40)
    heads, codes = np.array([-1, *found.parses.heads]), found.parses.labels
    names = ["", *(LABELS[code] for code in codes)]
    assert penalty(rules, heads, names) == 0
    value = scores[codes, heads[1:], np.arange(1, 501)].sum()
    assert found.values[0] == pytest.approx(value)
    best = TreeDistribution(scores, labels=LABELS, projective=projective, single_root=True)
    assert value <= found.bounds[0] + 1e-6
    assert found.bounds[0] <= best.score(best.best()) + 1e-6


def test_a_sentence_without_words_is_refused() -> None:
    with pytest.raises(InputError, match="n >= 1 words"):
        legal_trees(Scores.dense([np.zeros((3, 1, 1))], LABELS), HARD, settings_of("map", True, True))


def integer_program(gains: np.ndarray, rules: LegalRules, *, projective: bool, single_root: bool) -> float:
    """The value of the best legal tree: a flow of n units leaves the root, and every word keeps one."""
    highspy = pytest.importorskip("highspy")
    model = highspy.Highs()
    for name, value in (("output_flag", False), ("mip_rel_gap", 0.0), ("mip_abs_gap", 1e-9), ("threads", 1)):
        model.setOptionValue(name, value)
    words = range(1, gains.shape[1])
    chosen = {
        (label, h, m): model.addBinary(obj=float(gains[label, h, m]))
        for label, h, m in np.argwhere(gains > -np.inf).tolist()
        if m > 0 and h != m
    }
    arcs: dict[tuple[int, int], list[object]] = {}
    for (_, h, m), variable in chosen.items():
        arcs.setdefault((h, m), []).append(variable)
    flow = {arc: model.addVariable(0, len(words)) for arc in arcs}
    for arc, variables in arcs.items():
        model.addConstr(flow[arc] - len(words) * sum(variables) <= 0)
    for m in words:
        into = [variable for (_, _, word), variable in chosen.items() if word == m]
        if not into:
            return -np.inf
        model.addConstr(sum(into) == 1)
        leaving = [flow[arc] for arc in arcs if arc[0] == m]
        model.addConstr(sum(flow[arc] for arc in arcs if arc[1] == m) - sum(leaving) == 1)
    if single_root:
        model.addConstr(sum(variable for (_, h, _), variable in chosen.items() if h == 0) == 1)

    def pay(surplus: object, cost: float | None) -> None:
        """Forbid a positive surplus, or let the tree pay for it."""
        if cost is None:
            model.addConstr(surplus <= 0)
        else:
            model.addConstr(surplus - model.addVariable(0, len(words), obj=-cost) <= 0)

    for h in words:
        below = [(LABELS[label], variable) for (label, head, _), variable in chosen.items() if head == h]
        own = [(LABELS[label], variable) for (label, _, word), variable in chosen.items() if word == h]
        for rule in rules.at_most_one:
            counted = [variable for label, variable in below if label in rule.labels]
            if len(counted) > 1:
                pay(sum(counted) - 1, rule.cost)
        for leaf in rules.leaf:
            strict = [variable for label, variable in own if label in leaf.labels]
            for label, variable in below:
                if strict and label not in leaf.dependents:
                    pay(sum(strict) + variable - 1, leaf.cost)
    if projective:
        for (h, m), variables in arcs.items():
            low, high = sorted((h, m))
            for word in words:
                inside = low < word < high
                if word in (h, m):
                    continue
                crossing = [
                    variable
                    for (_, head, dependent), variable in chosen.items()
                    if dependent == word and (not low <= head <= high if inside else low < head < high)
                ]
                if crossing:
                    model.addConstr(sum(variables) + sum(crossing) <= 1)
    model.maximize()
    optimal = model.getModelStatus() == highspy.HighsModelStatus.kOptimal
    return float(model.getObjectiveValue()) if optimal else -np.inf


@pytest.mark.slow
@pytest.mark.parametrize("single_root", [True, False])
@pytest.mark.parametrize("projective", [True, False])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("rules", RULES.values(), ids=RULES)
def test_certificates_agree_with_an_integer_program(
    rules: LegalRules, kind: str, projective: bool, single_root: bool
) -> None:
    rng = np.random.default_rng(7)
    for n in (5, 7, 8):
        scores = random_scores(rng, n, kind)
        found = legal_trees(
            Scores.dense([scores], LABELS), rules, settings_of("map", projective, single_root)
        )
        value = integer_program(scores, rules, projective=projective, single_root=single_root)
        assert found.gaps.tolist() == [0.0]
        assert found.values[0] == pytest.approx(value, rel=1e-6, abs=1e-6)


def test_an_automaton_over_both_sides_finds_the_same_projective_trees() -> None:
    rng = np.random.default_rng(4)
    rules = LegalRules((AtMostOne(("a",)), AtMostOne(("b", "c"))))
    factors = [
        HeadAutomaton.at_most_one(rule.labels, labels=LABELS, both_sides=True) for rule in rules.at_most_one
    ]
    for n in (1, 6, 9):
        scores = random_scores(rng, n, "ordinary")
        # With one root: rules leave the root alone, and automata read its dependents too.
        found = legal_trees(Scores.dense([scores], LABELS), rules, settings_of("map", True, True))
        trees = FactoredTreeDistribution(
            scores, factors=factors, projective=True, single_root=True, labels=LABELS
        )
        assert trees.score(trees.best()) == pytest.approx(found.values[0])


def test_a_search_that_stops_early_tells_the_gap() -> None:
    rng = np.random.default_rng(1)
    scores = Scores.dense([random_scores(rng, 8, "ordinary")], LABELS)
    settings = settings_of("map", projective=True, single_root=True)
    best = legal_trees(scores, HARD, settings)
    assert best.decodes[0] > 4
    for most in (1, 2, 4):
        early = legal_trees(scores, HARD, settings, max_decodes=most)
        assert early.parses.parsed[0] == 1  # a dive finds a tree
        assert early.bounds[0] >= best.values[0] - 1e-9
        assert early.values[0] <= best.values[0] + 1e-9
        assert early.gaps[0] > 0


def test_the_batch_gives_the_answers_of_its_sentences_at_any_number_of_threads() -> None:
    rng = np.random.default_rng(2)
    arrays = [random_scores(rng, n, "ordinary") for n in (3, 1, 6, 5, 4)]
    settings = settings_of("minimum_risk", projective=False, single_root=True)
    together = legal_trees(Scores.dense(arrays, LABELS), SOFT, settings, threads=3)
    alone = [legal_trees(Scores.dense([array], LABELS), SOFT, settings) for array in arrays]
    assert together.values.tolist() == [trees.values[0] for trees in alone]
    assert together.parses.heads.tolist() == [head for trees in alone for head in trees.parses.heads]
