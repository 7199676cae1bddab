"""``arcwise parse --in … --out …``: a corpus of any size, shard by shard, by many workers. The rest of the command is in ``parse.py``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from arcwise.distributed import Summary
    from arcwise.engine import Engine
    from arcwise.parsing.parser import ParseOptions

In = Annotated[
    list[str] | None,
    typer.Option(
        "--in",
        help="A corpus to parse into the folder --out, shard by shard: a file, a folder, a pattern ('crawl/*.jsonl.gz') or @FILE, "
        "a list of names; text, JSON lines, CoNLL-U or Parquet (.gz, .xz, .zst). May be given several times. The same command again "
        "goes on where it was stopped.",
        show_default=False,
    ),
]
Out = Annotated[
    str | None,
    typer.Option("--out", help="With --in: the folder for the parsed shards.", show_default=False),
]
To = Annotated[
    str,
    typer.Option(
        "--to",
        help="What is written: conllu; json, a line for each sentence (of JSON, for each line of the input); with --in, also parquet.",
    ),
]
TextField = Annotated[
    str, typer.Option("--text-field", help="The field (JSON) or column (Parquet) that has the text.")
]
IdField = Annotated[
    str | None,
    typer.Option(
        "--id-field",
        help="The one that has the name of the document; without, documents are called FILE:LINE.",
        show_default=False,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers", min=1, help="With --in: processes; without, one for each core.", show_default=False
    ),
]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine", help="With --in: local, processes of this machine; ray, a cluster (needs ray installed)."
    ),
]
Address = Annotated[
    str | None,
    typer.Option(
        "--address", help="The cluster of --engine ray, if it is not this machine.", show_default=False
    ),
]
Compress = Annotated[
    str, typer.Option("--compress", help="With --in: how shards are packed, gz, xz, zst or none.")
]
ShardSize = Annotated[
    float,
    typer.Option(
        "--shard-size",
        min=0.001,
        help="With --in: megabytes of text for each shard (CoNLL-U: eight times as many).",
    ),
]
MaxErrors = Annotated[
    int | None,
    typer.Option(
        "--max-errors",
        min=0,
        help="With --in: stop when more records than that are broken; without, errors.jsonl names them and the work goes on.",
        show_default=False,
    ),
]

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
    """What the command line says of a corpus."""

    inputs: list[str]
    out: str | None
    model: str
    options: ParseOptions
    input_format: str
    to: str
    text_field: str
    id_field: str | None
    workers: int | None
    engine: str
    address: str | None
    compress: str
    shard_size: float
    max_errors: int | None
    threads: int
    overwrite: bool

    def run(self) -> int:
        """Parse the corpus; exit status 1 if records were broken."""
        from arcwise.distributed import CorpusOptions, JobProgress, TextFields, parse_corpus
        from arcwise.distributed.cores import cores, threads_of_each
        from arcwise.errors import InputError

        if self.out is None:
            raise InputError("--in: found no --out, expected a folder to write to")
        for option, value, known in (("--format", self.input_format, _FORMATS), ("--to", self.to, _OUTPUTS)):
            if value not in known:
                raise InputError(f"{option}: found {value!r}, expected one of {', '.join(known)}")
        workers = self.workers or cores()
        options = CorpusOptions(
            model=self.model,
            parse=self.options,
            format=_FORMATS[self.input_format],  # type: ignore[arg-type]
            fields=TextFields(self.text_field, self.id_field),
            to=_OUTPUTS[self.to],  # type: ignore[arg-type]
            packing=self.compress,  # type: ignore[arg-type]
            shard_bytes=max(1, round(self.shard_size * 2**20)),
            max_errors=self.max_errors,
            threads=threads_of_each(workers, self.threads) if self.engine == "local" else self.threads,
            overwrite=self.overwrite,
        )
        summary = parse_corpus(
            self.inputs, self.out, options=options, engine=self._engine(workers), progress=JobProgress()
        )
        typer.echo(self._told(summary), err=True)
        return 1 if summary.errors else 0

    def _engine(self, workers: int) -> Engine:
        from arcwise.engine import Forks, ThisProcess, engine_of

        if self.engine != "local" or self.address is not None:
            return engine_of(self.engine, workers=workers, address=self.address, threads=self.threads)
        return ThisProcess() if workers == 1 else Forks(workers)

    def _told(self, summary: Summary) -> str:
        line = f"{summary.words:,} words, {summary.sentences:,} sentences, {summary.records:,} records in {summary.shards:,} shards"
        if summary.errors:
            line += f"; {summary.errors:,} broken: {self.out}/errors.jsonl"
        if summary.undone:
            line += f"; {summary.undone:,} shards not done, the same command tries them again"
        return line
