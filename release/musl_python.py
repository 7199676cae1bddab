"""Compile a Python for musl, to try musllinux wheels on a machine with glibc.

    python release/musl_python.py build/musl
    python release/try_foreign_wheel.py --platform musllinux_1_2_x86_64 --python 3.13 -- \
        build/musl/ld-musl-x86_64.so.1 build/musl/bin/python3.13

No package of Debian, PyPI or npm contains such a Python. The sources are those of Debian 13, pinned by hash;
the compiler is the zig that compiles the wheels, in the environment of ``release/build_wheels.py``; the C
library that runs the Python is Debian's ``musl`` package. Needs a Python of the same version on PATH or in
pyenv.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import urllib.request
from pathlib import Path

from build_wheels import PLATFORMS, WORK, build_environment, interpreter, toolchain

VERSION = "3.13"
POOL = "https://deb.debian.org/debian/pool/main"
SOURCES = (
    (
        "libf/libffi/libffi_3.5.2.orig.tar.gz",
        "dd19253d3007f366319a51d248a40c9e5fcace4498cbea990b566291844e4e30",
    ),
    (
        "z/zlib/zlib_1.3.dfsg+really1.3.1.orig.tar.gz",
        "60dd315c07f616887caa029408308a018ace66e3d142726a97db164b3b8f69fb",
    ),
    (
        "p/python3.13/python3.13_3.13.5.orig.tar.xz",
        "93e583f243454e6e9e4588ca2c2662206ad961659863277afcdb96801647d640",
    ),
)
"""Path in the pool and SHA-256."""
LOADER = "ld-musl-x86_64.so.1"
(PLATFORM,) = (platform for platform in PLATFORMS if platform.tag == "musllinux_1_2_x86_64")


def main(prefix: Path) -> None:
    prefix.mkdir(parents=True, exist_ok=True)
    unpack_loader(prefix)
    zig = toolchain(build_environment("3.12"), PLATFORM).parent
    tools = {"CC": f"{zig}/cc", "CXX": f"{zig}/c++", "AR": f"{zig}/ar", "RANLIB": f"{zig}/ranlib"}
    environment = {**os.environ, **tools, "CFLAGS": "-O1 -fPIC", "CHOST": "x86_64-linux-musl"}
    libffi, zlib, python = (unpack(path, digest) for path, digest in SOURCES)
    host = ["--host=x86_64-linux-musl", "--build=x86_64-linux-gnu"]
    static = [f"--prefix={prefix}", "--disable-shared", "--enable-static"]
    compile_in(libffi, ["./configure", "-q", *host, *static, "--disable-docs"], environment)
    compile_in(zlib, ["./configure", f"--prefix={prefix}", "--static"], environment)
    # zig links programs statically for musl unless told otherwise, and these cannot load extension modules.
    libraries = {
        "LDFLAGS": "-dynamic",
        "LIBFFI_CFLAGS": f"-I{prefix}/include",
        "LIBFFI_LIBS": f"-L{prefix}/lib -lffi",
        "ZLIB_CFLAGS": f"-I{prefix}/include",
        "ZLIB_LIBS": f"-L{prefix}/lib -lz",
    }
    options = [f"--prefix={prefix}", f"--with-build-python={interpreter(VERSION)}", "--disable-test-modules"]
    options += ["--without-ensurepip", "ac_cv_file__dev_ptmx=yes", "ac_cv_file__dev_ptc=no"]
    compile_in(python, ["./configure", "-q", *host, *options], environment | libraries)
    run([str(prefix / LOADER), str(prefix / "bin" / f"python{VERSION}"), "-VV"], prefix, environment)


def unpack_loader(prefix: Path) -> None:
    """Put musl's dynamic loader, which is also its C library, into the folder."""
    folder = WORK / "musl"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    run(["apt-get", "download", "-q", "musl"], folder, dict(os.environ))
    (package,) = folder.glob("musl_*.deb")
    run(["dpkg-deb", "-x", str(package), "."], folder, dict(os.environ))
    shutil.copyfile(folder / "lib" / "x86_64-linux-musl" / "libc.so", prefix / LOADER)
    (prefix / LOADER).chmod(0o755)


def unpack(path: str, digest: str) -> Path:
    """The folder of a source archive, downloaded and checked."""
    archive = WORK / "musl" / path.rpartition("/")[2]
    with urllib.request.urlopen(f"{POOL}/{path}") as response:
        archive.write_bytes(response.read())
    if hashlib.sha256(archive.read_bytes()).hexdigest() != digest:
        raise SystemExit(f"{POOL}/{path} is another file than the one pinned here")
    with tarfile.open(archive) as files:
        top = files.getnames()[0].partition("/")[0]
        files.extractall(archive.parent, filter="tar")
    return archive.parent / top


def compile_in(folder: Path, configure: list[str], environment: dict[str, str]) -> None:
    jobs = os.environ.get("JOBS") or str(os.cpu_count() or 1)
    for command in (configure, ["make", "-s", f"-j{jobs}"], ["make", "-s", "install"]):
        run(command, folder, environment)


def run(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    if subprocess.run(command, cwd=folder, env=environment).returncode:
        raise SystemExit(f"failed: {' '.join(command)}")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
