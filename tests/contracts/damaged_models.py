"""Models with one or several random faults: opening one raises ``ModelError``, or it parses without an error.

``python -m contracts.damaged_models KIND FIRST COUNT`` tries the faults of these seeds in a process of its
own, because a fault that is not found may end it, and prints those that did anything else.
"""

from __future__ import annotations

import copy
import json
import random
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from arcwise.errors import ArcwiseError
from arcwise.learning.model_file import Packed, read_model, write_model
from arcwise.models.registry import open_model, open_packed
from arcwise.parsing import ParseOptions, Parser
from arcwise.pipeline.pipeline import Pipeline
from contracts.every_parser import PARSERS
from contracts.small_treebank import small_treebank

KINDS = {
    "graph": "graph-latent",
    "siblings": "siblings-mira",
    "transition": "transition-hybrid",
    "neural": "neural-tags",
    "neural-8-bit": "neural-8-bit",
    "pipeline": "pipeline",
    "dmv": "dmv",
}
"""Kind → its parser in ``PARSERS``."""
TEXT = "The dog sees birds. Dogs don't see! Otters, 3.5 “beagles” and a mole: who greets them?"
MEMORY = 3 * 2**30
VALUES: tuple[Any, ...] = (
    None, True, 0, 1, -1, 2, 7, 255, 65536, 2**31, 2**63, -(2**63), 1e308, -1e308, float("nan"), float("inf"),
    0.5, "", "x", "root", "\x00", "a" * 300, [], [[]], [0], [[0, 1]], {}, {"x": 1}, [None], ["x", "x"],
)  # fmt: skip
DTYPES = ("f4", "f2", "f8", "u1", "u2", "u4", "u8", "i1", "i4", "i8", "?")


def damaged_value(value: Any, rng: random.Random) -> Any:
    """A value of JSON with one fault somewhere inside."""
    if isinstance(value, Mapping) and value and rng.random() < 0.9:
        made = dict(value)
        key = rng.choice(list(made))
        if rng.random() < 0.15:
            del made[key]
        else:
            made[key] = damaged_value(made[key], rng)
        return made
    if isinstance(value, list | tuple) and value and rng.random() < 0.9:
        items = list(value)
        at = rng.randrange(len(items))
        choice = rng.random()
        if choice < 0.1:
            del items[at]
        elif choice < 0.2:
            items.insert(at, copy.deepcopy(items[at]))
        elif choice < 0.25:
            items = items[:at]
        elif choice < 0.3:
            rng.shuffle(items)
        else:
            items[at] = damaged_value(items[at], rng)
        return items
    if type(value) is int and rng.random() < 0.5:
        return value + rng.choice((-1, 1, 2, 10, 100, 1000))
    return rng.choice(VALUES)


def damaged_array(values: npt.NDArray[Any], rng: random.Random) -> npt.NDArray[Any]:
    """An array with some wrong values, or of another shape or type."""
    made = np.array(values)
    choice = rng.random()
    if choice < 0.5 and made.size:
        flat = made.reshape(-1)
        for _ in range(rng.choice((1, 1, 3, 50))):
            at = rng.randrange(flat.size)
            if made.dtype.kind in "iu":
                limits = np.iinfo(made.dtype)
                near = min(max(int(flat[at]) + rng.choice((-1, 1, 5)), limits.min), limits.max)
                flat[at] = rng.choice((limits.min, limits.max, 0, near))
            elif made.dtype.kind == "f":
                flat[at] = rng.choice((np.nan, np.inf, -np.inf, 0, 6e4, -6e4))
            else:
                flat[at] = not flat[at]
        return made
    if choice < 0.65:
        return made.reshape(-1)[: rng.randrange(made.size + 1)]
    if choice < 0.75:
        return np.concatenate([made.reshape(-1), made.reshape(-1)[: rng.randrange(1, 9)]])
    if choice < 0.85:
        return made.reshape(*rng.choice(((1, -1), (-1, 1), (-1,), (1, -1, 1))))
    with np.errstate(all="ignore"):
        return made.astype(rng.choice(DTYPES))


def damaged(packed: Packed, rng: random.Random) -> Packed:
    """A packed model with one or several faults."""
    header, arrays = dict(packed.header), dict(packed.arrays)
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        if arrays and rng.random() < 0.45:
            name = rng.choice(list(arrays))
            if rng.random() < 0.1:
                del arrays[name]
            else:
                arrays[name] = damaged_array(arrays[name], rng)
        else:
            header = damaged_value(header, rng)
            if not isinstance(header, dict):
                return replace(packed, header=header, arrays=arrays)
    return replace(packed, header=header, arrays=arrays)


def damaged_file(data: bytes, rng: random.Random) -> bytes:
    """A file with some other bytes, or cut."""
    made = bytearray(data)
    head = min(len(made), 8 + int.from_bytes(made[:8], "little"))
    for _ in range(rng.choice((1, 2, 8))):
        at = rng.randrange(head if rng.random() < 0.7 else len(made))
        made[at] = rng.choice((made[at] ^ (1 << rng.randrange(8)), rng.randrange(256), *b'0129-"[]{},:'))
    return bytes(made[: rng.randrange(len(made))] if rng.random() < 0.1 else made)


def try_parser(parser: Parser) -> None:
    """Use what was opened."""
    _ = parser.info, repr(parser)
    options = ParseOptions(confidence=parser.capabilities.confidence)
    if isinstance(parser, Pipeline):
        repr(parser(TEXT))
    else:
        _ = parser.parse(small_treebank()[:4], options=options).data


def attempts(kind: str, folder: Path) -> Callable[[int], None]:
    """The function that opens and uses the model of a seed; it raises whatever should not have happened."""
    parser = PARSERS[KINDS[kind]]()
    packed = parser.pack("int8") if kind != "neural" else parser.pack()
    file = folder / "model.arcwise"
    write_model(file, packed)
    data, packed = file.read_bytes(), read_model(file)
    if kind == "dmv":
        parser.save(folder / "model.json")
        data = (folder / "model.json").read_bytes()

    def attempt(seed: int) -> None:
        rng = random.Random(f"{kind} {seed}")
        try:
            if rng.random() < 0.25:
                path = folder / "damaged.arcwise"
                path.write_bytes(damaged_file(data, rng))
                opened = open_model(path)
            else:
                opened = open_packed(damaged(packed, rng))
        except ArcwiseError:
            return
        try_parser(opened)

    return attempt


def run_faults(kind: str, first: int, count: int) -> list[str]:
    """Try the faults of these seeds in processes of their own; what each that is wrong did."""
    wrong: list[str] = []
    while count > 0:
        line = [sys.executable, "-m", "contracts.damaged_models", kind, str(first), str(count)]
        path = str(Path(__file__).parent.parent)
        done = subprocess.run(line, capture_output=True, text=True, cwd=path)
        seeds = [int(word) for word in done.stdout.split("\n")[0].split()]
        wrong += json.loads(done.stderr.splitlines()[-1]) if done.returncode == 0 else []
        if done.returncode == 0:
            break
        last = seeds[-1] if seeds else first
        wrong.append(f"{kind} {last}: ended with status {done.returncode} {done.stderr[-500:]}")
        first, count = last + 1, count - (last + 1 - first)
    return wrong


def main(kind: str, first: str, count: str) -> None:
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        attempt = attempts(kind, Path(folder))
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        for seed in range(int(first), int(first) + int(count)):
            print(seed, end=" ", flush=True)
            try:
                attempt(seed)
            except Exception as error:
                trace = error.__traceback__
                while trace is not None and trace.tb_next is not None:
                    trace = trace.tb_next
                where = (
                    "" if trace is None else f"{trace.tb_frame.f_code.co_filename[-40:]}:{trace.tb_lineno}"
                )
                wrong.append(f"{kind} {seed}: {type(error).__name__}: {str(error)[:150]} ({where})")
    print(json.dumps(wrong), file=sys.stderr)


if __name__ == "__main__":
    main(*sys.argv[1:])
