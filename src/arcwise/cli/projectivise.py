"""``arcwise projectivise``: the nearest projective tree of every sentence."""

from __future__ import annotations

import typer

from arcwise.cli._support.files import Files
from arcwise.cli._support.output import echo

FILES = Files(reads=("file",), writes=("output",))


def run(
    file: str = typer.Argument(..., help="CoNLL-U file (.gz, .xz, - for standard input)."),
    output: str = typer.Option("-", "--output", "-o", help="Output file (- for standard output)."),
    threads: int = typer.Option(1, help="Number of threads."),
) -> None:
    """Replace every tree with crossing arcs by the nearest projective tree.

    The new tree changes as few heads as possible; labels stay with their words, and the rest of the file is
    unchanged. The number of changed heads and trees is reported on standard error.
    """
    from arcwise.inference.projectivise import projectivise_treebank
    from arcwise.treebanks.files import open_output
    from arcwise.treebanks.streaming import stream

    heads = words = trees = sentences = 0
    with open_output(output) as out:
        for treebank in stream(file):
            projective, changed = projectivise_treebank(treebank, threads=threads)
            out.write(projective.data)
            heads += changed.heads
            trees += changed.trees
            words += treebank.word_count
            sentences += len(treebank)
    echo(
        f"{heads} of {words} heads changed ({heads / max(words, 1):.2%}), in {trees} of {sentences} trees "
        f"({trees / max(sentences, 1):.2%})",
        err=True,
    )
