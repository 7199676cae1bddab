"""Model files of neural parsers: what is written is read, in every precision; what is damaged is told in one
sentence."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from arcwise.cli.main import run
from arcwise.errors import ModelError
from arcwise.learning.model_file import Packed, read_model, write_model
from arcwise.models import open_model
from arcwise.neural import NeuralParser
from arcwise.parsing import ParseOptions
from contracts.small_treebank import small_treebank
from neural.random_models import random_model, random_parser

CONFIDENT = ParseOptions(confidence=True, alternatives=2)


def test_float32_files_parse_to_the_same_bytes(tmp_path: Path) -> None:
    for options in ({}, {"members": 2}, {"clusters": 2}, {"labelled": False}, {"learns": ("upos",)}):
        parser = random_parser(**options).with_temperatures(1.5, 0.7, 0.1)  # type: ignore[arg-type]
        parser.save(tmp_path / "m")
        again = open_model(tmp_path / "m")
        parsed = [one.parse(small_treebank(), options=CONFIDENT).data for one in (parser, again)]
        assert parsed[0] == parsed[1]
        assert again.info["precision"] == "float32"
        assert again.info["bytes"] == (tmp_path / "m").stat().st_size


def test_8_bit_weights_are_what_they_are_whenever_they_were_rounded(tmp_path: Path) -> None:
    """In memory, in the file, and saved once more in whatever precision."""
    parser = random_parser(members=2)
    rounded = NeuralParser(parser.model.quantised())
    assert rounded.model.is_8_bit
    assert not parser.model.is_8_bit
    parsed = rounded.parse(small_treebank(), options=CONFIDENT).data
    parser.save(tmp_path / "a", precision="int8")
    read = open_model(tmp_path / "a")
    assert read.parse(small_treebank(), options=CONFIDENT).data == parsed
    for precision in ("float32", "float16", "int8"):
        read.save(tmp_path / "b", precision=precision)  # type: ignore[arg-type]
        assert open_model(tmp_path / "b").parse(small_treebank(), options=CONFIDENT).data == parsed
        assert open_model(tmp_path / "b").info["precision"] == "int8"


def test_8_bits_are_near_and_smaller(tmp_path: Path) -> None:
    parser = random_parser(hidden=32, word_size=64)
    sizes, arcs = {}, {}
    for precision in ("float32", "float16", "int8"):
        parser.save(tmp_path / precision, precision=precision)  # type: ignore[arg-type]
        sizes[precision] = (tmp_path / precision).stat().st_size
        read: Any = open_model(tmp_path / precision)
        arcs[precision] = np.concatenate(
            [m[..., 1:].ravel() for m in read.distributions(small_treebank()).marginals]
        )
    assert sizes["int8"] < sizes["float16"] < sizes["float32"]
    assert np.abs(arcs["float16"] - arcs["float32"]).max() < 0.02
    assert np.abs(arcs["int8"] - arcs["float32"]).max() < 0.25


def test_temperatures_are_in_the_weights_of_networks() -> None:
    """And not in those of the model: what is fitted again is fitted anew."""
    model = random_model()
    warm = NeuralParser(model).with_temperatures(2.0, 0.5, 0.1)
    assert (warm.fitted.heads, warm.fitted.labels) == (2.0, 0.5)
    assert (warm.temperatures.heads, warm.temperatures.labels, warm.temperatures.smoothing) == (1, 1, 0.1)
    back = warm.with_temperatures(1.0, 1.0)
    parsed = [one.parse(small_treebank(), options=CONFIDENT).data for one in (NeuralParser(model), back)]
    assert parsed[0] == parsed[1]


@pytest.mark.parametrize("options", [{}, {"bits": 8}, {"members": 2}, {"labelled": False}, {"order": 2}])
def test_temperatures_divide_arcs_and_labels_each_by_their_own(options: dict[str, Any]) -> None:
    """By the definition: the log weight of an arc by that of heads, log P(label | arc) by that of labels,
    normalised again."""
    parser = random_parser(**options)
    warm = parser.with_temperatures(2.0, 0.4)
    for one, other in zip(_dense(parser), _dense(warm), strict=True):
        there = np.isfinite(_log_sum(one))
        arcs, warm_arcs = _log_sum(one)[there], _log_sum(other)[there]
        np.testing.assert_allclose(warm_arcs, arcs / 2.0, atol=1e-4)
        if parser.labels:
            log_p = (one[:, there] - arcs) / 0.4
            np.testing.assert_allclose(other[:, there] - warm_arcs, log_p - _log_sum(log_p), atol=1e-4)


def _dense(parser: NeuralParser) -> list[np.ndarray]:
    """(labels, n+1, n+1), with one label where there are none."""
    found = parser.scorer.scores(small_treebank(), trees=parser.decoding.trees).dense_arrays()
    return [scores if scores.ndim == 3 else scores[None] for scores in found]


def _log_sum(scores: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.log(np.exp(scores).sum(axis=0))


# ---- damaged ones

Damage = Callable[[dict[str, Any], dict[str, Any]], None]


def _set(name: str, value: Any) -> Damage:
    return lambda header, arrays: header.__setitem__(name, value)


def _array(name: str, change: Callable[[np.ndarray], Any]) -> Damage:
    def damage(header: dict[str, Any], arrays: dict[str, Any]) -> None:
        arrays[name] = change(np.array(arrays[name]))

    return damage


def _without(name: str) -> Damage:
    return lambda header, arrays: (header if name in header else arrays).__delitem__(name)


def _with(values: np.ndarray, number: float) -> np.ndarray:
    values.flat[0] = number
    return values


ARC = "member.0.arc.product"
DAMAGES: dict[str, tuple[Damage, str]] = {
    "an array is missing": (_without(ARC), "has no array 'arc.product'"),
    "a vocabulary is missing": (_without("values.1"), "has no array 'values.1'"),
    "a network is missing": (_set("members", 2), "has no array 'table.0'"),
    "no networks": (_set("members", 0), "members"),
    "another shape": (
        _array(ARC, lambda a: a[:, :-1]),
        r"array 'arc.product' has shape \(7, 6\), expected \(7, 7\)",
    ),
    "fewer labels": (lambda header, arrays: header["labels"].pop(), "array 'label.product' has shape"),
    "nan": (_array(ARC, lambda a: _with(a, np.nan)), "array 'arc.product' has values that are not finite"),
    "inf": (
        _array("member.0.table.0", lambda a: _with(a, np.inf)),
        "'table.0' has values that are not finite",
    ),
    "whole numbers": (_array(ARC, lambda a: a.astype(np.int64)), "arc.product"),
    "float64": (_array(ARC, lambda a: a.astype(np.float64)), ""),
    "bytes without scales": (
        _array("member.0.layer.0.forward.input", lambda a: a.astype(np.int8)),
        r"layer.0.forward.input",
    ),
    "bytes where none may be": (_array(ARC, lambda a: a.astype(np.int8)), "arc.product"),
    "another decoder": (_set("decoding", {"decode": "magic"}), "magic"),
    "no temperature": (_set("temperatures", {"heads": 0.0}), "temperature"),
    "nan temperature": (_set("temperatures", {"labels": float("nan")}), "temperature"),
    "an unknown atom": (_set("atoms", ["lower", "suffix2", "shape", "magic"]), "magic"),
    "an unknown option": (
        lambda header, arrays: header["config"].__setitem__("colour", "red"),
        "colour",
    ),
    "a bad option": (lambda header, arrays: header["config"].__setitem__("hidden", -1), "hidden"),
    "no configuration": (_without("config"), "config"),
    "no tags": (_set("tags", None), "damaged neural model"),
    "other tags": (_set("tags", {"names": ["upos"], "values": []}), "damaged neural model"),
    "writes what it has not learned": (_set("writes", ["upos"]), "writes"),
}


def damaged(path: Path, name: str) -> None:
    """A model file with that damage."""
    packed = random_model().pack()
    write_model(path, packed)  # through a file, so that the header is JSON
    packed = read_model(path)
    header, arrays = dict(packed.header), {key: np.array(values) for key, values in packed.arrays.items()}
    DAMAGES[name][0](header, arrays)
    write_model(path, Packed(packed.kind, packed.version, header, arrays))


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_model_is_told_in_one_sentence(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "m.arcwise"
    damaged(path, name)
    text = tmp_path / "in.conllu"
    small_treebank().write(text)
    status = run(["parse", str(text), "--model", str(path), "--output", str(tmp_path / "out.conllu")])
    told = capsys.readouterr().err
    if name == "float64":
        assert status == 0  # another way to write the same numbers
        return
    assert status == 2, told
    assert told.startswith(f"arcwise: {path}: ")
    assert told.count("\n") == 1
    assert not (tmp_path / "out.conllu").exists()
    with pytest.raises(ModelError, match=DAMAGES[name][1]):
        open_model(path).parse(small_treebank())


@pytest.mark.parametrize("change", ["missing", "shape", "nan"])
def test_scales_of_8_bit_weights_are_checked_too(change: str, tmp_path: Path) -> None:
    packed = random_model().quantised().pack()
    arrays = dict(packed.arrays)
    name = "member.0.layer.0.forward.recurrent.scale"
    match change:
        case "missing":
            del arrays[name]
        case "shape":
            arrays[name] = arrays[name][:-1]
        case "nan":
            arrays[name] = np.full_like(arrays[name], np.nan)
    write_model(tmp_path / "m", replace(packed, arrays=arrays))
    with pytest.raises(ModelError, match=r"layer.0.forward.recurrent"):
        open_model(tmp_path / "m").parse(small_treebank())


def test_another_version_is_refused(tmp_path: Path) -> None:
    packed = random_model().pack()
    write_model(tmp_path / "m", replace(packed, version=packed.version + 1))
    with pytest.raises(ModelError, match=r"found version \d+ of a neural model, expected \d+"):
        open_model(tmp_path / "m")


def test_a_cut_file_is_refused(tmp_path: Path) -> None:
    random_parser().save(tmp_path / "m")
    data = (tmp_path / "m").read_bytes()
    (tmp_path / "m").write_bytes(data[: len(data) // 2])
    with pytest.raises(ModelError, match="is not an arcwise model, or is damaged"):
        open_model(tmp_path / "m")
