"""Cache of computed results, so that an interrupted run resumes (``measuring.trainings`` caches
trainings)."""

from __future__ import annotations

import hashlib
import importlib
import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from arcwise.engine import Engine
from measuring.cell_file import Cell, CellFile
from measuring.tables import machine
from measuring.trainings import cache_folder, commit, new_cell, write_whole

Compute = Callable[[], Any]


class Cells:
    """JSON files in a folder of ~/.cache/arcwise (or ARCWISE_CACHE).

    A cell's name states everything that determines its content.
    """

    def __init__(self, folder: str, *, report_only: bool = False, fresh: bool = False) -> None:
        self.folder = cache_folder() / folder
        self.report_only = report_only
        """Compute nothing; a missing cell ends the program."""
        self.fresh = fresh
        """Recompute every cell."""

    def fill(self, wanted: Mapping[str, Compute], engine: Engine) -> None:
        """Compute the missing cells on ``engine``; each is saved as soon as it is done."""
        if self.report_only:
            return
        missing = [(name, compute) for name, compute in wanted.items() if not self._path(name).exists()]
        for _ in engine.map(self._save, missing, ordered=False):
            pass

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _save(self, named: tuple[str, Compute]) -> None:
        name, compute = named
        print(f"… {name}", flush=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        content = {"commit": commit(), "machine": machine(), "found": compute()}
        write_whole(self._path(name), json.dumps(content))

    def cell(self, name: str, compute: Compute) -> Any:
        """Return the result of ``compute``, from now or from an earlier run."""
        path = self._path(name)
        if self.fresh or not path.exists():
            if self.report_only:
                raise SystemExit(f"{name} is not done: run without --report")
            self._save((name, compute))
        return json.loads(path.read_text())["found"]


class RecordedCells:
    """Computations of one kind whose results are kept in a ``CellFile``.

    Names are for people: what identifies a cell is its kind, the function and its arguments. Where the
    function returns a dictionary, its entry ``resources`` holds what differs from run to run.
    """

    def __init__(self, kind: str, records: CellFile, *, deadline: float | None = None) -> None:
        self.kind, self.records, self.deadline = kind, records, deadline

    def data_hash(self, name: str) -> str | None:
        """The hash of the data that a cell reads; empty if it reads none, None if they are not at hand."""
        return ""

    def fill(self, wanted: Mapping[str, Compute], engine: Engine) -> None:
        """Compute the missing cells on ``engine`` until the deadline; each is recorded as it is done."""
        if self.records.read_only:
            return
        missing = [
            (name, compute) for name, compute in wanted.items() if self._current(name, compute) is None
        ]
        run = partial(_compute, self.kind, self.deadline)
        items = [(name, compute, self.data_hash(name) or "") for name, compute in missing]
        for cell in engine.map(run, items, ordered=False):
            if cell is not None:
                self.records.put(cell)

    def cell(self, name: str, compute: Compute) -> Any:
        """Return the result of ``compute``, from now or from an earlier run."""
        cell = self._current(name, compute)
        if cell is None:
            if self.records.read_only:
                raise SystemExit(f"{name} is missing: run without --report")
            cell = _compute(self.kind, None, (name, compute, self.data_hash(name) or ""))
            assert cell is not None
            self.records.put(cell)
        return cell.figures["result"]

    def resources(self, name: str, compute: Compute) -> dict[str, float]:
        """Return what a cell that is done took."""
        cell = self._current(name, compute)
        if cell is None:
            raise SystemExit(f"{name} is missing: run without --report")
        return cell.resources

    def missing(self, wanted: Mapping[str, Compute]) -> list[str]:
        """The names of the cells that are not done."""
        return [name for name, compute in wanted.items() if self._current(name, compute) is None]

    def _current(self, name: str, compute: Compute) -> Cell | None:
        return self.records.current(self.kind, _spec(name, compute), self.data_hash(name))


def _compute(kind: str, deadline: float | None, item: tuple[str, Compute, str]) -> Cell | None:
    name, compute, data = item
    if deadline is not None and time.time() > deadline:
        return None
    print(f"… {name}", flush=True)
    started = time.process_time()
    result = json.loads(json.dumps(compute()))  # as it will be read
    resources = {"seconds": time.process_time() - started}
    if isinstance(result, dict):
        resources |= result.pop("resources", {})
    return new_cell(kind, _spec(name, compute), data, {"result": result}, resources)


def recompute(cell: Cell, computations: Mapping[str, Compute]) -> Cell:
    """Compute a recorded cell again: one of ``computations``, or a function of plain arguments."""
    spec = cell.spec
    compute = computations.get(spec["name"])
    if compute is None and isinstance(spec["arguments"], list):
        module, _, function = spec["function"].rpartition(".")
        compute = partial(getattr(importlib.import_module(module), function), *spec["arguments"])
    if compute is None or _spec(spec["name"], compute) != spec:
        raise SystemExit(f"{spec['name']} is no longer a cell of the page")
    again = _compute(cell.kind, None, (spec["name"], compute, cell.data))
    assert again is not None
    return again


def _spec(name: str, compute: Compute) -> dict[str, Any]:
    """Describe a computation: its name, its function and its arguments, or the hash of their repr."""
    if not isinstance(compute, partial):
        raise TypeError(f"{name}: found {compute!r}, expected functools.partial of a named function")
    function = f"{compute.func.__module__}.{compute.func.__name__}"
    if not compute.keywords and all(isinstance(a, str | int | float) for a in compute.args):
        return {"name": name, "function": function, "arguments": list(compute.args)}
    text = repr((compute.args, sorted(compute.keywords.items())))
    if " at 0x" in text:
        raise TypeError(f"{name}: an argument has no repr that states its value: {text[:200]}")
    arguments = hashlib.sha256(text.encode()).hexdigest()[:12]
    return {"name": name, "function": function, "arguments": arguments}
