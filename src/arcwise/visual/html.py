"""Trees of sentences as a self-contained HTML page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from itertools import repeat

from arcwise.treebanks import Sentence
from arcwise.trees.draw import is_right_to_left, printable
from arcwise.visual.palette import STYLE
from arcwise.visual.svg import Alternatives, svg

PAGE_STYLE = """
:root { color-scheme: light dark;
  --page: #f4f6f9; --card: #ffffff; --text: #1f2933; --soft: #6b7785; --rule: #dfe5ec; }
@media (prefers-color-scheme: dark) {
  :root { --page: #0c0f14; --card: #14181f; --text: #e8ecf2; --soft: #93a1b3; --rule: #262d38; } }
body { margin: 0; padding: 2rem clamp(1rem, 4vw, 3rem); background: var(--page); color: var(--text);
  font: 16px/1.5 "Inter", "Segoe UI", "Helvetica Neue", "Noto Sans", Arial, sans-serif; }
h1 { font-size: 1.35rem; font-weight: 600; margin: 0 0 1.5rem; }
figure { margin: 0 0 1.5rem; padding: 1rem 1.25rem; background: var(--card);
  border: 1px solid var(--rule); border-radius: 12px; }
figcaption { margin-bottom: .5rem; }
figcaption .id { color: var(--soft); font-size: .85rem; margin-inline-end: .75rem; }
.scroll { overflow-x: auto; }
.scroll svg { display: block; margin: 0 auto; }
"""


def html_page(sentences: Iterable[Sentence], *, title: str = "Dependency trees") -> str:
    """A page with the tree of each sentence, in the reader's light or dark mode.

    >>> page = html_page([Sentence.from_words(["Hi"])], title="One & all")
    >>> page.startswith("<!doctype html>"), "One &amp; all" in page
    (True, True)
    """
    return "".join(html_parts(sentences, title=title))


def html_parts(
    sentences: Iterable[Sentence],
    *,
    title: str = "Dependency trees",
    alternatives: Iterable[Alternatives] | None = None,
) -> Iterator[str]:
    """Yield the page one sentence at a time, for more sentences than fit in memory.

    ``alternatives``: for each sentence, alternative heads to show on hover (see ``svg``).
    """
    yield page_start(title)
    all_alternatives = repeat(None) if alternatives is None else alternatives
    # strict=False, because the default alternatives are endless.
    for number, (sentence, heads) in enumerate(zip(sentences, all_alternatives, strict=False), 1):
        text = printable(sentence.text)
        direction = ' dir="rtl"' if is_right_to_left(text) else ""
        name = printable(sentence.sent_id or str(number))
        picture = svg(sentence, alternatives=heads, name=f"tree-{number}", with_style=False)
        yield (
            f'<figure{direction}>\n<figcaption><span class="id">{escape(name)}</span>'
            f"<bdi>{escape(text)}</bdi></figcaption>\n"
            f'<div class="scroll">\n{picture}</div>\n</figure>\n'
        )
    yield page_end()


def page_start(title: str, *, style: str = "") -> str:
    """The start of a page, up to the heading. ``style``: additional CSS."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(printable(title))}</title>\n<style>{PAGE_STYLE}{style}{STYLE}</style>\n"
        "</head>\n<body>\n"
        f"<h1>{escape(printable(title))}</h1>\n"
    )


def page_end() -> str:
    """The end of a page."""
    return "</body>\n</html>\n"
