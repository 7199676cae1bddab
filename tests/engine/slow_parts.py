"""Parts of a training that take their time and note what they begin; workers elsewhere import them."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from arcwise.graph.parts import PartObjective
from arcwise.learning.parameter_mixing import PartTraining


class Slow:
    """Records process and time as the name of a file in a folder, and waits, before it does its work."""

    def __init__(self, folder: Path, seconds: float, given: Any) -> None:
        super().__init__(given)
        self.folder, self.seconds = folder, seconds

    def __call__(self, given: Any) -> Any:
        from engine.ray_cluster import node_of_this_worker

        (self.folder / f"{node_of_this_worker()}-{os.getpid()}-{time.monotonic_ns()}").touch()
        time.sleep(self.seconds)
        return super().__call__(given)  # type: ignore[misc]


class SlowTraining(Slow, PartTraining):
    """Of parameter mixing."""


class SlowObjective(Slow, PartObjective):
    """Of a sum of gradients."""
