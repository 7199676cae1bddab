"""``arcwise convert``: between CoNLL-U, CoNLL-U Plus, CoNLL-X and one token per line."""

from __future__ import annotations

from typing import Any

import typer

from arcwise.cli._support.files import Files

FILES = Files(reads=("file",), writes=("output",))


def run(
    file: str = typer.Argument(..., help="File to convert (- for standard input)."),
    source: str = typer.Option(
        "conllu",
        "--from",
        help="Input format: conllu, conllx, conllup (CoNLL-U Plus) or words (one token per line).",
    ),
    target: str = typer.Option("conllx", "--to", help="Output format: conllu, conllx or words."),
    columns: str = typer.Option("form", help="For words: the columns of a line, e.g. form,upos."),
    output: str = typer.Option("-", "--output", "-o", help="Output file (- for standard output)."),
) -> None:
    """Convert a treebank between CoNLL-U, CoNLL-X and one token per line.

    In the words format a line has one word, or several of its columns separated by tabs, and a blank line
    ends a sentence. CoNLL-X cannot represent comments, multiword tokens and empty nodes: they are dropped.
    CoNLL-U Plus names its columns in the first line: those that CoNLL-U lacks go to MISC.
    """
    from arcwise.errors import InputError
    from arcwise.treebanks.convert import FORMATS, convert
    from arcwise.treebanks.files import open_output

    for option, value in (("--from", source), ("--to", target)):
        formats = [name for name in FORMATS if (option, name) != ("--to", "conllup")]
        if value not in formats:
            raise InputError(f"{option}: found {value!r}, expected one of {', '.join(formats)}")
    source_format: Any = source
    target_format: Any = target
    with open_output(output) as out:
        for piece in convert(file, source=source_format, target=target_format, columns=columns.split(",")):
            out.write(piece)
