"""Open files uniformly: ``-`` is stdin/stdout, .gz, .xz and .zst are compressed, and writing is atomic."""

from __future__ import annotations

import contextlib
import gzip
import io
import lzma
import os
import secrets
import stat
import sys
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any, BinaryIO, Literal, cast

from arcwise.errors import InputError
from arcwise.optional import require
from arcwise.treebanks.columns import COLUMNS

PathLike = str | os.PathLike[str]

_GZ_LEVEL = 5
"""On CoNLL-U three per cent larger than level 9, and nearly twice as fast."""
_ZST_PIECE = 1 << 17
_ZST_LEVEL = 3
"""The library's default: a third of the size of CoNLL-U, at hundreds of megabytes per second."""

STANDARD_INPUT, STANDARD_OUTPUT = "standard input", "standard output"


def _explain(error: OSError, path: PathLike, doing: Literal["read", "write"]) -> InputError:
    if isinstance(error, FileNotFoundError):
        return InputError(f"{path}: no such {'file' if doing == 'read' else 'folder'}")
    if isinstance(error, IsADirectoryError):
        return InputError(f"{path}: is a folder, expected a file")
    done = "read" if doing == "read" else "written"
    return InputError(f"{path}: cannot be {done} ({error.strerror or error})")


@contextlib.contextmanager
def _explained(path: PathLike) -> Iterator[None]:
    """Convert write errors, except a broken pipe, to ``InputError`` with the file name."""
    try:
        yield
    except BrokenPipeError:
        # A pipe closed by its reader (`| head`) ends a command quietly; it is not an error of the file.
        raise
    except OSError as error:
        raise _explain(error, path, "write") from error


class _Output:
    """A binary output stream whose errors (a full disk) name the file."""

    def __init__(self, stream: BinaryIO, path: PathLike) -> None:
        self._stream, self._path = stream, path

    def write(self, data: bytes) -> int:
        """Write bytes."""
        with _explained(self._path):
            return self._stream.write(data)

    def flush(self) -> None:
        """Flush the stream."""
        with _explained(self._path):
            self._stream.flush()


@contextlib.contextmanager
def open_input(path: PathLike) -> Iterator[BinaryIO]:
    """Open ``path`` as a binary stream, decompressed if necessary; ``-`` is standard input."""
    name = os.fspath(path)
    try:
        if name == "-":
            if sys.stdin is None:  # the parent process closed it
                raise InputError(f"{STANDARD_INPUT}: is closed, expected something to read")
            yield sys.stdin.buffer
        elif name.endswith(".gz"):
            with gzip.open(name, "rb") as stream:
                yield cast(BinaryIO, stream)
        elif name.endswith(".xz"):
            with lzma.open(name, "rb") as stream:
                yield cast(BinaryIO, stream)
        elif name.endswith(".zst"):
            with Path(name).open("rb") as packed:
                yield cast(BinaryIO, io.BufferedReader(_UnpackedZst(packed), _ZST_PIECE))
        else:
            with Path(name).open("rb") as stream:
                yield stream
    except OSError as error:
        raise _explain(error, path, "read") from error
    except (EOFError, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"{path}: is not an intact {Path(name).suffix} file ({error})") from error


class _UnpackedZst(io.RawIOBase):
    """A reader of .zst files that, unlike the library's, detects a truncated last frame."""

    def __init__(self, packed: BinaryIO) -> None:
        self._library, self._packed = zst_library(), packed
        self._frame: Any = None
        self._left = b""
        """Compressed bytes after the end of the last complete frame."""
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while not self._ready and self._unpack():
            pass
        taken = min(len(buffer), len(self._ready))
        buffer[:taken] = self._ready[:taken]
        self._ready = self._ready[taken:]
        return taken

    def _unpack(self) -> bool:
        """Decompress more; False at the end of the file."""
        packed = self._left or self._packed.read(_ZST_PIECE)
        self._left = b""
        if not packed:
            if self._frame is not None:
                raise EOFError("its last frame is truncated")
            return False
        if self._frame is None:
            self._frame = self._library.ZstdDecompressor().decompressobj()
        try:
            self._ready = memoryview(self._frame.decompress(packed))
        except self._library.ZstdError as error:
            raise EOFError(str(error)) from error
        if self._frame.eof:
            self._left, self._frame = self._frame.unused_data, None
        return True


def zst_library() -> Any:
    """Import ``zstandard``; raises ``MissingExtraError`` if it is not installed."""
    require("zstandard")
    import zstandard

    return zstandard


def read_bytes(path: PathLike) -> bytes:
    """Read all bytes of ``path``, decompressed if necessary."""
    with open_input(path) as stream:
        return stream.read()


_OTHER_ENCODINGS = {
    b"\xff\xfe\x00\x00": ("UTF-32", "UTF-32"),
    b"\x00\x00\xfe\xff": ("UTF-32", "UTF-32"),
    b"\xff\xfe": ("UTF-16", "UTF-16"),
    b"\xfe\xff": ("UTF-16", "UTF-16"),
    b"+/v8": ("UTF-7", "UTF-7"),
    b"+/v9": ("UTF-7", "UTF-7"),
    b"\x84\x31\x95\x33": ("GB 18030", "GB18030"),
}
"""Byte order mark → encoding and name for iconv; longer first, as UTF-32LE starts like UTF-16LE."""
_WITHOUT_MARK: Mapping[tuple[bool, ...], tuple[str, str]] = {
    (True, False, False, False): ("UTF-32", "UTF-32LE"),
    (False, False, False, True): ("UTF-32", "UTF-32BE"),
    (True, False, True, False): ("UTF-16", "UTF-16LE"),
    (False, True, False, True): ("UTF-16", "UTF-16BE"),
}
"""Pattern of non-zero bytes among the first four → encoding; CoNLL-U starts with an ASCII digit or ``#``."""


def refuse_other_encoding(start: bytes, path: PathLike) -> None:
    """Raise ``InputError`` if a text is not UTF-8, judged by its byte order mark or zero bytes.

    >>> refuse_other_encoding("# sent_id".encode("utf-16"), "a.conllu")
    Traceback (most recent call last):
    arcwise.errors.InputError: a.conllu: is UTF-16 text, expected UTF-8 (iconv -f UTF-16 -t UTF-8 converts it)
    """
    marks = (names for mark, names in _OTHER_ENCODINGS.items() if start.startswith(mark))
    zeros = _WITHOUT_MARK.get(tuple(byte != 0 for byte in start[:4]))
    encoding = next(marks, zeros)
    if encoding:
        name, command = encoding
        raise InputError(f"{path}: is {name} text, expected UTF-8 (iconv -f {command} -t UTF-8 converts it)")


def plus_columns(start: bytes) -> tuple[str, ...] | None:
    """The columns that the first line of a CoNLL-U Plus file names; None for another file.

    >>> plus_columns(b"# global.columns = ID FORM PARSEME:MWE\\n1...")
    ('ID', 'FORM', 'PARSEME:MWE')
    """
    line = start.removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0].decode("utf-8", "replace")
    key, equals, names = line.removeprefix("#").partition("=")
    if not line.startswith("#") or key.strip() != "global.columns" or not equals:
        return None
    return tuple(names.split())


def refuse_other_format(start: bytes, path: PathLike) -> None:
    """Raise ``InputError`` if a file is not UTF-8, or is CoNLL-U Plus with other columns than CoNLL-U."""
    refuse_other_encoding(start[:4], path)
    names = plus_columns(start[:4096])
    if names is not None and names != tuple(name.upper() for name in COLUMNS):
        raise InputError(
            f"{path}: is CoNLL-U Plus with the columns {' '.join(names)}; convert it to "
            "CoNLL-U first (arcwise convert, from the format conllup)"
        )


def _packed(raw: IO[bytes], name: str) -> BinaryIO:
    if name.endswith(".gz"):
        # No name and no time in the header: the same content gives the same bytes.
        return cast(BinaryIO, gzip.GzipFile("", "wb", _GZ_LEVEL, raw, mtime=0))
    if name.endswith(".xz"):
        return cast(BinaryIO, lzma.LZMAFile(raw, "wb"))
    if name.endswith(".zst"):
        return cast(
            BinaryIO, zst_library().ZstdCompressor(level=_ZST_LEVEL).stream_writer(raw, closefd=False)
        )
    return cast(BinaryIO, raw)


@contextlib.contextmanager
def open_output(path: PathLike, *, durable: bool = False) -> Iterator[_Output]:
    """Open ``path`` for atomic writing: the file appears complete or not at all. ``-`` is standard output.

    Symbolic links are followed. Write errors, such as a full disk, raise ``InputError``. durable: sync to
    disk before the rename, so that the file is also complete after a power failure.
    """
    name = os.fspath(path)
    if name == "-":
        yield from _standard_output()
        return
    check_output(path)
    target = Path(os.path.realpath(name))
    if path_kind(target) == "device":  # a file cannot be renamed onto a device or a pipe
        with _explained(path):
            raw: BinaryIO = target.open("wb")
        yield from _written(raw, raw, path)
        return
    # Named before it is created, so that Ctrl-C at any moment can remove it.
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with _explained(path):
            # x: never overwrite a file that happens to have this name.
            raw = temporary.open("xb")
        yield from _written(raw, _packed(raw, name), path, durable=durable)
        with _explained(path):
            if target.exists():  # keep its permissions
                temporary.chmod(stat.S_IMODE(target.stat().st_mode))
            temporary.replace(target)
            # A rename is on disk only once its folder is.
            if durable:
                sync_folder(target.parent)
    except BaseException:
        with contextlib.suppress(OSError):
            # It may not exist yet, or no longer.
            temporary.unlink()
        raise


def _standard_output() -> Iterator[_Output]:
    if sys.stdout is None:
        raise InputError(f"{STANDARD_OUTPUT}: is closed, expected somewhere to write to")
    with _explained(STANDARD_OUTPUT):
        # Text printed earlier has a separate buffer and must come first.
        sys.stdout.flush()
    yield _Output(sys.stdout.buffer, STANDARD_OUTPUT)
    with _explained(STANDARD_OUTPUT):
        sys.stdout.buffer.flush()


def sync_folder(folder: Path) -> None:
    """Sync a folder's entries to disk, where the system supports it."""
    with contextlib.suppress(OSError):  # Windows cannot open a folder
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _written(raw: BinaryIO, stream: BinaryIO, path: PathLike, *, durable: bool = False) -> Iterator[_Output]:
    """Yield the stream, then close it and the raw file; flushing may still fail on a full disk."""
    try:
        yield _Output(stream, path)
        with _explained(path):
            # Before the sync, because a compressor writes its last block when it is closed.
            if stream is not raw:
                stream.close()
            if durable:
                raw.flush()
                os.fsync(raw.fileno())
            raw.close()
    finally:
        with contextlib.suppress(OSError):
            raw.close()


def path_kind(path: PathLike) -> Literal["file", "folder", "device", None]:
    """The kind of file at a path; None if there is none or the name is too long for one."""
    try:
        mode = Path(path).stat().st_mode
    except (OSError, ValueError):
        return None
    return "folder" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else "device"


def same_file(path: PathLike, other: PathLike) -> bool:
    """Whether two paths, after following links, are the same file."""
    try:
        return Path(path).samefile(other)
    except (OSError, ValueError):
        return False


def check_output(path: PathLike) -> None:
    """Raise ``InputError`` if ``path`` is not writable, so that long work need not start."""
    name = os.fspath(path)
    if name == "-":
        return
    kind, folder = path_kind(name), Path(os.path.realpath(name)).parent
    if kind == "folder":
        raise InputError(f"{path}: is a folder, expected a file")
    if kind != "device" and path_kind(folder) != "folder":
        raise InputError(f"{path}: no such folder")
    if kind is not None and not os.access(name, os.W_OK):
        raise InputError(f"{path}: cannot be written (it is read-only)")
    if kind != "device" and not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{path}: cannot be written (the folder is read-only)")


def make_folder(path: PathLike) -> None:
    """Create a folder and its parents, if missing."""
    if path_kind(path) not in ("folder", None):
        raise InputError(f"{path}: is a file, expected a folder")
    try:
        Path(path).mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{path}: cannot be created ({error.strerror or error})") from error
