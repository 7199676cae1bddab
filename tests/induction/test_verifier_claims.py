"""Claims of the verifier: about which parses, and never more than is proved, for any certificate."""

import copy
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arcwise.induction import DMV, ArcShare, TagSentences, induce_globally
from arcwise.induction.dmv import Features
from arcwise.induction.global_search import CountOptions, CountSearch, InductionTask
from arcwise.induction.global_search.certificate import SCALE
from arcwise.induction.verifier import CertificateError, Constraint, Verified, verify
from reference.dmv import brute_force

CORPUS = TagSentences.from_tags([["A", "B", "A"], ["B", "A"], ["C", "A", "B"], ["A", "C", "B"]])
RULES = ArcShare(frozenset({("ROOT", "A"), ("A", "B"), ("C", "B")}), 0.6)
BY_PRICES = CountOptions(sweeps=0)  # messages: test_messages.py
BEST, BEST_RULED = brute_force(CORPUS), brute_force(CORPUS, RULES)


def certificate_of(constraint: ArcShare | None) -> dict[str, Any]:
    found = induce_globally(CORPUS, epsilon=1e-4, constraint=constraint, options=BY_PRICES)
    return json.loads(json.dumps(found.certificate))


@pytest.fixture(scope="module")
def free() -> dict[str, Any]:
    return certificate_of(None)


@pytest.fixture(scope="module")
def ruled() -> dict[str, Any]:
    return certificate_of(RULES)


def test_the_example_has_something_to_forge() -> None:
    assert BEST_RULED < BEST - 0.5


def test_a_constraint_is_refused_unless_asked_for(ruled: dict[str, Any]) -> None:
    with pytest.raises(CertificateError, match=r"not about all parses.* 7 of the 11 arcs .*ROOT → A.*C → B"):
        verify(ruled, CORPUS.strings)
    proved = verify(ruled, CORPUS.strings, constraint=RULES)
    assert proved.constraint is not None
    assert (proved.constraint.least, proved.constraint.arcs) == (7, 11)
    assert proved.constraint.arc_types == ("ROOT → A", "A → B", "C → B")
    assert "at least 7 of the 11 arcs are of the types ROOT → A, A → B, C → B" in proved.claim
    assert "nothing is said about other parses" in proved.claim
    assert proved.lower <= BEST_RULED + 1e-9 <= proved.upper + 2e-9


def test_a_certificate_about_all_parses_is_no_proof_for_rules(free: dict[str, Any]) -> None:
    proved = verify(free, CORPUS.strings)
    assert proved.constraint is None
    assert proved.claim == (
        f"some parses have log-likelihood {proved.lower:.4f}, none have more than {proved.upper:.4f}"
    )
    with pytest.raises(CertificateError, match="one was requested, but the certificate is about all parses"):
        verify(free, CORPUS.strings, constraint=RULES)


@pytest.mark.parametrize(
    "other",
    [
        ArcShare(RULES.rules, 0.5),
        ArcShare(RULES.rules, 0.8),
        ArcShare(RULES.rules | {("B", "A")}, 0.6),
        ArcShare(RULES.rules - {("ROOT", "A")}, 0.6),
    ],
)
def test_another_constraint_than_the_one_asked_for_is_refused(ruled: dict[str, Any], other: ArcShare) -> None:
    with pytest.raises(CertificateError, match=r"the certificate is about parses in which .* requested were"):
        verify(ruled, CORPUS.strings, constraint=other)


def test_a_constraint_added_to_a_certificate_is_a_forgery(
    ruled: dict[str, Any], free: dict[str, Any]
) -> None:
    """A proof about few parses, passed off as one about all: its bound is below what other parses reach."""
    assert ruled["upper"] / SCALE < BEST
    for forged in ({**ruled, "constraint": None}, {**free, "constraint": ruled["constraint"]}):
        with pytest.raises(CertificateError):
            verify(forged, CORPUS.strings)
    loose = {**free, "constraint": {"marked": [], "least": 0}}  # says nothing, and is named all the same
    with pytest.raises(CertificateError, match="not about all parses"):
        verify(loose, CORPUS.strings)


def test_the_rules_are_counted_as_the_search_counts_them() -> None:
    for share in (0.0, 0.3, 0.75, 1.0):
        wanted = ArcShare(frozenset({("ROOT", "B"), ("B", "A"), ("A", "A"), ("X", "A"), ("A", "X")}), share)
        own = Constraint.of_rules(wanted, CORPUS.tags, CORPUS.words)
        assert own.least == wanted.least(CORPUS.words)
        assert list(own.features) == np.flatnonzero(wanted.marked(Features(CORPUS.tags))).tolist()


def test_arcs_on_one_side_are_named() -> None:
    left, right = Constraint(("A", "B"), (3,), 1, 5), Constraint(("A", "B"), (7,), 1, 5)
    assert left.arc_types == ("A → B on its left",)
    assert right.arc_types == ("A → B on its right",)


def test_the_likelihood_is_the_one_computed_anew(free: dict[str, Any]) -> None:
    proved = verify(free, CORPUS.strings)
    assert proved.lower == pytest.approx(BEST, rel=1e-3)
    modest = {**free, "lower": -1000.0}
    assert verify(modest, CORPUS.strings).lower == proved.lower
    assert verify({**free, "lower": float("-inf")}, CORPUS.strings).lower == proved.lower
    for nonsense in (float("nan"), float("inf"), 0.0):
        with pytest.raises(CertificateError, match="lower"):
            verify({**free, "lower": nonsense}, CORPUS.strings)


def put(certificate: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    changed = copy.deepcopy(certificate)
    *steps, last = [int(p) if p.lstrip("-").isdigit() else p for p in path.split(".")]
    inner: Any = changed
    for step in steps:
        inner = inner[step]
    inner[last] = value
    return changed


MALFORMED: list[tuple[str, object]] = [
    ("heads", [None]),
    ("heads.0", None),
    ("heads.0", [None, None, None]),
    ("heads.0", [0.0, 1, 1]),
    ("heads.0", [0, True, 1]),
    ("heads.0", "012"),
    ("tags", [["A"], "B", "C"]),
    ("tags", [{}, "B", "C"]),
    ("tags", ["A", "A", "B"]),
    ("tags", []),
    ("sentences.0", None),
    ("sentences.0", [0.0, 1.0, 0.0]),
    ("sentences.1", [True, 0]),
    ("kind", []),
    ("version", True),
    ("version", 1.0),
    ("upper", 2**70),
    ("upper", -1.5),
    ("lower", 10**400),
    ("lower", "x"),
    ("enumerate_up_to", 2**63),
    ("enumerate_up_to", -1),
    ("coordinates", [2**63]),
    ("coordinates", [-1]),
    ("coordinates", [[]]),
    ("coordinates", [0, 0]),
    ("multipliers", [None]),
    ("multipliers.0", ["x"]),
    ("multipliers.0.0", 0.5),
    ("multipliers.0.0", 2**63),
    ("multipliers.0.0", None),
    ("nodes", [None]),
    ("nodes.0", []),
    ("nodes.0.use", None),
    ("nodes.0.use", [2**63]),
    ("nodes.0.use", [-1]),
    ("nodes.0.use", [True]),
    ("nodes.0.use", [[]]),
    ("nodes.0", {"use": [], "split": [-1, 0, 2**63], "children": [0, 0]}),
    ("nodes.0", {"use": [], "split": [-1, 0, -(2**63) - 1], "children": [0, 0]}),
    ("nodes.0", {"use": [], "split": [2**63, 0, 0], "children": [0, 0]}),
    ("nodes.0", {"use": [], "split": [-1, 2**63, 0], "children": [0, 0]}),
    ("nodes.0", {"use": [], "split": [-1, 0, 0], "children": [2**63, 0]}),
    ("nodes.0", {"use": [], "split": [-1, 0, 0], "children": [0, 0]}),
    ("nodes.0", {"use": [], "split": [-1, 0, 0.5], "children": [0, 0]}),
    ("nodes.0", {"use": [], "split": "abc", "children": [0, 0]}),
    ("nodes.0", {"use": [], "split": None}),
    ("constraint", []),
    ("constraint", {"marked": [-1], "least": 0}),
    ("constraint", {"marked": [2**63], "least": 0}),
    ("constraint", {"marked": [[]], "least": 0}),
    ("constraint", {"marked": [0], "least": 2**63}),
    ("constraint", {"marked": [0], "least": None}),
    ("constraint", {"marked": None, "least": 0}),
]


@pytest.mark.parametrize("path, value", MALFORMED)
def test_malformed_certificates_are_rejected(free: dict[str, Any], path: str, value: object) -> None:
    with pytest.raises(CertificateError):
        verify(put(free, path, value), CORPUS.strings)


@pytest.mark.parametrize("nothing", [None, [], 3, "x", {}, {"kind": None}, {"kind": {}}])
def test_what_is_no_certificate_is_rejected(nothing: object) -> None:
    with pytest.raises(CertificateError, match="kind: found"):
        verify(nothing, CORPUS.strings)


@pytest.fixture(scope="module")
def by_blocks() -> dict[str, Any]:
    found = induce_globally(CORPUS, block_size=2, time_limit=2.0, options=CountOptions(first_restarts=5))
    return json.loads(json.dumps(found.certificate))


@pytest.mark.slow
def test_blocks_are_verified_side_by_side(by_blocks: dict[str, Any]) -> None:
    assert verify(by_blocks, CORPUS.strings, threads=2) == verify(by_blocks, CORPUS.strings)
    with pytest.raises(CertificateError, match="is about all parses"):
        verify(by_blocks, CORPUS.strings, constraint=RULES)


@pytest.mark.parametrize(
    "path, value",
    [
        ("version", 7),
        ("block_size", 0),
        ("block_size", None),
        ("block_size", -1),
        ("blocks", None),
        ("blocks.0", []),
        ("blocks.0", {"kind": []}),
        ("blocks.0.upper", None),
        ("blocks.0.heads", [None]),
        ("heads", [None]),
        ("heads", 3),
        ("lower", None),
        ("upper", "x"),
        ("upper", -(2**50)),
    ],
)
def test_malformed_certificates_by_blocks_are_rejected(
    by_blocks: dict[str, Any], path: str, value: object
) -> None:
    with pytest.raises(CertificateError):
        verify(put(by_blocks, path, value), CORPUS.strings)


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 12),
    st.sampled_from([2**31, 2**62, 2**63, -(2**63) - 1, 2**64, 10**30]),
    st.floats(),
    st.sampled_from(["", "A", "B", "arcwise", "kind"]),
)
VALUES = st.recursive(
    SCALARS,
    lambda v: (
        st.lists(v, max_size=3) | st.dictionaries(st.sampled_from(["use", "split", "x"]), v, max_size=2)
    ),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The paths of all values inside a JSON value."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path] * bool(path) + [p for k, v in inner for p in places(v, (*path, k))]


@pytest.mark.slow
@settings(max_examples=500, deadline=None, derandomize=True)
@given(data=st.data())
def test_whatever_is_changed_the_claim_is_true_or_rejected(
    free: dict[str, Any], ruled: dict[str, Any], data: st.DataObject
) -> None:
    constrained = data.draw(st.booleans())
    changed = copy.deepcopy(ruled if constrained else free)
    for _ in range(data.draw(st.integers(1, 3))):
        # Short paths first: values deep inside are many, and all alike.
        deep = places(changed)
        size = data.draw(st.integers(1, max(map(len, deep))))
        *steps, last = data.draw(st.sampled_from([p for p in deep if len(p) <= size]))
        inner: Any = changed
        for step in steps:
            inner = inner[step]
        action = data.draw(st.sampled_from(["put", "put", "add", "delete"]))
        if action == "delete":
            del inner[last]
        elif action == "add" and type(inner[last]) is int:
            inner[last] += data.draw(st.sampled_from([-(2**40), -SCALE, -1, 1, SCALE, 2**40]))
        else:
            inner[last] = data.draw(VALUES)
    wanted = data.draw(st.sampled_from([None, RULES]))
    try:
        proved = verify(changed, CORPUS.strings, constraint=wanted)
    except CertificateError as error:
        assert str(error)
        return
    assert isinstance(proved, Verified)
    assert (proved.constraint is None) == (wanted is None)
    best = BEST if wanted is None else BEST_RULED
    assert proved.lower - 1e-9 <= best <= proved.upper + 1e-9


@pytest.mark.slow
def test_the_number_of_processes_changes_nothing() -> None:
    corpus = DMV.random(("A", "B", "C"), seed=3).sample(8, seed=3, min_length=4, max_length=6)[0]
    search = CountSearch(InductionTask(corpus), options=CountOptions(first_restarts=20, sweeps=0))
    search.run(epsilon=1e-6, node_limit=60)
    certificate = json.loads(json.dumps(search.certificate()))
    assert len(certificate["nodes"]) > 20
    told: list[tuple[int, int]] = []
    one = verify(certificate, corpus.strings, progress=lambda done, all_: told.append((done, all_)))
    assert one == verify(certificate, corpus.strings, threads=2)
    assert [d for d, _ in told] == sorted(d for d, _ in told)
    assert told[-1][0] == one.nodes
    assert len(told) > 10
    broken = copy.deepcopy(certificate)
    for node in broken["nodes"][len(broken["nodes"]) // 2 :]:
        node["use"] = []
    reasons = []
    for threads in (1, 2):
        with pytest.raises(CertificateError) as caught:
            verify(broken, corpus.strings, threads=threads)
        reasons.append(str(caught.value))
    assert reasons[0] == reasons[1]
