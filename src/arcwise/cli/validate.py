"""``arcwise validate``: everything that is wrong with a CoNLL-U file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal, get_args

import typer

from arcwise.cli._support.files import Files
from arcwise.errors import OptionError

FILES = Files(reads=("files",))

Level = Literal["format", "1", "2", "3", "ud"]
LEVELS: tuple[Level, ...] = get_args(Level)


def run(
    files: Annotated[
        list[str], typer.Argument(help="CoNLL-U files (.gz, .xz, - for standard input).", show_default=False)
    ],
    level: Annotated[
        str,
        typer.Option(
            help="What is checked. format: whether arcwise can read the file. 1: the CoNLL-U format, as the official UD validator does; 2: also "
            "trees, tags, labels, features and the text; 3: also the guidelines of Universal Dependencies, as far as they "
            "hold for every language; ud: the highest level.",
        ),
    ] = "format",
    max_errors: Annotated[int, typer.Option(help="Stop after this many problems; 0 shows all.")] = 0,
    single_root: Annotated[
        bool,
        typer.Option(
            "--single-root", help="Also report sentences with more than one root (levels 2 and 3 always do)."
        ),
    ] = False,
    partial: Annotated[
        bool,
        typer.Option(
            "--partial",
            help="With --level: words with _ in HEAD, DEPREL or UPOS are not annotated yet, and not wrong.",
        ),
    ] = False,
    warnings: Annotated[
        bool, typer.Option("--warnings/--no-warnings", help="With --level: report rules with exceptions too.")
    ] = True,
    json: Annotated[
        bool,
        typer.Option("--json", help="Print a JSON object a line: rule, place, reason and repair."),
    ] = False,
) -> None:
    """List everything that is wrong with CoNLL-U files, one line each: path:line (sent_id): found …, expected …

    With --level each line ends in the name of the rule (docs/reference/validation.md lists them). The exit status is 0 if nothing
    is wrong, 1 if something is; warnings alone are nothing wrong.
    """
    if level not in LEVELS:
        raise OptionError("level", f"found {level!r}, expected one of {', '.join(LEVELS)}")
    shown, wrong = 0, False
    found = _problems(files, single_root) if level == "format" else _findings(files, level, partial)
    for text, values, warning in found:
        if warning and not warnings:
            continue
        typer.echo(_one_line(values) if json else text)
        shown += 1
        wrong = wrong or not warning
        if shown == max_errors:
            typer.echo(f"stopped after {shown} problem{'s' * (shown != 1)} (--max-errors)", err=True)
            break
    if wrong:
        raise typer.Exit(1)
    what = f"nothing wrong, {shown} warning{'s' * (shown != 1)}" if shown else "nothing wrong"
    typer.echo(f"{len(files)} file{'s' * (len(files) != 1)}: {what}", err=True)


_Told = tuple[str, dict[str, Any], bool]
"""A line of text, the same for JSON, and whether it is a warning."""


def _problems(files: list[str], single_root: bool) -> Iterator[_Told]:
    from arcwise.treebanks.streaming import stream_problems

    for problem in stream_problems(files, single_root=single_root):
        values = {
            "path": problem.path,
            "rule": problem.kind.name.lower().replace("_", "-"),
            "sentence": problem.sentence,
            "sent_id": problem.sent_id,
            "line": problem.line,
            "message": problem.message,
        }
        yield str(problem), values, False


def _findings(files: list[str], level: str, partial: bool) -> Iterator[_Told]:
    from arcwise.treebanks.validation import MAX_LEVEL, check_files

    highest = MAX_LEVEL if level == "ud" else int(level)
    for path, finding in check_files(files, level=highest, partial=partial):
        yield f"{path}:{finding}", {"path": path, **finding.to_json()}, finding.warning


def _one_line(values: dict[str, Any]) -> str:
    from json import dumps

    return dumps(values, ensure_ascii=False)
