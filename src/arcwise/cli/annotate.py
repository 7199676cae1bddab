"""``arcwise annotate``: a treebank in the browser, with a parser that thinks along."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from arcwise.cli.files import Files

if TYPE_CHECKING:
    from arcwise.web.annotate_session import Model

FILES = Files(reads=("file", "beside"), may_read=("model",))


def run(
    file: Annotated[str, typer.Argument(help="The CoNLL-U file to annotate.", show_default=False)],
    model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            help="A model (file or name, such as en) that thinks along; without it, nothing is proposed.",
            show_default=False,
        ),
    ] = None,
    beside: Annotated[
        str | None,
        typer.Option(
            help="The same sentences as somebody else annotated them: differences are shown word by word.",
            show_default=False,
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(help="The port on this machine; 0: any free one.", min=0, max=65535)
    ] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address and open no browser.")
    ] = False,
) -> None:
    """Annotate a treebank in the browser, on this machine alone.

    The address is printed and opened. Ctrl-C saves the file and ends.
    """
    from arcwise.web.server import listening_socket, require_web, serve

    require_web()
    import webbrowser

    from arcwise.web.annotate_app import annotate_app
    from arcwise.web.annotate_session import Session
    from arcwise.web.events import Events
    from arcwise.web.security import Door, new_token
    from arcwise.web.stand_in import Document

    listening = listening_socket(port)
    events = Events()
    session = Session(Document.open(file), events=events, model=_model(model) if model else None)
    door = Door(new_token(), listening.getsockname()[1])

    def started() -> None:
        typer.echo(door.address)
        if not no_browser:
            webbrowser.open(door.address)

    serve(annotate_app(session, door), listening, stopping=events.close, started=started)


def _model(name: str) -> Model:
    from arcwise.models.registry import model_path, open_model
    from arcwise.web.annotate_session import Model
    from arcwise.web.stand_in import Assistant

    parser = open_model(model_path(name))
    return Model(name, parser.kind, Assistant(parser))
