"""Draw trees as images (SVG, PNG, PDF) and HTML pages."""

from arcwise.deprecation import renamed
from arcwise.visual.html import html_page, html_parts
from arcwise.visual.svg import convert_svg, svg

__all__ = ["convert_svg", "html_page", "html_parts", "svg"]

__getattr__ = renamed(__name__, {"converted": "arcwise.visual:convert_svg"})
