"""Compress checkpoints and transformers for a slow link, to half precision or 8 bits."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file, save, save_file


def compact_checkpoint(path: Path) -> bytes:
    """A checkpoint with averaged weights in half precision, without the moments of the optimiser."""
    from arcwise.learning.model_file import read_model

    packed = read_model(path)
    arrays = dict(packed.arrays)
    status = packed.header["told"][-1]
    last = f"best.{packed.header['member']}"
    kept = {"state.step", "state.random.cpu", "state.random.cuda", "state.average", *_bests(arrays)}
    if status["epoch"] == status["done"]:
        kept.discard(last)  # the same as the average
    halved = {
        name: values.astype("float16") if values.dtype.kind == "f" else values
        for name, values in arrays.items()
        if name in kept
    }
    return save(halved, {"header": json.dumps(packed.header)})


def expand_checkpoint(source: Path, target: Path) -> None:
    """Restore a compact checkpoint: training resumes from the averaged weights, with new moments."""
    from arcwise.learning.model_file import Packed, write_model
    from arcwise.neural.checkpoint import KIND, VERSION

    with safe_open(source, "numpy") as file:
        header = json.loads(file.metadata()["header"])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    arrays = {
        name: values.astype("float32") if values.dtype.kind == "f" else values
        for name, values in arrays.items()
    }
    average = arrays["state.average"]
    arrays |= {"state.weights": average, "state.first_moment": np.zeros_like(average)}
    arrays |= {"state.second_moment": np.zeros_like(average)}
    arrays.setdefault(f"best.{header['member']}", average)
    write_model(target, Packed(KIND, VERSION, header, arrays))


def _bests(arrays: Iterable[str]) -> list[str]:
    return [name for name in arrays if name.startswith("best.")]


def shrink_encoder(source: Path, target: Path) -> None:
    """Copy the folder of a transformer with 8-bit word embeddings and half-precision weights."""
    target.mkdir(parents=True)
    arrays = {}
    for name, values in load_file(source / "model.safetensors").items():
        if values.dtype.kind != "f":
            arrays[name] = values
        elif name.endswith("word_embeddings.weight"):
            scale = np.maximum(np.abs(values).max(1, keepdims=True) / 127, 1e-12).astype("float32")
            arrays |= {name: np.rint(values / scale).astype("int8"), f"{name}.scale": scale}
        else:
            arrays[name] = values.astype("float16")
    save_file(arrays, target / "model.safetensors")
    for name in ("config.json", "tokenizer.json"):
        shutil.copyfile(source / name, target / name)


def restore_encoder(source: Path, target: Path) -> None:
    """Write a shrunk transformer as one in single precision."""
    target.mkdir(parents=True)
    arrays = load_file(source / "model.safetensors")
    restored = {
        name: values.astype("float32") * arrays.get(f"{name}.scale", 1)
        if values.dtype.kind == "f" or f"{name}.scale" in arrays
        else values
        for name, values in arrays.items()
        if not name.endswith(".scale")
    }
    save_file(restored, target / "model.safetensors", {"format": "pt"})
    for name in ("config.json", "tokenizer.json"):
        shutil.copyfile(source / name, target / name)
