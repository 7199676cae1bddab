"""Draw trees as images (SVG, PNG, PDF), for LaTeX and as HTML pages."""

from arcwise.deprecation import renamed
from arcwise.visual.html import html_page, html_parts
from arcwise.visual.svg import convert_svg, svg
from arcwise.visual.tikz import tikz

__all__ = ["convert_svg", "html_page", "html_parts", "svg", "tikz"]

__getattr__ = renamed(__name__, {"converted": "arcwise.visual:convert_svg"})
