"""Input files of a job: text, JSONL, CoNLL-U or Parquet, named by folder, glob or list."""

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

_COMPRESSED = r"(\.gz|\.xz|\.zst)?$"
_PATTERNS: dict[InputFormat, re.Pattern[str]] = {
    "jsonl": re.compile(rf"\.(jsonl|ndjson|json){_COMPRESSED}"),
    "conllu": re.compile(rf"\.(conllu|conllx|conll){_COMPRESSED}"),
    "parquet": re.compile(r"\.parquet$"),
}


@dataclass(frozen=True)
class InputFile:
    """One file of the input."""

    path: str
    """As the user gave it, for messages."""
    absolute_path: str
    """For workers, which may run elsewhere."""
    name: str
    """Name in the output: the path below the folder that contains all input files."""
    format: InputFormat


def find_inputs(patterns: Sequence[str], *, format: InputFormat | None = None) -> list[InputFile]:
    """List the input files in order of name, each once.

    Each of ``patterns`` is a file, a folder, a glob (``crawl/*.jsonl.gz``, ``**`` for any depth) or
    ``@FILE``, a list with one name per line. Hidden files of folders and globs are skipped. ``format`` None:
    by file name; files with an unknown suffix are text.
    """
    # Sorted and deduplicated, so that the order of arguments changes nothing.
    paths = sorted({os.path.normpath(path) for pattern in patterns for path in _paths_of(pattern)})
    if not paths:
        raise InputError(f"inputs: found {list(patterns)!r}, expected at least one file")
    absolute = [Path.cwd() / path for path in paths]
    folder = os.path.commonpath([path.parent for path in absolute])
    files = [
        InputFile(path, str(whole), whole.relative_to(folder).as_posix(), format or format_of_name(path))
        for path, whole in zip(paths, absolute, strict=True)
    ]
    _require_libraries(files)
    return files


def format_of_name(path: str) -> InputFormat:
    """Format of a file by its name.

    >>> format_of_name("crawl/a.jsonl.zst"), format_of_name("book.txt")
    ('jsonl', 'text')
    """
    return next((format for format, pattern in _PATTERNS.items() if pattern.search(path.lower())), "text")


def _paths_of(pattern: str) -> Iterable[str]:
    if pattern.startswith("@"):
        return _listed(pattern[1:])
    kind = path_kind(pattern)
    if kind == "folder":
        paths = [str(p) for p in Path(pattern).rglob("*") if p.is_file() and not _is_hidden(p, pattern)]
        if not paths:
            raise InputError(f"{pattern}: the folder contains no files")
        return paths
    if kind is not None:
        return [pattern]
    if not glob.has_magic(pattern):
        raise InputError(f"{pattern}: no such file")
    paths = [
        path
        for path in glob.glob(pattern, recursive=True)  # noqa: PTH207 (patterns may be absolute)
        if path_kind(path) == "file"
    ]
    if not paths:
        raise InputError(f"{pattern}: no file matches the pattern")
    return paths


def _listed(path: str) -> list[str]:
    """Read a list of files. A missing file is reported when it is read; it does not stop the job."""
    try:
        lines = Path(path).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read as a list of files ({reason})") from error
    names = [line.strip() for line in lines if line.strip()]
    if not names:
        raise InputError(f"{path}: the list of files is empty; write one name per line")
    return names


def _is_hidden(path: Path, folder: str) -> bool:
    # Spark and Hadoop name their bookkeeping files so (_SUCCESS).
    return any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)


def _require_libraries(files: Iterable[InputFile]) -> None:
    needed = {"pyarrow" for file in files if file.format == "parquet"}
    needed |= {"zstandard" for file in files if file.path.endswith(".zst") and file.format != "parquet"}
    require(*sorted(needed))
