"""Models by name: shipped with arcwise, installed in a folder or provided by a package; and known models."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from importlib.resources import files
from pathlib import Path

from arcwise.errors import InputError, ModelError
from arcwise.treebanks.files import path_kind

SUFFIX = ".arcwise"
ENTRY_POINTS = "arcwise.models"
"""Entry point group of packages that bring models: the name of a model and the path of its file, or a
function that returns the path."""
FOLDERS_VARIABLE = "ARCWISE_MODELS"
"""Environment variable: folders of models, separated like those of PATH. New models go to the first one."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True)
class InstalledModel:
    """A model that ``arcwise.load`` finds by its name."""

    name: str
    path: Path | None
    """Its file; None if the package that should bring it does not."""
    origin: str
    """``shipped``, the folder of the file, or the package that brings it."""
    problem: str = ""
    """Why there is no file."""


@dataclass(frozen=True)
class KnownModel:
    """An entry of the list of known models, which are not part of the package."""

    name: str
    language: str
    treebank: str
    licence: str
    bytes: int
    sha256: str
    scores: Mapping[str, float]
    """CoNLL 2018 metrics on the test set, from raw text (F1 in per cent)."""


def is_model_name(text: str) -> bool:
    """Return whether a text can name an installed model.

    >>> is_model_name("de-large"), is_model_name("models/de.arcwise"), is_model_name(".hidden")
    (True, False, False)
    """
    return _NAME.fullmatch(text) is not None and not text.endswith(SUFFIX)


def shipped_models() -> dict[str, Path]:
    """Return the names and files of the models shipped with arcwise.

    >>> "en" in shipped_models()
    True
    """
    return _models_in(Path(str(files("arcwise") / "shipped_models")))


def model_folders() -> list[Path]:
    """Return the folders in which installed models are looked up, in this order."""
    listed = os.environ.get(FOLDERS_VARIABLE, "").split(os.pathsep)
    return [*(Path(folder).expanduser() for folder in listed if folder), _user_folder()]


def _user_folder() -> Path:
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    else:
        base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "arcwise" / "models"


def installed_models() -> Iterator[InstalledModel]:
    """Yield the models that can be loaded by name. Of two with one name, the first is loaded."""
    for name, path in shipped_models().items():
        yield InstalledModel(name, path, "shipped")
    for folder in dict.fromkeys(model_folders()):
        for name, path in _models_in(folder).items():
            yield InstalledModel(name, path, str(folder))
    for entry in sorted(entry_points(group=ENTRY_POINTS), key=lambda entry: entry.name):
        try:
            yield InstalledModel(entry.name, _path_of(entry), _package(entry))
        except ModelError as error:
            yield InstalledModel(entry.name, None, _package(entry), str(error))


def installed_names() -> list[str]:
    """Return the names of the installed models, without opening packages that bring some."""
    folders = (_models_in(folder) for folder in model_folders())
    brought = sorted(entry.name for entry in entry_points(group=ENTRY_POINTS))
    return list(
        dict.fromkeys([*shipped_models(), *(name for models in folders for name in models), *brought])
    )


def find_model(name: str) -> Path | None:
    """Return the file of an installed model, or None. Imports no package that brings other models."""
    if not is_model_name(name):
        return None
    if name in (shipped := shipped_models()):
        return shipped[name]
    for folder in model_folders():
        if path_kind(folder / f"{name}{SUFFIX}") == "file":
            return folder / f"{name}{SUFFIX}"
    for entry in entry_points(group=ENTRY_POINTS, name=name):
        return _path_of(entry)
    return None


def _models_in(folder: Path) -> dict[str, Path]:
    try:
        paths = sorted(folder.glob(f"*{SUFFIX}"))
    except OSError:
        return {}
    return {path.stem: path for path in paths if is_model_name(path.stem)}


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else entry.module


def _path_of(entry: EntryPoint) -> Path:
    """Return the file that an entry point names."""
    try:
        value = entry.load()
        return Path(value() if callable(value) else value)
    except Exception as error:  # whatever the code of another package raises
        raise ModelError(
            f"{entry.name}: the package {_package(entry)} does not give the file of its model "
            f"({type(error).__name__}: {error})"
        ) from error


@cache
def known_models() -> dict[str, KnownModel]:
    """Return the models that ``recipes/train.py`` has made for the folder ``models`` of the repository."""
    text = (files("arcwise") / "data" / "known-models.json").read_text(encoding="utf-8")
    return {name: KnownModel(name, **values) for name, values in json.loads(text).items()}


def train_command(name: str, folder: str = "FOLDER") -> str:
    """Return the command that trains a model of that name, in quotes."""
    return "'arcwise models train NAME --treebank FOLDER'".replace("NAME", name).replace("FOLDER", folder)


def how_to_get(name: str) -> str:
    """Return a suggestion, with a command, for getting a model of that name.

    >>> how_to_get("xx")
    "train it on a treebank of the language: 'arcwise models train xx --treebank FOLDER'"
    """
    if name in known_models():
        return f"install it: 'arcwise models install {name}'"
    command = train_command(name if is_model_name(name) else "NAME")
    return f"train it on a treebank of the language: {command}"


def check_model_name(name: str) -> str:
    """Return the name, or raise ``InputError`` if a model cannot be installed with it."""
    if not is_model_name(name):
        raise InputError(f"{name!r} cannot name a model: expected letters, digits, '.', '_' and '-'")
    if name in shipped_models():
        raise InputError(f"{name}: is the name of a model shipped with arcwise; choose another one")
    return name
