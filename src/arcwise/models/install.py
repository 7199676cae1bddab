"""Install a model: copy or download a file, check its hash and content, then move it into place."""

from __future__ import annotations

import hashlib
import http.client
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO
from urllib.error import URLError
from urllib.parse import unquote, urldefrag, urlsplit
from urllib.request import urlopen

from arcwise.errors import ArcwiseError, InputError, MissingExtraError, ModelError, OptionError
from arcwise.learning.model_file import read_model
from arcwise.models.installed import (
    SUFFIX,
    InstalledModel,
    check_model_name,
    find_model,
    is_model_name,
    known_models,
    model_folders,
    shipped_models,
)
from arcwise.models.registry import open_packed
from arcwise.treebanks.files import make_folder, path_kind

MOST_BYTES = 2_000_000_000
"""Largest file that is downloaded."""
_PIECE = 1 << 20
_TIMEOUT = 60.0
"""Seconds without an answer after which a download stops."""
_PICKLES = {b"PK": "a zip archive, as PyTorch's pickles are", b"\x80": "a pickle"}
"""First bytes → what a file is that can run code when it is opened."""


def install_model(
    source: str,
    *,
    name: str | None = None,
    sha256: str | None = None,
    folder: Path | None = None,
    overwrite: bool = False,
) -> InstalledModel:
    """Install a model so that ``arcwise.load(name)`` finds it.

    The file is checked before it gets its name: an interrupted or refused installation leaves nothing behind.
    A model file is data in the safetensors format; nothing in it is executed.

    source: the name of a known model, whose file is in the folder ``models`` of a clone of the repository; a
    file; or an http(s) address, with ``#sha256=`` and the hash at its end unless ``sha256`` is given.
    name: the name to install it by (default: that of the file).
    sha256: the hash that the file must have.
    folder: where to install it (default: the first folder of ``ARCWISE_MODELS``, or the user's data folder).
    overwrite: replace another model of that name.
    """
    place, name, expected = _resolved(source, name, sha256)
    folder = model_folders()[0] if folder is None else folder
    target = folder / f"{check_model_name(name)}{SUFFIX}"
    make_folder(folder)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"{folder}: cannot be written (the folder is read-only)")
    with _temporary_folder(folder) as temporary:
        file = temporary / target.name
        digest = _fetched(place, file)
        if expected is not None and digest != expected:
            raise InputError(f"{place}: its SHA-256 is {digest}, expected {expected}; nothing was installed")
        _check(file, place)
        is_same = path_kind(target) == "file" and _digest(target) == digest
        if path_kind(target) is not None and not (is_same or overwrite):
            raise InputError(
                f"{target}: is a different model of that name; choose another name, or overwrite it"
            )
        try:
            file.replace(target)
        except OSError as error:
            raise InputError(f"{target}: cannot be written ({error.strerror or error})") from error
    return InstalledModel(name, target, str(folder))


def _resolved(source: str, name: str | None, sha256: str | None) -> tuple[str, str, str | None]:
    """Return the path or address of a source, the name of the model and the hash to expect."""
    if source in shipped_models():
        raise InputError(f"{source}: is shipped with arcwise and need not be installed")
    if is_address(source):
        address, fragment = urldefrag(source)
        expected = sha256 or fragment.removeprefix("sha256=")
        if not expected:
            raise OptionError(
                "sha256", f"is needed for an address; or end it with the hash: {source}#sha256=…"
            )
        name = name or Path(unquote(urlsplit(address).path)).name.removesuffix(SUFFIX)
        return address, name, _checked_hash(expected)
    if path_kind(source) == "file":
        return source, name or Path(source).name.removesuffix(SUFFIX), sha256 and _checked_hash(sha256)
    model = known_models().get(source)
    if model is None or not is_model_name(source):
        names = ", ".join(known_models()) or "none"
        raise ModelError(
            f"{source}: no such file or known model ({names}); "
            "give a file or an address, or train one with 'arcwise models train'"
        )
    for folder in clone_folders():
        if path_kind(folder / f"{source}{SUFFIX}") == "file":
            expected = model.sha256 if sha256 is None else _checked_hash(sha256)
            return str(folder / f"{source}{SUFFIX}"), name or source, expected
    if find_model(source) is not None:
        raise InputError(f"{source}: is installed already ({find_model(source)})")
    raise ModelError(
        f"{source}: its file {source}{SUFFIX} is in the folder models of the repository; "
        "run this command in a clone, or give the file or its address"
    )


def is_address(source: str) -> bool:
    """Return whether a source is an http(s) address.

    >>> is_address("https://example.org/de.arcwise"), is_address("models/de.arcwise")
    (True, False)
    """
    return urlsplit(source).scheme in ("http", "https")


def clone_folders() -> list[Path]:
    """Return where the folder ``models`` of a clone may be: of the package's own, or in this directory."""
    package = Path(__file__).parents[1]
    repository = [package.parents[1]] if package.parent.name == "src" else []
    return [clone / "models" for clone in (*repository, Path.cwd())]


def _checked_hash(text: str) -> str:
    if re.fullmatch(r"[0-9a-fA-F]{64}", text) is None:
        raise OptionError("sha256", f"found {text!r}, expected 64 hexadecimal digits")
    return text.lower()


@contextmanager
def _temporary_folder(folder: Path) -> Iterator[Path]:
    """A hidden folder next to the models, on the same disk, that is always removed."""
    try:
        temporary = Path(tempfile.mkdtemp(dir=folder, prefix=".install-"))
    except OSError as error:
        raise InputError(f"{folder}: cannot be written ({error.strerror or error})") from error
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _fetched(place: str, target: Path) -> str:
    """Write the file at a path or an address to ``target``; returns its SHA-256."""
    if is_address(place):
        try:
            with urlopen(place, timeout=_TIMEOUT) as answer:
                return _copied(answer, target, place, length=answer.headers.get("Content-Length"))
        except (URLError, OSError, http.client.HTTPException, ValueError) as error:
            reason = getattr(error, "reason", None) or error
            raise InputError(f"{place}: cannot be downloaded ({reason})") from error
    try:
        with Path(place).open("rb") as stream:
            return _copied(stream, target, place)
    except OSError as error:
        raise InputError(f"{place}: cannot be copied ({error.strerror or error})") from error


def _copied(stream: BinaryIO, target: Path, place: str, length: str | None = None) -> str:
    digest, size = hashlib.sha256(), 0
    with target.open("xb") as out:
        while piece := stream.read(_PIECE):
            size += len(piece)
            if size > MOST_BYTES:
                raise InputError(f"{place}: is larger than {MOST_BYTES / 1e9:.0f} GB, which no model is")
            digest.update(piece)
            out.write(piece)
        out.flush()
        os.fsync(out.fileno())
    if length is not None and length.isdecimal() and int(length) != size:
        raise InputError(f"{place}: the download ended after {size} of {length} bytes; nothing was installed")
    return digest.hexdigest()


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _check(file: Path, place: str) -> None:
    """Raise ``ModelError`` unless the file is an intact pipeline."""
    with file.open("rb") as stream:
        start = stream.read(2)
    for first, description in _PICKLES.items():
        # A safetensors file starts with the length of its header, and its ninth byte is a brace.
        if start.startswith(first) and not _has_header(file):
            raise ModelError(f"{place}: is {description}, which can run code; arcwise only opens safetensors")
    try:
        packed = read_model(file)
        if packed.kind != "pipeline":
            raise ModelError(
                f"{place}: is a {packed.kind} model, expected a pipeline from 'arcwise train --pipeline'"
            )
        with suppress(MissingExtraError):  # the model is intact, and needs a library that can be added
            open_packed(packed)
    except ArcwiseError as error:
        raise ModelError(str(error).replace(str(file), place)) from error


def _has_header(file: Path) -> bool:
    with file.open("rb") as stream:
        return stream.read(9)[8:] == b"{"
