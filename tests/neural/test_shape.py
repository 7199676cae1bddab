"""The sizes of a network: its arrays, flat and split again, and what is wrong with others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arcwise.errors import ModelError
from arcwise.neural.shape import NetworkShape
from neural.random_models import random_arrays

SHAPES = {
    "plain": NetworkShape(((5, 4),), layers=1, hidden=2, arc_size=3),
    "labels": NetworkShape(((5, 4), (6, 2)), 2, 3, 4, label_size=2, labels=3),
    "clusters": NetworkShape(((5, 4),), 1, 2, 3, label_size=2, labels=3, clusters=4),
    "tags": NetworkShape(((5, 4),), 1, 2, 3, 2, 3, 1, tags=(4, 7)),
    "siblings": NetworkShape(((5, 4),), 1, 2, 3, sibling_size=6),
}


@pytest.fixture(params=SHAPES.values(), ids=SHAPES)
def shape(request: pytest.FixtureRequest) -> NetworkShape:
    return request.param  # type: ignore[no-any-return]


def test_flat_and_split_are_each_others_reverse(shape: NetworkShape) -> None:
    arrays = random_arrays(shape, 1)
    flat = shape.flat(arrays)
    assert flat.size == sum(int(np.prod(size)) for size in shape.arrays.values())
    again = shape.split(flat)
    assert list(again) == list(shape.arrays)
    for name, size in shape.arrays.items():
        assert again[name].shape == size
        np.testing.assert_array_equal(again[name], arrays[name])
    np.testing.assert_array_equal(shape.flat(again), flat)


def test_arrays_of_what_there_is_and_no_others() -> None:
    assert not any(name.startswith(("label", "sibling")) for name in SHAPES["plain"].arrays)
    assert SHAPES["siblings"].arrays["sibling_inner.weight"] == (6, 4)
    assert SHAPES["siblings"].arrays["sibling.product"] == (6,)
    assert SHAPES["clusters"].arrays["label.product"] == (12, 2, 2)
    assert SHAPES["clusters"].states == 12
    assert SHAPES["tags"].arrays["tag.1.weight"] == (7, 4)
    two = SHAPES["labels"].arrays
    assert (two["layer.0.forward.input"], two["layer.1.backward.input"]) == ((12, 6), (12, 6))
    assert SHAPES["labels"].input_size == 6


@pytest.mark.parametrize("damage", ["missing", "shape", "nan", "inf"])
def test_each_array_is_checked(shape: NetworkShape, damage: str) -> None:
    whole: dict[str, Any] = random_arrays(shape, 1)
    shape.check(whole, "m")
    for name in shape.arrays:
        arrays = {key: values.copy() for key, values in whole.items()}
        match damage:
            case "missing":
                del arrays[name]
                message = rf"m: has no array '{name}'"
            case "shape":
                arrays[name] = arrays[name][..., None]
                message = rf"m: array '{name}' has shape .*, expected "
            case _:
                arrays[name].flat[-1] = float(damage)
                message = rf"m: array '{name}' has values that are not finite"
        with pytest.raises(ModelError, match=message):
            shape.check(arrays, "m")
