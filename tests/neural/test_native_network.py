"""``native.NeuralNetwork`` against its numpy twin, on every instruction set of this machine."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from arcwise import native
from arcwise.treebanks import Treebank
from contracts.small_treebank import conllu, small_treebank
from neural.slow_network import SlowNetwork, in_bytes, is_matrix, random_network

ATOMS = {"lower": 9, "prefix2": 3, "suffix3": 5, "shape": 4, "upos": 6, "xpos": 2, "feats.Case": 3}
SHAPES: dict[str, dict[str, Any]] = {
    "labels and tags": {"tags": (4, 33)},
    "one layer": {"layers": 1, "units": 5, "labels": 1},
    "wide": {"layers": 3, "units": 37, "arc_size": 33, "label_size": 17, "labels": 70, "tags": (1,)},
    "clusters": {"clusters": 3, "labels": 6, "units": 16},
    "no labels": {"labels": 0, "tags": (3,)},
    "siblings": {"sibling_size": 19, "tags": (3,)},
    "siblings, wide": {"sibling_size": 40, "layers": 1, "units": 37, "labels": 0},
}
Instructions = pytest.mark.parametrize("instructions", native.neural_instructions())
Precisions = pytest.mark.parametrize("precision", ["float32", "int8"])


@pytest.fixture(scope="module")
def treebank() -> Treebank:
    """The small treebank; words that most vocabularies below do not have; a sentence of one word; columns
    without anything."""
    odd = conllu(["Qwxz/X/0/root", "Ω/_/2/dep 🦆/NOUN/0/root ./_/2/punct"])
    return Treebank.from_string(small_treebank(crossing=True).data.decode() + odd)


@pytest.fixture(scope="module", params=SHAPES)
def arguments(request: pytest.FixtureRequest, treebank: Treebank) -> dict[str, Any]:
    return random_network(ATOMS, treebank, seed=3, values=12, scale=1.5, **SHAPES[request.param])


def flat(parts: list[np.ndarray]) -> np.ndarray:
    return np.concatenate([np.asarray(part).ravel() for part in parts])


@Instructions
@Precisions
def test_every_part_is_that_of_the_twin(arguments, treebank, instructions: str, precision: str) -> None:
    slow = SlowNetwork(**arguments, precision=precision)
    fast = native.NeuralNetwork(**arguments, precision=precision, instructions=instructions)
    assert fast.instructions == instructions
    where = treebank.layout, treebank.data
    states = [slow.states(rows) for rows in slow.rows(treebank)]
    np.testing.assert_allclose(fast.states(*where), flat(states), atol=2e-6)
    np.testing.assert_allclose(fast.arcs(*where), flat([slow.arcs(s) for s in states]), atol=1e-5)
    if arguments["labels"]:
        expected = [slow.label_scores(s) for s in states]
        for own in expected:
            own[:, 0] = 0
        np.testing.assert_allclose(fast.labels(*where), flat(expected), atol=2e-5)
    else:
        assert len(fast.labels(*where)) == 0
    siblings = [slow.siblings(s) for s in states] if arguments["order"] == 2 else [np.empty(0)]
    np.testing.assert_allclose(fast.siblings(*where), flat(siblings), atol=1e-5)
    found = fast.tags(*where, threads=1)
    assert len(found) == arguments["tags"]
    for t, (codes, probabilities) in enumerate(found):
        classes = np.vstack([slow.classes(s, t) for s in states])
        np.testing.assert_array_equal(codes, classes.argmax(axis=1))
        np.testing.assert_allclose(probabilities, classes.max(axis=1), atol=1e-5)


@Instructions
@Precisions
def test_scores_are_those_of_the_twin(arguments, treebank, instructions: str, precision: str) -> None:
    """Of arcs with labels, clusters summed out; the labels of an arc sum up to its score."""
    slow = SlowNetwork(**arguments, precision=precision)
    fast = native.NeuralNetwork(**arguments, precision=precision, instructions=instructions)
    batch = fast.scores(treebank.layout, treebank.data, threads=1)
    assert (batch.labels, batch.clusters) == (arguments["labels"], arguments["clusters"])
    found, weights, at, arc = batch.by_label(1.0), batch.arc_weights(1.0, 0.0, 1), 0, 0
    for rows in slow.rows(treebank):
        states = slow.states(rows)
        own = np.exp(slow.scores(states))
        n, labels = len(rows), max(arguments["labels"], 1)
        expected = np.log(own.reshape(n, n, labels, -1).sum(axis=-1)).transpose(2, 0, 1)
        allowed = ~np.eye(n, dtype=bool)
        allowed[:, 0] = False
        given = found[at : at + expected.size].reshape(expected.shape)
        np.testing.assert_allclose(given[:, allowed], expected[:, allowed], atol=3e-5)
        assert (given[:, ~allowed] == -np.inf).all()
        np.testing.assert_allclose(
            weights[arc : arc + n * n].reshape(n, n)[allowed], slow.arc_scores(states)[allowed], atol=2e-5
        )
        at, arc = at + expected.size, arc + n * n
    assert at == len(found)


@Instructions
def test_rounding_beforehand_gives_the_same_network(arguments, treebank, instructions: str) -> None:
    rounded: dict[str, np.ndarray] = {}
    for name, array in arguments["arrays"].items():
        if is_matrix(name):
            rounded[name], rounded[f"{name}.scale"] = native.quantised(array)
            twin, scale = in_bytes(array)
            np.testing.assert_array_equal(rounded[name], twin)
            np.testing.assert_array_equal(rounded[f"{name}.scale"], scale)
            assert rounded[f"{name}.scale"].shape == array.shape[:-1]
        else:
            rounded[name] = array
    one = native.NeuralNetwork(**arguments, precision="int8", instructions=instructions)
    two = native.NeuralNetwork(
        **(arguments | {"arrays": rounded}), precision="int8", instructions=instructions
    )
    wide = native.NeuralNetwork(**(arguments | {"arrays": rounded}), instructions=instructions)
    where = treebank.layout, treebank.data
    for look in ("states", "arcs", "labels", "siblings"):
        np.testing.assert_array_equal(getattr(one, look)(*where), getattr(two, look)(*where))
    twin = SlowNetwork(**arguments, precision="int8")
    plain = {name: twin.number(name).astype(np.float32) for name in arguments["arrays"]}
    same = native.NeuralNetwork(**(arguments | {"arrays": plain}), instructions=instructions)
    np.testing.assert_allclose(wide.arcs(*where), same.arcs(*where), atol=1e-6)


def test_a_row_of_zeros_is_rounded_to_zeros() -> None:
    numbers, scales = native.quantised(np.zeros((2, 3), np.float32))
    assert (numbers == 0).all()
    assert (scales == 1).all()
    with pytest.raises(ValueError, match="without rows"):
        native.quantised(np.zeros((2, 0), np.float32))


def test_eight_bits_stay_near_float32(treebank: Treebank) -> None:
    """Weights about as large as training leaves them: outputs of the encoder within 0.04, arcs within 6 % and
    labels within 4 % of their spread (root of the mean square). Random scores have nothing to say; what it
    costs a trained parser is measured elsewhere."""
    arguments = random_network(
        ATOMS, treebank, seed=5, units=64, arc_size=48, label_size=32, labels=20, scale=2.0
    )
    where = treebank.layout, treebank.data
    wide = native.NeuralNetwork(**arguments)
    narrow = native.NeuralNetwork(**arguments, precision="int8")
    assert np.abs(wide.states(*where) - narrow.states(*where)).max() < 0.04
    for look, share in (("arcs", 0.06), ("labels", 0.04)):
        expected = getattr(wide, look)(*where)
        apart = getattr(narrow, look)(*where) - expected
        assert 0 < np.sqrt((apart**2).mean()) < share * expected.std()


@Precisions
def test_instruction_sets_give_the_same(arguments, treebank, precision: str) -> None:
    """AVX2 and AVX-512 to the bit but for sums over labels; the baseline, which rounds products, nearly, and
    in 8 bits up to one step of rounding (1/127) here and there."""
    where = treebank.layout, treebank.data
    networks = {
        name: native.NeuralNetwork(**arguments, precision=precision, instructions=name)
        for name in native.neural_instructions()
    }
    base = networks.pop("baseline")
    for network in networks.values():
        apart = np.abs(network.states(*where) - base.states(*where))
        assert apart.max() < (1e-5 if precision == "float32" else 0.02)
        assert (apart > 1e-5).mean() < 0.01
    if {"avx2", "avx512"} <= set(networks):
        for look in ("states", "arcs", "labels"):
            np.testing.assert_array_equal(
                getattr(networks["avx2"], look)(*where), getattr(networks["avx512"], look)(*where)
            )


def test_what_vocabularies_do_not_have_is_the_unknown_row(treebank: Treebank) -> None:
    """Forms, absent columns and the root have rows of their own: each changes what it should, and nothing
    else."""
    arguments = random_network({"lower": 4, "xpos": 3}, treebank, seed=2, values=0)
    where = treebank.layout, treebank.data
    before = native.NeuralNetwork(**arguments).states(*where)
    arrays = arguments["arrays"]
    for name, row, changes in (("table.0", 0, True), ("table.0", 1, False), ("table.1", 0, False)):
        other = arrays | {name: arrays[name].copy()}
        other[name][row] += 1
        found = native.NeuralNetwork(**(arguments | {"arrays": other})).states(*where)
        assert (found != before).any() == changes
    for name, row in (("table.1", 1), ("table.0", 2), ("table.1", 2)):
        other = arrays | {name: arrays[name].copy()}
        other[name][row] += 1
        assert (native.NeuralNetwork(**(arguments | {"arrays": other})).states(*where) != before).any()


def test_the_words_of_a_part_may_be_more_than_are_kept() -> None:
    """A table too large for all its products to be made beforehand: those of the rest are made when they are
    needed."""
    count = 4000
    lemmas = "".join(
        f"{word + 1}\tx\tlemma{sentence * 20 + word}\tX\t_\t_\t0\troot\t_\t_\n" + ("\n" if word == 19 else "")
        for sentence in range(count // 20)
        for word in range(20)
    )
    treebank = Treebank.from_string(lemmas)
    units = 256  # 2048 gates: products of 2048 rows are kept
    arguments = random_network({"lemma": 2}, treebank, seed=1, units=units, layers=1, labels=0, arc_size=2)
    fast, slow = native.NeuralNetwork(**arguments), SlowNetwork(**arguments)
    found = fast.states(treebank.layout, treebank.data).reshape(-1, 21, 2 * units)
    rows = slow.rows(treebank)
    assert max(int(r.max()) for r in rows) > 2048
    for sentence in (0, 50, len(rows) - 1):
        np.testing.assert_allclose(found[sentence], slow.states(rows[sentence]), atol=1e-5)
