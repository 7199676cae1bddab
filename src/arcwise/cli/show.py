"""``arcwise show``: draw trees."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING

import typer

from arcwise.cli._support.files import Files
from arcwise.cli._support.output import COLOR, wants_color

if TYPE_CHECKING:
    from arcwise.treebanks import Sentence

_MOST_DRAWN = 400  # words of a sentence with arcs in the terminal
_MOST_IN_PICTURE = 2000

FILES = Files(reads=("file",), writes=("svg", "png", "pdf", "html", "tikz"))


def run(
    file: str = typer.Argument(..., help="CoNLL-U file (- for standard input)."),
    sentence: list[str] | None = typer.Option(
        None,
        "--sentence",
        "-s",
        help="Sentences: a number from 1, a range such as 1-5 or 20-, a sent_id (id:NAME if it looks "
        "like a number), or all. May be repeated. [default: the first sentence; with --html all]",
    ),
    svg: str | None = typer.Option(None, help="Draw one sentence as SVG to this file."),
    png: str | None = typer.Option(None, help="Draw one sentence as PNG, for slides (needs cairosvg)."),
    pdf: str | None = typer.Option(None, help="Draw one sentence as PDF, for LaTeX (needs cairosvg)."),
    html: str | None = typer.Option(None, help="Write the sentences to this file as an HTML page."),
    tikz: str | None = typer.Option(
        None,
        help="Write the sentences to this file for LaTeX, one tikz-dependency picture each (- for standard "
        "output).",
    ),
    color: bool | None = COLOR,
) -> None:
    """Draw trees: in the terminal, as a picture (SVG, PNG, PDF), for LaTeX, or as a self-contained HTML page.

    In the terminal each word takes one line. ● marks the root, ? a word whose head is unknown; non-projective
    arcs are magenta. A document that uses --tikz needs the package tikz-dependency.
    """
    from arcwise.errors import InputError
    from arcwise.visual.svg import check_picture

    pictures = {kind: path for kind, path in (("svg", svg), ("png", png), ("pdf", pdf)) if path is not None}
    for kind, path in {**pictures, **({} if html is None else {"html": html})}.items():
        check_picture(path, kind)
    selection = SentenceSelection.parse(sentence or (["all"] if html and not pictures else ["1"]))
    if pictures:
        sentences = list(selection.take(file))
        if len(sentences) != 1:
            flag = f"--{next(iter(pictures))}"
            raise InputError(f"{flag}: found {len(sentences)} sentences, expected one (--html shows several)")
        _write_pictures(sentences[0][1], pictures)
    if html is not None:
        _write_html((item for _, item in selection.take(file)), html, title=file)
    if tikz is not None:
        _write_tikz((item for _, item in selection.take(file)), tikz)
    if not pictures and html is None and tikz is None:
        print_trees(selection.take(file), color=wants_color(color))


def print_trees(sentences: Iterable[tuple[int, Sentence]], *, color: bool) -> None:
    """Draw sentences in the terminal, each under its number and text, arcs coloured by confidence."""
    from arcwise.trees import draw
    from arcwise.trees.draw import printable

    for at, (number, sentence) in enumerate(sentences):
        name = f"{number} ({sentence.sent_id})" if sentence.sent_id else str(number)
        heading = printable(f"{name}: {sentence.text}")
        tags = sentence.upos if any(tag != "_" for tag in sentence.upos) else None
        typer.echo("\n" * (at > 0) + (f"\x1b[1m{heading}\x1b[0m" if color else heading), color=color)
        if len(sentence) > _MOST_DRAWN:
            print_rows(sentence, name)
            continue
        drawn = draw(
            sentence.tree,
            sentence.forms,
            tags=tags,
            probabilities=sentence.head_probabilities,
            label_probabilities=sentence.label_probabilities,
            color=color,
        )
        typer.echo(drawn, color=color)


def print_rows(sentence: Sentence, name: str) -> None:
    """Print a sentence that is too long for arcs, whose drawing takes cubic time, as a list of words."""
    from arcwise.trees.draw import printable

    typer.echo(f"sentence {printable(name)}: {len(sentence)} words, too many to draw arcs", err=True)
    width = len(str(len(sentence)))
    rows = zip(sentence.forms, sentence.upos, sentence.heads[1:].tolist(), sentence.deprels, strict=True)
    for number, (form, tag, head, label) in enumerate(rows, 1):
        above = "?" if head < 0 else str(head)
        typer.echo(
            f"{number:{width}} ◄ {above:{width}} {printable(form)}  {printable(tag)}  {printable(label)}"
        )


def _drawable(sentences: Iterable[Sentence], most: int) -> Iterator[Sentence]:
    """The sentences; ``InputError`` for one that is too long for a picture."""
    from arcwise.errors import InputError

    for sentence in sentences:
        if len(sentence) > most:
            name = f"sentence {sentence.sent_id or sentence.number + 1}"
            raise InputError(f"{name}: has {len(sentence)} words; a picture shows at most {most}")
        yield sentence


def _write_pictures(sentence: Sentence, pictures: Mapping[str, str]) -> None:
    from arcwise.visual import svg
    from arcwise.visual.svg import write_picture

    drawn = svg(*_drawable([sentence], _MOST_IN_PICTURE))
    for kind, path in pictures.items():
        write_picture(drawn, path, kind)


def _write_html(sentences: Iterator[Sentence], path: str, *, title: str) -> None:
    from arcwise.treebanks import open_output
    from arcwise.visual import html_parts

    with open_output(path) as out:
        for part in html_parts(
            _drawable(sentences, _MOST_IN_PICTURE), title="Dependency trees" if title == "-" else title
        ):
            out.write(part.encode())


def _write_tikz(sentences: Iterator[Sentence], path: str) -> None:
    from arcwise.treebanks import open_output
    from arcwise.visual.tikz import tikz, tikz_comment

    with open_output(path) as out:
        for at, sentence in enumerate(_drawable(sentences, _MOST_IN_PICTURE)):
            out.write(("\n" * (at > 0) + tikz_comment(sentence) + tikz(sentence)).encode())


class SentenceSelection:
    """A selection of sentences by ranges of numbers and by sent_id."""

    def __init__(self, ranges: list[tuple[int, float]], names: set[str]) -> None:
        self.ranges = ranges
        self.names = names

    @classmethod
    def parse(cls, selections: Iterable[str]) -> SentenceSelection:
        """Read numbers (3), ranges (1-5, 20-), ``all`` and sent_ids (anything else, or id:NAME)."""
        from arcwise.errors import InputError

        ranges: list[tuple[int, float]] = []
        names: set[str] = set()
        for text in selections:
            first, dash, last = text.partition("-")
            if text == "all":
                ranges.append((1, float("inf")))
            elif first.isdecimal() and (last.isdecimal() or not last):
                bounds = int(first), float(last) if last else float("inf") if dash else float(first)
                if not 1 <= bounds[0] <= bounds[1]:
                    raise InputError(
                        f"--sentence: found {text!r}, expected a number from 1 or a range like 1-5"
                    )
                ranges.append(bounds)
            else:
                names.add(text.removeprefix("id:"))
        return cls(ranges, names)

    def take(self, file: str) -> Iterator[tuple[int, Sentence]]:
        """The selected sentences with their numbers, in the order of the file; reads no further than
        needed."""
        from arcwise.errors import InputError
        from arcwise.treebanks import stream

        missing = set(self.names)
        last = max((last for _, last in self.ranges), default=0)
        number = 0
        for batch in stream(file):
            for sentence in batch:
                number += 1
                named = bool(self.names) and sentence.sent_id in self.names
                missing -= {sentence.sent_id or ""} if named else set()
                if named or any(first <= number <= end for first, end in self.ranges):
                    yield number, sentence
                if number >= last and not missing:
                    return
        if missing:
            raise InputError(f"{file}: found no sentence with sent_id {', '.join(sorted(missing))}")
        beyond = [first for first, _ in self.ranges if first > number]
        if beyond:
            raise InputError(f"--sentence: found {min(beyond)}, expected 1..{number} as {file} has")
