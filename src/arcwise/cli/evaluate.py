"""``arcwise evaluate``: score a parser's output against gold trees."""

from __future__ import annotations

from typing import Literal

import typer

from arcwise.cli._support.files import Files

FILES = Files(reads=("gold", "system"))


def run(
    gold: str = typer.Argument(..., help="Gold trees, CoNLL-U."),
    system: str = typer.Argument(..., help="Parser output for the same text, CoNLL-U."),
    punctuation: Literal["count", "skip", "skip-label"] = typer.Option(
        "count",
        help="Punctuation in attachment scores: count it (usual for UD), skip words tagged PUNCT (usual "
        "for the Penn Treebank; without tags, words that are punctuation), or skip words labelled punct "
        "(skip-label).",
    ),
    subtypes: Literal["keep", "cut"] = typer.Option(
        "cut", help="Compare full labels (nsubj:pass), or without subtypes (nsubj)."
    ),
    by: str = typer.Option(
        "",
        help="Break scores down by label, length (of arcs), crossing (non-projective arcs) or sentence "
        "(length); several are separated by commas.",
        show_default=False,
    ),
    confusion: bool = typer.Option(False, "--confusion", help="Show a confusion table of labels."),
    deps: bool = typer.Option(False, "--deps", help="Score the graphs in DEPS instead: F1 of their arcs."),
    json: bool = typer.Option(False, "--json", help="Print all scores and counts as JSON."),
) -> None:
    """Score a parser's trees against gold trees.

    Prints attachment scores (heads, labels, roots, whole trees) and the metrics of the CoNLL 2018 shared
    task, identical to its official scorer, also for files with different tokenization; if gold has DEPS, also
    ELAS and EULAS. Broken trees are reported and scored: a missing head is an error.
    """
    if deps:
        _print_deps(gold, system, json)
        return
    from arcwise.cli._support.output import print_json, print_tables, warn_unsound
    from arcwise.evaluation import evaluate
    from arcwise.treebanks import Treebank

    result = evaluate(
        Treebank.read(gold, strict=False),
        Treebank.read(system, strict=False),
        punctuation=punctuation,
        subtypes=subtypes,
        by=[name.strip() for name in by.split(",") if name.strip()],
        confusion=confusion,
    )
    warn_unsound(result.gold, result.system)
    if json:
        print_json(result.to_json())
        return
    from arcwise.evaluation.tables import evaluation_tables

    print_tables(evaluation_tables(result))


def _print_deps(gold: str, system: str, json: bool) -> None:
    from dataclasses import asdict

    from arcwise.cli._support.output import print_json
    from arcwise.evaluation.deps import deps_scores
    from arcwise.treebanks import Treebank

    scores = deps_scores(Treebank.read(gold), Treebank.read(system))
    if json:
        print_json(asdict(scores))
        return
    for name, score in (("unlabelled", scores.unlabelled), ("labelled", scores.labelled)):
        typer.echo(
            f"{name:10}  precision {score.precision:.2%}  recall {score.recall:.2%}  F1 {score.f1:.2%}"
        )
