"""Access control: the policy alone, and every refusal through the whole application."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("starlette", reason="needs starlette")

from arcwise.web.address import file_socket, file_token, secret_path
from arcwise.web.security import HEADERS, AccessPolicy, new_token
from web.served import PORT, TOKEN, Served

OWN = {"host": f"127.0.0.1:{PORT}"}
DOOR = AccessPolicy(TOKEN, PORT)
JSON = {"Content-Type": "application/json"}


def asked(path: str = "/api/document", query: str = "", method: str = "GET", **headers: str) -> int:
    """The status with which a request is refused; 200 if it may come in."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    found = DOOR.refusal(method, path, query, {**OWN, "x-arcwise-token": TOKEN, **named})
    return found.status if found else 200


def test_the_own_page_may_ask() -> None:
    assert asked() == 200
    assert asked(host=f"localhost:{PORT}", origin=f"http://localhost:{PORT}") == 200
    assert asked(origin=f"http://127.0.0.1:{PORT}", sec_fetch_site="same-origin") == 200
    assert asked(method="POST", content_type="application/json; charset=utf-8") == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        f"evil.example:{PORT}",
        "127.0.0.1",
        "127.0.0.1:1",
        f"127.0.0.1.evil.example:{PORT}",
        "",
        f"[::1]:{PORT}",
        f"127.0.0.1:{PORT}@evil.example",
        f"0.0.0.0:{PORT}",
    ],
)
def test_another_host_is_refused(host: str) -> None:
    assert asked(host=host) == 403


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        f"https://127.0.0.1:{PORT}",
        "http://127.0.0.1",
        f"http://127.0.0.1:{PORT + 1}",
        f"http://127.0.0.1:{PORT}.evil.example",
        "",
    ],
)
def test_another_origin_is_refused(origin: str) -> None:
    assert asked(origin=origin) == 403
    assert asked("/", origin=origin) == 403
    assert asked("/static/annotate/index.html", origin=origin) == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
def test_what_another_site_makes_a_browser_fetch_is_refused(site: str) -> None:
    assert asked(sec_fetch_site=site) == 403


@given(st.text(max_size=80))
def test_no_other_token_will_do(token: str) -> None:
    assert asked(x_arcwise_token=token) == (200 if token == TOKEN else 403)


@pytest.mark.parametrize("path", ["/api/document", "/api/sentence/0", "/nothing", "/api/train"])
def test_a_token_in_the_address_is_for_pages_and_events_alone(path: str) -> None:
    assert asked(path, f"token={TOKEN}", x_arcwise_token="") == 403
    for opened in ("/", "/api/events"):
        assert asked(opened, f"token={TOKEN}", x_arcwise_token="") == 200
        assert asked(opened, f"token={TOKEN[:-1]}", x_arcwise_token="") == 403
        assert asked(opened, x_arcwise_token="") == 403


@pytest.mark.parametrize(
    "kind", ["", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
def test_what_a_form_could_send_is_refused(kind: str) -> None:
    assert asked(method="POST", content_type=kind) == 415


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "CONNECT"])
def test_other_methods_are_refused(method: str) -> None:
    assert asked(method=method) == 405


def test_tokens_are_long_and_never_the_same() -> None:
    assert len({new_token() for _ in range(100)}) == 100
    assert all(len(new_token()) == 32 for _ in range(10))


def test_the_address_of_a_file_is_the_same_at_each_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    one, other = tmp_path / "a.conllu", tmp_path / "b.conllu"
    token = file_token(one, 8000)
    assert len(token) == 32
    assert file_token(one, 8000) == token
    assert len({token, file_token(other, 8000), file_token(one, 8001)}) == 3
    assert secret_path().stat().st_mode & 0o777 == 0o600
    with file_socket(one, None) as first:
        port = first.getsockname()[1]
        assert 61000 <= port <= 65535  # no outgoing connection has it
        with file_socket(one, None) as second:  # taken: another one
            assert second.getsockname()[1] != port
    with file_socket(one, None) as again:
        assert again.getsockname()[1] == port
    secret_path().unlink()
    assert file_token(one, 8000) != token  # another secret, another token


def test_a_secret_that_others_can_read_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    file = tmp_path / "a.conllu"
    assert file_token(file, 8000) == file_token(file, 8000)
    secret_path().chmod(0o644)
    assert file_token(file, 8000) != file_token(file, 8000)
    monkeypatch.setenv("XDG_STATE_HOME", str(file / "is no folder"))
    file.write_text("")
    assert file_token(file, 8000) != file_token(file, 8000)


# ---- through the application


def test_every_answer_has_the_headers(served: Served) -> None:
    answers = [
        served.get(f"/?token={TOKEN}", **{"x-arcwise-token": ""}),
        served.get("/api/document"),
        served.get("/api/nothing"),
        served.get("/static/annotate/index.html"),
        served.get("/api/document", **{"x-arcwise-token": "wrong"}),
        served.post("/api/undo", {}),
    ]
    assert [a.status for a in answers] == [200, 200, 404, 200, 403, 200]
    for answer in answers:
        assert {name: answer.headers[name.lower()] for name in HEADERS} == HEADERS
        assert not [name for name in answer.headers if name.lower().startswith("access-control")]
        assert answer.headers["cache-control"] == "no-store"


def test_scripts_come_from_the_package_alone(served: Served) -> None:
    policy = dict(p.strip().split(" ", 1) for p in HEADERS["Content-Security-Policy"].split(";"))
    assert policy["script-src"] == "'self'"
    assert policy["default-src"] == "'none'"
    assert "unsafe" not in HEADERS["Content-Security-Policy"]
    page = served.get(f"/?token={TOKEN}", **{"x-arcwise-token": ""}).text
    assert TOKEN not in page


@pytest.mark.parametrize(
    "path",
    [
        "/static/../security.py",
        "/static/%2e%2e/security.py",
        "/static/annotate/../../security.py",
        "/static/..%2fsecurity.py",
        "/static//etc/passwd",
        "/static/%2fetc%2fpasswd",
        "/static/annotate/%00",
        "/static/....//security.py",
        "/static/..\\security.py",
        "/static/",
        "/static/annotate",
    ],
)
def test_nothing_outside_the_folder_of_the_page_is_served(served: Served, path: str) -> None:
    answer = served.ask("GET", path)
    assert answer.status in (400, 403, 404), answer.text
    assert "def " not in answer.text
    assert "root:" not in answer.text


def test_a_preflight_of_another_origin_is_refused(served: Served) -> None:
    answer = served.ask(
        "OPTIONS",
        "/api/save",
        headers={"Origin": "https://evil.example", "Access-Control-Request-Method": "POST"},
    )
    assert answer.status == 403
    assert "access-control-allow-origin" not in answer.headers


def test_a_huge_body_is_refused(served: Served) -> None:
    answer = served.ask("POST", "/api/undo", headers=JSON, body=b" " * (served.door.max_body + 1))
    assert answer.status == 413
    assert "larger than" in answer.json()["error"]


def test_a_huge_body_that_tells_no_length_is_refused(served: Served) -> None:
    pieces = [b" " * 2**16] * (served.door.max_body // 2**16 + 2)
    answer = served.ask("POST", "/api/undo", headers=JSON, body=pieces)
    assert answer.status == 413


@pytest.mark.parametrize("body", [b"{", b"[]", b"null", b"\xff", b'"x"', b"NaN", b"[" * 100_000])
def test_broken_json_is_told(served: Served, body: bytes) -> None:
    answer = served.ask("POST", "/api/undo", headers=JSON, body=body)
    assert answer.status == 400
    assert answer.json()["error"].startswith("body: ")
