"""A treebank folder as in Universal Dependencies releases, and training settings for its size."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from arcwise.errors import InputError
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import read_bytes

PARTS = ("train", "dev", "test")
_FILE = re.compile(
    r"(?:(?P<code>[a-z]{2,3})_.*-)?(?:.*[-_.])?(?P<part>train|dev|test)\.conllu(?:\.(?:gz|xz|zst))?"
)
_LARGE = 50_000
"""Words of a treebank that trains fast enough only with fewer folds and without rare combinations of tags."""


@dataclass(frozen=True)
class TreebankFolder:
    """The files of a treebank: ``de_gsd-ud-train.conllu``, or ``train.conllu.xz``."""

    path: Path
    files: Mapping[str, Path]
    """Part (train, dev, test) → file. There is always a training part."""
    code: str
    """Language code of the files' names; empty if they have none."""
    licence: str
    """Licence in the README of the treebank; empty if it names none."""

    @classmethod
    def find(cls, folder: str | Path, parts: Iterable[str] = ("train",)) -> TreebankFolder:
        """Find the parts of a treebank; raises ``InputError`` if one of ``parts`` is missing or ambiguous."""
        path = Path(folder)
        if not path.is_dir():
            raise InputError(f"{folder}: no such folder, expected one with the files of a treebank")
        by_part: dict[str, list[Path]] = {}
        code = ""
        for file in sorted(path.iterdir()):
            match = _FILE.fullmatch(file.name)
            if match is not None and file.is_file():
                by_part.setdefault(match["part"], []).append(file)
                code = code or match["code"] or ""
        for part, files in by_part.items():
            if len(files) > 1:
                names = ", ".join(file.name for file in files)
                raise InputError(f"{folder}: has several files of the {part} part ({names}), expected one")
        for part in parts:
            if part not in by_part:
                present = ", ".join(part for part in PARTS if part in by_part) or "no part of a treebank"
                raise InputError(f"{folder}: has no file such as xx_name-ud-{part}.conllu (found {present})")
        return cls(path, {part: by_part[part][0] for part in PARTS if part in by_part}, code, _licence(path))

    def read(self, part: str) -> Treebank:
        """Read a part; its source name omits the path of the folder."""
        file = self.files[part]
        return Treebank(read_bytes(file), source=f"{self.path.resolve().name}/{file.name}")


def _licence(folder: Path) -> str:
    """Return the licence in the metadata that ends the README of every UD treebank."""
    for name in ("README.md", "README.txt"):
        try:
            text = (folder / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            continue
        match = re.search(r"^Licen[sc]e:[ \t]*(\S.*)$", text, re.MULTILINE)
        if match is not None:
            return match[1].strip()[:100]
    return ""


def settings_for(train: Treebank, parser: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return options of a pipeline, and of its parser of that kind, that suit the size of a training part.

    A small treebank keeps the defaults: five jackknife folds, and all combinations of tags.
    """
    if train.word_count < _LARGE:
        return {}, {}
    pipeline = {"jackknife": 3, "tagger": {"bundle_min_count": 2}}
    return pipeline, {"epochs": 8} if parser == "graph" else {}
