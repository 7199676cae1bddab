"""Scheduling: each item runs, in order, whatever workers do; it fails only if its worker died too often."""

import random
from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arcwise.engine.dispatch import AHEAD, ATTEMPTS, Died, Dispatcher, Done, Event, Ready
from arcwise.errors import WorkerError


class Pretended:
    """Workers of a game of chance: any one of them may be the next to be ready, done or dead."""

    def __init__(self, seed: int, *, deaths: int = 0, chance: float = 0.5, lethal: object = None) -> None:
        self.random, self.deaths, self.chance, self.lethal = random.Random(seed), deaths, chance, lethal
        self.starting: set[int] = set()
        self.idle: set[int] = set()
        self.held: dict[int, object] = {}
        self.given: list[tuple[int, object]] = []

    def start(self, place: int) -> None:
        assert place not in self.starting | self.idle | self.held.keys()
        self.starting.add(place)

    def post(self, common: object) -> None:
        self.common = common

    def give(self, place: int, item: object, *, with_common: bool) -> None:
        item = (self.common, item) if with_common else item
        self.idle.remove(place)
        self.held[place] = item
        self.given.append((place, item))

    def wait(self) -> Sequence[Event]:
        places = sorted(self.starting | self.held.keys())
        assert places, "nothing would ever happen"
        place = self.random.choice(places)
        if self.deaths and self.random.random() < self.chance:
            self.deaths -= 1
            victim = self.random.choice(sorted(self.starting | self.idle | self.held.keys()))
            return [self._dead(victim)]
        if place in self.starting:
            self.starting.remove(place)
            self.idle.add(place)
            return [Ready(place)]
        if self.held[place] == self.lethal:
            return [self._dead(place)]
        self.idle.add(place)
        return [Done(place, ("did", self.held.pop(place)))]

    def _dead(self, place: int) -> Died:
        self.starting.discard(place)
        self.idle.discard(place)
        self.held.pop(place, None)
        return Died(place, "signal 9")

    def stop(self) -> None:
        self.starting.clear()
        self.idle.clear()
        self.held.clear()


@given(
    seed=st.integers(0, 10**6),
    most=st.integers(1, 5),
    items=st.integers(0, 30),
    deaths=st.integers(0, ATTEMPTS - 1),
    ordered=st.booleans(),
)
def test_every_item_is_done_whoever_dies(
    seed: int, most: int, items: int, deaths: int, ordered: bool
) -> None:
    pool = Dispatcher(Pretended(seed, deaths=deaths), most)
    for _ in range(2):
        found = list(pool.map(iter(range(items)), ordered=ordered))
        assert (found if ordered else sorted(found)) == [("did", item) for item in range(items)]


@given(seed=st.integers(0, 10**6), most=st.integers(1, 5), lethal=st.integers(0, 9))
def test_an_item_that_kills_is_tried_so_often_and_named(seed: int, most: int, lethal: int) -> None:
    workers = Pretended(seed, lethal=lethal)
    results = Dispatcher(workers, most).map(range(10))
    died = f"its worker died {ATTEMPTS} times, the last time with signal 9"
    told = rf"item {lethal + 1} of 10 \({lethal}\): {died}"
    found = []
    with pytest.raises(WorkerError, match=told):
        found.extend(results)
    assert found == [("did", item) for item in range(lethal)]
    assert [item for _, item in workers.given].count(lethal) == ATTEMPTS
    assert not workers.held


def test_each_worker_gets_the_item_that_it_had() -> None:
    workers = Pretended(1)
    pool = Dispatcher(workers, 4)
    list(pool.map(range(4)))
    list(pool.map(range(40)))  # all have started
    workers.given.clear()
    for _ in range(3):
        list(pool.map(range(4)))
    assert set(workers.given) == {(place, place) for place in range(4)}


def test_items_are_taken_as_they_are_needed() -> None:
    taken = []

    def items() -> Iterator[int]:
        for number in range(10**9):
            taken.append(number)
            yield number

    for ordered in (True, False):
        taken.clear()
        results = Dispatcher(Pretended(1), 2).map(items(), ordered=ordered)
        for _ in range(5):
            next(results)
        assert len(taken) <= 2 * AHEAD + 5


@given(seed=st.integers(0, 10**6), most=st.integers(1, 5))
def test_an_item_is_drawn_for_a_worker_that_has_none(seed: int, most: int) -> None:
    workers = Pretended(seed)
    drawn: list[int] = []

    def items() -> Iterator[int]:
        for number in range(30):
            assert len(workers.held) < most
            drawn.append(number)
            yield number

    for done, _ in enumerate(Dispatcher(workers, most).map(items(), ordered=False)):
        assert len(drawn) - done <= 2 * most
    assert len(drawn) == 30


def test_no_more_workers_are_started_than_there_are_items() -> None:
    workers = Pretended(1)
    list(Dispatcher(workers, 8).map(range(3)))
    assert len(workers.idle | workers.starting) <= 3


def test_who_stops_asking_ends_what_is_held_and_may_ask_again() -> None:
    workers = Pretended(1)
    pool = Dispatcher(workers, 2)
    results = pool.map(range(100))
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert not workers.held
    assert len(list(pool.map(range(9)))) == 9


def test_workers_that_die_as_they_start_are_an_error() -> None:
    with pytest.raises(WorkerError, match=r"workers fail to start \(signal 9\)"):
        list(Dispatcher(Pretended(1, deaths=10**6, chance=1.0), 2).map([1]))
