"""The files of the page of ``arcwise serve``, in the style of ``arcwise show --html``."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files

from arcwise.visual.html import PAGE_STYLE
from arcwise.visual.palette import STYLE

PAGE_FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/static/serve.js": ("serve.js", "text/javascript; charset=utf-8"),
    "/static/serve.css": ("serve.css", "text/css; charset=utf-8"),
}
"""Path → file in web/static/serve and its content type."""


@lru_cache
def page_file(path: str) -> tuple[bytes, str]:
    """A file of the page and its content type. The style sheet starts with the one of ``arcwise show
    --html``."""
    name, kind = PAGE_FILES[path]
    data = (files("arcwise") / "web" / "static" / "serve" / name).read_bytes()
    return ((PAGE_STYLE + STYLE).encode() + data if name == "serve.css" else data), kind
