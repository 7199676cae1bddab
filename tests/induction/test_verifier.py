"""The verifier accepts proofs and rejects everything that was tampered with, with a reason."""

import ast
import copy
import json
import re
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import arcwise.induction.verifier
from arcwise.errors import ConstraintError
from arcwise.induction import DMV, TagSentences, induce_globally
from arcwise.induction.global_search import CountOptions
from arcwise.induction.global_search.certificate import SCALE
from arcwise.induction.verifier import CertificateError, verify
from arcwise.induction.verifier.bounds import phi_tables
from arcwise.induction.verifier.parses import is_projective_tree
from arcwise.induction.verifier.points import sums
from induction.instances import random_share, tiny
from reference.dmv import brute_force
from reference.enumerate_trees import all_trees

CORPUS = DMV.random(("A", "B", "C"), seed=5).sample(7, seed=5, min_length=3, max_length=7)[0]


@pytest.fixture(scope="module")
def proof() -> dict[str, Any]:
    certificate = induce_globally(CORPUS, options=CountOptions(sweeps=0)).certificate  # by prices
    return json.loads(json.dumps(certificate))


def test_a_proof_is_accepted(proof: dict[str, Any]) -> None:
    proved = verify(proof, CORPUS.strings)
    assert proved.lower == pytest.approx(proof["lower"], abs=1e-9)
    assert proved.lower <= proof["lower"] + 1e-12
    assert proved.gap <= 0.01
    assert proved.nodes <= len(proof["nodes"])


@pytest.mark.parametrize("seed", range(25))
def test_proofs_of_small_corpora_are_accepted_and_true(seed: int) -> None:
    corpus = tiny(seed, sentences=3)
    share = random_share(seed) if seed % 2 else None
    best = brute_force(corpus, share)
    if best == -np.inf:
        with pytest.raises(ConstraintError):
            induce_globally(corpus, constraint=share)
        return
    options = CountOptions(enumerate_up_to=8 if seed % 3 or share else 2, first_restarts=3)
    found = induce_globally(corpus, epsilon=1e-3, constraint=share, options=options, time_limit=5)
    proved = verify(json.loads(json.dumps(found.certificate)), corpus.strings, constraint=share)
    assert (proved.constraint is None) == (share is None)
    assert proved.lower - 1e-9 <= best <= proved.upper + 1e-9


def test_an_unfinished_search_proves_what_it_has() -> None:
    corpus = DMV.random(("A", "B", "C"), seed=3).sample(8, seed=3, min_length=4, max_length=8)[0]
    found = induce_globally(corpus, time_limit=0.3)
    assert verify(found.certificate, corpus.strings).upper == found.upper


@pytest.mark.parametrize("seconds", [0.0, 0.02, 0.05])
def test_a_search_cut_short_bounds_and_proves_no_less_than_its_root(seconds: float) -> None:
    corpus = DMV.random(("A", "B", "C"), seed=3).sample(12, seed=3, min_length=6, max_length=8)[0]
    found = induce_globally(corpus, time_limit=seconds, options=CountOptions(first_restarts=2))
    assert found.lower <= found.upper <= 0
    assert verify(found.certificate, corpus.strings).upper == found.upper


def test_it_imports_nothing_of_the_search() -> None:
    folder = Path(arcwise.induction.verifier.__file__).parent
    files = sorted(folder.glob("*.py"))
    allowed = {
        "arcwise.errors",
        "arcwise.engine",
        *(f"arcwise.induction.verifier.{path.stem}" for path in files),
    }
    assert len(files) == 12
    for path in files:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("arcwise"):
                own = node.module == "arcwise" and [name.name for name in node.names] == ["native"]
                assert own or node.module in allowed
            if (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "native"
            ):
                assert node.attr.startswith("verifier_")
    kernel = Path(__file__).parents[2] / "native/kernels/induction"
    for name in ("verifier_sums.hpp", "verifier_sums.cpp"):
        included = re.findall(r'#include "(.*)"', (kernel / name).read_text())
        assert set(included) <= {"kernels/induction/verifier_sums.hpp"}
    for path in (kernel / ".." / "..").resolve().rglob("*.[ch]pp"):
        if path.name not in ("verifier_sums.hpp", "verifier_sums.cpp", "induction.cpp"):
            assert "verifier_sums" not in re.findall(r'#include "kernels/induction/(\w+)', path.read_text())
            if isinstance(node, ast.Import):
                assert not any(alias.name.startswith("arcwise") for alias in node.names)


def lower_claim(c: dict[str, Any]) -> None:
    c["upper"] -= SCALE // 2


def better_parses(c: dict[str, Any]) -> None:
    c["lower"] += 0.1


def no_tree(c: dict[str, Any]) -> None:
    c["heads"][0] = [0] * len(c["heads"][0])


def other_parse(c: dict[str, Any]) -> None:
    n = len(c["heads"][0])
    c["heads"][0] = [0, *range(1, n)] if c["heads"][0][0] else [*range(2, n + 1), 0]


def drop_child(c: dict[str, Any]) -> None:
    node = next(n for n in c["nodes"] if "split" in n and None not in n["children"])
    node["children"][1] = None


def shared_child(c: dict[str, Any]) -> None:
    node = next(n for n in c["nodes"] if "split" in n and None not in n["children"])
    node["children"][1] = node["children"][0]


def open_leaf(c: dict[str, Any]) -> None:
    for node in c["nodes"]:
        if "split" in node:
            del node["split"]


def no_multipliers(c: dict[str, Any]) -> None:
    c["multipliers"] = [[0] * len(m) for m in c["multipliers"]]


def short_multipliers(c: dict[str, Any]) -> None:
    c["multipliers"][0].pop()


def huge_multipliers(c: dict[str, Any]) -> None:
    c["multipliers"][0][0] = 2**60


def unknown_multipliers(c: dict[str, Any]) -> None:
    c["nodes"][0]["use"] = [10**6]


def priced_sum(c: dict[str, Any]) -> None:
    c["coordinates"].append(27 + 0)
    for m in c["multipliers"]:
        m.append(1)


def wild_split(c: dict[str, Any]) -> None:
    next(n for n in c["nodes"] if "split" in n)["split"] = [-1, 1000, 0]


def another_corpus(c: dict[str, Any]) -> None:
    c["sentences"][0] = [*c["sentences"][0][::-1], 0]


def fewer_sentences(c: dict[str, Any]) -> None:
    c["sentences"].pop()


def no_nodes(c: dict[str, Any]) -> None:
    c["nodes"] = []


def missing_field(c: dict[str, Any]) -> None:
    del c["multipliers"]


def old_version(c: dict[str, Any]) -> None:
    c["version"] = 0


@pytest.mark.parametrize(
    "tamper, reason",
    [
        (lower_claim, "upper: found|leaf .* not below"),
        (better_parses, "lower: found"),
        (no_tree, "sentence 1 is not a projective tree"),
        (other_parse, "lower: found"),
        (drop_child, "leaves out counts above"),
        (shared_child, "is a child of two nodes|not below"),
        (open_leaf, "leaf .* not below"),
        (no_multipliers, "leaf .* not below"),
        (short_multipliers, "wrong length"),
        (huge_multipliers, "too large"),
        (unknown_multipliers, "number 1000000 is missing"),
        (priced_sum, "prices a sum"),
        (wild_split, "does not exist"),
        (another_corpus, "sentence 1 of the corpus is not that of the certificate"),
        (fewer_sentences, "the certificate is about 6 sentences"),
        (no_nodes, "nodes: found none"),
        (missing_field, "multipliers: missing"),
        (old_version, "version: found 0"),
    ],
)
def test_tampering_is_noticed(
    proof: dict[str, Any], tamper: Callable[[dict[str, Any]], None], reason: str
) -> None:
    changed = copy.deepcopy(proof)
    tamper(changed)
    with pytest.raises(CertificateError, match=reason):
        verify(changed, CORPUS.strings)


def test_a_weaker_claim_than_the_optimum_is_always_rejected() -> None:
    corpus = TagSentences.from_tags([["A", "B", "A"], ["B", "A"]])
    found = induce_globally(corpus, epsilon=1e-6)
    certificate = copy.deepcopy(found.certificate)
    assert certificate is not None
    certificate["upper"] = int((found.lower - 1e-3) * SCALE)
    with pytest.raises(CertificateError):
        verify(certificate, corpus.strings)


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_sums_of_vectors_are_all_sums_and_no_others(seed: int) -> None:
    rng = np.random.default_rng(seed)
    width = int(rng.integers(1, 4))
    choices = [rng.integers(0, 4, (int(rng.integers(1, 5)), width)) for _ in range(rng.integers(1, 5))]
    weights = rng.integers(1, 3, len(choices)).tolist()
    grid = sums(choices, weights)
    assert grid is not None
    expected = {
        tuple(sum(w * v for w, v in zip(weights, chosen, strict=True)).tolist())
        for chosen in product(*choices)
    }
    points = grid.points()
    assert set(map(tuple, points.tolist())) == expected
    assert grid.contains(points).all()
    others = rng.integers(-1, 20, (50, width))
    assert grid.contains(others).tolist() == [tuple(o) in expected for o in others.tolist()]


def test_grids_that_are_too_large_are_refused() -> None:
    assert sums([np.array([[0, 0, 0, 0], [99, 99, 99, 99]])], [1]) is None
    assert sums([np.array([[0], [200]])], [2]) is None


def test_logarithms_are_rounded_outwards() -> None:
    from mpmath import mp, mpf

    up, down = phi_tables(300)
    with mp.workdps(40):
        for x in range(2, 301):
            exact = mpf(x) * mp.log(x) * SCALE
            assert down[x] <= exact <= up[x]
            assert up[x] - down[x] <= 2


def test_projective_trees_are_told_from_others() -> None:
    for n in (1, 2, 3, 4):
        trees = {tuple(t[1:].tolist()) for t in all_trees(n, projective=True, single_root=True)}
        for heads in product(range(n + 1), repeat=n):
            assert is_projective_tree(heads) == (heads in trees)
