"""The files of a command: what it reads and what it writes is declared, and checked before it starts."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from arcwise.errors import InputError
from arcwise.treebanks.files import check_output, path_kind, same_file


@dataclass(frozen=True)
class Files:
    """Which parameters of a command name files. ``cli/NAME.py`` has one as ``FILES``.

    Before the command starts: what it reads is there; what it writes can be written, is none of the files that it reads, and is not
    written twice; what a plot needs is installed.
    """

    reads: tuple[str, ...] = ()
    """Files that must be there."""
    may_read: tuple[str, ...] = ()
    """What may be a file, or something else: the name of a model, a folder, a text."""
    writes: tuple[str, ...] = ()
    plots: tuple[str, ...] = ()
    """Files that matplotlib draws."""
    folders: tuple[str, ...] = ()
    """Folders to write into."""
    like: Mapping[str, str] = field(default_factory=dict)
    """What is written → what is read: a folder where that is a folder or the name ends in ``/``, else a file."""
    goes_on: Mapping[str, str] = field(default_factory=dict)
    """What is written → what is read, where both may be the same file: a search goes on from its checkpoint."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """Parameters that name a file to write."""
        return (*self.writes, *self.plots, *self.like)

    def check(self, given: Mapping[str, Any]) -> None:
        """``InputError`` (or ``MissingExtraError``) for the first thing that is wrong."""
        for path in _paths(given, self.reads):
            if path != "-" and path_kind(path) is None:
                raise InputError(f"{path}: no such file")
        like = (n for n, read in self.like.items() if names_folder(given.get(n)) or _has_folder(given, read))
        folders = [*self.folders, *like]
        for path in _paths(given, folders):
            if path != "-" and path_kind(path) not in ("folder", None):
                raise InputError(f"{path}: is a file, expected a folder")
            above = next((p for p in Path(path).parents if path_kind(p) is not None), None)
            if path_kind(path) is None and above is not None and path_kind(above) != "folder":
                raise InputError(f"{path}: cannot be created ({above} is a file)")
        written: list[str] = []
        for name in self.outputs:
            for path in _paths(given, [] if name in folders else [name]):
                check_output(path)
                read = [n for n in (*self.reads, *self.may_read) if n != self.goes_on.get(name)]
                if any(same_file(path, other) for other in _paths(given, read)):
                    raise InputError(f"{path}: is read here, expected another file to write to")
                real = os.path.realpath(path)
                if path != "-" and path_kind(real) != "device" and real in written:
                    raise InputError(f"{path}: is to be written twice, expected two files")
                written.append(real)
        for path in _paths(given, self.plots):
            from arcwise.visual.plots import check_plot

            check_plot(path)

    def checked(self, run: Callable[..., None]) -> Callable[..., None]:
        """The command ``run``, after these checks."""

        @functools.wraps(run)
        def wrapped(**given: Any) -> None:
            self.check(given)
            run(**given)

        return wrapped


def _paths(given: Mapping[str, Any], names: Iterable[str]) -> Iterator[str]:
    for name in names:
        value = given.get(name)
        yield from [value] if isinstance(value, str) else value or ()


def names_folder(path: Any) -> bool:
    """Whether a path is written as that of a folder: with a slash at its end.

    >>> names_folder("trees/"), names_folder("trees")
    (True, False)
    """
    return isinstance(path, str) and path.endswith(("/", os.sep))


def _has_folder(given: Mapping[str, Any], name: str) -> bool:
    return any(path_kind(path) == "folder" for path in _paths(given, [name]))


def refuse_existing(targets: Iterable[Path], *, read: Sequence[str | Path], overwrite: bool) -> None:
    """``InputError`` if a file whose name the user did not type is there already, unless it may be overwritten; a file that is read
    never may be."""
    for target in targets:
        if any(same_file(target, path) for path in read):
            raise InputError(f"{target}: is read here, expected another folder to write to")
        if path_kind(target) is not None and not overwrite:
            raise InputError(f"{target}: is there already; --overwrite replaces it")


def output_path(model: str, *, interrupted: bool) -> str:
    """The path for a trained model: the one asked for, but work that was interrupted goes beside a model that is there already.

    >>> output_path("new.arcwise", interrupted=True)
    'new.arcwise'
    """
    if not interrupted or path_kind(model) != "file":
        return model
    path = Path(model)
    number = 1
    while path_kind(beside := path.with_name(f"{path.stem}.stopped-{number}{path.suffix}")) is not None:
        number += 1
    return str(beside)
