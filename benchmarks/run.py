"""Run every benchmark in this folder, one after the other (``make bench``)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FRAME = {"__init__", "run", "report", "regression"}


def main() -> None:
    names = sorted(p.stem for p in Path(__file__).parent.glob("*.py") if p.stem not in FRAME)
    failed = []
    for name in sys.argv[1:] or names:
        print(f"== benchmarks.{name}", flush=True)
        if subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=False).returncode:
            failed.append(name)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
