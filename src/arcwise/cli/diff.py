"""``arcwise diff``: the differences and the agreement of two annotators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Literal

import typer

from arcwise.cli._support.files import Files
from arcwise.cli._support.output import COLOR, echo, print_json, print_tables, wants_color

if TYPE_CHECKING:
    from arcwise.evaluation.agreement import Agreement
    from arcwise.treebanks import Sentence
    from arcwise.treebanks.differences import FieldDifference, SentenceDifference, SideBySide

FILES = Files(reads=("a", "b"), writes=("html",))
_RED, _GREEN, _BOLD = "31", "32", "1"


def run(
    a: str = typer.Argument(..., help="CoNLL-U file of annotator A."),
    b: str = typer.Argument(..., help="CoNLL-U file of annotator B, same text."),
    columns: str = typer.Option(
        "",
        help="Compare only these columns, separated by commas: id (words missing on one side), form, "
        "lemma, upos, xpos, feats, head, deprel, deps, misc, comments. [default: all of them, and moved "
        "sentences]",
        show_default=False,
    ),
    subtypes: Literal["keep", "cut"] = typer.Option(
        "keep", help="For the agreement, compare full labels (nsubj:pass), or without subtypes (nsubj)."
    ),
    html: str | None = typer.Option(
        None,
        help="Write an HTML page with both trees of each differing sentence to this file, instead of "
        "printing.",
    ),
    json: bool = typer.Option(False, "--json", help="Print everything as JSON."),
    color: bool | None = COLOR,
) -> None:
    """Compare two annotations of the same text word by word, with totals and inter-annotator agreement.

    Sentences are aligned by sent_id, or else by their words; words that were split or joined, by their forms.
    The exit status is 0 if there are no differences and 1 if there are.
    """
    from arcwise.cli._support.files import read_version
    from arcwise.evaluation.agreement import agreement_of
    from arcwise.treebanks.differences import SideBySide

    names = [name.strip().lower() for name in columns.split(",") if name.strip()] or None
    sides = SideBySide(read_version(a), read_version(b))
    differences = list(sides.differences(names))
    if not differences and html is None and not json:
        echo(f"{sides.a.source}, {sides.b.source}: no difference", err=True)
        return
    agreement = agreement_of(sides, subtypes=subtypes)
    if html is not None:
        _write_html(sides, differences, agreement, html)
    if json:
        _print_json(sides, differences, agreement)
    elif html is None:
        _print(sides, differences, agreement, color=wants_color(color))
    if differences:
        raise typer.Exit(1)


def _print(
    sides: SideBySide, differences: Sequence[SentenceDifference], agreement: Agreement, *, color: bool
) -> None:
    from arcwise.evaluation.tables import agreement_tables
    from arcwise.treebanks.differences import totals

    for difference in differences:
        typer.echo("\n".join(_lines(difference, sides, color=color)) + "\n", color=color)
    print_tables(agreement_tables(agreement, totals(differences)))


def _print_json(sides: SideBySide, differences: Sequence[SentenceDifference], agreement: Agreement) -> None:
    from arcwise.treebanks.differences import totals

    print_json(
        {
            "a": sides.a.source,
            "b": sides.b.source,
            "sentences": [difference.to_json() for difference in differences],
            "totals": totals(differences),
            "agreement": agreement.to_json(),
        }
    )


def _write_html(
    sides: SideBySide, differences: Sequence[SentenceDifference], agreement: Agreement, path: str
) -> None:
    from arcwise.treebanks import open_output
    from arcwise.visual.differences_html import differences_page

    with open_output(path) as out:
        for part in differences_page(differences, sides.a, sides.b, agreement):
            out.write(part.encode())


def _lines(difference: SentenceDifference, sides: SideBySide, *, color: bool) -> Iterator[str]:
    """The lines printed for one sentence."""
    from arcwise.trees.draw import printable

    def painted(text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if color else text

    yield painted(
        printable(f"{difference.sent_id or f'sentence {difference.number}'}: {difference.text}"), _BOLD
    )
    if difference.a is None or difference.b is None:
        side, code = ("A", _RED) if difference.b is None else ("B", _GREEN)
        yield painted(f"  only in {side}", code)
        return
    if difference.moved:
        yield f"  moved: sentence {difference.a + 1} of A, {difference.b + 1} of B"
    both = sides.a[difference.a], sides.b[difference.b]
    rows = [(f.row, f.form, f.column.upper(), *_values(f, *both)) for f in difference.fields]
    rows += [("#", "", c.key, _value(c.a), _value(c.b)) for c in difference.comments]
    cells = [
        [cell if cell.isascii() and cell.isprintable() else printable(cell) for cell in row] for row in rows
    ]
    widths = [max((_width(row[i]) for row in cells), default=0) for i in range(5)]
    for row in cells:
        padded = [cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)]
        values = f"{painted('A ' + padded[3], _RED)}  {painted('B ' + row[4], _GREEN)}"
        yield f"  {'  '.join(padded[:3])}  {values}".rstrip()


def _width(text: str) -> int:
    from arcwise.trees.draw import cell_width

    return len(text) if text.isascii() else cell_width(text)


def _values(difference: FieldDifference, a: Sentence, b: Sentence) -> tuple[str, str]:
    """Both values; a head with its word."""
    if difference.column != "head":
        return _value(difference.a), _value(difference.b)
    return _head(difference.a, a), _head(difference.b, b)


def _head(value: str | None, sentence: Sentence) -> str:
    if value is None or not value.isdecimal() or not 1 <= int(value) <= len(sentence):
        return _value(value)
    return f"{value} {sentence.forms[int(value) - 1]}"


def _value(value: str | None) -> str:
    return "(missing)" if value is None else value
