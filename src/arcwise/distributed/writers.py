"""Output formats of a shard: CoNLL-U, JSON lines or Parquet. The same parses give the same bytes."""

from __future__ import annotations

import io
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from arcwise.distributed.records import BrokenRecord
from arcwise.optional import require
from arcwise.treebanks import Sentence, Treebank

OutputFormat = Literal["conllu", "jsonl", "parquet"]
OUTPUT_FORMATS: tuple[OutputFormat, ...] = ("conllu", "jsonl", "parquet")
Packing = Literal["none", "gz", "xz", "zst"]
PACKINGS: tuple[Packing, ...] = ("none", "gz", "xz", "zst")

_SENT_ID = re.compile(rb"^# *sent_id *= *", re.MULTILINE)
# Document names come from the input; a line break in one would end the comment.
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]+")


@dataclass(frozen=True)
class ParsedRecord:
    """A record with its trees."""

    file: str
    """Name of its file."""
    line: int
    treebank: Treebank
    id: str | None = None
    """Document name; None: named after file and line."""
    kind: Literal["document", "paragraph", "sentences"] = "document"
    """A row or a line of JSON; a paragraph of a text; or sentences of CoNLL-U, which keep their names."""
    starts_document: bool = True

    @property
    def name(self) -> str:
        """Name of the record in the output, on one line."""
        return _CONTROL.sub(" ", self.id or f"{self.file}:{self.line}").strip()

    def named(self) -> Treebank:
        """The sentences with ``# newdoc``, ``# newpar`` and a ``sent_id`` that is unique within the job."""
        if self.kind == "sentences" or not len(self.treebank):
            return self.treebank
        name = self.name.encode()
        data = _SENT_ID.sub(lambda _: b"# sent_id = " + name + b"-", self.treebank.data)
        head = b""
        if self.starts_document:
            head = b"# newdoc id = " + (name if self.kind == "document" else self.file.encode()) + b"\n"
        if self.kind == "paragraph":
            head += b"# newpar id = " + name + b"\n"
        return Treebank(head + data, source=self.treebank.source, strict=False)


class Unwritten(NamedTuple):
    """A record, or a sentence of CoNLL-U, that the format cannot express, and its number of words."""

    record: BrokenRecord
    words: int

    @classmethod
    def of(cls, line: int, error: Exception, words: int) -> Unwritten:
        """Records that could not be written because of an error."""
        return cls(BrokenRecord(line, f"cannot be written ({type(error).__name__}: {error})"), words)


class ByteSink(Protocol):
    """Accepts bytes, like the file of ``open_output``."""

    def write(self, data: bytes) -> int:
        """Write bytes."""
        ...


class Writer(ABC):
    """Writes the records of one shard."""

    def __init__(self, output: ByteSink) -> None:
        self.output = output

    @abstractmethod
    def write(self, record: ParsedRecord) -> list[Unwritten]:
        """Write one record, or nothing of it; returns what could not be written."""

    def finish(self) -> None:
        """Write buffered records; the output itself stays open."""
        return


class ConlluWriter(Writer):
    """Writes sentences one after another."""

    def write(self, record: ParsedRecord) -> list[Unwritten]:
        """Write the record's sentences."""
        data = record.named().data
        if data and not data.endswith((b"\n\n", b"\n\r\n")):  # the input file lacked its final blank line
            data += b"\n" if data.endswith(b"\n") else b"\n\n"
        self.output.write(data)
        return []


class JsonWriter(Writer):
    """Writes a line per record: ``file``, ``line``, ``id`` and the content of ``Treebank.to_json``."""

    def write(self, record: ParsedRecord) -> list[Unwritten]:
        """Write the record's document, or a line for each sentence of CoNLL-U."""
        if record.kind != "sentences":
            return self._line(record.file, record.line, record.name, record.named())
        unwritten: list[Unwritten] = []
        for line, sentence in sentence_lines(record):
            treebank = Treebank.from_sentences([sentence])
            unwritten += self._line(record.file, line, sentence.sent_id or f"{record.file}:{line}", treebank)
        return unwritten

    def _line(self, file: str, line: int, name: str, treebank: Treebank) -> list[Unwritten]:
        try:
            entry: dict[str, Any] = {"file": file, "line": line, "id": name, **treebank.to_json()}
            data = json.dumps(entry, ensure_ascii=False, separators=(",", ":")).encode()
        except Exception as error:  # an error of one record must not stop the job
            return [Unwritten.of(line, error, treebank.word_count)]
        self.output.write(data + b"\n")
        return []


def sentence_lines(record: ParsedRecord) -> Iterator[tuple[int, Sentence]]:
    """Yield the sentences of CoNLL-U, each with its first line."""
    line = record.line
    for sentence in record.treebank:
        yield line, sentence
        line += sentence.source_bytes.count(b"\n")


_WORD_COLUMNS = {"forms": "form", "lemmas": "lemma", "upos": "upos", "xpos": "xpos", "feats": "feats"}


class ParquetWriter(Writer):
    """Writes a row per sentence, with a list for each column of its words; see ``parquet_schema``."""

    def __init__(self, output: ByteSink) -> None:
        super().__init__(output)
        self._tables: list[Any] = []

    def write(self, record: ParsedRecord) -> list[Unwritten]:
        """Buffer the record's rows."""
        if len(record.treebank):
            try:
                self._tables.append(rows_of(record))
            except Exception as error:  # an error of one record must not stop the job
                return [Unwritten.of(record.line, error, record.treebank.word_count)]
        return []

    def finish(self) -> None:
        """Write all rows in one row group."""
        import pyarrow
        import pyarrow.parquet as parquet

        schema = parquet_schema()
        table = pyarrow.concat_tables([schema.empty_table(), *self._tables])
        buffer = io.BytesIO()
        # One row group: the file depends on the rows alone, not on how they were batched.
        parquet.write_table(
            table.combine_chunks(), buffer, compression="zstd", row_group_size=max(1, table.num_rows)
        )
        self.output.write(buffer.getvalue())


def parquet_schema() -> Any:
    """Schema of the Parquet output. Probabilities are null if confidences were not requested."""
    require("pyarrow")
    import pyarrow as pa

    strings, floats = pa.list_(pa.string()), pa.list_(pa.float32())
    return pa.schema(
        [
            ("file", pa.string()),
            ("line", pa.int64()),
            ("id", pa.string()),
            ("sent_id", pa.string()),
            ("text", pa.string()),
            *((name, strings) for name in _WORD_COLUMNS),
            ("heads", pa.list_(pa.int32())),
            ("labels", strings),
            ("misc", strings),
            ("head_probabilities", floats),
            ("label_probabilities", floats),
            ("tree_probability", pa.float64()),
        ]
    )


def rows_of(record: ParsedRecord) -> Any:
    """Build a table with a row per sentence. Words are those of the tree: multiword tokens are split."""
    import pyarrow as pa

    treebank = record.named()
    sentences = list(treebank)
    offsets = pa.array(treebank.sentence_words.astype(np.int32))

    def lists(values: Any) -> Any:
        return pa.ListArray.from_arrays(offsets, values)

    comments = [sentence.comments for sentence in sentences]
    lines = (
        [line for line, _ in sentence_lines(record)]
        if record.kind == "sentences"
        else [record.line] * len(sentences)
    )
    probabilities = [keys.get("tree_prob") for keys in comments]
    columns: dict[str, Any] = {
        "file": [record.file] * len(sentences),
        "line": lines,
        "id": [None if record.kind == "sentences" else record.name] * len(sentences),
        "sent_id": [keys.get("sent_id") for keys in comments],
        "text": [keys.get("text") or s.text for keys, s in zip(comments, sentences, strict=True)],
        **{
            name: lists(pa.array(treebank.column(column), pa.string()))
            for name, column in _WORD_COLUMNS.items()
        },
        "heads": lists(pa.array(treebank.heads)),
        "labels": lists(pa.array(treebank.column("deprel"), pa.string())),
        "misc": lists(pa.array(treebank.column("misc"), pa.string())),
        "head_probabilities": [s.head_probabilities for s in sentences],
        "label_probabilities": [s.label_probabilities for s in sentences],
        "tree_probability": [None if p is None else float(p) for p in probabilities],
    }
    return pa.table(columns, schema=parquet_schema())


WRITERS: dict[OutputFormat, type[Writer]] = {
    "conllu": ConlluWriter,
    "jsonl": JsonWriter,
    "parquet": ParquetWriter,
}


def output_suffix(to: OutputFormat, packing: Packing) -> str:
    """Suffix of output files; Parquet compresses internally.

    >>> output_suffix("conllu", "gz"), output_suffix("parquet", "gz")
    ('.conllu.gz', '.parquet')
    """
    return f".{to}" + ("" if to == "parquet" or packing == "none" else f".{packing}")


def libraries_of(to: OutputFormat, packing: Packing) -> Sequence[str]:
    """Optional libraries needed for writing."""
    return ["pyarrow"] if to == "parquet" else ["zstandard"] if packing == "zst" else []
