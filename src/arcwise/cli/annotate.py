"""``arcwise annotate``: an annotation editor in the browser, with live parser suggestions."""

from __future__ import annotations

import contextlib
import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from arcwise.cli._support.files import Files
from arcwise.cli._support.options import from_declaration
from arcwise.parsing.parser import ParseOptions

if TYPE_CHECKING:
    from arcwise.annotation.comparison import FileComparison
    from arcwise.annotation.document import AnnotationDocument
    from arcwise.annotation.project import AnnotationProject
    from arcwise.web.annotate_session import Session

FILES = Files(reads=("beside",), may_read=("file", "model", "legal"), writes=("output",))


def run(
    file: str = typer.Argument(
        ..., help="The CoNLL-U file to annotate, or a folder: all .conllu files in it as one project."
    ),
    model: str | None = typer.Option(
        None,
        "--model",
        "-m",
        help="Model for suggestions: a file, or a model that comes with arcwise (en). [default: the "
        "model last trained in the editor, if any]",
    ),
    legal: str | None = from_declaration(
        ParseOptions, "legal", text="Rules that suggested trees must obey: ud, learned or a TOML file."
    ),
    beside: str | None = typer.Option(
        None, help="Another annotation of the same sentences, for a word-by-word comparison."
    ),
    output: str | None = typer.Option(
        None,
        "--output",
        "-o",
        help="Edit this file instead of FILE; created as a copy of FILE unless it exists.",
    ),
    new: bool = typer.Option(False, "--new", help="Create FILE, without sentences."),
    port: int | None = typer.Option(
        None,
        help="Port on this machine; 0 picks a free one. [default: a fixed port for each file, if it is free]",
        show_default=False,
        min=0,
        max=65535,
    ),
    no_browser: bool = typer.Option(
        False, "--no-browser", help="Print the address without opening a browser."
    ),
) -> None:
    """Annotate a treebank in the browser, on this machine only.

    The command prints the address of the editor and opens it. Every edit goes to FILE.journal at once, and to
    FILE after two seconds without another edit; nothing is lost if the browser or this command is killed. A
    page that is still open reconnects when you start the command again, and sends the edits made meanwhile.
    Ctrl-C saves and quits. With a folder, all its files are open at once: search, checks, worklists and
    training cover all of them, and each file has its own journal.
    """
    from arcwise.web.server import require_web

    require_web()
    from arcwise.memory import mmap_large_allocations
    from arcwise.models.registry import open_model
    from arcwise.web.address import file_socket
    from arcwise.web.annotate_session import Session
    from arcwise.web.events import Events

    named_model = None if model is None else (model, open_model(model))
    if named_model is not None:
        parser = named_model[1]
        ParseOptions(legal=legal).check(parser.kind, parser.capabilities)
    with (
        file_socket(Path(output or file), port) as listening,
        contextlib.ExitStack() as created,
        _open_document(file, output, created, new=new) as document,
    ):
        mmap_large_allocations()  # searches and checks of long sentences would fragment the heap
        session = Session(
            document,
            events=Events(),
            model=named_model,
            comparison=_comparison(document, file, output, beside),
            legal=legal,
        )
        for notice in document.notices:
            typer.echo(notice, err=True)
        created.pop_all()
        _serve(session, listening, browser=not no_browser)


def _comparison(
    document: AnnotationDocument | AnnotationProject, file: str, output: str | None, beside: str | None
) -> FileComparison | None:
    from arcwise.annotation.comparison import FileComparison
    from arcwise.annotation.project import AnnotationProject
    from arcwise.errors import OptionError

    if beside is None:
        return None
    if isinstance(document, AnnotationProject):
        raise OptionError("beside", "cannot be combined with a folder")
    return FileComparison.read(document, beside, a=file if output else None)


def _open_document(
    file: str, output: str | None, created: contextlib.ExitStack, *, new: bool
) -> AnnotationDocument | AnnotationProject:
    """The document to edit: the file, its copy, or all files of a folder. ``created`` removes a file that was
    created here, unless all goes well."""
    from arcwise.annotation.document import AnnotationDocument
    from arcwise.annotation.project import AnnotationProject
    from arcwise.errors import InputError, OptionError
    from arcwise.treebanks import open_output, read_bytes
    from arcwise.treebanks.files import path_kind

    read = output or file
    if path_kind(file) == "folder":
        if new or output is not None:
            raise OptionError("new" if new else "output", "cannot be combined with a folder")
        project = AnnotationProject.open(file)
        with contextlib.ExitStack() as refused:
            refused.callback(project.close)
            for document in project.documents:
                _refuse_broken(document, str(document.path))
            refused.pop_all()
        return project
    if output is None and not new and path_kind(file) is None and file != "-":
        raise InputError(f"{file}: no such file; to create it, add --new")
    if output is not None:
        if new:
            raise OptionError("output", "cannot be combined with --new")
        if path_kind(output) != "file":
            data = read_bytes(file)
            with open_output(output) as out:
                out.write(data)
            created.callback(_remove, output)
            read = file
    document = AnnotationDocument.open(output or file, new=new)
    if new:
        created.callback(_remove, file)
    try:
        _refuse_broken(document, read)
    except InputError:
        document.close()
        raise
    return document


def _refuse_broken(document: AnnotationDocument, read: str) -> None:
    """Refuse a file that is not CoNLL-U: each of its sentences has a problem."""
    from arcwise.errors import InputError
    from arcwise.treebanks.problems import OF_TREES

    # Reversed, so that the first problem of a sentence is the one that stays.
    problems = [problem for problem in reversed(document.problems) if problem.kind not in OF_TREES]
    broken = {problem.sentence: problem for problem in problems}
    if not broken or len(broken) < len(document):
        return
    if b"\t" not in document.block(0):
        raise InputError(
            f"{read}: is plain text, expected CoNLL-U; create a file with 'arcwise annotate NEW.conllu "
            "--new' and paste the text there, or parse it first with 'arcwise parse'"
        )
    raise InputError(str(replace(broken[0], path=read)))


def _remove(path: str) -> None:
    with contextlib.suppress(OSError):
        Path(os.path.realpath(path)).unlink()


def _serve(session: Session, listening: object, *, browser: bool) -> None:
    """Serve the page until Ctrl-C, then save."""
    import socket
    import threading
    import webbrowser

    from arcwise.web.address import file_token
    from arcwise.web.annotate_app import annotate_app
    from arcwise.web.security import AccessPolicy
    from arcwise.web.server import serve

    assert isinstance(listening, socket.socket)
    port = listening.getsockname()[1]
    door = AccessPolicy(file_token(session.path, port), port)

    def started() -> None:
        typer.echo(door.address)
        if browser:
            threading.Thread(target=webbrowser.open, args=(door.address,), daemon=True).start()

    try:
        serve(annotate_app(session, door), listening, stopping=session.events.close, started=started)
    finally:
        session.close()
