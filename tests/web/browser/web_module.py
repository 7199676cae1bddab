"""Build the WebAssembly module, and serve it to Chromium."""

from __future__ import annotations

import functools
import http.server
import importlib.util
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from arcwise.optional import is_installed

ROOT = Path(__file__).parents[3]
LOAD = """async ([address, model]) => {
  const { load } = await import(`${address}/arcwise.js`);
  window.parser = await load({ model: `${address}/${model}` });
}"""


def missing_part() -> str:
    """What is missing to build the module; empty if nothing is."""
    return "" if is_installed("ziglang") else "needs the compiler for WebAssembly: make web-module"


def script(path: str) -> ModuleType:
    """A script of the repository as a module."""
    spec = importlib.util.spec_from_file_location(Path(path).stem, ROOT / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(spec.name, module)
    spec.loader.exec_module(module)
    return module


def build_module() -> Path:
    """The folder of the module and its model, built if they are older than their sources."""
    build = script("native/web/build.py")
    build.main([])
    return Path(build.OUTPUT)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder, while the context lasts."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
