"""``arcwise projectivise``: the nearest projective tree of every sentence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from arcwise.cli._support.files import Files
from arcwise.cli._support.output import echo

if TYPE_CHECKING:
    from arcwise.treebanks import Treebank

_LONGEST = 3000  # words of a sentence with crossing arcs: its nearest projective tree takes cubic time

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
            _check_lengths(treebank)
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


def _check_lengths(treebank: Treebank) -> None:
    """Refuse a very long sentence with crossing arcs."""
    from arcwise.errors import InputError
    from arcwise.trees import tree_properties

    for number in (treebank.sentence_lengths > _LONGEST).nonzero()[0].tolist():
        sentence = treebank[number]
        if tree_properties(sentence.heads[1:]).gap_degree[0]:
            line = treebank.line_at(int(treebank.layout.sentence_bytes[number]))
            raise InputError(
                f"{treebank.source}:{line}: the sentence has crossing arcs and {len(sentence)} words; "
                f"the nearest projective tree is found for at most {_LONGEST}"
            )
