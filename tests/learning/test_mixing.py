"""Iterative parameter mixing: a cell becomes the mean of what the trainers made of it; of one trainer, it is
what that made of it."""

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from arcwise import native
from arcwise.engine import Processes, ThisProcess
from arcwise.learning.parameter_mixing import MixingTrainer, PartTraining, changes, split_epoch
from reference.mixing import mixed

SIXTEENTHS = st.integers(-64, 64).map(lambda n: n / 16)
"""Sums of these are exact, in any order."""


@st.composite
def tables(draw: st.DrawFn) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """A table, and what each of some trainers made of it."""
    shape = draw(st.integers(1, 6)), draw(st.integers(1, 40))
    table = draw(arrays.arrays(np.float32, shape[1:], elements=SIXTEENTHS))
    made = draw(arrays.arrays(np.float32, shape, elements=SIXTEENTHS))
    kept = draw(arrays.arrays(np.bool_, shape))
    return table, np.where(kept, table, made)


@pytest.mark.slow
@given(case=tables(), threads=st.integers(1, 3))
def test_a_cell_becomes_the_mean(
    case: tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]], threads: int
) -> None:
    table, made = case
    told = [changes([own], [table])[0] for own in made]
    assert all((own[places] == values).all() for own, (places, values) in zip(made, told, strict=True))
    assert all(
        (np.flatnonzero(own != table) == places).all() for own, (places, _) in zip(made, told, strict=True)
    )
    expected = made.astype(np.float64).mean(axis=0).astype(np.float32)
    native.mix_table(table, [p for p, _ in told], [values for _, values in told], threads=threads)
    assert (table == expected).all()


def test_large_tables_are_mixed_the_same_by_any_number_of_threads() -> None:
    random = np.random.default_rng(1)
    start = random.normal(size=200_000).astype(np.float32)
    made = np.stack(
        [start + random.normal(size=start.size) * (random.random(start.size) < 0.3) for _ in range(5)]
    )
    made = made.astype(np.float32)
    found = []
    for threads in (1, 4):
        table = start.copy()
        told = [changes([own], [start])[0] for own in made]
        native.mix_table(table, [p for p, _ in told], [values for _, values in told], threads=threads)
        found.append(table)
    assert (found[0] == found[1]).all()
    assert (found[0] == made.astype(np.float64).mean(axis=0).astype(np.float32)).all()


def test_tables_of_one_size_change_together() -> None:
    before = [np.zeros(4, np.float32), np.zeros(4, np.float32), np.zeros(2, np.float32)]
    now = [table.copy() for table in before]
    now[0][1], now[1][3] = 5, 7
    told = changes(now, before)
    assert [places.tolist() for places, _ in told] == [[1, 3], [1, 3], []]
    assert [values.tolist() for _, values in told] == [[5, 0], [0, 7], []]


@pytest.mark.parametrize("places, values", [([2, 1], [1, 1]), ([9], [1]), ([1], [1, 2])])
def test_changes_that_make_no_sense_are_refused(places: list[int], values: list[int]) -> None:
    table = np.zeros(4, np.float32)
    with pytest.raises(ValueError, match="places in order, in the table, and a value for each"):
        native.mix_table(table, [np.array(places, np.uint32)], [np.array(values, np.float32)])
    with pytest.raises(ValueError, match="places and values of each trainer"):
        native.mix_table(table, [], [])


@given(sentences=st.integers(0, 40), parts=st.integers(1, 50))
def test_every_sentence_is_dealt_out_once(sentences: int, parts: int) -> None:
    order = np.random.default_rng(1).permutation(sentences).astype(np.int64)
    found = split_epoch(3, order, parts)
    assert sorted(np.concatenate([part.order for part in found]).tolist()) == list(range(sentences))
    assert len(found) == max(1, min(parts, sentences))
    assert max(len(part.order) for part in found) - min(len(part.order) for part in found) <= 1


@dataclass
class Counting:
    """A trainer whose steps depend on all that it has learned so far; it learns sentence 3 twice as fast."""

    weight: npt.NDArray[np.float32] = field(default_factory=lambda: np.zeros(8, np.float32))
    squares: npt.NDArray[np.float32] = field(default_factory=lambda: np.ones(3, np.float32))
    steps: float = 1.0
    finished: bool = False

    @property
    def tables(self) -> list[npt.NDArray[np.float32]]:
        return [self.weight, self.squares]

    @property
    def weights(self) -> npt.NDArray[np.float32]:
        return self.weight

    def epoch(self, number: int, order: npt.NDArray[np.int64], advance: object) -> dict[str, float]:
        for sentence in order:
            self.squares[sentence % 3] += self.weight[sentence % 8] ** 2
            self.weight[sentence % 8] += (2 if sentence == 3 else 1) / self.squares[sentence % 3] / self.steps
            self.steps += 1
        return {"loss": float(self.weight.sum()), "epoch": float(number)}


def run(
    parts: int, engine: ThisProcess | Processes, orders: list[npt.NDArray[np.int64]]
) -> tuple[Counting, list[object]]:
    own = Counting()
    with engine.pool(PartTraining(Counting)) as pool:
        trainer = MixingTrainer(own, pool, parts=parts, threads=1)
        told: list[object] = [
            trainer.epoch(number, order, lambda _: None) for number, order in enumerate(orders, 1)
        ]
    assert (trainer.weights == own.weight).all()
    return own, told


ORDERS = [np.random.default_rng(epoch).permutation(20).astype(np.int64) for epoch in range(4)]


def test_one_part_is_plain_training_to_the_bit() -> None:
    plain = Counting()
    told = [plain.epoch(number, order, None) for number, order in enumerate(ORDERS, 1)]
    found, also_told = run(1, ThisProcess(), ORDERS)
    assert all((a == b).all() for a, b in zip(plain.tables, found.tables, strict=True))
    assert (plain.steps, told) == (found.steps, also_told)


@pytest.mark.slow
@pytest.mark.parametrize("parts", [2, 3, 7])
@pytest.mark.parametrize("engine", [ThisProcess(), Processes(2)], ids=str)
def test_several_parts_are_the_slow_twin_to_the_bit(parts: int, engine: ThisProcess | Processes) -> None:
    twin, told = mixed(Counting, ORDERS, parts)
    found, also_told = run(parts, engine, ORDERS)
    assert all((a == b).all() for a, b in zip(twin.tables, found.tables, strict=True))
    assert (twin.steps, told) == (found.steps, also_told)
