"""Sphinx configuration of the documentation site; ``docs/site/build.py`` stages the pages and runs it."""

from __future__ import annotations

import inspect
import re
from importlib.metadata import version as installed_version
from typing import Any

project = "arcwise"
author = "The arcwise developers"
copyright = author
version = release = installed_version("arcwise")
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "index"
exclude_patterns: list[str] = []

html_theme = "furo"
html_title = f"arcwise {release}"
html_static_path = ["static"]
html_favicon = "static/icon.svg"  # without one, browsers ask the host for /favicon.ico
html_css_files = ["arcwise.css"]
html_js_files = ["copy.js"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_last_updated_fmt = None
html_theme_options = {
    "light_css_variables": {"color-brand-primary": "#1f5fbf", "color-brand-content": "#1f5fbf"},
    "dark_css_variables": {"color-brand-primary": "#7db0ff", "color-brand-content": "#7db0ff"},
    "top_of_page_buttons": [],
    "footer_icons": [],
}
highlight_language = "sh"
pygments_style = "friendly"
pygments_dark_style = "github-dark"

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "attrs_block", "attrs_inline"]
suppress_warnings = [
    "config.cache",
    "myst.header",
    "ref.python",
]  # ref.python: words of Literal types share names with attributes

autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
python_use_unqualified_type_names = True
maximum_signature_line_length = 110  # of the text with whole names of types, which the page shortens
toc_object_entries_show_parents = "hide"

_ITEM = re.compile(r"^((?:\*{0,2}[a-z_]\w*)(?:(?:, | and )[a-z_]\w*)*):\s+(\S.*)$")


def describe_parameters(
    app: object, kind: str, name: str, value: Any, options: object, lines: list[str]
) -> None:
    """Turn the docstring lines ``name: meaning`` about parameters into a list of parameters."""
    if lines and lines[0].startswith("Alias for field number "):  # what Python writes for a named tuple
        lines[:] = []
    names = _parameters(value)
    lines[:] = [re.sub(r"(?<!`)\|(?!`)", r"\\|", line) if "``" not in line else line for line in lines]
    # Shapes such as (*batch_shape, n) are no emphasis.
    lines[:] = [re.sub(r"(?<=[(\s])\*(?=\w+[,)])", r"\\*", line) for line in lines]
    result: list[str] = []
    inside = False
    for line in lines:
        item = _ITEM.match(line)
        if item and set(re.split(r", | and ", item[1].lstrip("*"))) <= names:
            if not inside:
                result.append("")
            inside = True
            result.append(f":param {item[1]}: {item[2]}")
        elif inside and line.strip() and not line.startswith(" "):
            result.append("    " + line)
        else:
            inside = False
            result.append(line)
    lines[:] = result


def _parameters(value: Any) -> set[str]:
    try:
        names = set(inspect.signature(value).parameters)
    except (TypeError, ValueError):
        names = set()
    return names | set(getattr(value, "__annotations__", {}))


_ARRAY = re.compile(r"~?numpy\.ndarray\[tuple\[~?typing\.Any, \.\.\.\], ~?numpy\.dtype\[(.*?)\]\]")

_NOT_CODE = re.compile(r"<(?:factory|function (?:[^<>]|<\w+>)*)>")


def shorten_arrays(
    app: object,
    kind: str,
    name: str,
    value: object,
    options: object,
    signature: str | None,
    returns: str | None,
) -> tuple[str | None, str | None]:
    """Write ``NDArray[int32]`` as in the source, instead of the two types behind it, and defaults as code.

    Sphinx takes a signature with ``<factory>`` apart at every comma, also within brackets.
    """
    short = [text and _ARRAY.sub(r"~numpy.typing.NDArray[\1]", text) for text in (signature, returns)]
    return short[0] and _NOT_CODE.sub("...", short[0]), short[1]


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", describe_parameters)
    app.connect("autodoc-process-signature", shorten_arrays)
