"""Bounds under messages, compared with enumeration; certificates with them, genuine and forged."""

from __future__ import annotations

import copy
import itertools
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from arcwise import native
from arcwise.induction import DMV, ArcShare, TagSentences, induce_globally
from arcwise.induction.global_search import CountOptions, CountSearch, InductionTask
from arcwise.induction.global_search.messages import packed, unpacked
from arcwise.induction.verifier import CertificateError, verify
from arcwise.induction.verifier.agreement import AgreedBound, CertificateMessages
from arcwise.induction.verifier.bounds import SCALE, Bounds
from induction.instances import random_share, tiny
from reference.dmv import brute_force

UNIT = 2**14
NO_SECONDS_LIMIT = 1e9


def phi(x: float) -> float:
    return x * np.log(x) if x > 0 else 0.0


class Enumerated:
    """A task with every parse of every sentence written out, and what it adds to each block."""

    def __init__(self, corpus: TagSentences, share: ArcShare | None = None) -> None:
        self.task = InductionTask(corpus, share)
        self.search = CountSearch(self.task)
        problem, t = self.search.problem, len(corpus.tags)
        self.coordinates = problem.block_coordinates
        self.words = [
            float(len(corpus)) if c[-1] < t else self.task.tag_words[(c[-1] - 2 * t) // (t + 1) % t]
            for c in self.coordinates
        ]
        self.is_roots = [c[-1] < t for c in self.coordinates]
        self.parses: list[list[np.ndarray]] = []  # of each sentence: a full vector for each parse
        for s in range(len(self.task.sentences)):
            names, values, _ = problem.vectors(s)
            full = np.zeros((len(values), problem.coordinates), int)
            full[:, names] = values
            self.parses.append(list(full))

    def gain(self, block: int, point: np.ndarray) -> float:
        if self.is_roots[block]:
            return sum(map(phi, point)) - phi(self.words[block])
        parts, some, n = point[:-1], point[-1], self.words[block]
        k = parts.sum()
        return phi(n - some) + 2 * phi(some) + phi(k - some) - 2 * phi(k) + sum(map(phi, parts)) - phi(n)

    def vectors(self, sentence: int, block: int) -> list[tuple[int, ...]]:
        """The different vectors that a sentence can add to a block, in lexicographic order."""
        own = self.coordinates[block]
        return sorted({tuple(p[own].tolist()) for p in self.parses[sentence]})

    def bound(self, messages: dict[tuple[int, int, tuple[int, ...]], float]) -> float:
        """By the definition: every choice of a vector for each sentence, every parse."""
        weights = [w for _, w in self.task.sentences]
        total = 0.0
        for b in range(len(self.coordinates)):
            choices = [self.vectors(s, b) for s in range(len(weights))]
            total += max(
                self.gain(b, sum(w * np.array(u) for w, u in zip(weights, chosen, strict=True)))
                - sum(messages[s, b, u] for s, u in enumerate(chosen))
                for chosen in itertools.product(*choices)
            )
        for s, parses in enumerate(self.parses):
            total += max(
                sum(messages[s, b, tuple(p[own].tolist())] for b, own in enumerate(self.coordinates))
                for p in parses
            )
        return total


def random_messages(task: Enumerated, seed: int) -> dict[tuple[int, int, tuple[int, ...]], float]:
    rng = np.random.default_rng(seed)
    return {
        (s, b, u): int(rng.integers(-200_000, 200_000)) / 2**16
        for s in range(len(task.parses))
        for b in range(len(task.coordinates))
        for u in task.vectors(s, b)
    }


def native_values(task: Enumerated, messages: dict[tuple[int, int, tuple[int, ...]], float]) -> np.ndarray:
    kernel = task.search.messages.kernel
    values = np.zeros(kernel.size, np.int32)
    for b in range(len(task.coordinates)):
        order = iter(kernel.in_order(task.search.problem, b).tolist())
        for s in range(len(task.parses)):
            for u in task.vectors(s, b):
                values[next(order)] = round(messages[s, b, u] * 2**16)
    return values


def improved(
    task: Enumerated, values: np.ndarray, sweeps: int, threshold: int = -(2**60)
) -> native.Agreement:
    search = task.search
    return search.messages.kernel.improve(
        search.problem,
        search.problem.root_box,
        np.zeros(search.problem.coordinates, np.int64),
        values,
        threshold=threshold,
        most_sweeps=sweeps,
        precision=0.0,
        seconds=NO_SECONDS_LIMIT,
    )


@pytest.mark.parametrize("seed", range(12))
def test_the_bound_of_messages_is_what_it_is_defined_as(seed: int) -> None:
    task = Enumerated(tiny(seed, sentences=3))
    messages = random_messages(task, seed)
    wanted = task.bound(messages)
    found = improved(task, native_values(task, messages), sweeps=0)
    assert wanted <= found.bound / SCALE + 1e-9
    assert found.bound / SCALE == pytest.approx(wanted, abs=1e-3)  # rounded up
    bounds = Bounds(
        len(task.task.corpus.tags),
        task.task.sentences,
        np.zeros(task.search.problem.coordinates, np.int64),
        0,
        8,
    )
    numbers = [task.search.messages.number_of(b) for b in range(len(task.coordinates))]
    by_block = {
        number: [
            np.array([round(messages[s, b, u] * 2**16) * UNIT for u in task.vectors(s, b)], np.int64)
            for s in range(len(task.parses))
        ]
        for b, number in enumerate(numbers)
    }
    assert bounds.root is not None
    nothing = np.zeros(bounds.at.count, np.int64)
    checked = AgreedBound(bounds, bounds.root, CertificateMessages(nothing, by_block))
    assert wanted <= checked.value / SCALE + 1e-9
    assert checked.value / SCALE == pytest.approx(wanted, abs=1e-3)  # rounded up, too


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_sweeps_lower_the_bound_and_it_stays_above_the_best_parses(seed: int) -> None:
    corpus = tiny(seed, sentences=4)
    task = Enumerated(corpus)
    values = native_values(task, random_messages(task, seed))
    best = brute_force(corpus)
    before = improved(task, values, sweeps=0)
    for _ in range(4):
        after = improved(task, before.messages, sweeps=1)
        assert after.bound <= before.bound + 100 * UNIT  # up to rounding
        assert after.bound / SCALE >= best - 1e-9
        before = after


@pytest.mark.parametrize("seed", range(16))
def test_what_a_bound_deletes_holds_no_better_parses(seed: int) -> None:
    share = random_share(seed) if seed % 4 == 3 else None
    corpus = tiny(seed, sentences=3)
    best = brute_force(corpus, share)
    if best == -np.inf:
        return
    task = Enumerated(corpus, share)
    search = task.search
    threshold = int((best - 0.05) * SCALE)
    found = improved(task, native_values(task, random_messages(task, seed)), sweeps=3, threshold=threshold)
    assert found.bound > threshold
    box = search.problem.root_box
    assert search.messages.tighten(box, found, threshold)
    bits = np.unpackbits(box.alive.view(np.uint8), bitorder="little")
    left, first = [], 0
    for parses in task.parses:
        left.append([p for i, p in enumerate(parses) if bits[first + i]])
        first += (len(parses) + 63) // 64 * 64
    weights = [w for _, w in task.task.sentences]
    marked = search.problem.coordinates - 1
    values = [
        task.task.likelihood(task.task.counts_of(counts.astype(float)))
        for chosen in itertools.product(*left)
        for counts in [sum(w * p for w, p in zip(weights, chosen, strict=True))]
        if counts[marked] >= task.task.least
    ]
    assert max(values) == pytest.approx(best, abs=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_agreement_is_tighter_than_prices(seed: int) -> None:
    corpus = DMV.random(("A", "B", "C"), seed=seed).sample(5, seed=seed, min_length=3, max_length=6)[0]
    sizes = {}
    for sweeps in (0, 30):
        search = CountSearch(InductionTask(corpus), options=CountOptions(first_restarts=50, sweeps=sweeps))
        search.run(epsilon=0.01, node_limit=2000)
        sizes[sweeps] = search.nodes
    assert sizes[30] <= sizes[0]


# ---- certificates

CORPUS = DMV.random(("A", "B", "C"), seed=5).sample(8, seed=5, min_length=4, max_length=7)[0]


@pytest.fixture(scope="module")
def proof() -> dict[str, Any]:
    found = induce_globally(CORPUS, epsilon=1e-3)
    certificate: dict[str, Any] = json.loads(json.dumps(found.certificate))
    return certificate


def first(c: dict[str, Any]) -> dict[str, Any]:
    """The messages that the root uses first."""
    used: dict[str, Any] = c["multipliers"][c["nodes"][0]["use"][0]]
    return used


@pytest.mark.slow
def test_a_proof_with_messages_is_accepted(proof: dict[str, Any]) -> None:
    assert isinstance(first(proof), dict)
    proved = verify(proof, CORPUS.strings)
    assert proved.upper == pytest.approx(proof["upper"] / SCALE)
    assert proved == verify(proof, CORPUS.strings, threads=2)


def no_messages(c: dict[str, Any]) -> None:
    for m in c["multipliers"]:
        if isinstance(m, dict):
            m["messages"] = packed(0 * unpacked(m["messages"]))


def one_message_less(c: dict[str, Any]) -> None:
    first(c)["messages"] = packed(unpacked(first(c)["messages"])[1:])


def a_bomb(c: dict[str, Any]) -> None:
    first(c)["messages"] = packed(np.zeros(10_000_000, np.int32))


def a_block_twice(c: dict[str, Any]) -> None:
    first(c)["blocks"][1] = first(c)["blocks"][0]


def a_block_that_is_none(c: dict[str, Any]) -> None:
    first(c)["blocks"][0] = 7


def no_block(c: dict[str, Any]) -> None:
    first(c)["blocks"] = None


def no_text(c: dict[str, Any]) -> None:
    first(c)["messages"] = 3


def no_packed_text(c: dict[str, Any]) -> None:
    first(c)["messages"] = "not base64!"


def no_prices(c: dict[str, Any]) -> None:
    del first(c)["prices"]


@pytest.mark.parametrize(
    "tamper, reason",
    [
        (no_messages, "not below|leaves out counts"),
        (one_message_less, "packed integers"),
        (a_bomb, "packed integers"),
        (a_block_twice, "a block twice"),
        (a_block_that_is_none, "blocks that do not exist"),
        (no_block, "blocks that do not exist"),
        (no_text, "packed integers"),
        (no_packed_text, "packed integers"),
        (no_prices, "wrong length"),
    ],
)
def test_forged_messages_are_noticed(
    proof: dict[str, Any], tamper: Callable[[dict[str, Any]], None], reason: str
) -> None:
    forged = copy.deepcopy(proof)
    tamper(forged)
    with pytest.raises(CertificateError, match=reason):
        verify(forged, CORPUS.strings)


def test_huge_messages_are_refused() -> None:
    corpus = TagSentences.from_tags([["A", "B"]] + [["A", "B", "A"]] * 3 + [["B", "A"]])
    found = induce_globally(corpus, epsilon=1e-4, options=CountOptions(first_restarts=5))
    certificate = json.loads(json.dumps(found.certificate))

    for m in certificate["multipliers"]:
        if isinstance(m, dict):
            m["messages"] = packed(np.full_like(unpacked(m["messages"]), 2**31 - 1))
    verify(certificate, corpus.strings)  # all alike: they cancel, and nothing overflows


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("enumerate_up_to", [8, 3])
def test_a_search_stopped_after_any_node_proves_what_it_says(seed: int, enumerate_up_to: int) -> None:
    corpus = tiny(seed, sentences=4)
    options = CountOptions(first_restarts=1, restarts=0, sweeps=1, enumerate_up_to=enumerate_up_to)
    search = CountSearch(InductionTask(corpus), options=options)
    for hurry in (
        True,
        True,
        False,
        False,
        False,
        False,
    ):  # in a hurry the bound of a node may be worse than the one that it has
        search.run(epsilon=0.0, node_limit=1, time_limit=1e-9 if hurry else None)
        if search.nodes:
            proved = verify(json.loads(json.dumps(search.certificate())), corpus.strings)
            assert proved.upper == search.upper / SCALE


def test_a_node_begins_with_the_better_of_prices_and_inherited_messages() -> None:
    corpus = tiny(0, sentences=4)
    search = CountSearch(InductionTask(corpus), options=CountOptions(first_restarts=1, restarts=0))
    search.run(epsilon=0.0, node_limit=0)
    begun: list[Any] = []
    given, kernel = search.messages.improved, search.messages.kernel

    def improved(box: native.CountBox, start: Any, **rest: Any) -> Any:
        begun.append(
            kernel.improve(
                search.problem,
                box,
                start.prices,
                start.values,
                threshold=-(2**60),
                most_sweeps=0,
                precision=0.0,
                seconds=1.0,
            ).bound
        )
        return given(box, start, **rest)

    search.messages.improved = improved  # type: ignore[method-assign]
    (root,) = search.open
    by_prices = search._by_prices(root.box, None)
    poor = search.messages.of_prices(np.zeros(search.problem.coordinates, np.int64))
    root.messages = poor  # its bound, 0, is worse than that of prices
    search._expand(search._pop())
    assert begun[0] <= by_prices.bound + 2**17


@pytest.mark.parametrize("seed", range(4))
def test_splits_that_are_tried_lead_to_the_same_optimum(seed: int) -> None:
    corpus = tiny(seed, sentences=4)
    options = CountOptions(first_restarts=1, restarts=0, candidates=4, trial_sweeps=2)
    found = induce_globally(corpus, epsilon=1e-3, options=options)
    assert found.lower <= brute_force(corpus) + 1e-9 <= found.upper + 2e-9
    verify(json.loads(json.dumps(found.certificate)), corpus.strings)
