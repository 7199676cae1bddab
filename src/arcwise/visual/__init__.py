"""Trees as pictures (SVG, PNG, PDF) and pages (HTML)."""

from arcwise.visual.html import html_page, html_parts
from arcwise.visual.pictures import converted
from arcwise.visual.svg import svg

__all__ = ["converted", "html_page", "html_parts", "svg"]
