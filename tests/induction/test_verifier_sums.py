"""The loops of the verifier, held to their definition."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from arcwise import native
from arcwise.induction.verifier.bounds import _share

NOTHING = -(2**29)


def instance(seed: int) -> tuple[np.ndarray, tuple[int, ...], np.ndarray, np.ndarray]:
    """Sums, the shape of the sums after, shifts and prices."""
    rng = np.random.default_rng(seed)
    dimensions = int(rng.integers(1, 4))
    shape = tuple(rng.integers(1, 6, dimensions).tolist())
    shifts = rng.integers(0, 4, (int(rng.integers(1, 5)), dimensions))
    to = tuple((np.array(shape) + shifts.max(axis=0) + rng.integers(0, 2, dimensions)).tolist())
    sums = rng.integers(-1000, 1000, shape).astype(np.int32)
    sums[rng.random(shape) < 0.2] = NOTHING
    return sums, to, shifts, rng.integers(-500, 500, len(shifts)).astype(np.int32)


@pytest.mark.parametrize("seed", range(40))
def test_sums_are_what_they_are_defined_as(seed: int) -> None:
    sums, to, shifts, prices = instance(seed)
    wanted = np.full(to, NOTHING, np.int32)
    after = np.random.default_rng(seed + 1000).integers(-1000, 1000, to).astype(np.int32)
    both = np.full(sums.shape, NOTHING, np.int32)
    found = np.full(len(shifts), -(2**31), np.int64)
    for cell in itertools.product(*(range(n) for n in sums.shape)):
        for v, (shift, price) in enumerate(zip(shifts, prices.tolist(), strict=True)):
            place = tuple((np.array(cell) + shift).tolist())
            wanted[place] = max(wanted[place], sums[cell] - price)
            both[cell] = max(both[cell], after[place] - price)
            found[v] = max(found[v], int(sums[cell]) + int(after[place]) - price)
    flat = shifts.ravel()
    got = native.verifier_sums_added(sums.ravel(), sums.shape, to, flat, prices, NOTHING)
    np.testing.assert_array_equal(got.reshape(to), wanted)
    best, rest = native.verifier_sums_given(
        sums.ravel(), after.ravel(), sums.shape, to, flat, prices, NOTHING
    )
    np.testing.assert_array_equal(best, found)
    np.testing.assert_array_equal(rest.reshape(sums.shape), both)


def test_what_does_not_fit_is_refused() -> None:
    sums, price = np.zeros(4, np.int32), np.zeros(1, np.int32)
    far, back, near = np.array([3]), np.array([-1]), np.array([2])
    assert len(native.verifier_sums_added(sums, (4,), (6,), near, price, NOTHING)) == 6
    for shape, to, shifts in [
        ((4,), (6,), far),
        ((4,), (6,), back),
        ((4,), (3,), near),
        ((4,), (6, 1), near),
        ((), (), near),
    ]:
        with pytest.raises(ValueError, match="shifts"):
            native.verifier_sums_added(sums, shape, to, shifts, price, NOTHING)
    with pytest.raises(ValueError, match="as many sums"):
        native.verifier_sums_added(sums, (5,), (7,), near, price, NOTHING)
    with pytest.raises(ValueError, match="as many sums"):
        native.verifier_sums_given(sums, sums, (4,), (6,), near, price, NOTHING)


@pytest.mark.parametrize("largest", [3, 2**20])
def test_the_shares_of_sentences_are_their_different_rows_in_order(largest: int) -> None:
    """Whether or not a number of 62 bits holds a row."""
    random = np.random.default_rng(largest)
    rows = random.integers(0, largest, (5, 4))[random.integers(0, 5, 40)]
    share = _share(rows)
    different, numbers = np.unique(rows, axis=0, return_inverse=True)
    assert (share.vectors == different).all()
    assert (share.of_parse == numbers.ravel()).all()
    assert (share.vectors[share.of_parse] == rows).all()
