"""``arcwise models install`` and ``arcwise models list``: a refused installation leaves nothing behind."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import shutil
import threading
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import arcwise
from arcwise.cli.main import run
from arcwise.errors import InputError, ModelError
from arcwise.learning.model_file import Packed, write_model
from arcwise.models import install, installed
from arcwise.models.install import install_model
from arcwise.models.installed import KnownModel, find_model, model_folders, shipped_models
from arcwise.models.listing import list_models

Output = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No model is installed, and new ones go to this folder."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("ARCWISE_MODELS", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "home" / "arcwise" / "models"


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model file that is not installed."""
    return Path(shutil.copy(shipped_models()["en-fast"], tmp_path / "xx.arcwise"))


def sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def refusal(capsys: Output, *arguments: str) -> str:
    capsys.readouterr()
    assert run(["models", *arguments]) == 2
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    return message


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Start servers on 127.0.0.1; returns their addresses."""
    servers: list[ThreadingHTTPServer] = []

    def start(handler: Any) -> str:
        servers.append(ThreadingHTTPServer(("127.0.0.1", 0), handler))
        threading.Thread(target=partial(servers[-1].serve_forever, 0.01), daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}"

    yield start
    for running in servers:
        running.shutdown()
        running.server_close()


class Files(SimpleHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


class Interrupted(BaseHTTPRequestHandler):
    """Closes the connection in the middle of a file."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", "1000000")
        self.end_headers()
        self.wfile.write(b"x" * 1000)

    def log_message(self, *_: Any) -> None:
        pass


# ---- installing


@pytest.mark.slow
def test_a_file_is_installed_and_loaded_by_name(model: Path, empty: Path, capsys: Output) -> None:
    assert run(["models", "install", str(model), "--sha256", sha256(model).upper()]) == 0
    assert capsys.readouterr().out == f"xx: installed in {empty / 'xx.arcwise'}\n"
    assert (empty / "xx.arcwise").read_bytes() == model.read_bytes()
    assert arcwise.load("xx")("Birds sing.").sentences[0].forms == ["Birds", "sing", "."]
    assert run(["info", "xx"]) == 0
    assert run(["models", "install", str(model)]) == 0  # again: the same model


def test_the_folders_of_the_variable_come_first(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    monkeypatch.setenv("ARCWISE_MODELS", os.pathsep.join(map(str, folders)))
    assert model_folders()[:2] == folders
    folders[1].mkdir()
    shutil.copy(model, folders[1] / "yy.arcwise")
    assert find_model("yy") == folders[1] / "yy.arcwise"
    assert install_model(str(model)).path == folders[0] / "xx.arcwise"
    assert install_model(str(model), name="yy").path == find_model("yy") == folders[0] / "yy.arcwise"


def test_an_address_with_a_hash(model: Path, tmp_path: Path, empty: Path, server: Callable[..., str]) -> None:
    address = f"{server(partial(Files, directory=str(tmp_path)))}/xx.arcwise"
    assert run(["models", "install", f"{address}#sha256={sha256(model)}"]) == 0
    assert run(["models", "install", address, "--sha256", sha256(model), "--name", "yy"]) == 0
    assert sorted(path.name for path in empty.iterdir()) == ["xx.arcwise", "yy.arcwise"]


def known(path: Path) -> dict[str, KnownModel]:
    values: dict[str, Any] = {"language": "X", "treebank": "X-Y", "licence": "MIT", "scores": {"LAS": 80.5}}
    return {path.stem: KnownModel(path.stem, bytes=path.stat().st_size, sha256=sha256(path), **values)}


def test_a_known_model_comes_from_the_folder_models_of_a_clone(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    for module in (install, installed):
        monkeypatch.setattr(module, "known_models", lambda: known(model))
    monkeypatch.setattr("arcwise.models.listing.known_models", lambda: known(model))
    with pytest.raises(ModelError, match=r"^xx: no such model .*: 'arcwise models install xx'$"):
        arcwise.load("xx")
    assert "run this command in a clone" in refusal(capsys, "install", "xx")
    assert run(["models", "list"]) == 0
    assert (
        capsys.readouterr()
        .out.splitlines()[-1]
        .endswith("MIT                            no: arcwise models install xx")
    )
    (tmp_path / "models").mkdir()
    shutil.copy(model, tmp_path / "models")
    assert run(["models", "install", "xx"]) == 0
    assert arcwise.load("xx").card["language"] == "English"
    (tmp_path / "models" / "xx.arcwise").write_bytes(model.read_bytes() + b" ")
    assert "its SHA-256 is" in refusal(capsys, "install", "xx")


# ---- refusing


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pickle.dumps({"kind": "pipeline"}), "is a pickle, which can run code"),
        (b"PK\x03\x04" + b"x" * 100, "is a zip archive"),
        (b"", "is not an arcwise model"),
        (b"<html>Not found</html>", "is not an arcwise model"),
        (b'{"kind": "dmv"}', "is not an arcwise model"),
    ],
)
def test_files_that_are_no_models(
    content: bytes, message: str, tmp_path: Path, empty: Path, capsys: Output
) -> None:
    file = tmp_path / "bad.arcwise"
    file.write_bytes(content)
    refused = refusal(capsys, "install", str(file))
    assert message in refused
    assert str(file) in refused
    assert list(empty.iterdir()) == []


def test_only_intact_pipelines(model: Path, empty: Path, capsys: Output, tmp_path: Path) -> None:
    write_model(tmp_path / "graph.arcwise", Packed("graph", 1, {}, {"w": np.ones(3, np.float32)}))
    assert "is a graph model, expected a pipeline" in refusal(capsys, "install", "graph.arcwise")
    write_model(tmp_path / "empty.arcwise", Packed("pipeline", 2, {}, {}))
    assert "empty.arcwise: is a damaged pipeline model" in refusal(capsys, "install", "empty.arcwise")
    model.write_bytes(model.read_bytes()[:-1000])
    assert "is not an arcwise model, or is damaged" in refusal(capsys, "install", str(model))
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["{model}", "--sha256", "0" * 64], "its SHA-256 is"),
        (["{model}", "--sha256", "abc"], "--sha256: found 'abc', expected 64 hexadecimal digits"),
        (["{model}", "--name", "../xx"], "'../xx' cannot name a model"),
        (["{model}", "--name", "en"], "en: is the name of a model shipped with arcwise"),
        (["{model}", "--folder", "{model}"], "is a file, expected a folder"),
        (["en"], "en: is shipped with arcwise"),
        (["none"], "none: no such file or known model"),
        (["http://127.0.0.1:1/xx.arcwise"], "is needed for an address"),
        (["http://127.0.0.1:1/xx.arcwise", "--sha256", "0" * 64], "cannot be downloaded"),
        (["ftp://127.0.0.1/xx.arcwise"], "no such file or known model"),
    ],
)
def test_what_cannot_be_installed(
    arguments: list[str], message: str, model: Path, empty: Path, capsys: Output
) -> None:
    assert message in refusal(capsys, "install", *(part.format(model=model) for part in arguments))
    assert not empty.exists() or list(empty.iterdir()) == []


def test_another_model_is_replaced_only_when_asked(model: Path, empty: Path, capsys: Output) -> None:
    install_model(str(model))
    other = shipped_models()["en"]
    assert "is a different model of that name" in refusal(capsys, "install", str(other), "--name", "xx")
    assert sha256(empty / "xx.arcwise") == sha256(model)
    assert run(["models", "install", str(other), "--name", "xx", "--overwrite"]) == 0
    assert sha256(empty / "xx.arcwise") == sha256(other)


def test_a_download_that_stops_leaves_nothing(
    empty: Path, server: Callable[..., str], capsys: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = f"{server(Interrupted)}/xx.arcwise"
    assert "127.0.0.1" in refusal(capsys, "install", address, "--sha256", "0" * 64)
    assert list(empty.iterdir()) == []
    with pytest.raises(KeyboardInterrupt):
        monkeypatch.setattr(install, "_copied", interrupt)
        install_model(address, sha256="0" * 64)
    assert list(empty.iterdir()) == []


def interrupt(stream: Any, target: Path, *_: Any, **__: Any) -> str:
    target.write_bytes(b"the first half")
    raise KeyboardInterrupt


def test_an_address_with_another_file_or_none(
    model: Path, tmp_path: Path, empty: Path, server: Callable[..., str], capsys: Output
) -> None:
    address = server(partial(Files, directory=str(tmp_path)))
    assert "its SHA-256 is" in refusal(capsys, "install", f"{address}/xx.arcwise#sha256={'0' * 64}")
    missing = refusal(capsys, "install", f"{address}/none.arcwise#sha256={'0' * 64}")
    assert "cannot be downloaded (File not found)" in missing
    assert list(empty.iterdir()) == []


def test_a_file_that_is_too_large(model: Path, empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install, "MOST_BYTES", 1000)
    with pytest.raises(InputError, match="is larger than"):
        install_model(str(model))
    assert list(empty.iterdir()) == []


def test_a_folder_that_is_read_only(model: Path, empty: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(install.os, "access", lambda *_: False)
    with pytest.raises(InputError, match="the folder is read-only"):
        install_model(str(model))
    assert list(empty.iterdir()) == []


# ---- listing


def test_the_list_tells_of_damaged_and_hidden_models(
    model: Path, empty: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Output
) -> None:
    monkeypatch.setenv("ARCWISE_MODELS", str(tmp_path))
    empty.mkdir(parents=True)
    shutil.copy(model, empty)
    (empty / "bad.arcwise").write_bytes(b"nothing")
    assert run(["models", "list", "--json"]) == 0
    listed = {(m["name"], m["origin"]): m for m in json.loads(capsys.readouterr().out)["models"]}
    assert listed["en", "shipped"]["licence"].startswith("CC BY-SA 4.0")
    assert listed["xx", str(tmp_path)]["scores"]["LAS"] > 80
    assert listed["xx", str(empty)]["problem"] == "hidden by another model named xx"
    assert "is not an arcwise model" in listed["bad", str(empty)]["problem"]
    assert run(["models", "list"]) == 0
    assert f"{empty} (hidden by another model named xx)" in capsys.readouterr().out


def test_an_installed_package_brings_a_model(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    about = tmp_path / "site" / "gd_model-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: gd-model\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[arcwise.models]\ngd = a_gd_model:PATH\n")
    (tmp_path / "site" / "a_gd_model.py").write_text(f"PATH = {str(model)!r}\n")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    assert find_model("gd") == model
    assert [entry.origin for entry in list_models() if entry.name == "gd"] == ["gd-model"]


def test_a_package_that_gives_no_model(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def entries(*, group: str, name: str | None = None) -> list[Any]:
        assert group == "arcwise.models"
        values = {"zz": lambda: str(model), "broken": lambda: 1 / 0}
        made = [
            SimpleNamespace(name=key, load=partial(lambda v: v, value), dist=None, module="a_package")
            for key, value in values.items()
        ]
        return [entry for entry in made if name in (None, entry.name)]

    monkeypatch.setattr(installed, "entry_points", entries)
    assert arcwise.load("zz").card["language"] == "English"
    with pytest.raises(ModelError, match="the package a_package does not give the file of its model"):
        arcwise.load("broken")
    with pytest.raises(ModelError, match=r"en.*, broken, zz\)"):
        arcwise.load("none")
    listed = {entry.name: entry for entry in list_models()}
    assert listed["zz"].origin == "a_package"
    assert "division by zero" in listed["broken"].problem
    assert run(["models", "list"]) == 0
