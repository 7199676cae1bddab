"""``arcwise parse``: trees for raw text or for the sentences of a CoNLL-U file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from arcwise.cli.files import Files, refuse_existing
from arcwise.cli.options import from_declaration
from arcwise.parsing.parser import ParseOptions

if TYPE_CHECKING:
    from arcwise.treebanks import Treebank

FILES = Files(may_read=("inputs", "model"), like={"output": "inputs"})


def run(
    inputs: Annotated[
        list[str] | None,
        typer.Argument(
            help="Text or CoNLL-U files (.gz, .xz), folders of them, or - for standard input, which is also read without any.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str,
        typer.Option("--model", help="A model that comes with arcwise (en), or a file of 'arcwise train'."),
    ] = "en",
    text: Annotated[
        str | None, typer.Option("--text", help="A text to parse, instead of files.", show_default=False)
    ] = None,
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="Where to write; - is standard output. For folders: a folder."),
    ] = "-",
    show: Annotated[
        bool, typer.Option("--show", help="Draw the trees in the terminal instead of writing CoNLL-U.")
    ] = False,
    input_format: Annotated[
        str, typer.Option("--format", help="What the input is: text, conllu, or auto to look.")
    ] = "auto",
    errors: Annotated[
        str, typer.Option(help="Text that is no UTF-8: strict stops with a message, replace goes on.")
    ] = "strict",
    decode: Annotated[
        str | None,
        from_declaration(ParseOptions, "decode"),
    ] = None,
    projective: Annotated[
        bool | None, from_declaration(ParseOptions, "projective", "--projective/--non-projective")
    ] = None,
    single_root: Annotated[
        bool | None, from_declaration(ParseOptions, "single_root", "--single-root/--multi-root")
    ] = None,
    k_best: Annotated[int, from_declaration(ParseOptions, "k_best", "--k-best", default=True)] = 1,
    confidence: Annotated[
        bool,
        from_declaration(ParseOptions, "confidence", "--confidence"),
    ] = False,
    keep_heads: Annotated[
        bool,
        from_declaration(ParseOptions, "keep_heads", "--keep-heads"),
    ] = False,
    beam: Annotated[int | None, from_declaration(ParseOptions, "beam")] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="For folders: replace files that are in the folder already.")
    ] = False,
    threads: Annotated[int, typer.Option(min=1, help="Threads; the result does not depend on them.")] = 1,
) -> None:
    """Parse raw text, or the sentences of CoNLL-U files.

    Raw text needs a model of 'arcwise train --pipeline' (or one that comes with arcwise): it is cut into sentences and words,
    tagged and parsed. In CoNLL-U a parser writes HEAD and DEPREL, a pipeline also LEMMA, UPOS, XPOS and FEATS; everything
    else stays as it is.
    """
    from arcwise.errors import InputError
    from arcwise.models import open_model
    from arcwise.pipeline.parse_input import FORMATS, Reading, files_in, parse_file, parse_text
    from arcwise.treebanks.files import make_folder, path_kind

    for option, value, known in (
        ("--format", input_format, FORMATS),
        ("--errors", errors, ("strict", "replace")),
    ):
        if value not in known:
            raise InputError(f"{option}: found {value!r}, expected one of {', '.join(known)}")
    if text is not None and inputs:
        raise InputError(f"--text: found files too ({inputs[0]}), expected one or the other")
    options = ParseOptions(
        decode,  # type: ignore[arg-type]
        projective,
        single_root,
        k_best,
        confidence or show,
        keep_heads,
        beam,
    )
    sources = [] if text is not None else inputs or ["-"]
    targets = _targets(sources, output, overwrite=overwrite)
    parser = open_model(model)
    reading = Reading(input_format, errors)  # type: ignore[arg-type]
    if text is not None:
        return _write(parse_text(parser, text, options=options, threads=threads), output, show=show)

    def parsed(paths: Iterable[str | Path]) -> Iterator[Treebank]:
        for path in paths:
            yield from parse_file(parser, path, reading, options=options, threads=threads)

    if targets:
        for file, target in targets.items():
            make_folder(target.parent)
            _write(parsed([file]), str(target), show=False)
        return None
    files = [file for name in sources for file in (files_in(name) if path_kind(name) == "folder" else [name])]
    return _write(parsed(files), output, show=show)


def _targets(sources: list[str], output: str, *, overwrite: bool) -> dict[Path, Path]:
    """For a folder that is parsed into another one: each file of the first → its parse in the second. Checked before the work."""
    from arcwise.errors import InputError
    from arcwise.pipeline.parse_input import files_in
    from arcwise.treebanks.files import path_kind

    folders = [name for name in sources if path_kind(name) == "folder"]
    if not folders or output == "-":
        return {}
    folder = folders[0]
    if len(sources) > 1:
        raise InputError(
            f"INPUT: found a folder ({folder}) and more, expected one folder for --output {output}"
        )
    if Path(output).resolve().is_relative_to(Path(folder).resolve()):
        raise InputError(f"{output}: is in the folder that is read, expected one outside of {folder}")
    files = files_in(folder)
    places = [Path(output) / file.relative_to(folder) for file in files]
    targets = [place.with_name(f"{place.name}.conllu") for place in places]
    refuse_existing(targets, read=files, overwrite=overwrite)
    return dict(zip(files, targets, strict=True))


def _write(treebanks: Iterable[Treebank], output: str, *, show: bool) -> None:
    from arcwise.treebanks import open_output

    if show:
        from arcwise.cli.show import print_trees, wants_color

        print_trees(enumerate((s for treebank in treebanks for s in treebank), 1), color=wants_color())
        return
    with open_output(output) as target:
        for treebank in treebanks:
            target.write(treebank.data)
