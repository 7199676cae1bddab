"""Draw trees as images (SVG, PNG, PDF) and HTML pages."""

import warnings
from typing import Any

from arcwise.visual.html import html_page, html_parts
from arcwise.visual.pictures import convert_svg
from arcwise.visual.svg import svg

__all__ = ["convert_svg", "html_page", "html_parts", "svg"]


def __getattr__(name: str) -> Any:
    if name == "converted":
        warnings.warn("arcwise.visual.converted is now convert_svg", DeprecationWarning, stacklevel=2)
        return convert_svg
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
