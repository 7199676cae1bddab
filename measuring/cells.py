"""Results that are computed once and kept: what a run that was stopped finds again (trainings are kept by ``measuring.trainings``)."""

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
    """JSON files in a folder of ~/.cache/arcwise (or ARCWISE_CACHE); a name tells everything that decides what is in the file."""

    def __init__(self, folder: str, *, report_only: bool = False, fresh: bool = False) -> None:
        self.folder = cache_folder() / folder
        self.report_only = report_only
        """Compute nothing: a cell that is not there ends the program."""
        self.fresh = fresh
        """Compute every cell, there or not."""
        self.commits: list[str] = []
        """The code that made the cells asked for."""
        self.machines: list[str] = []
        """Where they were made, if they say so."""

    def fill(self, wanted: Mapping[str, Compute], engine: Engine) -> None:
        """Compute the cells that are not there, where the engine says; each is kept as soon as it is done."""
        if self.report_only:
            return
        missing = [(name, compute) for name, compute in wanted.items() if not self._path(name).exists()]
        for _ in engine.map(self._keep, missing, ordered=False):
            pass

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def _keep(self, named: tuple[str, Compute]) -> None:
        name, compute = named
        print(f"… {name}", flush=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(
            self._path(name), json.dumps({"commit": commit(), "machine": machine(), "found": compute()})
        )

    def cell(self, name: str, compute: Compute) -> Any:
        """What ``compute`` gave, now or in an earlier run."""
        path = self._path(name)
        if self.fresh or not path.exists():
            if self.report_only:
                raise SystemExit(f"{name} is not done: run without --report")
            self._keep((name, compute))
        kept = json.loads(path.read_text())
        self.commits.append(kept["commit"])
        self.machines.append(kept.get("machine", ""))
        return kept["found"]
