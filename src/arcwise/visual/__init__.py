"""Trees as pictures (SVG) and pages (HTML)."""

from arcwise.visual.html import html_page, html_parts
from arcwise.visual.svg import svg

__all__ = ["html_page", "html_parts", "svg"]
