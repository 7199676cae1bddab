"""Convert SVG to PNG and PDF with cairosvg, an optional dependency."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from arcwise.errors import ArcwiseError, InputError
from arcwise.optional import require
from arcwise.treebanks.files import PathLike, open_output

SCALE = 3.0
"""Pixels of a PNG per SVG unit: sharp in print at the size of the SVG on the screen."""

_FORMATS = ("svg", "png", "pdf", "html")


def check_picture(path: PathLike, kind: str) -> None:
    """Check before the work starts that the extension fits the format and the converter is installed."""
    extension = Path(path).suffix.removeprefix(".").lower()
    if extension in _FORMATS and extension != kind:
        raise InputError(
            f"--{kind}: found {path}, expected a name that ends in .{kind} (or use --{extension} {path})"
        )
    if kind in ("png", "pdf"):
        _converter(kind)


def convert_svg(picture: str, kind: str) -> bytes:
    """Convert an SVG document to ``png`` or ``pdf``; ``svg`` returns it unchanged."""
    if kind == "svg":
        return picture.encode()
    options = {"scale": SCALE} if kind == "png" else {}
    image: bytes = _converter(kind)(bytestring=picture.encode(), **options)
    return image


def write_picture(picture: str, path: PathLike, kind: str) -> None:
    """Write an SVG document in a format; the file is written atomically."""
    image = convert_svg(picture, kind)
    with open_output(path) as out:
        out.write(image)


def _converter(kind: str) -> Callable[..., Any]:
    require("cairosvg")
    try:
        import cairosvg
    except OSError:  # cairosvg is installed, the C library cairo is not
        raise ArcwiseError(
            "this needs the library cairo, which is not installed "
            "(Debian, Ubuntu: apt-get install libcairo2; macOS: brew install cairo)"
        ) from None
    return cairosvg.svg2png if kind == "png" else cairosvg.svg2pdf  # type: ignore[no-any-return]
