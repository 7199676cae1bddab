"""A slow search worker that records what it starts; workers elsewhere import it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from arcwise.induction.global_search.fragment import Assignment, Fragment, Worker

FOLDER = "ARCWISE_TEST_NOTES"


class RecordingWorker(Worker):
    """Records node, process and time as the name of a file in ``folder``."""

    folder: str = ""

    def __getstate__(self) -> dict[str, object]:
        return {**super().__getstate__(), "folder": os.environ[FOLDER]}

    def __call__(self, given: Assignment) -> Fragment:
        (Path(self.folder) / f"node-{given.node.number}-{os.getpid()}-{time.monotonic_ns()}").touch()
        time.sleep(0.1)
        return super().__call__(given)


def noted(folder: Path) -> list[tuple[int, int]]:
    """(node, process), as often as each was begun, in the order of time."""
    parts = [path.name.split("-") for path in folder.glob("node-*")]
    return [(int(node), int(pid)) for _, node, pid, _ in sorted(parts, key=lambda part: int(part[3]))]
