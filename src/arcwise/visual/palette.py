"""Colours of trees.

Each element has its colour as an attribute, which every viewer supports; the style sheet only overrides them
in dark mode.
"""

from __future__ import annotations

LIGHT = {
    "paper": "#ffffff",
    "ink": "#1f2933",
    "quiet": "#6b7785",
    "core": "#1d5fd1",
    "other": "#0c7c6c",
    "function": "#8592a3",
    "crossing": "#c2410c",
    "root": "#7c3aed",
    "mark": "#ffe08a",
}
"""Colours in the attributes: background, words, tags, kinds of arcs, highlighting."""

DARK = {
    "paper": "#14181f",
    "ink": "#e8ecf2",
    "quiet": "#93a1b3",
    "core": "#7db0ff",
    "other": "#4fd1bd",
    "function": "#7b8a9d",
    "crossing": "#ff9a5c",
    "root": "#c4a5ff",
    "mark": "#5c4a12",
}
"""Colours in dark mode."""

ARC_KINDS = {
    "core": "core",
    "other": "other",
    "function": "function",
    "root": "root",
    "crossing": "crossing",
    "unknown": "quiet",
}
"""Kind of arc → its colour."""

FONTS = "Inter, 'Segoe UI', 'Helvetica Neue', 'Noto Sans', Arial, sans-serif"

_VARIABLES = " ".join(f"--{name}: {colour};" for name, colour in DARK.items())
_ARCS = "\n".join(
    f"  .arcwise .arc.{kind} {{ --hue: var(--{colour}); fill: var(--hue); }}"
    for kind, colour in ARC_KINDS.items()
)

STYLE = f"""
.arcwise text {{ unicode-bidi: plaintext; }}
.arcwise .arc:hover .line {{ stroke-width: 3; }}
@media (prefers-color-scheme: dark) {{
  .arcwise {{ {_VARIABLES} }}
  .arcwise .paper {{ fill: var(--paper); }}
  .arcwise .word {{ fill: var(--ink); }}
  .arcwise .tag, .arcwise .token {{ fill: var(--quiet); }}
  .arcwise .brace {{ stroke: var(--quiet); }}
{_ARCS}
  .arcwise .arc .line {{ stroke: var(--hue); }}
  .arcwise .arc .shadow {{ stroke: var(--mark); }}
  .arcwise .arc .doubt {{ fill: var(--quiet); }}
}}
"""
"""Dark mode and the hover effect; an SVG without it is still complete."""
