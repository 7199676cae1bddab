"""Model files: whole or not at all, memory-mapped, and an error of one sentence for anything else."""

from pathlib import Path

import numpy as np
import pytest

from arcwise.errors import ModelError
from arcwise.learning.model_file import Packed, read_model, write_model
from arcwise.models import open_model


def write(path: Path, kind: str = "graph", version: int = 1) -> None:
    arrays = {"w": np.arange(6, dtype=np.float16).reshape(2, 3), "e": np.empty(0)}
    write_model(path, Packed(kind, version, {"labels": ["ñ"]}, arrays))


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write(tmp_path / "m")
    model = read_model(tmp_path / "m")
    assert (model.kind, model.version, model.header["labels"]) == ("graph", 1, ["ñ"])
    assert model.array("w").tolist() == [[0, 1, 2], [3, 4, 5]]
    assert not model.array("w").flags.writeable
    assert model.size == (tmp_path / "m").stat().st_size


def test_kind_and_version_are_checked(tmp_path: Path) -> None:
    write(tmp_path / "m", "graph", 7)
    model = read_model(tmp_path / "m")
    with pytest.raises(ModelError, match="found a model of kind 'graph', expected 'transition'"):
        model.expect("transition", 7)
    with pytest.raises(ModelError, match="found version 7 of a graph model, expected 1"):
        model.expect("graph", 1)
    with pytest.raises(ModelError, match="has no array 'x'"):
        model.array("x")


@pytest.mark.parametrize("damage", ["cut", "noise", "empty", "text", "missing", "folder"])
def test_a_damaged_file_is_an_error_of_one_line(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "m"
    write(path)
    data = path.read_bytes()
    match damage:
        case "cut":
            path.write_bytes(data[:-5])
        case "noise":
            path.write_bytes(b"\xff" * 100)
        case "empty":
            path.write_bytes(b"")
        case "text":
            path.write_text("1\tword\n")
        case "missing":
            path.unlink()
        case "folder":
            path.unlink()
            path.mkdir()
    with pytest.raises(
        ModelError, match=r"m: (is not an arcwise model|no such model file|cannot be read)"
    ) as error:
        read_model(path)
    assert "\n" not in str(error.value)


def test_an_unknown_kind_is_named(tmp_path: Path) -> None:
    write(tmp_path / "m", "oracle")
    with pytest.raises(ModelError, match="found kind 'oracle', expected one of graph"):
        open_model(tmp_path / "m")
