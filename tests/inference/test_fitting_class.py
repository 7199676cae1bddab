"""The class of trees that constraints need, against every tree one by one."""

from itertools import product

import numpy as np
import pytest

from arcwise.errors import ConstraintError
from arcwise.inference import Constraints, TreeClass, fitting_class
from reference.enumerate_trees import TREE_CLASSES, all_trees

ORDER = {
    (True, True): [(True, True), (True, False), (False, True), (False, False)],
    (True, False): [(True, False), (False, False)],
    (False, True): [(False, True), (False, False)],
    (False, False): [(False, False)],
}


def obey(trees: np.ndarray, constraints: Constraints) -> np.ndarray:
    kept = np.ones(len(trees), bool)
    for h, m in constraints.required:
        kept &= trees[:, m] == h
    for h, m in constraints.forbidden:
        kept &= trees[:, m] != h
    return kept


@pytest.mark.parametrize("projective, single_root", TREE_CLASSES)
def test_it_is_the_first_class_that_has_a_tree(projective: bool, single_root: bool) -> None:
    """All partial trees of three words (heads, or open), and some of four with forbidden arcs."""
    cases = [
        (3, Constraints(required=[(h, m) for m, h in enumerate(heads, 1) if h >= 0]))
        for heads in product((-1, 0, 1, 2, 3), repeat=3)
        if all(h != m for m, h in enumerate(heads, 1))
    ]
    rng = np.random.default_rng(3)
    for _ in range(150):
        heads = rng.integers(-2, 5, 4).tolist()
        required = [(h, m) for m, h in enumerate(heads, 1) if h >= 0 and h != m]
        arcs = [(h, m) for h in range(5) for m in range(1, 5) if h != m and rng.random() < 0.2]
        cases.append((4, Constraints(required, [arc for arc in arcs if arc not in required])))
    wider = refused = 0
    for n, constraints in cases:
        wanted = next(
            (
                (p, s)
                for p, s in ORDER[projective, single_root]
                if obey(all_trees(n, projective=p, single_root=s), constraints).any()
            ),
            None,
        )
        trees = TreeClass(projective=projective, single_root=single_root)
        if wanted is None:
            refused += 1
            with pytest.raises(ConstraintError):
                fitting_class(constraints, n, trees)
            continue
        found = fitting_class(constraints, n, trees)
        assert (found.trees.projective, found.trees.single_root) == wanted
        assert bool(found.reason) == (found.trees != trees)
        assert ("several roots" in found.reason) == (single_root and not wanted[1])
        assert ("crossing arcs" in found.reason) == (projective and not wanted[0])
        wider += found.trees != trees
    assert refused > 10
    assert wider > 10 or not (projective or single_root)


def test_constraints_joined_hold_together() -> None:
    one = Constraints(required=[(0, 1)], max_length=4, roots=[1, 2], labels={1: "root"})
    two = Constraints(forbidden=[(1, 2)], max_length=3, roots=[1, 3], labels={2: "obj"}, subtrees=[(1, 2)])
    both = one.joined(two)
    assert both == Constraints([(0, 1)], [(1, 2)], {1: "root", 2: "obj"}, [(1, 2)], 3, [1])
    assert one.joined(None) == one
    with pytest.raises(ConstraintError, match="word 1 has both 'root' and 'x' as label"):
        one.joined(Constraints(labels={1: "x"}))
