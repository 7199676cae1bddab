"""``arcwise parse``: trees for raw text or for the sentences of a CoNLL-U file."""

from __future__ import annotations

from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from arcwise.cli._support.files import Files
from arcwise.cli._support.options import from_declaration
from arcwise.cli._support.parse_corpus import (
    Address,
    Compress,
    CorpusCommand,
    EngineName,
    IdField,
    In,
    MaxErrors,
    Out,
    ShardSize,
    TextField,
    To,
    Workers,
)
from arcwise.cli._support.parse_work import Output, ParseWork, targets_of
from arcwise.cli._support.usage import PlainCommand
from arcwise.learning.options import declared
from arcwise.parsing.parser import KEPT, ParseOptions

if TYPE_CHECKING:
    from arcwise.parsing.parser import Capabilities

FILES = Files(
    reads=("inputs",),
    may_read=("model", "corpus"),
    writes=("html",),
    folders=("out",),
    like={"output": "inputs"},
)

_PAGE_ALTERNATIVES = 5
"""Pairs of head and label of each word on an HTML page, if not told otherwise."""


class Command(PlainCommand):
    """``--keep`` stands alone, for all columns, or has a list of columns behind it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_all_columns(args))


def with_all_columns(arguments: list[str]) -> list[str]:
    """The arguments with ``--keep all`` for every ``--keep`` that no list of columns follows.

    >>> with_all_columns(["--keep", "in.conllu", "--keep", "head,upos", "--keep"])
    ['--keep=all', 'in.conllu', '--keep', 'head,upos', '--keep=all']
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    followers = [*arguments[1:end], None, *arguments[end:]]
    return [
        "--keep=all" if word == "--keep" and at < end and not _is_list(followers[at]) else word
        for at, word in enumerate(arguments)
    ]


def _is_list(word: str | None) -> bool:
    """Whether a word is meant as a list of columns: one of them, or no file, and with commas or nearly the name of one."""
    if word is None or word in (*KEPT, "all"):
        return word is not None
    meant = "," in word or bool(get_close_matches(word.lower(), KEPT))
    return meant and not word.startswith("-") and not Path(word).exists()


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
        typer.Option(
            "--output",
            "-o",
            help="Where to write; - is standard output. For folders: a folder; so is DIR/, which has then one file for each input.",
        ),
    ] = "-",
    show: Annotated[
        bool, typer.Option("--show", help="Draw the trees in the terminal instead of writing CoNLL-U.")
    ] = False,
    html: Annotated[
        str | None,
        typer.Option(
            help="Write the trees as one HTML page to this file instead of CoNLL-U, with how sure the parser is and, when the pointer is on an arc, its alternatives.",
            show_default=False,
        ),
    ] = None,
    input_format: Annotated[
        str,
        typer.Option(
            "--format",
            help="What the input is: text; lines (text, one sentence a line); tokens (one sentence a line, blanks between words); conllu; "
            "json (an object a line, with a text, or with words); or auto to look.",
        ),
    ] = "auto",
    immediate: Annotated[
        bool,
        typer.Option(
            "--immediate",
            help="Parse standard input as it comes, and write each tree as soon as its sentence is complete: at a blank line (text, conllu) or at "
            "the end of the line. Without, this is done when the input pauses.",
        ),
    ] = False,
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
    keep: Annotated[
        str | None,
        typer.Option(
            "--keep",
            metavar="[COLUMNS]",
            help="What a person wrote stays: everything that is not _, in all columns or in those listed with commas between. "
            f"The rest is tagged and parsed around it. [each {declared(ParseOptions)['keep'].values}]",
            show_default=False,
        ),
    ] = None,
    keep_heads: Annotated[
        bool,
        from_declaration(ParseOptions, "keep_heads", "--keep-heads", text="Short for --keep head,deprel."),
    ] = False,
    misc_constraints: Annotated[
        bool, from_declaration(ParseOptions, "misc_constraints", "--misc-constraints")
    ] = False,
    alternatives: Annotated[
        int,
        from_declaration(ParseOptions, "alternatives"),
    ] = 0,
    beam: Annotated[int | None, from_declaration(ParseOptions, "beam")] = None,
    max_words: Annotated[
        int, from_declaration(ParseOptions, "max_words", default=True)
    ] = ParseOptions.max_words,
    device: Annotated[str | None, from_declaration(ParseOptions, "device")] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="For folders: replace files that are in the folder already.")
    ] = False,
    threads: Annotated[int, typer.Option(min=1, help="Threads; the result does not depend on them.")] = 1,
    corpus: In = None,
    out: Out = None,
    to: To = "conllu",
    text_field: TextField = "text",
    id_field: IdField = None,
    workers: Workers = None,
    engine: EngineName = "local",
    address: Address = None,
    compress: Compress = "gz",
    shard_size: ShardSize = 1.0,
    max_errors: MaxErrors = None,
) -> None:
    """Parse raw text, or the sentences of CoNLL-U files.

    Raw text needs a model of 'arcwise train --pipeline' (or one that comes with arcwise): it is cut into sentences and words,
    tagged and parsed. In CoNLL-U a parser writes HEAD and DEPREL, a pipeline also LEMMA, UPOS, XPOS and FEATS; everything
    else stays as it is, and with --keep these do too, wherever they are not _.
    """
    from arcwise.errors import InputError
    from arcwise.models import open_model
    from arcwise.parsing.calibration import confidence_warning
    from arcwise.pipeline.parse_input import FORMATS, InputSettings
    from arcwise.pipeline.text_fields import TextFields

    for option, value, known in (
        ("--format", input_format, (*FORMATS, "parquet") if corpus else FORMATS),
        ("--errors", errors, ("strict", "replace")),
        ("--to", to, ("conllu", "json", "jsonl", "parquet") if corpus else ("conllu", "json")),
    ):
        if value not in known:
            raise InputError(f"{option}: found {value!r}, expected one of {', '.join(known)}")
    if text is not None and inputs:
        raise InputError(f"--text: found files too ({inputs[0]}), expected one or the other")
    if html is not None and (show or output != "-"):
        raise InputError(f"--html: found {'--show' if show else '--output'} too, expected one or the other")
    if to != "conllu" and (show or html is not None):
        raise InputError(f"--to: found {'--show' if show else '--html'} too, expected one or the other")
    options = ParseOptions(
        decode=decode,  # type: ignore[arg-type]
        projective=projective,
        single_root=single_root,
        k_best=k_best,
        confidence=confidence,
        keep=_columns(keep),  # type: ignore[arg-type]
        keep_heads=keep_heads,
        misc_constraints=misc_constraints,
        alternatives=alternatives,
        beam=beam,
        max_words=max_words,
        device=device,  # type: ignore[arg-type]
    )
    if corpus or out is not None:
        if inputs or text is not None or show or html is not None or output != "-" or immediate:
            raise InputError(
                "--in: found files, --text, --show, --html, --output or --immediate too, expected --in and --out alone"
            )
        if not corpus:
            raise InputError("--out: found no --in, expected a corpus to read")
        asked = CorpusCommand(
            corpus, out, model, options, input_format, to, text_field, id_field, workers, engine, address, compress, shard_size,
            max_errors, threads, overwrite,
        )  # fmt: skip
        raise typer.Exit(asked.run())
    sources = [] if text is not None else inputs or ["-"]
    targets = targets_of(sources, output, to=to, overwrite=overwrite)
    parser = open_model(model)
    if show or html is not None:
        options = _for_pictures(options, parser.capabilities, page=html is not None)
    if options.confidence and (doubt := confidence_warning(parser.info)):
        typer.echo(f"warning: {model}: {doubt}", err=True)
    reading = InputSettings(input_format, errors, immediate, TextFields(text_field, id_field))  # type: ignore[arg-type]
    work = ParseWork(parser, reading, options, threads, Output(output, to, show=show, html=html))
    raise typer.Exit(work.run(sources, targets, text=text))


def _columns(keep: str | None) -> tuple[str, ...]:
    if keep is None:
        return ()
    return KEPT if keep == "all" else tuple(keep.split(","))


def _for_pictures(options: ParseOptions, can: Capabilities, *, page: bool) -> ParseOptions:
    """Pictures show how sure the parser is, if it says so; those of a page also what else a word may be."""
    others = options.alternatives or (_PAGE_ALTERNATIVES if page and can.alternatives else 0)
    return replace(options, confidence=options.confidence or can.confidence, alternatives=others)
