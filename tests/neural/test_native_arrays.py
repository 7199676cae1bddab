"""What a network cannot be made from is refused, by the name of the array."""

from __future__ import annotations

import gc
import sys
from typing import Any

import numpy as np
import pytest

from arcwise import native
from contracts.small_treebank import small_treebank
from neural.slow_network import is_matrix, random_network

ARGUMENTS = random_network({"lower": 4, "upos": 3}, small_treebank(), seed=1, tags=(3,), clusters=2)
ARRAYS: dict[str, np.ndarray] = ARGUMENTS["arrays"]


def refused(match: str, arrays: dict[str, Any] | None = None, **others: Any) -> None:
    changed = ARGUMENTS | others | {"arrays": ARRAYS | (arrays or {})}
    with pytest.raises(ValueError, match=match):
        native.NeuralNetwork(**changed)


@pytest.mark.parametrize("name", ARRAYS)
def test_every_array_is_checked(name: str) -> None:
    array = ARRAYS[name]
    for wrong in (np.nan, np.inf, -np.inf):
        bad = array.copy()
        bad.flat[-1] = wrong
        refused(f"'{name}': found nan or inf", {name: bad})
    refused(f"'{name}': found shape", {name: array[None]})
    refused(r"array '.*': found shape \(.*\), expected \(.*\)", {name: np.concatenate([array, array])})
    refused(f"'{name}': expected an array of float32 or int8", {name: array.astype(np.float64)})
    refused(f"'{name}': expected an array of float32 or int8", {name: "weights"})
    without = {key: value for key, value in ARRAYS.items() if key != name}
    with pytest.raises(ValueError, match=f"'{name}': it is missing"):
        native.NeuralNetwork(**(ARGUMENTS | {"arrays": without}))


@pytest.mark.parametrize("name", ARRAYS)
def test_8_bit_arrays_are_checked(name: str) -> None:
    numbers, scales = native.quantised(ARRAYS[name])
    if not is_matrix(name):
        return refused(f"'{name}': found 8-bit numbers, expected float32", {name: numbers})
    refused(f"'{name}.scale': it is missing", {name: numbers})
    refused(f"'{name}.scale': found shape", {name: numbers, f"{name}.scale": scales[..., :-1].copy()})
    scales.flat[0] = np.nan
    refused(f"'{name}.scale': found nan", {name: numbers, f"{name}.scale": scales})


def test_arrays_may_lie_in_any_way() -> None:
    treebank = small_treebank()
    turned = {name: np.asfortranarray(array) for name, array in ARRAYS.items()}
    one = native.NeuralNetwork(**ARGUMENTS)
    two = native.NeuralNetwork(**(ARGUMENTS | {"arrays": turned}))
    where = treebank.layout, treebank.data
    np.testing.assert_array_equal(one.labels(*where), two.labels(*where))


def test_arrays_that_nobody_reads_are_refused() -> None:
    refused("'layer.2.forward.bias': the network has none", {"layer.2.forward.bias": np.zeros(4, np.float32)})
    refused("'tag.0.bias': the network has none", tags=0)


def test_the_plan_is_checked() -> None:
    refused("found atom 'lowr'", atoms=["lowr", "upos"])
    refused("vocabularies: expected one for each atom", vocabularies=ARGUMENTS["vocabularies"][:1])
    refused("atoms: expected at least one", atoms=[], vocabularies=[])
    refused("layers: expected at least 1", layers=0)
    refused("'layer.2.forward.recurrent': it is missing", layers=3)
    refused("labels, tags: expected at least 0", labels=-1)
    refused("labels: expected at most 65535", labels=70_000)
    refused("clusters: expected at least 1", clusters=0)
    refused("clusters: expected at least 1, and 1 without labels", labels=0)
    refused("'label.dependent': found shape", clusters=1)
    refused("precision: found 'int4', expected float32 or int8", precision="int4")
    refused("instructions: found 'mmx', expected baseline, avx2 or avx512", instructions="mmx")
    assert "baseline" in native.neural_instructions()
    for name in {"avx2", "avx512"} - set(native.neural_instructions()):
        refused(f"instructions: this machine has no {name}", instructions=name)


def test_tables_outlive_the_arrays_they_were_made_from() -> None:
    """8-bit tables are not copied: the network keeps their memory, whatever happens to the dictionary."""
    treebank = small_treebank()
    where = treebank.layout, treebank.data

    def arrays() -> dict[str, Any]:
        made: dict[str, Any] = dict(ARRAYS)
        for name in [name for name in ARRAYS if is_matrix(name)]:
            made[name], made[f"{name}.scale"] = native.quantised(ARRAYS[name])
        return made

    for lay_out in (np.ascontiguousarray, np.asfortranarray):
        given = {name: lay_out(array) for name, array in arrays().items()}
        references = [sys.getrefcount(given[f"table.0{end}"]) for end in ("", ".scale")]
        network = native.NeuralNetwork(**(ARGUMENTS | {"arrays": given, "precision": "int8"}))
        if lay_out is np.ascontiguousarray:
            assert [sys.getrefcount(given[f"table.0{end}"]) for end in ("", ".scale")] > references
        before = np.array(network.labels(*where))
        sizes = [array.nbytes for array in given.values()]
        del given
        gc.collect()
        written_over = [np.full(size, 77, np.uint8) for size in sizes for _ in range(4)]
        np.testing.assert_array_equal(network.labels(*where), before)
        del written_over, network


def test_float_tables_are_copied() -> None:
    """Training goes on to change them."""
    treebank = small_treebank()
    given = {name: array.copy() for name, array in ARRAYS.items()}
    network = native.NeuralNetwork(**(ARGUMENTS | {"arrays": given}))
    before = np.array(network.labels(treebank.layout, treebank.data))
    for array in given.values():
        array.fill(0)
    np.testing.assert_array_equal(network.labels(treebank.layout, treebank.data), before)
