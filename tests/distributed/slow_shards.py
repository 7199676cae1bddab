"""Work that takes its time and notes what it begins; workers elsewhere import it."""

from __future__ import annotations

import os
import time
from pathlib import Path

from arcwise.distributed.parse_shard import Outcome, ParseShard
from arcwise.distributed.shards import Shard


class Slow(ParseShard):
    """Notes shard, process and time as the name of a file in ``_job``."""

    def __call__(self, shard: Shard) -> Outcome:
        (Path(self.folder) / "_job" / f"slow-{shard.number}-{os.getpid()}-{time.monotonic_ns()}").touch()
        time.sleep(0.3)
        return super().__call__(shard)
