"""``arcwise projectivise``: the nearest projective tree of every sentence."""

from __future__ import annotations

from typing import Annotated

import typer

from arcwise.cli._support.files import Files

FILES = Files(reads=("file",), writes=("output",))


def run(
    file: Annotated[
        str, typer.Argument(help="A CoNLL-U file (.gz, .xz, - for standard input).", show_default=False)
    ],
    output: Annotated[
        str, typer.Option("--output", "-o", help="Where to write (- for standard output).")
    ] = "-",
    threads: Annotated[int, typer.Option(help="How many processor cores to use.")] = 1,
) -> None:
    """Replace every tree in which arcs cross by the nearest tree in which none do.

    The new tree has as few changed heads as possible; labels stay with their words, and everything else in the file stays as it is.
    How many heads and trees changed is reported on standard error.
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
    typer.echo(
        f"{heads} of {words} heads changed ({heads / max(words, 1):.2%}), in {trees} of {sentences} trees "
        f"({trees / max(sentences, 1):.2%})",
        err=True,
    )
