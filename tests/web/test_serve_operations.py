"""What operators of ``arcwise serve`` need: logs, metrics, probes, configuration, reloading, keys, rates."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import socket
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("uvicorn", reason="needs uvicorn")
pytest.importorskip("httptools", reason="needs httptools")

from arcwise.cli.main import run
from arcwise.errors import InputError
from arcwise.models.registry import shipped_models
from arcwise.web.serve_access import RequestGate, read_api_keys
from arcwise.web.serve_batches import Batcher
from arcwise.web.serve_limits import Limits, RequestRefused
from arcwise.web.serve_log import LogLevel, access_logger, configure_log, logger
from arcwise.web.serve_metrics import ServiceMetrics
from arcwise.web.serve_models import Models, ServedModel
from web.serving import ALL, Process, english, serving, serving_here
from web.waiting import until


def test_options_is_counted_as_204() -> None:
    with serving_here() as service:
        assert service.ask("OPTIONS", "/process").status == 204
        metrics = service.get("/metrics").text
    assert 'arcwise_requests_total{path="/process",status="204"} 1.0' in metrics
    assert 'status="500"' not in metrics


def test_an_internal_error_is_logged_with_the_id_of_its_request(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(logging.getLogger("arcwise.serve"), "propagate", True)

    def broken(tasks: Any) -> list[Any]:
        raise KeyError("a mistake of ours")

    monkeypatch.setattr(Batcher.__init__, "__kwdefaults__", {"work": broken})
    with serving_here() as service:
        headers = {"Content-Type": "application/json", "X-Request-Id": "of-a-proxy"}
        answer = service.ask("POST", "/v1/parse", headers=headers, body=b'{"text": "a"}')
        refused = service.ask("POST", "/v1/parse", headers=headers, body=b"{")
        plain = service.get("/healthz")
    assert (answer.status, answer.headers["x-request-id"]) == (500, "of-a-proxy")
    assert (refused.status, refused.headers["x-request-id"]) == (400, "of-a-proxy")
    assert plain.headers["x-request-id"]
    errors = [r for r in caplog.records if r.name == "arcwise.serve" and r.levelno >= logging.ERROR]
    (record,) = errors  # on a busy machine, warnings of a slow event loop may stand beside it
    assert record.getMessage() == "internal error: POST /v1/parse"
    assert record.__dict__["fields"] == {"request": "of-a-proxy"}
    assert record.exc_info is not None
    assert isinstance(record.exc_info[1].__cause__, KeyError)  # type: ignore[union-attr]


def test_metrics_of_each_model() -> None:
    meter = ServiceMetrics(models=["english-ewt-fast", "graph"])
    with serving_here(meter=meter) as service:
        assert service.parse(text="Birds sing. They fly.").status == 200
        metrics = service.get("/metrics").text
    assert 'arcwise_model_requests_total{model="english-ewt-fast"} 1.0' in metrics
    assert 'arcwise_model_sentences_total{model="english-ewt-fast"} 2.0' in metrics
    assert 'arcwise_model_words_total{model="english-ewt-fast"} 6.0' in metrics
    assert 'arcwise_model_requests_total{model="graph"} 0.0' in metrics


def test_readiness_is_not_liveness() -> None:
    with serving_here() as service:
        assert [service.get(path).status for path in ("/livez", "/readyz", "/healthz")] == [200, 200, 200]
        service.client._app.stopping()
        assert [service.get(path).status for path in ("/livez", "/readyz", "/healthz")] == [200, 503, 503]


@pytest.mark.parametrize("path", ["/process", "/v1/parse", "/models"])
def test_a_content_encoding_is_refused(path: str) -> None:
    with serving_here() as service:
        headers = {"Content-Type": "application/json", "Content-Encoding": "gzip"}
        answer = service.ask("POST", path, headers=headers, body=b"\x1f\x8b")
        assert answer.status == 415
        assert "Content-Encoding: found 'gzip', expected none" in answer.text


def test_addresses_and_names_that_clients_of_udpipe_have_built_in() -> None:
    with serving_here() as service:
        models = service.get("/services/udpipe/api/models").json()
        assert models == service.get("/models").json()
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        for name in ("en", "eng", "english", "en_ewt-ud-2.12-230717", "english-ewt-ud-2.12-230717"):
            body = f"data=Birds+sing.&tokenizer=&model={name}".encode()
            answer = service.ask("POST", "/services/udpipe/api/process", headers=form, body=body)
            assert (answer.status, answer.json()["model"]) == (200, "english-ewt-fast"), name
        assert service.ask("POST", "/services/udpipe/api/process", headers=form, body=b"x=").status == 400
        assert 'path="/process",status="200"} 5.0' in service.get("/metrics").text


def test_the_name_of_a_model_wins_over_a_code() -> None:
    models = Models([ServedModel("english", english()), ServedModel("en", english())])
    assert models.find("en").name == "en"
    assert models.find("eng").name == "english"


# ---- keys and rates


def test_keys() -> None:
    gate = RequestGate(["secret-one", "secret-two"])
    with serving_here(gate=gate) as service:
        body, kind = b'{"text": "a"}', {"Content-Type": "application/json"}
        for headers, status in (
            ({}, 401),
            ({"X-API-Key": "wrong"}, 401),
            ({"Authorization": "Basic secret-one"}, 401),
            ({"X-API-Key": "secret-two"}, 200),
            ({"Authorization": "bearer secret-one"}, 200),
        ):
            assert service.ask("POST", "/v1/parse", headers={**kind, **headers}, body=body).status == status
        assert service.get("/services/udpipe/api/models").status == 401
        refused = service.get("/models")
        assert (refused.status, refused.headers["www-authenticate"]) == (401, "Bearer")
        assert [service.get(path).status for path in ("/healthz", "/metrics", "/")] == [200, 200, 200]


def test_files_of_keys(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text("# ours\nabc\n\n def \n")
    assert read_api_keys(file) == ("abc", "def")
    for text in ("", "# none\n", "two words\n", "ä\n"):
        file.write_text(text)
        with pytest.raises(InputError, match="key"):
            read_api_keys(file)


def test_the_rate_is_limited_by_client(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr("arcwise.web.serve_access.time.monotonic", lambda: now)
    gate = RequestGate(rate=2.0, burst=3)

    def asked(client: str, path: str = "/process") -> bool:
        try:
            gate.check({"path": path, "method": "POST", "client": (client, 1), "headers": []})
        except RequestRefused as refused:
            assert (refused.status, refused.headers["Retry-After"]) == (429, "1")
            return False
        return True

    assert [asked("a") for _ in range(4)] == [True, True, True, False]
    assert asked("b")
    assert asked("a", "/healthz")
    now += 0.5  # one more
    assert [asked("a") for _ in range(2)] == [True, False]


def test_by_default_there_are_no_keys_and_no_rate_limit() -> None:
    gate = RequestGate()
    for _ in range(1000):
        gate.check({"path": "/process", "method": "POST", "client": ("a", 1), "headers": []})


def test_only_messages_of_the_chosen_level_are_logged(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("handlers", "propagate", "level"):  # put back at the end of the test
        monkeypatch.setattr(logger, name, getattr(logger, name))
        monkeypatch.setattr(access_logger, name, getattr(access_logger, name))
    levels: list[tuple[LogLevel, list[str]]] = [
        ("error", ["c"]),
        ("warning", ["b", "c"]),
        ("info", ["a", "b", "c"]),
    ]
    for access in (False, True):
        for level, expected in levels:
            configure_log(level, "text", access=access)
            logger.info("a")
            logger.warning("b")
            logger.error("c")
            access_logger.info("GET /")
            lines = capsys.readouterr().err.splitlines()
            assert lines == [f"arcwise: {message}" for message in [*expected, *["GET /"] * access]]


def test_options_of_the_log_reach_it(monkeypatch: pytest.MonkeyPatch) -> None:
    settings: list[Any] = []
    monkeypatch.setattr(
        "arcwise.cli.serve.configure_log",
        lambda level, form, *, access: settings.append((level, form, access)),
    )
    missing = ["serve", "--port", "0", "--model", "missing.arcwise"]
    assert run(missing) == 2
    assert run([*missing, "--log-level", "error", "--log-format", "json", "--access-log"]) == 2
    assert settings == [("warning", "text", False), ("error", "json", True)]


def test_httptools_is_required(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Without it uvicorn would take h11, which answers a request hidden behind two lengths."""
    monkeypatch.setitem(sys.modules, "httptools", None)
    assert run(["serve", "--port", "0"]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    assert "this needs httptools" in message
    assert "'arcwise[web]'" in message


# ---- as a process


@pytest.mark.process
@pytest.mark.slow
def test_keys_and_a_rate_from_the_command_line(tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    keys.write_text("first\nsecond\n")
    options = ["--api-keys", str(keys), "--rate", "0.01", "--burst", "2"]
    with serving("--workers", "1", *options) as service:
        body, kind = b'{"text": "a"}', {"Content-Type": "application/json"}

        def status(**headers: str) -> int:
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            return service.ask("POST", "/v1/parse", headers={**kind, **named}, body=body).status

        assert status() == 401
        assert [status(X_API_Key="first") for _ in range(3)] == [200, 200, 429]
        assert status(Authorization="Bearer second") == 200
        assert service.get("/healthz").status == 200


@pytest.mark.process
@pytest.mark.slow
def test_configuration_by_file_environment_and_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "serve.toml"
    file.write_text('max-words = 5\nmax-body = 500\naccess_log = true\nlog-format = "json"\n')
    monkeypatch.setenv("ARCWISE_SERVE_MAX_BODY", "600")
    monkeypatch.setenv("ARCWISE_SERVE_WORKERS", "1")
    with serving("--config", str(file), "--max-words", "3") as service:
        assert service.parse(text="a b c d").json()["error"].endswith("expected at most 3")
        assert service.parse(text="a" * 700).json()["error"] == "body: is larger than 600 bytes"
        assert len(service.workers()) == 1
        service.ask("GET", "/models", headers={"X-Request-Id": "mine"})
        log = [json.loads(line) for line in service.end()[1].splitlines()]
    assert [(line["message"], line["status"]) for line in log] == [
        ("POST /v1/parse", 413),
        ("POST /v1/parse", 413),
        ("GET /models", 200),
    ]
    assert (log[2]["request"], log[2]["client"], log[2]["level"]) == ("mine", "127.0.0.1", "info")


def test_a_configuration_with_an_unknown_option_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "serve.toml"
    file.write_text("max_bodies = 1\n")
    assert run(["serve", "--config", str(file)]) == 2
    assert "serve.toml: found 'max_bodies', expected some of access_log, " in capsys.readouterr().err
    file.write_text('max_body = "many"\n')
    assert run(["serve", "--config", str(file)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


@pytest.mark.process
@pytest.mark.slow
def test_models_are_reloaded_on_sighup(tmp_path: Path) -> None:
    """Requests are answered meanwhile, by new workers at once; an unreadable model changes nothing."""
    model = tmp_path / "own.arcwise"
    shutil.copy(shipped_models()["en-fast"], model)
    with serving("--workers", "2", "--model", f"own={model}") as service:
        before = service.workers()
        os.kill(service.running.pid, signal.SIGHUP)
        until(lambda: len(service.workers()) == 2 and not set(before) & set(service.workers()))
        assert service.process(data="Birds sing.", model="own", **ALL).status == 200
        present = service.workers()
        model.write_bytes(b"damaged")
        os.kill(service.running.pid, signal.SIGHUP)
        answers = [service.process(data="Birds sing.", model="own", **ALL).status for _ in range(20)]
        assert answers == [200] * 20
        assert service.workers() == present
        said = service.end()[1]
    assert "arcwise: reloaded\n" in said
    assert "own.arcwise: is not an arcwise model, or is damaged; the service continues as before" in said


@pytest.mark.process
@pytest.mark.slow
def test_a_request_hidden_behind_two_lengths_is_refused() -> None:
    with serving("--workers", "1") as service:
        hidden = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
        request = (
            b"POST /v1/parse HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n" + hidden
        )
        assert _all_answers(service, request).count(b"HTTP/1.1 200") == 0


def _all_answers(service: Process, request: bytes) -> bytes:
    with socket.create_connection(service.socket_place, timeout=10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
    return b"".join(parts)


def test_limits_have_defaults_that_the_page_of_the_reference_names() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/server.md").read_text("utf-8")
    limits = Limits()
    assert f"| `--max-work` | {limits.max_work // 10**6} million" in page
    assert f"| `--max-answer` | {limits.max_answer // 2**20} MB" in page
    assert f"| `--stall-seconds` | {limits.stall_seconds:g} seconds" in page
