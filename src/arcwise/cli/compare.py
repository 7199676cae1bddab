"""``arcwise compare``: score differences of two parsers, with significance tests."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from arcwise.cli._support.files import Files

FILES = Files(reads=("gold", "a", "b"))


def run(
    gold: Annotated[str, typer.Argument(help="Gold trees, CoNLL-U.", show_default=False)],
    a: Annotated[str, typer.Argument(help="Output of parser A for the same text.", show_default=False)],
    b: Annotated[str, typer.Argument(help="Output of parser B for the same text.", show_default=False)],
    punctuation: Annotated[
        Literal["count", "skip", "skip-label"],
        typer.Option(help="Count punctuation, skip words tagged PUNCT, or skip words labelled punct."),
    ] = "count",
    subtypes: Annotated[
        Literal["keep", "cut"],
        typer.Option(help="Compare full labels (nsubj:pass), or without subtypes (nsubj)."),
    ] = "cut",
    samples: Annotated[int, typer.Option(help="Bootstrap samples for the 95 % intervals.", min=1)] = 10_000,
    seed: Annotated[int, typer.Option(help="Random seed of the bootstrap.", min=0)] = 0,
    worst: Annotated[int, typer.Option(help="Number of most different sentences to show.", min=0)] = 10,
    json: Annotated[bool, typer.Option("--json", help="Print everything as JSON.")] = False,
) -> None:
    """Compare two parsers on the same text: score differences, their significance, and the sentences behind
    them.

    For each score: B - A with a 95 % bootstrap interval, the exact paired permutation test, the sign test
    over sentences and McNemar's test over words. A small p-value (say, below 0.05) means that chance is an
    unlikely explanation of the difference.
    """
    from arcwise.cli._support.output import print_json, print_tables, warn_unsound
    from arcwise.evaluation import compare
    from arcwise.treebanks import Treebank

    result = compare(
        *(Treebank.read(path, strict=False) for path in (gold, a, b)),
        punctuation=punctuation,
        subtypes=subtypes,
        samples=samples,
        seed=seed,
        worst=worst,
    )
    warn_unsound(*result.files)
    if json:
        print_json(result.to_json())
        return
    from arcwise.evaluation.tables import comparison_tables

    print_tables(comparison_tables(result))
