"""``arcwise stats``: statistics of treebanks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from arcwise.cli._support.files import Files
from arcwise.cli._support.output import echo

if TYPE_CHECKING:
    from arcwise.treebanks.statistics import Statistics

FILES = Files(reads=("files",), plots=("plot",))


def run(
    files: list[str] = typer.Argument(..., help="CoNLL-U files (.gz, .xz, - for standard input)."),
    json: bool = typer.Option(
        False, "--json", help="Print JSON, with counts of every label, tag and length."
    ),
    plot: str | None = typer.Option(
        None, help="Also plot lengths, depths, gap degrees and labels to this .png, .svg or .pdf file."
    ),
) -> None:
    """Print statistics of treebanks, one column per file.

    A token is an orthographic word; a multiword token (ID 2-3) contains several words. An arc is
    non-projective if its head does not dominate every word between head and dependent; an arc from the root
    (HEAD 0) counts as an arc, but is never non-projective. Two arcs cross if each has one end strictly inside
    the other; the root precedes the first word. The gap degree of a tree is the largest number of gaps in the
    yield of a word (Kuhlmann and Nivre 2006).
    """
    from arcwise.treebanks.statistics import statistics

    results = [statistics(file) for file in files]
    names = short_names(files)
    if json:
        from json import dumps

        typer.echo(dumps([result.as_dict() for result in results], ensure_ascii=False, indent=2))
    else:
        echo(table(results, names, width=_width()))
    if plot is not None:
        from arcwise.visual.plots import plot_statistics, save

        save(plot_statistics(results, names), plot)


def short_names(files: Sequence[str]) -> list[str]:
    """File names without their common folders, and without .conllu and .xz if they stay distinct."""
    parts = [Path(f).parts for f in files]
    shared = 0
    while all(len(p) > shared + 1 and p[shared] == parts[0][shared] for p in parts):
        shared += 1
    names = [str(Path(*p[shared:])) for p in parts]
    bare = [n.removesuffix(".xz").removesuffix(".gz").removesuffix(".conllu") for n in names]
    return bare if len(set(bare)) == len(set(files)) and all(bare) else names


def _width() -> int:
    from shutil import get_terminal_size

    return get_terminal_size((110, 24)).columns


def measures(s: Statistics) -> dict[str, str]:
    """The column of one treebank."""
    from arcwise.treebanks.statistics import LENGTH_BANDS, mean, median, percent

    more_gaps = sum(count for degree, count in s.gap_degrees.items() if degree > 1)
    rows = {
        "sentences": f"{s.sentences:,}",
        "tokens": f"{s.tokens:,}",
        "  multiword": f"{s.multiword_tokens:,}",
        "words": f"{s.words:,}",
        "empty nodes": f"{s.empty_nodes:,}",
        "distinct forms": f"{len(s.forms):,}",
        "labels": f"{len(s.labels):,}",
        "tags (UPOS)": f"{len(s.tags):,}",
        "words per sentence": f"{mean(s.lengths):.1f}",
        "  median": f"{median(s.lengths):g}",
        "  longest": f"{max(s.lengths, default=0)}",
    }
    for first, last in LENGTH_BANDS:
        name = f"  % with {first}–{last}" if last else f"  % with {first} or more"
        rows[name] = f"{s.length_percent(first, last):.1f}"
    rows |= {
        "tree depth, mean": f"{mean(s.depths):.1f}",
        "  deepest": f"{max(s.depths, default=0)}",
        "% crossing arcs": f"{s.crossing_arcs_percent:.2f}",
        "% non-projective arcs": f"{s.non_projective_arcs_percent:.2f}",
        "% non-projective sentences": f"{s.non_projective_sentences_percent:.1f}",
        "  % of gap degree 1": f"{percent(s.gap_degrees[1], s.sentences):.1f}",
        "  % of gap degree 2 or more": f"{percent(more_gaps, s.sentences):.1f}",
        "  % not planar": f"{percent(s.non_planar_sentences, s.sentences):.1f}",
        "  % not well-nested": f"{percent(s.ill_nested_sentences, s.sentences):.1f}",
        "sentences with several roots": f"{s.multi_root_sentences:,}",
        "sentences with unknown heads": f"{s.partial_sentences:,}",
    }
    return rows


def table(results: Sequence[Statistics], names: Sequence[str], *, width: int) -> str:
    """A line per measure and a column per treebank, in as many blocks as fit ``width``."""
    columns = [measures(s) for s in results]
    margin = max(map(len, columns[0]))
    blocks: list[list[int]] = []
    used = width
    for at, (name, column) in enumerate(zip(names, columns, strict=True)):
        needed = 2 + max(len(name), *map(len, column.values()))
        if used + needed > width:
            blocks.append([])
            used = margin
        blocks[-1].append(at)
        used += needed
    return "\n\n".join(
        _block([names[i] for i in block], [columns[i] for i in block], margin) for block in blocks
    )


def _block(names: Sequence[str], columns: Sequence[dict[str, str]], margin: int) -> str:
    widths = [2 + max(len(name), *map(len, c.values())) for name, c in zip(names, columns, strict=True)]
    lines = [" " * margin + "".join(f"{name:>{w}}" for name, w in zip(names, widths, strict=True))]
    for measure in columns[0]:
        cells = (f"{column[measure]:>{w}}" for column, w in zip(columns, widths, strict=True))
        lines.append(f"{measure:<{margin}}" + "".join(cells))
    return "\n".join(lines)
