"""The ``arcwise`` command. Each subcommand is a file in this folder, imported only when it is used."""

from __future__ import annotations

import contextlib
import functools
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from arcwise.errors import ArcwiseError

COMMANDS: dict[str, dict[str, str]] = {
    "Treebanks": {
        "validate": "List the errors of a CoNLL-U file",
        "convert": "Convert between CoNLL-U, CoNLL-X and one token per line",
        "stats": "Print statistics of treebanks: sizes, lengths, labels, non-projectivity",
        "search": "Find words and trees with a query, count them, edit the matches",
        "show": "Draw trees in the terminal, as a picture or as an HTML page",
        "split": "Split a treebank into train, dev and test",
        "mine": "Rank the annotation errors of a treebank, with reasons and proposals",
        "annotate": "Annotate a treebank in the browser, with live parser suggestions",
        "diff": "Compare two annotators word by word and measure their agreement",
        "merge": "Merge the changes of two people to one file; also a git merge driver",
        "projectivise": "Replace trees with crossing arcs by the nearest projective trees",
        "enhance": "Fill DEPS with enhanced dependencies that follow from the trees by rule",
    },
    "Parsers": {
        "train": "Train a parser, or a pipeline from raw text to trees",
        "parse": "Parse raw text or CoNLL-U, optionally with confidences",
        "serve": "Serve models over HTTP: a web page, a JSON API and UDPipe's API",
        "info": "Describe a model: data, configuration, scores, size",
        "calibrate": "Measure and improve the calibration of a parser's confidences",
        "features": "Print the feature templates of the graph-based parser",
        "models list": "List installed and known models with licences and scores",
        "models install": "Install a known model, a file or an address, to be loaded by name",
        "models train": "Train and install a model from the folder of a treebank",
        "models card": "Print the card of a model: Markdown with YAML front matter",
    },
    "Grammars": {
        "induce": "Learn a grammar from tagged sentences without trees",
        "verify": "Check the certificate of an induced grammar",
    },
    "Evaluation": {
        "evaluate": "Score a parser's trees against gold trees",
        "compare": "Compare two parsers: score differences and significance tests",
    },
    "Transition systems": {
        "systems": "List transition systems and their parameters",
        "coverage": "Measure the share of a treebank that each transition system can build",
        "trace": "Show a transition-based parser step by step",
    },
    "About": {
        "help": "Explain a command",
        "version": "Print the version",
    },
}
"""Heading → command → description, in the order of ``arcwise --help``. The command NAME is the function
``run`` of cli/NAME.py, and that of a command of two words is in cli/ONE_TWO.py."""

_UsageError: Any = typer.BadParameter.__base__
_ClickError: Any = _UsageError.__base__
_INTERRUPTED = 130
"""Exit status after Ctrl-C, as in shells: 128 + SIGINT."""
_BROKEN_PIPE = 141
"""Exit status when the reader of our output has closed the pipe (``| head``), as in shells: 128 + SIGPIPE."""


class _PipeClosed(Exception):
    """A ``BrokenPipeError`` in disguise: typer would turn the original into exit status 1."""


class LazyGroup(TyperGroup):
    """A group that knows its commands without importing them, so that ``arcwise --help`` is instant."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for section in COMMANDS.values() for name in section]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.list_commands(ctx):
            return None
        from arcwise.cli._support.files import Files
        from arcwise.cli._support.options import name_flags_in_errors
        from arcwise.cli._support.usage import PlainCommand, name_values

        module = import_module(f"arcwise.cli.{re.sub('[- ]', '_', cmd_name)}")
        command = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        run = getattr(module, "FILES", Files()).checked(module.run)
        run = name_flags_in_errors(run, getattr(module, "ALIASES", {}))
        command.command(name=cmd_name, cls=getattr(module, "Command", PlainCommand))(_handle_broken_pipe(run))
        subcommand = typer.main.get_command(command)
        name_values(subcommand, module.run)
        return subcommand

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command of the first argument, or of two; an error suggests commands with similar names."""
        commands = self.list_commands(ctx)
        if f"{args[0]} {args[1] if len(args) > 1 else ''}" in commands:
            return super().resolve_command(ctx, [f"{args[0]} {args[1]}", *args[2:]])
        seconds = [name.partition(" ")[2] for name in commands if name.startswith(f"{args[0]} ")]
        if seconds:
            ctx.fail(f"{args[0]} needs a second word: {', '.join(seconds)}")
        if args[0] not in commands:
            similar = [f"'{name}'" for name in get_close_matches(args[0], commands)]
            suggestion = f", did you mean {' or '.join(similar)}?" if similar else ""
            ctx.fail(f"there is no command '{args[0]}'{suggestion}")
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write("Usage: arcwise COMMAND [OPTIONS] …\n\n")
        formatter.write("Dependency parsing with calibrated confidences, and tools for treebanks.\n")
        for heading, commands in COMMANDS.items():
            with formatter.section(heading):
                formatter.write_dl(list(commands.items()))
        formatter.write("\n'arcwise COMMAND --help' explains a command, -h is short for it.\n")
        formatter.write("A file name may end in .gz, .xz or .zst; '-' means standard input or output.\n")


app = typer.Typer(
    cls=LazyGroup,
    add_completion=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


@app.callback(invoke_without_command=True)
def _arcwise(version: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    if version:
        from arcwise import __version__

        typer.echo(f"arcwise {__version__}")
        raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> None:
    """Run one command and exit with the status of ``run``."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # A terminal without UTF-8 would raise an error for a character that it cannot show.
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command as the shell would (None: with the arguments of this process) and return its exit
    status.

    0 success; 1 success, but there are findings (differences, errors in a file); 2 bad input, or output that
    cannot be written; 130 Ctrl-C; 141 the reader of the output has closed the pipe (``| head``).

    >>> run(["--version"])
    arcwise ...
    0
    """
    return exit_status(lambda: _run(arguments))


def exit_status(work: Callable[[], int]) -> int:
    """The exit status of ``work``, even if its output cannot be written."""
    status = 0
    try:
        status = work()
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except (BrokenPipeError, _PipeClosed):
        _discard_output()
        return status or _BROKEN_PIPE
    except OSError as error:  # from printing: errors of files are InputError
        _discard_output()
        if not status:  # otherwise an error was printed already
            _print_error(
                f"{error.filename or 'standard output'}: cannot be written ({error.strerror or error})"
            )
        return status or 2


def _run(arguments: Sequence[str] | None) -> int:
    try:
        result = app(
            args=None if arguments is None else list(arguments), prog_name="arcwise", standalone_mode=False
        )
        if result == _INTERRUPTED:  # what some versions of typer return after Ctrl-C
            raise KeyboardInterrupt
        return result if isinstance(result, int) else 0
    except ArcwiseError as error:
        _print_error(str(error))
        return 2
    except _ClickError as error:
        message = error.format_message() or ""
        if type(error).__name__ == "NoArgsIsHelpError":
            print(message)
            return 2
        context = getattr(error, "ctx", None)
        where = context.command_path if context else "arcwise"
        _print_error(f"{message} ({where} --help explains)", where)
        return 2
    except (KeyboardInterrupt, typer.Abort):
        _print_error("stopped")
        return _INTERRUPTED


def _print_error(line: str, where: str = "arcwise") -> None:
    """Print a line on standard error, unless it is closed."""
    from arcwise.cli._support.output import one_line

    with contextlib.suppress(OSError):
        print(f"{where}: {one_line(line)}", file=sys.stderr, flush=True)


def _discard_output() -> None:
    """Send the rest of standard output to nowhere: Python would flush it at exit, and fail again."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # standard output may be no file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _handle_broken_pipe(run: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(run)
    def wrapped(**values: Any) -> None:
        try:
            run(**values)
        except BrokenPipeError as error:
            raise _PipeClosed from error

    return wrapped


if __name__ == "__main__":
    main()
