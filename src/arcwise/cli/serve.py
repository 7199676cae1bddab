"""``arcwise serve``: models over HTTP."""

from __future__ import annotations

import contextlib

import typer

from arcwise.cli._support.files import Files
from arcwise.cli._support.options import from_declaration
from arcwise.web.serve_limits import Limits

FILES = Files(may_read=("model",))


def run(
    model: list[str] | None = typer.Option(
        None,
        "--model",
        "-m",
        metavar="NAME=MODEL",
        help="Model and its name in requests: a file, or a model that comes with arcwise (en); NAME "
        "defaults to the name of the file. May be repeated; the first is the default of requests. "
        "[default: en]",
    ),
    host: str = typer.Option(
        "127.0.0.1",
        metavar="ADDRESS",
        help="Address to listen on; 0.0.0.0 accepts connections from other machines.",
    ),
    port: int = typer.Option(8080, help="Port; 0 picks a free one.", min=0, max=65535),
    workers: int | None = typer.Option(
        None, help="Number of worker processes. [default: one per core]", min=1, max=1024
    ),
    max_body: int = from_declaration(Limits, "max_body", default=True, value=Limits.max_body),
    max_words: int = from_declaration(Limits, "max_words", default=True, value=Limits.max_words),
    max_work: int = from_declaration(Limits, "max_work", default=True, value=Limits.max_work),
    max_answer: int = from_declaration(Limits, "max_answer", default=True, value=Limits.max_answer),
    max_seconds: float = from_declaration(Limits, "max_seconds", default=True, value=Limits.max_seconds),
    queue: int = from_declaration(Limits, "queue", default=True, value=Limits.queue),
    idle_seconds: float = from_declaration(Limits, "idle_seconds", default=True, value=Limits.idle_seconds),
    stall_seconds: float = from_declaration(
        Limits, "stall_seconds", default=True, value=Limits.stall_seconds
    ),
    allow_origin: str | None = typer.Option(
        None,
        metavar="ORIGIN",
        help="Allow pages of this origin (* for all) to call the service from a browser (CORS). "
        "[default: only its own page]",
    ),
) -> None:
    """Serve models over HTTP: a web page and two APIs.

    /process and /models implement the API of UDPipe's public service: clients only change the URL. /v1/parse
    is a JSON API with confidences, k-best trees and constraints; /v1/openapi.json describes it. /healthz and
    /metrics are for operators. There is no authentication: put a proxy in front of a service that others can
    reach. Ctrl-C or SIGTERM shuts down gracefully.
    """
    from arcwise.web.server import require_web

    require_web("prometheus_client")
    from arcwise.engine.processes import cores
    from arcwise.memory import mmap_large_allocations
    from arcwise.web.serve_models import Models
    from arcwise.web.serve_service import run_service
    from arcwise.web.serve_workers import listening_sockets

    limits = Limits(
        max_body=max_body,
        max_words=max_words,
        max_work=max_work,
        max_answer=max_answer,
        max_seconds=max_seconds,
        queue=queue,
        idle_seconds=idle_seconds,
        stall_seconds=stall_seconds,
    )
    mmap_large_allocations()
    models = Models.open(model or ["en"])
    sockets = listening_sockets(host, port, workers or cores())
    bound_port, *_ = sockets[0].getsockname()[1:]
    shown_host = f"[{host}]" if ":" in host else host

    def started() -> None:
        typer.echo(f"http://{shown_host}:{bound_port}/")

    with contextlib.ExitStack() as open_sockets:
        for listening in sockets:
            open_sockets.enter_context(listening)
        well = run_service(
            models,
            sockets,
            limits=limits,
            allow_origin=allow_origin,
            say=lambda text: typer.echo(f"arcwise: {text}", err=True),
            started=started,
        )
    if not well:
        raise typer.Exit(1)
