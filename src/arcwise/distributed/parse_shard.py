"""``ParseShard``: parse one shard and write it. Idempotent; a killed process loses only its current shard.

Order of writing: the output under a temporary name, its rename, then the marker. A shard without a marker has
not been done.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from arcwise.distributed.inputs import InputFile
from arcwise.distributed.records import (
    BrokenRecord,
    Record,
    TextRecord,
    TreebankRecord,
    one_by_one,
    records_in,
    records_of_rows,
    row_batches,
)
from arcwise.distributed.shards import Shard, read_some, text_bytes
from arcwise.distributed.writers import WRITERS, OutputFormat, Packing, ParsedRecord, output_suffix
from arcwise.errors import InputError, ModelError
from arcwise.models import open_model
from arcwise.parsing.parser import ParseOptions, Parser
from arcwise.pipeline.pipeline import as_pipeline
from arcwise.pipeline.text_fields import TextFields
from arcwise.treebanks import Treebank
from arcwise.treebanks.files import open_input, open_output

CAREFUL_FROM = 4
"""From this attempt on, a shard runs record by record. An engine gives up after three deaths in a row, so
machines that merely go away seldom get here."""
TRIES = 3
"""A record at which this many attempts died is broken."""


@dataclass
class Attempts:
    """The attempts at one shard, including the current one."""

    path: Path
    count: int = 1
    at: int = -1
    """The record tried last; -1 if there is none yet, or the attempt is not careful."""
    deaths: dict[str, int] = field(default_factory=dict)
    """Record number → attempts that died there."""

    @classmethod
    def begin(cls, path: Path) -> Attempts:
        """Register a new attempt at a shard."""
        attempts = cls(path)
        try:
            state = json.loads(path.read_text("utf-8"))
            attempts = cls(path, int(state["count"]) + 1, -1, dict(state["deaths"]))
            if state["at"] >= 0:
                attempts.deaths[str(state["at"])] = attempts.deaths.get(str(state["at"]), 0) + 1
        except (OSError, ValueError, TypeError, KeyError):
            pass  # the first attempt, or an unreadable file
        # Before the work: whatever happens next, this attempt is counted.
        path.parent.mkdir(parents=True, exist_ok=True)
        attempts._write()
        return attempts

    @property
    def careful(self) -> bool:
        """Whether this attempt runs record by record."""
        return self.count >= CAREFUL_FROM

    def checked(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yield the records, those that crashed workers as broken; note each first in a careful attempt."""
        for number, record in enumerate(records):
            deaths = self.deaths.get(str(number), 0)
            if deaths >= TRIES:
                yield BrokenRecord(record.line, f"crashed the process that parsed it, {deaths} times")
                continue
            if self.careful:
                self.at = number
                self._write()
            yield record

    def end(self) -> None:
        """Forget the attempts: the shard is done."""
        self.path.unlink(missing_ok=True)

    def _write(self) -> None:
        # Not durable: it must survive the crash of a worker, not that of the machine.
        with open_output(self.path) as stream:
            stream.write(json.dumps({"count": self.count, "at": self.at, "deaths": self.deaths}).encode())


_SKIP = 1 << 20
_COMPRESSED = (".gz", ".xz", ".zst")


class ChangedInputError(InputError):
    """A file has changed since the job was planned."""


class ShardReader:
    """Reads shards; fast if they come in the order of their files."""

    def __init__(self, fields: TextFields) -> None:
        self._fields = fields
        self._path = ""
        self._at = 0
        self._stream: Any = None
        self._open = ExitStack()

    def records(self, shard: Shard) -> Iterator[Record]:
        """The records of a shard; ``ChangedInputError`` if its bytes are not those of the plan."""
        if shard.file.format == "parquet":
            return self._row_records(shard)
        data = self._bytes(shard)
        # Before any record is parsed, so that a changed file is noticed and not half mixed in.
        _check(shard, hashlib.sha256(data).hexdigest())
        return records_in(data, shard.file.format, first_line=shard.first_line, fields=self._fields)

    def close(self) -> None:
        """Close the file."""
        self._open.close()
        self._path, self._stream = "", None

    def _bytes(self, shard: Shard) -> bytes:
        try:
            self._go_to(shard)
            parts, missing = [], shard.end - shard.start
            while missing and (part := read_some(self._stream, missing)):
                parts.append(part)
                missing -= len(part)
            self._at = shard.end - missing
        except InputError:
            self.close()
            raise
        except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
            self.close()
            path = shard.file.absolute_path
            raise ChangedInputError(f"{path}: can no longer be read ({error})") from error
        return b"".join(parts)

    def _go_to(self, shard: Shard) -> None:
        path = shard.file.absolute_path
        # Going back in a compressed file means reading it again from its start.
        if self._path != path or self._at > shard.start:
            self.close()
            self._stream, self._path, self._at = self._open.enter_context(open_input(path)), path, 0
        if not path.endswith(_COMPRESSED):
            self._at = self._stream.seek(shard.start)
        while self._at < shard.start and (
            part := read_some(self._stream, min(_SKIP, shard.start - self._at))
        ):
            self._at += len(part)

    def _row_records(self, shard: Shard) -> Iterator[Record]:
        texts: list[Any] = []
        names: list[Any] = []
        wanted = shard.end - shard.start
        fields = self._fields
        path = shard.file.absolute_path
        for batch, batch_names in row_batches(path, fields.text, fields.id, first_row=shard.start):
            texts += batch
            names += batch_names or []
            if len(texts) >= wanted:
                break
        digest = hashlib.sha256()
        for text in texts[:wanted]:
            data = text_bytes(text)
            # With its length: otherwise "ab", "c" and "a", "bc" would have the same hash.
            digest.update(len(data).to_bytes(8, "little") + data)
        _check(shard, digest.hexdigest())
        return records_of_rows(
            texts[:wanted], names[:wanted] if fields.id else None, first_row=shard.first_line
        )


def _check(shard: Shard, sha256: str) -> None:
    if sha256 != shard.sha256:
        raise ChangedInputError(
            f"{shard.file.absolute_path}: has changed since the job was planned; run the job again"
        )


_BATCH = 10_000
"""Bytes of text parsed at a time. 1,700 words are enough for full speed and need 20 MB; six times as many
words need 42 MB."""


@dataclass(frozen=True)
class Marker:
    """The record of a finished shard."""

    input: str
    """Hash of the input."""
    job: str
    """Hash of model and options."""
    output: str
    """Hash of the output."""
    size: int
    """Bytes of the output."""
    records: int = 0
    sentences: int = 0
    words: int = 0
    broken: tuple[BrokenRecord, ...] = ()

    @classmethod
    def read(cls, path: Path) -> Marker | None:
        """Read a marker; None if there is none that can be read."""
        try:
            state = json.loads(path.read_text("utf-8"))
            return cls(**{**state, "broken": tuple(BrokenRecord(**values) for values in state["broken"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def write(self, path: Path) -> None:
        """Write it atomically."""
        path.parent.mkdir(parents=True, exist_ok=True)
        # Durable, like the output before it: after a power cut no marker may stand for a missing output.
        with open_output(path, durable=True) as stream:
            stream.write(json.dumps(asdict(self), ensure_ascii=False).encode())


@dataclass(frozen=True)
class JobPaths:
    """The files of a job in its output folder.

    Spark and Arrow skip names that start with ``_`` when they read a folder of data.
    """

    folder: Path
    suffix: str = ".conllu"

    def output(self, shard: Shard) -> Path:
        """The parsed shard."""
        return self.folder / f"{shard.name}{self.suffix}"

    def marker(self, shard: Shard) -> Path:
        """The marker of a finished shard."""
        return self.folder / "_job" / "done" / f"{shard.name}.json"

    def attempt(self, shard: Shard) -> Path:
        """The attempts at an unfinished shard."""
        return self.folder / "_job" / "begun" / f"{shard.name}.json"

    @property
    def plans(self) -> Path:
        """The plans of the input files."""
        return self.folder / "_job" / "plan"

    @property
    def description(self) -> Path:
        """The job's model and options."""
        return self.folder / "_job" / "job.json"

    @property
    def errors(self) -> Path:
        """The broken records."""
        return self.folder / "errors.jsonl"

    def finished(self, shard: Shard, job: str) -> Marker | None:
        """The marker of a shard that the job with this hash has finished, if its output is still there."""
        marker = Marker.read(self.marker(shard))
        if marker is None or (marker.input, marker.job) != (shard.sha256, job):
            return None
        try:
            # The size, not the hash: resuming a large job must not read all of its output.
            return marker if self.output(shard).stat().st_size == marker.size else None
        except OSError:
            return None


@dataclass(frozen=True)
class Outcome:
    """The result of a shard."""

    shard: Shard
    marker: Marker | None
    """None: the shard failed; ``reason`` says why."""
    reason: str = ""


@dataclass(frozen=True)
class ParseShard:
    """Parses shards: the work of a job for an ``Engine``.

    It is pickled with the name of the model only; each process opens the model itself.
    """

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
        """Open the model and parse once, before workers are forked, so that they share its memory."""
        pipeline = as_pipeline(_parser(self.model))
        if pipeline is not None:
            pipeline("Warm.")  # builds lazy parts of the model now, so that workers share them too

    def __call__(self, shard: Shard) -> Outcome:
        """Parse a shard and write it, unless it is finished already."""
        paths = JobPaths(Path(self.folder), output_suffix(self.to, self.packing))
        marker = paths.finished(shard, self.job)
        if marker is not None:
            return Outcome(shard, marker)
        attempts = Attempts.begin(paths.attempt(shard))
        try:
            marker = self._parse_shard(shard, paths, attempts)
        except ChangedInputError as error:
            attempts.end()
            return Outcome(shard, None, str(error).removeprefix(f"{shard.file.absolute_path}: "))
        # Written last: the marker means that the output is complete.
        marker.write(paths.marker(shard))
        attempts.end()
        return Outcome(shard, marker)

    def _parse_shard(self, shard: Shard, paths: JobPaths, attempts: Attempts) -> Marker:
        target = paths.output(shard)
        target.parent.mkdir(parents=True, exist_ok=True)
        broken: list[BrokenRecord] = []
        records = sentences = words = 0
        source = _reader(self.fields).records(shard)
        if attempts.careful:
            source = one_by_one(source)
        with open_output(target, durable=True) as stream:
            writer = WRITERS[self.to](stream)
            for parsed in self._parsed(shard.file, source, attempts):
                if isinstance(parsed, BrokenRecord):
                    broken.append(parsed)
                    continue
                if parsed.kind == "paragraph" and shard.number == 0 and not records:
                    parsed = replace(parsed, starts_document=True)  # the first paragraph of the file
                unwritten = writer.write(parsed)
                broken += [failure.record for failure in unwritten]
                if unwritten and parsed.kind != "sentences":
                    continue
                records += 1
                sentences += len(parsed.treebank) - len(unwritten)
                words += parsed.treebank.word_count - sum(failure.words for failure in unwritten)
            writer.finish()
        sha256, size = _hash_file(target)
        return Marker(shard.sha256, self.job, sha256, size, records, sentences, words, tuple(broken))

    def _parsed(
        self, file: InputFile, records: Iterable[Record], attempts: Attempts
    ) -> Iterator[ParsedRecord | BrokenRecord]:
        """Yield the records with their trees, in order, parsed in batches."""
        for batch in _batches(attempts.checked(records), most=1 if attempts.careful else _BATCH):
            for record, trees in zip(batch, self._trees(batch), strict=True):
                if isinstance(trees, str):
                    yield from self._salvaged(file, record, trees)
                elif isinstance(record, TextRecord):
                    kind = "paragraph" if file.format == "text" else "document"
                    yield ParsedRecord(file.name, record.line, trees, record.id, kind, kind == "document")  # type: ignore[arg-type]
                else:
                    yield ParsedRecord(file.name, record.line, trees, kind="sentences")

    def _salvaged(
        self, file: InputFile, record: Record, reason: str
    ) -> Iterator[ParsedRecord | BrokenRecord]:
        """Report a broken record; of CoNLL-U, report only the broken sentences and parse the others."""
        if not isinstance(record, TreebankRecord) or len(record.treebank) < 2:
            yield BrokenRecord(record.line, reason)
            return
        for sentence in record.sentences():
            trees = self._trees([sentence])[0]
            if isinstance(trees, str):
                yield BrokenRecord(sentence.line, trees)
            else:
                yield ParsedRecord(file.name, sentence.line, trees, kind="sentences")

    def _trees(self, batch: Sequence[Record]) -> list[Treebank | str]:
        """The trees of each record, or an error message.

        If a batch fails, its records are tried one by one.
        """
        if len(batch) == 1 and isinstance(batch[0], BrokenRecord):
            return [batch[0].reason]
        try:
            if isinstance(batch[0], TextRecord):
                return [
                    *self._text_trees([record.text for record in batch if isinstance(record, TextRecord)])
                ]
            return [self._parse(record.treebank) for record in batch if isinstance(record, TreebankRecord)]
        except Exception as error:  # an error of one record must not stop the job
            if len(batch) > 1:
                return [trees for record in batch for trees in self._trees([record])]
            return [f"cannot be parsed ({type(error).__name__}: {error})"]

    def _text_trees(self, texts: list[str]) -> Sequence[Treebank]:
        parser = _parser(self.model)
        pipeline = as_pipeline(parser)
        if pipeline is None:
            raise ModelError(f"{self.model}: is a {parser.kind} parser; raw text needs a pipeline")
        documents = pipeline.analyse_texts(texts, options=self.options, threads=self.threads)
        return [document.treebank for document in documents]

    def _parse(self, treebank: Treebank) -> Treebank:
        return _parser(self.model).parse(treebank, options=self.options, threads=self.threads)


def _batches(records: Iterable[Record], *, most: int) -> Iterator[list[Record]]:
    """Group short texts; any other input is a separate batch."""
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


def _hash_file(path: Path) -> tuple[str, int]:
    """Hash and size of a file."""
    digest, size = hashlib.sha256(), 0
    with path.open("rb") as stream:
        while block := stream.read(1 << 16):
            digest.update(block)
            size += len(block)
    return digest.hexdigest(), size


@cache
def _parser(model: str) -> Parser:
    """The model, opened once per process."""
    return open_model(model)


_readers: dict[TextFields, ShardReader] = {}
"""Readers with the files that this process keeps open."""


def _reader(fields: TextFields) -> ShardReader:
    return _readers.setdefault(fields, ShardReader(fields))


def close_caches() -> None:
    """Release cached models and open files, in case this process did the work itself."""
    _parser.cache_clear()
    for reader in _readers.values():
        reader.close()
    _readers.clear()
