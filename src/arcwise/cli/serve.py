"""``arcwise serve``: models over HTTP."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from typing import Any

import typer

from arcwise.cli._support.files import Files
from arcwise.cli._support.options import from_declaration
from arcwise.cli._support.usage import PlainCommand
from arcwise.errors import InputError
from arcwise.web.serve_limits import Limits
from arcwise.web.serve_log import LogFormat, LogLevel, configure_log, logger

FILES = Files(may_read=("model",), reads=("config", "api_keys"))
ENVIRONMENT = "ARCWISE_SERVE_"
"""Environment variables with this prefix set options: ``ARCWISE_SERVE_MAX_BODY`` is ``--max-body``."""


class ServeCommand(PlainCommand):
    """A command whose options may also come from the environment and from a TOML file."""

    def make_context(self, info_name: Any, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Read defaults of the options before the arguments: the environment wins over the file."""
        names = {parameter.name for parameter in self.params if parameter.name not in ("help", "config")}
        values = _from_file(_config_path(args), names) | _from_environment(names)
        return super().make_context(info_name, args, parent, **{**extra, "default_map": values})


Command = ServeCommand
"""The name that ``cli.main`` looks for."""


def _config_path(args: list[str]) -> str | None:
    for at, argument in enumerate(args):
        if argument == "--config" and at + 1 < len(args):
            return args[at + 1]
        if argument.startswith("--config="):
            return argument.partition("=")[2]
    return os.environ.get(f"{ENVIRONMENT}CONFIG")


def _from_file(path: str | None, names: set[str]) -> dict[str, Any]:
    if path is None:
        return {}
    from arcwise.learning.config import read_toml

    values = {name.replace("-", "_"): value for name, value in read_toml(path).items()}
    for name in values:
        if name not in names:
            raise InputError(f"{path}: found {name!r}, expected some of {', '.join(sorted(names))}")
    if isinstance(values.get("model"), Mapping):  # [model] with a line NAME = "PATH" for each
        values["model"] = [f"{name}={path}" for name, path in values["model"].items()]
    elif isinstance(values.get("model"), str):
        values["model"] = [values["model"]]
    return values


def _from_environment(names: set[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for name in names:
        text = os.environ.get(f"{ENVIRONMENT}{name.upper()}")
        if text is not None:
            values[name] = text.split() if name == "model" else text
    return values


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
    api_keys: str | None = typer.Option(
        None,
        metavar="FILE",
        help="Answer only requests with one of the keys in this file, one per line. [default: all requests]",
    ),
    rate: float = typer.Option(
        0.0,
        metavar="NUMBER",
        help="Maximum requests per second of a client (a key, or an address) in each worker; 0: no limit.",
        min=0.0,
    ),
    burst: int = typer.Option(20, help="Requests that a client may send at once, with --rate.", min=1),
    log_level: LogLevel = typer.Option("warning", help="Least important messages to log."),
    log_format: LogFormat = typer.Option("text", help="Format of the log on standard error."),
    access_log: bool = typer.Option(False, "--access-log", help="Log each request."),
    config: str | None = typer.Option(
        None,
        metavar="FILE",
        help="TOML file with options (max-body = 1000000). Environment variables "
        "(ARCWISE_SERVE_MAX_BODY) override it, the command line overrides both.",
    ),
) -> None:
    """Serve models over HTTP: a web page and two APIs.

    /process and /models implement the API of UDPipe's public service: clients only change the URL. /v1/parse
    is a JSON API with confidences, k-best trees and constraints; /v1/openapi.json describes it. /livez,
    /readyz and /metrics are for operators. There is no encryption: put a proxy in front of a service that
    others can reach. SIGHUP reloads the models. Ctrl-C or SIGTERM shuts down gracefully.
    """
    from arcwise.web.server import require_web

    require_web("httptools", "prometheus_client")
    from arcwise.engine.forks import require_fork

    require_fork("arcwise serve")  # what follows imports modules that Unix alone has
    from arcwise.engine.processes import cores
    from arcwise.memory import mmap_large_allocations
    from arcwise.web.serve_access import RequestGate, read_api_keys
    from arcwise.web.serve_models import Models
    from arcwise.web.serve_service import run_service
    from arcwise.web.serve_workers import listening_sockets

    configure_log(log_level, log_format, access=access_log)
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
    gate = RequestGate(read_api_keys(api_keys) if api_keys else (), rate, burst)
    mmap_large_allocations()
    names = model or ["en"]
    models = Models.open(names)
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
            # Always logged: an operator must know that workers die.
            say=logger.warning,
            started=started,
            reload=lambda: Models.open(names),
            gate=gate,
        )
    if not well:
        raise typer.Exit(1)
