"""``arcwise compare``: score differences of two parsers, with significance tests."""

from __future__ import annotations

from typing import Literal

import typer

from arcwise.cli._support.files import Files

FILES = Files(reads=("gold", "a", "b"))


def run(
    gold: str = typer.Argument(..., help="Gold trees, CoNLL-U."),
    a: str = typer.Argument(..., help="Output of parser A for the same text."),
    b: str = typer.Argument(..., help="Output of parser B for the same text."),
    punctuation: Literal["count", "skip", "skip-label"] = typer.Option(
        "count", help="Count punctuation, skip words tagged PUNCT, or skip words labelled punct."
    ),
    subtypes: Literal["keep", "cut"] = typer.Option(
        "cut", help="Compare full labels (nsubj:pass), or without subtypes (nsubj)."
    ),
    samples: int = typer.Option(10_000, help="Bootstrap samples for the 95 % intervals.", min=1),
    seed: int = typer.Option(0, help="Random seed of the bootstrap.", min=0),
    worst: int = typer.Option(10, help="Number of most different sentences to show.", min=0),
    json: bool = typer.Option(False, "--json", help="Print everything as JSON."),
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
