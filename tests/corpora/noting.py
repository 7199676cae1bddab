"""``arcwise`` whose workers note every shard that they begin, in the file NOTED, and wait PAUSE seconds then (so that there is time to kill them on any machine): python -m corpora.noting parse --in …"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

from arcwise.distributed import job
from arcwise.distributed.shards import Shard
from arcwise.distributed.work import Marker, ParseShard, Places


class Noting(ParseShard):
    """Notes what it begins."""

    def _done(self, shard: Shard, places: Places, attempts: Any) -> Marker:
        with Path(os.environ["NOTED"]).open("a") as notes:
            notes.write(f"{shard.name}\n")
        time.sleep(float(os.environ.get("PAUSE", 0)))
        return super()._done(shard, places, attempts)


if __name__ == "__main__":
    from arcwise.cli.main import main
    from corpora.noting import Noting as Importable  # as workers find it

    job.ParseShard = Importable  # type: ignore[misc]
    sys.exit(main())
