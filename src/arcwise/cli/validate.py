"""``arcwise validate``: the errors of CoNLL-U files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import typer

from arcwise.cli._support.files import Files, refuse_existing
from arcwise.cli._support.output import echo, json_text, one_line
from arcwise.errors import InputError, OptionError

if TYPE_CHECKING:
    from arcwise.treebanks.validation import LanguageData

FILES = Files(reads=("files", "language"), writes=("learned",))

Level = Literal["format", "1", "2", "3", "4", "5", "ud"]
LEVELS: tuple[Level, ...] = get_args(Level)


def run(
    files: list[str] = typer.Argument(..., help="CoNLL-U files (.gz, .xz, - for standard input)."),
    level: str = typer.Option(
        "format",
        help="Checks. format: whether arcwise can read the file. 1: the CoNLL-U format, like the "
        "official UD validator; 2: also trees, tags, labels, features and the text; 3: also the "
        "language-independent guidelines of Universal Dependencies; 4: also the features and relations of "
        "the language; 5: also its auxiliaries; ud: the highest level available (3 without language data).",
    ),
    language: str | None = typer.Option(
        None,
        "--language",
        help="Language data for levels 4, 5 and ud. [default: arcwise-language.toml in the folder of the "
        "first file, if there is one]",
    ),
    learn: bool = typer.Option(
        False, "--learn", help="Write the language data of the files, for you to edit, instead of checking."
    ),
    learned: str | None = typer.Option(
        None,
        "--to",
        help="With --learn: file to write (- for standard output). [default: arcwise-language.toml in the "
        "folder of the first file]",
    ),
    overwrite: bool = typer.Option(False, "--overwrite", help="With --learn: replace an existing file."),
    consistency: bool = typer.Option(
        False,
        "--consistency",
        help="List words that are annotated in different ways in the same context, and forms with several "
        "lemmas, instead of checking.",
    ),
    context: int = typer.Option(
        1,
        help="With --consistency: number of identical words required on each side; smaller values list more.",
        min=0,
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

    Levels 4 and 5 need the auxiliaries, features and relations of the language. --learn extracts them from a
    treebank into a TOML file; remove annotation errors from that file, then validate with --level ud.

    --consistency compares the treebank with itself. It lists word pairs with different arcs in the same
    context (or with an arc in only some places), forms with several tags in the same context, and form-UPOS
    pairs with several lemmas. Analyses in the smallest minority come first.
    """
    if level not in LEVELS:
        raise OptionError("level", f"found {level!r}, expected one of {', '.join(LEVELS)}")
    if consistency:
        _check_alone("--consistency", {"--learn": learn, "--level": level != "format"})
        from arcwise.cli._support.consistency_output import print_inconsistencies

        print_inconsistencies(files, context=context, most=max_errors, as_json=json)
        return
    if learn:
        others = {"--level": level != "format", "--language": language is not None, "--json": json}
        _check_alone("--learn", others)
        _learn(files, learned, overwrite=overwrite)
        return
    if learned is not None or overwrite:
        raise InputError(f"{'--to' if learned is not None else '--overwrite'}: needs --learn")
    data = _language(files, language, level)
    shown, wrong = 0, False
    reports = _problems(files, single_root) if level == "format" else _findings(files, level, partial, data)
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
    summary = f"nothing wrong, {shown} warning{'s' * (shown != 1)}" if shown else "nothing wrong"
    typer.echo(f"{len(files)} file{'s' * (len(files) != 1)}: {summary}", err=True)


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


def _findings(
    files: list[str], level: str, partial: bool, language: LanguageData | None
) -> Iterator[_Report]:
    from arcwise.treebanks.validation import MAX_LEVEL, check_files

    highest = MAX_LEVEL if level == "ud" else int(level)
    for path, finding in check_files(files, level=highest, partial=partial, language=language):
        yield f"{path}:{finding}", {"path": path, **finding.to_json()}, finding.warning


def _language(files: list[str], language: str | None, level: str) -> LanguageData | None:
    """Read the language data named by the option, or the file next to the treebank."""
    from arcwise.treebanks.validation import LANGUAGE_FILE, LanguageData, find_language

    if level not in ("4", "5", "ud"):
        if language is not None:
            raise InputError(f"--language {language}: needs --level 4, 5 or ud (found {level})")
        return None
    path = language or find_language(files)
    if path is not None:
        data = LanguageData.read(path)
        echo(f"language data: {path}", err=True)
        return data
    if level != "ud":
        raise InputError(
            f"--level {level}: needs language data; expected {LANGUAGE_FILE} next to the first file "
            "(arcwise validate --learn makes it) or --language FILE"
        )
    return None


def _check_alone(option: str, others: Mapping[str, bool]) -> None:
    for name, is_given in others.items():
        if is_given:
            raise InputError(f"{option}: cannot be combined with {name}")


def _learn(files: list[str], output: str | None, *, overwrite: bool) -> None:
    """Write the language data of the files, completely or not at all."""
    from arcwise.treebanks import open_output, stream
    from arcwise.treebanks.files import path_kind
    from arcwise.treebanks.validation import LanguageData, language_file

    if output is None and files[0] == "-":
        raise InputError("--to: expected a file, because standard input has no folder")
    target = output if output is not None else str(language_file(files[0]))
    if target != "-" and path_kind(target) != "device":
        refuse_existing([Path(target)], read=files, overwrite=overwrite)
    data = LanguageData.of(piece for file in files for piece in stream(file))
    if not data.counts:
        raise InputError(f"{files[0]}: has no annotated words to learn from")
    with open_output(target) as out:
        out.write(data.to_toml(", ".join(Path(file).name for file in files)).encode())
    features = {name for by_name in (data.features or {}).values() for name in by_name}
    shown = "language data" if target == "-" else target
    echo(
        f"{shown}: {len(data.relations or ())} relations, {len(features)} features, "
        f"{len(data.auxiliaries or ())} auxiliaries; read it and delete mistakes",
        err=True,
    )
