"""The work of a corpus: parse one shard and write it. Doing it again changes nothing; being killed in it loses that shard alone.

Order of writing: the output under a temporary name, its rename, then the marker. A shard without a marker was not done.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path

from arcwise.distributed.attempts import Attempts
from arcwise.distributed.inputs import InputFile
from arcwise.distributed.records import (
    Broken,
    Record,
    TextRecord,
    TreebankRecord,
    one_by_one,
)
from arcwise.distributed.shard_reader import ChangedInputError, ShardReader
from arcwise.distributed.shards import Shard
from arcwise.distributed.writers import WRITERS, OutputFormat, Packing, ParsedRecord, output_suffix
from arcwise.errors import ModelError
from arcwise.models import open_model
from arcwise.parsing.parser import ParseOptions, Parser
from arcwise.pipeline.pipeline import as_pipeline
from arcwise.pipeline.text_fields import TextFields
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import open_output

_BATCH = 10_000
"""Bytes of text that are parsed at a time: 1,700 words are enough for speed, and little enough for memory (20 MB; six times as many: 42)."""


@dataclass(frozen=True)
class Marker:
    """What is kept of a shard that is done."""

    input: str
    """Hash of its input."""
    job: str
    """Hash of model and options."""
    output: str
    """Hash of what was written."""
    size: int
    """Bytes of what was written."""
    records: int = 0
    sentences: int = 0
    words: int = 0
    broken: tuple[Broken, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Marker | None:
        """The marker in a file; None where there is none that can be read."""
        try:
            kept = json.loads(path.read_text("utf-8"))
            return cls(**{**kept, "broken": tuple(Broken(**found) for found in kept["broken"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def write(self, path: Path) -> None:
        """Write it; it appears whole or not at all."""
        path.parent.mkdir(parents=True, exist_ok=True)
        with open_output(path, durable=True) as stream:
            stream.write(json.dumps(asdict(self), ensure_ascii=False).encode())


@dataclass(frozen=True)
class Places:
    """The files of a job in its output folder. What starts with ``_`` is passed over by whoever reads folders of data (Spark, Arrow)."""

    folder: Path
    suffix: str = ".conllu"

    def output(self, shard: Shard) -> Path:
        """What a shard becomes."""
        return self.folder / f"{shard.name}{self.suffix}"

    def marker(self, shard: Shard) -> Path:
        """Says that a shard is done."""
        return self.folder / "_job" / "done" / f"{shard.name}.json"

    def attempt(self, shard: Shard) -> Path:
        """Says that a shard was begun."""
        return self.folder / "_job" / "begun" / f"{shard.name}.json"

    @property
    def plans(self) -> Path:
        """How files are cut."""
        return self.folder / "_job" / "plan"

    @property
    def description(self) -> Path:
        """What the job is."""
        return self.folder / "_job" / "job.json"

    @property
    def errors(self) -> Path:
        """Broken records."""
        return self.folder / "errors.jsonl"


@dataclass(frozen=True)
class Outcome:
    """What a worker tells of a shard."""

    shard: Shard
    marker: Marker | None
    """None: it could not be done, ``reason`` tells why."""
    reason: str = ""


@dataclass(frozen=True)
class ParseShard:
    """Parses shards; the work of a job for an ``Engine``. It travels by the name of the model, which every process opens for itself."""

    folder: str
    model: str
    job: str
    """Hash of model and options."""
    fields: TextFields = field(default_factory=TextFields)
    options: ParseOptions = field(default_factory=ParseOptions)
    to: OutputFormat = "conllu"
    packing: Packing = "gz"
    threads: int = 1

    def prepare(self) -> None:
        """Open the model: once, in the process from which those that parse are forked, who share its memory then."""
        pipeline = as_pipeline(_parser(self.model))
        if pipeline is not None:
            pipeline("Warm.")

    def __call__(self, shard: Shard) -> Outcome:
        """Parse a shard and write it, unless that is done."""
        places = Places(Path(self.folder), output_suffix(self.to, self.packing))
        done = Marker.read(places.marker(shard))
        if (
            done is not None
            and (done.input, done.job) == (shard.sha256, self.job)
            and _has(places.output(shard), done.size)
        ):
            return Outcome(shard, done)
        attempts = Attempts.begin(places.attempt(shard))
        try:
            marker = self._done(shard, places, attempts)
        except ChangedInputError as error:
            attempts.end()
            return Outcome(shard, None, str(error).removeprefix(f"{shard.file.place}: "))
        marker.write(places.marker(shard))
        attempts.end()
        return Outcome(shard, marker)

    def _done(self, shard: Shard, places: Places, attempts: Attempts) -> Marker:
        target = places.output(shard)
        target.parent.mkdir(parents=True, exist_ok=True)
        broken: list[Broken] = []
        records = sentences = words = 0
        found_records = _reader(self.fields).records(shard)
        if attempts.careful:
            found_records = one_by_one(found_records)
        with open_output(target, durable=True) as stream:
            writer = WRITERS[self.to](stream)
            for found in self._parsed(shard.file, found_records, attempts):
                if isinstance(found, Broken):
                    broken.append(found)
                    continue
                if found.kind == "paragraph" and shard.number == 0 and not records:
                    found = _first(found)
                records += 1
                sentences += len(found.treebank)
                words += found.treebank.word_count
                writer.write(found)
            writer.finish()
        sha256, size = _hashed(target)
        return Marker(shard.sha256, self.job, sha256, size, records, sentences, words, tuple(broken))

    # ---- records to trees

    def _parsed(
        self, file: InputFile, records: Iterable[Record], attempts: Attempts
    ) -> Iterator[ParsedRecord | Broken]:
        """The records with their trees, in order, some at a time."""
        for batch in _batches(attempts.checked(records), most=1 if attempts.careful else _BATCH):
            for record, found in zip(batch, self._trees(batch), strict=True):
                if isinstance(found, str):
                    yield from self._blamed(file, record, found)
                elif isinstance(record, TextRecord):
                    kind = "paragraph" if file.format == "text" else "document"
                    yield ParsedRecord(file.name, record.line, found, record.id, kind, kind == "document")  # type: ignore[arg-type]
                else:
                    yield ParsedRecord(file.name, record.line, found, kind="sentences")

    def _blamed(self, file: InputFile, record: Record, reason: str) -> Iterator[ParsedRecord | Broken]:
        """What is broken of a record: all of it, or of CoNLL-U the sentences that are."""
        if not isinstance(record, TreebankRecord) or len(record.treebank) < 2:
            yield Broken(record.line, reason)
            return
        for sentence in record.sentences():
            found = self._trees([sentence])[0]
            if isinstance(found, str):
                yield Broken(sentence.line, found)
            else:
                yield ParsedRecord(file.name, sentence.line, found, kind="sentences")

    def _trees(self, batch: Sequence[Record]) -> list[Treebank | str]:
        """The trees of each record; or what is wrong with it. Where a batch fails, its records are tried one by one."""
        if len(batch) == 1 and isinstance(batch[0], Broken):
            return [batch[0].reason]
        try:
            if isinstance(batch[0], TextRecord):
                return [
                    *self._text_trees([record.text for record in batch if isinstance(record, TextRecord)])
                ]
            return [self._parse(record.treebank) for record in batch if isinstance(record, TreebankRecord)]
        except Exception as error:
            if len(batch) > 1:
                return [found for record in batch for found in self._trees([record])]
            return [f"cannot be parsed ({type(error).__name__}: {error})"]

    def _text_trees(self, texts: list[str]) -> Sequence[Treebank]:
        parser = _parser(self.model)
        pipeline = as_pipeline(parser)
        if pipeline is None:
            raise ModelError(f"{self.model}: found a {parser.kind} parser, expected a pipeline for raw text")
        return [
            found.treebank
            for found in pipeline.analyse_texts(texts, options=self.options, threads=self.threads)
        ]

    def _parse(self, treebank: Treebank) -> Treebank:
        return _parser(self.model).parse(treebank, options=self.options, threads=self.threads)


def _first(record: ParsedRecord) -> ParsedRecord:
    """The first paragraph of a file starts its document."""
    return replace(record, starts_document=True)


def _batches(records: Iterable[Record], *, most: int) -> Iterator[list[Record]]:
    """Texts together, as many as fit; everything else by itself."""
    batch: list[Record] = []
    size = 0
    for record in records:
        alone = not isinstance(record, TextRecord) or len(record.text) >= most
        if batch and (alone or size >= most):
            yield batch
            batch, size = [], 0
        if alone:
            yield [record]
        elif isinstance(record, TextRecord):
            batch.append(record)
            size += len(record.text)
    if batch:
        yield batch


def _hashed(path: Path) -> tuple[str, int]:
    """The hash and the size of a file, read piece by piece."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as stream:
        while piece := stream.read(1 << 16):
            digest.update(piece)
            size += len(piece)
    return digest.hexdigest(), size


def _has(path: Path, size: int) -> bool:
    try:
        return path.stat().st_size == size
    except OSError:
        return False


@cache
def _parser(model: str) -> Parser:
    """The model, opened once in a process."""
    return open_model(model)


_readers: dict[TextFields, ShardReader] = {}
"""Files that this process keeps open."""


def _reader(fields: TextFields) -> ShardReader:
    return _readers.setdefault(fields, ShardReader(fields))


def forget() -> None:
    """Let go of models and files that this process keeps open, where it did the work itself."""
    _parser.cache_clear()
    for reader in _readers.values():
        reader.close()
    _readers.clear()
