"""``ShardReader``: the records of a shard.

A process keeps its file open where the last shard ended: compressed files cannot seek.
"""

from __future__ import annotations

import hashlib
import lzma
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from arcwise.distributed.records import Record, records_in, records_of_rows, row_batches
from arcwise.distributed.shards import Shard, read_some, text_bytes
from arcwise.errors import InputError
from arcwise.pipeline.text_fields import TextFields
from arcwise.treebanks.files import open_input

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
