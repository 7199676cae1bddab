"""Cross-compile the C++ for other systems: ``make test-portability``.

Every kernel and its tests, by clang and by GCC for Windows (Debian's ``clang-16`` and
``g++-mingw-w64-x86-64-posix``), for syntax and types; missing compilers are reported. ``--link`` also
links the test programs: for Windows with GCC, and for macOS and Windows with zig's clang (wheel ``ziglang``).
Programs for Windows run if wine is installed.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from build_wheels import TOOLS
from sources import ROOT

WORK = ROOT / "build" / "portability"
WINDOWS = ["-include", str(ROOT / "native" / "windows.hpp")]
CLANG = next((name for name in ("clang++-19", "clang++-16") if shutil.which(name)), "clang++")
"""Debian's clang++ may be 14, which does not let lambdas capture structured bindings."""
QUIET = ("-Wno-unused-lambda-capture", "-Wno-bitwise-instead-of-logical", "-Wno-unknown-warning-option")
WINE = shutil.which("wine64") or shutil.which("wine") or shutil.which("wine64", path="/usr/lib/wine")


@dataclass(frozen=True)
class Target:
    """A system, and the compiler for it."""

    name: str
    compiler: tuple[str, ...]
    """Looked up on the PATH; the first word is a program."""
    flags: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    """Flags for test programs that can run without the compiler's libraries."""
    runner: str | None = None
    only_linked: bool = False
    """Compiled under ``--link`` alone: zig takes its time."""
    syntax_only: bool = False


def zig(target: str) -> tuple[str, ...]:
    return (sys.executable, "-m", "ziglang", "c++", "-target", target)


TARGETS = (
    Target("Linux, clang", (CLANG,), syntax_only=True),
    Target(
        "Windows x86-64, GCC", ("x86_64-w64-mingw32-g++-posix",), (*WINDOWS, "-Wno-psabi"), ("-static",), WINE
    ),
    Target("Windows x86-64, clang", zig("x86_64-windows-gnu"), tuple(WINDOWS), (), WINE, only_linked=True),
    Target("Windows arm64, clang", zig("aarch64-windows-gnu"), tuple(WINDOWS), only_linked=True),
    Target("macOS arm64, clang", zig("aarch64-macos.11.0"), only_linked=True),
    Target("macOS x86-64, clang", zig("x86_64-macos.11.0"), only_linked=True),
)
AVX = {
    "network_loops_avx2.cpp": ["-mavx2", "-mfma"],
    "network_loops_avx512.cpp": [
        "-mavx2",
        "-mfma",
        *(f"-mavx512{part}" for part in ("f", "bw", "vl", "dq", "vnni")),
    ],
}
"""As in CMakeLists.txt, on x86-64."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--link", action="store_true", help="link and run the test programs too; some minutes each"
    )
    parser.add_argument("--target", action="append", choices=[target.name for target in TARGETS])
    arguments = parser.parse_args()
    failed = False
    for target in TARGETS:
        if (target.only_linked and not arguments.link) or target.name not in (
            arguments.target or [target.name]
        ):
            continue
        if shutil.which(target.compiler[0]) is None:
            print(f"{target.name}: skipped: {target.compiler[0]} is not installed")
        elif arguments.link and not target.syntax_only:
            failed |= not links(target)
        else:
            failed |= not compiles(target)
    return int(failed)


def sources() -> list[Path]:
    return sorted([*ROOT.glob("native/kernels/*/*.cpp"), *ROOT.glob("native/tests/test_*.cpp")])


def jobs() -> int:
    return int(os.environ.get("JOBS") or os.cpu_count() or 1)


def command(target: Target, source: Path) -> list[str]:
    avx = AVX.get(source.name, []) if "arm64" not in target.name else []
    return [
        *target.compiler,
        *target.flags,
        "-std=c++20",
        "-ffp-contract=off",
        "-Wall",
        "-Wextra",
        *QUIET,
        "-Inative",
        *avx,
    ]


def compiles(target: Target) -> bool:
    """Whether every file is valid C++ without a warning."""
    with ThreadPoolExecutor(jobs()) as pool:
        done = pool.map(
            lambda source: run([*command(target, source), "-Werror", "-fsyntax-only", str(source)]), sources()
        )
        count = sum(done)
    print(f"{target.name}: {count} of {len(sources())} files compile")
    return count == len(sources())


def links(target: Target) -> bool:
    """Whether the test programs can be linked, and pass where they can run."""
    if target.compiler[:3] == zig("")[:3] and not has_zig():
        return False
    folder = WORK / target.name.replace(",", "").replace(" ", "-")
    folder.mkdir(parents=True, exist_ok=True)
    objects = {source: folder / f"{source.parent.name}-{source.stem}.o" for source in sources()}
    with ThreadPoolExecutor(jobs()) as pool:
        done = pool.map(
            lambda pair: run([*command(target, pair[0]), "-O1", "-c", str(pair[0]), "-o", str(pair[1])]),
            objects.items(),
        )
        if not all(done):
            return False
    kernels = [str(file) for source, file in objects.items() if source.parent.name != "tests"]
    programs = []
    for source, file in objects.items():
        if source.parent.name == "tests":
            program = folder / (source.stem + (".exe" if "Windows" in target.name else ""))
            programs.append(program)
            if not run([*target.compiler, *target.link, str(file), *kernels, "-o", str(program)]):
                return False
    print(f"{target.name}: {len(objects)} files compile, {len(programs)} test programs link", flush=True)
    if target.runner is None:
        return True
    passed = [program.stem for program in programs if run([target.runner, str(program)])]
    print(f"{target.name}: {len(passed)} of {len(programs)} test programs pass under wine", flush=True)
    return len(passed) == len(programs)


def has_zig() -> bool:
    if run([sys.executable, "-m", "ziglang", "version"], quiet=True):
        return True
    (wanted,) = (tool for tool in TOOLS if tool.startswith("ziglang"))
    print(f"{wanted} is not installed: {sys.executable} -m pip install {wanted}")
    return False


def run(line: list[str], quiet: bool = False) -> bool:
    done = subprocess.run(
        line, cwd=ROOT, capture_output=True, text=True, env={**os.environ, "WINEDEBUG": "-all"}
    )
    if done.returncode and not quiet:
        print(f"{' '.join(line)}\n{(done.stdout + done.stderr)[-3000:]}", flush=True)
    return done.returncode == 0


if __name__ == "__main__":
    sys.exit(main())
