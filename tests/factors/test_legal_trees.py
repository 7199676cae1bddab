"""Legal trees against all labelled trees, one by one, and against an integer program."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from arcwise import native
from arcwise.factors import AtMostOne, Leaf, LegalRules, legal_trees
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
        scores = random_scores(rng, n, kind)
        best = TreeDistribution(scores, labels=LABELS, projective=projective, single_root=single_root)
        if best.log_partition == -np.inf:
            continue
        gains = gains_of(scores, decoder, projective, single_root)
        value = -np.inf
        for heads in all_trees(n, projective=projective, single_root=single_root):
            for chosen in product(range(len(LABELS)), repeat=n):
                gain = sum(gains[chosen[m - 1], heads[m], m] for m in range(1, n + 1))
                if gain > value:
                    names = ["", *(LABELS[code] for code in chosen)]
                    value = max(value, gain - penalty(rules, heads, names))
        found = legal_trees(
            Scores.dense([scores], LABELS), rules, settings_of(decoder, projective, single_root)
        )
        assert found.gaps.tolist() == [0.0]
        assert found.values[0] == pytest.approx(value, abs=1e-8, rel=1e-9)
        if value == -np.inf:
            assert found.parses.parsed.tolist() == [0]
            continue
        heads = np.array([-1, *found.parses.heads])
        codes = found.parses.labels
        names = ["", *(LABELS[code] for code in codes)]
        gain = sum(gains[codes[m - 1], heads[m], m] for m in range(1, n + 1))
        assert gain - penalty(rules, heads, names) == pytest.approx(value, abs=1e-8, rel=1e-9)
