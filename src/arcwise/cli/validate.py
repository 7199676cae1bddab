"""``arcwise validate``: the errors of CoNLL-U files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args

import typer

from arcwise.cli._support.files import Files
from arcwise.cli._support.output import json_text, one_line
from arcwise.errors import OptionError

FILES = Files(reads=("files",))

Level = Literal["format", "1", "2", "3", "ud"]
LEVELS: tuple[Level, ...] = get_args(Level)


def run(
    files: list[str] = typer.Argument(..., help="CoNLL-U files (.gz, .xz, - for standard input)."),
    level: str = typer.Option(
        "format",
        help="Checks. format: whether arcwise can read the file. 1: the CoNLL-U format, like the "
        "official UD validator; 2: also trees, tags, labels, features and the text; 3: also the "
        "language-independent guidelines of Universal Dependencies; ud: the highest level.",
    ),
    max_errors: int = typer.Option(0, help="Stop after this many errors; 0 shows all."),
    single_root: bool = typer.Option(
        False,
        "--single-root",
        help="Also report sentences with more than one root (levels 2 and 3 always do).",
    ),
    partial: bool = typer.Option(
        False, "--partial", help="With --level: accept _ in HEAD, DEPREL or UPOS as not annotated yet."
    ),
    warnings: bool = typer.Option(
        True,
        "--warnings/--no-warnings",
        help="With --level: also report violations of rules that have exceptions.",
    ),
    json: bool = typer.Option(
        False, "--json", help="Print one JSON object per line: rule, location, message and repair."
    ),
) -> None:
    """List the errors of CoNLL-U files, one per line: path:line (sent_id): message

    With --level each line ends in the name of the rule (see docs/reference/validation.md). The exit status is
    1 if there are errors, else 0; warnings are not errors.
    """
    if level not in LEVELS:
        raise OptionError("level", f"found {level!r}, expected one of {', '.join(LEVELS)}")
    shown, wrong = 0, False
    reports = _problems(files, single_root) if level == "format" else _findings(files, level, partial)
    for text, values, warning in reports:
        if warning and not warnings:
            continue
        typer.echo(json_text(values) if json else one_line(text))
        shown += 1
        wrong = wrong or not warning
        if shown == max_errors:
            typer.echo(f"stopped after {shown} problem{'s' * (shown != 1)} (--max-errors)", err=True)
            break
    if wrong:
        raise typer.Exit(1)
    what = f"nothing wrong, {shown} warning{'s' * (shown != 1)}" if shown else "nothing wrong"
    typer.echo(f"{len(files)} file{'s' * (len(files) != 1)}: {what}", err=True)


_Report = tuple[str, dict[str, Any], bool]
"""A line of text, its values for JSON, and whether it is a warning."""


def _problems(files: list[str], single_root: bool) -> Iterator[_Report]:
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


def _findings(files: list[str], level: str, partial: bool) -> Iterator[_Report]:
    from arcwise.treebanks.validation import MAX_LEVEL, check_files

    highest = MAX_LEVEL if level == "ud" else int(level)
    for path, finding in check_files(files, level=highest, partial=partial):
        yield f"{path}:{finding}", {"path": path, **finding.to_json()}, finding.warning
