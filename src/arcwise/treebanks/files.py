"""Opening files the same way everywhere: ``-`` is stdin/stdout, .gz and .xz are packed, writing is atomic."""

from __future__ import annotations

import contextlib
import gzip
import lzma
import os
import secrets
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO, Literal, cast

from arcwise.errors import InputError

PathLike = str | os.PathLike[str]


def _explain(error: OSError, path: PathLike, doing: str) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError(f"{path}: no such file" if doing == "read" else f"{path}: no such folder")
    if isinstance(error, IsADirectoryError):
        return InputError(f"{path}: is a folder, expected a file")
    return InputError(
        f"{path}: cannot be {'read' if doing == 'read' else 'written'} ({error.strerror or error})"
    )


@contextlib.contextmanager
def open_input(path: PathLike) -> Iterator[BinaryIO]:
    """A binary stream of the (unpacked) bytes of ``path``; ``-`` is standard input."""
    name = os.fspath(path)
    try:
        if name == "-":
            yield sys.stdin.buffer
        elif name.endswith(".gz"):
            with gzip.open(name, "rb") as stream:
                yield cast(BinaryIO, stream)
        elif name.endswith(".xz"):
            with lzma.open(name, "rb") as stream:
                yield cast(BinaryIO, stream)
        else:
            with Path(name).open("rb") as stream:
                yield stream
    except OSError as error:
        raise _explain(error, path, "read") from error
    except (EOFError, lzma.LZMAError) as error:
        raise InputError(f"{path}: is no intact {name[-3:]} file ({error})") from error


def read_bytes(path: PathLike) -> bytes:
    """All (unpacked) bytes of ``path``."""
    with open_input(path) as stream:
        return stream.read()


def _packed(raw: IO[bytes], name: str) -> BinaryIO:
    if name.endswith(".gz"):
        return cast(BinaryIO, gzip.GzipFile(filename="", fileobj=raw, mode="wb", mtime=0))
    if name.endswith(".xz"):
        return cast(BinaryIO, lzma.LZMAFile(raw, "wb"))
    return cast(BinaryIO, raw)


@contextlib.contextmanager
def open_output(path: PathLike) -> Iterator[BinaryIO]:
    """A binary stream to ``path``, which appears whole or not at all; ``-`` is standard output."""
    name = os.fspath(path)
    if name == "-":
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    target = Path(name)
    if path_kind(target) not in ("file", None):  # a device or a pipe cannot be renamed onto
        try:
            device = target.open("wb")
        except OSError as error:
            raise _explain(error, path, "write") from error
        with device:
            yield device
        return
    # Named before it exists: whenever Ctrl-C comes, the file is found and removed.
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        try:
            raw = temporary.open("xb")
        except OSError as error:
            raise _explain(error, path, "write") from error
        with raw:
            stream = _packed(raw, name)
            yield stream
            if stream is not raw:
                stream.close()
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def path_kind(path: PathLike) -> Literal["file", "folder", "device", None]:
    """What there is at a path; ``None`` if nothing is, or nothing can be (``Path.exists`` fails on a name that is too long)."""
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return None
    return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "device"


def check_folder(path: PathLike) -> None:
    """``InputError`` if the folder that ``path`` is to be written into does not exist: said before long work, not after."""
    if path_kind(Path(path).parent) != "folder":
        raise InputError(f"{path}: no such folder")
