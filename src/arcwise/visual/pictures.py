"""Pictures in the formats of papers and slides: PNG and PDF, made from SVG by cairosvg, which the plain install of arcwise does without."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from arcwise.errors import ArcwiseError, InputError
from arcwise.optional import require
from arcwise.treebanks.files import PathLike, open_output

SCALE = 3.0
"""Pixels of a PNG per unit of the SVG: sharp in print at the size that the SVG has on the screen."""

_ENDINGS = ("svg", "png", "pdf", "html")


def check_picture(path: PathLike, kind: str) -> None:
    """Before work starts: the name ends as its ``kind`` (svg, png, pdf or html) or in nothing known, and what makes it is installed."""
    ending = Path(path).suffix.removeprefix(".").lower()
    if ending in _ENDINGS and ending != kind:
        raise InputError(
            f"--{kind}: found {path}, expected a name that ends in .{kind} (for this one: --{ending} {path})"
        )
    if kind in ("png", "pdf"):
        _converter(kind)


def convert_svg(picture: str, kind: str) -> bytes:
    """An SVG document as ``png`` or ``pdf``; as ``svg`` it stays what it is."""
    if kind == "svg":
        return picture.encode()
    scaled = {"scale": SCALE} if kind == "png" else {}
    drawn: bytes = _converter(kind)(bytestring=picture.encode(), **scaled)
    return drawn


def write_picture(picture: str, path: PathLike, kind: str) -> None:
    """Write an SVG document as a file of that kind; it appears whole or not at all."""
    drawn = convert_svg(picture, kind)
    with open_output(path) as out:
        out.write(drawn)


def _converter(kind: str) -> Callable[..., Any]:
    require("cairosvg")
    try:
        import cairosvg
    except OSError:  # it is there, the library under it is not
        raise ArcwiseError(
            "this needs the library cairo, which is not installed (Debian, Ubuntu: apt-get install libcairo2; macOS: brew install cairo)"
        ) from None
    return cairosvg.svg2png if kind == "png" else cairosvg.svg2pdf  # type: ignore[no-any-return]
