"""What a job reads: files of text, JSONL, CoNLL-U or Parquet, given as a folder, a glob or a list."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from arcwise.errors import InputError
from arcwise.optional import require
from arcwise.treebanks.files import path_kind

InputFormat = Literal["text", "jsonl", "conllu", "parquet"]
INPUT_FORMATS: tuple[InputFormat, ...] = ("text", "jsonl", "conllu", "parquet")

_PACKED = r"(\.gz|\.xz|\.zst)?$"
_NAMED: dict[InputFormat, re.Pattern[str]] = {
    "jsonl": re.compile(rf"\.(jsonl|ndjson|json){_PACKED}"),
    "conllu": re.compile(rf"\.(conllu|conllx|conll){_PACKED}"),
    "parquet": re.compile(r"\.parquet$"),
}


@dataclass(frozen=True)
class InputFile:
    """One file of the input."""

    path: str
    """As it was given, for messages."""
    place: str
    """Its absolute path, for workers elsewhere."""
    name: str
    """What it is called in the output: its path below the folder that all files have in common."""
    format: InputFormat


def find_inputs(given: Sequence[str], *, format: InputFormat | None = None) -> list[InputFile]:
    """The files meant by ``given``, each a file, a folder, a glob (``crawl/*.jsonl.gz``, ``**`` is any depth) or ``@FILE``, a list with
    a name on each line; in order of name, each once. ``format`` None: by the names of the files; what has no other name is text.

    Hidden files of folders and globs are left out.
    """
    paths = sorted({os.path.normpath(path) for name in given for path in _paths_of(name)})
    if not paths:
        raise InputError(f"inputs: found {list(given)!r}, expected at least one file")
    places = [Path.cwd() / path for path in paths]
    folder = os.path.commonpath([place.parent for place in places])
    found = [
        InputFile(path, str(place), place.relative_to(folder).as_posix(), format or format_of_name(path))
        for path, place in zip(paths, places, strict=True)
    ]
    _require_libraries(found)
    return found


def format_of_name(path: str) -> InputFormat:
    """The format of a file by its name.

    >>> format_of_name("crawl/a.jsonl.zst"), format_of_name("book.txt")
    ('jsonl', 'text')
    """
    return next((known for known, pattern in _NAMED.items() if pattern.search(path.lower())), "text")


def _paths_of(name: str) -> Iterable[str]:
    if name.startswith("@"):
        return _listed(name[1:])
    kind = path_kind(name)
    if kind == "folder":
        found = [str(p) for p in Path(name).rglob("*") if p.is_file() and not _is_hidden(p, name)]
        if not found:
            raise InputError(f"{name}: found no file in the folder")
        return found
    if kind is not None:
        return [name]
    if not glob.has_magic(name):
        raise InputError(f"{name}: no such file")
    found = [
        path
        for path in glob.glob(name, recursive=True)  # noqa: PTH207 (patterns may be absolute)
        if path_kind(path) == "file"
    ]
    if not found:
        raise InputError(f"{name}: found no file of that pattern")
    return found


def _listed(path: str) -> list[str]:
    """The files of a list; one that is not there is told when it is read, and ends nothing."""
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read as a list of files ({reason})") from error
    found = [line.strip() for line in lines if line.strip()]
    if not found:
        raise InputError(f"{path}: found no name in the list, expected one on each line")
    return found


def _is_hidden(path: Path, folder: str) -> bool:
    return any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)


def _require_libraries(files: Iterable[InputFile]) -> None:
    needed = {"pyarrow" for file in files if file.format == "parquet"}
    needed |= {"zstandard" for file in files if file.path.endswith(".zst") and file.format != "parquet"}
    require(*sorted(needed))
