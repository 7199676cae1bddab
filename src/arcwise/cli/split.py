"""``arcwise split``: split a treebank into train, dev and test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer

from arcwise.cli._support.files import Files, refuse_existing
from arcwise.cli._support.output import echo

FILES = Files(reads=("file",), folders=("folder",))


def run(
    file: str = typer.Argument(..., help="CoNLL-U file to split."),
    folder: str = typer.Argument(..., help="Output folder; each part is written to NAME.conllu."),
    parts: str = typer.Option("train=80,dev=10,test=10", help="Names and proportions of the parts."),
    by: str = typer.Option(
        "sentence", help="Unit that is not split: sentence, or document (from one '# newdoc' to the next)."
    ),
    seed: int | None = typer.Option(None, help="Random seed for sampling. [default: parts in file order]"),
    overwrite: bool = typer.Option(False, "--overwrite", help="Overwrite existing files."),
) -> None:
    """Split a treebank into parts such as train, dev and test.

    Proportions are counted in words. Every sentence goes to exactly one part, unchanged and in the order of
    the file.
    """
    from arcwise.errors import InputError
    from arcwise.treebanks.files import make_folder
    from arcwise.treebanks.split import split
    from arcwise.treebanks.treebank import Treebank

    if by not in ("sentence", "document"):
        raise InputError(f"--by: found {by!r}, expected sentence or document")
    unit: Any = by
    shares = _shares(parts)
    treebank = Treebank.read(file)
    pieces = split(treebank, shares=shares, by=unit, seed=seed)
    targets = {name: Path(folder) / f"{name}.conllu" for name in pieces}
    refuse_existing(targets.values(), read=[file], overwrite=overwrite)
    make_folder(folder)
    for name, part in pieces.items():
        target = targets[name]
        part.write(target)
        echo(f"{target}: {len(part)} sentences, {part.word_count} words")


def _shares(text: str) -> dict[str, float]:
    from arcwise.errors import InputError

    shares: dict[str, float] = {}
    for part in text.split(","):
        name, _, share = part.partition("=")
        try:
            shares[name.strip()] = float(share)
        except ValueError:
            raise InputError(f"--parts: found {part!r}, expected NAME=SHARE, e.g. train=80") from None
        if not name.strip() or Path(name.strip()).name != name.strip():
            raise InputError(f"--parts: found the name {name!r}, expected a file name without extension")
    return shares
