"""The command ``arcwise`` with workers that record each shard they start in the file NOTED.

They then wait PAUSE seconds, so that there is time to kill them on any machine:
python -m tests.distributed.recording_cli parse --in …
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from arcwise.distributed import job
from arcwise.distributed.parse_shard import JobPaths, Marker, ParseShard
from arcwise.distributed.shards import Shard


class Noting(ParseShard):
    """Notes what it begins."""

    def _parse_shard(self, shard: Shard, paths: JobPaths, attempts: Any) -> Marker:
        with Path(os.environ["NOTED"]).open("a") as notes:
            notes.write(f"{shard.name}\n")
        time.sleep(float(os.environ.get("PAUSE", 0)))
        return super()._parse_shard(shard, paths, attempts)


if __name__ == "__main__":
    from tests.distributed.recording_cli import Noting as Importable  # as workers find it

    from arcwise.cli.main import main

    job.ParseShard = Importable  # type: ignore[misc]
    sys.exit(main())
