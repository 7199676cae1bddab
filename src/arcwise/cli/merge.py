"""``arcwise merge``: three-way merge of treebanks, also as a git merge driver."""

from __future__ import annotations

import typer

from arcwise.cli._support.files import Files
from arcwise.cli._support.output import echo

FILES = Files(reads=("base", "mine", "theirs"), writes=("output",))


def run(
    base: str = typer.Argument(..., help="CoNLL-U file that both started from."),
    mine: str = typer.Argument(..., help="File with my changes."),
    theirs: str = typer.Argument(..., help="File with their changes."),
    name: str | None = typer.Argument(
        None, help="With --git: the name of the file in messages (%P).", show_default=False
    ),
    output: str = typer.Option("-", "--output", "-o", help="Merged file (- for standard output)."),
    git: bool = typer.Option(
        False,
        "--git",
        help="Run as a git merge driver, 'arcwise merge --git %O %A %B %P': the result replaces MINE, "
        "and files may be empty.",
    ),
) -> None:
    """Merge two versions of a treebank by sentence, word and column.

    Changes to different words, or to different columns of a word, do not conflict; the head and label of a
    word belong together. If both versions changed the same value, or the combination would not be a tree, the
    result has the value of MINE, and a comment records that of THEIRS: '# conflict = 3 head theirs=5'.
    Nothing is lost. Standard error lists the conflicts; the exit status is 1 if there are any, else 0.
    """
    from arcwise.cli._support.files import read_version
    from arcwise.errors import InputError
    from arcwise.treebanks import open_output
    from arcwise.treebanks.files import check_output
    from arcwise.treebanks.merging import merge

    if git and output != "-":
        raise InputError(f"--git: cannot be combined with --output {output} (--git writes to {mine})")
    if name is not None and not git:
        raise InputError(f"{name}: is a fourth file, expected BASE MINE THEIRS (NAME needs --git)")
    target = mine if git else output
    check_output(target)
    # git passes temporary files, whose names would be meaningless in messages.
    sides = {"base": base, "mine": mine, "theirs": theirs}
    versions = [
        read_version(path, may_be_empty=git, name=None if name is None else f"{name} ({side})")
        for side, path in sides.items()
    ]
    merged = merge(*(version.data for version in versions))
    with open_output(target) as out:
        out.write(merged.data)
    for conflict in merged.conflicts:
        echo(str(conflict) if name is None else f"{name}: {conflict}", err=True)
    if merged.conflicts:
        count = len(merged.conflicts)
        echo(
            f"{count} conflict{'s' * (count != 1)}, recorded in comments that start with '# conflict'",
            err=True,
        )
        raise typer.Exit(1)
