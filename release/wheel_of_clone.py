"""Make a wheel for this Python from the kernels compiled in this clone: only the Python bindings are compiled
again. The wheel runs only on this machine's processor; ``make wheels`` builds the wheels to publish."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from sources import ROOT


def compiled_kernels() -> tuple[Path, list[str]]:
    """The newest build folder of an editable install for this Python, and the variants in it."""
    tag = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    folders = [
        path.parent
        for path in ROOT.glob("build/*/libkernels_*.a")
        if path.parent.name.startswith((tag, "cp312-abi3"))
    ]
    if not folders:
        raise SystemExit(f"build/ has no kernels for {tag}: make setup")
    folder = max(folders, key=lambda path: path.stat().st_mtime)
    return folder, [path.stem.removeprefix("libkernels_") for path in folder.glob("libkernels_*.a")]


def main(output: Path) -> None:
    kernels, variants = compiled_kernels()
    shutil.rmtree(output, ignore_errors=True)
    defined = {"ARCWISE_KERNELS": str(kernels), "ARCWISE_VARIANTS": ";".join(variants)}
    command = [sys.executable, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps"]
    command += [
        "--no-build-isolation",
        "--wheel-dir",
        str(output),
        f"-Cbuild-dir={ROOT}/build/wheel-of-clone",
    ]
    command += [f"-Ccmake.define.{name}={value}" for name, value in defined.items()]
    parallel = {"CMAKE_BUILD_PARALLEL_LEVEL": os.environ.get("JOBS") or str(os.cpu_count() or 1)}
    subprocess.run([*command, str(ROOT)], cwd=ROOT, env=os.environ | parallel, check=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
