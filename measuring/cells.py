"""Cache of computed results, so that an interrupted run resumes (``measuring.trainings`` caches
trainings)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from arcwise.engine import Engine
from measuring.tables import machine
from measuring.trainings import cache_folder, commit, write_whole

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
        self.commits: list[str] = []
        """Commits that computed the cells used so far."""
        self.machines: list[str] = []
        """Machines that computed them, where recorded."""

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
        cell = json.loads(path.read_text())
        self.commits.append(cell["commit"])
        self.machines.append(cell.get("machine", ""))
        return cell["found"]
