"""Two versions of sentences side by side, as one HTML page that needs nothing else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from arcwise.errors import InputError
from arcwise.evaluation.agreement import Agreement, Coefficients
from arcwise.treebanks import Sentence, Treebank
from arcwise.treebanks.differences import SentenceDifference
from arcwise.trees.text_width import is_right_to_left, printable
from arcwise.visual.html import page_end, page_start
from arcwise.visual.svg import svg

_STYLE = """
table { border-collapse: collapse; margin: .75rem 0; font-size: .9rem; }
th, td { padding: .15rem 1rem .15rem 0; text-align: start; font-weight: 400; }
th { color: var(--soft); } td.number { text-align: end; font-variant-numeric: tabular-nums; }
figure h2 { font-size: .85rem; font-weight: 600; color: var(--soft); margin: .75rem 0 0; }
.a { color: var(--a); } .b { color: var(--b); }
:root { --a: #b42318; --b: #1a6b3c; }
@media (prefers-color-scheme: dark) { :root { --a: #ff9a90; --b: #74d69b; } }
"""


def differences_page(
    found: Iterable[SentenceDifference], a: Treebank, b: Treebank, agreement: Agreement
) -> Iterator[str]:
    """The page piece by piece: agreement, then each sentence with both trees, what differs marked and listed."""
    yield page_start(f"A = {a.source}, B = {b.source}", style=_STYLE)
    yield _agreement(agreement)
    for at, difference in enumerate(found):
        yield _figure(at, difference, a, b)
    yield page_end()


def _agreement(found: Agreement) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{_cells(own)}</tr>\n' for name, own in found.rows()
    )
    return (
        f"<p>{found.sentences} sentences in both files, {found.words} words.</p>\n"
        "<table><thead><tr><th></th><th>same %</th><th>of words</th><th>κ</th><th>α</th></tr></thead>\n"
        f"<tbody>\n{rows}</tbody></table>\n"
    )


def _cells(own: Coefficients) -> str:
    share = "–" if own.share is None else f"{100 * own.share:.2f}"
    values = (share, str(own.words), *("–" if v is None else f"{v:.3f}" for v in (own.kappa, own.alpha)))
    return "".join(f'<td class="number">{value}</td>' for value in values)


def _figure(at: int, found: SentenceDifference, a: Treebank, b: Treebank) -> str:
    name = found.sent_id or str(found.number)
    sides = [("A", None if found.a is None else a[found.a]), ("B", None if found.b is None else b[found.b])]
    text = printable(found.text)
    direction = ' dir="rtl"' if is_right_to_left(text) else ""
    parts = [
        f'<figure{direction}>\n<figcaption><span class="id">{escape(printable(name))}</span>'
        f"<bdi>{escape(text)}</bdi>{' (moved)' if found.moved else ''}</figcaption>\n"
    ]
    for side, sentence in sides:
        kind = side.lower()
        if sentence is None:
            parts.append(f'<h2 class="{kind}">{side}: has no such sentence</h2>\n')
            continue
        picture = _picture(sentence, _marked(found, sentence, kind), f"{kind}-{at}")
        parts.append(f'<h2 class="{kind}">{side}</h2>\n<div class="scroll">\n{picture}</div>\n')
    return "".join(parts) + _table(found) + "</figure>\n"


def _picture(sentence: Sentence, marked: set[int], name: str) -> str:
    try:
        return svg(sentence, marked=marked, name=name, with_style=False)
    except InputError as error:
        return f"<p>No tree to draw: {escape(str(error))}.</p>\n"


def _marked(found: SentenceDifference, sentence: Sentence, side: str) -> set[int]:
    """The words whose head or label differ, or that the other side lacks."""
    rows = [
        own.row if side == "a" else own.row_b
        for own in found.fields
        if own.column in ("head", "deprel", "id") and getattr(own, side) is not None
    ]
    return {int(row) for row in rows if row.isdigit() and 1 <= int(row) <= len(sentence)}


def _table(found: SentenceDifference) -> str:
    rows = [(own.row, own.form, own.column.upper(), own.a, own.b) for own in found.fields]
    rows += [("#", "", own.key, own.a, own.b) for own in found.comments]
    if not rows:
        return ""
    lines = []
    for row, form, column, *values in rows:
        first, other = ("not there" if v is None else v for v in values)
        cells = f"<td>{escape(row)}</td><td><bdi>{escape(printable(form))}</bdi></td><td>{escape(printable(column))}</td>"
        cells += f'<td class="a"><bdi>{escape(printable(first))}</bdi></td><td class="b"><bdi>{escape(printable(other))}</bdi></td>'
        lines.append(f"<tr>{cells}</tr>\n")
    head = "<thead><tr><th>row</th><th>word</th><th>column</th><th>A</th><th>B</th></tr></thead>"
    return f'<div class="scroll"><table dir="ltr">{head}\n<tbody>\n{"".join(lines)}</tbody></table></div>\n'
