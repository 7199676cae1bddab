"""Try a wheel for another processor or C library: install it beside a Python that an emulator or loader runs.

    python release/try_foreign_wheel.py --platform manylinux_2_28_aarch64 --python 3.11 -- \
        qemu-aarch64-static -L ROOT ROOT/usr/bin/python3.11

ROOT is a folder with the packages of that system, such as ``mmdebstrap --arch=arm64 --variant=extract
--include=python3.11,libstdc++6,zlib1g bookworm ROOT`` makes it. pip of this Python chooses the wheel of
``dist/`` and those of what it needs; the other Python runs release/smoke.py (import, ten checks of kernels, a
parse of raw text, a training) and a command.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sources import ROOT

GLIBC = range(28, 4, -1)
MUSL = range(2, -1, -1)
PARSE = "from arcwise.cli.main import main; main()"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--platform", required=True, help="such as musllinux_1_2_x86_64")
    parser.add_argument("--python", required=True, help="version of the Python that runs the wheel")
    parser.add_argument("--wheels", type=Path, default=ROOT / "dist")
    parser.add_argument("command", nargs="+", help="what runs that Python")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        install(arguments.wheels, arguments.platform, arguments.python, folder)
        environment = os.environ | {"PYTHONPATH": folder}
        about = "import platform, sys; print(sys.version.split()[0], platform.machine())"
        run([*arguments.command, "-c", about], environment)
        started = time.perf_counter()
        run([*arguments.command, str(ROOT / "release" / "smoke.py")], environment)
        run([*arguments.command, "-c", PARSE, "parse", "--text", "Birds sing."], environment)
        print(f"{time.perf_counter() - started:.0f} s")
    return 0


def install(wheels: Path, platform: str, version: str, folder: str) -> None:
    """Put the wheel that fits, and those of its requirements, into a folder."""
    command = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--pre"]
    command += ["--only-binary", ":all:", "--find-links", str(wheels), "--target", folder]
    command += ["--implementation", "cp", "--python-version", version]
    run([*command, *(f"--platform={tag}" for tag in older(platform)), "arcwise"])
    print(*(path.name for path in sorted(Path(folder).glob("arcwise/_native_*"))))


def older(platform: str) -> list[str]:
    """The platform tags whose wheels run there."""
    libc, _, rest = platform.partition("_")
    machine = rest.split("_", 2)[2]
    if libc == "musllinux":
        return [f"musllinux_1_{minor}_{machine}" for minor in MUSL]
    return [f"manylinux_2_{minor}_{machine}" for minor in GLIBC] + [f"manylinux2014_{machine}"]


def run(command: list[str], environment: dict[str, str] | None = None) -> None:
    if subprocess.run(command, env=environment, check=False).returncode:
        raise SystemExit(f"failed: {' '.join(command)}")


if __name__ == "__main__":
    sys.exit(main())
