"""``arcwise serve``: models behind a port, for other programs and for people."""

from __future__ import annotations

import contextlib
from typing import Annotated

import typer

from arcwise.cli._support.files import Files
from arcwise.cli._support.options import from_declaration
from arcwise.web.serve_limits import Limits

FILES = Files(may_read=("model",))


def run(
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            "-m",
            metavar="NAME=MODEL",
            help="A model and its name in requests: a file, or one that comes with arcwise (en); without NAME it is called as its file "
            "is. May be given several times; requests that name none get the first. Without it: en.",
            show_default=False,
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="The address of this machine to listen on; 0.0.0.0: all of them, for others to come in.",
        ),
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0: any free one.", min=0, max=65535)] = 8080,
    workers: Annotated[
        int | None,
        typer.Option(
            help="How many processes answer. Without it: one for each core.",
            min=1,
            max=1024,
            show_default=False,
        ),
    ] = None,
    max_body: Annotated[int, from_declaration(Limits, "max_body", default=True)] = Limits.max_body,
    max_words: Annotated[int, from_declaration(Limits, "max_words", default=True)] = Limits.max_words,
    max_seconds: Annotated[float, from_declaration(Limits, "max_seconds", default=True)] = Limits.max_seconds,
    queue: Annotated[int, from_declaration(Limits, "queue", default=True)] = Limits.queue,
    idle_seconds: Annotated[
        float, from_declaration(Limits, "idle_seconds", default=True)
    ] = Limits.idle_seconds,
    allow_origin: Annotated[
        str | None,
        typer.Option(
            metavar="ORIGIN",
            help="Let pages of this origin (*: of all) use the service from a browser. Without it: its own page alone.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Serve models over HTTP: a page for people, and two interfaces for programs.

    /process and /models are those of UDPipe's public service: its clients need another address alone. /v1/parse takes and gives JSON, with
    confidences, k best trees and constraints; /v1/openapi.json describes it. /healthz and /metrics are for those who run the service.
    Nobody is asked for a password: put a proxy in front where others can reach it. Ctrl-C or SIGTERM ends it, after open requests.
    """
    from arcwise.web.server import require_web

    require_web("prometheus_client")
    from arcwise.distributed.cores import cores
    from arcwise.memory import mmap_large_allocations
    from arcwise.web.serve_models import Models
    from arcwise.web.serve_service import run_service
    from arcwise.web.serve_workers import listening_sockets

    limits = Limits(max_body, max_words, max_seconds, queue, idle_seconds)
    mmap_large_allocations()
    opened = Models.open(model or ["en"])
    sockets = listening_sockets(host, port, workers or cores())
    at, *_ = sockets[0].getsockname()[1:]
    shown = f"[{host}]" if ":" in host else host

    def started() -> None:
        typer.echo(f"http://{shown}:{at}/")

    with contextlib.ExitStack() as open_sockets:
        for listening in sockets:
            open_sockets.enter_context(listening)
        well = run_service(
            opened,
            sockets,
            limits=limits,
            allow_origin=allow_origin,
            say=lambda text: typer.echo(f"arcwise: {text}", err=True),
            started=started,
        )
    if not well:
        raise typer.Exit(1)
