"""``arcwise parse``: trees for raw text or for the sentences of a CoNLL-U file."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from arcwise.cli._support.files import Files
from arcwise.cli._support.options import from_declaration, takes_options
from arcwise.cli._support.output import echo
from arcwise.cli._support.parse_corpus import CorpusArguments, CorpusCommand
from arcwise.cli._support.parse_work import ParseOutput, ParseWork, targets_of
from arcwise.cli._support.usage import PlainCommand
from arcwise.learning.options import declared
from arcwise.parsing.parser import KEPT, ParseOptions

if TYPE_CHECKING:
    from arcwise.parsing.parser import Capabilities

FILES = Files(
    reads=("inputs",),
    may_read=("model", "corpus", "legal"),
    writes=("html",),
    folders=("out",),
    like={"output": "inputs"},
)

_PAGE_ALTERNATIVES = 5
"""Default alternatives per word on an HTML page."""


class Command(PlainCommand):
    """``--keep`` alone means all columns; a list of columns may follow it."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, with_all_columns(args))


def with_all_columns(arguments: list[str]) -> list[str]:
    """The arguments with ``--keep=all`` for every ``--keep`` without a list of columns.

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
    """Whether a word is a list of columns: a column, or not a file but with commas or similar to the name of
    a column."""
    if word is None or word in (*KEPT, "all"):
        return word is not None
    meant = "," in word or bool(get_close_matches(word.lower(), KEPT))
    return meant and not word.startswith("-") and not Path(word).exists()


@dataclass(frozen=True)
class DecodingArguments:
    """The options of ``ParseOptions``."""

    decode: str | None = from_declaration(ParseOptions, "decode")
    projective: bool | None = from_declaration(ParseOptions, "projective", "--projective/--non-projective")
    single_root: bool | None = from_declaration(ParseOptions, "single_root", "--single-root/--multi-root")
    k_best: int = from_declaration(ParseOptions, "k_best", default=True, value=1)
    confidence: bool = from_declaration(ParseOptions, "confidence", "--confidence", value=False)
    keep: str | None = typer.Option(
        None,
        metavar="[COLUMNS]",
        help="Keep the annotation in the input: every value that is not _, in all columns or in those "
        "listed, separated "
        f"by commas. The rest is tagged and parsed consistently with it. [each "
        f"{declared(ParseOptions)['keep'].values}]",
    )
    keep_heads: bool = from_declaration(
        ParseOptions, "keep_heads", "--keep-heads", text="Short for --keep head,deprel.", value=False
    )
    misc_constraints: bool = from_declaration(
        ParseOptions, "misc_constraints", "--misc-constraints", value=False
    )
    alternatives: int = from_declaration(ParseOptions, "alternatives", value=0)
    legal: str | None = from_declaration(ParseOptions, "legal")
    beam: int | None = from_declaration(ParseOptions, "beam")
    max_words: int = from_declaration(ParseOptions, "max_words", default=True, value=ParseOptions.max_words)
    device: str | None = from_declaration(ParseOptions, "device")

    def parse_options(self) -> ParseOptions:
        """The same, checked."""
        return ParseOptions(**{**asdict(self), "keep": _columns(self.keep)})


@dataclass(frozen=True, kw_only=True)
class ParseArguments:
    """The options of ``arcwise parse``, in the order of its help."""

    inputs: list[str] | None = typer.Argument(
        None, help="Text or CoNLL-U files (.gz, .xz), folders of them, or - for standard input (the default)."
    )
    model: str = typer.Option(
        "en", help="A model that comes with arcwise (en), or a file from 'arcwise train'."
    )
    text: str | None = typer.Option(None, help="Text to parse, instead of files.")
    output: str = typer.Option(
        "-",
        "--output",
        "-o",
        help="Output file; - is standard output. For folders, or with a trailing slash (DIR/): a folder "
        "with one file per input.",
    )
    show: bool = typer.Option(
        False, "--show", help="Draw the trees in the terminal instead of writing CoNLL-U."
    )
    html: str | None = typer.Option(
        None,
        help="Write the trees to this file as an HTML page instead of CoNLL-U, with confidences and, "
        "when you point at an arc, its alternatives.",
    )
    input_format: str = typer.Option(
        "auto",
        "--format",
        help="Input format: text; lines (text, one sentence per line); tokens (one sentence per line, "
        "words separated by spaces); conllu; json (one object per line, with a text or with words); or "
        "auto to detect it.",
    )
    immediate: bool = typer.Option(
        False,
        "--immediate",
        help="Parse standard input as it arrives and write each tree as soon as its sentence is "
        "complete: at a blank line (text, conllu) or at the end of the line. [default: when the input "
        "pauses]",
    )
    errors: str = typer.Option(
        "strict", help="Invalid UTF-8: strict stops with an error, replace substitutes the characters."
    )
    decoding: DecodingArguments
    overwrite: bool = typer.Option(False, "--overwrite", help="For folders: overwrite existing files.")
    threads: int = typer.Option(1, min=1, help="Number of threads; does not affect the result.")
    corpus_arguments: CorpusArguments

    def check(self) -> None:
        """``InputError`` for options that exclude each other."""
        from arcwise.errors import InputError
        from arcwise.pipeline.parse_input import FORMATS

        corpus = self.corpus_arguments
        for option, value, values in (
            ("--format", self.input_format, (*FORMATS, "parquet") if corpus.corpus else FORMATS),
            ("--errors", self.errors, ("strict", "replace")),
            (
                "--to",
                corpus.to,
                ("conllu", "json", "jsonl", "parquet") if corpus.corpus else ("conllu", "json"),
            ),
        ):
            if value not in values:
                raise InputError(f"{option}: found {value!r}, expected one of {', '.join(values)}")
        if self.text is not None and self.inputs:
            raise InputError(f"--text: cannot be combined with files ({self.inputs[0]})")
        if self.html is not None and (self.show or self.output != "-"):
            second = "--show" if self.show else "--output"
            raise InputError(f"--html: cannot be combined with {second}")
        if corpus.to != "conllu" and (self.show or self.html is not None):
            second = "--show" if self.show else "--html"
            raise InputError(f"--to: cannot be combined with {second}")
        if corpus.corpus or corpus.out is not None:
            pictures = self.show or self.html is not None
            if self.inputs or self.text is not None or pictures or self.output != "-" or self.immediate:
                raise InputError(
                    "--in: cannot be combined with files, --text, --show, --html, --output or --immediate"
                )
            if not corpus.corpus:
                raise InputError("--out: needs --in, the corpus to read")


@takes_options
def run(arguments: ParseArguments) -> None:
    """Parse raw text, or the sentences of CoNLL-U files.

    Raw text needs a pipeline (a model that comes with arcwise, or from 'arcwise train --pipeline'), which
    splits it into sentences and words, tags and parses it. In CoNLL-U a parser writes HEAD and DEPREL, a
    pipeline also LEMMA, UPOS, XPOS and FEATS; all other columns stay unchanged, and --keep also keeps
    existing values in these.
    """
    from arcwise.memory import mmap_large_allocations
    from arcwise.models import open_model
    from arcwise.pipeline.parse_input import InputSettings
    from arcwise.pipeline.text_fields import TextFields

    arguments.check()
    options, corpus = arguments.decoding.parse_options(), arguments.corpus_arguments
    if corpus.corpus:
        command = CorpusCommand(
            corpus, arguments.model, options, arguments.input_format, arguments.threads, arguments.overwrite
        )
        raise typer.Exit(command.run())
    sources = [] if arguments.text is not None else arguments.inputs or ["-"]
    targets = targets_of(sources, arguments.output, to=corpus.to, overwrite=arguments.overwrite)
    mmap_large_allocations()  # a long text would fragment the heap
    parser = open_model(arguments.model)
    if arguments.show or arguments.html is not None:
        options = _for_pictures(options, parser.capabilities, page=arguments.html is not None)
    if options.confidence:
        from arcwise.parsing.calibration import confidence_warning

        if doubt := confidence_warning(parser.info):
            echo(f"warning: {arguments.model}: {doubt}", err=True)
    fields = TextFields(corpus.text_field, corpus.id_field)
    reading = InputSettings(arguments.input_format, arguments.errors, arguments.immediate, fields)  # type: ignore[arg-type]
    output = ParseOutput(arguments.output, corpus.to, show=arguments.show, html=arguments.html)
    work = ParseWork(parser, reading, options, arguments.threads, output)
    raise typer.Exit(work.run(sources, targets, text=arguments.text))


def _columns(keep: str | None) -> tuple[str, ...]:
    if keep is None:
        return ()
    return KEPT if keep == "all" else tuple(keep.split(","))


def _for_pictures(options: ParseOptions, can: Capabilities, *, page: bool) -> ParseOptions:
    """With confidences, if the parser has them, and on an HTML page with alternatives."""
    others = options.alternatives or (_PAGE_ALTERNATIVES if page and can.alternatives else 0)
    return replace(options, confidence=options.confidence or can.confidence, alternatives=others)
