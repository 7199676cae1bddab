"""``arcwise parse --in … --out …``: a corpus of any size, parsed shard by shard by several workers. See
``parse.py`` for the rest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from arcwise.cli._support.output import echo

if TYPE_CHECKING:
    from arcwise.distributed import Summary
    from arcwise.engine import Engine
    from arcwise.parsing.parser import ParseOptions


@dataclass(frozen=True)
class CorpusArguments:
    """The options of ``arcwise parse`` for a corpus, in the order of its help."""

    corpus: list[str] | None = typer.Option(
        None,
        "--in",
        help="Parse a corpus into the folder --out, shard by shard: a file, a folder, a pattern "
        "('crawl/*.jsonl.gz') or @FILE, a list of names; text, JSON lines, CoNLL-U or Parquet (.gz, "
        ".xz, .zst). May be repeated. Run the same command again to resume.",
    )
    out: str | None = typer.Option(None, help="With --in: folder for the parsed shards.")
    to: str = typer.Option(
        "conllu",
        help="Output format: conllu; json, one line per sentence (per input line for JSON input); with "
        "--in, also parquet.",
    )
    text_field: str = typer.Option("text", help="Field (JSON) or column (Parquet) that contains the text.")
    id_field: str | None = typer.Option(
        None, help="Field or column that contains the document ID. [default: FILE:LINE]"
    )
    workers: int | None = typer.Option(
        None, min=1, help="With --in: number of processes. [default: one per core]"
    )
    engine: str = typer.Option(
        "local", help="With --in: local (processes on this machine) or ray (a cluster; needs ray installed)."
    )
    address: str | None = typer.Option(
        None, help="Address of the cluster for --engine ray, if not this machine."
    )
    compress: str = typer.Option("gz", help="With --in: compression of the shards: gz, xz, zst or none.")
    shard_size: float = typer.Option(
        1.0, min=0.001, help="With --in: shard size in megabytes of text (CoNLL-U: eight times as many)."
    )
    max_errors: int | None = typer.Option(
        None,
        min=0,
        help="With --in: stop when more records than this cannot be parsed. [default: report them in "
        "errors.jsonl and continue]",
    )


_FORMATS = {
    "auto": None,
    "text": "text",
    "json": "jsonl",
    "jsonl": "jsonl",
    "conllu": "conllu",
    "parquet": "parquet",
}
_OUTPUTS = {"conllu": "conllu", "json": "jsonl", "jsonl": "jsonl", "parquet": "parquet"}


@dataclass(frozen=True)
class CorpusCommand:
    """Parses the corpus of ``--in``."""

    arguments: CorpusArguments
    model: str
    options: ParseOptions
    input_format: str
    threads: int
    overwrite: bool

    def run(self) -> int:
        """Parse the corpus; exit status 1 if records could not be parsed."""
        from arcwise.distributed import CorpusOptions, JobProgress, TextFields, parse_corpus
        from arcwise.engine.processes import cores, threads_of_each
        from arcwise.errors import InputError

        arguments = self.arguments
        if arguments.out is None:
            raise InputError("--in: needs --out, the folder to write to")
        for option, value, formats in (
            ("--format", self.input_format, _FORMATS),
            ("--to", arguments.to, _OUTPUTS),
        ):
            if value not in formats:
                raise InputError(f"{option}: found {value!r}, expected one of {', '.join(formats)}")
        workers = arguments.workers or cores()
        options = CorpusOptions(
            model=self.model,
            parse=self.options,
            format=_FORMATS[self.input_format],  # type: ignore[arg-type]
            fields=TextFields(arguments.text_field, arguments.id_field),
            to=_OUTPUTS[arguments.to],  # type: ignore[arg-type]
            packing=arguments.compress,  # type: ignore[arg-type]
            shard_bytes=max(1, round(arguments.shard_size * 2**20)),
            max_errors=arguments.max_errors,
            threads=threads_of_each(workers, self.threads) if arguments.engine == "local" else self.threads,
            overwrite=self.overwrite,
        )
        summary = parse_corpus(
            arguments.corpus or [],
            arguments.out,
            options=options,
            engine=self._engine(workers),
            progress=JobProgress(),
        )
        echo(self._summary_line(summary), err=True)
        return 1 if summary.errors else 0

    def _engine(self, workers: int) -> Engine:
        from arcwise.engine import Forks, ThisProcess, engine_of
        from arcwise.engine.forks import require_fork

        name, address = self.arguments.engine, self.arguments.address
        if name != "local" or address is not None:
            return engine_of(name, workers=workers, address=address, threads=self.threads)
        if workers == 1:
            return ThisProcess()
        require_fork("--workers")
        return Forks(workers)

    def _summary_line(self, summary: Summary) -> str:
        line = f"{summary.words:,} words, {summary.sentences:,} sentences, {summary.records:,} records"
        line += f" in {summary.shards:,} shards"
        if summary.errors:
            line += f"; {summary.errors:,} broken: {self.arguments.out}/errors.jsonl"
        if summary.undone:
            line += f"; {summary.undone:,} shards not done, the same command tries them again"
        return line
