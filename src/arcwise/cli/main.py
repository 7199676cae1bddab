"""The ``arcwise`` command. Each sub-command is a file of this folder, imported only when it is used."""

from __future__ import annotations

import contextlib
import functools
import io
import os
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
        "validate": "List everything that is wrong with a CoNLL-U file",
        "convert": "Convert between CoNLL-U, CoNLL-X and one token per line",
        "stats": "Count and measure treebanks: sizes, lengths, labels, non-projectivity",
        "search": "Find words and trees by a query, count them, change what is found",
        "show": "Draw trees in the terminal, as a picture or as an HTML page",
        "split": "Split a treebank into train, dev and test",
        "annotate": "Annotate a treebank in the browser, with a parser that thinks along",
        "diff": "Where two annotators differ, word by word, and how far they agree",
        "merge": "Put together what two people changed in one file; for git, too",
        "projectivise": "Replace trees with crossing arcs by the nearest trees without",
    },
    "Parsers": {
        "train": "Train a parser on a treebank, or everything from raw text to trees",
        "parse": "Trees for raw text or CoNLL-U, with confidences if asked",
        "serve": "Serve models over HTTP, for programs (as UDPipe's service, or JSON) and for people",
        "info": "Describe a model: data, configuration, scores, size",
        "calibrate": "Do a parser's confidences mean what they say? Reliability, and a better temperature",
        "features": "Print the feature templates of the graph-based parser",
    },
    "Grammars": {
        "induce": "Learn a grammar from tagged sentences without trees",
        "verify": "Check the certificate of an induced grammar",
    },
    "Evaluation": {
        "evaluate": "Score a parser's trees against the correct ones",
        "compare": "Is one parser better than another? Differences and significance tests",
    },
    "Transition systems": {
        "systems": "List transition systems and what their parameters mean",
        "coverage": "How much of a treebank each transition system can build",
        "trace": "Watch a transition-based parser step by step",
    },
    "About": {
        "help": "Explain a command",
        "version": "Print the version",
    },
}
"""Heading → command → what it does, in the order that ``arcwise --help`` shows them. A command NAME lives in cli/NAME.py
as a function ``run``."""

_UsageError: Any = typer.BadParameter.__base__
_ClickError: Any = _UsageError.__base__
_STOPPED = 130
"""Exit status after Ctrl-C, as shells have it."""
_PIPE_CLOSED = 141
"""Exit status when the reader of our output has gone (``| head``), as shells have it: 128 + SIGPIPE."""


class _PipeClosed(Exception):
    """A ``BrokenPipeError`` on its way past typer, which would make a failure of it."""


class LazyGroup(TyperGroup):
    """A group that knows the names of its commands without importing them: ``arcwise --help`` is instant."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [name for section in COMMANDS.values() for name in section]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.list_commands(ctx):
            return None
        from arcwise.cli._support.files import Files
        from arcwise.cli._support.options import name_flags_in_errors
        from arcwise.cli._support.usage import PlainCommand, name_values

        module = import_module(f"arcwise.cli.{cmd_name.replace('-', '_')}")
        command = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
        run = getattr(module, "FILES", Files()).checked(module.run)
        run = name_flags_in_errors(run, getattr(module, "ALIASES", {}))
        command.command(name=cmd_name, cls=getattr(module, "Command", PlainCommand))(_handle_broken_pipe(run))
        made = typer.main.get_command(command)
        name_values(made, module.run)
        return made

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command of the first argument; for another word, the commands that look like it."""
        known = self.list_commands(ctx)
        if args[0] not in known:
            close = [f"'{name}'" for name in get_close_matches(args[0], known)]
            meant = f", did you mean {' or '.join(close)}?" if close else ""
            ctx.fail(f"there is no command '{args[0]}'{meant}")
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write("Usage: arcwise COMMAND [OPTIONS] …\n\n")
        formatter.write("Sentences into dependency trees, with confidences that mean something.\n")
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
        if isinstance(
            stream, io.TextIOWrapper
        ):  # a terminal without UTF-8 shows an escape for what it cannot show
            stream.reconfigure(errors="backslashreplace")
    sys.exit(run(arguments))


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command as the shell would (None: with the arguments of this process), and return its exit status: 0 done, 1 done and
    found something to complain of, 2 bad input, or output that cannot be written, 130 Ctrl-C, 141 the reader of our output has
    gone (``| head``). What it has to say goes to standard output and standard error.

    >>> run(["--version"])
    arcwise ...
    0
    """
    return exit_status(lambda: _run(arguments))


def exit_status(work: Callable[[], int]) -> int:
    """The exit status of ``work``, also where what it prints cannot be written."""
    status = 0
    try:
        status = work()
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except (BrokenPipeError, _PipeClosed):
        _forget_output()
        return status or _PIPE_CLOSED
    except OSError as error:  # of what was printed; files name themselves
        _forget_output()
        if not status:  # else something was said already
            _complain(f"{error.filename or 'standard output'}: cannot be written ({error.strerror or error})")
        return status or 2


def _run(arguments: Sequence[str] | None) -> int:
    try:
        result = app(
            args=None if arguments is None else list(arguments), prog_name="arcwise", standalone_mode=False
        )
        if result == _STOPPED:  # as some versions of typer tell of Ctrl-C
            raise KeyboardInterrupt
        return result if isinstance(result, int) else 0
    except ArcwiseError as error:
        _complain(str(error))
        return 2
    except _ClickError as error:
        message = error.format_message() or ""
        if type(error).__name__ == "NoArgsIsHelpError":
            print(message)
            return 2
        context = getattr(error, "ctx", None)
        where = context.command_path if context else "arcwise"
        _complain(f"{message} ({where} --help explains)", where)
        return 2
    except (KeyboardInterrupt, typer.Abort):
        _complain("stopped")
        return _STOPPED


def _complain(line: str, where: str = "arcwise") -> None:
    """A line on standard error, if anybody is there to read it."""
    with contextlib.suppress(OSError):
        print(f"{where}: {line}", file=sys.stderr, flush=True)


def _forget_output() -> None:
    """What is still to be written goes nowhere: Python would try again at its end, and complain."""
    with contextlib.suppress(OSError, ValueError, AttributeError):  # no file at all
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _handle_broken_pipe(run: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(run)
    def wrapped(**given: Any) -> None:
        try:
            run(**given)
        except BrokenPipeError as error:
            raise _PipeClosed from error

    return wrapped


if __name__ == "__main__":
    main()
