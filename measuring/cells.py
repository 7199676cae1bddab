"""Results that are computed once and kept: what a run that was stopped finds again (trainings are kept by ``measuring.trainings``)."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from measuring.trainings import cache_folder, commit, write_whole


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

    def cell(self, name: str, compute: Callable[[], Any]) -> Any:
        """What ``compute`` gave, now or in an earlier run."""
        path = self.folder / f"{name}.json"
        if self.fresh or not path.exists():
            if self.report_only:
                raise SystemExit(f"{name} is not done: run without --report")
            print(f"… {name}", flush=True)
            self.folder.mkdir(parents=True, exist_ok=True)
            write_whole(path, json.dumps({"commit": commit(), "found": compute()}))
        kept = json.loads(path.read_text())
        self.commits.append(kept["commit"])
        return kept["found"]
