"""Differences of two treebanks as a self-contained HTML page with the trees of both."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape

from arcwise.errors import InputError
from arcwise.evaluation.agreement import Agreement, Coefficients
from arcwise.treebanks import Sentence, Treebank
from arcwise.treebanks.differences import SentenceDifference
from arcwise.trees.draw import is_right_to_left, printable
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
    differences: Iterable[SentenceDifference], a: Treebank, b: Treebank, agreement: Agreement
) -> Iterator[str]:
    """Yield the page in pieces: agreement, then the two trees and the differences of each sentence."""
    yield page_start(f"A = {a.source}, B = {b.source}", style=_STYLE)
    yield _agreement(agreement)
    for index, difference in enumerate(differences):
        yield _figure(index, difference, a, b)
    yield page_end()


def _agreement(agreement: Agreement) -> str:
    rows = "".join(
        f'<tr><th scope="row">{escape(name)}</th>{_cells(coefficients)}</tr>\n'
        for name, coefficients in agreement.rows()
    )
    return (
        f"<p>{agreement.sentences} sentences in both files, {agreement.words} words.</p>\n"
        "<table><thead><tr><th></th><th>same %</th><th>of words</th><th>κ</th><th>α</th></tr></thead>\n"
        f"<tbody>\n{rows}</tbody></table>\n"
    )


def _cells(row: Coefficients) -> str:
    share = "–" if row.share is None else f"{100 * row.share:.2f}"
    values = (share, str(row.words), *("–" if v is None else f"{v:.3f}" for v in (row.kappa, row.alpha)))
    return "".join(f'<td class="number">{value}</td>' for value in values)


def _figure(index: int, difference: SentenceDifference, a: Treebank, b: Treebank) -> str:
    name = difference.sent_id or str(difference.number)
    sides = [
        ("A", None if difference.a is None else a[difference.a]),
        ("B", None if difference.b is None else b[difference.b]),
    ]
    text = printable(difference.text)
    direction = ' dir="rtl"' if is_right_to_left(text) else ""
    parts = [
        f'<figure{direction}>\n<figcaption><span class="id">{escape(printable(name))}</span>'
        f"<bdi>{escape(text)}</bdi>{' (moved)' if difference.moved else ''}</figcaption>\n"
    ]
    for side, sentence in sides:
        kind = side.lower()
        if sentence is None:
            parts.append(f'<h2 class="{kind}">{side}: sentence missing</h2>\n')
            continue
        picture = _picture(sentence, _marked(difference, sentence, kind), f"{kind}-{index}")
        parts.append(f'<h2 class="{kind}">{side}</h2>\n<div class="scroll">\n{picture}</div>\n')
    return "".join(parts) + _table(difference) + "</figure>\n"


def _picture(sentence: Sentence, marked: set[int], name: str) -> str:
    try:
        return svg(sentence, marked=marked, name=name, with_style=False)
    except InputError as error:
        return f"<p>No tree to draw: {escape(str(error))}.</p>\n"


def _marked(difference: SentenceDifference, sentence: Sentence, side: str) -> set[int]:
    """The words whose head or label differs, or that are missing on the other side."""
    rows = [
        field.row if side == "a" else field.row_b
        for field in difference.fields
        if field.column in ("head", "deprel", "id") and getattr(field, side) is not None
    ]
    # Only words have arcs to mark; multiword tokens and empty nodes have other IDs.
    return {int(row) for row in rows if row.isdigit() and 1 <= int(row) <= len(sentence)}


def _table(difference: SentenceDifference) -> str:
    rows = [(field.row, field.form, field.column.upper(), field.a, field.b) for field in difference.fields]
    rows += [("#", "", comment.key, comment.a, comment.b) for comment in difference.comments]
    if not rows:
        return ""
    lines = []
    for row, form, column, *values in rows:
        in_a, in_b = (escape(printable("missing" if value is None else value)) for value in values)
        lines.append(
            f"<tr><td>{escape(row)}</td><td><bdi>{escape(printable(form))}</bdi></td>"
            f"<td>{escape(printable(column))}</td>"
            f'<td class="a"><bdi>{in_a}</bdi></td><td class="b"><bdi>{in_b}</bdi></td></tr>\n'
        )
    head = "<thead><tr><th>row</th><th>word</th><th>column</th><th>A</th><th>B</th></tr></thead>"
    return f'<div class="scroll"><table dir="ltr">{head}\n<tbody>\n{"".join(lines)}</tbody></table></div>\n'
