"""The files of a command, declared and checked before it starts."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from arcwise.errors import InputError
from arcwise.treebanks.files import check_output, path_kind, same_file

if TYPE_CHECKING:
    from arcwise.treebanks import Treebank


@dataclass(frozen=True)
class Files:
    """The parameters of a command that name files: ``FILES`` in ``cli/NAME.py``.

    Before the command starts, its inputs must exist, its outputs must be writable, distinct and different
    from the inputs, and matplotlib must be installed for a plot.
    """

    reads: tuple[str, ...] = ()
    """Files that must exist."""
    may_read: tuple[str, ...] = ()
    """May be a file or something else: the name of a model, a folder, a text."""
    writes: tuple[str, ...] = ()
    plots: tuple[str, ...] = ()
    """Files drawn by matplotlib."""
    folders: tuple[str, ...] = ()
    """Folders to write into."""
    like: Mapping[str, str] = field(default_factory=dict)
    """Output → input: the output is a folder if the input is one or its own name ends in ``/``, else a
    file."""
    continues: Mapping[str, str] = field(default_factory=dict)
    """Output → input that may be the same file: a search resumes from its checkpoint."""

    @property
    def outputs(self) -> tuple[str, ...]:
        """Parameters that name a file to write."""
        return (*self.writes, *self.plots, *self.like)

    def check(self, values: Mapping[str, Any]) -> None:
        """``InputError`` (or ``MissingExtraError``) for the first problem."""
        for path in _paths(values, self.reads):
            if path != "-" and path_kind(path) is None:
                raise InputError(f"{path}: no such file")
        like = (
            n for n, read in self.like.items() if names_folder(values.get(n)) or _has_folder(values, read)
        )
        folders = [*self.folders, *like]
        for path in _paths(values, folders):
            if path != "-" and path_kind(path) not in ("folder", None):
                raise InputError(f"{path}: is a file, expected a folder")
            above = next((p for p in Path(path).parents if path_kind(p) is not None), None)
            if path_kind(path) is None and above is not None and path_kind(above) != "folder":
                raise InputError(f"{path}: cannot be created ({above} is a file)")
        written: list[str] = []
        for name in self.outputs:
            for path in _paths(values, [] if name in folders else [name]):
                check_output(path)
                read = [n for n in (*self.reads, *self.may_read) if n != self.continues.get(name)]
                if any(same_file(path, other) for other in _paths(values, read)):
                    raise InputError(f"{path}: is an input too, expected a different output file")
                real = os.path.realpath(path)
                if path != "-" and path_kind(real) != "device" and real in written:
                    raise InputError(f"{path}: would be written twice, expected different files")
                written.append(real)
        for path in _paths(values, self.plots):
            from arcwise.visual.plots import check_plot

            check_plot(path)

    def checked(self, run: Callable[..., None]) -> Callable[..., None]:
        """The command ``run``, with these checks before it."""

        @functools.wraps(run)
        def wrapped(**values: Any) -> None:
            self.check(values)
            run(**values)

        return wrapped


def _paths(values: Mapping[str, Any], names: Iterable[str]) -> Iterator[str]:
    for name in names:
        value = values.get(name)
        yield from [value] if isinstance(value, str) else value or ()


def names_folder(path: Any) -> bool:
    """Whether a path ends in a slash, which stands for a folder.

    >>> names_folder("trees/"), names_folder("trees")
    (True, False)
    """
    return isinstance(path, str) and path.endswith(("/", os.sep))


def _has_folder(values: Mapping[str, Any], name: str) -> bool:
    return any(path_kind(path) == "folder" for path in _paths(values, [name]))


def refuse_existing(targets: Iterable[Path], *, read: Sequence[str | Path], overwrite: bool) -> None:
    """``InputError`` if an output whose name the user did not type exists, unless ``overwrite``; an input is
    never overwritten."""
    for target in targets:
        if any(same_file(target, path) for path in read):
            raise InputError(f"{target}: is an input too, expected a different output folder")
        if path_kind(target) is not None and not overwrite:
            raise InputError(f"{target}: exists already; use --overwrite to replace it")


def output_path(model: str, *, interrupted: bool) -> str:
    """The path for a trained model. An interrupted training gets a new name if the model exists.

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


def read_version(path: str, *, may_be_empty: bool = False, name: str | None = None) -> Treebank:
    """Read a version of a treebank to compare or merge; its trees may be broken, since someone may be fixing
    just these. ``may_be_empty``: accept an empty file. ``name``: the file's name in messages."""
    from arcwise.treebanks import Treebank, read_bytes
    from arcwise.treebanks.files import refuse_other_format
    from arcwise.treebanks.problems import OF_TREES

    data = read_bytes(path)
    shown = name or path
    refuse_other_format(data, shown)
    treebank = Treebank(data, source=shown, strict=False)
    problem = next((p for p in treebank.problems if p.kind not in OF_TREES), None)
    if problem is not None:
        raise InputError(str(problem))
    if not len(treebank) and not (may_be_empty and not data.strip()):
        raise InputError(f"{shown}: found no sentence, expected CoNLL-U")
    return treebank
